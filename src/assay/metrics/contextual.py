"""Sentence encoders as metrics: the cosine of two texts' vectors, and transport between their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.metrics.base import Neural, unit
from assay.metrics.moverscore import transport
from assay.metrics.text import Reduce, distinct_texts, reduced
from assay.models.encoder import pooled
from assay.models.nlp import split_sentences
from assay.models.torch import Loaded, Overlong, Precision
from assay.models.trainable import Differentiable, Texts, encode_pairs

if TYPE_CHECKING:
    import torch

REIMERS_2019 = "Reimers & Gurevych 2019, Sentence-BERT: sentence embeddings using siamese networks, D19-1410"
CLARK_2019 = (
    "Clark et al. 2019, Sentence mover's similarity: automatic evaluation for multi-sentence texts, ACL"
)


@dataclass(frozen=True)
class _SentenceEncoder(Neural, Metric):
    """The fields and vectors of metrics on a sentence encoder, which pools by the mean of its last layer."""

    paradigm = "matching"
    symmetric = True
    identity_highest = True
    unused = ("pooler",)
    model: str = "minilm"
    reduce: Reduce = "max"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def _vectors(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        """Return one unit vector per text, and the ids cut."""
        vectors, cuts = pooled(self.load_model(), texts, self.overlong)
        return unit(vectors.astype(np.float64)), cuts


@dataclass(frozen=True)
class SentenceCosine(_SentenceEncoder):
    """The cosine of the two texts' vectors from a sentence encoder; the best reference counts."""

    name = "sentence-cosine"
    range = (-1.0, 1.0)
    citation = REIMERS_2019

    def differentiable(self) -> Differentiable:
        return Differentiable(self.load_model, _cosine_scores)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a cosine per sample, None where a text is empty."""
        texts = distinct_texts(samples)
        vectors, cuts = self._vectors(texts)
        place = {text: index for index, text in enumerate(texts)}
        values: list[float | None] = []
        for sample in samples:
            hyp = vectors[place[sample.hypothesis]]
            cosines = [float(hyp @ vectors[place[text]]) for text in sample.references if text.strip()]
            values.append(reduced(cosines, self.reduce) if sample.hypothesis.strip() else None)
        truncated = [sum(cuts[place[t]] for t in (s.hypothesis, *s.references)) for s in samples]
        return Scores(values, {"truncated": truncated})

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        return np.asarray(self._vectors(rows)[0] @ self._vectors(columns)[0].T)


def _cosine_scores(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    import torch

    encoded = encode_pairs(loaded, pairs)
    means = (encoded.states * encoded.mask[..., None]).sum(1) / encoded.mask.sum(1, keepdim=True)
    directions = torch.nn.functional.normalize(means, dim=-1)
    return (directions[encoded.hypotheses] * directions[encoded.references]).sum(1, keepdim=True)


@dataclass(frozen=True)
class SmsContextual(_SentenceEncoder):
    """Sentence mover's similarity on a sentence encoder: exp(-distance); sentences weigh by their words."""

    name = "sms-contextual"
    range = (0.0, 1.0)
    citation = CLARK_2019

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return a similarity per sample, None where a text has no sentence."""
        sentences = {text: split_sentences(text) for text in distinct_texts(samples)}
        distinct = list(dict.fromkeys(part for parts in sentences.values() for part in parts))
        vectors, cuts = self._vectors(distinct)
        known = {part: vectors[index] for index, part in enumerate(distinct)}
        cut = dict(zip(distinct, cuts, strict=True))
        values: list[float | None] = []
        truncated: list[int] = []
        for sample in samples:
            hyp = sentences[sample.hypothesis]
            others = [sentences[text] for text in sample.references]
            similarities = [_similarity(hyp, ref, known) for ref in others if hyp and ref]
            values.append(reduced(similarities, self.reduce))
            truncated.append(sum(cut[part] for parts in (hyp, *others) for part in parts))
        return Scores(values, {"truncated": truncated})

    def explain(self, sample: Sample) -> Explanation | None:
        """Return the cosine of each pair of sentences, with the first reference."""
        hyp, ref = split_sentences(sample.hypothesis), split_sentences(sample.references[0])
        if not hyp or not ref:
            return None
        vectors = self._vectors([*hyp, *ref])[0]
        table = vectors[: len(hyp)] @ vectors[len(hyp) :].T
        return Explanation("matching", hyp, ref, tuple(tuple(map(float, row)) for row in table))


def _similarity(hyp: tuple[str, ...], ref: tuple[str, ...], known: dict[str, Floats]) -> float:
    from scipy.spatial.distance import cdist

    cost = cdist(np.stack([known[part] for part in hyp]), np.stack([known[part] for part in ref]))
    weights = [np.array([len(part.split()) for part in parts], dtype=float) for parts in (hyp, ref)]
    flow = transport(cost, weights[0] / weights[0].sum(), weights[1] / weights[1].sum())
    return float(np.exp(-(flow * cost).sum()))
