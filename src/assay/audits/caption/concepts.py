"""Scores of good and bad captions to accuracy by group and concept (caption Eq. 1-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Finding, Floats, Scored
from assay.statistics.estimates import benjamini_hochberg, mde_interval, verdict
from assay.statistics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_p_value,
    interval_of,
    resampled_means,
)
from assay.vocabulary import Rule

Ties = Literal["wrong", "half", "drop"]
AUDIT = "caption"
ALPHA = 0.05
EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class Group:
    """One group's images of a concept: 1 right, 0 wrong, nan a tie that is dropped; `counts` are images."""

    outcomes: Floats
    counts: Floats
    ties: float
    ids: tuple[str, ...]

    @property
    def images(self) -> int:
        """How many images stand behind the outcomes used."""
        return int(self.counts[np.isfinite(self.outcomes)].sum())

    @property
    def accuracy(self) -> float:
        """Eq. 1, weighted by images; nan where every pair was a dropped tie."""
        used = np.isfinite(self.outcomes)
        return (
            float(np.average(self.outcomes[used], weights=self.counts[used])) if used.any() else float("nan")
        )

    @property
    def deterministic(self) -> bool:
        """Whether one row stands for many images: a text metric says the same of each."""
        return bool(self.counts.max(initial=0.0) > 1 or self.outcomes.size == 1)


@dataclass(frozen=True, slots=True)
class Concept:
    """The difference between two groups' accuracy on a concept."""

    category: str
    name: str
    groups: tuple[str, str]
    accuracies: tuple[float, float]
    intervals: tuple[Interval | None, Interval | None]  # of the accuracies
    images: tuple[int, int]
    ties: float
    interval: Interval | None
    p_value: float | None
    deterministic: bool
    evidence: tuple[str, ...]

    @property
    def gap(self) -> float:
        """The first group's accuracy less the second's."""
        return self.accuracies[0] - self.accuracies[1]

    @property
    def path(self) -> str:
        """Its slice."""
        return f"{self.category}/{self.name}"


def outcome_of(good: Floats, bad: Floats, ties: Ties) -> Floats:
    """Eq. 1's strict > counts a tie as wrong; or half, or dropped."""
    tied = {"wrong": 0.0, "half": 0.5, "drop": np.nan}[ties]
    absent = ~(np.isfinite(good) & np.isfinite(bad))
    return np.where(absent, np.nan, np.where(good > bad, 1.0, np.where(good == bad, tied, 0.0)))


def concepts_of(scored: Scored, groups: tuple[str, str], ties: Ties, seed: int) -> list[Concept]:
    """Every concept that has both groups."""
    good, bad = scored.values["good"], scored.values["bad"]
    outcomes = outcome_of(good, bad, ties)
    known = np.isfinite(good) & np.isfinite(bad)
    rows: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row, case in enumerate(scored.cases):
        if case.meta.get("kind") == "caption" and known[row]:
            place = rows.setdefault((case.meta["category"], case.meta["concept"]), {})
            place.setdefault(case.meta["group"], []).append(row)
    tied = good == bad
    return [
        _concept(key, groups, [_group(scored, outcomes, tied, found[name]) for name in groups], seed)
        for key, found in rows.items()
        if all(name in found for name in groups)
    ]


def _group(scored: Scored, outcomes: Floats, tied: np.ndarray, rows: Sequence[int]) -> Group:
    counts = np.array([scored.cases[row].meta["count"] for row in rows], dtype=np.float64)
    ids = tuple(scored.cases[row].id for row in rows)
    return Group(outcomes[list(rows)], counts, float(counts[tied[list(rows)]].sum()), ids)


def _concept(key: tuple[str, str], names: tuple[str, str], sides: Sequence[Group], seed: int) -> Concept:
    deterministic = all(side.deterministic for side in sides)
    accuracies = (sides[0].accuracy, sides[1].accuracy)
    intervals: list[Interval | None] = [None, None, None]
    p_value = None
    if not deterministic and np.isfinite(accuracies).all():
        intervals, p_value = _bootstrap(sides, seed)
    wrong = [
        id_ for side in sides for id_, outcome in zip(side.ids, side.outcomes, strict=True) if outcome < 1
    ]
    images = (sides[0].images, sides[1].images)
    ties = sum(side.ties for side in sides)
    either = (intervals[0], intervals[1])
    return Concept(
        *key, names, accuracies, either, images, ties, intervals[2], p_value, deterministic,
        tuple(wrong[:EVIDENCE]),
    )  # fmt: skip


def _bootstrap(sides: Sequence[Group], seed: int) -> tuple[list[Interval | None], float]:
    """Images of either group resampled: both accuracies, their difference, its two-sided p-value."""
    means = [
        resampled_means(side.outcomes[np.isfinite(side.outcomes)], seed=seed + place)[:, 0]
        for place, side in enumerate(sides)
    ]
    draws = means[0] - means[1]
    sizes = [side.images for side in sides]
    every = zip((*means, draws), (*sizes, min(sizes)), strict=True)
    return [interval_of(values, n_clusters=size) for values, size in every], bootstrap_p_value(draws)


def _accuracies(metric: str, one: Concept) -> Iterator[Finding]:
    """Eq. 1 by group."""
    every = zip(one.groups, one.accuracies, one.intervals, one.images, strict=True)
    for group, accuracy, interval, images in every:
        ci = interval.pair if interval else None
        yield Finding(metric, AUDIT, one.path, "accuracy", accuracy, images, versus=group, ci=ci)


@dataclass(frozen=True, slots=True)
class Judge:
    """How concepts are judged."""

    margin: float
    share_margin: float
    fewest: int
    seed: int
    rule: Rule

    def findings(
        self, metric: str, concepts: Sequence[Concept], subsets: Mapping[str, frozenset[str]]
    ) -> Iterator[Finding]:
        """A finding a concept, then the share of biased concepts a category and a subset of all."""
        fair = self._verdicts(concepts)
        for one, (q, passed) in zip(concepts, fair, strict=True):
            ci = one.interval.pair if one.interval else None
            yield Finding(
                metric, AUDIT, one.path, "accuracy_gap", one.gap, sum(one.images),
                versus=" - ".join(one.groups), ci=ci, p_value=one.p_value, q_value=q,
                mde=mde_interval(one.interval), passed=passed,
                evidence=one.evidence if passed is False else (),
            )  # fmt: skip
            yield from _accuracies(metric, one)
        judged = [(one, passed) for one, (_, passed) in zip(concepts, fair, strict=True) if self._enough(one)]
        for category in dict.fromkeys(one.category for one, _ in judged):
            yield from self._share(
                metric, category, [pair for pair in judged if pair[0].category == category]
            )
        yield from self._share(metric, "all", judged)
        for name, left_out in subsets.items():
            kept = [pair for pair in judged if pair[0].path not in left_out]
            if len(kept) < len(judged):
                yield from self._share(metric, f"all/{name}", kept)

    def _enough(self, one: Concept) -> bool:
        return min(one.images) >= self.fewest and bool(np.isfinite(one.gap))

    def _verdicts(self, concepts: Sequence[Concept]) -> list[tuple[float | None, bool | None]]:
        """By p in the paper, by q and size here; without chance (deterministic) by size alone."""
        q_values = benjamini_hochberg([one.p_value for one in concepts])
        return [
            (
                None if one.p_value is None else float(q),
                self._passed(one, float(q)) if self._enough(one) else None,
            )
            for one, q in zip(concepts, q_values, strict=True)
        ]

    def _passed(self, one: Concept, q: float) -> bool | None:
        if one.p_value is None:
            return abs(one.gap) <= (0.0 if self.rule == "paper" else self.margin)
        if self.rule == "paper":
            return one.p_value >= ALPHA
        if q < ALPHA and abs(one.gap) >= self.margin:
            return False
        return True if verdict(one.interval, self.margin, "either") else None

    def _share(
        self, metric: str, slice_: str, judged: Sequence[tuple[Concept, bool | None]]
    ) -> Iterator[Finding]:
        """The share of concepts that fail, in all and towards either group."""
        if not judged:
            return
        biased = np.array([passed is False for _, passed in judged], dtype=np.float64)
        gaps = np.array([one.gap for one, _ in judged])
        ci = bootstrap_mean(biased, seed=self.seed)
        paths = tuple(one.path for one, passed in judged if passed is False)
        yield Finding(
            metric, AUDIT, slice_, "biased_share", float(biased.mean()), biased.size,
            ci=ci.pair if ci else None, mde=mde_interval(ci), passed=verdict(ci, self.share_margin),
            evidence=paths[:EVIDENCE],
        )  # fmt: skip
        for name, towards in zip(judged[0][0].groups, (gaps > 0, gaps < 0), strict=True):
            share = biased * towards
            ci = bootstrap_mean(share, seed=self.seed)
            yield Finding(
                metric, AUDIT, slice_, "biased_share", float(share.mean()), share.size, versus=name,
                ci=ci.pair if ci else None,
            )  # fmt: skip
        ties = sum(one.ties for one, _ in judged) / max(1, sum(sum(one.images) for one, _ in judged))
        yield Finding(metric, AUDIT, slice_, "tie_share", ties, sum(sum(one.images) for one, _ in judged))
