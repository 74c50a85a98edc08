"""Captions of one or two captioners to gender errors and to the one a metric favours (caption sec. 3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from assay.core import Case, Finding, Floats, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.swaps import Content, embedded_swaps, swap_texts
from assay.errors import DataError
from assay.statistics.intervals import Interval, bootstrap_mean
from assay.statistics.permutation import sign_test

AUDIT = "caption"
Outcome = Literal["right", "wrong", "neutral", "both"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "neutral", "both")
_WORDS = {"male": "man", "female": "woman"}


@dataclass(frozen=True, slots=True)
class Captioners:
    """Two captioners' captions of the same images, with the gender each caption and image tells."""

    names: tuple[str, str]
    first: tuple[Rated, ...]
    second: tuple[Rated, ...]
    images: tuple[Content, ...]
    told: tuple[tuple[Content, ...], tuple[Content, ...]]


def read_captioners(paths: Sequence[Path], *, skip_missing: bool = False) -> Captioners:
    """Two files matched by id; of one file the other captioner is its correction (sec. 3.1.2)."""
    if len(paths) > 2:
        raise DataError(f"--captions takes one or two files, not {len(paths)}")
    first = read_samples(paths[0], skip_missing=skip_missing)
    images = image_genders(first)
    if len(paths) == 1:
        second = [_corrected(one, gender) for one, gender in zip(first, images, strict=True)]
        names = (paths[0].stem, f"{paths[0].stem}-corrected")
    else:
        by_id = {one.id: one for one in read_samples(paths[1], skip_missing=skip_missing)}
        lost = [one.id for one in first if one.id not in by_id]
        if lost:
            raise DataError(
                f"{paths[1]}: no caption for {len(lost)} ids of {paths[0].name} ({lost[0]!r} is one)"
            )
        second = [by_id[one.id] for one in first]
        names = (paths[0].stem, paths[1].stem)
    told = (tuple(genders_told(first)), tuple(genders_told(second)))
    return Captioners(names, tuple(first), tuple(second), tuple(images), told)


def genders_told(items: Sequence[Rated]) -> list[Content]:
    """The gender each caption tells, by its words."""
    return [one.content for one in swap_texts([item.sample.hypothesis for item in items], embedded_swaps())]


def image_genders(items: Sequence[Rated]) -> list[Content]:
    """An image's gender: given as `group`, else told by at least one reference and contradicted by none."""
    texts = list(dict.fromkeys(text for item in items for text in item.sample.references))
    found = dict(zip(texts, (one.content for one in swap_texts(texts, embedded_swaps())), strict=True))
    given: dict[str, Content] = {"man": "male", "male": "male", "woman": "female", "female": "female"}
    genders: list[Content] = []
    for item in items:
        group = given.get(str(item.meta.get("group", "")).lower())
        told = {found[text] for text in item.sample.references} - {"neutral"}
        by_words: Content = next(iter(told)) if len(told) == 1 else "both" if told else "neutral"
        genders.append(group or by_words)
    return genders


def outcome(image: Content, told: Content) -> Outcome:
    """What a caption says of an image whose gender is known."""
    if told in ("neutral", "both"):
        return told
    return "right" if told == image else "wrong"


def _corrected(item: Rated, gender: Content) -> Rated:
    """Only `man` for a woman's image becomes `woman`, and the other way round; else as it was."""
    if gender not in _WORDS:
        return item
    right, wrong = (_WORDS[gender], _WORDS["female" if gender == "male" else "male"])
    content = genders_told([item])[0]
    if content in ("neutral", "both", gender):
        return item
    text = re.sub(rf"\b{wrong}\b", right, item.sample.hypothesis)
    return replace(item, sample=replace(item.sample, hypothesis=text))


def captioner_cases(both: Captioners) -> Iterator[Case]:
    """Both captions of an image, where they differ; the rule-based method cannot change the others."""
    for one, two in zip(both.first, both.second, strict=True):
        if one.sample.hypothesis != two.sample.hypothesis:
            samples = {"first": one.sample, "second": two.sample}
            category = str(one.meta.get("category", "all"))
            yield Case(f"favour/{one.id}", samples, f"favour/{category}", {"kind": "favour"})


def captioner_findings(both: Captioners, scored: Sequence[Scored], seed: int) -> list[Finding]:
    """Gender errors of either captioner, then which one each metric favours."""
    found = [
        finding
        for place, name in enumerate(both.names)
        for finding in _errors(name, both.images, both.told[place], seed)
    ]
    return [*found, *(finding for one in scored for finding in _favoured(one, both.names, seed))]


def _errors(name: str, images: Sequence[Content], told: Sequence[Content], seed: int) -> Iterator[Finding]:
    """The share of each outcome, by the image's gender; `gender_error` is the share of wrong ones."""
    for slice_, genders in (("all", ("male", "female")), ("male", ("male",)), ("female", ("female",))):
        results = [outcome(i, t) for i, t in zip(images, told, strict=True) if i in genders]
        for kind in OUTCOMES if results else ():
            values = np.array([result == kind for result in results], dtype=np.float64)
            ci = bootstrap_mean(values, seed=seed)
            statistic = "gender_error" if kind == "wrong" else f"gender_{kind}"
            yield _finding(f"captioner:{name}", f"gender/{slice_}", statistic, values, ci)


def _favoured(scored: Scored, names: tuple[str, str], seed: int) -> Iterator[Finding]:
    """Mean scores of either captioner (value) and how often the first wins (win), ties half."""
    if "first" not in scored.values:
        return
    first, second = scored.values["first"], scored.values["second"]
    known = np.isfinite(first) & np.isfinite(second)
    slices = [case.slice for case in scored.cases]
    for slice_ in ("favour", *sorted({name for name, there in zip(slices, known, strict=True) if there})):
        rows = known & np.array([name == slice_ or slice_ == "favour" for name in slices])
        if not rows.any():
            continue
        for name, values in zip(names, (first[rows], second[rows]), strict=True):
            ci = bootstrap_mean(values, seed=seed)
            yield replace(_finding(scored.metric, slice_, "mean_score", values, ci), versus=name)
        difference = first[rows] - second[rows]
        wins = (np.sign(difference) + 1) / 2
        plain = _finding(scored.metric, slice_, "win_share", wins, bootstrap_mean(wins, seed=seed))
        yield replace(plain, versus=names[0], p_value=sign_test(difference).p_value)


def _finding(metric: str, slice_: str, statistic: str, values: Floats, ci: Interval | None) -> Finding:
    value = float(values.mean())
    return Finding(metric, AUDIT, slice_, statistic, value, values.size, ci=ci.pair if ci else None)
