"""One pair of variables under many weightings: correlations of resamples without resampling.

Weights are (resamples x n), how often each row was drawn. The order of the values is worked out once;
a resample then costs O(n) (Pearson, Spearman) or O(n log n) (Kendall). Undefined is nan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.statistics._arrays import Booleans, Floats, Integers

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
