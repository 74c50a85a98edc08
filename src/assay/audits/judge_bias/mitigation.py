"""Mitigations of a judge's biases, and what each changed: the mean size of its effects, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.audits.gap import UNIT
from assay.audits.judge_bias.effects import Judge
from assay.audits.judge_bias.pairs import POSITION, QUALITY, SELF
from assay.audits.slices import interval_estimate
from assay.core import Estimate, Finding, Floats, Statistic
from assay.errors import SpecError
from assay.names.spec import measure
from assay.statistics.intervals import bootstrap_weighted, ratio

_FILE = ".py:"  # a judge of the user's own
_BLINDABLE = ("author/", "people/", f"{SELF}/")
# Mitigations, and the judge that each is compared with.
_COMPARED = {"anchored": "plain", "blind": "plain", "panel": "plain", "swap": "pairs"}

STATISTICS = (
    Statistic(
        "effect_change", "Mean size of a judge's biases with a mitigation minus without; below 0 it helps.",
        UNIT, "high", headline=True,
        sentence=lambda f: f"{f.slice} makes the biases of {f.versus} larger, by {f.value:.3g}{UNIT}.",
    ),
)  # fmt: skip


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


def changes(judges: Sequence[Judge], spec: str, seed: int) -> list[Finding]:
    """What each mitigation of the judge `spec` did, on the biases it is meant for."""
    kinds = variants(spec)
    by_kind = {kinds[one.scored.metric]: one for one in judges if one.scored.metric in kinds}
    findings = []
    for kind, base in _COMPARED.items():
        if base in by_kind and kind in by_kind:
            before, after = _tables(by_kind[base], by_kind[kind], kind)
            if min(before.shape) > 0 and len(before) > 1:
                metric, versus = (by_kind[name].scored.metric for name in (kind, base))
                estimate = _change(100 * before / by_kind[base].unit, 100 * after / by_kind[kind].unit, seed)
                estimate = replace(estimate, sensitive=by_kind[base].sensitive and by_kind[kind].sensitive)
                place = metric, f"mitigation/{kind}", "effect_change"
                findings.append(Finding.of(*place, estimate, versus=versus))
    return findings


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
