"""Values in, confidence intervals out, by resampling clusters of rows.

The array types, checks, cluster labels and seeds that every module of this folder uses are here too.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Labels = Iterable[Hashable] | NDArray[Any]
Seed = int | np.random.Generator
Resampled = Callable[[Floats], Floats]  # from weights (resamples x rows) to one value per resample
ClusterCodes = Sequence[tuple[Integers, int]]  # per way of sampling: each row's cluster, how many clusters

# Work is cut into pieces of about this many float64 cells (32 MB), whatever the size of the data.
CELLS = 4_000_000

_LEVEL = 0.95
_RESAMPLES = 2000


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Return a non-empty vector of finite floats; raise ValueError for anything else."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has missing or infinite entries; drop those rows first")
    return array


def matched(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Return two finite vectors of equal length."""
    x, y = vector(first, "first"), vector(second, "second")
    if x.size != y.size:
        raise ValueError(f"the vectors must have one length, not {x.size} and {y.size}")
    return x, y


def label_codes(labels: Labels | None, n: int) -> tuple[Integers, int]:
    """Return each row's cluster by first appearance (without labels, itself), and the number of clusters."""
    if labels is None:
        return np.arange(n), n
    numbers: dict[Hashable, int] = {}
    listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in listed], dtype=np.intp)
    if codes.size != n:
        raise ValueError(f"{codes.size} labels for {n} rows")
    return codes, len(numbers)


def cluster_codes(n: int, clusters: Labels | None, crossed: Labels | None = None) -> ClusterCodes:
    """Number the clusters of n rows that were sampled in one way or in two crossed ways."""
    return [label_codes(way, n) for way in (clusters, crossed) if way is not None] or [label_codes(None, n)]


def cluster_sums(values: Floats, codes: Integers, n_clusters: int) -> Floats:
    """Sum a vector, or the columns of a matrix, over clusters of rows."""
    if values.ndim == 1:
        return np.asarray(np.bincount(codes, weights=values, minlength=n_clusters), dtype=np.float64)
    return np.column_stack([cluster_sums(column, codes, n_clusters) for column in values.T])


def block_sizes(total: int, width: int) -> Iterator[slice]:
    """Cut `total` rows of `width` cells into slices of bounded size."""
    step = max(1, CELLS // max(1, width))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def in_pieces(function: Callable[[slice], Floats], total: int, width: int) -> Floats:
    """Apply a function to slice after slice and concatenate its results."""
    return np.concatenate([function(piece) for piece in block_sizes(total, width)])


def draw_counts(n_clusters: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Draw clusters with replacement; return how often each was drawn (resamples x clusters)."""
    drawn = rng.integers(n_clusters, size=(resamples, n_clusters))
    drawn += (np.arange(resamples) * n_clusters)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * n_clusters)
    return counts.reshape(resamples, n_clusters).astype(np.float64)


def draw_rows(codes: ClusterCodes, resamples: int, rng: np.random.Generator) -> Floats:
    """Return how often each row was drawn (resamples x rows); crossed ways multiply (Owen, 2007)."""
    weights = np.ones((resamples, 1))
    for rows, n_clusters in codes:
        weights = weights * draw_counts(n_clusters, resamples, rng)[:, rows]
    return weights


def weighted_mean(weights: Floats, values: Floats) -> Floats:
    """Return one weighted mean per row of weights (resamples x rows), nan where all weights are 0."""
    return ratio(weights @ values, weights.sum(axis=1))


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval at a level such as 0.95."""

    low: float
    high: float
    level: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def pair(self) -> tuple[float, float]:
        return self.low, self.high


def bootstrap_mean(
    values: ArrayLike,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    resamples: int = _RESAMPLES,
    **options: Any,
) -> Interval | None:
    """Return an interval for a mean, resampling clusters of rows; None below two clusters."""
    row = vector(values)
    _, n_clusters = label_codes(clusters, row.size)
    if n_clusters < 2:
        return None
    draws = resampled_means(row, clusters=clusters, resamples=resamples, seed=seed)[:, 0]
    return interval_of(draws, n_clusters=n_clusters, **options)


def bootstrap_weighted(
    statistic: Resampled,
    n: int,
    *,
    clusters: Labels | None = None,
    crossed: Labels | None = None,
    seed: Seed,
    resamples: int = _RESAMPLES,
    **options: Any,
) -> Interval | None:
    """Return an interval for a statistic of weights (resamples x n rows), one value per resample.

    A weight is how often a row was drawn; weights of 1 give the statistic of the data. `crossed` names a
    second way in which rows were sampled (template and identity word): both are resampled (Owen, 2007).
    Resamples where the statistic is nan are left out. None below two clusters, and where most resamples are
    nan.
    """
    rng = np.random.default_rng(seed)
    codes = cluster_codes(n, clusters, crossed)
    fewest = min(size for _, size in codes)
    if fewest < 2:
        return None

    def values(piece: slice) -> Floats:
        return statistic(draw_rows(codes, piece.stop - piece.start, rng))

    return interval_of(in_pieces(values, resamples, n), n_clusters=fewest, **options)


def resampled_means(
    values: ArrayLike, *, clusters: Labels | None = None, resamples: int = _RESAMPLES, seed: Seed
) -> Floats:
    """Return the means of resampled columns (resamples x columns); all columns share the drawn rows."""
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    codes, n_clusters = label_codes(clusters, matrix.shape[0])
    sums = cluster_sums(matrix, codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)
    rng = np.random.default_rng(seed)

    def means(piece: slice) -> Floats:
        counts = draw_counts(n_clusters, piece.stop - piece.start, rng)
        return np.asarray((counts @ sums) / (counts @ sizes)[:, None], dtype=np.float64)

    return in_pieces(means, resamples, n_clusters)


def interval_of(
    draws: ArrayLike, *, n_clusters: int, level: float = _LEVEL, corrected: bool = True
) -> Interval | None:
    """Return the percentile interval of resampled values that come from `n_clusters` clusters.

    Tails are widened from z to t * sqrt(n / (n - 1)), n the number of clusters, unless they are not to be
    `corrected`: the plain bootstrap is too narrow by about that much where clusters are few (Hesterberg,
    2015). Values that are nan are left out; None where most are, or below two clusters.
    """
    values = np.asarray(draws, dtype=np.float64)
    defined = values[np.isfinite(values)]
    if 2 * defined.size <= values.size or n_clusters < 2:
        return None
    reach = float(ndtri((1.0 + level) / 2.0))
    if corrected:
        reach = float(stdtrit(n_clusters - 1, (1.0 + level) / 2.0)) * sqrt(n_clusters / (n_clusters - 1))
    low, high = np.quantile(defined, [float(ndtr(-reach)), float(ndtr(reach))])
    return Interval(float(low), float(high), level)


def bootstrap_p_value(draws: ArrayLike, *, null: float = 0.0) -> float:
    """Return the two-sided p-value, never 0, of the hypothesis that the true value is `null`.

    Of B resampled values, nan left out: p = min(1, 2 * (1 + min(#{<= null}, #{>= null})) / (1 + B)).
    """
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    below, above = int((values <= null).sum()), int((values >= null).sum())
    return min(1.0, 2.0 * (1 + min(below, above)) / (1 + values.size))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; nan where the denominator is 0: a resample that caught no weight at all."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
