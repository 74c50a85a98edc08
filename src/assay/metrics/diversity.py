"""How varied a text is by itself: repeated n-grams, n-gram entropy, distinct n-grams; without references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.metrics.text import Tokenize, word_counts


@dataclass(frozen=True)
class Rep4Gram(Metric):
    """The share of four-grams that were there before, negated: 0 is free of repetition."""

    name = "rep-4gram"
    paradigm = "diversity"
    needs = frozenset()
    range = (-1.0, 0.0)
    original = "lower"
    citation = "Welleck et al. 2020, Neural Text Generation with Unlikelihood Training, arXiv:1908.04319"
    n: int = 4
    tokenize: Tokenize = "split"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Absent for a text too short to have an n-gram."""
        counts = [word_counts(sample.hypothesis, self.n, self.tokenize) for sample in samples]
        return [len(found) / found.total() - 1 if found else None for found in counts]


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
        """Absent for a text too short to have an n-gram."""
        return [self._one(sample.hypothesis) for sample in samples]

    def _one(self, text: str) -> float | None:
        found = word_counts(text, self.n, self.tokenize)
        total = found.total()
        return -math.fsum(k / total * math.log(k / total) for k in found.values()) + 0.0 if found else None


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
        """Absent for a text too short to have an n-gram."""
        counts = [word_counts(sample.hypothesis, self.n, self.tokenize) for sample in samples]
        return [len(found) / found.total() if found else None for found in counts]
