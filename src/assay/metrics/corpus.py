"""Corpus BLEU, chrF and TER: one score for a set from statistics that add up, as sacreBLEU computes them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core import Floats, Sample, SetMetric
from assay.metrics.chrf import POPOVIC_2015, best_statistics, chrf_scores
from assay.metrics.edit import SNOVER, TerTokenize, ter_statistics
from assay.metrics.ngram import PAPINENI, SacreSmooth, match_statistics, sacrebleu_scores
from assay.metrics.text import Tokenize
from assay.vocabulary import NonNegative


class _Additive(SetMetric):
    """A set metric whose score follows from the sum of the samples' statistics."""

    @abstractmethod
    def statistics(self, samples: Sequence[Sample]) -> Floats: ...

    def score_set(self, samples: Sequence[Sample]) -> float:
        return float(self.from_statistics(self.statistics(samples).sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True)
class CorpusBleu(_Additive):
    """Corpus BLEU in 0..100."""

    name = "bleu:level=corpus"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = PAPINENI
    tokenize: Tokenize = "13a"
    smooth: SacreSmooth = "exp"
    n: int = 4
    lowercase: bool = False

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return lengths, then matches, then totals by order, per sample."""
        return match_statistics(samples, self.n, self.tokenize, self.lowercase).astype(np.float64)

    def from_statistics(self, totals: Floats) -> Floats:
        return sacrebleu_scores(totals, self.smooth, effective_order=False)


@dataclass(frozen=True)
class CorpusChrf(_Additive):
    """Corpus chrF in 0..100; `word_order=2` is chrF++."""

    name = "chrf:level=corpus"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = POPOVIC_2015
    n: int = 6
    word_order: NonNegative = 0
    beta: float = 2.0
    lowercase: bool = False

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return [hypothesis, reference, shared] counts by order, of the best reference, per sample."""
        options = (self.n, self.word_order, self.beta, self.lowercase)
        return best_statistics(samples, *options).astype(np.float64)

    def from_statistics(self, totals: Floats) -> Floats:
        return chrf_scores(totals, self.beta)


@dataclass(frozen=True)
class CorpusTer(_Additive):
    """Corpus TER, negated: all edits over all reference words."""

    name = "ter:level=corpus"
    paradigm = "edit"
    range = (None, 0.0)
    original = "lower"
    citation = SNOVER
    tokenize: TerTokenize = "tercom"

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Return the fewest edits and the mean reference length, per sample."""
        rows = [ter_statistics(sample, self.tokenize) for sample in samples]
        return np.array(rows, dtype=np.float64).reshape(len(rows), 2)

    def from_statistics(self, totals: Floats) -> Floats:
        count, length = totals[:, 0], totals[:, 1]
        rate = np.where(length > 0, count / np.where(length > 0, length, 1), (count > 0).astype(np.float64))
        return np.asarray(-100 * rate)
