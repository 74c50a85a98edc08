"""Variety within one text, without references: repeated n-grams, n-gram entropy, distinct n-grams."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.metrics.text import Counts, Tokenize, word_counts


@dataclass(frozen=True)
class _Diversity(Metric):
    """A value of the n-grams of each text, None for a text too short to have one."""

    paradigm = "diversity"
    needs = frozenset()
    n: int = 4
    tokenize: Tokenize = "split"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        counts = (word_counts(sample.hypothesis, self.n, self.tokenize) for sample in samples)
        return [self.value(count) if count else None for count in counts]

    @abstractmethod
    def value(self, counts: Counts) -> float: ...


@dataclass(frozen=True)
class Rep4Gram(_Diversity):
    """The share of four-grams that repeat an earlier one, negated: 0 is free of repetition."""

    name = "rep-4gram"
    range = (-1.0, 0.0)
    original = "lower"
    citation = "Welleck et al. 2020, Neural Text Generation with Unlikelihood Training, arXiv:1908.04319"

    def value(self, counts: Counts) -> float:
        return len(counts) / counts.total() - 1


@dataclass(frozen=True)
class NgramEntropy(_Diversity):
    """The entropy of a text's n-grams, in nats: Ent-n."""

    name = "ngram-entropy"
    range = (0.0, None)
    citation = (
        "Zhang et al. 2018, Generating Informative and Diverse Conversational Responses, arXiv:1809.05972"
    )

    def value(self, counts: Counts) -> float:
        total = counts.total()
        return -math.fsum(k / total * math.log(k / total) for k in counts.values()) + 0.0


@dataclass(frozen=True)
class DistinctN(_Diversity):
    """Distinct n-grams over all n-grams."""

    name = "distinct-n"
    range = (0.0, 1.0)
    citation = "Li et al. 2016, A Diversity-Promoting Objective Function for Conversation Models, N16-1014"
    n: int = 2

    def value(self, counts: Counts) -> float:
        return len(counts) / counts.total()
