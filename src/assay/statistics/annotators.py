"""Ratings of several people in, their agreement out. None where agreement is undefined."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.correlation import correlate
from assay.statistics.intervals import Floats, Seed, generator, matched

Scale = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class IntraclassCorrelation:
    """Shrout & Fleiss (1979): ICC(1,1), and ICC(2,1) and ICC(2,k) with raters as a random sample."""

    one_way: float
    two_way: float
    two_way_average: float


def krippendorff_alpha(ratings: ArrayLike, scale: Scale = "nominal") -> float | None:
    """Return Krippendorff's alpha of raters x items, nan for missing; None where all ratings are equal.

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


def cohen_kappa(
    first: ArrayLike, second: ArrayLike, *, weights: Literal["none", "linear", "quadratic"] = "none"
) -> float | None:
    """Return Cohen's kappa of two raters over the items both rated.

    Weights go by the position of a rating among all that occur, as in scikit-learn. None where both
    use one and the same rating throughout: chance agreement is then complete.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    both = np.isfinite(one) & np.isfinite(two)
    if not both.any():
        return None
    one, two = matched(one[both], two[both])
    values, codes = np.unique(np.concatenate([one, two]), return_inverse=True)
    k, n = values.size, one.size
    table = np.bincount(codes[:n] * k + codes[n:], minlength=k * k).reshape(k, k) / n
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    penalty = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    expected = float(table.sum(axis=1) @ penalty @ table.sum(axis=0))
    return 1.0 - float((table * penalty).sum()) / expected if expected > 0 else None


def split_half_kendall(ratings: ArrayLike, *, splits: int = 5, seed: Seed) -> float | None:
    """Return Kendall's tau-b of the means of two random halves of the raters, averaged over splits.

    Raters x items, nan for missing (checklist sec. 4, after Liu et al., 2016). An odd rater goes to
    the second half. Splits without a correlation are left out.
    """
    matrix, rng = np.asarray(ratings, dtype=np.float64), generator(seed)
    if len(matrix) < 2:
        return None
    values = []
    for _ in range(splits):
        order = rng.permutation(len(matrix))
        one, two = (_item_means(matrix[half]) for half in np.split(order, [len(matrix) // 2]))
        both = np.isfinite(one) & np.isfinite(two)
        values.append(correlate(one[both], two[both], "kendall_b") if both.any() else None)
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def intraclass_correlation(ratings: ArrayLike) -> IntraclassCorrelation | None:
    """Return intraclass correlations of raters x items, complete; None where nothing varies."""
    matrix = np.asarray(ratings, dtype=np.float64).T
    n, k = matrix.shape
    if n < 2 or k < 2 or np.ptp(matrix) == 0:
        return None
    if not np.isfinite(matrix).all():
        raise ValueError("intraclass correlation needs complete ratings; drop items with missing ones")
    grand, rows, columns = matrix.mean(), matrix.mean(axis=1), matrix.mean(axis=0)
    between = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    within = float(((matrix - rows[:, None]) ** 2).sum()) / (n * (k - 1))
    residual = float(((matrix - rows[:, None] - columns + grand) ** 2).sum()) / ((n - 1) * (k - 1))
    two_way = between + (k - 1) * residual + k * (raters - residual) / n
    average = between + (raters - residual) / n
    return IntraclassCorrelation(
        (between - within) / (between + (k - 1) * within),
        (between - residual) / two_way if two_way else 0.0,
        (between - residual) / average if average else 0.0,
    )


def _distances(values: Floats, totals: Floats, scale: Scale) -> Floats:
    """Return squared distances of ratings (Krippendorff, 2011)."""
    if scale == "nominal":
        return 1.0 - np.eye(values.size)
    if scale == "interval":
        return np.asarray(np.subtract.outer(values, values) ** 2, dtype=np.float64)
    # Ordinal: the ratings given from one value to the other, half of each end.
    middle = np.cumsum(totals) - totals / 2.0
    return np.asarray(np.subtract.outer(middle, middle) ** 2, dtype=np.float64)


def _item_means(ratings: Floats) -> Floats:
    """Average raters over each item; nan where none rated it."""
    present = np.isfinite(ratings)
    count = present.sum(axis=0)
    total = np.where(present, ratings, 0.0).sum(axis=0)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means
