"""ROUGE: n-grams, longest common subsequences and skip-bigrams shared with the references (Lin, 2004)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Literal

import numpy as np
from rapidfuzz.distance import LCSseq

from assay.core import Floats, Metric, Sample
from assay.metrics.text import Reduce, Tokenize, f_measure, memo, tokens, word_counts
from assay.models.nlp import split_sentences
from assay.vocabulary import NonNegative

_Row = tuple[float, float, float]  # F, precision, recall


def _row(shared: float, hypothesis: int, reference: int) -> _Row:
    """F, precision and recall of what two texts of these sizes share."""
    precision, recall = shared / max(hypothesis, 1), shared / max(reference, 1)
    return f_measure(precision, recall), precision, recall


@dataclass(frozen=True)
class Rouge(Metric):
    """What every ROUGE shares: F, precision and recall with the reference of the best F, or their means.

    The bare name is F; `rouge1-p` and `rouge1-r` are precision and recall.
    """

    paradigm = "n-gram"
    outputs = ("f", "p", "r")
    range = (0.0, 1.0)
    identity_highest = True
    citation = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, W04-1013"

    stemmer: bool = False
    tokenize: Tokenize = "rouge"
    reduce: Reduce = "max"

    def score(self, samples: Sequence[Sample]) -> Floats:
        return np.array([self._reduced(sample) for sample in samples], dtype=np.float64).reshape(-1, 3)

    def _reduced(self, sample: Sample) -> Sequence[float]:
        """Return F, precision and recall of a sample."""
        rows = [self.pair(sample.hypothesis, reference) for reference in sample.references]
        if self.reduce == "max":
            return max(rows, key=lambda row: row[0])
        return [float(value) for value in np.mean(rows, axis=0)]

    @abstractmethod
    def pair(self, hypothesis: str, reference: str) -> _Row: ...


def _shared(hyp: Counter[tuple[str, ...]], ref: Counter[tuple[str, ...]]) -> _Row:
    """Compare the n-grams of two texts, each counted as often as both have it."""
    common = hyp.keys() & ref.keys()
    shared = sum(map(min, map(hyp.__getitem__, common), map(ref.__getitem__, common)))
    return _row(shared, hyp.total(), ref.total())


@dataclass(frozen=True)
class Rouge1(Rouge):
    """Shared words."""

    name = "rouge1"

    order: ClassVar[int] = 1

    def pair(self, hypothesis: str, reference: str) -> _Row:
        options = (self.order, self.tokenize, False, self.stemmer)
        return _shared(word_counts(hypothesis, *options), word_counts(reference, *options))


@dataclass(frozen=True)
class Rouge2(Rouge1):
    """Shared bigrams."""

    name = "rouge2"
    order = 2


@dataclass(frozen=True)
class Rouge4(Rouge1):
    """Shared four-grams."""

    name = "rouge4"
    order = 4


@dataclass(frozen=True)
class RougeL(Rouge):
    """The longest common subsequence."""

    name = "rougeL"

    def pair(self, hypothesis: str, reference: str) -> _Row:
        hyp, ref = (tokens(text, self.tokenize, False, self.stemmer) for text in (hypothesis, reference))
        length = self.common(hyp, ref) if hyp and ref else 0.0
        return _row(length, len(hyp), len(ref))

    def common(self, hyp: tuple[str, ...], ref: tuple[str, ...]) -> float:
        return LCSseq.similarity(hyp, ref)


@dataclass(frozen=True)
class RougeLsum(Rouge):
    """The longest common subsequence sentence by sentence, as rouge-score's rougeLsum (ROUGE-L of summaries).

    Each sentence of the reference counts the words that it shares, in order, with any sentence of the
    hypothesis, and no word more often than both texts have it. Sentences are lines, as in rouge-score;
    `split=sentences` finds them in texts that are not written so.
    """

    name = "rougeLsum"
    version = 2  # version 1 split a text of one line into sentences

    split: Literal["lines", "sentences"] = "lines"

    def pair(self, hypothesis: str, reference: str) -> _Row:
        hyp, ref = self._sentences(hypothesis), self._sentences(reference)
        words = Counter(chain.from_iterable(hyp))
        matched = Counter(word for sentence in ref for word in matched_words(sentence, hyp))
        return _row((matched & words).total(), words.total(), sum(map(len, ref)))

    def _sentences(self, text: str) -> list[tuple[str, ...]]:
        parts = split_sentences(text) if self.split == "sentences" else text.split("\n")
        return [tokens(part, self.tokenize, False, self.stemmer) for part in parts]


def matched_words(sentence: Sequence[str], others: Sequence[Sequence[str]]) -> list[str]:
    """Return the words of a sentence that it shares, in order, with any of the others."""
    places = {place for other in others for place in common_places(sentence, other)}
    return [sentence[place] for place in places]


def common_places(words: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return where the words of a longest common subsequence stand in `words`; of several, the latest."""
    length = LCSseq.similarity
    places, row, column = [], len(words), len(other)
    while row and column:
        if words[row - 1] == other[column - 1]:
            places.append(row - 1)
            row, column = row - 1, column - 1
        elif length(words[:row], other[: column - 1]) > length(words[: row - 1], other[:column]):
            column -= 1
        else:
            row -= 1
    return places[::-1]


@memo(budget=200_000)
def skip_counts(text: str, gap: int, tokenize: Tokenize, stemmer: bool) -> Counter[tuple[str, ...]]:
    """Count words, and pairs of words in order with at most `gap` words between them."""
    words = tokens(text, tokenize, False, stemmer)
    pairs = (pair for step in range(1, gap + 2) for pair in zip(words, words[step:], strict=False))
    return Counter([*((word,) for word in words), *pairs])


@dataclass(frozen=True)
class RougeSU4(Rouge):
    """Shared words and skip-bigrams with at most four words between (ROUGE-1.5.5 -2 4 -u)."""

    name = "rougeSU4"

    gap: NonNegative = 4

    def pair(self, hypothesis: str, reference: str) -> _Row:
        options = (self.gap, self.tokenize, self.stemmer)
        return _shared(skip_counts(hypothesis, *options), skip_counts(reference, *options))


def weighted_lcs(hyp: Sequence[str], ref: Sequence[str], weight: float) -> float:
    """Return the longest common subsequence where a run of k words counts k ** weight (Lin's section 4)."""
    code: dict[str, int] = {}
    rows, columns = ([code.setdefault(word, len(code)) for word in words] for words in (hyp, ref))
    # Reversed, the columns that meet rows first..last on a diagonal are a slice in the rows' order.
    left, right = np.array(rows), np.array(columns[::-1])
    size, width = len(rows), len(columns)
    gain = np.diff(np.arange(min(size, width) + 1.0) ** weight)
    # Values and run lengths of the two previous diagonals, by row; row 0 is the border.
    before = last = np.zeros(size + 1)
    runs_before = runs_last = np.zeros(size + 1, dtype=np.int64)
    for diagonal in range(size + width - 1):  # each is one vector operation
        first, end = max(0, diagonal - width + 1), min(size, diagonal + 1)
        column = width - 1 - diagonal + first
        same = left[first:end] == right[column : column + end - first]
        run = np.where(same, runs_before[first:end], 0)
        extended = before[first:end] + gain[run]
        other = np.maximum(last[first:end], last[first + 1 : end + 1])
        now, lengths = np.zeros(size + 1), np.zeros(size + 1, dtype=np.int64)
        now[first + 1 : end + 1] = np.where(same, extended, other)
        lengths[first + 1 : end + 1] = np.where(same, run + 1, 0)
        before, last = last, now
        runs_before, runs_last = runs_last, lengths
    return float(last[size])


@dataclass(frozen=True)
class RougeW(RougeL):
    """The longest common subsequence, runs of neighbouring words counted more (ROUGE-1.5.5 -w 1.2)."""

    name = "rouge-w"

    weight: float = 1.2

    def common(self, hyp: tuple[str, ...], ref: tuple[str, ...]) -> float:
        return math.pow(weighted_lcs(hyp, ref, self.weight), 1 / self.weight)
