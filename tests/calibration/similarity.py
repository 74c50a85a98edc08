"""Two texts in, a similarity from 0 to 1 out, by several families of comparison, for simulated metrics."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from math import sqrt

from rapidfuzz.distance import LCSseq

from assay.datasets.lexicon import rarity

_MEMORY = 1_000_000  # texts whose words and letters are remembered
_WORD = re.compile(r"\w+")


@lru_cache(_MEMORY)
def words_of(text: str) -> tuple[str, ...]:
    """The words in lower case."""
    return tuple(_WORD.findall(text.lower()))


@lru_cache(_MEMORY)
def _letters(text: str, n: int) -> Counter[str]:
    lower = text.lower()
    return Counter(lower[start : start + n] for start in range(len(lower) - n + 1))


def _shared(first: Counter[str], second: Counter[str]) -> int:
    return sum(min(count, second[item]) for item, count in first.items() if item in second)


def _f1(first: Counter[str], second: Counter[str]) -> float:
    return 2 * _shared(first, second) / max(1, first.total() + second.total())


def token_f(text: str, reference: str) -> float:
    """F1 of words."""
    return _f1(Counter(words_of(text)), Counter(words_of(reference)))


def token_precision(text: str, reference: str) -> float:
    """Share of the words that the reference has."""
    words = Counter(words_of(text))
    return _shared(words, Counter(words_of(reference))) / max(1, words.total())


def word_set_f(text: str, reference: str) -> float:
    """F1 of the sets of words."""
    return _f1(Counter(set(words_of(text))), Counter(set(words_of(reference))))


def bigram_f(text: str, reference: str) -> float:
    """F1 of pairs of neighbouring words, single words counted half."""
    pairs = (Counter(" ".join(pair) for pair in pairwise(words_of(side))) for side in (text, reference))
    return (2 * _f1(*pairs) + token_f(text, reference)) / 3


def letters_f(text: str, reference: str) -> float:
    """Mean F1 of character n-grams."""
    return sum(_f1(_letters(text, n), _letters(reference, n)) for n in (2, 3, 4)) / 3


def longest_common(text: str, reference: str) -> float:
    """F1 of the longest common subsequence of words."""
    return LCSseq.normalized_similarity(words_of(text), words_of(reference))


def weighted_cosine(text: str, reference: str) -> float:
    """Cosine of word counts weighted by rarity."""
    sides = [Counter(words_of(side)) for side in (text, reference)]
    first, second = ({word: n * _rarity(word) for word, n in side.items()} for side in sides)
    product = sum(weight * second[word] for word, weight in first.items() if word in second)
    norms = [sqrt(sum(weight**2 for weight in side.values())) for side in (first, second)]
    return product / (norms[0] * norms[1]) if all(norms) else 0.0


_rarity = lru_cache(_MEMORY)(rarity)


def mixed(text: str, reference: str) -> float:
    """Words, neighbouring words and character n-grams alike."""
    return (token_f(text, reference) + bigram_f(text, reference) + letters_f(text, reference)) / 3
