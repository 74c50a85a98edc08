"""Association tests (assoc sec. 4): a matrix of scores in, effect size and permutation p-value out.

Rows are targets, X then Y; columns are attributes, A then B. With S the scores:

    r(t) = mean of S(t, a) over A - mean of S(t, b) over B                   for a target t
    s    = sum of r over X - sum of r over Y                                 the test statistic
    d    = (mean of r over X - mean of r over Y) / SD of r over X and Y      the effect size (ddof 1)

Null hypothesis: X and Y are equally associated with A and B, so every partition of the targets into sets of
the same sizes is equally likely. The paper's text swaps the names of targets and attributes, but its
tables agree with this reading.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import nctdtrinc

from assay.statistics.intervals import Floats, Labels, cluster_sums, label_codes, vector
from assay.statistics.permutation import (
    TOLERANCE,
    PermutationResult,
    packed_sums,
    partitions,
    permutation_result,
)


@dataclass(frozen=True, slots=True)
class AssociationEffect:
    """The outcome of one association test.

    `effect_size` is d and `statistic` is s. `one_sided` tests that X is closer to A than Y is. Where all r
    are equal the test is degenerate: d is 0 and p is 1.
    """

    effect_size: float
    statistic: float
    one_sided: PermutationResult
    two_sided: PermutationResult
    n_x: int
    n_y: int
    degenerate: bool


def target_associations(scores: ArrayLike, n_a: int) -> Floats:
    """Return r of every target; the first `n_a` columns are A."""
    matrix = _matrix(scores)
    if not 0 < n_a < matrix.shape[1]:
        raise ValueError(f"A must have from 1 to {matrix.shape[1] - 1} of the attributes, not {n_a}")
    values: Floats = matrix[:, :n_a].mean(axis=1) - matrix[:, n_a:].mean(axis=1)
    return values


def average_units(associations: ArrayLike, units: Labels) -> Floats:
    """Average r over the sentences of each word; return one value per word, by first appearance.

    The sentences of one word are not independent draws, so words are the units of the test.

    >>> average_units([1.0, 3.0, 5.0], ["amy", "amy", "joan"]).tolist()
    [2.0, 5.0]
    """
    values = vector(associations, "associations")
    codes, n_units = label_codes(units, values.size)
    return cluster_sums(values, codes, n_units) / np.bincount(codes)


def partition_test(
    first: ArrayLike, second: ArrayLike, *, scale: float = 0.0, seed: int
) -> AssociationEffect:
    """Compare r of X with r of Y over the partitions of their union into sets of the same sizes.

    p is the share of partitions whose s is at least as large as the observed s (two-sided: in absolute
    value). `scale` is the largest absolute score behind r, which sets what counts as rounding.
    """
    x, y = vector(first, "X"), vector(second, "Y")
    both = np.concatenate([x, y])
    magnitude = max(scale, float(np.abs(both).max()))
    degenerate = bool(np.ptp(both) <= TOLERANCE * magnitude)
    # With sizes fixed, the difference of means orders the partitions as s does.
    both = np.zeros_like(both) if degenerate else both - both.mean()
    observed = float(both[: x.size].mean() - both[x.size :].mean())
    packed, exact = partitions(both.size, x.size, seed)
    chosen = packed_sums(both, packed, packed.shape[1])
    null = chosen / x.size - (both.sum() - chosen) / y.size
    return AssociationEffect(
        effect_size=0.0 if degenerate else observed / float(both.std(ddof=1)),
        statistic=0.0 if degenerate else float(x.sum() - y.sum()),
        one_sided=permutation_result(observed, null, "greater", exact=exact, scale=magnitude),
        two_sided=permutation_result(observed, null, "two-sided", exact=exact, scale=magnitude),
        n_x=x.size,
        n_y=y.size,
        degenerate=degenerate,
    )


def pulls(scores: ArrayLike, n_x: int, n_a: int) -> Floats:
    """Return how much each pair of texts adds to mean r over X less mean r over Y; the pulls sum to it.

    Row and column means are taken out first: they cancel in the sum and would hide the pairs.
    """
    matrix = _matrix(scores)
    rows = np.where(np.arange(matrix.shape[0]) < n_x, 1.0 / n_x, -1.0 / (matrix.shape[0] - n_x))
    columns = np.where(np.arange(matrix.shape[1]) < n_a, 1.0 / n_a, -1.0 / (matrix.shape[1] - n_a))
    centred = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=0) + matrix.mean()
    values: Floats = centred * rows[:, None] * columns
    return values


def _matrix(scores: ArrayLike) -> Floats:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ValueError("scores must be a matrix of targets by attributes without missing entries")
    return matrix


def effect_interval(effect: float, n_x: int, n_y: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Return the exact interval of an effect size for normal scores; None below two units a side.

    WEAT's d divides by the SD of both sets together, which the difference inflates, so that |d| stays below
    2. It is turned into Student's t, whose noncentral distribution gives the interval, and back.

    >>> low, high = effect_interval(0.0, 8, 8)
    >>> round(low, 2) == round(-high, 2), high < 1.0
    (True, True)
    """
    if min(n_x, n_y) < 2:
        return None
    n, harmonic = n_x + n_y, n_x * n_y / (n_x + n_y)
    within = ((n - 1) - harmonic * effect**2) / (n - 2)  # variance within sets over variance of both together
    t = effect / sqrt(max(within, 1e-9)) * sqrt(harmonic)
    alpha = (1 - level) / 2
    ends = (float(nctdtrinc(n - 2, p, t)) / sqrt(harmonic) for p in (1 - alpha, alpha))
    low, high = (_overall(end, n_x / n) for end in ends)
    return low, high


def _overall(effect: float, share: float) -> float:
    """An effect in SDs within sets as one in SDs of both sets together."""
    return effect / sqrt(1 + share * (1 - share) * effect**2)
