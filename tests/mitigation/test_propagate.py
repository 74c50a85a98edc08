"""Propagation: a simulated biased reward raises gender errors, a fair one lowers them; every class of captioner."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from assay.core import Image, Measure, Metric
from assay.errors import DataError, MetricError
from assay.mitigation.propagate import (
    Experiment,
    Generator,
    Scene,
    best_of,
    biased_share,
    check_words,
    halves,
    is_wrong,
    load_generator,
    propagate,
    read_scenes,
    rendered_world,
    reward_of,
    stated_gender,
)
from assay.models.vision import plain_processor, special_ids, word_tokenizer
from assay.run.session import Session

SMALL = Experiment(train=300, test=104, steps=60, updates=8, rate=3e-3, samples=3, batch=16)


@dataclass(frozen=True)
class PrefersMen(Metric):
    """1 where a caption names a man."""

    name = "prefers-men"
    needs = frozenset({"image"})

    def score(self, samples):
        return [float(stated_gender(sample.hypothesis) == "male") for sample in samples]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory):
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield rendered_world(SMALL)(0)


def test_a_reward_moves_errors_the_way_it_points_and_its_captions_are_written(world, tmp_path: Path) -> None:
    base, training, test = world
    women = [scene for scene in test if scene.gender == "female"]
    measure = Measure("prefers-men", PrefersMen())
    effects = propagate(
        [measure], [0], SMALL, lambda seed: (base, training, women), Session(),
        methods=["best-of-n", "minimum-risk", "self-critical"], columns=[measure], out=tmp_path,
    )  # fmt: skip
    for effect in effects:
        assert effect.gain.rose, effect.method
        assert effect.errors.change > 5, effect.method
        assert effect.scores["prefers-men"].change > 0.05, effect.method
    rows = [
        json.loads(line)
        for line in (tmp_path / "prefers-men-minimum-risk-after.jsonl").read_text().splitlines()
    ]
    assert len(rows) == len(women)
    assert {row["group"] for row in rows} == {"female"}
    assert all((tmp_path / row["image"]).is_file() for row in rows)


def test_a_generator_that_names_no_gender_is_refused(world) -> None:
    base, training, test = world

    class Silent(Generator):
        def best(self, scenes):
            return ["a nurse"] * len(scenes)

    silent = Silent(base.model, base.tokenizer, base.images)
    with pytest.raises(DataError, match="none of 104 captions of the generator names a gender"):
        propagate([], [0], SMALL, lambda seed: (silent, training, test), Session())


def test_best_of_takes_the_highest_and_of_equals_the_first() -> None:
    scene = Scene("a", "female", "x", "a woman", ("a photo",))
    drawn = [["a woman", "a man", "a man too"]]

    def prefers_men(scenes, texts):
        return np.array([float(stated_gender(text) == "male") for text in texts])

    assert best_of([scene], drawn, prefers_men) == ["a man"]


def test_wrong_and_biased_are_counted() -> None:
    woman, man = (Scene("a", gender, "", "", ()) for gender in ("female", "male"))
    assert is_wrong(woman, "a man rides")
    assert not is_wrong(woman, "a person rides")
    assert not is_wrong(woman, "a man and a woman ride")
    scenes = [woman, man] * 30
    assert biased_share(scenes, np.tile([0.9, 0.0], 30).round()) == 100.0
    assert biased_share(scenes, np.tile([1.0, 1.0], 30)) == 0.0


def captioner(kind: str, tokenizer) -> Generator:
    """A tiny model with fixed random weights, of one of the classes that are read."""
    torch.manual_seed(1)
    ids, size = special_ids(tokenizer), len(tokenizer)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    picture = {**sizes, "image_size": 32, "patch_size": 16}
    text = {
        **sizes,
        "vocab_size": size,
        "max_position_embeddings": 32,
        **ids,
        "sep_token_id": ids["eos_token_id"],
    }
    if kind == "blip":
        config = transformers.BlipConfig(
            text_config={**text, "encoder_hidden_size": 16}, vision_config=picture, projection_dim=16
        )
        model = transformers.BlipForConditionalGeneration(config)
    else:
        model = transformers.GitForCausalLM(transformers.GitConfig(vision_config=picture, **text))
    return Generator(model.eval(), tokenizer, plain_processor(32))


@pytest.mark.parametrize("kind", ["blip", "git"])
def test_blip_and_git_are_loaded_sampled_and_trained(kind: str, world, tmp_path: Path) -> None:
    base, _, test = world
    made = captioner(kind, base.tokenizer)
    for part in (made.model, made.tokenizer, made.images):
        part.save_pretrained(tmp_path)
    loaded = load_generator(str(tmp_path))
    assert len(loaded.sample(test[:2], 3, 0)[1]) == 3
    texts = ["a man who is a nurse", "a woman with a cat"]
    logs = loaded.log_probability(test[:1], texts)
    assert logs.shape == (2,)
    before = logs.detach()
    optimizer = torch.optim.SGD(loaded.model.parameters(), lr=0.1)
    torch.autograd.backward(-logs[0])
    optimizer.step()
    assert loaded.log_probability(test[:1], texts)[0] > before[0]


def test_scenes_of_ones_own_are_read(tmp_path: Path) -> None:
    rows = [
        {"group": group, "source": "a nurse", "references": ["a nurse at work"]}
        for group in ("man", "woman")
        for _ in range(20)
    ]
    file = tmp_path / "scenes.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    read = read_scenes(file)
    assert [scene.gender for scene in read] == ["male"] * 20 + ["female"] * 20
    one, two = halves(read, 0)
    assert len(one) == len(two) == 20
    file.write_text("\n".join(json.dumps({**row, "group": "cat"}) for row in rows))
    with pytest.raises(DataError, match="'group' must be one of"):
        read_scenes(file)


def test_a_tokenizer_without_the_words_is_refused() -> None:
    check_words(word_tokenizer(["a man", "a woman"], longest=8), "both")
    with pytest.raises(DataError, match="tokenizer of some cannot write woman"):
        check_words(word_tokenizer(["a man"], longest=8), "some")


@dataclass(frozen=True)
class SceneLength(Metric):
    """Letters of the source and of the image's name: a score exists only where both reach the metric."""

    name = "scene-length"
    needs = frozenset({"source", "image"})

    def score(self, samples):
        return [float(len(s.source) + len(s.image.path)) for s in samples]


def test_a_reward_sees_image_and_source() -> None:
    scenes = [
        Scene("a", "female", "xy", "", ("a photo",), Image("12345", "d1")),
        Scene("a", "male", "xyz", "", ("a photo",), Image("1", "d2")),
    ]
    reward = reward_of(Measure("scene-length", SceneLength()), Session())
    assert reward(scenes, ["a nurse", "a nurse"]).tolist() == [7.0, 4.0]


def test_a_metric_without_scores_is_no_reward() -> None:
    scene = Scene("a", "female", "xy", "", ("a photo",))
    reward = reward_of(Measure("scene-length", SceneLength()), Session())
    with pytest.raises(MetricError, match=r"scene-length gives these scenes no score.*image and source"):
        reward([scene, scene], ["a nurse", "a chef"])
