"""Captioners: what gender their captions name, where they err, and which one a metric favours (sec. 3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from assay.audits.caption.concepts import Concept, compare_groups
from assay.audits.effects import mean_estimate, share_of
from assay.core import Case, Estimate, Finding, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.scenes import as_samples, captioner_folder, even_scenes
from assay.datasets.swaps import Content, embedded_swaps, swap_texts
from assay.errors import DataError
from assay.grouping import grouped
from assay.models.captioner import load_captioner
from assay.statistics.permutation import sign_test

_Outcome = Literal["right", "wrong", "neutral", "both"]
_GROUPS: dict[str, Content] = {"man": "male", "male": "male", "woman": "female", "female": "female"}
_WORDS = {"male": "man", "female": "woman"}


@dataclass(frozen=True, slots=True)
class Captioners:
    """Two captioners' captions of the same images, with the gender of each image and caption."""

    names: tuple[str, str]
    first: tuple[Rated, ...]
    second: tuple[Rated, ...]
    images: tuple[Content, ...]
    genders: tuple[tuple[Content, ...], tuple[Content, ...]]


def read_captioners(paths: Sequence[Path], *, skip_missing: bool = False) -> Captioners:
    """Read two captioners' outputs, matched by id; with one file, it is compared with its own correction."""
    if len(paths) > 2:
        raise DataError(f"--captions takes one or two files, not {len(paths)}")
    first, *others = (read_samples(path, skip_missing=skip_missing) for path in paths)
    if not others:
        return match_captioners((paths[0].stem, f"{paths[0].stem}-corrected"), first)
    by_id = {item.id: item for item in others[0]}
    missing = [item.id for item in first if item.id not in by_id]
    if missing:
        raise DataError(
            f"{paths[1]}: no caption for {len(missing)} ids of {paths[0].name} ({missing[0]!r} is one)"
        )
    return match_captioners((paths[0].stem, paths[1].stem), first, [by_id[item.id] for item in first])


def match_captioners(
    names: tuple[str, str], first: Sequence[Rated], second: Sequence[Rated] | None = None
) -> Captioners:
    """Two captioners of the same images; without a second, the first corrected by rule (sec. 3.1.2)."""
    images = image_genders(first)
    if second is None:
        second = [_corrected(item, gender) for item, gender in zip(first, images, strict=True)]
    genders = (tuple(caption_genders(first)), tuple(caption_genders(second)))
    return Captioners(names, tuple(first), tuple(second), tuple(images), genders)


def written_captions(per_group: int, seed: int) -> list[Rated]:
    """What a small captioner that was trained on pictures of the paper's skew writes of rendered pictures."""
    scenes = even_scenes(per_group, seed)
    inputs = as_samples(scenes)
    texts = load_captioner(str(captioner_folder("paper", seed))).best(inputs)
    return [
        Rated(
            f"{scene.caption.id}/{scene.key}", replace(sample, hypothesis=text),
            meta={name: getattr(scene.caption, name) for name in ("group", "category", "concept")},
        )
        for scene, sample, text in zip(scenes, inputs, texts, strict=True)
    ]  # fmt: skip


def caption_genders(items: Sequence[Rated]) -> list[Content]:
    """The gender that each caption names."""
    swapped = swap_texts([item.sample.hypothesis for item in items], embedded_swaps())
    return [text.content for text in swapped]


def image_genders(items: Sequence[Rated]) -> list[Content]:
    """An image's gender: given as `group`, else named by at least one reference and contradicted by none."""
    texts = list(dict.fromkeys(text for item in items for text in item.sample.references))
    swaps = zip(texts, swap_texts(texts, embedded_swaps()), strict=True)
    contents = {text: swap.content for text, swap in swaps}
    genders: list[Content] = []
    for item in items:
        named = {contents[text] for text in item.sample.references} - {"neutral"}
        by_words: Content = next(iter(named)) if len(named) == 1 else "both" if named else "neutral"
        genders.append(_GROUPS.get(str(item.meta.get("group", "")).lower(), by_words))
    return genders


def captioner_outcome(image: Content, caption: Content) -> _Outcome:
    """What a caption says about an image whose gender is known."""
    if caption in ("neutral", "both"):
        return caption
    return "right" if caption == image else "wrong"


def _corrected(item: Rated, gender: Content) -> Rated:
    """The caption with `man` and `woman` exchanged if it names the wrong gender, else as it was."""
    if gender not in _WORDS or caption_genders([item])[0] in ("neutral", "both", gender):
        return item
    right, wrong = _WORDS[gender], _WORDS["female" if gender == "male" else "male"]
    text = re.sub(rf"\b{wrong}\b", right, item.sample.hypothesis)
    return replace(item, sample=replace(item.sample, hypothesis=text))


def captioner_cases(captioners: Captioners) -> Iterator[Case]:
    """Both captions of each image for which they differ."""
    for first, second in zip(captioners.first, captioners.second, strict=True):
        if first.sample.hypothesis != second.sample.hypothesis:
            samples = {"first": first.sample, "second": second.sample}
            category = str(first.meta.get("category", "all"))
            yield Case(f"favour/{first.id}", samples, f"favour/{category}", {"kind": "favour"})


def silent_captioners(captioners: Captioners) -> Iterator[str]:
    """A note on each captioner whose captions name no gender, so that it cannot err."""
    for name, genders in zip(captioners.names, captioners.genders, strict=True):
        if not {"male", "female"} & set(genders):
            yield f"captioner {name}: none of {len(genders)} captions names one gender, so that none is wrong"


def captioner_findings(captioners: Captioners, scored: Sequence[Scored], seed: int) -> Iterator[Finding]:
    """Gender errors of each captioner, in all and by concept, then which one each metric favours."""
    for name, genders in zip(captioners.names, captioners.genders, strict=True):
        yield from _gender_errors(name, captioners.images, genders)
        yield from _errors_by_concept(name, captioners, genders, seed)
    for answer in scored:
        if "first" in answer.values:
            yield from _favoured(answer, captioners.names, seed)


def _gender_errors(name: str, images: Sequence[Content], captions: Sequence[Content]) -> Iterator[Finding]:
    """The share of each outcome, by the image's gender; `gender_error` is the share of wrong ones."""
    for slice_, genders in (("all", ("male", "female")), ("male", ("male",)), ("female", ("female",))):
        results = [captioner_outcome(i, c) for i, c in zip(images, captions, strict=True) if i in genders]
        for kind in get_args(_Outcome) if results else ():
            share = share_of(np.array([float(result == kind) for result in results]), range(len(results)))
            statistic = "gender_error" if kind == "wrong" else f"gender_{kind}"
            yield Finding.of(f"captioner:{name}", f"gender/{slice_}", statistic, share)


def _errors_by_concept(
    name: str, captioners: Captioners, genders: Sequence[Content], seed: int
) -> Iterator[Finding]:
    """The gap between errors on men and on women by concept, and the share of biased concepts (sec. 3.1.1).

    Biases in opposite directions do not cancel out in that share.
    """
    concepts = _captioned_concepts(captioners, genders, seed)
    for concept in concepts:
        ci = concept.gap.ci
        gap = Estimate(-concept.gap.value, concept.gap.n, ci and (-ci[1], -ci[0]))
        yield Finding.of(
            f"captioner:{name}", f"gender/{concept.path}", "error_gap", gap, versus="man - woman",
            evidence=concept.evidence,
        )  # fmt: skip
    enough = [concept for concept in concepts if concept.has_enough]
    for slice_, members in (grouped(enough, lambda c: c.category) | {"all": enough}).items():
        if members:
            flags = np.array([float(concept.is_biased) for concept in members])
            share = share_of(flags, range(flags.size))
            yield Finding.of(f"captioner:{name}", f"gender/{slice_}", "biased_share", share)


def _captioned_concepts(captioners: Captioners, genders: Sequence[Content], seed: int) -> list[Concept]:
    """The concepts of images whose gender is known; a caption is right unless it names the wrong one."""
    known = [
        (item, image, caption)
        for item, image, caption in zip(captioners.first, captioners.images, genders, strict=True)
        if image in _WORDS and item.meta.get("concept")
    ]
    return compare_groups(
        [(str(item.meta.get("category", "all")), str(item.meta["concept"])) for item, _, _ in known],
        [_WORDS[image] for _, image, _ in known],
        np.array([float(captioner_outcome(image, caption) != "wrong") for _, image, caption in known]),
        ("man", "woman"), seed, ids=[item.id for item, _, _ in known],
    )  # fmt: skip


def _favoured(scored: Scored, names: tuple[str, str], seed: int) -> Iterator[Finding]:
    """Mean scores of both captioners, and how often the first one scores higher; ties count half."""
    first, second = scored.values["first"], scored.values["second"]
    known = np.isfinite(first) & np.isfinite(second)
    slices = np.array([case.slice for case in scored.cases])
    for slice_ in ("favour", *sorted(set(slices[known].tolist()))):
        rows = known if slice_ == "favour" else known & (slices == slice_)
        if not rows.any():
            continue
        for name, values in zip(names, (first[rows], second[rows]), strict=True):
            yield Finding.of(scored, slice_, "mean_score", mean_estimate(values, seed=seed), versus=name)
        difference = first[rows] - second[rows]
        wins = share_of((np.sign(difference) + 1) / 2, range(difference.size))
        tested = replace(wins, p_value=sign_test(difference))
        yield Finding.of(scored, slice_, "win_share", tested, versus=names[0])
