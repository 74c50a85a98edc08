"""Prediction-powered inference: few labels and many metric scores in, a mean judgement out.

The metric's mean over all items, corrected by its mean error on the labelled ones (Angelopoulos et
al., 2023). The share of the metric that is used, lambda, is the one of least variance (PPI++, 2023):
0 gives back the labels' own mean, so a useless metric does no harm.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.statistics.estimates import standard_error
from assay.statistics.intervals import Floats, Interval, Labels, matched, vector


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """The corrected mean beside the mean of the labels alone, and how many labels it is worth."""

    value: float
    interval: Interval
    power: float
    labels_alone: float
    labels_interval: Interval
    effective_labels: float


def prediction_powered_mean(
    labels: ArrayLike,
    labelled_scores: ArrayLike,
    unlabelled_scores: ArrayLike,
    *,
    power: float | None = None,
    clusters: Labels | None = None,
    unlabelled_clusters: Labels | None = None,
    level: float = 0.95,
) -> PredictionPowered | None:
    """Estimate the mean judgement from labelled items and from scores of items without a label.

    `power` is lambda: None tunes it, 1 is plain PPI, 0 the classical mean. Variances have ddof 1,
    over clusters where given. None below two labels or two scores.
    """
    judged, scored = matched(labels, labelled_scores)
    rest = vector(unlabelled_scores, "unlabelled_scores")
    share = _tuned_power(judged, scored, rest) if power is None else power
    rectifier = judged - share * scored
    own, rectified = (standard_error(side, clusters=clusters) for side in (judged, rectifier))
    unlabelled = standard_error(rest, clusters=unlabelled_clusters)
    if own is None or rectified is None or unlabelled is None:
        return None
    error = sqrt(rectified**2 + (share * unlabelled) ** 2)
    value, alone = share * float(rest.mean()) + float(rectifier.mean()), float(judged.mean())
    worth = judged.size * (own / error) ** 2 if error > 0 else float(judged.size)
    return PredictionPowered(
        value, _normal(value, error, level), share, alone, _normal(alone, own, level), worth
    )


def _tuned_power(judged: Floats, scored: Floats, rest: Floats) -> float:
    """Return the lambda of least variance for a mean (PPI++, example 6.1)."""
    variance = float(np.concatenate([scored, rest]).var(ddof=1))
    if judged.size < 2 or variance == 0.0:
        return 0.0
    covariance = float(np.cov(judged, scored, ddof=1)[0, 1])
    return covariance / ((1.0 + judged.size / rest.size) * variance)


def _normal(value: float, error: float, level: float) -> Interval:
    half = float(ndtri((1.0 + level) / 2.0)) * error
    return Interval(value - half, value + half, level)
