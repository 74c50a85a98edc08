"""Standard errors, intervals of shares and q-values."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from assay.statistics.intervals import Floats, Interval, Labels, cluster_sums, label_codes, vector


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


def smallest_p(n: int) -> float:
    """Return the smallest two-sided p-value that n independent units allow: both of their extreme signs.

    No resampling of two items can be surer than the 2 of 4 patterns of signs that look like them.

    >>> smallest_p(2), smallest_p(10)
    (0.5, 0.001953125)
    """
    return min(1.0, 2.0 ** (1 - n)) if n > 0 else 1.0


def share_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return Wilson's (1927) score interval for a share of n independent items; it never has width 0.

    >>> interval = share_interval(1.0, 20)
    >>> round(interval.low, 3), interval.high
    (0.839, 1.0)
    """
    z = float(ndtri(0.5 + 0.5 * level))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Interval(min(max(0.0, centre - reach), share), max(min(1.0, centre + reach), share), level)


def benjamini_hochberg(p_values: Sequence[float | None] | NDArray[np.float64]) -> Floats:
    """Return the q-values of one family of tests (Benjamini & Hochberg, 1995).

    A missing p-value (None or nan) gets nan and does not count as a test.

    >>> benjamini_hochberg([0.01, None, 0.03, 0.04]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    q_values = np.array(p_values, dtype=np.float64)
    if ((q_values < 0) | (q_values > 1)).any():
        raise ValueError(f"p-values lie between 0 and 1, not {np.nanmin(q_values)} to {np.nanmax(q_values)}")
    order = np.argsort(q_values)[: int(np.isfinite(q_values).sum())]  # the missing come last
    adjusted = q_values[order] * (len(order) / np.arange(1.0, len(order) + 1.0))
    q_values[order] = np.minimum.accumulate(adjusted[::-1])[::-1].clip(0.0, 1.0)
    return q_values
