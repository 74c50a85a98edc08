"""A judge's answers on pairs in; decisions, and effects in lost words, out.

Of a judge that grades one text at a time, the score of a text is its grade; of one that compares two, it is
the probability that the text is better where it is shown first. A difference between two such scores is a
difference of grades, or a net preference over both orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.audits.effects import (
    AlignedScores,
    lost_words,
    outcome,
    percent_estimate,
    read_slices,
    right_order,
    row_means,
)
from assay.audits.judge_bias.pairs import CLAIMS, POSITION, QUALITY, REPEATS
from assay.core import Estimate, Finding, Floats, Scored

_LOW, _HIGH = 5, 95  # percentiles between which the scale counts as used


@dataclass(frozen=True)
class JudgeScores:
    """One judge's answers, by slice."""

    scored: Scored

    @cached_property
    def slices(self) -> dict[str, AlignedScores]:
        """The scores of each slice."""
        return {scores.slice: scores for scores in read_slices([self.scored])}

    def with_roles(self, name: str, *roles: str) -> AlignedScores | None:
        """The scores of a slice; None where one of the roles has none."""
        scores = self.slices.get(name)
        return scores if scores is not None and set(roles) <= set(scores.columns) else None

    @property
    def compares(self) -> bool:
        """Whether it says which of two texts is better: then a text without a rival has no score."""
        return QUALITY in self.slices and "alone" not in self.slices[QUALITY].columns

    @cached_property
    def prices(self) -> dict[str, float]:
        """What a lost word costs, by item."""
        prices: dict[str, float] = {}
        for scores in self.slices.values():
            whole = scores.roles("whole/")
            if whole:
                losses = [_change(scores, role.replace("whole", "lost"), role) for role in whole]
                costs = row_means(np.stack(losses, axis=1))
                prices |= dict(zip(_items(scores), costs.tolist(), strict=True))
        return prices

    @cached_property
    def has_unit(self) -> bool:
        """Whether a lost word surely costs something: only then can effects be given in lost words."""
        prices = np.array(list(self.prices.values()))
        return bool(prices.size) and lost_words(prices[:, None], prices)[0].ci is not None

    @property
    def unit(self) -> float:
        """The mean cost of a lost word."""
        return float(np.nanmean(list(self.prices.values())))

    def effects(self, name: str) -> Floats | None:
        """What the change does to each item of a slice; at `position`, the advantage of being shown first."""
        scores = self.with_roles(name, "base", "changed")
        if scores is None:
            return None
        if name == POSITION:
            return scores.columns["base"] + scores.columns["changed"] - 1.0 if self.compares else None
        return _change(scores, "base", "changed")

    def effects_by_item(self, name: str) -> dict[str, float]:
        """The effects of a slice that are known, by item."""
        values = self.effects(name)
        if values is None:
            return {}
        pairs = zip(_items(self.slices[name]), values.tolist(), strict=True)
        return {item: value for item, value in pairs if np.isfinite(value)}

    def in_lost_words(self, name: str, values: Floats) -> Estimate:
        """The mean of one value per item of a slice, in lost words."""
        scores = self.slices[name]
        costs = np.array([self.prices.get(item, np.nan) for item in _items(scores)])
        return lost_words(values[:, None], costs, clusters=scores.clusters)[0]


def _items(scores: AlignedScores) -> list[str]:
    return [str(case.meta["item"]) for case in scores.cases]


def _change(scores: AlignedScores, before: str, after: str) -> Floats:
    """The score of one role minus that of another; nan where one of them has none."""
    absent = np.full(len(scores.cases), np.nan)
    return np.asarray(scores.columns.get(after, absent) - scores.columns.get(before, absent))


def order(judge: JudgeScores, name: str) -> Iterator[Finding]:
    """How often a right answer beats a wrong one."""
    scores = judge.with_roles(name, "right", "wrong")
    if scores is None:
        return
    wrong = 1 - scores.decisions(["right"], ["wrong"])
    estimate = scores.right_order(["right"], ["wrong"])
    yield Finding.of(
        judge.scored, name, "right_order", estimate, versus="wrong", evidence=scores.largest(wrong)
    )


def effect(judge: JudgeScores, name: str, versus: str) -> Iterator[Finding]:
    """The mean effect of a slice, if there is any; `versus` says what minus what."""
    values = judge.effects(name)
    if values is None or not judge.has_unit:
        return
    estimate = judge.in_lost_words(name, values)
    evidence = judge.slices[name].largest(values * (-1.0 if estimate.value < 0 else 1.0))
    statistic = "signal_gain" if name in CLAIMS else "lost_words"
    yield Finding.of(judge.scored, name, statistic, estimate, versus=versus, evidence=evidence)


def position(judge: JudgeScores) -> Iterator[Finding]:
    """Of a judge that compares: what the place of a text does, and how often one text wins in both places."""
    scores = judge.with_roles(POSITION, "base", "changed")
    if scores is None or not judge.compares:
        return
    yield from effect(judge, POSITION, "first - second")
    yield from _order_by_place(judge)
    first, second = scores.columns["base"], scores.columns["changed"]
    # A tie in either order is no winner, and so no consistency.
    same = ((first > 0.5) & (second < 0.5)) | ((first < 0.5) & (second > 0.5))
    known = np.isfinite(first + second)
    n = int(known.sum())
    if n:
        estimate = percent_estimate(float(same[known].mean()), n, n)
        evidence = scores.largest(np.where(known & ~same, 1.0, 0.0))
        yield Finding.of(judge.scored, POSITION, "swap_consistency", estimate, evidence=evidence)


def _order_by_place(judge: JudgeScores) -> Iterator[Finding]:
    """How often a right answer beats a wrong one that is shown first, or second."""
    scores = judge.with_roles(QUALITY, "right", "wrong")
    if scores is None:
        return
    right, wrong = scores.columns["right"], scores.columns["wrong"]
    for place, decisions in (("first", outcome(1 - wrong, wrong)), ("second", outcome(right, 1 - right))):
        estimate = right_order([(decisions, scores.clusters)])
        evidence = scores.largest(1 - decisions)
        yield Finding.of(
            judge.scored, f"{POSITION}/{place}", "right_order", estimate, versus="wrong", evidence=evidence
        )


def repeats(judge: JudgeScores, roles: Sequence[str]) -> Iterator[Finding]:
    """The standard deviation (ddof 1) of a judge's answers to one and the same question, in lost words."""
    scores = judge.with_roles(REPEATS, *roles)
    if scores is None or not judge.has_unit:
        return
    table = np.stack([scores.columns[role] for role in roles], axis=1)
    doubled = 2.0 if judge.compares else 1.0  # a probability on the scale of a net preference
    estimate = judge.in_lost_words(REPEATS, table.std(axis=1, ddof=1) * doubled)
    yield Finding.of(judge.scored, REPEATS, "inconsistency", estimate)


def scale_use(judge: JudgeScores) -> Iterator[Finding]:
    """How much of its scale a judge that grades uses over right and wrong answers."""
    scores = judge.with_roles(QUALITY, "right", "wrong")
    if scores is None or judge.compares or judge.scored.about.get("paradigm") != "judge":
        return
    grades = np.concatenate([scores.columns["right"], scores.columns["wrong"]])
    low, high = np.nanpercentile(grades, [_LOW, _HIGH])
    yield Finding.of(judge.scored, QUALITY, "scale_use", float(high - low), n=scores.n)
