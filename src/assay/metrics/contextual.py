"""Sentence encoders as metrics: the cosine of two texts' vectors, and sentences moved by transport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Explanation, Floats, Metric, Sample, Scores
from assay.metrics.moverscore import transport
from assay.metrics.text import sentences
from assay.models.encoder import pooled
from assay.models.torch import Loaded, Neural, Overlong, Precision, load

REIMERS_2019 = "Reimers & Gurevych 2019, Sentence-BERT: sentence embeddings using siamese networks, D19-1410"
CLARK_2019 = (
    "Clark et al. 2019, Sentence mover's similarity: automatic evaluation for multi-sentence texts, ACL"
)


def encoder(model: str, precision: Precision, adapter: str | None) -> Loaded:
    """A sentence encoder: mean pooling over its last layer."""
    return load("AutoModel", model, precision=precision, adapter=adapter, unused=("pooler",))


def unit(vectors: Floats) -> Floats:
    """Rows of length 1."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


@dataclass(frozen=True)
class SentenceCosine(Neural, Metric):
    """The cosine of the two texts' vectors from a sentence encoder; the best reference counts."""

    name = "sentence-cosine"
    paradigm = "matching"
    range = (-1.0, 1.0)
    symmetric = True
    identity_highest = True
    citation = REIMERS_2019
    model: str = "minilm"
    reduce: Literal["max", "mean"] = "max"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the encoder."""
        encoder(self.model, self.precision, self.adapter)

    def _vectors(self, texts: Sequence[str]) -> tuple[Floats, list[int]]:
        found, cuts = pooled(encoder(self.model, self.precision, self.adapter), texts, self.overlong)
        return unit(found.astype(np.float64)), cuts

    def score(self, samples: Sequence[Sample]) -> Scores:
        """None where a text is empty."""
        texts = list(dict.fromkeys(t for s in samples for t in (s.hypothesis, *s.references)))
        vectors, cuts = self._vectors(texts)
        place = {text: index for index, text in enumerate(texts)}
        best = max if self.reduce == "max" else np.mean
        values: list[float | None] = []
        for sample in samples:
            mine = vectors[place[sample.hypothesis]]
            found = [float(mine @ vectors[place[text]]) for text in sample.references if text.strip()]
            values.append(float(best(found)) if found and sample.hypothesis.strip() else None)
        truncated = [sum(cuts[place[t]] for t in (s.hypothesis, *s.references)) for s in samples]
        return Scores(values, {"truncated": truncated})

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats:
        """One product of two matrices."""
        return np.asarray(self._vectors(rows)[0] @ self._vectors(columns)[0].T)


@dataclass(frozen=True)
class SmsContextual(Neural, Metric):
    """Sentence mover's similarity on a sentence encoder: exp(-distance); sentences weigh by their words."""

    name = "sms-contextual"
    paradigm = "matching"
    range = (0.0, 1.0)
    symmetric = True
    identity_highest = True
    citation = CLARK_2019
    model: str = "minilm"
    reduce: Literal["max", "mean"] = "max"
    adapter: str | None = None
    overlong: Overlong = "warn"
    precision: Precision = "float32"

    def prepare(self) -> None:
        """Load the encoder."""
        encoder(self.model, self.precision, self.adapter)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """None where a text has no sentence."""
        loaded = encoder(self.model, self.precision, self.adapter)
        texts = list(dict.fromkeys(t for s in samples for t in (s.hypothesis, *s.references)))
        flat = list(dict.fromkeys(part for text in texts for part in sentences(text)))
        vectors, cuts = pooled(loaded, flat, self.overlong)
        known = {part: (unit(vectors[i].astype(np.float64)), cuts[i]) for i, part in enumerate(flat)}
        values: list[float | None] = []
        truncated: list[int] = []
        best = max if self.reduce == "max" else np.mean
        for sample in samples:
            found = [_moved(sample.hypothesis, text, known) for text in sample.references]
            kept = [value for value in found if value is not None]
            values.append(float(best(kept)) if kept else None)
            parts = [p for t in (sample.hypothesis, *sample.references) for p in sentences(t)]
            truncated.append(sum(known[part][1] for part in parts))
        return Scores(values, {"truncated": truncated})

    def explain(self, sample: Sample) -> Explanation | None:
        """The cosine of each pair of sentences, first reference."""
        mine, theirs = sentences(sample.hypothesis), sentences(sample.references[0])
        if not mine or not theirs:
            return None
        loaded = encoder(self.model, self.precision, self.adapter)
        vectors = unit(pooled(loaded, [*mine, *theirs], self.overlong)[0].astype(np.float64))
        table = vectors[: len(mine)] @ vectors[len(mine) :].T
        return Explanation("matching", mine, theirs, tuple(tuple(map(float, row)) for row in table))


def _moved(one: str, other: str, known: dict[str, tuple[Floats, int]]) -> float | None:
    mine, theirs = sentences(one), sentences(other)
    if not mine or not theirs:
        return None
    from scipy.spatial.distance import cdist

    cost = cdist(np.stack([known[p][0] for p in mine]), np.stack([known[p][0] for p in theirs]))
    weights = [np.array([len(p.split()) for p in parts], dtype=float) for parts in (mine, theirs)]
    flow = transport(cost, weights[0] / weights[0].sum(), weights[1] / weights[1].sum())
    return float(np.exp(-(flow * cost).sum()))
