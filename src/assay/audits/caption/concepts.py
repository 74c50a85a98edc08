"""Scores of good and bad captions to accuracies by group, and to biased concepts (caption Eq. 1-3).

These are the paper's numbers, under both rules. A concept is biased where resampling images tells the two
groups' accuracies apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.audits.effects import EVIDENCE, interval_estimate, share_of
from assay.core import Estimate, Finding, Floats, Scored
from assay.datasets.captions import imbalanced_concepts
from assay.grouping import grouped
from assay.statistics.correlation import weighted_correlation
from assay.statistics.intervals import Interval, bootstrap_p_value, bootstrap_weighted, resampled_means
from assay.statistics.resampled import difference_interval
from assay.vocabulary import Rule

Ties = Literal["wrong", "half", "drop"]
SIGNIFICANT = 0.05  # the paper's level
FEWEST = 10  # images of a group below which a concept is not counted among the biased or unbiased ones
_LEVEL = 0.95
_FEWEST_CONCEPTS = 8  # a rank correlation over fewer says nothing


@dataclass(frozen=True, slots=True)
class _Group:
    """One group's images of a concept, in rows that may stand for several images."""

    outcomes: Floats  # 1 right, 0 wrong, nan a tie that is dropped
    counts: Floats  # images per row

    @property
    def images(self) -> int:
        return int(self.counts[np.isfinite(self.outcomes)].sum())

    @property
    def is_deterministic(self) -> bool:
        """Whether one row stands for many images: a text metric gives each the same score."""
        return bool(self.counts.max(initial=0.0) > 1 or self.outcomes.size == 1)

    @property
    def accuracy(self) -> Estimate:
        """Eq. 1, weighted by images; nan where every row is a dropped tie."""
        used = np.isfinite(self.outcomes)
        if not used.any():
            return Estimate(float("nan"))
        if self.is_deterministic:
            return Estimate(float(np.average(self.outcomes[used], weights=self.counts[used])), self.images)
        return share_of(self.outcomes[used], range(int(used.sum())))


@dataclass(frozen=True, slots=True)
class Concept:
    """Two groups' accuracies on a concept, and the gap between them."""

    category: str
    name: str
    accuracies: Mapping[str, Estimate]  # by group
    gap: Estimate
    ties: float  # images whose two captions score the same
    evidence: tuple[str, ...]  # cases that are wrong

    @property
    def path(self) -> str:
        return f"{self.category}/{self.name}"

    @property
    def versus(self) -> str:
        """The groups, in the order of the gap."""
        return " - ".join(self.accuracies)

    @property
    def has_enough(self) -> bool:
        """Whether both groups have enough images to say whether the concept is biased."""
        fewest = min(accuracy.n for accuracy in self.accuracies.values())
        return fewest >= FEWEST and bool(np.isfinite(self.gap.value))

    @property
    def is_biased(self) -> bool:
        """Whether the accuracies differ significantly (Eq. 2 and 3)."""
        return self.gap.p_value is not None and self.gap.p_value < SIGNIFICANT


def outcomes_of(good: Floats, bad: Floats, ties: Ties) -> Floats:
    """1 where the good caption scores higher, else 0; ties are wrong (Eq. 1), half right or dropped (nan)."""
    tied = {"wrong": 0.0, "half": 0.5, "drop": np.nan}[ties]
    absent = ~(np.isfinite(good) & np.isfinite(bad))
    return np.where(absent, np.nan, np.where(good > bad, 1.0, np.where(good == bad, tied, 0.0)))


def concepts_of(scored: Scored, names: tuple[str, str], ties: Ties, seed: int) -> list[Concept]:
    """Every concept that has captions of both groups."""
    good, bad = scored.values["good"], scored.values["bad"]
    finite, tied = np.isfinite(good) & np.isfinite(bad), good == bad
    rows = [n for n, case in enumerate(scored.cases) if case.meta.get("kind") == "caption" and finite[n]]
    cases = [scored.cases[row] for row in rows]
    return compare_groups(
        [(case.meta["category"], case.meta["concept"]) for case in cases],
        [case.meta["group"] for case in cases], outcomes_of(good, bad, ties)[rows], names, seed,
        counts=np.array([case.meta.get("count", 1) for case in cases], dtype=np.float64),
        ties=tied[rows].astype(np.float64), ids=[case.id for case in cases],
    )  # fmt: skip


def compare_groups(
    paths: Sequence[tuple[str, str]],
    groups: Sequence[str],
    outcomes: Floats,
    names: tuple[str, str],
    seed: int,
    *,
    counts: Floats | None = None,
    ties: Floats | None = None,
    ids: Sequence[str] = (),
) -> list[Concept]:
    """Both groups' accuracies on every concept that has both, from one outcome per row (1 right, 0 wrong)."""
    counts = np.ones(len(outcomes)) if counts is None else counts
    tied = np.zeros(len(outcomes)) if ties is None else ties
    by_group = grouped(range(len(paths)), lambda row: (paths[row], groups[row]))
    concepts: list[Concept] = []
    for path in dict.fromkeys(paths):
        rows = [by_group.get((path, group), []) for group in names]
        if not all(rows):
            continue
        both = [_Group(outcomes[own], counts[own]) for own in rows]
        every = np.concatenate(rows)
        wrong = [ids[row] for row in every[outcomes[every] < 1]] if ids else []
        concepts.append(
            Concept(
                *path,
                accuracies=dict(zip(names, (group.accuracy for group in both), strict=True)),
                gap=_gap(both, seed + 2 * len(concepts)),
                ties=float((counts * tied)[every].sum()),
                evidence=tuple(wrong[:EVIDENCE]),
            )
        )
    return concepts


def _gap(groups: Sequence[_Group], seed: int) -> Estimate:
    """The first group's accuracy minus the second's, with the p-value that resampled images give."""
    first, second = (group.accuracy for group in groups)
    gap = first.value - second.value
    sides = [accuracy.ci and Interval(*accuracy.ci, _LEVEL) for accuracy in (first, second)]
    interval = difference_interval((first.value, second.value), (sides[0], sides[1]), 0.0)
    images = sum(group.images for group in groups)
    return interval_estimate(gap, images, interval, p_value=_gap_p_value(groups, gap, seed))


def _gap_p_value(groups: Sequence[_Group], gap: float, seed: int) -> float:
    """The p-value of a gap over resampled images; one answer for all images has no chance in it."""
    decided = [group.outcomes[np.isfinite(group.outcomes)] for group in groups]
    is_sampled = not any(group.is_deterministic for group in groups) and all(map(np.size, decided))
    if not is_sampled:
        return 1.0 if gap == 0.0 else 0.0
    first, second = (resampled_means(outcomes, seed=seed + n)[:, 0] for n, outcomes in enumerate(decided))
    return bootstrap_p_value(first - second)


def concept_findings(scored: Scored, concepts: Sequence[Concept], rule: Rule, seed: int) -> Iterator[Finding]:
    """Gap and accuracies per concept, then the shares of ties and of biased concepts per category and in all.

    A metric that reads no image has a few wordings of each concept and no images: only the paper counts it.
    """
    for concept in concepts:
        yield from _accuracies(scored, concept)
        if rule == "paper" and concept.has_enough:
            yield _significance(scored, concept)
    for slice_, members in _by_category(concepts).items():
        images, ties = sum(concept.gap.n for concept in members), sum(concept.ties for concept in members)
        yield Finding.of(scored, slice_, "tie_share", ties / max(1, images), n=images)
    if rule == "paper" or reads_images(scored):
        yield from _biased_concepts(scored, [concept for concept in concepts if concept.has_enough])


def _accuracies(scored: Scored, concept: Concept) -> Iterator[Finding]:
    """Eq. 1 for both groups, and the difference."""
    gap = replace(concept.gap, p_value=None)
    yield Finding.of(
        scored, concept.path, "accuracy_gap", gap, versus=concept.versus, evidence=concept.evidence
    )
    for group, accuracy in concept.accuracies.items():
        yield Finding.of(scored, concept.path, "accuracy", accuracy, versus=group)


def _by_category(concepts: Sequence[Concept]) -> dict[str, list[Concept]]:
    """The concepts of each category, and all of them."""
    if not concepts:
        return {}
    return grouped(concepts, lambda concept: concept.category) | {"all": list(concepts)}


def _significance(scored: Scored, concept: Concept) -> Finding:
    """The paper's criterion: whether resampling images tells the accuracies apart."""
    p_value = concept.gap.p_value or 0.0
    estimate = Estimate(p_value, concept.gap.n, (p_value, p_value), p_value)
    return Finding.of(
        scored, concept.path, "gap_p_value", estimate, versus=concept.versus, evidence=concept.evidence
    )


def _biased_concepts(scored: Scored, concepts: Sequence[Concept]) -> Iterator[Finding]:
    """The shares of biased concepts; also without those that app. A leaves out as a check."""
    slices = _by_category(concepts)
    imbalanced = imbalanced_concepts()
    balanced = [concept for concept in concepts if concept.name not in imbalanced]
    if balanced and len(balanced) < len(concepts):
        slices["all/without-imbalanced"] = balanced
    for slice_, members in slices.items():
        yield from _biased_shares(scored, slice_, members)


def _biased_shares(scored: Scored, slice_: str, concepts: Sequence[Concept]) -> Iterator[Finding]:
    """The share of biased concepts, in all and in favour of either group."""
    flags = np.array([float(concept.is_biased) for concept in concepts])
    evidence = [concept.path for concept in concepts if concept.is_biased][:EVIDENCE]
    share = share_of(flags, range(flags.size))
    yield Finding.of(scored, slice_, "biased_share", share, evidence=evidence)
    gaps = np.array([concept.gap.value for concept in concepts])
    for group, favoured in zip(concepts[0].accuracies, (gaps > 0, gaps < 0), strict=True):
        share = share_of(flags * favoured, range(flags.size))
        yield Finding.of(scored, slice_, "biased_share", share, versus=group)


def skew_findings(
    scored: Scored, concepts: Sequence[Concept], shares: Mapping[str, float], seed: int
) -> Iterator[Finding]:
    """The share of men that each concept was planted with, and how far the gap follows it over concepts."""
    shown = [concept for concept in concepts if concept.path in shares and np.isfinite(concept.gap.value)]
    for concept in shown:
        yield Finding.of(scored, concept.path, "planted_share", shares[concept.path], n=concept.gap.n)
    gaps = np.array([concept.gap.value for concept in shown])
    if len(shown) >= _FEWEST_CONCEPTS and np.ptp(gaps) > 0:  # equal gaps follow nothing
        planted = np.array([shares[concept.path] for concept in shown])
        statistic = weighted_correlation(planted, gaps, "spearman")
        value = float(statistic(np.ones((1, len(shown))))[0])
        interval = bootstrap_weighted(statistic, len(shown), seed=seed)
        yield Finding.of(scored, "all", "skew_correlation", interval_estimate(value, len(shown), interval))


def reads_images(scored: Scored) -> bool:
    """Whether the metric looks at images; else a concept's captions are a few wordings.

    A metric that gives all images of a caption one score has not looked at any.
    """
    answers: dict[tuple[str, tuple[str, ...]], dict[str, float]] = {}  # by caption and image
    for case, value in zip(scored.cases, scored.values.get("good", ()), strict=False):
        sample = case.samples.get("good")
        if sample is not None and sample.image is not None and np.isfinite(value):
            caption = (sample.hypothesis, sample.references)
            answers.setdefault(caption, {})[sample.image.digest] = float(value)
    several = [set(scores.values()) for scores in answers.values() if len(scores) > 1]
    return any(len(values) > 1 for values in several) if several else bool(answers)
