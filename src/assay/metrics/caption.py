"""CIDEr, CIDEr-D and SPICE: captions against the consensus of their references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.metrics.coco import JAVA_BATCH, java_spice, ptb_prepared, spice_state
from assay.metrics.text import Tokenize, order_counts
from assay.recipe import digest

VEDANTAM = "Vedantam et al. 2015, CIDEr: Consensus-based Image Description Evaluation, arXiv:1411.5726"
ORDERS = 4
SIGMA = 6.0
Gram = tuple[str, ...]
Backend = Literal["own", "coco"]


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """In the references of how many items each n-gram occurs."""

    documents: int
    counts: Mapping[Gram, int]

    @cached_property
    def digest(self) -> str:
        """Content hash, for signatures."""
        rows = (f"{' '.join(gram)}\t{count}" for gram, count in sorted(self.counts.items()))
        return digest(str(self.documents), *rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DocumentFrequencies) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def idf(self, gram: Gram) -> float:
        """The rarer, the higher; an unknown n-gram counts as one item's."""
        return math.log(self.documents) - math.log(max(1, self.counts.get(gram, 0)))


def document_frequencies(items: Sequence[tuple[str, ...]], tokenize: Tokenize) -> DocumentFrequencies:
    """Count an n-gram once an item, however often its references have it."""
    counts: Counter[Gram] = Counter()
    for references in items:
        counts.update(
            {gram for text in references for one in order_counts(text, ORDERS, tokenize) for gram in one}
        )
    return DocumentFrequencies(len(items), counts)


@dataclass(frozen=True, slots=True)
class Vector:
    """A caption's tf-idf weights and norms by order, and its length (pycocoevalcap counts bigrams)."""

    weights: tuple[dict[Gram, float], ...]
    norms: tuple[float, ...]
    length: int


def vector(text: str, table: DocumentFrequencies, tokenize: Tokenize) -> Vector:
    """The caption in tf-idf space."""
    counts = order_counts(text, ORDERS, tokenize)
    weights = tuple({gram: k * table.idf(gram) for gram, k in one.items()} for one in counts)
    norms = tuple(math.sqrt(sum(weight * weight for weight in one.values())) for one in weights)
    return Vector(weights, norms, counts[1].total())


def similarity(mine: Vector, theirs: Vector, *, clipped: bool) -> float:
    """The mean cosine over orders; CIDEr-D clips weights and punishes a difference in length."""
    total = 0.0
    for one, other, norm, other_norm in zip(
        mine.weights, theirs.weights, mine.norms, theirs.norms, strict=True
    ):
        shared = one.keys() & other.keys()
        if clipped:
            product = sum(min(one[gram], other[gram]) * other[gram] for gram in shared)
        else:
            product = sum(one[gram] * other[gram] for gram in shared)
        if norm and other_norm:
            total += product / (norm * other_norm)
    if clipped:
        total *= math.exp(-((mine.length - theirs.length) ** 2) / (2 * SIGMA**2))
    return total / len(mine.weights)


def cider_scores(
    samples: Sequence[Sample], table: DocumentFrequencies | None, tokenize: Tokenize, *, clipped: bool
) -> list[float | None]:
    """Ten times the mean similarity to the references; each text is made a vector once."""
    if table is None or table.documents < 2:
        raise MetricError(
            "cider weighs n-grams by how few items have them and needs the references of at least two items: "
            "score a dataset, or call .fitted(references) with one tuple of references an item"
        )
    made: dict[str, Vector] = {}

    def known(text: str) -> Vector:
        if text not in made:
            made[text] = vector(text, table, tokenize)
        return made[text]

    values: list[float | None] = []
    for sample in samples:
        mine = known(sample.hypothesis)
        found = [similarity(mine, known(text), clipped=clipped) for text in sample.references]
        values.append(10 * sum(found) / len(found) if found else None)
    return values


def _fitted_table(
    references: Sequence[tuple[str, ...]], tokenize: Tokenize, backend: Backend
) -> DocumentFrequencies:
    if backend == "coco":
        prepared = ptb_prepared([Sample("", texts) for texts in references])
        return document_frequencies([sample.references for sample in prepared], "split")
    return document_frequencies(references, tokenize)


@dataclass(frozen=True)
class Cider(Metric):
    """CIDEr-D, as pycocoevalcap and everyone runs it; `backend=coco` tokenises with its Java tokeniser."""

    name = "cider"
    paradigm = "caption"
    range = (0.0, 10.0)
    citation = VEDANTAM
    identity_highest = True
    tokenize: Tokenize = "ptb"
    backend: Backend = "own"
    df: Literal["corpus"] = "corpus"
    table: DocumentFrequencies | None = None

    @property
    def batch(self) -> int:
        """Java starts anew a call."""
        return JAVA_BATCH if self.backend == "coco" else 1

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """With the document frequencies of the run's references."""
        return replace(self, table=_fitted_table(references, self.tokenize, self.backend))

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The mean over references."""
        if self.backend == "coco":
            return cider_scores(ptb_prepared(samples), self.table, "split", clipped=True)
        return cider_scores(samples, self.table, self.tokenize, clipped=True)


@dataclass(frozen=True)
class CiderPlain(Metric):
    """CIDEr without clipping and length penalty, in 0..10."""

    name = "cider-plain"
    paradigm = "caption"
    range = (0.0, 10.0)
    citation = VEDANTAM
    identity_highest = True
    tokenize: Tokenize = "ptb"
    backend: Backend = "own"
    df: Literal["corpus"] = "corpus"
    table: DocumentFrequencies | None = None

    @property
    def batch(self) -> int:
        """Java starts anew a call."""
        return JAVA_BATCH if self.backend == "coco" else 1

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """With the document frequencies of the run's references."""
        return replace(self, table=_fitted_table(references, self.tokenize, self.backend))

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The mean over references."""
        if self.backend == "coco":
            return cider_scores(ptb_prepared(samples), self.table, "split", clipped=False)
        return cider_scores(samples, self.table, self.tokenize, clipped=False)


@dataclass(frozen=True)
class Spice(Metric):
    """F over scene-graph tuples, by the authors' Java program and Stanford's parser."""

    name = "spice"
    paradigm = "caption"
    range = (0.0, 1.0)
    citation = (
        "Anderson et al. 2016, SPICE: Semantic Propositional Image Caption Evaluation, arXiv:1607.08822"
    )
    packages = ("pycocoevalcap",)
    extra = "coco"

    @classmethod
    def absent(cls) -> str | None:
        """The parser comes with no package."""
        return spice_state()

    @property
    def batch(self) -> int:
        """Java starts anew a call."""
        return JAVA_BATCH

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """All references make one graph."""
        return java_spice(samples) if samples else []
