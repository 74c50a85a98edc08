"""Propagation: rewards, training steps, every class of captioner, and the command; no effect is asserted."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from typer.testing import CliRunner

from assay.cli import app
from assay.core import Image, Measure, Metric, Sample
from assay.datasets import scenes
from assay.datasets.rows import read_rows
from assay.engine.session import Session
from assay.errors import DataError, MetricError
from assay.models.captioner import Captioner, load_captioner
from assay.models.vision import plain_processor, special_ids, word_tokenizer
from assay.papers.propagate import (
    Experiment,
    Scene,
    Way,
    best_of,
    biased_share,
    check_words,
    is_wrong,
    propagate,
    read_scenes,
    rendered_world,
    reward_of,
    stated_gender,
    train_on_reward,
)

SMALL = Experiment(epochs=0.03, rate=3e-3, samples=2, batch=4)
COURSE = {"pictures": 104, "steps": 30, "rewarded": 104}  # of a captioner that is trained in seconds


@dataclass(frozen=True)
class PrefersMen(Metric):
    """1 where a caption names a man."""

    name = "prefers-men"
    needs = frozenset({"image"})

    def score(self, samples):
        return [float(stated_gender(sample.hypothesis) == "male") for sample in samples]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory):
    """A captioner of a few steps, its training scenes and two test scenes of each gender of four concepts."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        course = scenes.captioner_course() | COURSE
        patch.setattr(scenes, "captioner_course", lambda: course)
        base, training, test = rendered_world(104)(0)
        yield base, training, test[:8]
    torch.set_num_threads(threads)


def weights_of(captioner: Captioner) -> list[torch.Tensor]:
    return [value.detach().clone() for value in captioner.model.parameters()]


def inputs(scenes: list[Scene]) -> list[Sample]:
    return [scene.sample for scene in scenes]


def is_same(one: list[torch.Tensor], two: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_every_method_is_reported_and_its_captions_are_written(world, tmp_path: Path) -> None:
    base, training, test = world
    untouched = weights_of(base)
    measure = Measure("prefers-men", PrefersMen())
    effects = propagate(
        [measure], [0], SMALL, lambda seed: (base, training, test), Session(),
        methods=["best-of-n", "minimum-risk", "self-critical"], columns=[measure], out=tmp_path,
    )  # fmt: skip
    assert [effect.method for effect in effects] == ["best-of-n", "minimum-risk", "self-critical"]
    assert all(effect.n == len(test) and list(effect.scores) == ["prefers-men"] for effect in effects)
    assert is_same(weights_of(base), untouched)
    names = {file.name for file in tmp_path.glob("*.jsonl")}
    ways = ("best-of-n", "minimum-risk", "self-critical")
    assert names == {f"prefers-men-{way}-{side}.jsonl" for way in ways for side in ("before", "after")}
    rows = read_rows(tmp_path / "prefers-men-minimum-risk-before.jsonl")
    assert [row.text("hypothesis") for row in rows] == base.best(inputs(test))
    assert [row.text("group") for row in rows] == [scene.gender for scene in test]
    assert [row.image().digest for row in rows] == [scene.sample.image.digest for scene in test]


@pytest.mark.parametrize("way", ["minimum-risk", "self-critical"])
def test_training_asks_for_as_many_rewards_as_the_options_say(way: Way, world) -> None:
    base, training, _ = world
    asked: list[int] = []

    def prefers_odd_draws(inputs, texts):
        asked.append(len(texts))
        return np.arange(len(texts), dtype=float) % 2

    options = replace(SMALL, epochs=0.05, batch=3, samples=4)
    tuned, given = deepcopy(base), inputs(training)
    train_on_reward(tuned, given, prefers_odd_draws, options, 0, way)
    assert asked == ([12] * 2 if way == "minimum-risk" else [12, 3] * 2)
    assert not is_same(weights_of(tuned), weights_of(base))
    still = deepcopy(base)
    train_on_reward(still, given, prefers_odd_draws, replace(options, rate=0.0), 0, way)
    assert is_same(weights_of(still), weights_of(base))
    assert replace(options, epochs=0.5).updates_on(len(training)) == 18  # 52 of 104 scenes, three at a time


@pytest.mark.parametrize("way", ["minimum-risk", "self-critical"])
def test_a_price_on_divergence_keeps_the_captioner_near_what_it_was(way: Way, world) -> None:
    base, training, test = world

    def prefers_early_letters(inputs, texts):
        return np.array([-float(ord(text[-1])) if text else 0.0 for text in texts])

    def drift(price: float) -> float:
        tuned = deepcopy(base)
        options = replace(SMALL, epochs=0.5, samples=4, kl=price)
        train_on_reward(tuned, inputs(training), prefers_early_letters, options, 0, way)
        texts = [text for some in tuned.sample(inputs(test), 4, 0) for text in some]
        with torch.no_grad():
            logs = [one.log_probability(inputs(test), texts) for one in (tuned, base)]
        return float((logs[0] - logs[1]).mean())

    assert drift(1.0) < drift(0.0)


def test_a_generator_that_names_no_gender_is_refused(world) -> None:
    base, training, test = world

    class Silent(Captioner):
        def best(self, inputs):
            return ["a nurse"] * len(inputs)

    silent = Silent(base.model, base.tokenizer, base.images)
    with pytest.raises(DataError, match="none of 8 captions of the captioner names a gender"):
        propagate([], [0], SMALL, lambda seed: (silent, training, test), Session())


def test_best_of_takes_the_highest_and_of_equals_the_first() -> None:
    sample = Sample("a woman", ("a photo",))
    drawn = [["a woman", "a man", "a man too"]]

    def prefers_men(inputs, texts):
        return np.array([float(stated_gender(text) == "male") for text in texts])

    assert best_of([sample], drawn, prefers_men) == ["a man"]


def test_wrong_and_biased_are_counted() -> None:
    woman, man = (Scene("a", gender, Sample("")) for gender in ("female", "male"))
    assert is_wrong(woman, "a man rides")
    assert not is_wrong(woman, "a person rides")
    assert not is_wrong(woman, "a man and a woman ride")
    scenes = [woman, man] * 30
    assert biased_share(scenes, np.tile([0.9, 0.0], 30).round()) == 100.0
    assert biased_share(scenes, np.tile([1.0, 1.0], 30)) == 0.0
    assert biased_share([woman, man], np.array([1.0, 0.0])) is None  # one picture of each says nothing


def captioner(kind: str, tokenizer) -> Captioner:
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
    return Captioner(model.eval(), tokenizer, plain_processor(32))


def saved(made: Captioner, folder: Path) -> Path:
    for part in (made.model, made.tokenizer, made.images):
        part.save_pretrained(folder)
    return folder


CLASSES = {
    "blip": "BlipForConditionalGeneration",
    "git": "GitForCausalLM",
    "vision-encoder-decoder": "VisionEncoderDecoderModel",
}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_of_captioner_is_loaded_sampled_and_trained(kind: str, world, tmp_path: Path) -> None:
    base, _, test = world
    made = base if kind == "vision-encoder-decoder" else captioner(kind, base.tokenizer)
    loaded = load_captioner(str(saved(made, tmp_path)))
    assert type(loaded.model).__name__ == CLASSES[kind]
    two = inputs(test[:2])
    assert loaded.best(two) == made.best(two)
    assert len(loaded.sample(two, 3, 0)[1]) == 3
    texts = ["a man who is a nurse", "a cat"]
    logs = loaded.log_probability(two[:1], texts)
    alone = [loaded.log_probability(two[:1], [text]).item() for text in texts]
    assert logs.tolist() == pytest.approx(alone, abs=1e-3)  # padding changes nothing
    before = logs.detach()
    optimizer = torch.optim.SGD(loaded.model.parameters(), lr=1e-3)
    torch.autograd.backward(-logs[0])
    optimizer.step()
    assert loaded.log_probability(two[:1], texts)[0] > before[0]


def test_the_command_passes_its_options_to_the_trainer(
    world, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, training, _ = world
    model, data, out = saved(base, tmp_path / "model"), tmp_path / "data.jsonl", tmp_path / "out"
    rows = []
    for scene in training[:20]:
        image = scene.sample.image
        shutil.copyfile(image.path, tmp_path / f"{image.digest}.png")
        rows.append(
            {"group": scene.gender, "references": scene.sample.references, "image": f"{image.digest}.png"}
        )
    data.write_text("\n".join(map(json.dumps, rows)))
    seen = []

    def watched(tuned, training, reward, experiment, seed, way):
        seen.append((way, seed, len(training), experiment))
        train_on_reward(tuned, training, reward, experiment, seed, way)

    monkeypatch.setattr("assay.papers.propagate.train_on_reward", watched)
    monkeypatch.setenv("ASSAY_DEVICE", "cpu")
    asked = (
        f"papers propagate -m rougeL --method self-critical --seeds 2 --epochs 0.2 --samples 3 --batch 2 "
        f"--rate 0.002 --device cpu --model {model} --data {data} --out {out} --cache none --json -q"
    )
    done = CliRunner().invoke(app, asked.split())
    assert done.exit_code == 0, done.output
    experiment = Experiment(epochs=0.2, samples=3, batch=2, rate=0.002)
    assert seen == [("self-critical", seed, 10, experiment) for seed in (0, 1)]
    [effect] = json.loads(done.stdout)["effects"]
    assert (effect["reward"], effect["method"], effect["n"]) == ("rougeL", "self-critical", 20)
    assert len((out / "rougeL-self-critical-after.jsonl").read_text().splitlines()) == 20


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
    samples = [
        Sample("", ("a photo",), "xy", Image("12345", "d1")),
        Sample("", ("a photo",), "xyz", Image("1", "d2")),
    ]
    reward = reward_of(Measure("scene-length", SceneLength()), [], Session())
    assert reward(samples, ["a nurse", "a nurse"]).tolist() == [7.0, 4.0]


def test_a_metric_without_scores_is_no_reward() -> None:
    sample = Sample("", ("a photo",), "xy")
    reward = reward_of(Measure("scene-length", SceneLength()), [], Session())
    with pytest.raises(MetricError, match=r"scene-length gives these scenes no score.*image and source"):
        reward([sample, sample], ["a nurse", "a chef"])
