"""Correlations of swapped pairs of metrics in, a matrix of p-values out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from assay.statistics.correlation import (
    Kind,
    average_ranks,
    correlate_rows,
    grouped_correlations,
    system_means,
)
from assay.statistics.intervals import (
    Floats,
    Integers,
    Labels,
    Seed,
    generator,
    label_codes,
    matched,
    vector,
)
from assay.statistics.permutation import (
    TOLERANCE,
    Alternative,
    PermutationResult,
    permutation_result,
    sign_batches,
)

_ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Every metric against every other.

    `differences[i, j]` is the correlation of i less that of j; `p_values` are two-sided, and
    `better[i, j]` is the one-sided p-value that i correlates better than j. nan where undefined.
    """

    correlations: Floats
    differences: Floats
    p_values: Floats
    better: Floats
    n_arrangements: int
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Correlations of each swapped pair of metrics, summed over groups; row 0 is the observed one."""

    n_metrics: int
    pairs: tuple[tuple[int, int], ...]
    sums: Floats  # 2 sides x arrangements x pairs
    counts: Floats

    @classmethod
    def empty(cls, n_metrics: int, arrangements: int) -> "Tally":
        """Start with nothing, and room for the observed arrangement."""
        pairs = tuple(combinations(range(n_metrics), 2))
        shape = (2, arrangements + 1, len(pairs))
        return cls(n_metrics, pairs, np.zeros(shape), np.zeros(shape))

    def add(self, rows: slice, first: Floats, second: Floats, pairs: slice | int = _ALL) -> None:
        """Add one group's correlations to some arrangements; undefined ones are passed over."""
        for side, values in enumerate((first, second)):
            defined = np.isfinite(values)
            if defined.all():
                self.sums[side, rows, pairs] += values
                self.counts[side, rows, pairs] += 1.0
                continue
            self.sums[side, rows, pairs] += np.where(defined, values, 0.0)
            self.counts[side, rows, pairs] += defined

    def comparison(self, alone: Floats, *, exact: bool) -> Comparison:
        """Turn the sums into p-values; `alone` are the metrics' own correlations."""
        means = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1.0), np.nan)
        size = (self.n_metrics, self.n_metrics)
        differences, p_values, better = np.zeros(size), np.ones(size), np.ones(size)
        for index, (i, j) in enumerate(self.pairs):
            deltas = means[0, :, index] - means[1, :, index]
            differences[i, j], differences[j, i] = deltas[0], -deltas[0]
            p_values[i, j] = p_values[j, i] = _share(np.abs(deltas), exact)
            better[i, j], better[j, i] = _share(deltas, exact), _share(-deltas, exact)
        return Comparison(alone, differences, p_values, better, self.sums.shape[1] - 1, exact)


def _share(deltas: Floats, exact: bool) -> float:
    """Return the p-value of the first entry among the rest."""
    if not np.isfinite(deltas[0]):
        return float("nan")
    null = deltas[1:][np.isfinite(deltas[1:])]
    hits = int(np.count_nonzero(null >= deltas[0] - TOLERANCE))
    # Enumerated patterns hold the observed one; drawn ones need it counted (Phipson & Smyth, 2010).
    return hits / null.size if exact else (1 + hits) / (1 + null.size)


__all__ = [
    "Comparison",
    "WilliamsTest",
    "metric_clusters",
    "permutation_both",
    "permutation_both_systems",
    "swap_groups",
    "swap_test",
    "williams_test",
]

_SWAPPED_AXES = {"segment": (1, 2), "document": (2,), "system": (1,)}


@dataclass(frozen=True, slots=True)
class WilliamsTest:
    """Williams's t, with n - 3 degrees of freedom, and its two-sided p-value."""

    t: float
    p_value: float


def permutation_both(
    metrics: ArrayLike,
    human: ArrayLike,
    *,
    kind: Literal["pearson", "spearman"] = "pearson",
    units: Labels | None = None,
    groups: Labels | None = None,
    resamples: int = 1000,
    seed: Seed,
) -> Comparison:
    """Compare all pairs of metrics (metrics x segments) at the segment level.

    `units` (segments; give documents where segments share them) are swapped as one. With `groups` the
    correlation is the mean of those within groups. Spearman swaps ranks for scores.
    """
    scores, judged = _segments(metrics, human)
    labels, _ = label_codes([0] * judged.size if groups is None else groups, judged.size)
    members = [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]
    if kind == "spearman":
        scores, judged = _ranked(scores, members), _ranked(judged[None, :], members)[0]
    scores, judged = _standardised(scores), _standardised(judged[None, :])[0]
    alone = system_means(grouped_correlations(scores, judged, labels, "pearson"))
    codes, n_units = label_codes(units, judged.size)
    count, exact, batches = sign_batches(n_units, resamples, generator(seed))
    tally, start = Tally.empty(len(scores), count), 0
    for signs in chain([np.ones((1, n_units))], batches):
        batch = slice(start, start + len(signs))
        for rows in members:
            tally.add(batch, *_swapped(scores[:, rows], judged[rows], signs, codes[rows]))
        start = batch.stop
    return tally.comparison(alone, exact=exact)


def permutation_both_systems(
    metrics: ArrayLike,
    human: ArrayLike,
    kind: Kind,
    *,
    swap: Literal["segment", "document", "system"] = "segment",
    resamples: int = 1000,
    seed: Seed,
) -> Comparison:
    """Compare all pairs of metrics (metrics x systems x documents) at the system level.

    `human` is systems x documents, nan for missing. Each (system, document) is swapped by itself,
    or whole documents, or whole systems.
    """
    scores = np.asarray(metrics, dtype=np.float64)
    if scores.ndim != 3 or not np.isfinite(scores).all():
        raise ValueError("metrics must be metrics x systems x documents without missing entries")
    standard = _standardised(scores.reshape(len(scores), -1)).reshape(scores.shape)
    means, judged = standard.mean(axis=2), system_means(human)
    n_units = int(np.prod([scores.shape[axis] for axis in _SWAPPED_AXES[swap]]))
    count, exact, batches = sign_batches(n_units, resamples, generator(seed))
    tally, start = Tally.empty(len(scores), count), 0
    for signs in chain([np.ones((1, n_units))], batches):
        moved, rows = _system_moves(standard, signs, swap), slice(start, start + len(signs))
        for index, (i, j) in enumerate(tally.pairs):
            middle, half = (means[i] + means[j]) / 2.0, (moved[:, :, i] - moved[:, :, j]) / 2.0
            sides = [correlate_rows(side, judged[None, :], kind) for side in (middle + half, middle - half)]
            tally.add(rows, sides[0], sides[1], index)
        start = rows.stop
    return tally.comparison(correlate_rows(means, judged[None, :], kind), exact=exact)


def swap_groups(by_group: ArrayLike, *, resamples: int = 9999, seed: Seed) -> Comparison:
    """Compare metrics whose correlation is a mean over groups (metrics x groups), swapping groups.

    Right for any correlation. A group that some metric leaves undefined is left out for all.
    """
    values = np.asarray(by_group, dtype=np.float64)
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] == 0:
        raise ValueError("no group in which every metric has a correlation")
    n_groups, means = values.shape[1], values.mean(axis=1)
    count, exact, batches = sign_batches(n_groups, resamples, generator(seed))
    tally, start = Tally.empty(len(values), count), 0
    i, j = np.triu_indices(len(values), 1)
    for signs in chain([np.ones((1, n_groups))], batches):
        moved = signs @ values.T / n_groups
        middle, half = (means[i] + means[j]) / 2.0, (moved[:, i] - moved[:, j]) / 2.0
        tally.add(slice(start, start + len(signs)), middle + half, middle - half)
        start += len(signs)
    return tally.comparison(means, exact=exact)


def swap_test(
    first: ArrayLike,
    second: ArrayLike,
    statistic: Callable[[Floats], float],
    *,
    units: Labels | None = None,
    alternative: Alternative = "two-sided",
    resamples: int = 1000,
    seed: Seed,
) -> PermutationResult:
    """Compare two metrics by any statistic of a score vector, two calls a resample: the general way."""
    one, two = _standardised(np.stack(matched(first, second)))
    codes, n_units = label_codes(units, one.size)
    _, exact, batches = sign_batches(n_units, resamples, generator(seed))
    middle, half = (one + two) / 2.0, (one - two) / 2.0
    moves = (half * row[codes] for batch in batches for row in batch)
    null = np.array([statistic(middle + move) - statistic(middle - move) for move in moves])
    observed = statistic(one) - statistic(two)
    return permutation_result(observed, null, alternative, exact=exact, scale=1.0)


def williams_test(first: float, second: float, between: float, n: int) -> WilliamsTest:
    """Test that two metrics' Pearson correlations with people are equal (Williams, 1959).

    `between` is the correlation of the metrics. Valid for Pearson on n independent rows only.
    """
    if n < 4:
        raise ValueError(f"Williams's test needs at least 4 rows, not {n}")
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    spread = 2 * determinant * (n - 1) / (n - 3) + ((first + second) / 2) ** 2 * (1 - between) ** 3
    if first == second or spread <= 0:
        return WilliamsTest(0.0, 1.0)
    t = (first - second) * sqrt((n - 1) * (1 + between) / spread)
    return WilliamsTest(t, 2.0 * float(stdtr(n - 3, -abs(t))))


def metric_clusters(values: ArrayLike, p_values: ArrayLike, *, alpha: float = 0.05) -> tuple[int, ...]:
    """Return a cluster for each metric, 1 the best; metrics of one cluster cannot be told apart.

    From the best down, a metric opens a new cluster when it differs significantly from any metric
    in the current one. A metric without a value gets 0.

    >>> metric_clusters([0.5, 0.9, 0.8], [[1.0, 0.01, 0.03], [0.01, 1.0, 0.2], [0.03, 0.2, 1.0]])
    (2, 1, 1)
    """
    value, p = np.asarray(values, dtype=np.float64), np.asarray(p_values, dtype=np.float64)
    answer = [0] * value.size
    cluster: list[int] = []
    number = 1
    for index in (int(i) for i in np.argsort(-value, kind="stable") if np.isfinite(value[i])):
        if any(p[index, other] < alpha for other in cluster):
            cluster, number = [], number + 1
        cluster.append(index)
        answer[index] = number
    return tuple(answer)


def _segments(metrics: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats]:
    """Return scores (metrics x segments) and judgements, both complete."""
    scores, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), np.asarray(human, dtype=np.float64)
    if scores.ndim != 2 or judged.shape != scores.shape[1:]:
        raise ValueError(f"metrics x segments and segments needed, not {scores.shape} and {judged.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("metrics have missing entries; drop those segments first (see complete_rows)")
    return scores, vector(judged, "human")


def _standardised(scores: Floats) -> Floats:
    """Give every row mean 0 and standard deviation 1 (ddof 0); a constant row becomes 0."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = centred.std(axis=1, keepdims=True)
    flat = size <= 1e-12 * np.abs(scores).max(axis=1, keepdims=True)
    standard: Floats = np.where(flat, 0.0, centred / np.where(flat, 1.0, size))
    return standard


def _ranked(scores: Floats, members: Sequence[Integers]) -> Floats:
    """Replace scores by their ranks within each group."""
    ranks = np.empty_like(scores)
    for rows in members:
        ranks[:, rows] = np.stack([average_ranks(row) for row in scores[:, rows]])
    return ranks


def _swapped(scores: Floats, judged: Floats, signs: Floats, codes: Integers) -> tuple[Floats, Floats]:
    """Return both metrics' correlations of every pair under every pattern of signs, in one group."""
    centred = judged - judged.mean()
    columns = np.concatenate([scores, scores**2, scores * centred]).T
    own, place = np.unique(codes, return_inverse=True)
    by_unit = np.column_stack([np.bincount(place, weights=column) for column in columns.T])
    moved = signs[:, own] @ by_unit
    still = columns.sum(axis=0)
    i, j = np.triu_indices(len(scores), 1)
    middle = [(part[i] + part[j]) / 2.0 for part in np.split(still, 3)]
    half = [(part[:, i] - part[:, j]) / 2.0 for part in np.split(moved, 3, axis=1)]
    spread = float((centred**2).sum())

    def side(turn: Callable[[Floats, Floats], Floats]) -> Floats:
        total, square, product = (turn(still, moving) for still, moving in zip(middle, half, strict=True))
        total *= total
        square -= total / judged.size
        return _over_root(product, square, spread)

    return side(np.add), side(np.subtract)


def _over_root(product: Floats, square: Floats, spread: float) -> Floats:
    """Divide by the root of square * spread; nan where either is nothing. In place: this is the hot spot."""
    if spread <= 1e-9:
        return np.full_like(product, np.nan)
    square *= spread
    if square.min() <= 1e-9 * spread:
        square[square <= 1e-9 * spread] = np.nan
    product /= np.sqrt(square, out=square)
    return product


def _system_moves(standard: Floats, signs: Floats, swap: str) -> Floats:
    """Return the system means of signed scores (patterns x systems x metrics)."""
    n_metrics, n_systems, n_documents = standard.shape
    if swap == "system":
        signed: Floats = signs[:, :, None] * standard.mean(axis=2).T
        return signed
    moved = np.empty((len(signs), n_systems, n_metrics))
    for system in range(n_systems):
        own = signs[:, system * n_documents : (system + 1) * n_documents] if swap == "segment" else signs
        moved[:, system] = own @ standard[:, system].T / n_documents
    return moved
