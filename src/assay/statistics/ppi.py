"""Prediction-powered inference: few labels and many metric scores in, the mean judgement out.

The metric's mean over the unlabelled items is corrected by its mean error on the labelled ones (Angelopoulos
et al., 2023). The weight of the metric, lambda, is the one of least variance (PPI++, 2023); 0 gives the
mean of the labels, so a useless metric does no harm.
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
    """The corrected mean, the mean of the labels alone, and how many labels the corrected mean is worth."""

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
    """Estimate the mean judgement from labelled items and from the scores of items without a label.

    The estimate is mean(labels - lambda * labelled_scores) + lambda * mean(unlabelled_scores), with a normal
    interval from the standard errors of the two means (over clusters where given). `power` is lambda: None
    tunes it, 1 is plain PPI, 0 the mean of the labels. None below two labels or two scores.
    """
    judged, scored = matched(labels, labelled_scores)
    rest = vector(unlabelled_scores, "unlabelled_scores")
    weight = _tuned_power(judged, scored, rest) if power is None else power
    rectifier = judged - weight * scored
    labels_error, rectified = (standard_error(side, clusters=clusters) for side in (judged, rectifier))
    unlabelled = standard_error(rest, clusters=unlabelled_clusters)
    if labels_error is None or rectified is None or unlabelled is None:
        return None
    error = sqrt(rectified**2 + (weight * unlabelled) ** 2)
    z = float(ndtri((1.0 + level) / 2.0))
    value, alone = weight * float(rest.mean()) + float(rectifier.mean()), float(judged.mean())
    return PredictionPowered(
        value,
        Interval(value - z * error, value + z * error, level),
        weight,
        alone,
        Interval(alone - z * labels_error, alone + z * labels_error, level),
        judged.size * (labels_error / error) ** 2 if error > 0 else float(judged.size),
    )


def _tuned_power(judged: Floats, scored: Floats, rest: Floats) -> float:
    """Return the lambda of least variance for a mean (PPI++, example 6.1)."""
    variance = float(np.concatenate([scored, rest]).var(ddof=1))
    if judged.size < 2 or variance == 0.0:
        return 0.0
    covariance = float(np.cov(judged, scored, ddof=1)[0, 1])
    return covariance / ((1.0 + judged.size / rest.size) * variance)
