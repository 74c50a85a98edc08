"""CIDEr, CIDEr-D and SPICE: captions against the consensus of their references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.metrics.coco import JAVA_BATCH, JavaBacked, java_spice, ptb_prepared, spice_state
from assay.metrics.text import Counts, Tokenize, distinct_texts, grams, memo, tokens
from assay.recipe import digest

ORDERS = 4
SIGMA = 6.0
Gram = tuple[str, ...]
Backend = Literal["own", "coco"]


@memo(budget=400_000)
def order_counts(text: str, tokenize: Tokenize) -> tuple[Counts, ...]:
    """Return the n-gram counts of the orders 1 to 4."""
    words = tokens(text, tokenize)
    return tuple([grams(words, order) for order in range(1, ORDERS + 1)])


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """For each n-gram, the number of items whose references have it."""

    documents: int
    counts: Mapping[Gram, int]

    @cached_property
    def digest(self) -> str:
        rows = (f"{' '.join(gram)}\t{count}" for gram, count in sorted(self.counts.items()))
        return digest(str(self.documents), *rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DocumentFrequencies) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def idf(self, gram: Gram) -> float:
        """Return the inverse document frequency; an unknown n-gram counts as one item's."""
        return math.log(self.documents) - math.log(max(1, self.counts.get(gram, 0)))


def document_frequencies(items: Sequence[tuple[str, ...]], tokenize: Tokenize) -> DocumentFrequencies:
    """Count an n-gram once per item, however often its references have it."""
    counts: Counter[Gram] = Counter()
    for references in items:
        orders = (order for text in references for order in order_counts(text, tokenize))
        counts.update({gram for order in orders for gram in order})
    return DocumentFrequencies(len(items), counts)


@dataclass(frozen=True, slots=True)
class Vector:
    """A caption's tf-idf weights and norms by order, and its length (pycocoevalcap counts bigrams)."""

    weights: tuple[dict[Gram, float], ...]
    norms: tuple[float, ...]
    length: int


def vector(text: str, table: DocumentFrequencies, tokenize: Tokenize) -> Vector:
    """Return the caption's tf-idf weights."""
    counts = order_counts(text, tokenize)
    weights = tuple({gram: k * table.idf(gram) for gram, k in order.items()} for order in counts)
    norms = tuple(math.sqrt(sum(weight * weight for weight in order.values())) for order in weights)
    return Vector(weights, norms, counts[1].total())


def similarity(hyp: Vector, ref: Vector, *, clipped: bool) -> float:
    """Return the mean cosine over orders; CIDEr-D clips weights and penalises a difference in length."""
    total = 0.0
    orders = zip(hyp.weights, ref.weights, hyp.norms, ref.norms, strict=True)
    for weights, others, norm, other_norm in orders:
        # In the hypothesis' order: the sum of a set's members would depend on the hash seed.
        shared = [gram for gram in weights if gram in others]
        if clipped:
            product = sum(min(weights[gram], others[gram]) * others[gram] for gram in shared)
        else:
            product = sum(weights[gram] * others[gram] for gram in shared)
        if norm and other_norm:
            total += product / (norm * other_norm)
    if clipped:
        total *= math.exp(-((hyp.length - ref.length) ** 2) / (2 * SIGMA**2))
    return total / len(hyp.weights)


def cider_scores(
    samples: Sequence[Sample], table: DocumentFrequencies | None, tokenize: Tokenize, *, clipped: bool
) -> list[float | None]:
    """Return ten times the mean similarity to the references, per sample."""
    if table is None or table.documents < 2:
        raise MetricError(
            "cider weighs n-grams by how few items have them and needs the references of at least two items: "
            "score a dataset, or call .fitted(references) with one tuple of references per item"
        )
    vectors = {text: vector(text, table, tokenize) for text in distinct_texts(samples)}
    values: list[float | None] = []
    for sample in samples:
        hyp = vectors[sample.hypothesis]
        similar = [similarity(hyp, vectors[text], clipped=clipped) for text in sample.references]
        values.append(10 * sum(similar) / len(similar) if similar else None)
    return values


@dataclass(frozen=True)
class _Consensus(JavaBacked, Metric):
    """The fields and formula of both CIDErs."""

    paradigm = "caption"
    range = (0.0, 10.0)
    citation = "Vedantam et al. 2015, CIDEr: Consensus-based Image Description Evaluation, arXiv:1411.5726"
    identity_highest = True
    clipped: ClassVar[bool]
    tokenize: Tokenize = "ptb"
    backend: Backend = "own"
    df: Literal["corpus"] = "corpus"
    table: DocumentFrequencies | None = None

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        tokenize: Tokenize = self.tokenize
        if self.backend == "coco":
            prepared = ptb_prepared([Sample("", texts) for texts in references])
            references, tokenize = [sample.references for sample in prepared], "split"
        return replace(self, table=document_frequencies(references, tokenize))

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        if self.backend == "coco":
            return cider_scores(ptb_prepared(samples), self.table, "split", clipped=self.clipped)
        return cider_scores(samples, self.table, self.tokenize, clipped=self.clipped)


@dataclass(frozen=True)
class Cider(_Consensus):
    """CIDEr-D, as pycocoevalcap and everyone runs it; `backend=coco` tokenises with its Java tokeniser."""

    name = "cider"
    clipped = True


@dataclass(frozen=True)
class CiderPlain(_Consensus):
    """CIDEr without clipping and length penalty, in 0..10."""

    name = "cider-plain"
    clipped = False


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
        return spice_state()

    @property
    def batch(self) -> int:
        return JAVA_BATCH

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return java_spice(samples) if samples else []
