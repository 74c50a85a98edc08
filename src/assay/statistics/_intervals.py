"""Resampled values in, an interval out: percentile and BCa, with a correction for few clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypedDict

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from assay.statistics._arrays import Floats


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
