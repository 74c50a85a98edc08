"""Metrics of static word vectors: averages, extrema, greedy matching and word mover's distance."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import MetricError, TextError
from assay.metrics.base import best_matches, matching_explanation, unit
from assay.metrics.text import Reduce, Tokenize, compare_references, distinct_texts, tokens
from assay.models.vectors import Embeddings, embeddings
from assay.models.weights import pin
from assay.vocabulary import CostClass

_Rows = Mapping[str, list[int]]  # of the vectors, by text


def lower_words(text: str, tokenize: Tokenize) -> tuple[str, ...]:
    """Return the words of a text as word vectors name them."""
    try:
        return tokens(text, tokenize, True)
    except TextError as error:  # characters have no vectors, so another tokeniser alone would not help
        advice = "give word vectors of its language (model=) with tokenize=zh or char, or take chrf"
        raise TextError(error.problem, advice, text) from error


@dataclass(frozen=True)
class Static(Metric):
    """What metrics on word vectors share: the vectors, the tokens, the reduction over references."""

    # version 1 parted words as Stanford's tokeniser does in 95 of 100 sentences; now in more than 99
    version = 2
    paradigm = "static-embedding"
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)
    symmetric = True
    identity_highest = True
    weights = ("model",)
    solves: ClassVar[bool] = False  # whether it needs the transport solver

    model: str = "glove"
    tokenize: Tokenize = "ptb"
    reduce: Reduce = "max"

    def pins(self) -> Mapping[str, str]:
        return {"model": pin(self.model)}

    def prepare(self) -> None:
        embeddings(self.model)
        if self.solves:
            _solver()  # importing its package takes seconds

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Compare where both texts have known words; count the unknown words of all texts of a sample."""
        table = embeddings(self.model)
        known: dict[str, list[int]] = {}
        unknown: dict[str, int] = {}
        for text in distinct_texts(samples):
            words = lower_words(text, self.tokenize)
            known[text] = table.known(words)
            unknown[text] = len(words) - len(known[text])
        compare = self.comparison({text: rows for text, rows in known.items() if rows}, table)

        def compare_known(hyp: str, ref: str) -> float | None:
            return compare(hyp, ref) if known[hyp] and known[ref] else None

        return compare_references(samples, compare_known, self.reduce, out_of_vocabulary=unknown.__getitem__)

    @abstractmethod
    def comparison(self, rows: _Rows, table: Embeddings) -> Callable[[str, str], float]:
        """Return the function that compares two of the texts whose rows are given."""


@dataclass(frozen=True)
class _Pooled(Static):
    """The cosine of one vector per text: vectors are looked up and added, no model is run."""

    @property
    def cost(self) -> CostClass:
        return "words"

    @staticmethod
    @abstractmethod
    def pool(vectors: Floats) -> Floats: ...

    def comparison(self, rows: _Rows, table: Embeddings) -> Callable[[str, str], float]:
        vectors = {text: unit(self.pool(table.vectors(words))) for text, words in rows.items()}
        return lambda hyp, ref: float(vectors[hyp] @ vectors[ref])

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """Return all cosines, nan for a text without any known word."""
        table = embeddings(self.model)
        absent = np.full(table.matrix.shape[1], np.nan)

        def stacked(texts: Sequence[str]) -> Floats:
            known = [table.known(lower_words(text, self.tokenize)) for text in texts]
            return np.stack([unit(self.pool(table.vectors(words))) if words else absent for words in known])

        return np.asarray(stacked(rows) @ stacked(columns).T)


@dataclass(frozen=True)
class EmbeddingAverage(_Pooled):
    """The cosine of the texts' mean word vectors."""

    name = "embedding-average"
    citation = "Landauer & Dumais 1997, A solution to Plato's problem; as in Liu et al. 2016, D16-1230"

    @staticmethod
    def pool(vectors: Floats) -> Floats:
        return np.asarray(vectors.mean(axis=0))


@dataclass(frozen=True)
class VectorExtrema(_Pooled):
    """The cosine of the texts' most extreme values in each dimension."""

    name = "vector-extrema"
    citation = "Forgues et al. 2014, Bootstrapping Dialog Systems with Word Embeddings"

    @staticmethod
    def pool(vectors: Floats) -> Floats:
        high, low = vectors.max(axis=0), vectors.min(axis=0)
        return np.asarray(np.where(-low > high, low, high))


@dataclass(frozen=True)
class GreedyMatching(Static):
    """The mean cosine of each word with its nearest in the other text, both directions averaged."""

    name = "greedy-matching"
    citation = "Rus & Lintean 2012, A Comparison of Greedy and Optimal Assessment, W12-2018"

    def comparison(self, rows: _Rows, table: Embeddings) -> Callable[[str, str], float]:
        vectors = {text: unit(table.vectors(words)) for text, words in rows.items()}
        return lambda hyp, ref: sum(best_matches(vectors[hyp], vectors[ref])[:2]) / 2

    def explain(self, sample: Sample) -> Explanation | None:
        """Return the cosine of every word with every word of the first reference."""
        table = embeddings(self.model)
        texts = (sample.hypothesis, sample.references[0])
        hyp, ref = ([w for w in tokens(text, self.tokenize, True) if w in table.rows] for text in texts)
        if not hyp or not ref:
            return None
        cosines = unit(table.vectors(table.known(hyp))) @ unit(table.vectors(table.known(ref))).T
        return matching_explanation(hyp, ref, cosines)


_ROUNDING = 1e-15
SAME_WORD = 1e-5  # rounding gives a word at most this distance from itself
MAX_ITERATIONS = 1_000_000
# The split that this metric's scores have always rested on; `models.nlp.split_sentences` would change them.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
Bag = dict[int, float]


def earth_mover(hyp: Floats, ref: Floats, costs: Floats) -> float:
    """Return the exact least cost of moving one mass onto an equal one (POT's network simplex)."""
    if len(hyp) == 1 or len(ref) == 1:
        return float(costs.ravel() @ (ref if len(hyp) == 1 else hyp))
    _, cost, *_, status = _solver()(hyp, ref, costs, MAX_ITERATIONS, 1)
    if status != 1:
        raise MetricError(f"the transport solver gave up on {costs.shape[0]} by {costs.shape[1]} words")
    return float(cost)


@cache
def _solver() -> Any:
    # ot.emd2 spends ten times as long on checking its input as this does on solving two sentences.
    from ot.lp.emd_wrap import emd_c

    return emd_c


class Space:
    """The vectors of all words of some texts, and each text as a bag of places among them."""

    def __init__(self, known: _Rows, table: Embeddings) -> None:
        distinct = sorted({row for rows in known.values() for row in rows})
        place = {row: at for at, row in enumerate(distinct)}
        self.bags: dict[str, Bag] = {}
        for text, rows in known.items():
            counts, length = Counter([place[row] for row in rows]), len(rows)
            self.bags[text] = {word: count / length for word, count in counts.items()}
        # |x - y|^2 is one product of (x, |x|^2, 1) and (-2y, 1, |y|^2).
        vectors = table.vectors(distinct)
        norms, ones = (vectors * vectors).sum(axis=1, keepdims=True), np.ones((len(distinct), 1))
        self._left = np.hstack([vectors, norms, ones])
        self._right = np.hstack([-2 * vectors, ones, norms])

    def distances(self, hyp: Sequence[int], ref: Sequence[int]) -> Floats:
        """Return distances: one row per word of one text, one column per word of the other."""
        squares = self._left.take(hyp, axis=0) @ self._right.take(ref, axis=0).T
        return np.asarray(np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares))


def _differences(hyp: Bag, ref: Bag) -> tuple[Bag, Bag]:
    """Return what each text has more of than the other."""
    excess, lack = {}, ref.copy()
    for word, weight in hyp.items():
        more = weight - lack.pop(word, 0.0)
        if more > _ROUNDING:
            excess[word] = more
        elif more < -_ROUNDING:
            lack[word] = -more
    return excess, lack


@dataclass(frozen=True)
class WordMovers(Static):
    """Word Mover's Distance, exact, negated: 0 is the same bag of words."""

    name = "wmd"
    range = (None, 0.0)
    original = "lower"
    solves = True
    packages: ClassVar[tuple[str, ...]] = ("ot",)
    extra = "neural"
    citation = "Kusner et al. 2015, From Word Embeddings To Document Distances"

    def comparison(self, rows: _Rows, table: Embeddings) -> Callable[[str, str], float]:
        space = Space(rows, table)
        return lambda hyp, ref: -self.distance(space.bags[hyp], space.bags[ref], space)

    def distance(self, hyp: Bag, ref: Bag, space: Space) -> float:
        """Return the exact distance; what both texts have stays in place, since no detour is shorter."""
        excess, lack = _differences(hyp, ref)
        if not excess or not lack:
            return 0.0
        weights, others = np.array([*excess.values()]), np.array([*lack.values()])
        others *= sum(excess.values()) / sum(lack.values())
        return earth_mover(weights, others, space.distances([*excess], [*lack]))


@dataclass(frozen=True)
class RelaxedWordMovers(WordMovers):
    """The relaxed Word Mover's Distance, a quick lower bound, negated."""

    name = "wmd-relaxed"
    solves = False
    packages = ()

    def distance(self, hyp: Bag, ref: Bag, space: Space) -> float:
        """Let each word move to its nearest; the larger of the two directions counts."""
        costs = space.distances([*hyp], [*ref])
        costs[costs < SAME_WORD] = 0.0
        forth = np.array([*hyp.values()]) @ costs.min(axis=1)
        back = np.array([*ref.values()]) @ costs.min(axis=0)
        return float(max(forth, back))


@dataclass(frozen=True)
class SentenceMovers(Static):
    """Sentence Mover's Similarity: exp of minus the distance between bags of sentence vectors."""

    name = "sms"
    range = (0.0, 1.0)
    solves = True
    packages = ("ot",)
    extra = "neural"
    citation = "Clark et al. 2019, Sentence Mover's Similarity: Evaluation for Multi-Sentence Texts, P19-1264"

    def comparison(self, rows: _Rows, table: Embeddings) -> Callable[[str, str], float]:
        parts = {text: self._sentences(text, table) for text in rows}

        def compare(hyp: str, ref: str) -> float:
            (here, weights), (there, other_weights) = parts[hyp], parts[ref]
            gaps = here[:, None, :] - there[None, :, :]
            return math.exp(-earth_mover(weights, other_weights, np.linalg.norm(gaps, axis=2)))

        return compare

    def _sentences(self, text: str, table: Embeddings) -> tuple[Floats, Floats]:
        """Return sentence vectors, and their weights by the share of the words."""
        words = (table.known(lower_words(part, self.tokenize)) for part in _SENTENCE_END.split(text))
        rows = [part for part in words if part]
        counts = np.array([len(part) for part in rows], dtype=np.float64)
        vectors = np.array([table.vectors(part).mean(axis=0) for part in rows])
        return vectors, counts / counts.sum()
