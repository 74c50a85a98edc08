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
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """Choices of k out of n units: all of them (exact), or independent uniform draws."""

    bytes_by_group: Bytes
    exact: bool

    @property
    def count(self) -> int:
        """How many arrangements there are."""
        return int(self.bytes_by_group.shape[1])

    def sums(self, values: Floats) -> Floats:
        """Sum the chosen units' values, arrangement by arrangement."""
        return packed_sums(values, self.bytes_by_group, self.count)


def packed_sums(values: Floats, rows: Bytes | Iterator[Bytes], count: int) -> Floats:
    """Multiply packed arrangements, a row of bytes for every eight units, by a vector."""
    total = np.zeros(count)
    padded = np.zeros(-(-values.size // 8) * 8)
    padded[: values.size] = values
    for eight, row in zip(padded.reshape(-1, 8), rows, strict=True):
        total += (_BITS @ eight).take(row)
    return total


@lru_cache(maxsize=48)
def partitions(n: int, k: int, seed: int) -> Partitions:
    """List every choice of k out of n units, or draw 99,999 when there are more than 100,000.

    The answer is kept, so that tests of equal size share their draws.
    """
    if comb(n, k) > EXACT_LIMIT:
        return Partitions(_draw(n, k, DRAWS, generator(seed)), exact=False)
    if n <= 20:
        codes = np.arange(2**n, dtype="<u4")
        return Partitions(_as_groups(codes[np.bitwise_count(codes) == k], n), exact=True)
    chosen = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.intp)
    bits = np.zeros((comb(n, k), n), dtype=np.uint8)
    np.put_along_axis(bits, chosen.reshape(-1, k), 1, axis=1)
    return Partitions(_pack(bits), exact=True)


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


def _draw(n: int, k: int, count: int, rng: np.random.Generator) -> Bytes:
    """Draw uniform choices of k out of n.

    Independent bits, given how many are set, are a uniform choice of that many; setting or clearing
    uniformly chosen bits until k are set keeps it uniform. Few bits need it, so this beats sorting
    random keys several times over.
    """
    threshold = min(255, max(1, round(256 * k / n)))
    drawn = [
        _pack(rng.integers(256, size=(piece.stop - piece.start, n), dtype=np.uint8) < threshold)
        for piece in pieces(count, n)
    ]
    packed = np.concatenate(drawn, axis=1)
    _balance(packed, n, k, rng)
    return packed


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
