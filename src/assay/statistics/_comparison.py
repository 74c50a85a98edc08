"""Correlations of swapped pairs of metrics in, a matrix of p-values out."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.statistics._arrays import Floats
from assay.statistics.permutation import TOLERANCE

_ALL = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Every metric against every other.

    `differences[i, j]` is the correlation of i less that of j; `p_values` are two-sided, and
    `better[i, j]` is the one-sided p-value that i correlates better than j. nan where undefined.
    """

    correlations: Floats
    differences: Floats
    p_values: Floats
    better: Floats
    n_arrangements: int
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Correlations of each swapped pair of metrics, summed over groups; row 0 is the observed one."""

    n_metrics: int
    pairs: tuple[tuple[int, int], ...]
    sums: Floats  # 2 sides x arrangements x pairs
    counts: Floats

    @classmethod
    def empty(cls, n_metrics: int, arrangements: int) -> "Tally":
        """Start with nothing, and room for the observed arrangement."""
        pairs = tuple(combinations(range(n_metrics), 2))
        shape = (2, arrangements + 1, len(pairs))
        return cls(n_metrics, pairs, np.zeros(shape), np.zeros(shape))

    def add(self, rows: slice, first: Floats, second: Floats, pairs: slice | int = _ALL) -> None:
        """Add one group's correlations to some arrangements; undefined ones are passed over."""
        for side, values in enumerate((first, second)):
            defined = np.isfinite(values)
            if defined.all():
                self.sums[side, rows, pairs] += values
                self.counts[side, rows, pairs] += 1.0
                continue
            self.sums[side, rows, pairs] += np.where(defined, values, 0.0)
            self.counts[side, rows, pairs] += defined

    def comparison(self, alone: Floats, *, exact: bool) -> Comparison:
        """Turn the sums into p-values; `alone` are the metrics' own correlations."""
        means = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1.0), np.nan)
        size = (self.n_metrics, self.n_metrics)
        differences, p_values, better = np.zeros(size), np.ones(size), np.ones(size)
        for index, (i, j) in enumerate(self.pairs):
            deltas = means[0, :, index] - means[1, :, index]
            differences[i, j], differences[j, i] = deltas[0], -deltas[0]
            p_values[i, j] = p_values[j, i] = _share(np.abs(deltas), exact)
            better[i, j], better[j, i] = _share(deltas, exact), _share(-deltas, exact)
        return Comparison(alone, differences, p_values, better, self.sums.shape[1] - 1, exact)


def _share(deltas: Floats, exact: bool) -> float:
    """Return the p-value of the first entry among the rest."""
    if not np.isfinite(deltas[0]):
        return float("nan")
    null = deltas[1:][np.isfinite(deltas[1:])]
    hits = int(np.count_nonzero(null >= deltas[0] - TOLERANCE))
    # Enumerated patterns hold the observed one; drawn ones need it counted (Phipson & Smyth, 2010).
    return hits / null.size if exact else (1 + hits) / (1 + null.size)
