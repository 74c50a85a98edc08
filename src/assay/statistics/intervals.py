"""Arrays, labels and seeds as every module here takes them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
Labels = Iterable[Hashable] | NDArray[Any]
Seed = int | np.random.Generator
Statistic = Callable[[Floats], Floats]

# Work is cut into pieces of about this many float64 cells (32 MB), whatever the size of the data.
CELLS = 4_000_000


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Return a non-empty vector of finite floats, or say what is wrong with it."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has missing or infinite entries; drop them first (see complete_rows)")
    return array


def matched(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Return two finite vectors of one length."""
    one, two = vector(first, "first"), vector(second, "second")
    if one.size != two.size:
        raise ValueError(f"the vectors must have one length, not {one.size} and {two.size}")
    return one, two


def complete_rows(*columns: ArrayLike) -> Booleans:
    """Tell, row by row, whether every column has a value there.

    >>> complete_rows([1.0, float("nan"), 3.0], [1.0, 2.0, None]).tolist()
    [True, False, False]
    """
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    mask: Booleans = np.all([np.isfinite(array) for array in arrays], axis=0)
    return mask


def label_codes(labels: Labels | None, n: int) -> tuple[Integers, int]:
    """Number labels by first appearance; no labels means a cluster a row."""
    if labels is None:
        return np.arange(n), n
    numbers: dict[Hashable, int] = {}
    listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in listed], dtype=np.intp)
    if codes.size != n:
        raise ValueError(f"{codes.size} labels for {n} rows")
    return codes, len(numbers)


def cluster_sums(values: Floats, codes: Integers, n_clusters: int) -> Floats:
    """Sum a vector, or the columns of a matrix, over clusters of rows."""
    if values.ndim == 1:
        return np.asarray(np.bincount(codes, weights=values, minlength=n_clusters), dtype=np.float64)
    return np.column_stack([cluster_sums(column, codes, n_clusters) for column in values.T])


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator itself, or a new one from a whole number."""
    return np.random.default_rng(seed)


def whole_seed(seed: Seed) -> int:
    """Return a whole number that can key a cache."""
    return seed if isinstance(seed, int) else int(seed.integers(2**62))


def pieces(total: int, width: int) -> Iterator[slice]:
    """Cut `total` rows of `width` cells into slices of bounded size."""
    step = max(1, CELLS // max(1, width))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def in_pieces(function: Callable[[slice], Floats], total: int, width: int) -> Floats:
    """Apply a function to slice after slice and join its answers."""
    parts: Sequence[Floats] = [function(piece) for piece in pieces(total, width)]
    return np.concatenate(parts)


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
        """The two ends."""
        return self.low, self.high


class Options(TypedDict, total=False):
    """What every bootstrap may be told; see Plan for the defaults."""

    level: float
    resamples: int
    method: Literal["percentile", "bca"]
    correction: Literal["t", "none"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How an interval is made.

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
        """Return the normal quantiles of the two ends."""
        alpha = (1.0 - self.level) / 2.0
        if self.correction == "none":
            z = float(ndtri(alpha))
        else:
            z = float(stdtrit(n_clusters - 1, alpha)) * sqrt(n_clusters / (n_clusters - 1))
        return z, -z


def percentile_interval(draws: Floats, n_clusters: int, plan: Plan) -> Interval | None:
    """Return the quantiles of the defined draws, or None where most are undefined."""
    defined = _defined(draws)
    if defined is None or n_clusters < 2:
        return None
    low, high = np.quantile(defined, [float(ndtr(z)) for z in plan.tails(n_clusters)])
    return Interval(float(low), float(high), plan.level)


def bca_interval(draws: Floats, observed: float, left_out: Sequence[Floats], plan: Plan) -> Interval | None:
    """Return the bias-corrected, accelerated interval (Efron, 1987); a jackknife for each sample."""
    defined = _defined(draws)
    if defined is None or not np.isfinite(observed):
        return None
    below = (np.count_nonzero(defined < observed) + np.count_nonzero(defined <= observed)) / 2
    share = np.clip(below / defined.size, 0.5 / defined.size, 1 - 0.5 / defined.size)
    bias, acceleration = float(ndtri(share)), _acceleration(left_out)
    tails = plan.tails(min(side.size for side in left_out))
    low, high = np.quantile(defined, [_adjusted(z, bias, acceleration) for z in tails])
    return Interval(float(low), float(high), plan.level)


def _defined(draws: Floats) -> Floats | None:
    defined = draws[np.isfinite(draws)]
    return defined if 2 * defined.size > draws.size else None


def _adjusted(z: float, bias: float, acceleration: float) -> float:
    """Move a tail by the bias and the acceleration; past the pole it is the end of the range."""
    scale = 1.0 - acceleration * (bias + z)
    if scale <= 0.0:
        return 0.0 if z < 0.0 else 1.0
    return float(ndtr(bias + (bias + z) / scale))


def _acceleration(left_out: Sequence[Floats]) -> float:
    cubes = squares = 0.0
    for side in left_out:
        defined = side[np.isfinite(side)]
        influence = (
            (defined.size - 1) * (defined.mean() - defined) / defined.size if defined.size else defined
        )
        cubes += float((influence**3).sum())
        squares += float((influence**2).sum())
    return cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0


__all__ = [
    "Interval",
    "Options",
    "bootstrap_callable",
    "bootstrap_difference",
    "bootstrap_mean",
    "bootstrap_p_value",
    "bootstrap_paired",
    "bootstrap_weighted",
    "draw_counts",
    "interval_of",
    "resampled_means",
]

# Above this many clusters the acceleration of a general statistic, which shrinks with the root of
# their number, is taken as 0 rather than paid for with as many evaluations.
_JACKKNIFE_LIMIT = 1000


def bootstrap_mean(
    values: ArrayLike,
    *,
    clusters: Labels | None = None,
    crossed: Labels | None = None,
    weights: ArrayLike | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for a mean, resampling clusters of rows.

    `weights` are how many units a row stands for. `crossed` names a second way in which rows were
    sampled (template and identity word): both are resampled (Owen, 2007) and the interval is the
    percentile one.
    """
    plan, row = Plan(**options), vector(values)
    weight = np.ones(row.size) if weights is None else vector(weights, "weights")
    if crossed is not None:

        def weighted_mean(counts: Floats) -> Floats:
            return _ratio(counts @ (weight * row), counts @ weight)

        return bootstrap_weighted(
            weighted_mean, row.size, clusters=clusters, crossed=crossed, seed=seed, **options
        )
    totals = _cluster_totals(row, weight, clusters)
    if len(totals) < 2:
        return None
    draws = _resampled_ratio(totals, plan.resamples, generator(seed))
    return _interval(draws, _mean(totals), [_left_out(totals)], plan)


def bootstrap_paired(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for the mean of first less second, row by row."""
    one, two = matched(first, second)
    return bootstrap_mean(one - two, clusters=clusters, seed=seed, **options)


def bootstrap_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_clusters: Labels | None = None,
    second_clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for the difference of the means of two independent samples."""
    plan, rng = Plan(**options), generator(seed)
    one, two = vector(first, "first"), vector(second, "second")
    sides = [
        _cluster_totals(one, np.ones(one.size), first_clusters),
        _cluster_totals(two, np.ones(two.size), second_clusters),
    ]
    if min(map(len, sides)) < 2:
        return None
    draws = [_resampled_ratio(side, plan.resamples, rng) for side in sides]
    return _interval(
        draws[0] - draws[1],
        _mean(sides[0]) - _mean(sides[1]),
        [_left_out(sides[0]), -_left_out(sides[1])],
        plan,
    )


def bootstrap_weighted(
    statistic: Statistic,
    n: int,
    *,
    clusters: Labels | None = None,
    crossed: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for a statistic that takes weights (resamples x n rows), a value a resample.

    Weights are how often each row was drawn; all ones give the statistic of the data themselves.
    Resamples where the statistic is undefined (nan) are left out; if they are most, there is none.
    """
    plan, rng = Plan(**options), generator(seed)
    ways = [label_codes(labels, n) for labels in (clusters, crossed) if labels is not None]
    ways = ways or [label_codes(None, n)]
    if min(size for _, size in ways) < 2:
        return None
    draws = np.concatenate([statistic(_row_weights(ways, piece, rng)) for piece in pieces(plan.resamples, n)])
    observed = float(statistic(np.ones((1, n)))[0])
    if len(ways) > 1 or plan.method == "percentile":
        return percentile_interval(draws, min(size for _, size in ways), plan)
    return _interval(draws, observed, [_left_out_weighted(statistic, *ways[0])], plan)


def bootstrap_callable(
    statistic: Callable[[Integers], float],
    n: int,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Interval | None:
    """Return an interval for any statistic of row numbers, one call a resample: the slow, general way."""

    def by_weights(weights: Floats) -> Floats:
        rows = [np.repeat(np.arange(n), counts.astype(np.intp)) for counts in weights]
        return np.array([statistic(row) for row in rows])

    return bootstrap_weighted(by_weights, n, clusters=clusters, seed=seed, **options)


def resampled_means(
    values: ArrayLike, *, clusters: Labels | None = None, resamples: int = 2000, seed: Seed
) -> Floats:
    """Return the means of resampled columns (resamples x columns), the columns drawn together."""
    matrix = np.asarray(values, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    codes, n_clusters = label_codes(clusters, matrix.shape[0])
    sums = cluster_sums(matrix, codes, n_clusters)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)
    rng = generator(seed)

    def means(piece: slice) -> Floats:
        counts = draw_counts(n_clusters, piece.stop - piece.start, rng)
        answer: Floats = (counts @ sums) / (counts @ sizes)[:, None]
        return answer

    return in_pieces(means, resamples, n_clusters)


def interval_of(draws: ArrayLike, *, n_clusters: int, **options: Unpack[Options]) -> Interval | None:
    """Return the percentile interval of resampled values from `n_clusters` clusters."""
    return percentile_interval(np.asarray(draws, dtype=np.float64), n_clusters, Plan(**options))


def bootstrap_p_value(draws: ArrayLike, *, null: float = 0.0) -> float:
    """Return the two-sided p-value of resampled values against a null value, never 0."""
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    below, above = int((values <= null).sum()), int((values >= null).sum())
    return min(1.0, 2.0 * (1 + min(below, above)) / (1 + values.size))


def _interval(draws: Floats, observed: float, left_out: Sequence[Floats], plan: Plan) -> Interval | None:
    n_clusters = min(side.size for side in left_out)
    if plan.method == "percentile":
        return percentile_interval(draws, n_clusters, plan)
    return bca_interval(draws, observed, left_out, plan)


def draw_counts(n_clusters: int, resamples: int, rng: np.random.Generator) -> Floats:
    """Draw clusters with replacement: how often each came, resample by resample."""
    drawn = rng.integers(n_clusters, size=(resamples, n_clusters))
    drawn += (np.arange(resamples) * n_clusters)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * n_clusters)
    return counts.reshape(resamples, n_clusters).astype(np.float64)


def _row_weights(ways: Sequence[tuple[Integers, int]], piece: slice, rng: np.random.Generator) -> Floats:
    resamples = piece.stop - piece.start
    weights = np.ones((resamples, 1))
    for codes, n_clusters in ways:
        weights = weights * draw_counts(n_clusters, resamples, rng)[:, codes]
    return weights


def _cluster_totals(values: Floats, weights: Floats, clusters: Labels | None) -> Floats:
    """Return the weighted sum and the weight of every cluster."""
    codes, n_clusters = label_codes(clusters, values.size)
    return cluster_sums(np.column_stack([weights * values, weights]), codes, n_clusters)


def _resampled_ratio(totals: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    def means(piece: slice) -> Floats:
        both = draw_counts(len(totals), piece.stop - piece.start, rng) @ totals
        return _ratio(both[:, 0], both[:, 1])

    return in_pieces(means, resamples, len(totals))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, leaving nan where a resample caught no weight at all."""
    answer = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=answer, where=denominator > 0)
    return answer


def _mean(totals: Floats) -> float:
    return float(totals[:, 0].sum() / totals[:, 1].sum())


def _left_out(totals: Floats) -> Floats:
    """Return the mean without each cluster in turn (the jackknife)."""
    rest = totals.sum(axis=0) - totals
    return _ratio(rest[:, 0], rest[:, 1])


def _left_out_weighted(statistic: Statistic, codes: Integers, n_clusters: int) -> Floats:
    """Return the statistic without each cluster in turn; zeros, no acceleration, where they are many."""
    if n_clusters > _JACKKNIFE_LIMIT:
        return np.zeros(n_clusters)
    numbers = np.arange(n_clusters)

    def without(piece: slice) -> Floats:
        return statistic((numbers[piece, None] != codes).astype(np.float64))

    return in_pieces(without, n_clusters, min(codes.size, CELLS))
