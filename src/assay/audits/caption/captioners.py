"""Captions of one or two captioners to gender errors, and to the captioner a metric favours (sec. 3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from assay.audits.slices import mean_estimate
from assay.core import Case, Finding, Scored, Statistic
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.swaps import Content, embedded_swaps, swap_texts
from assay.errors import DataError
from assay.statistics.permutation import sign_test

Outcome = Literal["right", "wrong", "neutral", "both"]
_GROUPS: dict[str, Content] = {"man": "male", "male": "male", "woman": "female", "female": "female"}
_WORDS = {"male": "man", "female": "woman"}

STATISTICS = (
    Statistic(
        "win_share",
        "Share of images where the metric scores the first captioner's caption higher than the second's; "
        "ties count half.",
        "share",
    ),
    Statistic("mean_score", "Mean score of a captioner's captions.", "metric's own units"),
    Statistic("gender_error", "Share of a captioner's captions that name the wrong gender.", "share"),
    Statistic("gender_right", "Share of a captioner's captions that name the right gender.", "share"),
    Statistic("gender_neutral", "Share of a captioner's captions that name no gender.", "share"),
    Statistic("gender_both", "Share of a captioner's captions that name both genders.", "share"),
)


@dataclass(frozen=True, slots=True)
class Captioners:
    """Two captioners' captions of the same images, with the gender of each image and caption."""

    names: tuple[str, str]
    first: tuple[Rated, ...]
    second: tuple[Rated, ...]
    images: tuple[Content, ...]
    genders: tuple[tuple[Content, ...], tuple[Content, ...]]


def read_captioners(paths: Sequence[Path], *, skip_missing: bool = False) -> Captioners:
    """Read two captioners' outputs, matched by id.

    With one file, the second captioner is the first one with genders corrected by rule (sec. 3.1.2).
    """
    if len(paths) > 2:
        raise DataError(f"--captions takes one or two files, not {len(paths)}")
    first = read_samples(paths[0], skip_missing=skip_missing)
    images = image_genders(first)
    if len(paths) == 1:
        second = [_corrected(item, gender) for item, gender in zip(first, images, strict=True)]
        names = (paths[0].stem, f"{paths[0].stem}-corrected")
    else:
        by_id = {item.id: item for item in read_samples(paths[1], skip_missing=skip_missing)}
        missing = [item.id for item in first if item.id not in by_id]
        if missing:
            raise DataError(
                f"{paths[1]}: no caption for {len(missing)} ids of {paths[0].name} ({missing[0]!r} is one)"
            )
        second = [by_id[item.id] for item in first]
        names = (paths[0].stem, paths[1].stem)
    genders = (tuple(caption_genders(first)), tuple(caption_genders(second)))
    return Captioners(names, tuple(first), tuple(second), tuple(images), genders)


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


def outcome(image: Content, caption: Content) -> Outcome:
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


def captioner_findings(captioners: Captioners, scored: Sequence[Scored], seed: int) -> Iterator[Finding]:
    """Gender errors of each captioner, then which one each metric favours."""
    for name, genders in zip(captioners.names, captioners.genders, strict=True):
        yield from _gender_errors(name, captioners.images, genders, seed)
    for answer in scored:
        if "first" in answer.values:
            yield from _favoured(answer, captioners.names, seed)


def _gender_errors(
    name: str, images: Sequence[Content], captions: Sequence[Content], seed: int
) -> Iterator[Finding]:
    """The share of each outcome, by the image's gender; `gender_error` is the share of wrong ones."""
    for slice_, genders in (("all", ("male", "female")), ("male", ("male",)), ("female", ("female",))):
        results = [outcome(i, c) for i, c in zip(images, captions, strict=True) if i in genders]
        for kind in get_args(Outcome) if results else ():
            share = mean_estimate(np.array([float(result == kind) for result in results]), seed=seed)
            statistic = "gender_error" if kind == "wrong" else f"gender_{kind}"
            yield Finding.of(f"captioner:{name}", f"gender/{slice_}", statistic, share)


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
        wins = mean_estimate((np.sign(difference) + 1) / 2, seed=seed)
        tested = replace(wins, p_value=sign_test(difference).p_value)
        yield Finding.of(scored, slice_, "win_share", tested, versus=names[0])
