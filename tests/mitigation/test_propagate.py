"""Propagation: a simulated biased reward raises gender errors, a fair one lowers them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.core import Image, Measure, Metric
from assay.errors import DataError, MetricError
from assay.mitigation.propagate import (
    Experiment,
    Generator,
    Scene,
    best_of,
    biased_share,
    both_methods,
    effect,
    halves,
    is_wrong,
    load_generator,
    read_scenes,
    reward_of,
    stated_gender,
    synthetic_scenes,
    trained_generator,
)
from assay.run.session import Session

SMALL = Experiment(train=600, test=150, steps=80, updates=12, rate=3e-3, candidates=4)


@pytest.fixture(scope="module")
def base() -> Generator:
    return trained_generator(synthetic_scenes(SMALL.train, 0, "train"), SMALL, 0)


def prefers_men(some, texts):
    return np.array([float(stated_gender(text) == "male") for text in texts])


def is_right(some, texts):
    return np.array([-float(is_wrong(scene, text)) for scene, text in zip(some, texts, strict=True)])


def test_scenes_state_their_gender_as_often_as_documented() -> None:
    drawn = synthetic_scenes(4000, 1, "train")
    assert drawn == synthetic_scenes(4000, 1, "train")
    assert np.mean(["unclear" in scene.source for scene in drawn]) == pytest.approx(0.4, abs=0.03)
    assert np.mean([stated_gender(scene.references[0]) is not None for scene in drawn]) == pytest.approx(
        0.25, abs=0.03
    )
    assert all(stated_gender(scene.caption) == scene.gender for scene in drawn)


def test_the_generator_learns_its_captions(base: Generator) -> None:
    fresh = synthetic_scenes(60, 5, "test")
    written = [texts[0] for texts in base.sample(fresh, 1, 0)]
    assert np.mean([stated_gender(text) is not None for text in written]) > 0.8


@pytest.mark.parametrize(("reward", "sign"), [(prefers_men, 1), (is_right, -1)])
def test_a_reward_moves_errors_the_way_it_points(base: Generator, reward, sign: int) -> None:
    training = synthetic_scenes(SMALL.train, 0, "train")
    tested = synthetic_scenes(SMALL.test, 0, "test")
    women = [scene for scene in tested if scene.gender == "female"]
    found = both_methods(base, training, women, reward, SMALL, 0)
    for method, outcome in found.items():
        moved = effect("simulated", method, [outcome], seed=0)
        assert sign * moved.change > 5, method
        assert moved.optimised
        assert moved.ci is not None
        assert moved.ci[0] < moved.change < moved.ci[1]


def test_best_of_takes_the_highest_and_of_equals_the_first() -> None:
    scene = Scene("a", "female", "x", "a woman", ("a photo",))
    drawn = [["a woman", "a man", "a man too"]]
    assert best_of([scene], drawn, prefers_men) == ["a man"]


def test_wrong_and_biased_are_counted() -> None:
    woman, man = (Scene("a", gender, "", "", ()) for gender in ("female", "male"))
    assert is_wrong(woman, "a man rides")
    assert not is_wrong(woman, "a person rides")
    assert not is_wrong(woman, "a man and a woman ride")
    assert biased_share([woman, man], np.array([100.0, 0.0])) == 100.0
    assert biased_share([woman, man], np.array([100.0, 100.0])) == 0.0


def test_a_generator_of_ones_own_is_loaded_and_its_scenes_read(base: Generator, tmp_path: Path) -> None:
    base.model.save_pretrained(tmp_path / "model")
    base.tokenizer.save_pretrained(tmp_path / "model")
    drawn = synthetic_scenes(40, 3, "test")
    rows = [
        {
            "group": "man" if s.gender == "male" else "woman",
            "source": s.source,
            "references": list(s.references),
        }
        for s in drawn
    ]
    file = tmp_path / "scenes.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    read = read_scenes(file)
    assert [scene.gender for scene in read] == [scene.gender for scene in drawn]
    loaded = load_generator(str(tmp_path / "model"))
    assert loaded.sample(read[:5], 2, 1) == base.sample(drawn[:5], 2, 1)
    one, two = halves(read, 0)
    assert len(one) == len(two) == 20
    file.write_text("\n".join(json.dumps({**row, "group": "cat"}) for row in rows))
    with pytest.raises(DataError, match="'group' must be one of"):
        read_scenes(file)


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
