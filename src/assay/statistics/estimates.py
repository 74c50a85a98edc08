"""Spread and sample size in, the minimum detectable effect (MDE) out.

By the normal approximation: an effect of (z[1 - alpha / 2] + z[power]) standard errors is found with
that power by a two-sided test at alpha. A null result should always be read beside it.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from assay.statistics.intervals import Floats, Interval, Labels, cluster_sums, label_codes, matched, vector


def standard_error(values: ArrayLike, *, clusters: Labels | None = None) -> float | None:
    """Return the standard error of a mean, robust to clusters (ddof 1 over clusters), None below two."""
    row = vector(values)
    codes, n_clusters = label_codes(clusters, row.size)
    if n_clusters < 2:
        return None
    residuals = cluster_sums(row - row.mean(), codes, n_clusters)
    return sqrt(n_clusters / (n_clusters - 1) * float((residuals**2).sum())) / row.size


def detectable_effect(error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true effect that a standard error lets us find.

    >>> round(detectable_effect(1.0), 3)
    2.802
    """
    return float(ndtri(1.0 - alpha / 2.0) + ndtri(power)) * error


def mde_mean(
    values: ArrayLike, *, clusters: Labels | None = None, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the MDE of a mean, or of a mean paired difference, from its observed spread."""
    error = standard_error(values, clusters=clusters)
    return None if error is None else detectable_effect(error, alpha=alpha, power=power)


def mde_paired(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Labels | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Return the MDE of the mean of first less second, row by row."""
    one, two = matched(first, second)
    return mde_mean(one - two, clusters=clusters, alpha=alpha, power=power)


def mde_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_clusters: Labels | None = None,
    second_clusters: Labels | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Return the MDE of the difference of two independent means."""
    one = standard_error(first, clusters=first_clusters)
    two = standard_error(second, clusters=second_clusters)
    if one is None or two is None:
        return None
    return detectable_effect(sqrt(one**2 + two**2), alpha=alpha, power=power)


def mde_proportion(n: int, *, share: float = 0.5, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the MDE of a share of n independent items around a null share."""
    return None if n < 1 else detectable_effect(sqrt(share * (1.0 - share) / n), alpha=alpha, power=power)


def mde_interval(interval: Interval | None, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the MDE behind an interval, its half-width read as z standard errors."""
    if interval is None:
        return None
    z = float(ndtri((1.0 + interval.level) / 2.0))
    return detectable_effect((interval.high - interval.low) / 2.0 / z, alpha=alpha, power=power)


def power_at(effect: float, error: float, *, alpha: float = 0.05) -> float:
    """Return the power of a two-sided test against a true effect."""
    if error <= 0.0:
        return alpha if effect == 0.0 else 1.0
    z = float(ndtri(1.0 - alpha / 2.0))
    return float(ndtr(effect / error - z) + ndtr(-effect / error - z))


def sample_size(effect: float, spread: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many independent items, of standard deviation `spread` (ddof 1), find an effect."""
    if effect == 0.0:
        raise ValueError("no sample is large enough to find an effect of 0")
    return max(2, ceil(float(np.square(detectable_effect(spread, alpha=alpha, power=power) / effect))))


Worse = Literal["above", "below", "either"]


def verdict(ci: Interval | tuple[float, float] | None, margin: float, worse: Worse = "above") -> bool | None:
    """Say False where the interval lies wholly beyond the margin, True where wholly within it.

    Otherwise, or without an interval, the answer is None: inconclusive. `worse` is the bad side of
    the margin; "either" means a size: beyond is below -margin or above +margin.

    >>> verdict((0.2, 0.9), 0.1), verdict((-0.5, 0.05), 0.1), verdict((0.0, 0.9), 0.1)
    (False, True, None)
    """
    if ci is None:
        return None
    low, high = (ci.low, ci.high) if isinstance(ci, Interval) else ci
    floor, ceiling = _bounds(margin, worse)
    if low > ceiling or high < floor:
        return False
    return True if floor <= low and high <= ceiling else None


def _bounds(margin: float, worse: Worse) -> tuple[float, float]:
    if worse == "above":
        return float("-inf"), margin
    if worse == "below":
        return margin, float("inf")
    return -abs(margin), abs(margin)


def proportion_interval(successes: int, n: int, *, level: float = 0.95) -> Interval | None:
    """Return Wilson's (1927) score interval for a share of n independent items; None for none.

    >>> interval = proportion_interval(20, 20)
    >>> round(interval.low, 3), interval.high
    (0.839, 1.0)
    """
    if n < 1:
        return None
    z = float(ndtri((1.0 + level) / 2.0))
    share, shrink = successes / n, 1.0 + z * z / n
    middle = (share + z * z / (2 * n)) / shrink
    half = z / shrink * sqrt(share * (1.0 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else middle - half
    return Interval(low, 1.0 if successes == n else middle + half, level)


def benjamini_hochberg(p_values: Sequence[float | None] | NDArray[np.float64]) -> Floats:
    """Return Benjamini & Hochberg's (1995) q-values of one family; a missing p stays nan, uncounted.

    >>> benjamini_hochberg([0.01, None, 0.03, 0.04]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    p = np.asarray(p_values, dtype=np.float64)
    q = np.full(p.shape, np.nan)
    present = np.flatnonzero(~np.isnan(p))
    if ((p[present] < 0) | (p[present] > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    order = present[np.argsort(p[present], kind="stable")]
    scaled = p[order] * order.size / np.arange(1, order.size + 1)
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q
