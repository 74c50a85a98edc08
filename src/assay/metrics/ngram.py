"""BLEU in its three dialects (NLTK, sacreBLEU, COCO) and NIST: word n-grams shared with the references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Floats, Metric, Sample
from assay.metrics.coco import JAVA_BATCH, ptb_prepared
from assay.metrics.text import Counts, Tokenize, matches, memo, order_counts, tokens, word_counts

PAPINENI = "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
POST = "Post 2018, A Call for Clarity in Reporting BLEU Scores, W18-6319"
DODDINGTON = "Doddington 2002, Automatic evaluation of machine translation quality using n-gram co-occurrence"
SacreSmooth = Literal["exp", "floor", "add-k", "none"]
NltkSmooth = Literal["none", "method1", "method2", "method3", "method4"]


@dataclass(frozen=True, slots=True)
class Matches:
    """BLEU's sufficient statistics: lengths, and by order the n-grams found and those there are."""

    length: int
    closest: int  # length of the closest reference, the shorter of two
    correct: tuple[int, ...]
    total: tuple[int, ...]


@memo(budget=300_000)
def _reference_counts(
    texts: tuple[str, ...], n: int, tokenize: Tokenize, lowercase: bool
) -> tuple[Counts, ...]:
    """An n-gram counts as often as in the reference that has it most."""
    orders = tuple(Counter[tuple[str, ...]]() for _ in range(n))
    for text in texts:
        for merged, counts in zip(orders, order_counts(text, n, tokenize, lowercase), strict=True):
            for gram, count in counts.items():
                if count > merged[gram]:
                    merged[gram] = count
    return orders


def count_matches(
    hypothesis: str, references: tuple[str, ...], n: int, tokenize: Tokenize, lowercase: bool = False
) -> Matches:
    """Clipped n-gram matches of the orders 1 to n."""
    length = len(tokens(hypothesis, tokenize, lowercase))
    lengths = [len(tokens(reference, tokenize, lowercase)) for reference in references]
    closest = min(lengths, key=lambda other: (abs(other - length), other))
    mine = order_counts(hypothesis, n, tokenize, lowercase)
    if len(references) == 1:
        theirs = order_counts(references[0], n, tokenize, lowercase)
    else:
        theirs = _reference_counts(references, n, tokenize, lowercase)
    total = tuple([max(length - order, 0) for order in range(n)])
    return Matches(length, closest, tuple(map(matches, mine, theirs)), total)


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


def statistics_row(found: Matches) -> list[int]:
    """Lengths, matches and totals in sacreBLEU's order."""
    return [found.length, found.closest, *found.correct, *found.total]


def sacrebleu_scores(rows: Floats, smooth: SacreSmooth, effective_order: bool) -> Floats:
    """BLEU in 0..100 from rows of statistics, a score a row, as sacrebleu.BLEU.compute_bleu."""
    order = (rows.shape[1] - 2) // 2
    length, closest = rows[:, 0], rows[:, 1]
    correct, total = rows[:, 2 : 2 + order].copy(), rows[:, 2 + order :].copy()
    matched = correct.any(axis=1)
    if smooth == "add-k":
        correct[:, 1:] += 1
        total[:, 1:] += 1
    counted = np.logical_and.accumulate(total > 0, axis=1)  # the first order without n-grams ends it
    zeros = np.cumsum((correct == 0) & counted, axis=1)
    stand_in = {"exp": 0.5**zeros, "floor": np.full_like(correct, 0.1)}.get(smooth, np.zeros_like(correct))
    values = np.where(correct == 0, stand_in, correct)
    usable = counted & (values > 0)
    logs = np.log(np.where(usable, values, 1.0) / np.where(usable, total, 1.0))
    whole = usable.all(axis=1) if not effective_order else (usable | ~counted).all(axis=1)
    orders = np.maximum(counted.sum(axis=1), 1) if effective_order else order
    with np.errstate(divide="ignore", invalid="ignore"):
        penalty = np.where(length < closest, np.exp(1 - closest / length), 1.0)
    scores = np.where(
        matched & whole, 100 * penalty * np.exp(np.where(usable, logs, 0.0).sum(axis=1) / orders), 0.0
    )
    return np.asarray(scores)


@dataclass(frozen=True)
class SacreBleu(Metric):
    """Sentence BLEU in 0..100 as sacreBLEU computes it."""

    name = "sacrebleu"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = POST
    identity_highest = True
    tokenize: Tokenize = "13a"
    smooth: SacreSmooth = "exp"
    n: int = 4
    lowercase: bool = False
    effective_order: bool = True

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """All references together, as BLEU clips."""
        kept = [at for at, sample in enumerate(samples) if sample.references]
        values: list[float | None] = [None] * len(samples)
        rows = [self._row(samples[at]) for at in kept]
        if rows:
            found = sacrebleu_scores(np.array(rows, dtype=np.float64), self.smooth, self.effective_order)
            for at, value in zip(kept, found.tolist(), strict=True):
                values[at] = value
        return values

    def _row(self, sample: Sample) -> list[int]:
        return statistics_row(
            count_matches(sample.hypothesis, sample.references, self.n, self.tokenize, self.lowercase)
        )


def coco_bleu(found: Matches) -> list[float]:
    """BLEU-1 to BLEU-n of one caption as pycocoevalcap computes them: no smoothing but tiny constants."""
    product, values = 1.0, []
    ratio = (found.length + 1e-15) / (found.closest + 1e-9)
    penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    for order, (hits, total) in enumerate(zip(found.correct, found.total, strict=True), 1):
        product *= (hits + 1e-15) / (total + 1e-9)
        values.append(product ** (1 / order) * penalty)
    return values


@dataclass(frozen=True)
class CocoBleu(Metric):
    """BLEU-1 to BLEU-4 as captions are scored: Treebank tokens, pycocoevalcap's constants.

    `backend=coco` tokenises with the Java tokeniser of pycocoevalcap itself.
    """

    name = "bleu-n"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = PAPINENI
    identity_highest = True
    outputs = ("1", "2", "3", "4")
    tokenize: Tokenize = "ptb"
    backend: Literal["own", "coco"] = "own"

    @property
    def batch(self) -> int:
        """Java starts anew a call."""
        return JAVA_BATCH if self.backend == "coco" else 1

    def score(self, samples: Sequence[Sample]) -> Floats:
        """A column an order."""
        tokenize = self.tokenize
        if self.backend == "coco":
            samples, tokenize = ptb_prepared(samples), "split"
        return np.array([self._one(sample, tokenize) for sample in samples]).reshape(len(samples), 4)

    def _one(self, sample: Sample, tokenize: Tokenize) -> list[float]:
        return coco_bleu(count_matches(sample.hypothesis, sample.references, 4, tokenize))


def _information(
    references: Sequence[str], n: int, tokenize: Tokenize, lowercase: bool
) -> dict[tuple[str, ...], float]:
    """Bits an n-gram adds to its beginning, from the references (Doddington's equation 2)."""
    counts: Counts = Counter()
    for text in references:
        for order in range(1, n + 1):
            counts.update(word_counts(text, order, tokenize, lowercase))
    words = sum(len(tokens(text, tokenize, lowercase)) for text in references)
    return {
        gram: math.log((counts[gram[:-1]] if len(gram) > 1 else words) / count, 2)
        for gram, count in counts.items()
    }


def nist_penalty(length: int, reference: int) -> float:
    """1/2 for a text of two thirds of the reference's length."""
    ratio = length / reference if reference else 0.0
    if 0 < ratio < 1:
        return math.exp(math.log(0.5) / math.log(1.5) ** 2 * math.log(ratio) ** 2)
    return max(min(ratio, 1.0), 0.0)


@dataclass(frozen=True)
class Nist(Metric):
    """Sentence NIST as NLTK computes it; an order without n-grams adds nothing, where NLTK fails."""

    name = "nist"
    paradigm = "n-gram"
    range = (0.0, None)
    citation = DODDINGTON
    n: int = 5
    tokenize: Tokenize = "split"
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Order by order the reference with the best precision counts, the longest of equals."""
        return [self._one(sample) if sample.references else None for sample in samples]

    def _one(self, sample: Sample) -> float:
        how = (self.tokenize, self.lowercase)
        bits = _information(sample.references, self.n, *how)
        length = len(tokens(sample.hypothesis, *how))
        precision, lengths = 0.0, 0
        for order in range(1, self.n + 1):
            mine = word_counts(sample.hypothesis, order, *how)
            total = max(length - order + 1, 0)
            best, words = max(
                (_weighted(mine, word_counts(text, order, *how), bits, total), len(tokens(text, *how)))
                for text in sample.references
            )
            precision, lengths = precision + best, lengths + words
        return precision * nist_penalty(self.n * length, lengths)


def _weighted(mine: Counts, theirs: Counts, bits: dict[tuple[str, ...], float], total: int) -> float:
    # NLTK's order of summation and its logarithm: a last digit may decide which reference is the best.
    shared = sum(min(count, theirs[gram]) * bits[gram] for gram, count in mine.items() if gram in theirs)
    return shared / total if total else 0.0
