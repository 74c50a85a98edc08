"""Counts in, an interval for a share out.

A bootstrap of all-alike outcomes has width 0, as if 20 right of 20 proved perfection; this has not.
"""

from math import sqrt

from scipy.special import ndtri

from assay.statistics._intervals import Interval


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
