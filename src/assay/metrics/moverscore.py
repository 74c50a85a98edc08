"""MoverScore: the exact earth mover's distance between two texts' contextual embeddings."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, Self

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.metrics.base import Neural
from assay.metrics.bertscore import IdfTable, fill_layer, idf_table, matching_scores
from assay.metrics.text import Reduce, reduced
from assay.models.encoder import Embedded, embed
from assay.models.torch import Loaded, Overlong, Precision, content_ids
from assay.models.trainable import Differentiable
from assay.vocabulary import Layer

ZHAO_2019 = "Zhao et al. 2019, MoverScore: contextualized embeddings and earth mover distance, D19-1053"
_PUNCTUATION = frozenset(string.punctuation)


def transport(cost: Floats, hyp: Floats, ref: Floats) -> Floats:
    """Return the exact optimal flow between two weightings that each sum to 1."""
    if len(hyp) == 1 or len(ref) == 1:  # only one flow is possible
        return np.outer(hyp, ref)
    import ot

    flow: Floats = ot.emd(hyp, ref, cost, numItermax=1_000_000)
    return flow


@dataclass(frozen=True, slots=True)
class Cloud:
    """A text's points, their weights, which sum to 1, and the token of each."""

    points: Floats
    weights: Floats
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class MoverScore(Neural, Metric):
    """1 / (1 + word mover's distance) of unit embeddings, as the authors' second version computes it.

    Punctuation, continued word pieces and special tokens carry no weight. With `idf` the others weigh by
    their idf among the references of the dataset, on both sides: the authors take the hypotheses' own idf for
    the hypotheses, which would make a score depend on the other hypotheses. Unfitted, all weigh the same.
    """

    name = "moverscore"
    paradigm = "matching"
    range = (0.0, 1.0)
    symmetric = True
    citation = ZHAO_2019
    identity_highest = True
    unused = ("pooler",)
    model: str = "minilm"
    layer: Layer | None = None
    n: Literal[1, 2] = 1
    idf: bool = True
    reduce: Reduce = "mean"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"
    table: IdfTable | None = None  # set by `fitted`

    def __post_init__(self) -> None:
        """Fill in the layer of a known model, so that the signature shows it."""
        fill_layer(self)

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
        known = embed(loaded, [t for s in samples for t in (s.hypothesis, *s.references)], self.overlong)
        clouds = {text: self._cloud(embedded, loaded) for text, embedded in known.items()}
        values: list[float | None] = []
        for sample in samples:
            pairs = [(clouds[sample.hypothesis], clouds[text]) for text in sample.references]
            values.append(reduced([_similarity(a, b) for a, b in pairs if a and b], self.reduce))
        cuts = [sum(known[t].truncated for t in (s.hypothesis, *s.references)) for s in samples]
        return Scores(values, {"truncated": cuts})

    def _cloud(self, text: Embedded, loaded: Loaded) -> Cloud | None:
        inner = slice(len(loaded.framing.prefix), len(text.ids) - len(loaded.framing.suffix))
        ids, tokens = text.ids[inner], loaded.tokenizer.convert_ids_to_tokens(list(text.ids[inner]))
        places = [
            place
            for place, token in enumerate(tokens)
            if token not in _PUNCTUATION and not token.startswith("##") and self._weight(ids[place]) > 0
        ]
        if not places:
            return None
        weights = np.array([self._weight(ids[place]) for place in places])
        points = text.vectors[inner][places].astype(np.float64)
        words = [tokens[place] for place in places]
        if self.n == 2 and len(places) > 1:
            points, weights, words = _bigrams(points, weights, words)
        return Cloud(points, weights / weights.sum(), tuple(words))

    def _weight(self, token: int) -> float:
        if self.table is None:
            return 1.0
        return self.table.values.get(token, self.table.unseen)

    def explain(self, sample: Sample) -> Explanation | None:
        """Return how much weight flows from each token to each token of the first reference."""
        loaded = self.load_model()
        known = embed(loaded, [sample.hypothesis, sample.references[0]], self.overlong)
        hyp, ref = (self._cloud(known[t], loaded) for t in (sample.hypothesis, sample.references[0]))
        if hyp is None or ref is None:
            return None
        flow = transport(_distances(hyp, ref), hyp.weights, ref.weights)
        return Explanation("matching", hyp.tokens, ref.tokens, tuple(tuple(map(float, r)) for r in flow))


def _bigrams(points: Floats, weights: Floats, words: list[str]) -> tuple[Floats, Floats, list[str]]:
    """Join neighbours: the weighted mean of their points, the sum of their weights."""
    total = weights[:-1] + weights[1:]
    joined = (points[:-1] * weights[:-1, None] + points[1:] * weights[1:, None]) / total[:, None]
    return joined, total, [f"{word} {after}" for word, after in pairwise(words)]


def _distances(hyp: Cloud, ref: Cloud) -> Floats:
    from scipy.spatial.distance import cdist

    distances: Floats = cdist(hyp.points, ref.points)
    return distances


def _similarity(hyp: Cloud, ref: Cloud) -> float:
    cost = _distances(hyp, ref)
    return 1 / (1 + float((transport(cost, hyp.weights, ref.weights) * cost).sum()))
