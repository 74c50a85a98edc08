"""A judge's answers on pairs in, effects out, in percent of the gap between right and wrong answers.

The gap is the mean difference of the grades of right and wrong answers where the judge grades one text at a
time, and of its preferences (-1 to 1, over both orders) where it compares two. A judge that does not surely
put right answers above wrong ones is insensitive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.audits.gap import UNIT, paired_effects, scale_of, tells_apart
from assay.audits.judge_bias.pairs import ONE_SIDED, POSITION, QUALITY, REPEATS, SCALE
from assay.audits.slices import FEWEST, interval_estimate, largest, mean_estimate, slices
from assay.core import Case, Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.estimates import proportion_interval
from assay.statistics.intervals import bootstrap_weighted

if TYPE_CHECKING:
    from assay.audits.judge_bias.audit import JudgeBias

_ROUNDING = 1e-9  # batches differ in the last digits of a model's probabilities
_LOW, _HIGH = 5, 95  # percentiles between which the scale counts as used

_EFFECT = Statistic(
    "judge_effect", "How far something that must not matter moves a judge's grade or preference.",
    UNIT, "far", "margin", headline=True,
    sentence=lambda f: f"{f.slice} moves {f.metric}, though it must not matter ({f.versus}: {f.value:+.3g}"
    f"{UNIT}).",
)  # fmt: skip
STATISTICS = (
    _EFFECT,
    *(replace(_EFFECT, bad="high", within=name) for name in ONE_SIDED),
    Statistic(
        "quality_gap", "How far a judge puts right answers above wrong ones: the gap of its effects.",
        "the judge's own units", headline=True,
    ),
    Statistic(
        "swap_consistency", "Position consistency: share of pairs in which one text wins in both orders.",
        "share", "low", "consistency_margin", headline=True,
        sentence=lambda f: f"{f.metric} prefers the same text in both orders in only {f.value:.0%} of pairs.",
    ),
    Statistic(
        "inconsistency", "SD of a judge's answers to one and the same question.",
        UNIT, "high", "margin", headline=True,
        sentence=lambda f: f"{f.metric} answers one question differently each time: the SD is {f.value:.3g}"
        f"{UNIT}.",
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
        return dict(zip(self.items, self.values.tolist(), strict=True))

    @property
    def items(self) -> list[str]:
        return [str(case.meta["item"]) for case in self.cases]


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge's answers: whether it compares, and the effects by slice in its own units."""

    scored: Scored
    compares: bool
    effects: Mapping[str, Effects]

    @property
    def gaps(self) -> dict[str, float]:
        """How far each item's right answer is put above the wrong one."""
        return self.effects[QUALITY].by_item if QUALITY in self.effects else {}

    @property
    def unit(self) -> float:
        """The mean gap between right and wrong answers; 1 where there is none."""
        mean = float(np.mean(list(self.gaps.values()))) if self.gaps else 0.0
        return mean if mean > 0 else 1.0

    @property
    def sensitive(self) -> bool:
        """Whether right answers are surely put above wrong ones."""
        values = np.array(list(self.gaps.values()))
        return bool(values.size) and tells_apart(values, scale_of(values))

    def percent(self, items: Sequence[str], values: Floats, seed: int) -> Estimate:
        """The mean of one value per item in percent of the gap, both resampled together by item."""
        others = [item for item in self.gaps if item not in set(items)]
        gaps = np.array([self.gaps.get(item, np.nan) for item in (*items, *others)])
        effects = np.concatenate([values, np.full(len(others), np.nan)])
        scale = scale_of(gaps[np.isfinite(gaps)], values)
        clusters = [*items, *others]
        _, (estimate,) = paired_effects(effects[:, None], gaps, clusters=clusters, seed=seed, scale=scale)
        return estimate


def judge_of(scored: Scored) -> Judge:
    """The effects of all slices; at `position`, if it compares, the advantage of being shown first."""
    places = slices(scored)
    compares = not np.isfinite(scored.values.get("alone", np.empty(0))).any()
    effects = {}
    for name, rows in places.items():
        if "base" not in scored.cases[rows[0]].samples or (name == POSITION and not compares):
            continue
        base, changed = (scored.values[role][rows] for role in ("base", "changed"))
        # Of a pair: P(changed | first) - P(base | first) is its net preference.
        values = base + changed - 1.0 if name == POSITION else changed - base
        there = np.isfinite(values)
        values = np.where(np.abs(values[there]) < _ROUNDING, 0.0, values[there])
        effects[name] = Effects(tuple(scored.cases[row] for row in np.array(rows)[there]), values)
    return Judge(scored, compares, effects)


def quality(judge: Judge, audit: JudgeBias) -> list[Finding]:
    """How far right answers are put above wrong ones."""
    effects = judge.effects.get(QUALITY)
    if effects is None or not effects.values.size:
        return []
    estimate = mean_estimate(effects.values, seed=audit.seed)
    return [Finding.of(judge.scored, QUALITY, "quality_gap", estimate, versus="right - wrong")]


def effect(judge: Judge, name: str, audit: JudgeBias, versus: str | None = None) -> list[Finding]:
    """The mean effect of a slice, if there is any; `versus` says what minus what."""
    effects = judge.effects.get(name)
    if effects is None or not effects.values.size:
        return []
    estimate = judge.percent(effects.items, effects.values, audit.seed)
    towards = effects.values * (-1.0 if estimate.value < 0 else 1.0)
    return [
        Finding.of(
            judge.scored, name, "judge_effect", estimate, versus=versus,
            evidence=largest([case.id for case in effects.cases], towards),
            judged=estimate.n >= FEWEST and bool(judge.gaps),
        )
    ]  # fmt: skip


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
    estimate = replace(estimate, sensitive=judge.sensitive)
    return [*findings, Finding.of(judge.scored, POSITION, "swap_consistency", estimate, judged=n >= FEWEST)]


def repeats(judge: Judge, roles: Sequence[str], audit: JudgeBias) -> list[Finding]:
    """The SD (ddof 1) of a judge's answers to one and the same question, in the unit of its effects."""
    rows = slices(judge.scored).get(REPEATS, [])
    if not rows:
        return []
    table = np.stack([judge.scored.values[role][rows] for role in roles], axis=1)
    known = np.asarray(np.isfinite(table).all(axis=1))
    if not known.any():
        return []
    items = [str(judge.scored.cases[rows[place]].meta["item"]) for place in np.flatnonzero(known)]
    doubled = 2.0 if judge.compares else 1.0  # a probability on the scale of a net preference
    values = table[known].std(axis=1, ddof=1) * doubled
    estimate = judge.percent(items, np.where(values < _ROUNDING, 0.0, values), audit.seed)
    judged = values.size >= FEWEST and bool(judge.gaps)
    return [Finding.of(judge.scored, REPEATS, "inconsistency", estimate, judged=judged)]


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
    share = float(used(np.ones((1, len(table))))[0])
    estimate = replace(interval_estimate(share, table.size, ci), sensitive=judge.sensitive)
    return [Finding.of(judge.scored, SCALE, "scale_use", estimate, judged=len(table) >= FEWEST)]
