"""Mover's distances on static embeddings: the cost of moving one text's words or sentences onto another's."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from assay.core import Floats, Sample, Scores
from assay.errors import MetricError
from assay.metrics.static import Known, Static, known_words, score_known
from assay.models.vectors import Embeddings

KUSNER = "Kusner et al. 2015, From Word Embeddings To Document Distances"
ROUNDING = 1e-15
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

    def __init__(self, known: Mapping[str, Known], table: Embeddings) -> None:
        rows = sorted({row for words in known.values() for row in words.rows})
        place = {row: at for at, row in enumerate(rows)}
        self.bags = {
            text: {place[row]: count / len(words.rows) for row, count in Counter(words.rows).items()}
            for text, words in known.items()
        }
        # |x - y|^2 is one product of (x, |x|^2, 1) and (-2y, 1, |y|^2).
        vectors = table.vectors(rows)
        norms, ones = (vectors * vectors).sum(axis=1, keepdims=True), np.ones((len(rows), 1))
        self._left = np.hstack([vectors, norms, ones])
        self._right = np.hstack([-2 * vectors, ones, norms])

    def distances(self, hyp: Sequence[int], ref: Sequence[int]) -> Floats:
        """Return distances: one row per word of one text, one column per word of the other."""
        squares = self._left.take(hyp, axis=0) @ self._right.take(ref, axis=0).T
        return np.asarray(np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares))


Distance = Callable[[Bag, Bag, Space], float]


def word_movers_distance(hyp: Bag, ref: Bag, space: Space) -> float:
    """Return the exact distance; what both texts have stays in place, since no detour is shorter."""
    common = hyp.keys() & ref.keys()
    excess, lack = (_surplus(hyp, ref, common), _surplus(ref, hyp, common)) if common else (hyp, ref)
    if not excess or not lack:
        return 0.0
    scale = sum(excess.values()) / sum(lack.values())
    weights = np.array([*excess.values()]), np.array([weight * scale for weight in lack.values()])
    return earth_mover(*weights, space.distances([*excess], [*lack]))


def _surplus(hyp: Bag, ref: Bag, common: Set[int]) -> Bag:
    more = {word: hyp[word] - ref[word] for word in common if hyp[word] - ref[word] > ROUNDING}
    return {word: weight for word, weight in hyp.items() if word not in common} | more


def relaxed_distance(hyp: Bag, ref: Bag, space: Space) -> float:
    """Return a lower bound: each word moves to its nearest; the larger of the two directions."""
    costs = space.distances([*hyp], [*ref])
    costs[costs < SAME_WORD] = 0.0
    forth = np.array([*hyp.values()]) @ costs.min(axis=1)
    back = np.array([*ref.values()]) @ costs.min(axis=0)
    return float(max(forth, back))


def mover_scores(metric: Static, samples: Sequence[Sample], distance: Distance) -> Scores:
    """Return negated distances between bags of words, per sample."""
    table, known = metric.look_up(samples)
    space = Space(known, table)
    bags = space.bags
    return score_known(samples, known, lambda hyp, ref: -distance(bags[hyp], bags[ref], space), metric.reduce)


@dataclass(frozen=True)
class WordMovers(Static):
    """Word Mover's Distance, exact, negated: 0 is the same bag of words."""

    name = "wmd"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER

    def prepare(self) -> None:
        """Import the solver too, whose package takes seconds."""
        super().prepare()
        _solver()

    def score(self, samples: Sequence[Sample]) -> Scores:
        return mover_scores(self, samples, word_movers_distance)


@dataclass(frozen=True)
class RelaxedWordMovers(Static):
    """The relaxed Word Mover's Distance, a quick lower bound, negated."""

    name = "wmd-relaxed"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER

    def score(self, samples: Sequence[Sample]) -> Scores:
        return mover_scores(self, samples, relaxed_distance)


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text as sentence vectors, weighted by their share of the words."""

    vectors: Floats
    weights: Floats


@dataclass(frozen=True)
class SentenceMovers(Static):
    """Sentence Mover's Similarity: exp of minus the distance between bags of sentence vectors."""

    name = "sms"
    range = (0.0, 1.0)
    citation = "Clark et al. 2019, Sentence Mover's Similarity: Evaluation for Multi-Sentence Texts, P19-1264"

    def prepare(self) -> None:
        """Import the solver too, whose package takes seconds."""
        super().prepare()
        _solver()

    def score(self, samples: Sequence[Sample]) -> Scores:
        table, known = self.look_up(samples)
        parts = {text: self._sentences(text, table) for text, words in known.items() if words.rows}

        def compare(hyp: str, ref: str) -> float:
            here, there = parts[hyp], parts[ref]
            gaps = here.vectors[:, None, :] - there.vectors[None, :, :]
            return math.exp(-earth_mover(here.weights, there.weights, np.linalg.norm(gaps, axis=2)))

        return score_known(samples, known, compare, self.reduce)

    def _sentences(self, text: str, table: Embeddings) -> Sentences:
        words = (known_words(part, self.tokenize, table).rows for part in _SENTENCE_END.split(text))
        rows = [part for part in words if part]
        counts = np.array([len(part) for part in rows], dtype=np.float64)
        vectors = np.array([table.vectors(part).mean(axis=0) for part in rows])
        return Sentences(vectors, counts / counts.sum())
