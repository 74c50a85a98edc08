"""Standard errors, minimum detectable effects, intervals of shares, q-values and verdicts.

The minimum detectable effect (MDE) follows from the normal approximation: a two-sided test at level alpha
finds a true effect of (z[1 - alpha / 2] + z[power]) standard errors with that power.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Literal

import numpy as np
import scipy  # scipy.stats takes 0.4 s to import, so it is loaded on first use
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from assay.statistics.intervals import Floats, Interval, Labels, cluster_sums, label_codes, vector

Worse = Literal["above", "below", "either"]


def standard_error(values: ArrayLike, *, clusters: Labels | None = None) -> float | None:
    """Return the standard error of a mean, robust to clusters (ddof 1); None below two clusters.

    With G clusters, n rows and e_g the sum of a cluster's deviations from the mean:
    sqrt(G / (G - 1) * sum(e_g ** 2)) / n.
    """
    row = vector(values)
    codes, n_clusters = label_codes(clusters, row.size)
    if n_clusters < 2:
        return None
    residuals = cluster_sums(row - row.mean(), codes, n_clusters)
    return sqrt(n_clusters / (n_clusters - 1) * float((residuals**2).sum())) / row.size


def detectable_effect(error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true effect that a test with this standard error finds with this power.

    >>> round(detectable_effect(1.0), 3)
    2.802
    """
    return float(ndtri(1.0 - alpha / 2.0) + ndtri(power)) * error


def mde_mean(
    values: ArrayLike, *, clusters: Labels | None = None, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the MDE of a mean, or of a mean paired difference; None below two clusters."""
    error = standard_error(values, clusters=clusters)
    return None if error is None else detectable_effect(error, alpha=alpha, power=power)


def mde_proportion(n: int, *, share: float = 0.5, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the MDE of a share of n independent items around a null share; None without items."""
    return None if n < 1 else detectable_effect(sqrt(share * (1.0 - share) / n), alpha=alpha, power=power)


def mde_interval(interval: Interval | None, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the MDE behind an interval, taking its half-width as z standard errors; None for None."""
    if interval is None:
        return None
    z = float(ndtri((1.0 + interval.level) / 2.0))
    return detectable_effect((interval.high - interval.low) / 2.0 / z, alpha=alpha, power=power)


def proportion_interval(successes: int, n: int, *, level: float = 0.95) -> Interval | None:
    """Return Wilson's (1927) score interval for a share of n independent items; None without items.

    >>> interval = proportion_interval(20, 20)
    >>> round(interval.low, 3), interval.high
    (0.839, 1.0)
    """
    if n < 1:
        return None
    ends = scipy.stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return Interval(float(ends.low), float(ends.high), level)


def benjamini_hochberg(p_values: Sequence[float | None] | NDArray[np.float64]) -> Floats:
    """Return the q-values of one family of tests (Benjamini & Hochberg, 1995).

    A missing p-value (None or nan) gets nan and does not count as a test.

    >>> benjamini_hochberg([0.01, None, 0.03, 0.04]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    q_values = np.array(p_values, dtype=np.float64)
    present = ~np.isnan(q_values)
    if present.any():
        q_values[present] = scipy.stats.false_discovery_control(q_values[present])
    return q_values


def verdict(ci: Interval | tuple[float, float] | None, margin: float, worse: Worse = "above") -> bool | None:
    """Return False where the whole interval lies beyond the margin, True where it lies within.

    Otherwise, and without an interval, None: inconclusive. `worse` is the bad side of the margin; "either"
    means a size: beyond is below -margin or above +margin.

    >>> verdict((0.2, 0.9), 0.1), verdict((-0.5, 0.05), 0.1), verdict((0.0, 0.9), 0.1)
    (False, True, None)
    """
    if ci is None:
        return None
    low, high = (ci.low, ci.high) if isinstance(ci, Interval) else ci
    floor = {"above": float("-inf"), "below": margin, "either": -abs(margin)}[worse]
    ceiling = {"above": margin, "below": float("inf"), "either": abs(margin)}[worse]
    if low > ceiling or high < floor:
        return False
    return True if floor <= low and high <= ceiling else None
