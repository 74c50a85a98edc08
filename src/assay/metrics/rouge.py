"""ROUGE: n-grams, longest common subsequences and skip-bigrams shared with the references (Lin, 2004)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from rapidfuzz.distance import LCSseq

from assay.core import Metric, Sample, ScoreAnswer
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

    def score(self, samples: Sequence[Sample]) -> ScoreAnswer:
        rows: list[Any] = [self._of(sample) if sample.references else None for sample in samples]
        return rows

    def _of(self, sample: Sample) -> _Row:
        rows = [self.pair(sample.hypothesis, reference) for reference in sample.references]
        if self.reduce == "max":
            return max(rows, key=lambda row: row[0])
        f, precision, recall = np.mean(rows, axis=0).tolist()
        return f, precision, recall

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
        hyp, ref = (self._sentences(text) for text in (hypothesis, reference))
        left, right = (Counter(word for words in side for word in words) for side in (hyp, ref))
        sizes = left.total(), right.total()
        shared = 0
        for words in ref:
            places = sorted({place for other in hyp for place in common_places(words, other)})
            for word in (words[place] for place in places):
                if left[word] > 0 and right[word] > 0:
                    shared += 1
                    left[word] -= 1
                    right[word] -= 1
        return _row(shared, *sizes)

    def _sentences(self, text: str) -> list[tuple[str, ...]]:
        parts = split_sentences(text) if self.split == "sentences" else text.split("\n")
        return [tokens(part, self.tokenize, False, self.stemmer) for part in parts]


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
