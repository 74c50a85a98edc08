"""Values in, confidence intervals out, by resampling clusters of rows.

The array types, checks, cluster labels and seeds that every module of this folder uses are here too.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

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

# Above this many clusters the acceleration of a general statistic, which shrinks with the square root of
# their number, is taken as 0: its jackknife would need as many evaluations.
_JACKKNIFE_LIMIT = 1000


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """How an interval is computed: the `options` of every bootstrap.

    `correction="t"` widens the tails from z to t * sqrt(n / (n - 1)), n the number of clusters: the
    plain bootstrap is too narrow by about that much where clusters are few (Hesterberg, 2015).
    """

    level: float = 0.95
    resamples: int = 2000
    method: Literal["percentile", "bca"] = "bca"
    correction: Literal["t", "none"] = "t"

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0 or self.resamples < 1:
            raise ValueError(f"level must lie in (0, 1) and resamples be positive, not {self}")

    def tails(self, n_clusters: int) -> tuple[float, float]:
        """Return the two ends as quantiles of the standard normal distribution."""
        alpha = (1.0 - self.level) / 2.0
        if self.correction == "none":
            z = float(ndtri(alpha))
        else:
            z = float(stdtrit(n_clusters - 1, alpha)) * sqrt(n_clusters / (n_clusters - 1))
        return z, -z


def bootstrap_mean(
    values: ArrayLike,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Any,
) -> Interval | None:
    """Return an interval for a mean, resampling clusters of rows; None below two clusters."""
    plan, row = _Plan(**options), vector(values)
    totals = cluster_sums(np.column_stack([row, np.ones(row.size)]), *label_codes(clusters, row.size))
    if len(totals) < 2:
        return None

    def means(counts: Floats) -> Floats:
        return ratio(*(counts @ totals).T)

    draws = _resample(means, len(totals), plan.resamples, np.random.default_rng(seed))
    if plan.method == "percentile":
        return interval_of(draws, n_clusters=len(totals), **options)
    observed = float(totals[:, 0].sum() / totals[:, 1].sum())
    return _bca_interval(draws, observed, ratio(*(totals.sum(axis=0) - totals).T), plan)


def bootstrap_weighted(
    statistic: Resampled,
    n: int,
    *,
    clusters: Labels | None = None,
    crossed: Labels | None = None,
    seed: Seed,
    **options: Any,
) -> Interval | None:
    """Return an interval for a statistic of weights (resamples x n rows), one value per resample.

    A weight is how often a row was drawn; weights of 1 give the statistic of the data. `crossed` names a
    second way in which rows were sampled (template and identity word): both are resampled (Owen, 2007)
    and the interval is the percentile one. Resamples where the statistic is nan are left out. None below
    two clusters, and where most resamples are nan.
    """
    plan, rng = _Plan(**options), np.random.default_rng(seed)
    codes = cluster_codes(n, clusters, crossed)
    fewest = min(size for _, size in codes)
    if fewest < 2:
        return None

    def values(piece: slice) -> Floats:
        return statistic(draw_rows(codes, piece.stop - piece.start, rng))

    draws = in_pieces(values, plan.resamples, n)
    if len(codes) > 1 or plan.method == "percentile":
        return interval_of(draws, n_clusters=fewest, **options)
    observed = float(statistic(np.ones((1, n)))[0])
    return _bca_interval(draws, observed, _without_each_cluster(statistic, *codes[0]), plan)


def resampled_means(
    values: ArrayLike, *, clusters: Labels | None = None, resamples: int = 2000, seed: Seed
) -> Floats:
    """Return the means of resampled columns (resamples x columns); all columns share the drawn rows."""
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    codes, n_clusters = label_codes(clusters, matrix.shape[0])
    sums = cluster_sums(matrix, codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)

    def means(counts: Floats) -> Floats:
        return np.asarray((counts @ sums) / (counts @ sizes)[:, None], dtype=np.float64)

    return _resample(means, n_clusters, resamples, np.random.default_rng(seed))


def interval_of(draws: ArrayLike, *, n_clusters: int, **options: Any) -> Interval | None:
    """Return the percentile interval of resampled values that come from `n_clusters` clusters.

    Values that are nan are left out; None where most are, or below two clusters.
    """
    plan, defined = _Plan(**options), _defined(np.asarray(draws, dtype=np.float64))
    if defined is None or n_clusters < 2:
        return None
    low, high = np.quantile(defined, [float(ndtr(z)) for z in plan.tails(n_clusters)])
    return Interval(float(low), float(high), plan.level)


def bootstrap_p_value(draws: ArrayLike, *, null: float = 0.0) -> float:
    """Return the two-sided p-value, never 0, of the hypothesis that the true value is `null`.

    Of B resampled values, nan left out: p = min(1, 2 * (1 + min(#{<= null}, #{>= null})) / (1 + B)).
    """
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    below, above = int((values <= null).sum()), int((values >= null).sum())
    return min(1.0, 2.0 * (1 + min(below, above)) / (1 + values.size))


def _bca_interval(draws: Floats, observed: float, without_each: Floats, plan: _Plan) -> Interval | None:
    """Return the bias-corrected, accelerated interval (Efron, 1987); `without_each` leaves out each cluster.

    A tail z is moved to b + (b + z) / (1 - a * (b + z)). The bias b is the normal quantile of the share of
    draws below the observed value, ties counted half.
    """
    defined = _defined(draws)
    if defined is None or not np.isfinite(observed):
        return None
    below = (np.count_nonzero(defined < observed) + np.count_nonzero(defined <= observed)) / 2
    share = np.clip(below / defined.size, 0.5 / defined.size, 1 - 0.5 / defined.size)
    bias, acceleration = float(ndtri(share)), _acceleration(without_each)

    def moved(z: float) -> float:
        scale = 1.0 - acceleration * (bias + z)
        if scale <= 0.0:  # past the pole a tail is the end of the range
            return 0.0 if z < 0.0 else 1.0
        return float(ndtr(bias + (bias + z) / scale))

    low, high = np.quantile(defined, [moved(z) for z in plan.tails(without_each.size)])
    return Interval(float(low), float(high), plan.level)


def _defined(draws: Floats) -> Floats | None:
    """Return the draws that are not nan, or None where they are not the majority."""
    defined = draws[np.isfinite(draws)]
    return defined if 2 * defined.size > draws.size else None


def _acceleration(without_each: Floats) -> float:
    """Return sum(u ** 3) / (6 * sum(u ** 2) ** 1.5), u the jackknife influence of each cluster."""
    defined = without_each[np.isfinite(without_each)]
    if not defined.size:
        return 0.0
    influence = (defined.size - 1) * (defined.mean() - defined) / defined.size
    squares = float((influence**2).sum())
    return float((influence**3).sum()) / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _without_each_cluster(statistic: Resampled, codes: Integers, n_clusters: int) -> Floats:
    """Return the statistic without each cluster in turn; zeros (no acceleration) above the limit."""
    if n_clusters > _JACKKNIFE_LIMIT:
        return np.zeros(n_clusters)
    numbers = np.arange(n_clusters)

    def without(piece: slice) -> Floats:
        return statistic((numbers[piece, None] != codes).astype(np.float64))

    return in_pieces(without, n_clusters, codes.size)


def _resample(statistic: Resampled, n_clusters: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Apply a statistic of cluster counts (resamples x clusters) to all resamples, piece by piece."""

    def values(piece: slice) -> Floats:
        return statistic(draw_counts(n_clusters, piece.stop - piece.start, rng))

    return in_pieces(values, resamples, n_clusters)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; nan where the denominator is 0: a resample that caught no weight at all."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient
