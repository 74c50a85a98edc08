"""SARI: what a simplification keeps, adds and deletes of its source, against references (Xu et al. 2016)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.metrics.text import Counts, Tokenize, f_measure, word_counts


@dataclass(frozen=True)
class Sari(Metric):
    """The mean of keeping (F), adding (F) and deleting (precision) n-grams, n = 1 to 4, on 0..100.

    Counts of source and hypothesis are multiplied by the number of references, as in the authors' code, with
    the recall of keeping by counts (the fix of its public versions). A part without any n-gram scores 1.
    """

    name = "sari"
    paradigm = "n-gram"
    needs = frozenset({"references", "source"})
    range = (0.0, 100.0)
    citation = "Xu et al. 2016, Optimizing statistical machine translation for text simplification, TACL"
    tokenize: Tokenize = "13a"
    lowercase: bool = True
    n: int = 4

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return [self._sentence(sample) if sample.references else None for sample in samples]

    def _sentence(self, sample: Sample) -> float:
        parts = [0.0, 0.0, 0.0]
        for order in range(1, self.n + 1):
            source, hypothesis, *references = (
                word_counts(text, order, self.tokenize, self.lowercase)
                for text in (sample.source or "", sample.hypothesis, *sample.references)
            )
            scores = (_kept, _deleted, _added)
            for place, part in enumerate(scores):
                parts[place] += part(source, hypothesis, references)
        return 100.0 * sum(parts) / (3 * self.n)


def _times(counts: Counts, number: int) -> Counts:
    return Counter({gram: number * count for gram, count in counts.items()})


def _together(references: Sequence[Counts]) -> Counts:
    return sum(references, Counter())


def _mean_share(part: Counts, whole: Counts) -> float:
    """Return the mean share of each n-gram's count that is in `part`; 1 where there is none."""
    return sum(part[gram] / whole[gram] for gram in part) / len(whole) if whole else 1.0


def _kept(source: Counts, hypothesis: Counts, references: Sequence[Counts]) -> float:
    wanted, count = _together(references), len(references)
    kept = _times(source, count) & _times(hypothesis, count)
    right, possible = kept & wanted, _times(source, count) & wanted
    recall = right.total() / possible.total() if possible else 1.0
    return f_measure(_mean_share(right, kept), recall)


def _deleted(source: Counts, hypothesis: Counts, references: Sequence[Counts]) -> float:
    count = len(references)
    deleted = _times(source, count) - _times(hypothesis, count)
    return _mean_share(deleted - _together(references), deleted)


def _added(source: Counts, hypothesis: Counts, references: Sequence[Counts]) -> float:
    added, possible = set(hypothesis) - set(source), set(_together(references)) - set(source)
    right = added & possible
    return f_measure(
        len(right) / len(added) if added else 1.0, len(right) / len(possible) if possible else 1.0
    )
