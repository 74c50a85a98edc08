"""Differences in, permutation p-values out; and the arrangements that every permutation test here shares.

A test is exact where at most 100,000 arrangements exist: p = hits / N, the observed arrangement among them.
Otherwise 99,999 arrangements are drawn independently: p = (1 + hits) / (1 + N).

Arrangements are packed eight units per byte, one bit per unit. The product of an arrangement with a vector
of values is the sum of the values whose bit is set. It is computed byte by byte through a table of 256
partial sums, which is faster than unpacking the bits and needs one bit of memory per cell.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from assay.statistics.intervals import Floats, Seed, block_sizes, vector

Alternative = Literal["two-sided", "greater"]
Bytes = NDArray[np.uint8]

EXACT_LIMIT = 100_000
PERMUTATIONS = 99_999
# Sums in another order differ in their last digits; equal arrangements must still count as equal.
TOLERANCE = 1e-10
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """A p-value, the number of arrangements behind it, and the smallest p-value they could give."""

    p_value: float
    n_arrangements: int
    exact: bool
    smallest_p: float


def sign_flip_test(differences: ArrayLike, *, seed: Seed) -> PermutationResult:
    """Test that paired differences are symmetric about 0 (two-sided), by flipping their signs.

    The statistic is the sum of the differences. Under the null hypothesis every pattern of signs is equally
    likely.

    >>> sign_flip_test([1.0, 2.0, 3.0, 4.0], seed=0).p_value
    0.125
    """
    values = vector(differences, "differences")
    scale = float(np.abs(values).sum())
    moving = values[np.abs(values) > TOLERANCE * scale]  # a zero is the same under either sign
    exact = moving.size <= 20 and 2**moving.size <= EXACT_LIMIT
    count = 2**moving.size if exact else PERMUTATIONS
    rows: Iterable[Bytes]
    if exact:
        rows = every_sign(moving.size)
    else:  # drawn eight units at a time, so that they are never all in memory
        rng = np.random.default_rng(seed)
        rows = (rng.integers(256, size=count, dtype=np.uint8) for _ in range(-(-moving.size // 8)))
    total = moving.sum()
    null = total - 2.0 * packed_sums(moving, rows, count)
    return permutation_result(float(total), null, "two-sided", exact=exact, scale=scale)


def permutation_result(
    observed: float, null: Floats, alternative: Alternative, *, exact: bool, scale: float
) -> PermutationResult:
    """Turn a null distribution into a p-value; values equal to the observed one are hits.

    `scale` is the size of the numbers behind the statistic: differences below TOLERANCE * scale are rounding.
    """
    if alternative == "two-sided":
        observed, null = abs(observed), np.abs(null)
    slack = TOLERANCE * max(scale, abs(observed))
    hits = int(np.count_nonzero(null >= observed - slack))
    count = int(null.size)
    if exact:
        largest = int(np.count_nonzero(null >= null.max() - slack))
        return PermutationResult(hits / count, count, True, largest / count)
    # The +1 counts the observed arrangement (Phipson & Smyth, 2010).
    return PermutationResult((1 + hits) / (1 + count), count, False, 1 / (1 + count))


def sign_test(differences: ArrayLike) -> float:
    """Return the two-sided binomial p-value that both signs are equally likely; ties are left out.

    The rows must be independent.

    >>> sign_test([1.0, 2.0, 0.0, 3.0, -1.0])
    0.625
    """
    values = vector(differences, "differences")
    positive, untied = int((values > 0).sum()), int(np.count_nonzero(values))
    return min(1.0, 2.0 * float(bdtr(min(positive, untied - positive), untied, 0.5))) if untied else 1.0


def packed_sums(values: Floats, rows: Iterable[Bytes], count: int) -> Floats:
    """Multiply `count` packed arrangements, one row of bytes for every eight units, by a vector."""
    total = np.zeros(count)
    padded = np.zeros(-(-values.size // 8) * 8)
    padded[: values.size] = values
    for eight, row in zip(padded.reshape(-1, 8), rows, strict=True):
        total += (_BITS @ eight).take(row)
    return total


def every_sign(n: int) -> Bytes:
    """List all 2**n patterns of signs, packed; a set bit flips the sign."""
    as_bytes = np.arange(2**n, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, : -(-n // 8)]
    return np.ascontiguousarray(as_bytes.T)


def sign_batches(n: int, resamples: int, rng: np.random.Generator) -> tuple[int, bool, Iterator[Floats]]:
    """Return how many patterns of signs there are, whether all 2**n (at most `resamples`), and batches."""
    exact = n < 20 and 2**n <= resamples
    count = 2**n if exact else resamples

    def batches() -> Iterator[Floats]:
        for piece in block_sizes(count, n):
            if exact:
                packed = np.ascontiguousarray(every_sign(n)[:, piece].T)
            else:
                packed = rng.integers(256, size=(piece.stop - piece.start, -(-n // 8)), dtype=np.uint8)
            bits = np.unpackbits(packed, axis=1, count=n, bitorder="little")
            yield 1.0 - 2.0 * bits.astype(np.float64)

    return count, exact, batches()


@lru_cache(maxsize=24)
def partitions(n: int, k: int, seed: int) -> tuple[Bytes, bool]:
    """Every choice of k out of n units, packed, or 99,999 drawn of over 100,000; and whether it is every one.

    Cached, so that tests of the same sizes share their draws.
    """
    if comb(n, k) > EXACT_LIMIT:
        rng, batches = (
            np.random.default_rng(seed),
            block_sizes(PERMUTATIONS, -(-n // 16)),
        )  # 64 MB before packing
        drawn = [draw_choices(n, k, piece.stop - piece.start, rng) for piece in batches]
        return np.concatenate(drawn, axis=1), False
    chosen = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.intp).reshape(-1, k)
    bits = np.zeros((len(chosen), n), dtype=np.uint8)
    np.put_along_axis(bits, chosen, 1, axis=1)
    return np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").T), True


def draw_choices(n: int, k: int, count: int, rng: np.random.Generator) -> Bytes:
    """Draw `count` uniform choices of k out of n units.

    Independent bits, given how many are set, are a uniform choice of that many; setting or clearing
    uniformly chosen bits until k are set keeps it uniform. Few bits need that, so this is several times
    faster than sorting random keys.
    """
    packed = _independent_bits(n, min(255, max(1, round(256 * k / n))), count, rng)
    surplus = np.bitwise_count(packed).sum(axis=0, dtype=np.intp) - k
    rows = np.flatnonzero(surplus)
    while rows.size:  # one random bit per round in every arrangement that has too many or too few
        unit = rng.integers(n, size=rows.size)
        group, bit = unit >> 3, np.left_shift(1, unit & 7).astype(np.uint8)
        cells = packed[group, rows]
        wanted = ((cells & bit) != 0) == (surplus[rows] > 0)
        turned = rows[wanted]
        packed[group[wanted], turned] = cells[wanted] ^ bit[wanted]
        surplus[turned] -= np.sign(surplus[turned])
        rows = rows[surplus[rows] != 0]
    return packed


def _independent_bits(n: int, share: int, count: int, rng: np.random.Generator) -> Bytes:
    """Draw bits that are set with probability share / 256, eight units per byte.

    From the lowest digit of the share up, an OR with fair bits takes p to (1 + p) / 2, an AND to p / 2.
    """
    shape = (-(-n // 8), count)
    size = shape[0] * count
    packed = np.zeros(shape, dtype=np.uint8)
    lowest = (share & -share).bit_length() - 1
    for digit in range(lowest, 8):
        words = rng.integers(2**64 - 1, size=-(-size // 8), dtype=np.uint64, endpoint=True)
        fair = words.view(np.uint8)[:size].reshape(shape)
        packed = packed | fair if share >> digit & 1 else packed & fair
    if n % 8:
        packed[-1] &= np.uint8((1 << n % 8) - 1)
    return packed
