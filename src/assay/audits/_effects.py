"""Scores of an association test to its effect size: absent words out, sets in balance, units averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from assay.audits._spread import spread_out
from assay.core import Floats
from assay.statistics.association import (
    Association,
    average_units,
    partition_test,
    pulls,
    target_associations,
)
from assay.statistics.bootstrap import Interval, interval_of
from assay.statistics.power import detectable_effect

TOO_MANY = 0.2  # above this share of absent texts in a set, a test says nothing about a metric
EVIDENCE = 5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Layout:
    """Which rows are X, which columns are A, and the word each row was made from."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    units: tuple[str, ...]
    n_x: int
    n_a: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A test that could be made, or (`outcome` None) one with too many words the metric does not know."""

    absent: float
    outcome: Association | None = None
    interval: Interval | None = None
    mde: float | None = None
    evidence: tuple[str, ...] = ()


def measure_test(
    forward: Floats, backward: Floats, layout: Layout, *, by_word: bool, intervals: bool, seed: int
) -> Measured:
    """S(x, y) is the mean of M(x, y) and M(y, x) (assoc sec. 4)."""
    scores = (forward + backward.T) / 2
    rows, columns, absent = _known(scores, layout)
    if absent > TOO_MANY:
        return Measured(absent)
    rows = _balanced(rows, layout, by_word)
    kept, units = scores[np.ix_(rows, columns)], [layout.units[row] for row in rows]
    n_x, n_a = int((rows < layout.n_x).sum()), int((columns < layout.n_a).sum())
    if min(n_x, rows.size - n_x, n_a, columns.size - n_a) < 1:
        return Measured(1.0)
    r = target_associations(kept, n_a)
    first, second = r[:n_x], r[n_x:]
    if by_word:
        first, second = average_units(first, units[:n_x]), average_units(second, units[n_x:])
    outcome = partition_test(first, second, scale=float(np.abs(kept).max()), seed=seed)
    return Measured(
        absent,
        outcome,
        _interval(first, second, outcome, seed) if intervals else None,
        detectable_effect(sqrt(1 / first.size + 1 / second.size)),
        _hardest(kept, layout, rows, columns, n_x, n_a, outcome),
    )


def _known(scores: Floats, layout: Layout) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows and columns that have scores, and the largest share absent from one of the four sets."""
    finite = np.isfinite(scores)
    columns = np.asarray(finite.any(axis=0))
    rows = np.asarray(finite[:, columns].all(axis=1) & columns.any())
    sets = (rows[: layout.n_x], rows[layout.n_x :], columns[: layout.n_a], columns[layout.n_a :])
    absent = max(1.0 - float(known.mean()) for known in sets)
    return np.flatnonzero(rows), np.flatnonzero(columns), absent


def _balanced(rows: np.ndarray, layout: Layout, by_word: bool) -> np.ndarray:
    """As many X as Y where some were dropped: the longer side loses units at even distances."""
    if rows.size == len(layout.rows):
        return rows
    sides = [rows[rows < layout.n_x].tolist(), rows[rows >= layout.n_x].tolist()]
    units = [list(dict.fromkeys(layout.units[row] if by_word else row for row in side)) for side in sides]
    size = min(map(len, units))
    kept = [set(spread_out(side, size)) for side in units]
    both = [
        row
        for side, names in zip(sides, kept, strict=True)
        for row in side
        if (layout.units[row] if by_word else row) in names
    ]
    return np.asarray(both, dtype=np.intp)


def _interval(first: Floats, second: Floats, outcome: Association, seed: int) -> Interval | None:
    """Resample the units of X and of Y; a degenerate test is exactly 0."""
    if outcome.degenerate:
        return Interval(0.0, 0.0, 0.95)
    rng = np.random.default_rng(seed)
    one = first[rng.integers(first.size, size=(RESAMPLES, first.size))]
    two = second[rng.integers(second.size, size=(RESAMPLES, second.size))]
    spread = np.concatenate([one, two], axis=1).std(axis=1, ddof=1)
    draws = np.full(RESAMPLES, np.nan)
    np.divide(one.mean(axis=1) - two.mean(axis=1), spread, out=draws, where=spread > 0)
    return interval_of(draws, n_clusters=min(first.size, second.size))


def _hardest(
    kept: Floats,
    layout: Layout,
    rows: Sequence[int] | np.ndarray,
    columns: Sequence[int] | np.ndarray,
    n_x: int,
    n_a: int,
    outcome: Association,
) -> tuple[str, ...]:
    """The pairs of texts that pull hardest in the direction of the effect."""
    if outcome.degenerate:
        return ()
    shares = pulls(kept, n_x, n_a).ravel() * (1.0 if outcome.effect_size >= 0 else -1.0)
    top = np.argpartition(-shares, min(EVIDENCE, shares.size - 1))[:EVIDENCE]
    top = top[np.argsort(-shares[top], kind="stable")]
    places = [divmod(int(place), kept.shape[1]) for place in top]
    return tuple(f"{layout.rows[rows[i]]} ~ {layout.columns[columns[j]]}" for i, j in places)
