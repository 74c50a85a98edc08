"""Many small problems at once: the correlation of each row of x with the same row of y.

A row may have weights and missing entries (nan, which weigh nothing). All pairs of a row are compared,
so a row of s entries costs O(s * s): meant for systems or for the outputs of one document.
"""

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics._arrays import Floats, in_pieces
from assay.statistics._weighted import Kind, root_ratio


def correlate_rows(x: ArrayLike, y: ArrayLike, kind: Kind, *, weights: ArrayLike | None = None) -> Floats:
    """Return a correlation a row, nan where a row does not vary.

    >>> correlate_rows([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], [[2.0, 4.0, 9.0], [1.0, 2.0, 3.0]], "spearman")
    array([ 1., nan])
    """
    first, second = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
    present = np.isfinite(first) & np.isfinite(second)
    weight = present * (1.0 if weights is None else np.asarray(weights, dtype=np.float64))
    first, second = np.where(present, first, 0.0), np.where(present, second, 0.0)
    width = first.shape[1] if kind == "pearson" else first.shape[1] ** 2

    def piece_of(piece: slice) -> Floats:
        return _correlate(first[piece], second[piece], weight[piece], kind)

    return in_pieces(piece_of, first.shape[0], 4 * width) if first.size else np.full(len(first), np.nan)


def _correlate(x: Floats, y: Floats, weights: Floats, kind: Kind) -> Floats:
    if kind == "pearson":
        return _pearson(x, y, weights)
    if kind == "spearman":
        return _pearson(_ranks(x, weights), _ranks(y, weights), weights)
    return _kendall(x, y, weights, kind)


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    x, y = _standard(x, weights), _standard(y, weights)
    together, alone, other = (np.einsum("ij,ij,ij->i", p, q, weights) for p, q in ((x, y), (x, x), (y, y)))
    return root_ratio(together, alone, other)


def _standard(values: Floats, weights: Floats) -> Floats:
    """Centre rows and scale them to a largest entry of 1; a row that only rounding moves becomes 0."""
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    centred = np.where(weights > 0, values - (values * weights).sum(axis=1, keepdims=True) / total, 0.0)
    size = np.abs(centred).max(axis=1, keepdims=True)
    flat = size <= 1e-12 * np.abs(np.where(weights > 0, values, 0.0)).max(axis=1, keepdims=True)
    scaled: Floats = np.where(flat, 0.0, centred / np.where(flat, 1.0, size))
    return scaled


def _ranks(values: Floats, weights: Floats) -> Floats:
    """Return average ranks, up to a constant a row: half the weight below less half the weight above."""
    signs = np.sign(values[:, :, None] - values[:, None, :])
    ranks: Floats = np.einsum("bij,bj->bi", signs, weights) / 2.0
    return ranks


def _kendall(x: Floats, y: Floats, weights: Floats, kind: Kind) -> Floats:
    i, j = np.triu_indices(x.shape[1], 1)
    signs_x, signs_y = np.sign(x[:, i] - x[:, j]), np.sign(y[:, i] - y[:, j])
    pair = weights[:, i] * weights[:, j]
    surplus: Floats = np.einsum("ij,ij,ij->i", signs_x, signs_y, pair)
    if kind == "kendall_b":
        untied_x = np.einsum("ij,ij->i", np.abs(signs_x), pair)
        untied_y = np.einsum("ij,ij->i", np.abs(signs_y), pair)
        return root_ratio(surplus, untied_x, untied_y)
    m = np.minimum(_distinct(x, weights), _distinct(y, weights))
    shape = weights.sum(axis=1) ** 2 * (m - 1.0) / np.maximum(m, 1.0)
    answer: Floats = np.where(m > 1, 2.0 * surplus / np.where(m > 1, shape, 1.0), np.nan)
    return answer


def _distinct(values: Floats, weights: Floats) -> Floats:
    """Count the distinct values of each row: every copy counts for one over the number of copies."""
    drawn = (weights > 0).astype(np.float64)
    copies = np.einsum("bij,bj->bi", values[:, :, None] == values[:, None, :], drawn)
    count: Floats = np.rint((drawn / np.maximum(copies, 1.0)).sum(axis=1))
    return count
