"""Arrangements of a permutation test, packed eight units a byte, and their products with values.

An arrangement is a row of bits, one a unit. Its product with a vector of values is the sum of the
values whose bit is set: a matrix product, done a byte at a time through a table of 256 partial sums,
which is quicker than unpacking the bits and needs an eighth of a byte a cell.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import comb, ldexp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc

from assay.statistics.intervals import (
    Floats,
    Labels,
    Seed,
    cluster_sums,
    generator,
    label_codes,
    pieces,
    vector,
    whole_seed,
)

Bytes = NDArray[np.uint8]

EXACT_LIMIT = 100_000
DRAWS = 99_999
_KEPT_UNITS = 1000  # 12.5 MB of packed draws
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Choices of k out of n units: all of them (exact), or independent uniform draws."""

    n: int
    k: int
    seed: int
    exact: bool
    count: int
    kept: Bytes | None  # None: too many to keep, so drawn anew, and alike, whenever needed

    def sums(self, values: Floats) -> Floats:
        """Sum the chosen units' values, arrangement by arrangement."""
        batches = [self.kept] if self.kept is not None else _draws(self.n, self.k, self.seed)
        return np.concatenate([packed_sums(values, batch, batch.shape[1]) for batch in batches])


def packed_sums(values: Floats, rows: Bytes | Iterator[Bytes], count: int) -> Floats:
    """Multiply packed arrangements, a row of bytes for every eight units, by a vector."""
    total = np.zeros(count)
    padded = np.zeros(-(-values.size // 8) * 8)
    padded[: values.size] = values
    for eight, row in zip(padded.reshape(-1, 8), rows, strict=True):
        total += (_BITS @ eight).take(row)
    return total


@lru_cache(maxsize=24)
def partitions(n: int, k: int, seed: int) -> Partitions:
    """List every choice of k out of n units, or draw 99,999 when there are more than 100,000.

    The answer is kept, so that tests of equal size share their draws.
    """
    count = comb(n, k)
    if count > EXACT_LIMIT:
        kept = np.concatenate(list(_draws(n, k, seed)), axis=1) if n <= _KEPT_UNITS else None
        return Partitions(n, k, seed, exact=False, count=DRAWS, kept=kept)
    if n <= 20:
        codes = np.arange(2**n, dtype="<u4")
        packed = _as_groups(codes[np.bitwise_count(codes) == k], n)
    else:
        chosen = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.intp)
        bits = np.zeros((count, n), dtype=np.uint8)
        np.put_along_axis(bits, chosen.reshape(-1, k), 1, axis=1)
        packed = _pack(bits)
    return Partitions(n, k, seed, exact=True, count=count, kept=packed)


def every_sign(n: int) -> Bytes:
    """List all 2**n patterns of signs; a set bit turns the sign."""
    return _as_groups(np.arange(2**n, dtype="<u4"), n)


def drawn_signs(n: int, count: int, rng: np.random.Generator) -> Iterator[Bytes]:
    """Draw random patterns of signs, eight units at a time, so that none are held."""
    for _ in range(-(-n // 8)):
        yield rng.integers(256, size=count, dtype=np.uint8)


def sign_batches(n: int, resamples: int, rng: np.random.Generator) -> tuple[int, bool, Iterator[Floats]]:
    """Return patterns of signs, +1 and -1, as matrices: their number, whether they are all, the batches.

    They are all 2**n patterns where these are no more than `resamples`, else random draws.
    """
    exact = n < 20 and 2**n <= resamples
    count = 2**n if exact else resamples

    def batches() -> Iterator[Floats]:
        for piece in pieces(count, n):
            if exact:
                packed = np.ascontiguousarray(every_sign(n)[:, piece].T)
            else:
                packed = rng.integers(256, size=(piece.stop - piece.start, -(-n // 8)), dtype=np.uint8)
            bits = np.unpackbits(packed, axis=1, count=n, bitorder="little")
            yield 1.0 - 2.0 * bits.astype(np.float64)

    return count, exact, batches()


def _as_groups(codes: NDArray[np.uint32], n: int) -> Bytes:
    """Read whole numbers as rows of bits: their bytes are the packed arrangements."""
    as_bytes = codes.view(np.uint8).reshape(-1, 4)[:, : -(-n // 8)]
    return np.ascontiguousarray(as_bytes.T)


def _pack(bits: NDArray[np.uint8] | NDArray[np.bool_]) -> Bytes:
    return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").T)


def _draws(n: int, k: int, seed: int) -> Iterator[Bytes]:
    """Draw 99,999 choices in batches of about 64 MB before packing."""
    rng = generator(seed)
    for piece in pieces(DRAWS, -(-n // 16)):
        yield draw_choices(n, k, piece.stop - piece.start, rng)


def draw_choices(n: int, k: int, count: int, rng: np.random.Generator) -> Bytes:
    """Draw uniform choices of k out of n.

    Independent bits, given how many are set, are a uniform choice of that many; setting or clearing
    uniformly chosen bits until k are set keeps it uniform. Few bits need it, so this beats sorting
    random keys several times over.
    """
    packed = _independent_bits(n, min(255, max(1, round(256 * k / n))), count, rng)
    _balance(packed, n, k, rng)
    return packed


def _independent_bits(n: int, share: int, count: int, rng: np.random.Generator) -> Bytes:
    """Draw bits that are set with probability share / 256, eight at a time.

    From the lowest digit of the share up, an OR with fair bits takes p to (1 + p) / 2, an AND to p / 2.
    """
    shape = (-(-n // 8), count)
    packed = np.zeros(shape, dtype=np.uint8)
    lowest = (share & -share).bit_length() - 1
    for digit in range(lowest, 8):
        fair = _fair_bits(shape, rng)
        packed = packed | fair if share >> digit & 1 else packed & fair
    if n % 8:
        packed[-1] &= np.uint8((1 << n % 8) - 1)
    return packed


def _fair_bits(shape: tuple[int, int], rng: np.random.Generator) -> Bytes:
    size = shape[0] * shape[1]
    words = rng.integers(2**64 - 1, size=-(-size // 8), dtype=np.uint64, endpoint=True)
    return words.view(np.uint8)[:size].reshape(shape)


def _balance(packed: Bytes, n: int, k: int, rng: np.random.Generator) -> None:
    """Turn random bits, one a round in every arrangement that needs it, until each has k set."""
    surplus = np.bitwise_count(packed).sum(axis=0, dtype=np.intp) - k
    rows = np.flatnonzero(surplus)
    while rows.size:
        unit = rng.integers(n, size=rows.size)
        group, bit = unit >> 3, np.left_shift(1, unit & 7).astype(np.uint8)
        cells = packed[group, rows]
        wanted = ((cells & bit) != 0) == (surplus[rows] > 0)
        turned = rows[wanted]
        packed[group[wanted], turned] = cells[wanted] ^ bit[wanted]
        surplus[turned] -= np.sign(surplus[turned])
        rows = rows[surplus[rows] != 0]


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
