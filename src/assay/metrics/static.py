"""Words as fixed vectors (GloVe): averages, extrema and greedy matches of two texts.

Words without a vector are left out and counted; a text without any known word has no score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.errors import TextError
from assay.metrics.text import Tokenize, tokens
from assay.models.static import Embeddings, embeddings

Reduce = Literal["max", "mean"]


@dataclass(frozen=True, slots=True)
class Known:
    """A text as rows of the embeddings, in order, and how many of its words have none."""

    rows: list[int]
    missing: int


def known_words(text: str, tokenize: Tokenize, table: Embeddings) -> Known:
    """The words of a text that have a vector; the vocabulary is lower-case."""
    try:
        words = tokens(text, tokenize, True)
    except TextError as error:  # characters have no vectors: another tokeniser alone would not help
        advice = "give word vectors of its language (model=) with tokenize=zh or char, or take chrf"
        raise TextError(error.problem, advice, text) from error
    rows = table.known(words)
    return Known(rows, len(words) - len(rows))


def distinct_texts(samples: Sequence[Sample]) -> list[str]:
    """Each text of the samples once."""
    return list(dict.fromkeys(text for sample in samples for text in (sample.hypothesis, *sample.references)))


def score_known(
    samples: Sequence[Sample],
    known: Mapping[str, Known],
    compare: Callable[[str, str], float],
    reduce: Reduce,
) -> Scores:
    """Compare where both texts have known words; count the unknown ones of all texts of a sample."""
    values: list[float | None] = []
    for sample in samples:
        usable = [text for text in sample.references if known[text].rows]
        found = [compare(sample.hypothesis, text) for text in usable] if known[sample.hypothesis].rows else []
        if not found:
            values.append(None)
        else:
            values.append(max(found) if reduce == "max" else sum(found) / len(found))
    missing = [
        sum(known[text].missing for text in (sample.hypothesis, *sample.references)) for sample in samples
    ]
    return Scores(values, {"out_of_vocabulary": missing})


def pinned(model: str) -> dict[str, str]:
    """The digest of the vectors, for signatures."""
    from assay.models.weights import pin

    return {"model": pin(model)}


def unit(vectors: Floats) -> Floats:
    """Rows of length 1; a zero row stays."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0))


def average(vectors: Floats) -> Floats:
    """The mean word vector."""
    return np.asarray(vectors.mean(axis=0))


def extrema(vectors: Floats) -> Floats:
    """In each dimension the value farthest from 0."""
    high, low = vectors.max(axis=0), vectors.min(axis=0)
    return np.asarray(np.where(-low > high, low, high))


def pooled_scores(
    samples: Sequence[Sample],
    model: str,
    tokenize: Tokenize,
    reduce: Reduce,
    pool: Callable[[Floats], Floats],
) -> Scores:
    """Cosines of one vector a text."""
    table = embeddings(model)
    known = {text: known_words(text, tokenize, table) for text in distinct_texts(samples)}
    vectors = {text: unit(pool(table.vectors(one.rows))) for text, one in known.items() if one.rows}
    return score_known(samples, known, lambda mine, theirs: float(vectors[mine] @ vectors[theirs]), reduce)


def pooled_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    model: str,
    tokenize: Tokenize,
    pool: Callable[[Floats], Floats],
) -> Floats:
    """All cosines at once; nan for a text without any known word."""
    table = embeddings(model)

    def stacked(texts: Sequence[str]) -> Floats:
        known = [known_words(text, tokenize, table).rows for text in texts]
        absent = np.full(table.matrix.shape[1], np.nan)
        return np.stack([unit(pool(table.vectors(one))) if one else absent for one in known])

    return np.asarray(stacked(rows) @ stacked(columns).T)


@dataclass(frozen=True)
class Static(Metric):
    """What metrics on word vectors share: the vectors, the words looked up, the rule of references."""

    paradigm = "static-embedding"
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)
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


@dataclass(frozen=True)
class EmbeddingAverage(Static):
    """The cosine of the texts' mean word vectors."""

    name = "embedding-average"
    citation = "Landauer & Dumais 1997, A solution to Plato's problem; as in Liu et al. 2016, D16-1230"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """A cosine a sample."""
        return pooled_scores(samples, self.model, self.tokenize, self.reduce, average)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """One matrix product."""
        return pooled_grid(rows, columns, self.model, self.tokenize, average)


@dataclass(frozen=True)
class VectorExtrema(Static):
    """The cosine of the texts' most extreme values in each dimension."""

    name = "vector-extrema"
    citation = "Forgues et al. 2014, Bootstrapping Dialog Systems with Word Embeddings"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """A cosine a sample."""
        return pooled_scores(samples, self.model, self.tokenize, self.reduce, extrema)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """One matrix product."""
        return pooled_grid(rows, columns, self.model, self.tokenize, extrema)


@dataclass(frozen=True)
class GreedyMatching(Static):
    """Each word with its nearest in the other text: the mean cosine, both directions averaged."""

    name = "greedy-matching"
    citation = "Rus & Lintean 2012, A Comparison of Greedy and Optimal Assessment, W12-2018"

    def score(self, samples: Sequence[Sample]) -> Scores:
        """A mean cosine a sample."""
        table = embeddings(self.model)
        known = {text: known_words(text, self.tokenize, table) for text in distinct_texts(samples)}
        vectors = {text: unit(table.vectors(one.rows)) for text, one in known.items()}

        def compare(mine: str, theirs: str) -> float:
            cosines = vectors[mine] @ vectors[theirs].T
            return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2

        return score_known(samples, known, compare, self.reduce)

    def explain(self, sample: Sample) -> Explanation | None:
        """The cosine of every word with every word of the first reference."""
        table = embeddings(self.model)
        texts = (sample.hypothesis, sample.references[0])
        mine, theirs = (
            [word for word in tokens(text, self.tokenize, True) if word in table.rows] for text in texts
        )
        if not mine or not theirs:
            return None
        cosines = unit(table.vectors(table.known(mine))) @ unit(table.vectors(table.known(theirs))).T
        return Explanation("matching", tuple(mine), tuple(theirs), tuple(map(tuple, cosines.tolist())))
