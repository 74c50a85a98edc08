"""ROUGE: n-grams, longest common subsequences and skip-bigrams shared with the references (Lin, 2004)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import LCSseq

from assay.core import Metric, Sample
from assay.metrics.text import Tokenize, f_measure, matches, reduced, tokens, word_counts

Reduce = Literal["max", "mean"]
LIN = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, W04-1013"


def score_references(
    samples: Sequence[Sample], compare: Callable[[str, str], float], reduce: Reduce
) -> list[float | None]:
    """Each hypothesis against each of its references, then the best or the mean."""
    return [
        reduced([compare(sample.hypothesis, reference) for reference in sample.references], reduce)
        for sample in samples
    ]


def rouge_n(hypothesis: str, reference: str, n: int, tokenize: Tokenize, stemmer: bool) -> float:
    """F of shared n-grams, as rouge-score computes it."""
    mine = word_counts(hypothesis, n, tokenize, False, stemmer)
    theirs = word_counts(reference, n, tokenize, False, stemmer)
    shared = matches(mine, theirs)
    return f_measure(shared / max(mine.total(), 1), shared / max(theirs.total(), 1))


def rouge_l(hypothesis: str, reference: str, tokenize: Tokenize, stemmer: bool) -> float:
    """F of the longest common subsequence."""
    mine = tokens(hypothesis, tokenize, False, stemmer)
    theirs = tokens(reference, tokenize, False, stemmer)
    if not mine or not theirs:
        return 0.0
    length = LCSseq.similarity(mine, theirs)
    return f_measure(length / len(mine), length / len(theirs))


@dataclass(frozen=True)
class Rouge1(Metric):
    """Shared words."""

    name = "rouge1"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = LIN
    symmetric = True
    identity_highest = True
    stemmer: bool = False
    tokenize: Tokenize = "rouge"
    reduce: Reduce = "max"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The F-measure a sample."""
        return score_references(
            samples, lambda h, r: rouge_n(h, r, 1, self.tokenize, self.stemmer), self.reduce
        )


@dataclass(frozen=True)
class Rouge2(Metric):
    """Shared bigrams."""

    name = "rouge2"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = LIN
    symmetric = True
    identity_highest = True
    stemmer: bool = False
    tokenize: Tokenize = "rouge"
    reduce: Reduce = "max"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The F-measure a sample."""
        return score_references(
            samples, lambda h, r: rouge_n(h, r, 2, self.tokenize, self.stemmer), self.reduce
        )


@dataclass(frozen=True)
class Rouge4(Metric):
    """Shared four-grams."""

    name = "rouge4"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = LIN
    symmetric = True
    identity_highest = True
    stemmer: bool = False
    tokenize: Tokenize = "rouge"
    reduce: Reduce = "max"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The F-measure a sample."""
        return score_references(
            samples, lambda h, r: rouge_n(h, r, 4, self.tokenize, self.stemmer), self.reduce
        )


@dataclass(frozen=True)
class RougeL(Metric):
    """The longest common subsequence."""

    name = "rougeL"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = LIN
    symmetric = True
    identity_highest = True
    stemmer: bool = False
    tokenize: Tokenize = "rouge"
    reduce: Reduce = "max"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The F-measure a sample."""
        return score_references(samples, lambda h, r: rouge_l(h, r, self.tokenize, self.stemmer), self.reduce)
