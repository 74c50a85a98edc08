"""Spread and sample size in, the minimum detectable effect (MDE) out.

By the normal approximation: an effect of (z[1 - alpha / 2] + z[power]) standard errors is found with
that power by a two-sided test at alpha. A null result should always be read beside it.
"""

from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from assay.statistics._arrays import Labels, cluster_sums, label_codes, matched, vector
from assay.statistics.bootstrap import Interval


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
