"""Permutation and sign tests: differences or two samples in, p-values out."""

from dataclasses import dataclass
from math import ldexp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc

from assay.statistics._arrangements import (
    DRAWS,
    EXACT_LIMIT,
    drawn_signs,
    every_sign,
    packed_sums,
    partitions,
)
from assay.statistics._arrays import (
    Floats,
    Labels,
    Seed,
    cluster_sums,
    generator,
    label_codes,
    vector,
    whole_seed,
)

Alternative = Literal["two-sided", "greater", "less"]

# Sums in another order differ in their last digits; equal arrangements must still count as equal.
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """A p-value, the arrangements behind it, and the smallest p-value they could give."""

    p_value: float
    n_arrangements: int
    exact: bool
    smallest_p: float


@dataclass(frozen=True, slots=True)
class SignTest:
    """Counts of either sign and of ties, and the binomial p-value without the ties."""

    positive: int
    negative: int
    ties: int
    p_value: float

    @property
    def share(self) -> float | None:
        """The share of positive signs among those that differ, or None where none does."""
        untied = self.positive + self.negative
        return self.positive / untied if untied else None


def sign_flip_test(
    differences: ArrayLike,
    *,
    clusters: Labels | None = None,
    alternative: Alternative = "two-sided",
    seed: Seed,
) -> PermutationResult:
    """Test that the mean of paired differences is 0, by turning signs; a cluster turns as one.

    >>> sign_flip_test([1.0, 2.0, 3.0, 4.0], alternative="greater", seed=0).p_value
    0.0625
    """
    values = vector(differences, "differences")
    codes, n_clusters = label_codes(clusters, values.size)
    sums = cluster_sums(values, codes, n_clusters)
    scale = float(np.abs(values).sum())
    moving = sums[np.abs(sums) > TOLERANCE * scale]  # a zero is the same under either sign
    exact = moving.size <= 20 and 2**moving.size <= EXACT_LIMIT
    count = 2**moving.size if exact else DRAWS
    rows = every_sign(moving.size) if exact else drawn_signs(moving.size, count, generator(seed))
    total = moving.sum()
    null = total - 2.0 * packed_sums(moving, rows, count)
    return permutation_result(float(total), null, alternative, exact=exact, scale=scale)


def two_sample_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_clusters: Labels | None = None,
    second_clusters: Labels | None = None,
    alternative: Alternative = "two-sided",
    seed: Seed,
) -> PermutationResult:
    """Test that two independent samples have one mean; a cluster changes sample as one.

    Where one cluster has rows in both samples the data are paired: use `sign_flip_test`.
    """
    one, two = vector(first, "first"), vector(second, "second")
    one_codes, n_one = label_codes(first_clusters, one.size)
    two_codes, n_two = label_codes(second_clusters, two.size)
    sums = np.concatenate([cluster_sums(one, one_codes, n_one), cluster_sums(two, two_codes, n_two)])
    sizes = np.concatenate([np.bincount(one_codes), np.bincount(two_codes)]).astype(np.float64)
    choices = partitions(n_one + n_two, n_one, whole_seed(seed))
    chosen_sums = choices.sums(sums)
    chosen_sizes = choices.sums(sizes) if np.ptp(sizes) else np.float64(n_one * sizes[0])
    null = chosen_sums / chosen_sizes - (sums.sum() - chosen_sums) / (sizes.sum() - chosen_sizes)
    scale = float(max(np.abs(one).max(), np.abs(two).max()))
    observed = float(one.mean() - two.mean())
    return permutation_result(observed, null, alternative, exact=choices.exact, scale=scale)


def permutation_result(
    observed: float, null: Floats, alternative: Alternative, *, exact: bool, scale: float
) -> PermutationResult:
    """Turn a null distribution into a p-value, counting values equal to the observed one as hits."""
    oriented, reached = _orient(null, alternative), float(_orient(np.array([observed]), alternative)[0])
    slack = TOLERANCE * max(scale, abs(observed))
    hits = int(np.count_nonzero(oriented >= reached - slack))
    count = int(null.size)
    if exact:
        at_most = int(np.count_nonzero(oriented >= oriented.max() - slack))
        return PermutationResult(hits / count, count, True, at_most / count)
    # The +1 counts the observed arrangement (Phipson & Smyth, 2010).
    return PermutationResult((1 + hits) / (1 + count), count, False, 1 / (1 + count))


def sign_test(differences: ArrayLike, *, alternative: Alternative = "two-sided") -> SignTest:
    """Test that either sign is as likely; ties are counted and left out.

    The rows must be independent. For clustered rows use `sign_flip_test` on their signs.

    >>> sign_test([1.0, 2.0, 0.0, 3.0, -1.0], alternative="greater")
    SignTest(positive=3, negative=1, ties=1, p_value=0.3125)
    """
    values = vector(differences, "differences")
    positive, negative = int((values > 0).sum()), int((values < 0).sum())
    return SignTest(
        positive, negative, values.size - positive - negative, binomial_p(positive, negative, alternative)
    )


def binomial_p(positive: int, negative: int, alternative: Alternative = "two-sided") -> float:
    """Return the exact p-value of a count of successes against a fair coin."""
    n = positive + negative
    if n == 0:
        return 1.0
    at_least = float(bdtrc(positive - 1, n, 0.5)) if positive else 1.0
    at_most = float(bdtr(positive, n, 0.5))
    if alternative == "greater":
        return at_least
    if alternative == "less":
        return at_most
    return min(1.0, 2.0 * min(at_least, at_most))


def smallest_sign_flip_p(n: int, alternative: Alternative = "two-sided") -> float:
    """Return the smallest p-value that n untied differences can reach in a sign or sign-flip test."""
    return min(1.0, ldexp(2.0 if alternative == "two-sided" else 1.0, -n))


def _orient(values: Floats, alternative: Alternative) -> Floats:
    """Turn values so that large ones speak for the alternative."""
    if alternative == "two-sided":
        return np.abs(values)
    return values if alternative == "greater" else -values
