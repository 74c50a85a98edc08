"""Mover's distances on static embeddings: how far words or sentences travel to become the other text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from assay.core import Floats, Sample, Scores
from assay.errors import MetricError
from assay.metrics.static import Known, Reduce, Static, distinct_texts, known_words, score_known
from assay.metrics.text import Tokenize
from assay.models.static import Embeddings, embeddings

KUSNER = "Kusner et al. 2015, From Word Embeddings To Document Distances"
ROUNDING = 1e-15
SAME_WORD = 1e-5  # a word is that far from itself at most, by rounding
MAX_ITERATIONS = 1_000_000
Bag = dict[int, float]


def earth_mover(mine: Floats, theirs: Floats, costs: Floats) -> float:
    """The least cost of moving a mass onto an equal one, exactly (POT's network simplex)."""
    if len(mine) == 1 or len(theirs) == 1:
        return float(costs.ravel() @ (theirs if len(mine) == 1 else mine))
    _, cost, *_, status = _solver()(mine, theirs, costs, MAX_ITERATIONS, 1)
    if status != 1:
        raise MetricError(f"the transport solver gave up on {costs.shape[0]} by {costs.shape[1]} words")
    return float(cost)


@cache
def _solver() -> Any:
    # ot.emd2 checks and converts its input for ten times as long as this solves two sentences.
    from ot.lp.emd_wrap import emd_c

    return emd_c


class Space:
    """The words of many texts: their vectors are read once, and texts are bags of places in it."""

    def __init__(self, known: Mapping[str, Known], table: Embeddings) -> None:
        rows = sorted({row for one in known.values() for row in one.rows})
        place = {row: at for at, row in enumerate(rows)}
        self.bags = {
            text: {place[row]: count / len(one.rows) for row, count in Counter(one.rows).items()}
            for text, one in known.items()
        }
        # |x - y|^2 is one product of (x, |x|^2, 1) and (-2y, 1, |y|^2).
        vectors = table.vectors(rows)
        norms, ones = (vectors * vectors).sum(axis=1, keepdims=True), np.ones((len(rows), 1))
        self._left = np.hstack([vectors, norms, ones])
        self._right = np.hstack([-2 * vectors, ones, norms])

    def distances(self, mine: Sequence[int], theirs: Sequence[int]) -> Floats:
        """A row a word of one text, a column a word of the other."""
        squares = self._left.take(mine, axis=0) @ self._right.take(theirs, axis=0).T
        return np.asarray(np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares))


def word_movers_distance(mine: Bag, theirs: Bag, space: Space) -> float:
    """Exact. What both texts have stays in place: no detour is shorter, since distances are a metric."""
    common = mine.keys() & theirs.keys()
    here, there = (
        (_surplus(mine, theirs, common), _surplus(theirs, mine, common)) if common else (mine, theirs)
    )
    if not here or not there:
        return 0.0
    scale = sum(here.values()) / sum(there.values())
    weights = np.array([*here.values()]), np.array([weight * scale for weight in there.values()])
    return earth_mover(*weights, space.distances([*here], [*there]))


def _surplus(mine: Bag, theirs: Bag, common: Set[int]) -> Bag:
    more = {word: mine[word] - theirs[word] for word in common if mine[word] - theirs[word] > ROUNDING}
    return {word: weight for word, weight in mine.items() if word not in common} | more


def relaxed_distance(mine: Bag, theirs: Bag, space: Space) -> float:
    """A lower bound: each word goes to its nearest, the dearer of the two directions."""
    costs = space.distances([*mine], [*theirs])
    costs[costs < SAME_WORD] = 0.0
    forth = np.array([*mine.values()]) @ costs.min(axis=1)
    back = np.array([*theirs.values()]) @ costs.min(axis=0)
    return float(max(forth, back))


def mover_scores(
    samples: Sequence[Sample], model: str, tokenize: Tokenize, reduce: Reduce, *, relaxed: bool
) -> Scores:
    """Distances, negated; the words of all texts are looked up once."""
    table = embeddings(model)
    known = {text: known_words(text, tokenize, table) for text in distinct_texts(samples)}
    space = Space(known, table)
    measure = relaxed_distance if relaxed else word_movers_distance
    bags = space.bags
    return score_known(samples, known, lambda mine, theirs: -measure(bags[mine], bags[theirs], space), reduce)


@dataclass(frozen=True)
class WordMovers(Static):
    """Word Mover's Distance, exact, negated: 0 is the same bag of words."""

    name = "wmd"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER

    def prepare(self) -> None:
        """Load the vocabulary and the solver, whose package takes seconds to import."""
        embeddings(self.model)
        _solver()

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The nearest reference counts."""
        return mover_scores(samples, self.model, self.tokenize, self.reduce, relaxed=False)


@dataclass(frozen=True)
class RelaxedWordMovers(Static):
    """The relaxed Word Mover's Distance, a quick lower bound, negated."""

    name = "wmd-relaxed"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The nearest reference counts."""
        return mover_scores(samples, self.model, self.tokenize, self.reduce, relaxed=True)


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text as sentence vectors, weighted by their share of the words."""

    vectors: Floats
    weights: Floats


def sentences(text: str, tokenize: Tokenize, table: Embeddings) -> Sentences:
    """Sentences end at . ! or ? before white space, or at a line end."""
    parts = (known_words(part, tokenize, table).rows for part in re.split(r"(?<=[.!?])\s+|\n+", text))
    rows = [part for part in parts if part]
    counts = np.array([len(part) for part in rows], dtype=np.float64)
    return Sentences(np.array([table.vectors(part).mean(axis=0) for part in rows]), counts / counts.sum())


@dataclass(frozen=True)
class SentenceMovers(Static):
    """Sentence Mover's Similarity: exp of minus the distance between bags of sentence vectors."""

    name = "sms"
    range = (0.0, 1.0)
    citation = "Clark et al. 2019, Sentence Mover's Similarity: Evaluation for Multi-Sentence Texts, P19-1264"

    def prepare(self) -> None:
        """Load the vocabulary and the solver, whose package takes seconds to import."""
        embeddings(self.model)
        _solver()

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The nearest reference counts."""
        table = embeddings(self.model)
        texts = distinct_texts(samples)
        known = {text: known_words(text, self.tokenize, table) for text in texts}
        parts = {text: sentences(text, self.tokenize, table) for text in texts if known[text].rows}

        def compare(mine: str, theirs: str) -> float:
            one, other = parts[mine], parts[theirs]
            gaps = one.vectors[:, None, :] - other.vectors[None, :, :]
            return math.exp(-earth_mover(one.weights, other.weights, np.linalg.norm(gaps, axis=2)))

        return score_known(samples, known, compare, self.reduce)
