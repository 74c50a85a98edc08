"""A judge's answers on pairs in, effects out, in percent of the gap between right and wrong answers.

The gap is the mean difference of the grades of right and wrong answers where the judge grades one text at a
time, and of its preferences (-1 to 1, over both orders) where it compares two. A judge that does not surely
put right answers above wrong ones is insensitive. What a mitigation changed is the mean size of the effects,
before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.audits.gap import paired_effects, scale_of, tells_apart
from assay.audits.judge_bias.pairs import POSITION, QUALITY, REPEATS, SCALE, SELF
from assay.audits.slices import FEWEST, interval_estimate, largest, mean_estimate, slices
from assay.core import Case, Estimate, Finding, Floats, Scored
from assay.errors import SpecError
from assay.names.spec import measure
from assay.statistics.estimates import proportion_interval
from assay.statistics.intervals import bootstrap_weighted, ratio

if TYPE_CHECKING:
    from assay.audits.judge_bias.audit import JudgeBias

_ROUNDING = 1e-9  # batches differ in the last digits of a model's probabilities
_LOW, _HIGH = 5, 95  # percentiles between which the scale counts as used


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
        values = np.array(list(self.gaps.values()))
        return bool(values.size) and tells_apart(values, scale_of(values))

    def percent(self, items: Sequence[str], values: Floats, seed: int) -> Estimate:
        """The mean of one value per item in percent of the gap, both resampled together by item."""
        others = [item for item in self.gaps if item not in set(items)]
        gaps = np.array([self.gaps.get(item, np.nan) for item in (*items, *others)])
        effects = np.concatenate([values, np.full(len(others), np.nan)])
        scale = scale_of(gaps[np.isfinite(gaps)], values)
        clusters = [*items, *others]
        (estimate,) = paired_effects(effects[:, None], gaps, clusters=clusters, seed=seed, scale=scale)
        return estimate


def judge_of(scored: Scored) -> Judge:
    """The effects of all slices; at `position`, if it compares, the advantage of being shown first."""
    compares = not np.isfinite(scored.values.get("alone", np.empty(0))).any()
    effects = {}
    for name, rows in slices(scored).items():
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
    evidence = largest([case.id for case in effects.cases], towards)
    place, judged = (judge.scored, name, "judge_effect"), estimate.n >= FEWEST and bool(judge.gaps)
    return [Finding.of(*place, estimate, versus=versus, evidence=evidence, judged=judged)]


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
    estimate = interval_estimate(same / n, n, proportion_interval(same, n), sensitive=judge.sensitive)
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
    estimate = interval_estimate(share, table.size, ci, sensitive=judge.sensitive)
    return [Finding.of(judge.scored, SCALE, "scale_use", estimate, judged=len(table) >= FEWEST)]


_FILE = ".py:"  # a judge of the user's own
_BLINDABLE = ("author/", "people/", f"{SELF}/")
# Mitigations, and the judge that each is compared with.
_COMPARED = {"anchored": "plain", "blind": "plain", "panel": "plain", "swap": "pairs"}


def variants(spec: str) -> dict[str, str]:
    """The specs of a judge and its mitigations, with what each is."""
    specs = {
        spec: "plain",
        _with(spec, "anchored=true"): "anchored",
        _with(spec, "blind=true"): "blind",
        _with(spec, "mode=pairwise"): "pairs",
        _with(spec, "mode=pairwise,swap=true"): "swap",
    }
    if _FILE not in spec:  # a hybrid is made of registered names
        specs[f"0.5*{spec}+0.5*{_with(spec, 'criterion=correctness')}"] = "panel"
    return specs


def check_mitigable(spec: str) -> None:
    """Refuse a metric that the mitigations cannot be set on, before anything is scored."""
    measure(spec)
    try:
        for variant in variants(spec):
            measure(variant)
    except SpecError as error:
        raise SpecError(
            f"--mitigate {spec!r}: remedies set anchored, blind, mode, swap and criterion of a judge; give a "
            f"judge that has these keys, and its spec without them, such as judge or judge:model=NAME"
        ) from error


def _with(spec: str, keys: str) -> str:
    """A spec with more keys.

    >>> _with("judge", "blind=true"), _with("judge:shots=1", "blind=true"), _with("my.py:Mine", "blind=true")
    ('judge:blind=true', 'judge:shots=1,blind=true', 'my.py:Mine:blind=true')
    """
    name = spec.partition(_FILE)[2] or spec
    return f"{spec},{keys}" if ":" in name else f"{spec}:{keys}"


def mitigation_changes(judges: Sequence[Judge], spec: str, seed: int) -> Iterator[Finding]:
    """What each mitigation of the judge `spec` did, on the biases it is meant for."""
    kinds = variants(spec)
    by_kind = {kinds[one.scored.metric]: one for one in judges if one.scored.metric in kinds}
    for kind, base in _COMPARED.items():
        if base in by_kind and kind in by_kind:
            before, after = _tables(by_kind[base], by_kind[kind], kind)
            if min(before.shape) > 0 and len(before) > 1:
                metric, versus = (by_kind[name].scored.metric for name in (kind, base))
                estimate = _change(100 * before / by_kind[base].unit, 100 * after / by_kind[kind].unit, seed)
                estimate = replace(estimate, sensitive=by_kind[base].sensitive and by_kind[kind].sensitive)
                place = metric, f"mitigation/{kind}", "effect_change"
                yield Finding.of(*place, estimate, versus=versus)


def _meant(kind: str, name: str) -> bool:
    if kind == "swap":
        return name == POSITION
    return name not in (QUALITY, POSITION) and (kind != "blind" or name.startswith(_BLINDABLE))


def _tables(plain: Judge, mitigated: Judge, kind: str) -> tuple[Floats, Floats]:
    """Effects of both judges (items x slices), nan where they do not both have the item in a slice."""
    names = [name for name in plain.effects if name in mitigated.effects and _meant(kind, name)]
    columns = [(plain.effects[name].by_item, mitigated.effects[name].by_item) for name in names]
    shared = [before.keys() & after.keys() for before, after in columns]
    items = sorted(set().union(*shared))

    def table(side: int) -> Floats:
        rows = [
            [pair[side][item] if item in both else np.nan for pair, both in zip(columns, shared, strict=True)]
            for item in items
        ]
        return np.array(rows, dtype=np.float64).reshape(len(items), len(names))

    return table(0), table(1)


def _change(before: Floats, after: Floats, seed: int) -> Estimate:
    """The mean size of the effects after minus before; items are resampled."""

    def change(weights: Floats) -> Floats:
        return _mean_size(weights, after) - _mean_size(weights, before)

    ci = bootstrap_weighted(change, len(before), seed=seed, method="percentile")
    return interval_estimate(change(np.ones((1, len(before))))[0], len(before), ci)


def _mean_size(weights: Floats, table: Floats) -> Floats:
    """The mean over slices of the size of the mean effect over items."""
    there = np.isfinite(table)
    sums, counts = weights @ np.where(there, table, 0.0), weights @ there.astype(np.float64)
    return np.asarray(np.nanmean(np.abs(ratio(sums, counts)), axis=1))
