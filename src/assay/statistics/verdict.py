"""An interval and a margin in, a verdict out (DESIGN 8)."""

from typing import Literal

from assay.statistics.bootstrap import Interval

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
