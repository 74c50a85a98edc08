"""Correlations with people and their resamples in, intervals out: of one, of a difference, of an average.

A percentile interval of a rank correlation has no width where every resample orders texts as people do.
Intervals here lie around Fisher's z of the correlation, with the resampled standard error, but never less
than that of independent rows. Those of differences and averages are put together from them (Zou, 2007).
"""

from collections.abc import Sequence
from math import atanh, sqrt, tanh

import numpy as np
from scipy.special import stdtrit

from assay.statistics.correlation import Kind
from assay.statistics.estimates import proportion_interval
from assay.statistics.intervals import Floats, Interval, interval_of

_LEVEL = 0.95
_NO_WIDTH = 1e-9


def correlation_interval(
    value: float, draws: Floats, kind: Kind, *, n_clusters: int, n_rows: int | None, level: float = _LEVEL
) -> Interval | None:
    """Return the interval of a correlation from its resamples, which rest on `n_clusters` clusters.

    `n_rows` is how many rows were correlated; None where they are not a sample (the systems themselves, in a
    statement about these systems only). None below two clusters and where most resamples are undefined.
    """
    defined = draws[np.isfinite(draws)]
    if n_clusters < 2 or 2 * defined.size <= draws.size or not np.isfinite(value):
        return None
    most = _largest(kind, n_rows or n_clusters)
    middle = atanh(min(most, max(-most, value)))
    # A resample of few distinct rows is perfect by chance; beyond the largest value it is not told apart.
    most = max(_largest("spearman", n_rows or n_clusters), min(abs(value), most))
    error = float(np.arctanh(np.clip(defined, -most, most)).std(ddof=1)) * sqrt(n_clusters / (n_clusters - 1))
    if n_rows is not None:
        error = max(error, _independent_error(value, kind, n_rows))
    reach = float(stdtrit(n_clusters - 1, (1.0 + level) / 2.0)) * error
    return Interval(min(value, tanh(middle - reach)), max(value, tanh(middle + reach)), level)


def _largest(kind: Kind, n: int) -> float:
    """Return what a perfect correlation of n rows is taken for: half a step below 1, for ranks."""
    n = max(3, n)
    if kind == "pearson":
        return 1.0 - 1e-6
    return 1.0 - (6.0 / (n * (n * n - 1.0)) if kind == "spearman" else 2.0 / (n * (n - 1.0)))


def _independent_error(value: float, kind: Kind, n: int) -> float:
    """Return the standard error of Fisher's z for n independent rows.

    Fisher (1921) for Pearson, Bonett & Wright (2000) for Spearman, Fieller et al. (1957) for Kendall.
    """
    if kind == "pearson":
        return 1.0 / sqrt(max(1, n - 3))
    if kind == "spearman":
        return sqrt((1.0 + value**2 / 2.0) / max(1, n - 3))
    return sqrt(0.437 / max(1, n - 4))


def bounded_interval(
    value: float, draws: Floats, *, lowest: float, n_clusters: int, level: float = _LEVEL
) -> Interval | None:
    """Return the percentile interval of a mean of values from `lowest` to 1; Wilson's if it has no width."""
    if n_clusters < 2 or not np.isfinite(value):
        return None
    interval = interval_of(draws, n_clusters=n_clusters, level=level)
    if interval is None or interval.high - interval.low > _NO_WIDTH:
        return interval
    share = min(1.0, max(0.0, (value - lowest) / (1.0 - lowest)))
    wilson = proportion_interval(round(share * n_clusters), n_clusters, level=level)
    if wilson is None:
        return None
    low, high = (lowest + (1.0 - lowest) * end for end in wilson.pair)
    return Interval(min(low, value), max(high, value), level)


def difference_interval(
    values: tuple[float, float], intervals: tuple[Interval | None, Interval | None], correlation: float
) -> Interval | None:
    """Return the interval of first - second from the intervals of both and the correlation of the estimates.

    The lower end lies sqrt(a^2 + b^2 - 2 r a b) below the difference, a the reach of the first interval
    downwards and b that of the second upwards; the upper end likewise.

    >>> same = Interval(0.3, 0.7, 0.95)
    >>> difference_interval((0.5, 0.5), (same, same), 0.0).pair
    (-0.282842712474619, 0.282842712474619)
    """
    first, second = intervals
    if first is None or second is None:
        return None
    x, y = values
    below = _joined(x - first.low, second.high - y, correlation)
    above = _joined(first.high - x, y - second.low, correlation)
    return Interval(x - y - below, x - y + above, first.level)


def _joined(first: float, second: float, correlation: float) -> float:
    return sqrt(max(0.0, first**2 + second**2 - 2.0 * correlation * first * second))


def average_interval(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of independent estimates from their intervals.

    >>> average = average_interval([0.5, 0.9], [Interval(0.2, 0.7, 0.95), Interval(0.5, 1.0, 0.95)])
    >>> round(average.low, 3), round(average.high, 3)
    (0.45, 0.812)
    """
    mean = float(np.mean(values))
    pairs = list(zip(values, intervals, strict=True))
    below = sqrt(sum((value - interval.low) ** 2 for value, interval in pairs)) / len(pairs)
    above = sqrt(sum((interval.high - value) ** 2 for value, interval in pairs)) / len(pairs)
    return Interval(mean - below, mean + above, intervals[0].level)


def draws_correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of two estimates over their common resamples; 0 where either does not vary."""
    both = np.isfinite(first) & np.isfinite(second)
    x, y = first[both], second[both]
    if both.sum() < 2 or np.ptp(x) < _NO_WIDTH or np.ptp(y) < _NO_WIDTH:
        return 0.0
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
