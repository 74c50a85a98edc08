"""Ratings of several people in, their agreement out; None where agreement is undefined."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.correlation import correlate, system_means
from assay.statistics.intervals import Floats, Seed, generator, matched

Scale = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, scale: Scale = "nominal") -> float | None:
    """Return Krippendorff's alpha of raters x items, nan for missing; None where all ratings are equal.

    alpha = 1 - observed / expected disagreement, the squared distances of ratings of the same item over
    those of any two ratings.

    >>> krippendorff_alpha([[1.0, 2.0, 3.0, 1.0], [1.0, 2.0, 3.0, 2.0]]) > 0.6
    True
    """
    matrix = np.asarray(ratings, dtype=np.float64)
    present = np.isfinite(matrix)
    values = np.unique(matrix[present])
    counts = np.stack([(present & (matrix == value)).sum(axis=0) for value in values]).astype(np.float64).T
    counts = counts[counts.sum(axis=1) > 1] if values.size else counts  # an item rated once has no pair
    if values.size < 2 or len(counts) == 0:
        return None
    n_ratings = counts.sum(axis=1)
    pairs = counts / (n_ratings - 1)[:, None]
    coincidences = pairs.T @ counts - np.diag(pairs.sum(axis=0))
    totals = counts.sum(axis=0)
    distance = _distances(values, totals, scale)
    expected = float(totals @ distance @ totals / (totals.sum() - 1))
    return 1.0 - float((coincidences * distance).sum()) / expected if expected > 0 else None


def _distances(values: Floats, totals: Floats, scale: Scale) -> Floats:
    """Return the squared distances of rating values (Krippendorff, 2011)."""
    if scale == "nominal":
        return 1.0 - np.eye(values.size)
    # Ordinal: how many ratings were given from one value to the other, half of each end.
    places = values if scale == "interval" else np.cumsum(totals) - totals / 2.0
    return np.asarray(np.subtract.outer(places, places) ** 2, dtype=np.float64)


def cohen_kappa(
    first: ArrayLike, second: ArrayLike, *, weights: Literal["none", "linear", "quadratic"] = "none"
) -> float | None:
    """Return Cohen's kappa of two raters over the items that both rated.

    kappa = 1 - observed / chance disagreement. Weights go by the position of a rating among all that
    occur, as in scikit-learn. None without a shared item, and where both use one and the same rating
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
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    penalty = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    expected = float(table.sum(axis=1) @ penalty @ table.sum(axis=0))
    return 1.0 - float((table * penalty).sum()) / expected if expected > 0 else None


def split_half_kendall(ratings: ArrayLike, *, splits: int = 5, seed: Seed) -> float | None:
    """Return Kendall's tau-b of the item means of two random halves of the raters, averaged over splits.

    Ratings are raters x items, nan for missing (checklist sec. 4, after Liu et al., 2016). An odd rater
    goes to the second half. Splits without a correlation are left out; None where none is left, and below
    two raters.
    """
    matrix, rng = np.asarray(ratings, dtype=np.float64), generator(seed)
    if len(matrix) < 2:
        return None
    values = []
    for _ in range(splits):
        halves = np.split(rng.permutation(len(matrix)), [len(matrix) // 2])
        x, y = (system_means(matrix[half].T) for half in halves)
        both = np.isfinite(x) & np.isfinite(y)
        values.append(correlate(x[both], y[both], "kendall_b") if both.any() else None)
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None
