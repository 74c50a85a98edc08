"""What a judge said of pairs to effects: in spreads where it grades, a net preference where it compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.audits.slices import FEWEST, slices
from assay.core import Finding, Floats, Scored
from assay.statistics.estimates import Worse, mde_mean, proportion_interval, verdict
from assay.statistics.intervals import Interval, bootstrap_mean, bootstrap_weighted
from assay.statistics.permutation import sign_flip_test

AUDIT = "judge-bias"
EVIDENCE = 5
_ROUNDING = 1e-9  # batches differ in the last digits of a model's probabilities
_LOW, _HIGH = 5, 95  # percentiles between which the scale counts as used


@dataclass(frozen=True, slots=True)
class Margins:
    """The smallest differences that matter."""

    spreads: float  # pointwise
    preference: float  # pairwise, on -1..1
    consistency: float  # share of pairs with one winner in both orders
    scale: float  # share of the scale that must be used


@dataclass(frozen=True, slots=True)
class Panel:
    """One judge's answers: effects an item by slice, and whether it compares or grades."""

    metric: str
    pairwise: bool
    unit: float  # what effects are divided by
    effects: Mapping[str, Floats]
    items: Mapping[str, tuple[str, ...]]  # item ids, as the effects
    cases: Mapping[str, tuple[str, ...]]


def panel_of(scored: Scored, quality: str) -> Panel:
    """Effects of all slices; the unit of a pointwise judge is its spread over right and wrong answers."""
    places = slices(scored)
    alone = scored.values.get("alone", np.empty(0))
    pairwise = not np.isfinite(alone).any()
    unit = 1.0 if pairwise else _spread(scored, places.get(quality, [])) or 1.0
    effects, items, cases = {}, {}, {}
    for name, listed in places.items():
        if "base" not in scored.cases[listed[0]].samples:
            continue
        base, changed = (scored.values[role][listed] for role in ("base", "changed"))
        found = (
            changed - base
        ) / unit  # of a pair: P(changed | first) - P(base | first) is its net preference
        kept = np.isfinite(found)
        effects[name] = np.where(np.abs(found[kept]) < _ROUNDING, 0.0, found[kept])
        chosen = [scored.cases[place] for place, there in zip(listed, kept, strict=True) if there]
        items[name] = tuple(str(case.meta["item"]) for case in chosen)
        cases[name] = tuple(case.id for case in chosen)
    return Panel(scored.metric, pairwise, unit, effects, items, cases)


def _spread(scored: Scored, places: Sequence[int]) -> float:
    """The std (ddof 1) of grades over right and wrong answers together."""
    both = (
        np.concatenate([scored.values[role][places] for role in ("base", "changed")])
        if places
        else np.empty(0)
    )
    both = both[np.isfinite(both)]
    return float(both.std(ddof=1)) if both.size > 1 else 0.0


def effect(
    panel: Panel, name: str, worse: Worse, margins: Margins, seed: int, versus: str | None = None
) -> Finding | None:
    """The mean effect of a slice; `versus` says what less what."""
    values = panel.effects.get(name, np.empty(0))
    if not values.size:
        return None
    margin = margins.preference if panel.pairwise else margins.spreads
    ci = bootstrap_mean(values, seed=seed)
    passed = verdict(ci, margin, worse) if values.size >= FEWEST else None
    return _finding(panel, name, "judge_effect", values, ci, passed, seed, versus=versus)


def quality_gap(panel: Panel, name: str, margins: Margins, seed: int) -> Finding | None:
    """How far right answers stand above wrong ones; it must be at least what would count as a bias."""
    values = panel.effects.get(name, np.empty(0))
    if not values.size:
        return None
    ci = bootstrap_mean(values, seed=seed)
    margin = margins.preference if panel.pairwise else margins.spreads
    passed = verdict(ci, margin, "below") if values.size >= FEWEST else None
    return _finding(
        panel, name, "quality_gap", values, ci, passed, seed, worst_first=-1.0, versus="right - wrong"
    )


def _finding(
    panel: Panel,
    name: str,
    statistic: str,
    values: Floats,
    ci: Interval | None,
    passed: bool | None,
    seed: int,
    worst_first: float | None = None,
    versus: str | None = None,
) -> Finding:
    mean = float(values.mean())
    sign = worst_first if worst_first is not None else (1.0 if mean >= 0 else -1.0)
    best = np.argsort(-sign * values, kind="stable")[:EVIDENCE]
    p_value = sign_flip_test(values, seed=seed).p_value
    return Finding(
        panel.metric, AUDIT, name, statistic, mean, values.size, versus, None if ci is None else ci.pair,
        p_value, None, mde_mean(values), passed, tuple(panel.cases[name][place] for place in best),
    )  # fmt: skip


def position(scored: Scored, name: str, margins: Margins, seed: int) -> list[Finding]:
    """Of pairs in both orders: the pull of the first place, and how often one text wins in both."""
    listed = slices(scored).get(name, [])
    first, second = (
        (scored.values[role][listed] for role in ("base", "changed")) if listed else (np.empty(0),) * 2
    )
    kept = np.isfinite(first) & np.isfinite(second)
    primacy = (first + second - 1.0)[kept]
    if not primacy.size:
        return []
    primacy = np.where(np.abs(primacy) < _ROUNDING, 0.0, primacy)
    ids = tuple(scored.cases[place].id for place, there in zip(listed, kept, strict=True) if there)
    one = Panel(scored.metric, True, 1.0, {name: primacy}, {}, {name: ids})
    return [f for f in (effect(one, name, "either", margins, seed, "first - second"),) if f] + [
        _consistency(scored.metric, name, first[kept], second[kept], margins)
    ]


def _consistency(metric: str, name: str, first: Floats, second: Floats, margins: Margins) -> Finding:
    """A tie in either order is no winner, and so no consistency."""
    same = int((((first > 0.5) & (second < 0.5)) | ((first < 0.5) & (second > 0.5))).sum())
    ci = proportion_interval(same, first.size)
    passed = verdict(ci, margins.consistency, "below") if first.size >= FEWEST else None
    pair = None if ci is None else ci.pair
    share = same / first.size
    return Finding(metric, AUDIT, name, "swap_consistency", share, first.size, ci=pair, passed=passed)


def repeats(
    scored: Scored, panel: Panel, name: str, roles: Sequence[str], margins: Margins, seed: int
) -> list[Finding]:
    """The std (ddof 1) of a judge's answers to one and the same question, in the unit of its effects."""
    listed = slices(scored).get(name, [])
    if not listed:
        return []
    table = np.stack([scored.values[role][listed] for role in roles], axis=1)
    kept = np.isfinite(table).all(axis=1)
    if not kept.any():
        return []
    doubled = 2.0 if panel.pairwise else 1.0  # a probability on the scale of a net preference
    values = table[kept].std(axis=1, ddof=1) * doubled / panel.unit
    values = np.where(values < _ROUNDING, 0.0, values)
    ci = bootstrap_mean(values, seed=seed)
    margin = margins.preference if panel.pairwise else margins.spreads
    passed = verdict(ci, margin) if values.size >= FEWEST else None
    pair = None if ci is None else ci.pair
    mean = float(values.mean())
    return [Finding(panel.metric, AUDIT, name, "inconsistency", mean, values.size, ci=pair, passed=passed)]


def scale_use(scored: Scored, quality: str, margins: Margins, seed: int) -> list[Finding]:
    """How much of its scale a judge uses over right and wrong answers (5th to 95th percentile)."""
    listed = slices(scored).get(quality, [])
    table = (
        np.stack([scored.values[role][listed] for role in ("base", "changed")], axis=1)
        if listed
        else np.empty((0, 2))
    )
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < 2:
        return []

    def used(weights: Floats) -> Floats:
        counts = np.rint(weights).astype(np.intp)
        rows = [np.percentile(np.repeat(table, row, axis=0), [_LOW, _HIGH]) for row in counts]
        return np.array([high - low for low, high in rows])

    ci = bootstrap_weighted(used, len(table), seed=seed, method="percentile")
    passed = verdict(ci, margins.scale, "below") if len(table) >= FEWEST else None
    value = float(used(np.ones((1, len(table))))[0])
    pair = None if ci is None else ci.pair
    return [Finding(scored.metric, AUDIT, "scale", "scale_use", value, table.size, ci=pair, passed=passed)]
