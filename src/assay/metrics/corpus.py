"""Corpus BLEU, chrF and TER: one score for a set from statistics that add up, as sacreBLEU computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core import Floats, Sample, SetMetric
from assay.metrics.chrf import POPOVIC_2015, best_statistics
from assay.metrics.edit import SNOVER, TerTokenize, ter_statistics
from assay.metrics.ngram import PAPINENI, SacreSmooth, count_matches, sacrebleu_scores, statistics_row
from assay.metrics.text import Tokenize


def _rows(rows: Sequence[Sequence[float]], columns: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)


@dataclass(frozen=True)
class CorpusBleu(SetMetric):
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
        """Lengths, then matches, then totals by order."""
        found = [
            count_matches(sample.hypothesis, sample.references, self.n, self.tokenize, self.lowercase)
            for sample in samples
        ]
        return _rows([statistics_row(one) for one in found], 2 + 2 * self.n)

    def from_statistics(self, totals: Floats) -> Floats:
        """A score a row."""
        return sacrebleu_scores(totals, self.smooth, effective_order=False)

    def score_set(self, samples: Sequence[Sample]) -> float:
        """BLEU of all samples together."""
        return float(self.from_statistics(self.statistics(samples).sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True)
class CorpusChrf(SetMetric):
    """Corpus chrF in 0..100; `word_order=2` is chrF++."""

    name = "chrf:level=corpus"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = POPOVIC_2015
    n: int = 6
    word_order: int = 0
    beta: float = 2.0
    lowercase: bool = False

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """[hypothesis, reference, shared] by order, of the best reference."""
        how = (self.n, self.word_order, self.beta, self.lowercase)
        found = [best_statistics(sample.hypothesis, sample.references, *how) for sample in samples]
        return _rows(found, 3 * (self.n + self.word_order))

    def from_statistics(self, totals: Floats) -> Floats:
        """A score a row."""
        mine, theirs, shared = (totals[:, part::3] for part in range(3))
        there = (mine > 0) & (theirs > 0)
        orders = np.maximum(there.sum(axis=1), 1)
        precision = np.where(there, shared / np.where(there, mine, 1), 0).sum(axis=1) / orders
        recall = np.where(there, shared / np.where(there, theirs, 1), 0).sum(axis=1) / orders
        weight = self.beta * self.beta
        below = weight * precision + recall
        return np.asarray(100 * (1 + weight) * precision * recall / np.where(below > 0, below, 1))

    def score_set(self, samples: Sequence[Sample]) -> float:
        """chrF of all samples together."""
        return float(self.from_statistics(self.statistics(samples).sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True)
class CorpusTer(SetMetric):
    """Corpus TER, negated: all edits over all reference words."""

    name = "ter:level=corpus"
    paradigm = "edit"
    range = (None, 0.0)
    original = "lower"
    citation = SNOVER
    tokenize: TerTokenize = "tercom"

    def statistics(self, samples: Sequence[Sample]) -> Floats:
        """Fewest edits and mean reference length."""
        return _rows([ter_statistics(sample, self.tokenize) for sample in samples], 2)

    def from_statistics(self, totals: Floats) -> Floats:
        """A score a row."""
        count, length = totals[:, 0], totals[:, 1]
        rate = np.where(length > 0, count / np.where(length > 0, length, 1), (count > 0).astype(np.float64))
        return np.asarray(-100 * rate)

    def score_set(self, samples: Sequence[Sample]) -> float:
        """TER of all samples together."""
        return float(self.from_statistics(self.statistics(samples).sum(axis=0, keepdims=True))[0])
