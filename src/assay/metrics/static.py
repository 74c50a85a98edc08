"""Metrics on fixed word vectors (GloVe): averages, extrema and greedy matches of two texts.

Words without a vector are left out and counted; a text without any known word has no score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import TextError
from assay.metrics.base import unit
from assay.metrics.text import Reduce, Tokenize, distinct_texts, reduced, tokens
from assay.models.vectors import Embeddings, embeddings
from assay.models.weights import pin

Pool = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Known:
    """A text as rows of the embeddings, in order, and how many of its words have none."""

    rows: list[int]
    missing: int


def known_words(text: str, tokenize: Tokenize, table: Embeddings) -> Known:
    """Return the words of a text that have a vector; the vocabulary is lower-case."""
    try:
        words = tokens(text, tokenize, True)
    except TextError as error:  # characters have no vectors, so another tokeniser alone would not help
        advice = "give word vectors of its language (model=) with tokenize=zh or char, or take chrf"
        raise TextError(error.problem, advice, text) from error
    rows = table.known(words)
    return Known(rows, len(words) - len(rows))


def score_known(
    samples: Sequence[Sample],
    known: Mapping[str, Known],
    compare: Callable[[str, str], float],
    reduce: Reduce,
) -> Scores:
    """Compare where both texts have known words; count the unknown words of all texts of a sample."""
    values: list[float | None] = []
    for sample in samples:
        usable = [text for text in sample.references if known[text].rows and known[sample.hypothesis].rows]
        values.append(reduced([compare(sample.hypothesis, text) for text in usable], reduce))
    missing = [
        sum(known[text].missing for text in (sample.hypothesis, *sample.references)) for sample in samples
    ]
    return Scores(values, {"out_of_vocabulary": missing})


def average(vectors: Floats) -> Floats:
    """Return the mean word vector."""
    return np.asarray(vectors.mean(axis=0))


def extrema(vectors: Floats) -> Floats:
    """Return in each dimension the value farthest from 0."""
    high, low = vectors.max(axis=0), vectors.min(axis=0)
    return np.asarray(np.where(-low > high, low, high))


@dataclass(frozen=True)
class Static(Metric):
    """What metrics on word vectors share: the vectors, the tokens, the reduction over references."""

    paradigm = "static-embedding"
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)
    symmetric = True
    identity_highest = True
    weights = ("model",)
    model: str = "glove"
    tokenize: Tokenize = "ptb"
    reduce: Reduce = "max"

    def pins(self) -> Mapping[str, str]:
        return {"model": pin(self.model)}

    def prepare(self) -> None:
        embeddings(self.model)

    def look_up(self, samples: Sequence[Sample]) -> tuple[Embeddings, dict[str, Known]]:
        """Return the vectors, and the known words of each distinct text."""
        table = embeddings(self.model)
        return table, {text: known_words(text, self.tokenize, table) for text in distinct_texts(samples)}


def _pooled_scores(metric: Static, samples: Sequence[Sample], pool: Pool) -> Scores:
    """Return the cosine of one vector per text."""
    table, known = metric.look_up(samples)
    vectors = {text: unit(pool(table.vectors(words.rows))) for text, words in known.items() if words.rows}
    return score_known(samples, known, lambda hyp, ref: float(vectors[hyp] @ vectors[ref]), metric.reduce)


def _pooled_grid(metric: Static, rows: Sequence[str], columns: Sequence[str], pool: Pool) -> Floats:
    """Return all cosines, nan for a text without any known word."""
    table = embeddings(metric.model)
    absent = np.full(table.matrix.shape[1], np.nan)

    def stacked(texts: Sequence[str]) -> Floats:
        known = [known_words(text, metric.tokenize, table).rows for text in texts]
        return np.stack([unit(pool(table.vectors(words))) if words else absent for words in known])

    return np.asarray(stacked(rows) @ stacked(columns).T)


@dataclass(frozen=True)
class EmbeddingAverage(Static):
    """The cosine of the texts' mean word vectors."""

    name = "embedding-average"
    citation = "Landauer & Dumais 1997, A solution to Plato's problem; as in Liu et al. 2016, D16-1230"

    def score(self, samples: Sequence[Sample]) -> Scores:
        return _pooled_scores(self, samples, average)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        return _pooled_grid(self, rows, columns, average)


@dataclass(frozen=True)
class VectorExtrema(Static):
    """The cosine of the texts' most extreme values in each dimension."""

    name = "vector-extrema"
    citation = "Forgues et al. 2014, Bootstrapping Dialog Systems with Word Embeddings"

    def score(self, samples: Sequence[Sample]) -> Scores:
        return _pooled_scores(self, samples, extrema)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        return _pooled_grid(self, rows, columns, extrema)


@dataclass(frozen=True)
class GreedyMatching(Static):
    """The mean cosine of each word with its nearest in the other text, both directions averaged."""

    name = "greedy-matching"
    citation = "Rus & Lintean 2012, A Comparison of Greedy and Optimal Assessment, W12-2018"

    def score(self, samples: Sequence[Sample]) -> Scores:
        table, known = self.look_up(samples)
        vectors = {text: unit(table.vectors(words.rows)) for text, words in known.items()}

        def compare(hyp: str, ref: str) -> float:
            cosines = vectors[hyp] @ vectors[ref].T
            return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2

        return score_known(samples, known, compare, self.reduce)

    def explain(self, sample: Sample) -> Explanation | None:
        """Return the cosine of every word with every word of the first reference."""
        table = embeddings(self.model)
        texts = (sample.hypothesis, sample.references[0])
        hyp, ref = (
            [word for word in tokens(text, self.tokenize, True) if word in table.rows] for text in texts
        )
        if not hyp or not ref:
            return None
        cosines = unit(table.vectors(table.known(hyp))) @ unit(table.vectors(table.known(ref))).T
        return Explanation("matching", tuple(hyp), tuple(ref), tuple(map(tuple, cosines.tolist())))
