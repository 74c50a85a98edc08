"""A metric's profile over criteria, and which metrics see what the other misses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from assay.audits._checklist_rows import Changes, mean_interval
from assay.core import Finding, Floats
from assay.statistics.bootstrap import bootstrap_mean

AUDIT = "checklist"


def criterion_profile(metric: str, rows: Sequence[Changes], tolerance: float, seed: int) -> list[Finding]:
    """The mean pass rate of a criterion's templates, each counted alike: what a metric hears, what not."""
    grouped: dict[str, list[Changes]] = {}
    for row in rows:
        grouped.setdefault(row.slice.split("/")[1], []).append(row)
    return [_profile(metric, name, found, tolerance, seed) for name, found in grouped.items()]


def _profile(metric: str, criterion: str, rows: Sequence[Changes], tolerance: float, seed: int) -> Finding:
    hits = np.concatenate([row.passes(tolerance) for row in rows]).astype(np.float64)
    weights = np.concatenate([np.full(row.n, 1.0 / row.n) for row in rows])
    clusters = [cluster for row in rows for cluster in row.clusters]
    interval = bootstrap_mean(hits, clusters=clusters, weights=weights, seed=seed)
    value = float(np.average(hits, weights=weights))
    ci = None if interval is None else interval.pair
    return Finding(metric, AUDIT, criterion, "criterion_pass_rate", value, hits.size, ci=ci)


def complements(rows: Sequence[tuple[str, Sequence[Changes]]], seed: int) -> list[Finding]:
    """Pairs of metrics: how many more changes for the worse one of two sees than the better alone."""
    noticed = [(metric, _noticed(found)) for metric, found in rows]
    return [
        finding
        for (first, one), (second, two) in combinations(noticed, 2)
        if (finding := _gain(first, one, second, two, seed)) is not None
    ]


def _noticed(rows: Sequence[Changes]) -> dict[str, tuple[float, str]]:
    """Cases that should lower the score: whether it fell, and the cluster."""
    table: dict[str, tuple[float, str]] = {}
    for row in rows:
        if row.expect == "lower":
            for case, change, cluster in zip(row.cases, row.change, row.clusters, strict=True):
                table[case.id] = (float(change < 0), cluster)
    return table


def _gain(
    first: str, one: dict[str, tuple[float, str]], second: str, two: dict[str, tuple[float, str]], seed: int
) -> Finding | None:
    shared = [case for case in one if case in two]
    if not shared:
        return None
    left, right = (_column(table, shared) for table in (one, two))
    better = left if left.mean() >= right.mean() else right
    gain = np.maximum(left, right) - better
    interval = mean_interval(gain, [one[case][1] for case in shared], seed)
    missed = [case for case, seen in zip(shared, gain, strict=True) if seen][:5]
    return Finding(
        first, AUDIT, "all", "complement_gain", float(gain.mean()), len(shared), versus=second,
        ci=None if interval is None else interval.pair, evidence=tuple(missed),
    )  # fmt: skip


def _column(table: dict[str, tuple[float, str]], cases: Sequence[str]) -> Floats:
    return np.array([table[case][0] for case in cases])
