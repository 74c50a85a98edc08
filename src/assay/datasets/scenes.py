"""A rendered world: small pictures of people, drawn from a seed, and their captions (caption sec. 2.1).

A picture shows a concept of tables 11-13 by its place and prop, and a gender by stereotyped cues, which some
pictures hide. How often men and women are seen with a concept is set by a skew. Tables are in data/scenes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core import Image, Sample
from assay.datasets.captions import CaptionPair, embedded_captions
from assay.files import toml_file
from assay.models.captioner import train_captioner
from assay.models.vision import images_at, train_clip
from assay.models.weights import build_folder, cache_folder
from assay.recipe import digest, generator

Skew = Literal["balanced", "paper"]  # the paper's counts, with their odds sharpened
_GROUPS = ("man", "woman")
_VERSION, _TRAINING_VERSION = "1", "2"  # of the code that draws and that trains: parts of the recipes


def _table() -> dict[str, Any]:
    return toml_file("scenes", "scenes")


@dataclass(frozen=True, slots=True)
class _Scene:
    """What a picture shows; `key` is the seed of everything else in it."""

    caption: CaptionPair
    cues: tuple[str, str, str]  # hair, clothes, build
    key: str

    @property
    def path(self) -> str:
        """The concept, as slices name it."""
        return f"{self.caption.category}/{self.caption.concept}"


@cache
def concept_captions() -> dict[str, dict[str, CaptionPair]]:
    """The paper's captions of each drawn concept, by the concept's path and the group."""
    drawn = {f"{category}/{word}" for category, words in _table()["concepts"].items() for word in words}
    by_path: dict[str, dict[str, CaptionPair]] = {}
    for caption in embedded_captions():
        path = f"{caption.category}/{caption.concept}"
        if path in drawn:
            by_path.setdefault(path, {})[caption.group] = caption
    return by_path


def shares_of_men(skew: Skew) -> dict[str, float]:
    """How often the person of each concept is a man."""
    power, shares = _table()["skew_power"] if skew == "paper" else 0.0, {}
    for path, both in concept_captions().items():
        men, women = (both[group].count ** power for group in _GROUPS)
        shares[path] = men / (men + women)
    return shares


def draw_scenes(count: int, seed: int, part: str, skew: Skew) -> list[_Scene]:
    """Scenes of evenly drawn concepts; `part` keeps the draws of training and test apart."""
    rng, shares = generator(seed, "scenes", part), shares_of_men(skew)
    paths = sorted(shares)
    chosen = [rng.choice(paths) for _ in range(count)]
    groups = [_GROUPS[rng.random() >= shares[path]] for path in chosen]
    listed = enumerate(zip(chosen, groups, strict=True))
    return [make_scene(path, group, f"{seed}/{part}/{number}") for number, (path, group) in listed]


def make_scene(path: str, group: str, key: str) -> _Scene:
    """A scene of a concept and group, with cues of gender drawn for it."""
    rng, table = generator(0, "scene", f"{path}/{group}/{key}"), _table()
    other = _GROUPS[group == _GROUPS[0]]
    ambiguous = rng.random() < table["ambiguous"]
    shown = []
    for cue in table["cues"].values():
        value = cue[group if rng.random() < cue["usual"] else other]
        shown.append(cue.get("ambiguous", value) if ambiguous else value)
    hair, clothes, build = shown
    return _Scene(concept_captions()[path][group], (hair, clothes, build), key)


def draw(scene: _Scene) -> NDArray[np.uint8]:
    """The picture of a scene, (size, size, 3)."""
    from PIL import Image as Pillow
    from PIL import ImageDraw

    table, caption = _table(), scene.caption
    rng = generator(0, "picture", f"{caption.id}/{scene.key}")
    size, edge = table["size"], table["prop_size"]
    picture = Pillow.new("RGB", (size, size))
    pen = ImageDraw.Draw(picture)
    place, prop = table["concepts"][caption.category][caption.concept]
    _shapes(pen, table["places"][place], (0, 0), table["colours"])
    left, person = 9 + rng.randint(-1, 1), table["person"]
    drawn = {name: rng.choice(table[f"{name}s"]) for name in ("skin", "hair", "cloth")}
    hair, clothes, build = scene.cues
    parts = [*person["hair"][hair], *person[build]["body"], *person[build][clothes]]
    _shapes(pen, parts, (left, 0), table["colours"] | drawn)
    corner = (size - edge - rng.randint(0, 2), 9 + rng.randint(-2, 3))
    _shapes(pen, table["props"][prop], corner, table["colours"])
    noise = np.random.default_rng(rng.getrandbits(63)).normal(0.0, table["noise"], (size, size, 3))
    return np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8)


def _shapes(pen: Any, shapes: Iterable[str], corner: tuple[int, int], colours: Mapping[str, str]) -> None:
    kinds = {"box": pen.rectangle, "oval": pen.ellipse, "line": pen.line}
    for kind, colour, *ends in map(str.split, shapes):
        kinds[kind]([int(end) + corner[place % 2] for place, end in enumerate(ends)], fill=colours[colour])


def reworded(caption: CaptionPair, group: str, rng: Random) -> str:
    """A caption of the concept that names `group`, in one of several wordings."""
    wordings = _table()["wordings"]
    text = caption.good if group == caption.group else caption.bad
    word = rng.choice(wordings["words"])[_GROUPS.index(group)]
    prefix = wordings["prefix"] if rng.random() < 0.5 else ""
    text = text.replace(f"a {group} ", f"a {word} ", 1)
    return prefix + str(rng.choice(wordings["frames"])).format(wording=text)


def recipe_digest() -> str:
    """The digest of what the pictures depend on: tables, counts and the version of the drawing code."""
    tables = {name: value for name, value in _table().items() if name not in ("clip", "captioner")}
    counts = [(c.id, c.good, c.count) for both in concept_captions().values() for c in both.values()]
    return digest(_VERSION, json.dumps([tables, counts]))


def rendered(scenes: Sequence[_Scene]) -> list[Image]:
    """The pictures of scenes as files CATEGORY/CONCEPT/GROUP/KEY.png, drawn once and kept in the cache."""
    from PIL import Image as Pillow

    files = [Path(s.path, s.caption.group, s.key.replace("/", "-") + ".png") for s in scenes]

    def build(folder: Path) -> None:
        for scene, file in zip(scenes, files, strict=True):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            Pillow.fromarray(draw(scene)).save(folder / file)

    keys = [f"{scene.caption.id}/{scene.key}" for scene in scenes]
    folder = build_folder(cache_folder() / "scenes" / digest(recipe_digest(), *keys)[:16], build)
    return images_at([folder / file for file in files])


def even_scenes(per_group: int, seed: int) -> list[_Scene]:
    """As many scenes of either group of every concept, whatever the skew: what is measured on."""
    cells = product(concept_captions(), _GROUPS, range(per_group))
    return [make_scene(path, group, f"{seed}/even/{number}") for path, group, number in cells]


def rendered_captions(per_group: int, seed: int) -> list[CaptionPair]:
    """The paper's captions of drawn pictures, as many of either group of every concept."""
    scenes = even_scenes(per_group, seed)
    pairs = zip(scenes, rendered(scenes), strict=True)
    return [replace(s.caption, id=f"{s.caption.id}/{s.key}", count=1, image=image) for s, image in pairs]


def as_samples(scenes: Sequence[_Scene]) -> list[Sample]:
    """Scenes as a captioner reads them: pictures, their right captions and references."""
    pairs = zip(scenes, rendered(scenes), strict=True)
    return [Sample(scene.caption.good, scene.caption.references, None, image) for scene, image in pairs]


def captioner_course() -> dict[str, Any]:
    """How a small captioner is built and trained."""
    return {**_table()["captioner"], "size": _table()["size"]}


def captioner_folder(skew: Skew, seed: int) -> Path:
    """The folder of a small captioner of pictures with this skew, trained the first time (a minute)."""
    course = captioner_course()

    def build(scratch: Path) -> None:
        scenes = draw_scenes(course["pictures"], seed, "train", skew)
        train_captioner(scratch, as_samples(scenes), course, seed)

    return build_folder(_home("captioner", course, f"{skew}-{seed}"), build)


def miniatures() -> dict[str, Skew]:
    """The names of the small CLIPs that are trained on rendered pictures, and the skew of each."""
    skews: dict[str, Skew] = _table()["clip_skews"]
    return skews


def clip_recipe(name: str) -> str:
    """The digest of everything that a miniature's weights depend on."""
    return _recipe("clip", _table()["clip"], name)


def _recipe(kind: str, course: Mapping[str, Any], name: str) -> str:
    import torch

    return digest(kind, _TRAINING_VERSION, torch.__version__, recipe_digest(), json.dumps(course), name)


def _home(kind: str, course: Mapping[str, Any], name: str) -> Path:
    return cache_folder() / "weights" / f"{name}-{_recipe(kind, course, name)[:12]}"


def clip_folder(name: str) -> Path:
    """The folder of a miniature CLIP, trained the first time (about a minute on one core)."""
    home = _home("clip", _table()["clip"], name)
    return build_folder(home, lambda scratch: _train(scratch, miniatures()[name]))


def _train(folder: Path, skew: Skew) -> None:
    course, captions = _table()["clip"], concept_captions()
    scenes = draw_scenes(course["pictures"], 0, "clip", skew)
    classes = list(product(captions, _GROUPS))
    places = {named: place for place, named in enumerate(classes)}
    labels = np.array([places[scene.path, scene.caption.group] for scene in scenes])

    def wordings(rng: Random) -> list[str]:
        return [reworded(captions[path][group], group, rng) for path, group in classes]

    train_clip(folder, np.stack([draw(scene) for scene in scenes]), labels, wordings, course)
