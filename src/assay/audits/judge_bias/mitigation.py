"""Remedies for a judge's biases, and what each changed: the mean size of its effects, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from assay.audits.judge_bias.effects import AUDIT, Panel
from assay.core import Finding, Floats
from assay.errors import SpecError
from assay.names.spec import measure
from assay.statistics.estimates import verdict
from assay.statistics.intervals import bootstrap_weighted

_FILE = ".py:"  # a judge of the user's own
_BLINDABLE = ("author/", "people/", "self-preference/")


class _Settings(Protocol):
    """What is needed of the audit."""

    @property
    def mitigate(self) -> str:
        """The judge to be mended."""

    @property
    def seed(self) -> int:
        """Of the resamples."""


def variants(spec: str) -> dict[str, str]:
    """The specs of a judge and its remedies, to what each is."""
    found = {
        spec: "plain",
        _with(spec, "anchored=true"): "anchored",
        _with(spec, "blind=true"): "blind",
        _with(spec, "mode=pairwise"): "pairs",
        _with(spec, "mode=pairwise,swap=true"): "swap",
    }
    if _FILE not in spec:  # a hybrid is made of registered names
        found[f"0.5*{spec}+0.5*{_with(spec, 'criterion=correctness')}"] = "panel"
    return found


def check_mendable(spec: str) -> None:
    """Refuse a metric that the remedies cannot be set on, before anything is asked."""
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
    """More keys for a spec.

    >>> _with("judge", "blind=true"), _with("judge:shots=1", "blind=true"), _with("my.py:Mine", "blind=true")
    ('judge:blind=true', 'judge:shots=1,blind=true', 'my.py:Mine:blind=true')
    """
    name = spec.partition(_FILE)[2] or spec
    return f"{spec},{keys}" if ":" in name else f"{spec}:{keys}"


def changes(
    panels: Sequence[Panel], primacy: Mapping[str, Mapping[str, float]], asked: _Settings
) -> list[Finding]:
    """What each remedy did, on the biases it is meant for."""
    by_kind = {kind: spec for spec, kind in variants(asked.mitigate).items()}
    by_metric = {panel.metric: panel for panel in panels}
    plain = by_metric.get(by_kind["plain"])
    found = []
    for kind in ("anchored", "blind", "panel"):
        mended = by_metric.get(by_kind.get(kind, ""))
        if plain is not None and mended is not None:
            chosen = [name for name in plain.effects if _meant(kind, name)]
            before, after = (_table(one, chosen) for one in _aligned(plain, mended, chosen))
            found += _change(mended.metric, kind, plain.metric, before, after, asked.seed)
    found += _swapped(by_kind, primacy, asked.seed)
    return found


def _meant(kind: str, name: str) -> bool:
    return name not in ("quality", "position") and (kind != "blind" or name.startswith(_BLINDABLE))


Effects = dict[str, dict[str, float]]  # slice -> item -> effect


def _aligned(plain: Panel, mended: Panel, names: Sequence[str]) -> tuple[Effects, Effects]:
    """Both judges' effects, on slices and items that both answered."""
    both = [
        {
            name: dict(zip(one.items[name], one.effects[name].tolist(), strict=True))
            for name in names
            if name in one.items
        }
        for one in (plain, mended)
    ]
    shared = [name for name in both[0] if name in both[1]]
    items = {name: set(both[0][name]) & set(both[1][name]) for name in shared}
    first, second = (
        {name: {i: one[name][i] for i in sorted(items[name])} for name in shared} for one in both
    )
    return first, second


def _table(effects: Effects, names: Sequence[str]) -> Floats:
    """(items, slices) of effects, nan where an item lacks a slice."""
    items = sorted({item for found in effects.values() for item in found})
    columns = [[effects[name].get(item, np.nan) for item in items] for name in names if name in effects]
    return np.array(columns, dtype=np.float64).T.reshape(len(items), -1)


def _change(metric: str, kind: str, versus: str, before: Floats, after: Floats, seed: int) -> list[Finding]:
    """The mean size of the effects after less before; below 0 the remedy helped. Items are resampled."""
    if before.shape != after.shape or min(before.shape) < 1 or len(before) < 2:
        return []

    def change(weights: Floats) -> Floats:
        return _mean_size(weights, after) - _mean_size(weights, before)

    value = float(change(np.ones((1, len(before))))[0])
    ci = bootstrap_weighted(change, len(before), seed=seed, method="percentile")
    passed = None if ci is None else verdict(ci, 0.0)
    pair = None if ci is None else ci.pair
    return [
        Finding(
            metric,
            AUDIT,
            f"mitigation/{kind}",
            "effect_change",
            value,
            len(before),
            versus,
            pair,
            passed=passed,
        )
    ]


def _mean_size(weights: Floats, table: Floats) -> Floats:
    """Over slices, the size of the mean effect over items."""
    there = np.isfinite(table)
    sums, counts = weights @ np.where(there, table, 0.0), weights @ there.astype(np.float64)
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return np.asarray(np.nanmean(np.abs(means), axis=1))


def _swapped(
    by_kind: Mapping[str, str], primacy: Mapping[str, Mapping[str, float]], seed: int
) -> list[Finding]:
    """Order swapping, on the pull of the first place."""
    plain, mended = (primacy.get(by_kind[kind], {}) for kind in ("pairs", "swap"))
    items = sorted(set(plain) & set(mended))
    before, after = (np.array([[one[item]] for item in items]).reshape(-1, 1) for one in (plain, mended))
    return _change(by_kind["swap"], "swap", by_kind["pairs"], before, after, seed)
