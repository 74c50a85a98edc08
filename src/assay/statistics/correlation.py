"""Scores and judgements in, correlations out: pooled, grouped by document, by system.

Where a correlation does not exist (a side is constant, or fewer than two rows) the answer is None;
in arrays of many correlations it is nan.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics._arrays import Floats, Integers, Labels, label_codes, matched, vector
from assay.statistics._rows import correlate_rows
from assay.statistics._weighted import Kind, weighted_correlation

__all__ = [
    "GroupedCorrelation",
    "Kind",
    "correlate",
    "correlate_columns",
    "correlate_many",
    "correlate_rows",
    "grouped_correlation",
    "grouped_correlations",
    "kendall",
    "pearson",
    "spearman",
    "system_correlation",
    "system_means",
    "top_systems",
]

# Comparing all pairs of a padded block of groups pays below this many rows a group.
_SMALL_GROUP = 200


@dataclass(frozen=True, slots=True, eq=False)
class GroupedCorrelation:
    """The mean of the groups' correlations; groups without one are counted, not taken as 0."""

    value: float | None
    n_groups: int
    n_undefined: int
    by_group: Floats


def correlate(x: ArrayLike, y: ArrayLike, kind: Kind) -> float | None:
    """Return a correlation of two vectors, or None where either is constant."""
    first, second = matched(x, y)
    value = float(weighted_correlation(first, second, kind)(np.ones((1, first.size)))[0])
    return None if np.isnan(value) else value


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Pearson's r.

    >>> pearson([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) is None
    True
    """
    return correlate(x, y, "pearson")


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Spearman's rho, ties sharing their average rank."""
    return correlate(x, y, "spearman")


def kendall(x: ArrayLike, y: ArrayLike, variant: Literal["b", "c"] = "b") -> float | None:
    """Return Kendall's tau-b, or Stuart's tau-c, in O(n log n)."""
    return correlate(x, y, "kendall_b" if variant == "b" else "kendall_c")


def correlate_many(metrics: ArrayLike, human: ArrayLike, kind: Kind) -> Floats:
    """Correlate every row of a matrix (metrics x items) with one vector; nan where undefined."""
    judged = vector(human, "human")
    values = [correlate(row, judged, kind) for row in np.asarray(metrics, dtype=np.float64)]
    return np.array(values, dtype=np.float64)


def correlate_columns(columns: ArrayLike, kind: Kind) -> Floats:
    """Correlate all columns (criteria) of a matrix with each other, over the rows both have."""
    matrix = np.asarray(columns, dtype=np.float64)
    size = matrix.shape[1]
    answer = np.full((size, size), np.nan)
    for i in range(size):
        for j in range(i, size):
            pair = matrix[:, [i, j]][np.isfinite(matrix[:, [i, j]]).all(axis=1)]
            value = correlate(pair[:, 0], pair[:, 1], kind) if len(pair) else None
            answer[i, j] = answer[j, i] = np.nan if value is None else value
    return answer


def grouped_correlation(x: ArrayLike, y: ArrayLike, groups: Labels, kind: Kind) -> GroupedCorrelation:
    """Correlate within each group (document) and average; groups that do not vary are left out."""
    by_group = grouped_correlations(np.asarray(x, dtype=np.float64)[None, :], y, groups, kind)[0]
    defined = by_group[np.isfinite(by_group)]
    value = float(defined.mean()) if defined.size else None
    return GroupedCorrelation(value, by_group.size, by_group.size - defined.size, by_group)


def grouped_correlations(metrics: ArrayLike, human: ArrayLike, groups: Labels, kind: Kind) -> Floats:
    """Correlate every metric with people within every group: (metrics x groups), nan where undefined.

    Groups come in order of first appearance. Missing scores (nan) leave their row out.
    """
    matrix, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), np.asarray(human, dtype=np.float64)
    codes, n_groups = label_codes(groups, judged.size)
    sizes = np.bincount(codes, minlength=n_groups)
    if sizes.max() > _SMALL_GROUP:
        members = [np.flatnonzero(codes == group) for group in range(n_groups)]
        return np.array([[_present(row[m], judged[m], kind) for m in members] for row in matrix])
    order = np.argsort(codes, kind="stable")
    place = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    human_block = _block(judged, codes, order, place, n_groups)
    blocks = (_block(row, codes, order, place, n_groups) for row in matrix)
    return np.stack([correlate_rows(block, human_block, kind) for block in blocks])


def _block(row: Floats, codes: Integers, order: Integers, place: Integers, n_groups: int) -> Floats:
    """Lay a vector out as groups x places, padded with nan."""
    block = np.full((n_groups, int(place.max()) + 1), np.nan)
    block[codes[order], place] = row[order]
    return block


def _present(x: Floats, y: Floats, kind: Kind) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    value = correlate(x[both], y[both], kind) if both.any() else None
    return np.nan if value is None else value


def system_means(scores: ArrayLike) -> Floats:
    """Average each system (row) over the documents it has; nan for a system without any."""
    matrix = np.asarray(scores, dtype=np.float64)
    present = np.isfinite(matrix)
    count = present.sum(axis=1)
    total = np.where(present, matrix, 0.0).sum(axis=1)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def system_correlation(metric: ArrayLike, human: ArrayLike, kind: Kind) -> float | None:
    """Correlate system means (systems x documents in, nan for missing); None below three systems."""
    first, second = system_means(metric), system_means(human)
    both = np.isfinite(first) & np.isfinite(second)
    return correlate(first[both], second[both], kind) if both.sum() >= 3 else None


def top_systems(metric: ArrayLike, human: ArrayLike, kind: Kind) -> dict[int, float | None]:
    """Return the correlation over the k best systems by people, k from all down to 3 (assoc fig. 1)."""
    first, second = system_means(metric), system_means(human)
    both = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    best = both[np.argsort(-second[both], kind="stable")]
    return {k: correlate(first[best[:k]], second[best[:k]], kind) for k in range(best.size, 2, -1)}
