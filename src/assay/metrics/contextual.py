"""Metrics of contextual embeddings: MoverScore, sentence cosine and sentence mover's similarity."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal, Self

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.metrics.base import Neural, matching_explanation, unit
from assay.metrics.bertscore import IdfTable, idf_table, last_layer, matching_scores, refuse_table
from assay.metrics.text import Reduce, compare_references, distinct_texts
from assay.models.encoder import Differentiable, Embedded, cosine_scores, embed, pooled, prompt_by_name
from assay.models.torch import Loaded, Overlong, Precision, content_ids
from assay.vocabulary import Layer

_PUNCTUATION = frozenset(string.punctuation)


def transport(cost: Floats, hyp: Floats, ref: Floats) -> Floats:
    """Return the exact optimal flow between two weightings that each sum to 1."""
    if len(hyp) == 1 or len(ref) == 1:  # only one flow is possible
        return np.outer(hyp, ref)
    import ot

    return np.asarray(ot.emd(hyp, ref, cost, numItermax=1_000_000))


@dataclass(frozen=True, slots=True)
class Cloud:
    """A text's points, their weights, which sum to 1, and the token of each."""

    points: Floats
    weights: Floats
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class MoverScore(Neural, Metric):
    """1 / (1 + word mover's distance) of unit embeddings, as the authors' second version computes it.

    Embeddings are those of the last layer (`layer=` takes another). Punctuation and continued word pieces
    carry no weight. Without idf, or before `fitted`, all other tokens weigh 1, start and end tokens among
    them. With idf they weigh by their idf among the references of the dataset, where start and end tokens,
    being in every text, weigh 0. The authors take the hypotheses' own idf for the hypotheses, which would
    make a score depend on the other hypotheses; here both sides have that of the references. Some releases
    of the authors' code give 1 - distance, which ranks alike. A text without any token of its own that has
    weight has no score. Bigrams (`n=2`) are those of the authors' first version.
    """

    name = "moverscore"
    version = 2
    paradigm = "matching"
    range = (0.0, 1.0)
    symmetric = True
    identity_highest = True
    unused = ("pooler",)
    citation = "Zhao et al. 2019, MoverScore: contextualized embeddings and earth mover distance, D19-1053"

    model: str = "minilm"
    layer: Layer | None = None  # None: the last
    n: Literal[1, 2] = 1
    idf: bool = True
    reduce: Reduce = "mean"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"
    table: IdfTable | None = None  # set by `fitted`

    def __post_init__(self) -> None:
        """Fill in the last layer of a carried model, so that the signature shows it."""
        refuse_table(self.table)
        if self.layer is None:
            object.__setattr__(self, "layer", last_layer(self.model))

    def differentiable(self) -> Differentiable:
        """BERTScore's matching: the transport is not differentiable, and matching is its relaxation."""
        return Differentiable(self.load_model, matching_scores)

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """With document frequencies of all references, one document each."""
        texts = [text for item in references for text in item]
        if not self.idf or not texts:
            return self
        return replace(self, table=idf_table(content_ids(self.load_model(), texts)))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return the mean or best over the references; None where a text has no token of weight."""
        loaded = self.load_model()
        known = embed(loaded, distinct_texts(samples), self.overlong)
        clouds = {text: self._cloud(embedded, loaded) for text, embedded in known.items()}

        def compare(hypothesis: str, reference: str) -> float | None:
            hyp, ref = clouds[hypothesis], clouds[reference]
            if hyp is None or ref is None:
                return None
            cost = _distances(hyp.points, ref.points)
            return 1 / (1 + float((transport(cost, hyp.weights, ref.weights) * cost).sum()))

        return compare_references(samples, compare, self.reduce, truncated=lambda text: known[text].truncated)

    def _cloud(self, text: Embedded, loaded: Loaded) -> Cloud | None:
        """Return the tokens of weight; None where none of them is the text's own."""
        inner = range(len(loaded.framing.prefix), len(text.ids) - len(loaded.framing.suffix))
        tokens = loaded.tokenizer.convert_ids_to_tokens(list(text.ids))
        weights = np.array([self._weight(id_, special=at not in inner) for at, id_ in enumerate(text.ids)])
        is_word = np.array([token not in _PUNCTUATION and "##" not in token for token in tokens])
        places = np.flatnonzero(is_word & (weights > 0)).tolist()
        if set(inner).isdisjoint(places):
            return None
        words = tuple(tokens[place] for place in places)
        points, weights = text.vectors[places].astype(np.float64), weights[places]
        if self.n == 2 and len(places) > 1:
            points, weights, words = _bigrams(points, weights, words)
        return Cloud(points, weights / weights.sum(), words)

    def _weight(self, token: int, *, special: bool) -> float:
        if self.table is None:
            return 1.0
        return 0.0 if special else self.table.values.get(token, self.table.unseen)

    def explain(self, sample: Sample) -> Explanation | None:
        """Return how much weight flows from each token to each token of the first reference."""
        loaded = self.load_model()
        known = embed(loaded, [sample.hypothesis, sample.references[0]], self.overlong)
        hyp, ref = (self._cloud(known[t], loaded) for t in (sample.hypothesis, sample.references[0]))
        if hyp is None or ref is None:
            return None
        flow = transport(_distances(hyp.points, ref.points), hyp.weights, ref.weights)
        return matching_explanation(hyp.tokens, ref.tokens, flow)


def _bigrams(
    points: Floats, weights: Floats, words: tuple[str, ...]
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return neighbours joined: the weighted mean of their points, the sum of their weights."""
    total = weights[:-1] + weights[1:]
    means = (points[:-1] * weights[:-1, None] + points[1:] * weights[1:, None]) / total[:, None]
    return means, total, tuple(map(" ".join, pairwise(words)))


def _distances(hyp: Floats, ref: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(hyp, ref))


@dataclass(frozen=True)
class SentenceCosine(Neural, Metric):
    """The cosine of the two texts' vectors from a sentence encoder; the best reference counts.

    The encoder pools as its own files say. `prefix` stands before every text; where None, the model's default
    prompt does, which most lack.
    """

    name = "sentence-cosine"
    paradigm = "matching"
    range = (-1.0, 1.0)
    symmetric = True
    identity_highest = True
    unused = ("pooler",)
    citation = "Reimers & Gurevych 2019, Sentence-BERT: sentence embeddings using siamese networks, D19-1410"

    model: str = "minilm"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"
    prefix: str | None = None

    def _prompt(self) -> str | None:
        return prompt_by_name(self.model) if self.prefix is None else self.prefix

    def pins(self) -> Mapping[str, str]:
        prompt = self._prompt()
        return {**super().pins(), **({"prefix": prompt} if self.prefix is None and prompt else {})}

    def _vectors(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        vectors, cuts = pooled(self.load_model(), texts, self.overlong, prefix=self._prompt())
        return unit(vectors.astype(np.float64)), cuts

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, partial(cosine_scores, prefix=self._prompt()))

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a cosine per sample, None where a text is empty."""
        texts = distinct_texts(samples)
        vectors, cuts = (dict(zip(texts, column, strict=True)) for column in self._vectors(texts))

        def compare(hyp: str, ref: str) -> float | None:
            return float(vectors[hyp] @ vectors[ref]) if hyp.strip() and ref.strip() else None

        return compare_references(samples, compare, self.reduce, truncated=cuts.__getitem__)

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        return np.asarray(self._vectors(rows)[0] @ self._vectors(columns)[0].T)
