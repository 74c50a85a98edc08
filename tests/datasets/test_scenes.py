"""The rendered world: its pictures, its skew, images kept by content, and the small CLIP trained on it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assay.core import Sample
from assay.datasets import scenes
from assay.datasets.captions import embedded_captions
from assay.files import toml_file
from assay.models.vision import images_at, keep, recall
from assay.names.spec import parse_spec


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def test_every_concept_is_drawn_with_its_own_place_and_prop() -> None:
    table = toml_file("scenes", "scenes")
    shown = [tuple(look) for words in table["concepts"].values() for look in words.values()]
    assert len(shown) == len(set(shown)) == len(scenes.concept_captions())
    assert {prop for _, prop in shown} == set(table["props"])
    assert {place for place, _ in shown} <= set(table["places"])
    paths = {f"{caption.category}/{caption.concept}" for caption in embedded_captions()}
    assert set(scenes.concept_captions()) <= paths


def test_pictures_depend_on_the_seed_alone() -> None:
    one, two = (scenes.draw_scenes(6, 0, "train", "balanced") for _ in range(2))
    assert one == two != scenes.draw_scenes(6, 1, "train", "balanced")
    assert np.array_equal(scenes.draw(one[0]), scenes.draw(two[0]))
    assert scenes.draw(one[0]).shape == (32, 32, 3)
    images = scenes.rendered(one)
    assert images == scenes.rendered(one)
    assert len({image.digest for image in images}) == 6


def test_men_are_as_frequent_as_the_skew_says() -> None:
    assert set(scenes.shares_of_men("balanced").values()) == {0.5}
    shares, captions = scenes.shares_of_men("paper"), scenes.concept_captions()
    assert all(
        (shares[path] > 0.5) == (both["man"].count > both["woman"].count) for path, both in captions.items()
    )
    path = max(shares, key=shares.__getitem__)
    drawn = [scene for scene in scenes.draw_scenes(4000, 0, "test", "paper") if scene.path == path]
    assert np.mean([scene.caption.group == "man" for scene in drawn]) == pytest.approx(shares[path], abs=0.12)
    even = scenes.even_scenes(2, 0)
    assert sum(scene.caption.group == "man" for scene in even) == len(even) / 2 == 2 * len(captions)


def test_a_reworded_caption_names_the_group_that_is_asked_for() -> None:
    caption = scenes.concept_captions()["profession/nurse"]["man"]
    rng = Random(0)
    for group, words in (("man", {"man", "gentleman"}), ("woman", {"woman", "lady"})):
        assert all(words & set(scenes.reworded(caption, group, rng).split()) for _ in range(20))


def test_an_image_that_changes_is_read_again_and_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(b"one")
    [first] = images_at([file])
    assert images_at([file, file]) == [first, first]
    file.write_bytes(b"other")
    assert images_at([file])[0].digest != first.digest
    keep({"key": b"value"})
    assert recall(["key", "absent"]) == {"key": b"value"}
    for kept in (tmp_path / "cache").glob("images.sqlite*"):
        kept.write_bytes(b"no database " * 400)
    with pytest.warns(UserWarning, match=r"images\.sqlite is damaged"):
        assert recall(["key"]) == {}
    keep({"key": b"again"})
    assert recall(["key"]) == {"key": b"again"}


def test_a_miniature_clip_is_trained_once_and_scores_its_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    course = toml_file("scenes", "scenes")["clip"]
    full = scenes.clip_recipe("scenes")
    for name, value in (("pictures", 32), ("steps", 2), ("batch", 8)):
        monkeypatch.setitem(course, name, value)
    assert scenes.clip_recipe("scenes") not in (full, scenes.clip_recipe("scenes-balanced"))
    folder = scenes.clip_folder("scenes")
    assert json.loads((folder / "config.json").read_text())["model_type"] == "clip"
    written = (folder / "model.safetensors").stat().st_mtime_ns
    measure = parse_spec("clipscore:model=scenes")
    assert measure.metric.shown.startswith("clipscore-like")
    assert measure.metric.pins() == {"model": f"recipe:{scenes.clip_recipe('scenes')}"}
    captions = scenes.rendered_captions(1, 0)[:3]
    samples = [Sample(caption.good, caption.references, None, caption.image) for caption in captions]
    scored = measure.metric.score(samples)
    assert np.isfinite(np.asarray(scored.values, dtype=float)).all()
    assert (scenes.clip_folder("scenes") / "model.safetensors").stat().st_mtime_ns == written
