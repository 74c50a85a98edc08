"""One pair of variables under many weightings: correlations of resamples without resampling.

Weights are (resamples x n), how often each row was drawn. The order of the values is worked out once;
a resample then costs O(n) (Pearson, Spearman) or O(n log n) (Kendall). Undefined is nan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.intervals import (
    Booleans,
    Floats,
    Integers,
    Labels,
    in_pieces,
    label_codes,
    matched,
    vector,
)

Kind = Literal["pearson", "spearman", "kendall_b", "kendall_c"]
Weighted = Callable[[Floats], Floats]

# A variance below this share of the whole data's is rounding, not variation.
_FLAT = 1e-13


def weighted_correlation(x: Floats, y: Floats, kind: Kind) -> Weighted:
    """Return the function from weights (resamples x n) to correlations (resamples)."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return lambda weights: np.full(len(weights), np.nan)
    if kind == "pearson":
        return _pearson(x, y)
    if kind == "spearman":
        return _spearman(x, y)
    pairs = _Pairs.of(x, y)
    return lambda weights: pairs.tau(weights, kind)


def root_ratio(numerator: Floats, first: Floats, second: Floats, flat: float = 0.0) -> Floats:
    """Divide by the root of a product; nan where either factor is nothing."""
    defined = (first > flat) & (second > flat)
    product = np.where(defined, first, 1.0) * np.where(defined, second, 1.0)
    answer: Floats = np.where(defined, np.clip(numerator / np.sqrt(product), -1.0, 1.0), np.nan)
    return answer


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1, ties sharing their average."""
    ranks: Floats = _Ties.of(values).ranks(np.ones((1, values.size)))[0]
    return ranks


def _pearson(x: Floats, y: Floats) -> Weighted:
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    columns = np.column_stack([np.ones(a.size), a, b, a * a, b * b, a * b])

    def correlation(weights: Floats) -> Floats:
        total, sa, sb, saa, sbb, sab = (weights @ columns).T
        total = np.maximum(total, 1.0)
        return root_ratio(sab - sa * sb / total, saa - sa * sa / total, sbb - sb * sb / total, _FLAT * a.size)

    return correlation


def _spearman(x: Floats, y: Floats) -> Weighted:
    first, second = _Ties.of(x), _Ties.of(y)

    def correlation(weights: Floats) -> Floats:
        a, b = first.ranks(weights), second.ranks(weights)
        return _row_pearson(a, b, weights)

    return correlation


def _row_pearson(a: Floats, b: Floats, weights: Floats) -> Floats:
    """Return the weighted Pearson correlation of every row of a with the same row of b."""
    total = np.maximum(weights.sum(axis=1), 1.0)[:, None]
    a = a - np.einsum("ij,ij->i", a, weights)[:, None] / total
    b = b - np.einsum("ij,ij->i", b, weights)[:, None] / total
    together, alone, other = (np.einsum("ij,ij,ij->i", p, q, weights) for p, q in ((a, b), (a, a), (b, b)))
    return root_ratio(together, alone, other, flat=1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class _Ties:
    """The order of one variable, and where runs of equal values start in it."""

    order: Integers
    starts: Integers
    group: Integers  # the run of each row, in the data's own order

    @classmethod
    def of(cls, values: Floats) -> "_Ties":
        order = np.argsort(values, kind="stable")
        return cls.from_steps(order, np.diff(values[order]) != 0)

    @classmethod
    def from_steps(cls, order: Integers, steps: Booleans) -> "_Ties":
        group = np.empty(order.size, dtype=np.intp)
        group[order] = np.concatenate([[0], np.cumsum(steps)])
        return cls(order, np.concatenate([[0], np.flatnonzero(steps) + 1]), group)

    def sums(self, weights: Floats) -> Floats:
        """Return the weight of every run (resamples x runs)."""
        totals: Floats = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        return totals

    def ranks(self, weights: Floats) -> Floats:
        """Return the average rank that each row has in each resample."""
        totals = self.sums(weights)
        middle: Floats = np.cumsum(totals, axis=1) - (totals - 1.0) / 2.0
        return middle[:, self.group]

    def tied_pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return how many drawn pairs are tied, and how many distinct values were drawn."""
        totals = self.sums(weights)
        pairs: Floats = (totals * (totals - 1.0)).sum(axis=1) / 2.0
        return pairs, (totals > 0).sum(axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """What Kendall's tau needs of the order of two variables.

    Rows in order of x, then y, are discordant where y falls. Falls are counted bit by bit of the rank
    of y, from the highest: within rows equal in the bits above, each 1 before a 0 is a fall. That is
    Knight's (1966) merge sort turned upside down, so that each step is one pass over all resamples.
    """

    x: _Ties
    y: _Ties
    both: _Ties

    @classmethod
    def of(cls, x: Floats, y: Floats) -> "_Pairs":
        order = np.lexsort((y, x))
        steps: Booleans = (np.diff(x[order]) != 0) | (np.diff(y[order]) != 0)
        return cls(_Ties.of(x), _Ties.of(y), _Ties.from_steps(order, steps))

    def tau(self, weights: Floats, kind: Kind) -> Floats:
        total = weights.sum(axis=1)
        every = total * (total - 1.0) / 2.0
        tied_x, values_x = self.x.tied_pairs(weights)
        tied_y, values_y = self.y.tied_pairs(weights)
        tied_both, _ = self.both.tied_pairs(weights)
        surplus = every - tied_x - tied_y + tied_both - 2.0 * self.falls(weights)
        if kind == "kendall_b":
            return root_ratio(surplus, every - tied_x, every - tied_y)
        # Stuart's tau-c: m is the smaller number of distinct values.
        m = np.minimum(values_x, values_y)
        defined = m > 1
        shape = np.where(defined, total**2 * (m - 1.0) / np.maximum(m, 1.0), 1.0)
        answer: Floats = np.where(defined, 2.0 * surplus / shape, np.nan)
        return answer

    def falls(self, weights: Floats) -> Floats:
        """Return the weight of discordant pairs in every resample."""
        rank = self.y.group[self.both.order]
        # Rows are moved in every step: kept a row a data row, they move as whole blocks of memory.
        columns = np.ascontiguousarray(weights[:, self.both.order].T)
        falls = np.zeros(columns.shape[1])
        for bit in reversed(range(int(rank.max()).bit_length())):
            falls += _falls_in_bit(columns, rank, bit)
            order = np.argsort(rank >> bit, kind="stable")
            rank, columns = rank[order], columns[order]
        return falls


def _falls_in_bit(columns: Floats, rank: Integers, bit: int) -> Floats:
    """Sum the weights of pairs, equal in the higher bits, whose earlier row has the bit and later has not."""
    has_bit = (rank >> bit) & 1 == 1
    before = np.cumsum(np.where(has_bit[:, None], columns, 0.0), axis=0)
    clear = np.flatnonzero(~has_bit)
    block = rank >> (bit + 1)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1])
    start = starts[np.searchsorted(starts, clear, side="right") - 1]
    # A 0 sees the 1s of its own block: all before it less all before the block.
    seen = before[clear]
    later = start > 0
    seen[later] -= before[start[later] - 1]
    answer: Floats = np.einsum("ij,ij->j", seen, columns[clear])
    return answer


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
        return _pearson_rows(x, y, weights)
    if kind == "spearman":
        return _pearson_rows(_ranks(x, weights), _ranks(y, weights), weights)
    return _kendall(x, y, weights, kind)


def _pearson_rows(x: Floats, y: Floats, weights: Floats) -> Floats:
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
