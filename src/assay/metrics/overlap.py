"""BLEU in its three dialects (NLTK, sacreBLEU, COCO) and NIST: word n-grams shared with the references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.core import Metric, Sample
from assay.metrics.text import Counts, Tokenize, matches, memo, tokens, word_counts

PAPINENI = "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
NltkSmooth = Literal["none", "method1", "method2", "method3", "method4"]


@dataclass(frozen=True, slots=True)
class Matches:
    """BLEU's sufficient statistics: lengths, and by order the n-grams found and those there are."""

    length: int
    closest: int  # length of the closest reference, the shorter of two
    correct: tuple[int, ...]
    total: tuple[int, ...]


@memo(budget=300_000)
def _reference_counts(texts: tuple[str, ...], n: int, tokenize: Tokenize, lowercase: bool) -> Counts:
    """An n-gram counts as often as in the reference that has it most."""
    merged: Counts = Counter()
    for text in texts:
        merged |= word_counts(text, n, tokenize, lowercase)
    return merged


def count_matches(
    hypothesis: str, references: tuple[str, ...], n: int, tokenize: Tokenize, lowercase: bool = False
) -> Matches:
    """Clipped n-gram matches of the orders 1 to n."""
    length = len(tokens(hypothesis, tokenize, lowercase))
    lengths = [len(tokens(reference, tokenize, lowercase)) for reference in references]
    closest = min(lengths, key=lambda other: (abs(other - length), other))
    correct = []
    for order in range(1, n + 1):
        mine = word_counts(hypothesis, order, tokenize, lowercase)
        if len(references) == 1:
            theirs = word_counts(references[0], order, tokenize, lowercase)
        else:
            theirs = _reference_counts(references, order, tokenize, lowercase)
        correct.append(matches(mine, theirs))
    total = tuple(max(length - order, 0) for order in range(n))
    return Matches(length, closest, tuple(correct), total)


def brevity_penalty(length: float, closest: float) -> float:
    """1 for a text at least as long as its closest reference."""
    if length >= closest:
        return 1.0
    return math.exp(1 - closest / length) if length else 0.0


def nltk_bleu(found: Matches, smooth: NltkSmooth) -> float:
    """Sentence BLEU as nltk.translate.bleu_score.sentence_bleu, uniform weights."""
    if not found.correct[0]:
        return 0.0
    logs, zeros = 0.0, 0
    for order, (hits, all_grams) in enumerate(zip(found.correct, found.total, strict=True)):
        total = float(max(all_grams, 1))  # NLTK's floor
        value = float(hits)
        if smooth == "method2" and order:
            value, total = value + 1, total + 1
        elif not hits:
            if smooth == "method4" and found.length == 1:
                continue  # its logarithm of the length is 0: NLTK then leaves the order out
            zeros += 1
            value = _smoothed(smooth, zeros, found.length)
        if value <= 0:
            return 0.0
        logs += math.log(value / total)
    return brevity_penalty(found.length, found.closest) * math.exp(logs / len(found.correct))


def _smoothed(smooth: NltkSmooth, zeros: int, length: int) -> float:
    """What stands for a count of 0, at the `zeros`-th order without a match (Chen & Cherry 2014)."""
    if smooth == "method1":
        return 0.1
    if smooth == "method3":
        return math.ldexp(1.0, -zeros)
    if smooth == "method4":
        return math.ldexp(math.log(length) / 5, -zeros)
    return 0.0


@dataclass(frozen=True)
class Bleu(Metric):
    """Sentence BLEU as NLTK computes it."""

    name = "bleu"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = PAPINENI
    identity_highest = True
    tokenize: Tokenize = "split"
    smooth: NltkSmooth = "method1"
    n: int = 4
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """All references together, as BLEU clips."""
        return [self._one(sample) if sample.references else None for sample in samples]

    def _one(self, sample: Sample) -> float:
        found = count_matches(sample.hypothesis, sample.references, self.n, self.tokenize, self.lowercase)
        return nltk_bleu(found, self.smooth)
