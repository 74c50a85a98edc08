"""Two variables in, correlations out: of vectors, of many rows at once, within groups, and under weights.

Weights are how often each row was drawn (resamples x n); they give the correlation of a resample.
`weighted_correlation` works out the order of one pair of vectors once; a resample then costs O(n) (Pearson,
Spearman) or a row of one product with all pairs of rows (Kendall; O(n log n) where rows are many).
`correlate_rows` compares all pairs within each of many short rows.

Somers' d asks only about the pairs that y tells apart: concordant less discordant pairs of x, over those. It
is 0 where x is constant. All others are undefined (nan) where either side is.
"""

from typing import Literal

import numpy as np
import scipy  # scipy.stats takes 0.4 s to import, so it is loaded on first use
from numpy.typing import ArrayLike

from assay.statistics.intervals import (
    Floats,
    Integers,
    Labels,
    Resampled,
    in_pieces,
    label_codes,
    matched,
    ratio,
)

Coefficient = Literal["pearson", "spearman", "kendall_b", "kendall_c", "somers_d"]

# A variance below this share of the whole data's is rounding, not variation.
_FLAT = 1e-13
# Comparing all pairs of a padded block of groups is faster below this many rows per group.
_SMALL_GROUP = 200
# A table of all pairs of rows serves all resamples; above so many rows each resample is sorted by itself.
_ALL_PAIRS = 3000


def correlate(x: ArrayLike, y: ArrayLike, kind: Coefficient) -> float | None:
    """Return a correlation of two vectors, or None where it is undefined.

    >>> correlate([1.0, 2.0, 3.0], [5.0, 5.0, 5.0], "pearson") is None
    True
    """
    first, second = matched(x, y)
    value = float(weighted_correlation(first, second, kind)(np.ones((1, first.size)))[0])
    return None if np.isnan(value) else value


def weighted_correlation(x: Floats, y: Floats, kind: Coefficient) -> Resampled:
    """Return the function from weights (resamples x n) to one correlation per resample."""
    if np.ptp(y) == 0 or (np.ptp(x) == 0 and kind != "somers_d"):
        return lambda weights: np.full(len(weights), np.nan)
    if kind == "pearson":
        return _weighted_pearson(x, y)
    if kind == "spearman":
        return _weighted_spearman(x, y)

    return _weighted_kendall(x, y, kind)


def correlate_rows(
    x: ArrayLike, y: ArrayLike, kind: Coefficient, *, weights: ArrayLike | None = None
) -> Floats:
    """Return one correlation per row; cells that are missing (nan) in x or y are left out.

    >>> correlate_rows([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], [[2.0, 4.0, 9.0], [1.0, 2.0, 3.0]], "spearman")
    array([ 1., nan])
    """
    first, second = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    present = np.isfinite(first) & np.isfinite(second)
    weight = present * (1.0 if weights is None else np.asarray(weights, dtype=np.float64))
    first, second = np.where(present, first, 0.0), np.where(present, second, 0.0)
    width = first.shape[1] if kind == "pearson" else first.shape[1] ** 2

    def correlations(piece: slice) -> Floats:
        a, b, w = first[piece], second[piece], weight[piece]
        if kind == "pearson":
            return _row_pearson(_standard(a, w), _standard(b, w), w)
        if kind == "spearman":
            return _row_pearson(_standard(_row_ranks(a, w), w), _standard(_row_ranks(b, w), w), w)
        return _row_kendall(a, b, w, kind)

    return in_pieces(correlations, len(first), 4 * width) if first.size else np.full(len(first), np.nan)


def grouped_correlations(metrics: ArrayLike, human: ArrayLike, groups: Labels, kind: Coefficient) -> Floats:
    """Correlate every metric with people within every group (document): metrics x groups.

    Groups come in order of first appearance. Missing scores (nan) leave their row out.
    """
    matrix, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), np.asarray(human, dtype=np.float64)
    codes, n_groups = label_codes(groups, judged.size)
    sizes = np.bincount(codes, minlength=n_groups)
    if sizes.max() > _SMALL_GROUP:
        members = [np.flatnonzero(codes == group) for group in range(n_groups)]
        return np.array([[correlate_present(row[m], judged[m], kind) for m in members] for row in matrix])
    order = np.argsort(codes, kind="stable")
    place = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)

    def block(row: Floats) -> Floats:
        """Lay a vector out as groups x places, padded with nan."""
        padded = np.full((n_groups, int(sizes.max())), np.nan)
        padded[codes[order], place] = row[order]
        return padded

    human_block = block(judged)
    return np.stack([correlate_rows(block(row), human_block, kind) for row in matrix])


def correlate_present(x: Floats, y: Floats, kind: Coefficient) -> float:
    """Correlate the rows that are present in both vectors; nan where undefined."""
    both = np.isfinite(x) & np.isfinite(y)
    value = correlate(x[both], y[both], kind) if both.any() else None
    return np.nan if value is None else value


def system_means(scores: ArrayLike) -> Floats:
    """Average each system (row) over the documents it has; nan for a system without any."""
    matrix = np.asarray(scores, dtype=np.float64)
    present = np.isfinite(matrix)
    return ratio(np.where(present, matrix, 0.0).sum(axis=1), present.sum(axis=1).astype(np.float64))


def weighted_system_means(scores: Floats, documents: Floats) -> Floats:
    """Return resamples x systems: means under document weights (resamples x documents); nan where undrawn."""
    present = np.isfinite(scores)
    return ratio(documents @ np.where(present, scores, 0.0).T, documents @ present.T.astype(np.float64))


def _root_ratio(numerator: Floats, first: Floats, second: Floats, flat: float = 0.0) -> Floats:
    """Return numerator / sqrt(first * second), clipped to [-1, 1]; nan where a factor is at most `flat`."""
    defined = (first > flat) & (second > flat)
    product = np.where(defined, first, 1.0) * np.where(defined, second, 1.0)
    return np.where(defined, np.clip(numerator / np.sqrt(product), -1.0, 1.0), np.nan)


def _weighted_pearson(x: Floats, y: Floats) -> Resampled:
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    columns = np.column_stack([np.ones(a.size), a, b, a * a, b * b, a * b])

    def correlation(weights: Floats) -> Floats:
        total, sa, sb, saa, sbb, sab = (weights @ columns).T
        total = np.maximum(total, 1.0)
        return _root_ratio(
            sab - sa * sb / total, saa - sa * sa / total, sbb - sb * sb / total, _FLAT * a.size
        )

    return correlation


def _weighted_spearman(x: Floats, y: Floats) -> Resampled:
    members = [_equal_values(side) for side in (x, y)]

    def ranks(weights: Floats, order: Integers, starts: Integers, run: Integers) -> Floats:
        totals = _sums(weights, order, starts)
        middle: Floats = np.cumsum(totals, axis=1) - (totals - 1.0) / 2.0
        return middle[:, run]

    def correlation(weights: Floats) -> Floats:
        total = np.maximum(weights.sum(axis=1), 1.0)[:, None]
        both = (ranks(weights, *member) for member in members)
        a, b = (rank - np.einsum("ij,ij->i", rank, weights)[:, None] / total for rank in both)
        return _row_pearson(a, b, weights, flat=1e-9)

    return correlation


def _weighted_kendall(x: Floats, y: Floats, kind: Coefficient) -> Resampled:
    if x.size > _ALL_PAIRS:
        return lambda weights: np.array([_repeated_kendall(x, y, row, kind) for row in weights])
    # Signs are -1, 0 or 1 and draws small integers: single precision adds them without rounding.
    signs = [np.sign(np.subtract.outer(side, side)).astype(np.float32) for side in (x, y)]
    concordance, members = signs[0] * signs[1], [_equal_values(side) for side in (x, y)]

    def correlation(weights: Floats) -> Floats:
        surplus = np.einsum("ij,ij->i", weights.astype(np.float32) @ concordance, weights) / 2.0
        alike = [_sums(weights, *member[:2]) for member in members]
        pairs = weights.sum(axis=1) ** 2
        if kind != "kendall_c":
            untied = [(pairs - np.einsum("ij,ij->i", sums, sums)) / 2.0 for sums in alike]
            return _root_ratio(surplus, *untied) if kind == "kendall_b" else ratio(surplus, untied[1])
        # Stuart's tau-c, 2 (concordant - discordant) m / (n^2 (m - 1)), m the fewer distinct values.
        m = np.minimum(*((sums > 0).sum(axis=1) for sums in alike))
        return np.where(m > 1, 2.0 * surplus * m / np.maximum(pairs * (m - 1.0), 1.0), np.nan)

    return correlation


def _repeated_kendall(x: Floats, y: Floats, counts: Floats, kind: Coefficient) -> float:
    drawn = [np.repeat(side, counts.astype(np.intp)) for side in (x, y)]
    is_flat = [np.ptp(side) == 0 for side in drawn]
    if any(is_flat):
        return 0.0 if kind == "somers_d" and not is_flat[1] else np.nan
    variant = "c" if kind == "kendall_c" else "b"
    tau = float(scipy.stats.kendalltau(*drawn, variant=variant).statistic)
    if kind != "somers_d":
        return tau
    untied_x, untied_y = map(_untied_pairs, drawn)
    return tau * float(np.sqrt(untied_x / untied_y))


def _untied_pairs(values: Floats) -> float:
    """How many pairs of entries differ."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float(values.size**2 - (counts**2).sum()) / 2.0


def _equal_values(side: Floats) -> tuple[Integers, Integers, Integers]:
    """The order of a vector, where in it each run of equal values begins, and the run of each value."""
    run = np.unique(side, return_inverse=True)[1]
    order = np.argsort(run, kind="stable")
    return order, np.flatnonzero(np.diff(run[order], prepend=-1)), run


def average_ranks(values: ArrayLike) -> Floats:
    """Rank a vector from 1; equal values share the mean of their ranks.

    >>> average_ranks([3.0, 1.0, 3.0]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, run, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2.0)[run]
    return ranks


def _sums(weights: Floats, order: Integers, starts: Integers) -> Floats:
    """The weight of every run of equal values."""
    return np.asarray(np.add.reduceat(weights[:, order], starts, axis=1))


def _row_pearson(a: Floats, b: Floats, weights: Floats, flat: float = 0.0) -> Floats:
    """Return the weighted Pearson correlation of each row of a with the same row of b, both centred."""
    together, alone, other = (np.einsum("ij,ij,ij->i", p, q, weights) for p, q in ((a, b), (a, a), (b, b)))
    return _root_ratio(together, alone, other, flat)


def _standard(values: Floats, weights: Floats) -> Floats:
    """Centre rows and scale them to a largest entry of 1; a row that varies by rounding only becomes 0."""
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    centred = np.where(weights > 0, values - (values * weights).sum(axis=1, keepdims=True) / total, 0.0)
    size = np.abs(centred).max(axis=1, keepdims=True)
    flat = size <= 1e-12 * np.abs(np.where(weights > 0, values, 0.0)).max(axis=1, keepdims=True)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, size))


def _row_ranks(values: Floats, weights: Floats) -> Floats:
    """Return average ranks, up to one constant per row: half the weight below less half the weight above."""
    signs = np.sign(values[:, :, None] - values[:, None, :])
    ranks: Floats = np.einsum("bij,bj->bi", signs, weights) / 2.0
    return ranks


def _row_kendall(x: Floats, y: Floats, weights: Floats, kind: Coefficient) -> Floats:
    i, j = np.triu_indices(x.shape[1], 1)
    signs_x, signs_y = np.sign(x[:, i] - x[:, j]), np.sign(y[:, i] - y[:, j])
    pair = weights[:, i] * weights[:, j]
    surplus: Floats = np.einsum("ij,ij,ij->i", signs_x, signs_y, pair)
    if kind != "kendall_c":
        untied_x = np.einsum("ij,ij->i", np.abs(signs_x), pair)
        untied_y = np.einsum("ij,ij->i", np.abs(signs_y), pair)
        return _root_ratio(surplus, untied_x, untied_y) if kind == "kendall_b" else ratio(surplus, untied_y)
    # Stuart's tau-c, 2 (concordant - discordant) m / (n^2 (m - 1)), m the fewer distinct values.
    m = np.minimum(_distinct(x, weights), _distinct(y, weights))
    shape = np.where(m > 1, weights.sum(axis=1) ** 2 * (m - 1.0) / np.maximum(m, 1.0), 1.0)
    return np.where(m > 1, 2.0 * surplus / shape, np.nan)


def _distinct(values: Floats, weights: Floats) -> Floats:
    """Count the distinct values of each row: every copy counts for one over the number of copies."""
    drawn = (weights > 0).astype(np.float64)
    copies = np.einsum("bij,bj->bi", values[:, :, None] == values[:, None, :], drawn)
    count: Floats = np.rint((drawn / np.maximum(copies, 1.0)).sum(axis=1))
    return count
