"""N-grams that hypotheses share with their references: sequences of symbols in, clipped counts per order out.

Symbols are the characters of a string or the words of a tuple. N-grams are numbered and sorted by numpy for
many pairs at once, and each distinct text is counted once, so that shared references cost little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

Symbols = str | tuple[str, ...]
Integers = NDArray[np.int64]
_PIECE = 128  # pairs per round: their sorted n-grams fit the processor's cache
_LARGEST = 2**62  # of the numbers that stand for a text's n-gram


@dataclass(frozen=True, slots=True)
class _Counted:
    """Distinct n-grams of one order, as sorted numbers text * size + n-gram, with their counts."""

    numbers: Integers
    counts: Integers
    size: int
    starts: Integers  # where each text's n-grams start, and where the last one's end


def shared_ngrams(hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int) -> Integers:
    """Return (hypotheses, n): the n-grams of orders 1 to n that a hypothesis shares with its references.

    An n-gram counts at most as often as in the reference that has it most, as BLEU clips.
    """
    pieces = [slice(start, start + _PIECE) for start in range(0, len(hypotheses), _PIECE)]
    rows = [_shared(hypotheses[piece], references[piece], n) for piece in pieces]
    return np.concatenate(rows) if rows else np.zeros((0, n), dtype=np.int64)


def _shared(hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int) -> Integers:
    place: dict[Symbols, int] = {}
    hyp = np.array([place.setdefault(text, len(place)) for text in hypotheses])
    most = max(map(len, references))
    # Groups are filled up to one size with their first reference, which does not change a maximum.
    groups = [[*group, *[group[0]] * (most - len(group))] for group in references]
    ref = np.array([[place.setdefault(text, len(place)) for text in group] for group in groups])
    columns = [_matches(counted, hyp, ref) for counted in _count_orders(list(place), n)]
    return np.stack(columns, axis=1)


def _count_orders(texts: Sequence[Symbols], n: int) -> Iterator[_Counted]:
    code: defaultdict[str, int] = defaultdict(count().__next__)
    symbols = np.array([code[symbol] for symbol in chain.from_iterable(texts)], dtype=np.int64)
    lengths = np.array([len(text) for text in texts])
    owner = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(symbols))  # symbols to the end of the text
    grams, size = symbols, len(code)
    for order in range(n):
        if order:
            if size * len(code) * len(texts) > _LARGEST:  # number the n-grams that occur instead
                grams = np.unique(grams, return_inverse=True)[1]
                size = len(grams)
            grams, size = grams[:-1] * len(code) + symbols[order:], size * len(code)
        whole = left[: len(grams)] > order
        yield _count(np.sort(owner[: len(grams)][whole] * size + grams[whole]), size, len(texts))


def _count(numbers: Integers, size: int, texts: int) -> _Counted:
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    distinct = numbers[first]
    starts = np.searchsorted(distinct, np.arange(texts + 1) * size)
    return _Counted(distinct, np.diff(first, append=len(numbers)), size, starts)


def _matches(counted: _Counted, hyp: Integers, ref: Integers) -> Integers:
    """Sum over each hypothesis' n-grams the smaller of its count and the largest among its references."""
    starts = counted.starts[hyp]
    widths = counted.starts[hyp + 1] - starts
    pair = np.repeat(np.arange(len(hyp)), widths)
    at = np.arange(len(pair)) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    others = (
        _look_up(counted, counted.numbers[at] + ((column - hyp) * counted.size)[pair]) for column in ref.T
    )
    shared = np.minimum(reduce(np.maximum, others), counted.counts[at])
    return np.bincount(pair, weights=shared, minlength=len(hyp)).astype(np.int64)


def _look_up(counted: _Counted, wanted: Integers) -> Integers:
    """Return the counts of numbers, 0 where a number does not occur."""
    if not len(counted.numbers):
        return np.zeros_like(wanted)
    at = np.minimum(np.searchsorted(counted.numbers, wanted), len(counted.numbers) - 1)
    return np.where(counted.numbers[at] == wanted, counted.counts[at], 0)
