"""A judge's answers on pairs in, effects out.

Effects are in SDs of its grades over right and wrong answers where it grades one text at a time, and net
preferences (-1 to 1, over both orders) where it compares two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.audits.judge_bias.pairs import ONE_SIDED, POSITION, QUALITY, REPEATS, SCALE
from assay.audits.slices import EVIDENCE, FEWEST, interval_estimate, slices
from assay.core import Case, Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.estimates import mde_mean, proportion_interval
from assay.statistics.intervals import Interval, bootstrap_mean, bootstrap_weighted
from assay.statistics.permutation import sign_flip_test

if TYPE_CHECKING:
    from assay.audits.judge_bias.audit import JudgeBias

_ROUNDING = 1e-9  # batches differ in the last digits of a model's probabilities
_LOW, _HIGH = 5, 95  # percentiles between which the scale counts as used
_UNIT = "SD of grades, or net preference"

_EFFECT = Statistic(
    "judge_effect", "How far something that must not matter moves a judge's grade or preference.",
    _UNIT, "far", "spread_margin", headline=True,
    sentence=lambda f: f"{f.slice} moves {f.metric}, though it must not matter ({f.versus}: {f.value:+.2g}).",
)  # fmt: skip
STATISTICS = (
    _EFFECT,
    *(replace(_EFFECT, bad="high", within=name) for name in ONE_SIDED),
    Statistic(
        "quality_gap", "How far a judge puts right answers above wrong ones; read this first.",
        _UNIT, "low", "spread_margin", headline=True,
        sentence=lambda f: f"{f.metric} hardly tells right from wrong answers: the gap is {f.value:.2g}.",
    ),
    Statistic(
        "swap_consistency", "Position consistency: share of pairs in which one text wins in both orders.",
        "share", "low", "consistency_margin", headline=True,
        sentence=lambda f: f"{f.metric} prefers the same text in both orders in only {f.value:.0%} of pairs.",
    ),
    Statistic(
        "inconsistency", "SD of a judge's answers to one and the same question.",
        _UNIT, "high", "spread_margin", headline=True,
        sentence=lambda f: f"{f.metric} answers one question differently each time: the SD is {f.value:.2g}.",
    ),
    Statistic(
        "scale_use", "Share of its scale that a judge uses over right and wrong answers.",
        "share", "low", "scale_margin", headline=True,
        sentence=lambda f: f"{f.metric} uses only {f.value:.0%} of its scale.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effects:
    """Cases of one slice, and the effect in each of them."""

    cases: tuple[Case, ...]
    values: Floats

    @property
    def by_item(self) -> dict[str, float]:
        """Effects by the id of the item they are about."""
        return {
            str(case.meta["item"]): float(value) for case, value in zip(self.cases, self.values, strict=True)
        }


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge's answers: whether it compares, the unit of its effects, and the effects by slice."""

    scored: Scored
    compares: bool
    unit: float
    effects: Mapping[str, Effects]


def judge_of(scored: Scored) -> Judge:
    """The effects of all slices; at `position`, if it compares, the advantage of being shown first."""
    places = slices(scored)
    compares = not np.isfinite(scored.values.get("alone", np.empty(0))).any()
    unit = 1.0
    if not compares and QUALITY in places:
        grades = np.concatenate([scored.values[role][places[QUALITY]] for role in ("base", "changed")])
        grades = grades[np.isfinite(grades)]
        unit = float(grades.std(ddof=1)) or 1.0 if grades.size > 1 else 1.0
    effects = {}
    for name, rows in places.items():
        if "base" not in scored.cases[rows[0]].samples or (name == POSITION and not compares):
            continue
        base, changed = (scored.values[role][rows] for role in ("base", "changed"))
        # Of a pair: P(changed | first) - P(base | first) is its net preference.
        values = base + changed - 1.0 if name == POSITION else (changed - base) / unit
        there = np.isfinite(values)
        values = np.where(np.abs(values[there]) < _ROUNDING, 0.0, values[there])
        effects[name] = Effects(tuple(scored.cases[row] for row in np.array(rows)[there]), values)
    return Judge(scored, compares, unit, effects)


def effect(
    judge: Judge, name: str, audit: JudgeBias, versus: str | None = None, statistic: str = "judge_effect"
) -> list[Finding]:
    """The mean effect of a slice, if there is any; `versus` says what minus what."""
    effects = judge.effects.get(name)
    if effects is None or not effects.values.size:
        return []
    values, mean = effects.values, float(effects.values.mean())
    # The worst first: of right over wrong answers the smallest gap, of a bias the largest in its direction.
    sign = -1.0 if statistic == "quality_gap" or mean < 0 else 1.0
    worst = np.argsort(-sign * values, kind="stable")[:EVIDENCE]
    estimate = replace(
        _estimate(mean, values.size, bootstrap_mean(values, seed=audit.seed), judge, audit),
        p_value=sign_flip_test(values, seed=audit.seed).p_value, mde=mde_mean(values),
    )  # fmt: skip
    evidence = [effects.cases[place].id for place in worst]
    judged = values.size >= FEWEST
    return [
        Finding.of(judge.scored, name, statistic, estimate, versus=versus, evidence=evidence, judged=judged)
    ]


def _estimate(value: float, n: int, ci: Interval | None, judge: Judge, audit: JudgeBias) -> Estimate:
    """A mean; margins are declared in SDs of grades, so a verdict puts a net preference on that scale."""
    if ci is None:
        return Estimate(value, n)
    low, high = (_rescaled(end, audit.preference_margin, audit.spread_margin) for end in ci.pair)
    return Estimate(value, n, ci.pair, decisive=(low, high) if judge.compares else None)


def _rescaled(value: float, margin: float, other: float) -> float:
    """A value on a scale where the margin is another: as far within or beyond it as before.

    >>> [_rescaled(value, 0.25, 0.5) for value in (-1.0, 0.0, 0.125, 0.25)]
    [-1.25, 0.0, 0.25, 0.5]
    """
    within = min(max(value, -margin), margin)
    return (within / margin * other if margin else 0.0) + value - within


def position(judge: Judge, audit: JudgeBias) -> list[Finding]:
    """Of pairs in both orders: the advantage of the first place, and how often one text wins in both."""
    findings = effect(judge, POSITION, audit, "first - second")
    if not findings:
        return []
    rows = slices(judge.scored)[POSITION]
    first, second = (judge.scored.values[role][rows] for role in ("base", "changed"))
    n = findings[0].n
    # A tie in either order is no winner, and so no consistency.
    same = int((((first > 0.5) & (second < 0.5)) | ((first < 0.5) & (second > 0.5))).sum())
    estimate = interval_estimate(same / n, n, proportion_interval(same, n))
    return [*findings, Finding.of(judge.scored, POSITION, "swap_consistency", estimate, judged=n >= FEWEST)]


def repeats(judge: Judge, roles: Sequence[str], audit: JudgeBias) -> list[Finding]:
    """The SD (ddof 1) of a judge's answers to one and the same question, in the unit of its effects."""
    rows = slices(judge.scored).get(REPEATS, [])
    if not rows:
        return []
    table = np.stack([judge.scored.values[role][rows] for role in roles], axis=1)
    table = table[np.isfinite(table).all(axis=1)]
    if not len(table):
        return []
    doubled = 2.0 if judge.compares else 1.0  # a probability on the scale of a net preference
    values = table.std(axis=1, ddof=1) * doubled / judge.unit
    values = np.where(values < _ROUNDING, 0.0, values)
    ci = bootstrap_mean(values, seed=audit.seed)
    estimate = _estimate(float(values.mean()), values.size, ci, judge, audit)
    return [Finding.of(judge.scored, REPEATS, "inconsistency", estimate, judged=values.size >= FEWEST)]


def scale_use(judge: Judge, audit: JudgeBias) -> list[Finding]:
    """How much of its scale a judge uses over right and wrong answers (5th to 95th percentile)."""
    rows = slices(judge.scored).get(QUALITY, [])
    table = np.stack([judge.scored.values[role][rows] for role in ("base", "changed")], axis=1)
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < 2:
        return []

    def used(weights: Floats) -> Floats:
        counts = np.rint(weights).astype(np.intp)
        ranges = [np.percentile(np.repeat(table, row, axis=0), [_LOW, _HIGH]) for row in counts]
        return np.array([high - low for low, high in ranges])

    ci = bootstrap_weighted(used, len(table), seed=audit.seed, method="percentile")
    estimate = interval_estimate(used(np.ones((1, len(table))))[0], table.size, ci)
    return [Finding.of(judge.scored, SCALE, "scale_use", estimate, judged=len(table) >= FEWEST)]
