"""Variety within one text, without references: repeated n-grams, n-gram entropy, distinct n-grams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.metrics.text import Tokenize, word_counts


@dataclass(frozen=True)
class Rep4Gram(Metric):
    """The share of four-grams that repeat an earlier one, negated: 0 is free of repetition."""

    name = "rep-4gram"
    paradigm = "diversity"
    needs = frozenset()
    range = (-1.0, 0.0)
    original = "lower"
    citation = "Welleck et al. 2020, Neural Text Generation with Unlikelihood Training, arXiv:1908.04319"
    n: int = 4
    tokenize: Tokenize = "split"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Return a value per sample, None for a text too short to have an n-gram."""
        counts = [word_counts(sample.hypothesis, self.n, self.tokenize) for sample in samples]
        return [len(count) / count.total() - 1 if count else None for count in counts]


@dataclass(frozen=True)
class NgramEntropy(Metric):
    """The entropy of a text's n-grams, in nats: Ent-n."""

    name = "ngram-entropy"
    paradigm = "diversity"
    needs = frozenset()
    range = (0.0, None)
    citation = (
        "Zhang et al. 2018, Generating Informative and Diverse Conversational Responses, arXiv:1809.05972"
    )
    n: int = 4
    tokenize: Tokenize = "split"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Return a value per sample, None for a text too short to have an n-gram."""
        return [self._one(sample.hypothesis) for sample in samples]

    def _one(self, text: str) -> float | None:
        counts = word_counts(text, self.n, self.tokenize)
        total = counts.total()
        return -math.fsum(k / total * math.log(k / total) for k in counts.values()) + 0.0 if counts else None


@dataclass(frozen=True)
class DistinctN(Metric):
    """Distinct n-grams over all n-grams."""

    name = "distinct-n"
    paradigm = "diversity"
    needs = frozenset()
    range = (0.0, 1.0)
    citation = "Li et al. 2016, A Diversity-Promoting Objective Function for Conversation Models, N16-1014"
    n: int = 2
    tokenize: Tokenize = "split"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Return a value per sample, None for a text too short to have an n-gram."""
        counts = [word_counts(sample.hypothesis, self.n, self.tokenize) for sample in samples]
        return [len(count) / count.total() if count else None for count in counts]
