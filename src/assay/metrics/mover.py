"""Mover's distances on static embeddings: how far words or sentences travel to become the other text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import MetricError
from assay.metrics.static import (
    Embeddings,
    Known,
    Reduce,
    distinct_texts,
    embeddings,
    known_words,
    pinned,
    score_known,
)
from assay.metrics.text import Tokenize

KUSNER = "Kusner et al. 2015, From Word Embeddings To Document Distances"
SHARED_WORDS = 3000  # distances among so many words at once take 72 MB
ROUNDING = 1e-15
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


def bag(rows: Sequence[int]) -> Bag:
    """Relative frequencies of rows."""
    return {row: count / len(rows) for row, count in Counter(rows).items()}


def euclidean(mine: Floats, theirs: Floats) -> Floats:
    """All distances, through one product."""
    squares = (mine * mine).sum(axis=1)[:, None] + (theirs * theirs).sum(axis=1) - 2 * mine @ theirs.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


class Distances:
    """Distances among the words of many texts, computed once."""

    def __init__(self, rows: Sequence[int], table: Embeddings) -> None:
        self._place = {row: place for place, row in enumerate(rows)}
        vectors = table.vectors(rows)
        self._matrix = euclidean(vectors, vectors)
        np.fill_diagonal(self._matrix, 0.0)

    def between(self, mine: Sequence[int], theirs: Sequence[int]) -> Floats:
        """A row a word of one text, a column a word of the other."""
        place = self._place
        rows, columns = np.array([place[row] for row in mine]), np.array([place[row] for row in theirs])
        return np.asarray(self._matrix[rows[:, None], columns])


def word_movers_distance(mine: Bag, theirs: Bag, distances: Distances) -> float:
    """Exact. What both texts have stays in place: no detour is shorter, since distances are a metric."""
    here, there = _surplus(mine, theirs), _surplus(theirs, mine)
    if not here or not there:
        return 0.0
    scale = sum(here.values()) / sum(there.values())
    weights = np.array([*here.values()]), np.array([weight * scale for weight in there.values()])
    return earth_mover(*weights, distances.between([*here], [*there]))


def _surplus(mine: Bag, theirs: Bag) -> Bag:
    common = mine.keys() & theirs.keys()
    alone = {row: weight for row, weight in mine.items() if row not in common}
    for row in common:
        if mine[row] - theirs[row] > ROUNDING:
            alone[row] = mine[row] - theirs[row]
    return alone


def relaxed_distance(mine: Bag, theirs: Bag, distances: Distances) -> float:
    """A lower bound: each word goes to its nearest, the dearer of the two directions."""
    costs = distances.between([*mine], [*theirs])
    forth = np.array([*mine.values()]) @ costs.min(axis=1)
    back = np.array([*theirs.values()]) @ costs.min(axis=0)
    return float(max(forth, back))


def _chunks(samples: Sequence[Sample], known: Mapping[str, Known]) -> Iterator[tuple[slice, list[int]]]:
    """Runs of samples that share few enough words for one distance matrix (one sample may have more)."""
    start, held = 0, set[int]()
    for at, sample in enumerate(samples):
        rows = {row for text in (sample.hypothesis, *sample.references) for row in known[text].rows}
        if held and len(held | rows) > SHARED_WORDS:
            yield slice(start, at), sorted(held)
            start, held = at, set()
        held |= rows
    yield slice(start, len(samples)), sorted(held)


def mover_scores(
    samples: Sequence[Sample], model: str, tokenize: Tokenize, reduce: Reduce, *, relaxed: bool
) -> Scores:
    """Distances, negated, with shared distance work."""
    table = embeddings(model)
    known = {text: known_words(text, tokenize, table) for text in distinct_texts(samples)}
    bags = {text: bag(one.rows) for text, one in known.items()}
    measure = relaxed_distance if relaxed else word_movers_distance
    values: list[float | None] = []
    missing: list[int] = []
    for part, rows in _chunks(samples, known):
        distances = Distances(rows, table)

        def compare(mine: str, theirs: str, distances: Distances = distances) -> float:
            return -measure(bags[mine], bags[theirs], distances)

        found = score_known(samples[part], known, compare, reduce)
        values += found.values
        missing += found.notes["out_of_vocabulary"]
    return Scores(values, {"out_of_vocabulary": missing})


@dataclass(frozen=True)
class WordMovers(Metric):
    """Word Mover's Distance, exact, negated: 0 is the same bag of words."""

    name = "wmd"
    paradigm = "static-embedding"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER
    symmetric = True
    identity_highest = True
    weights = ("model",)
    model: str = "glove"
    tokenize: Tokenize = "ptb"
    reduce: Reduce = "max"

    def pins(self) -> Mapping[str, str]:
        """The vectors."""
        return pinned(self.model)

    def prepare(self) -> None:
        """Load the vocabulary."""
        embeddings(self.model)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """The nearest reference counts."""
        return mover_scores(samples, self.model, self.tokenize, self.reduce, relaxed=False)


@dataclass(frozen=True)
class RelaxedWordMovers(Metric):
    """The relaxed Word Mover's Distance, a quick lower bound, negated."""

    name = "wmd-relaxed"
    paradigm = "static-embedding"
    range = (None, 0.0)
    original = "lower"
    citation = KUSNER
    symmetric = True
    identity_highest = True
    weights = ("model",)
    model: str = "glove"
    tokenize: Tokenize = "ptb"
    reduce: Reduce = "max"

    def pins(self) -> Mapping[str, str]:
        """The vectors."""
        return pinned(self.model)

    def prepare(self) -> None:
        """Load the vocabulary."""
        embeddings(self.model)

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
class SentenceMovers(Metric):
    """Sentence Mover's Similarity: exp of minus the distance between bags of sentence vectors."""

    name = "sms"
    paradigm = "static-embedding"
    range = (0.0, 1.0)
    citation = "Clark et al. 2019, Sentence Mover's Similarity: Evaluation for Multi-Sentence Texts, P19-1264"
    symmetric = True
    identity_highest = True
    weights = ("model",)
    model: str = "glove"
    tokenize: Tokenize = "ptb"
    reduce: Reduce = "max"

    def pins(self) -> Mapping[str, str]:
        """The vectors."""
        return pinned(self.model)

    def prepare(self) -> None:
        """Load the vocabulary."""
        embeddings(self.model)

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
