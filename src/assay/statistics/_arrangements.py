"""Arrangements of a permutation test, packed eight units a byte, and their products with values.

An arrangement is a row of bits, one a unit. Its product with a vector of values is the sum of the
values whose bit is set: a matrix product, done a byte at a time through a table of 256 partial sums,
which is quicker than unpacking the bits and needs an eighth of a byte a cell.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from assay.statistics._arrays import Floats, generator, pieces

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
