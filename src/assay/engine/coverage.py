"""How much of what it was asked a metric answered, and whether its silence depends on what a text is.

A metric that is silent where it would fail must not pass. So every verdict needs scores of nearly all texts
that have what the metric needs, in every role of the slice; and a metric that is silent on damaged texts and
not on sound ones, or on one group and not on others, has chosen what it is judged by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Self

import numpy as np
import scipy  # scipy.stats takes 0.4 s to import, so it is loaded on first use

from assay.core import Case, Grid, Sample, Scored, Statistic
from assay.vocabulary import COVERAGE, COVERED

LEAST = (
    0.95  # of the texts: what a twentieth can hide is a twentieth of the decisions, less than most intervals
)
_ENOUGH = 20  # texts of a role from which it is looked at by itself: of fewer, one is more than a twentieth
_SURE = 0.001  # the chance of so much silence in one role, if it did not depend on the role
STATISTIC = Statistic(
    COVERAGE,
    "Of the texts that have what the metric needs, the share to which it gave a score, in the role in which "
    "it gave fewest; listed where it is too small for a verdict, or where silence depends on the role.",
    "share", bad="low", bar=COVERED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of the texts in each role, how many a metric could have scored and how many it did."""

    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Self) -> Coverage:
        return Coverage(self.asked + other.asked, self.answered + other.answered)

    @property
    def share(self) -> float:
        """The share of texts with a score: of all, or of the role that has fewest."""
        roles = [role for role, count in self.asked.items() if count >= _ENOUGH]
        shares = [self.answered[role] / self.asked[role] for role in roles]
        return min([self.answered.total() / self.asked.total(), *shares])

    @property
    def is_whole(self) -> bool:
        """Whether every text has a score."""
        return self.answered == self.asked

    def silent_role(self) -> str | None:
        """The role in which silence is surely more common than in the others; None if there is none."""
        for role, asked in self.asked.items():
            here = [asked - self.answered[role], self.answered[role]]
            everywhere = [self.asked.total() - self.answered.total(), self.answered.total()]
            table = [here, [whole - part for whole, part in zip(everywhere, here, strict=True)]]
            if scipy.stats.fisher_exact(table, alternative="greater").pvalue * len(self.asked) < _SURE:
                return role
        return None

    def sentence(self) -> str:
        """The counts by role, the role with the fewest answers first."""
        roles = sorted(self.asked, key=lambda role: self.answered[role] / self.asked[role])
        return ", ".join(f"{self.answered[role]:,} of {self.asked[role]:,} in {role}" for role in roles[:3])


@dataclass(frozen=True, slots=True)
class Answered:
    """What one metric answered of one audit."""

    metric: str
    slices: Mapping[str, Coverage]
    least: float = COVERED
    silent: str | None = None  # the role on which the metric is silent, over all slices with absent scores

    def problem(self, slice_: str) -> str:
        """Why nothing can be said of a slice of a finding; empty where it is covered."""
        names = slices_behind(slice_, self.slices)
        coverage = reduce(add, (self.slices[name] for name in names), Coverage())
        if not coverage.asked or coverage.is_whole:
            return ""
        if self.silent is not None:
            return (
                f"{self.metric} is silent on texts by their role ({slice_}: {coverage.sentence()}): what it "
                "would be judged by is its own choice."
            )
        if coverage.share < self.least:
            return (
                f"{self.metric} gave too few scores for a verdict ({slice_}: {coverage.sentence()}; "
                f"{self.least:.0%} are needed)."
            )
        return ""

    def gaps(self) -> dict[str, str]:
        """The slices that are not covered, and why."""
        problems = {name: self.problem(name) for name in self.slices}
        return {name: problem for name, problem in problems.items() if problem}


def slices_behind(slice_: str, asked: Iterable[str]) -> list[str]:
    """The slices of cases that a finding rests on: those at its path or below, else at the nearest above.

    A finding that lies on no path of cases is about all of them.

    >>> slices_behind("gender/women", ["gender", "race"]), slices_behind("a", ["a/b", "a/c", "ab"])
    (['gender'], ['a/b', 'a/c'])
    """
    names, parts = list(asked), slice_.split("/")
    for size in range(len(parts), 0, -1):
        path = "/".join(parts[:size])
        at_path = [name for name in names if name == path or name.startswith(f"{path}/")]
        if at_path:
            return at_path
    return names


def coverage_of(scored: Scored, items: Sequence[Case | Grid], least: float = COVERED) -> Answered:
    """What a metric answered of an audit's cases and grids."""
    slices: dict[str, Coverage] = {}
    texts = list(_askable(scored))
    counts = Counter((case.slice, role, is_answered) for case, role, is_answered in texts)
    for (slice_, role, is_answered), count in counts.items():
        coverage = slices.setdefault(slice_, Coverage())
        coverage.asked[role] += count
        coverage.answered[role] += count * is_answered
    for grid in items:
        if isinstance(grid, Grid) and grid.id in scored.grids:
            cells = scored.grids[grid.id]
            coverage = slices.setdefault(grid.slice, Coverage())
            coverage.asked[grid.id] += cells.size
            coverage.answered[grid.id] += int(np.isfinite(cells).sum())
    gaps = {name for name, coverage in slices.items() if not coverage.is_whole}
    silent = None if scored.is_set else _silent_role(text for text in texts if text[0].slice in gaps)
    return Answered(scored.metric, slices, least, silent)


def _askable(scored: Scored) -> Iterator[tuple[Case, str, bool]]:
    """The texts that have what the metric needs, by case and role, and whether each has a score."""
    answered = {role: np.isfinite(values).tolist() for role, values in scored.values.items()}
    needs = scored.about.get("needs", ())
    for place, case in enumerate(scored.cases):
        roles = case.meta["askable"] if scored.is_set else [
            role for role, sample in case.samples.items()
            if role in answered and all(getattr(sample, need) for need in needs)
        ]  # fmt: skip
        for role in roles:
            yield case, role, answered[role][place]


def _silent_role(texts: Iterable[tuple[Case, str, bool]]) -> str | None:
    """The role on which a metric is silent, where it has gaps; each text counts once."""
    asked: dict[str, dict[Sample, bool]] = {}
    for case, role, is_answered in texts:
        asked.setdefault(role, {})[case.samples[role]] = is_answered
    counts = {role: Counter(texts.values()) for role, texts in asked.items()}
    answered = Counter({role: count[True] for role, count in counts.items()})
    return Coverage(Counter({role: count.total() for role, count in counts.items()}), answered).silent_role()
