"""What helps a judge against its biases: variants of it, and how much smaller their effects are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.audits.effects import interval_estimate
from assay.audits.judge_bias.effects import JudgeScores
from assay.audits.judge_bias.pairs import POSITION, SELF
from assay.core import Estimate, Finding, Floats, Measure
from assay.errors import SpecError
from assay.names.spec import measure
from assay.statistics.intervals import bootstrap_weighted, ratio

_FILE = ".py:"  # a judge of the user's own
_BLINDABLE = ("author/", "people/", f"{SELF}/")
# Mitigations, and the judge that each is compared with.
_COMPARED = {"anchored": "plain", "blind": "plain", "panel": "plain", "swap": "pairs"}

REMEDIES = {
    "anchored": "Saying what each grade means",
    "blind": "Hiding authors and groups",
    "panel": "Averaging two criteria",
    "swap": "Asking in both orders",
}


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


def compared(judge: Measure) -> str | None:
    """The spec of a judge that grades one text at a time, comparing two; None where it has no such form."""
    if judge.metric.paradigm != "judge" or getattr(judge.metric, "mode", "") != "pointwise":
        return None
    spec = (judge.spec or judge.label).replace("mode=pointwise", "mode=pairwise")
    spec = spec if "mode=pairwise" in spec else _with(spec, "mode=pairwise")
    try:
        compares = measure(spec).metric
    except SpecError:  # a judge made in Python, or one whose options are for grades
        return None
    if replace(compares, mode="pointwise") != judge.metric:  # type: ignore[type-var]
        return None
    return f"{judge.label} pairs={spec}" if judge.spec else spec


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


def mitigation_changes(judges: Sequence[JudgeScores], spec: str, seed: int) -> Iterator[Finding]:
    """What each mitigation of the judge `spec` did, on the biases it is meant for."""
    kinds = variants(spec)
    by_kind = {kinds[one.scored.metric]: one for one in judges if one.scored.metric in kinds}
    for kind, base in _COMPARED.items():
        if base in by_kind and kind in by_kind:
            before, after = by_kind[base], by_kind[kind]
            names = [name for name in before.slices if _is_meant(kind, name)]
            estimate = _change(before, after, names, seed)
            if estimate is not None:
                place = after.scored.metric, f"mitigation/{kind}", "effect_change"
                yield Finding.of(*place, estimate, versus=before.scored.metric)


def _is_meant(kind: str, name: str) -> bool:
    """Whether a mitigation is meant for the bias of a slice."""
    if kind == "swap":
        return name == POSITION
    return name != POSITION and (kind != "blind" or name.startswith(_BLINDABLE))


def _change(before: JudgeScores, after: JudgeScores, names: Sequence[str], seed: int) -> Estimate | None:
    """The mean size of the effects after minus before, in lost words of either judge; items are resampled.

    None where a lost word does not surely cost both judges anything.
    """
    pairs = [(before.effects_by_item(name), after.effects_by_item(name)) for name in names]
    shared = [first.keys() & second.keys() for first, second in pairs]
    items = sorted(set().union(*shared))
    if len(items) < 2 or not (before.has_unit and after.has_unit):
        return None
    first, second = (
        _table([pair[side] for pair in pairs], shared, items) / judge.unit
        for side, judge in enumerate((before, after))
    )

    def change(weights: Floats) -> Floats:
        return _mean_size(weights, second) - _mean_size(weights, first)

    ci = bootstrap_weighted(change, len(items), seed=seed)
    return interval_estimate(change(np.ones((1, len(items))))[0], len(items), ci)


def _table(columns: Sequence[dict[str, float]], shared: Sequence[set[str]], items: Sequence[str]) -> Floats:
    """Effects (items, slices) of the slices that both judges answered for some item; nan elsewhere."""
    answered = [(column, both) for column, both in zip(columns, shared, strict=True) if both]
    rows = [[column[item] if item in both else np.nan for column, both in answered] for item in items]
    return np.array(rows, dtype=np.float64)


def _mean_size(weights: Floats, table: Floats) -> Floats:
    """The mean over slices of the size of the mean effect over items."""
    there = np.isfinite(table)
    sums, counts = weights @ np.where(there, table, 0.0), weights @ there.astype(np.float64)
    return np.asarray(np.nanmean(np.abs(ratio(sums, counts)), axis=1))
