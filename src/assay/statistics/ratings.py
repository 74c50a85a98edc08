"""People's ratings: agreement of annotators, Bradley-Terry strengths, prediction-powered means."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from assay.statistics.correlation import correlate_present, system_means
from assay.statistics.estimates import standard_error
from assay.statistics.intervals import Floats, Interval, Labels, Seed, label_codes, matched, vector

_STEPS = 50  # of a scale, as many as people tell apart
_LEVEL = 0.95


def krippendorff_alpha(ratings: ArrayLike) -> float | None:
    """Return Krippendorff's ordinal alpha of raters x items, nan for missing; None where it is undefined.

    alpha = 1 - observed / expected disagreement, the squared distances of ratings of the same item over
    those of any two ratings. The distance of two ratings is how many were given from one to the other, half
    of each end; for a scale with more steps than people tell apart it is their difference (interval alpha).

    >>> krippendorff_alpha([[1.0, 2.0, 3.0, 1.0], [1.0, 2.0, 3.0, 2.0]]) > 0.6
    True
    """
    matrix = np.asarray(ratings, dtype=np.float64)
    matrix = matrix[:, np.isfinite(matrix).sum(axis=0) > 1]  # an item rated once has no pair
    present = np.isfinite(matrix)
    values, codes, totals = np.unique(matrix[present], return_inverse=True, return_counts=True)
    if values.size < 2:
        return None
    if values.size <= _STEPS:
        matrix[present] = (np.cumsum(totals) - totals / 2.0)[codes]
    counts, pooled = present.sum(axis=0), matrix[present]
    # Squared differences of all pairs are twice the number of ratings times their squares about the mean.
    within = np.nansum((matrix - np.nanmean(matrix, axis=0)) ** 2, axis=0)
    expected = float(((pooled - pooled.mean()) ** 2).sum()) / (pooled.size - 1)
    return 1.0 - float((counts * within / (counts - 1)).sum()) / pooled.size / expected


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Cohen's quadratically weighted kappa of two raters over the items that both rated.

    kappa = 1 - observed / chance disagreement, squared distances of the positions of two ratings among all
    that occur, as in scikit-learn. None without a shared item, and where both use one and the same rating
    throughout: chance agreement is then complete.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        return None
    x, y = matched(x[both], y[both])
    values, codes = np.unique(np.concatenate([x, y]), return_inverse=True)
    k, n = values.size, x.size
    table = np.bincount(codes[:n] * k + codes[n:], minlength=k * k).reshape(k, k) / n
    penalty = np.subtract.outer(np.arange(k), np.arange(k)).astype(np.float64) ** 2
    expected = float(table.sum(axis=1) @ penalty @ table.sum(axis=0))
    return 1.0 - float((table * penalty).sum()) / expected if expected > 0 else None


def split_half_kendall(ratings: ArrayLike, *, splits: int = 5, seed: Seed) -> float | None:
    """Return Kendall's tau-b of the item means of two random halves of the raters, averaged over splits.

    Ratings are raters x items, nan for missing (checklist sec. 4, after Liu et al., 2016). An odd rater
    goes to the second half. Splits without a correlation are left out; None where none is left, and below
    two raters.
    """
    matrix, rng = np.asarray(ratings, dtype=np.float64), np.random.default_rng(seed)
    if len(matrix) < 2:
        return None
    values = []
    for _ in range(splits):
        halves = np.split(rng.permutation(len(matrix)), [len(matrix) // 2])
        x, y = (system_means(matrix[half].T) for half in halves)
        values.append(correlate_present(x, y, "kendall_b"))
    defined = [value for value in values if np.isfinite(value)]
    return float(np.mean(defined)) if defined else None


_ROUNDS = 2000
_PRECISION = 1e-9  # the largest change of a log strength at which the fit has converged
_SMALLEST = 1e-300


def bradley_terry(wins: ArrayLike, *, prior: float = 0.0) -> Floats:
    """Return log strengths, of mean 0, from a matrix of wins (row beat column; a tie is half to each).

    Under the model i beats j with probability s_i / (s_i + s_j); the strengths s maximise the likelihood.
    `prior` adds that many wins to both sides of every pair. Without it, everyone must be reachable from
    everyone through wins, else some strength is infinite, which raises ValueError.
    """
    from scipy.sparse.csgraph import connected_components

    matrix = np.asarray(wins, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix < 0).any():
        raise ValueError("wins must be a square matrix of counts")
    pairs = 1.0 - np.eye(len(matrix))
    padded = matrix * pairs + prior * pairs
    if connected_components(padded > 0, directed=True, connection="strong")[0] > 1:
        raise ValueError(
            "some contestants never lose to the others, or never beat them; set a prior, say 0.1"
        )
    # Hunter's (2004) MM algorithm: s_i = wins_i / sum over j of games_ij / (s_i + s_j).
    games, won = padded + padded.T, padded.sum(axis=1)
    strength = np.ones_like(won)
    for _ in range(_ROUNDS):
        rate = (games / (strength[:, None] + strength)).sum(axis=1)
        updated = won / np.maximum(rate, _SMALLEST)
        updated /= np.exp(np.log(np.maximum(updated, _SMALLEST)).mean())
        ratio = np.maximum(updated, _SMALLEST) / np.maximum(strength, _SMALLEST)
        strength = updated
        if float(np.abs(np.log(ratio)).max()) < _PRECISION:
            break
    logs: Floats = np.log(np.maximum(strength, _SMALLEST))
    logs -= logs.mean()
    return logs


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """The corrected mean, its interval, and how many labels it is worth."""

    value: float
    interval: Interval
    effective_labels: float


def prediction_powered_mean(
    labels: ArrayLike,
    labelled_scores: ArrayLike,
    unlabelled_scores: ArrayLike,
    *,
    clusters: Labels | None = None,
    unlabelled_clusters: Labels | None = None,
) -> PredictionPowered | None:
    """Estimate the mean judgement from labelled items and from the scores of items without a label.

    The estimate is mean(labels - lambda * labelled_scores) + lambda * mean(unlabelled_scores), with a t
    interval from the standard errors of the two means (over clusters where given). None below two labels or
    two scores.
    """
    judged, scored = matched(labels, labelled_scores)
    rest = vector(unlabelled_scores, "unlabelled_scores")
    weight = _tuned_power(judged, scored, rest)
    rectifier = judged - weight * scored
    labels_error, rectified = (standard_error(side, clusters=clusters) for side in (judged, rectifier))
    unlabelled = standard_error(rest, clusters=unlabelled_clusters)
    if labels_error is None or rectified is None or unlabelled is None:
        return None
    error = sqrt(rectified**2 + (weight * unlabelled) ** 2)
    # The labels estimate their mean, their spread and lambda.
    n_labels = min(label_codes(clusters, judged.size)[1], label_codes(unlabelled_clusters, rest.size)[1])
    reach = float(stdtrit(max(1, n_labels - 2), (1.0 + _LEVEL) / 2.0)) * error
    value = weight * float(rest.mean()) + float(rectifier.mean())
    effective = judged.size * (labels_error / error) ** 2 if error > 0 else float(judged.size)
    return PredictionPowered(value, Interval(value - reach, value + reach, _LEVEL), effective)


def _tuned_power(judged: Floats, scored: Floats, rest: Floats) -> float:
    """Return the lambda of least variance for a mean (PPI++, example 6.1).

    It is not clipped to 0 to 1 as in ppi_py, whose scores are predictions on the scale of the labels. A
    metric has a scale of its own: on 0 to 1 against ratings of 1 to 5 it needs a lambda above 1, and where
    lower is better one below 0. Clipped, the estimate would depend on the unit of the metric.
    """
    variance = float(np.concatenate([scored, rest]).var(ddof=1))
    if judged.size < 2 or variance == 0.0:
        return 0.0
    covariance = float(np.cov(judged, scored, ddof=1)[0, 1])
    return covariance / ((1.0 + judged.size / rest.size) * variance)
