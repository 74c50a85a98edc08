"""Bootstrap intervals to estimates, and cases to evidence: what the fairness audits share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from assay.audits.slices import EVIDENCE
from assay.core import Estimate, Floats
from assay.statistics.estimates import mde_interval
from assay.statistics.intervals import Interval, bootstrap_mean


def interval_estimate(
    value: float, n: int, interval: Interval | None, *, p_value: float | None = None, with_mde: bool = False
) -> Estimate:
    """A value with its interval (None where too little could be resampled) and, if asked for, its MDE."""
    ci = interval.pair if interval else None
    return Estimate(float(value), n, ci, p_value, mde_interval(interval) if with_mde else None)


def mean_estimate(
    values: Floats, *, clusters: Sequence[Hashable] | None = None, seed: int, with_mde: bool = False
) -> Estimate:
    """A mean with its bootstrap interval; rows of one cluster are resampled together."""
    interval = bootstrap_mean(values, clusters=clusters, seed=seed)
    return interval_estimate(values.mean(), values.size, interval, with_mde=with_mde)


def largest(ids: Sequence[str], sizes: Floats) -> tuple[str, ...]:
    """The cases with the largest sizes above 0, largest first."""
    order = np.argsort(-sizes, kind="stable")[:EVIDENCE]
    return tuple(ids[place] for place in order if sizes[place] > 0)
