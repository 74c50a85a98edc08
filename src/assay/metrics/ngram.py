"""Metrics of shared n-grams (BLEU, sacreBLEU, NIST), over n-grams counted by numpy.

Counting takes sequences of symbols and gives clipped counts per order.

Symbols are the characters of a string or the words of a tuple. N-grams are numbered and sorted by numpy for
many pairs at once, and each distinct text is counted once, so that shared references cost little.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats, Metric, Sample
from assay.metrics.coco import JavaBacked, ptb_prepared
from assay.metrics.text import Counts, Tokenize, tokens, word_counts

Symbols = str | tuple[str, ...]
Integers = NDArray[np.int64]
Bits = dict[tuple[str, ...], float]
_PIECE = 128  # pairs per round: their sorted n-grams fit the processor's cache
_LARGEST = 2**62  # of the numbers that stand for a text's n-gram


@dataclass(frozen=True, slots=True)
class _Counted:
    """Distinct n-grams of one order, as sorted numbers text * size + n-gram, with their counts."""

    numbers: Integers
    counts: Integers
    size: int
    starts: Integers  # where each text's n-grams start, and where the last one's end


def shared_ngrams(hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int) -> Integers:
    """Return (hypotheses, n): the n-grams of orders 1 to n that a hypothesis shares with its references.

    An n-gram counts at most as often as in the reference that has it most, as BLEU clips.
    """
    pieces = [slice(start, start + _PIECE) for start in range(0, len(hypotheses), _PIECE)]
    rows = [_shared(hypotheses[piece], references[piece], n) for piece in pieces]
    return np.concatenate(rows) if rows else np.zeros((0, n), dtype=np.int64)


def _shared(hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int) -> Integers:
    place: dict[Symbols, int] = {}
    hyp = np.array([place.setdefault(text, len(place)) for text in hypotheses])
    most = max(map(len, references))
    # Groups are filled up to one size with their first reference, which does not change a maximum.
    groups = [[*group, *[group[0]] * (most - len(group))] for group in references]
    ref = np.array([[place.setdefault(text, len(place)) for text in group] for group in groups])
    columns = [_matches(counted, hyp, ref) for counted in _count_orders(list(place), n)]
    return np.stack(columns, axis=1)


def _count_orders(texts: Sequence[Symbols], n: int) -> Iterator[_Counted]:
    code: defaultdict[str, int] = defaultdict(count().__next__)
    symbols = np.array([code[symbol] for symbol in chain.from_iterable(texts)], dtype=np.int64)
    lengths = np.array([len(text) for text in texts])
    owner = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(symbols))  # symbols to the end of the text
    grams, size = symbols, len(code)
    for order in range(n):
        if order:
            if size * len(code) * len(texts) > _LARGEST:  # number the n-grams that occur instead
                grams = np.unique(grams, return_inverse=True)[1]
                size = len(grams)
            grams, size = grams[:-1] * len(code) + symbols[order:], size * len(code)
        whole = left[: len(grams)] > order
        yield _count(np.sort(owner[: len(grams)][whole] * size + grams[whole]), size, len(texts))


def _count(numbers: Integers, size: int, texts: int) -> _Counted:
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    distinct = numbers[first]
    starts = np.searchsorted(distinct, np.arange(texts + 1) * size)
    return _Counted(distinct, np.diff(first, append=len(numbers)), size, starts)


def _matches(counted: _Counted, hyp: Integers, ref: Integers) -> Integers:
    """Sum over each hypothesis' n-grams the smaller of its count and the largest among its references."""
    starts = counted.starts[hyp]
    widths = counted.starts[hyp + 1] - starts
    pair = np.repeat(np.arange(len(hyp)), widths)
    at = np.arange(len(pair)) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    shifts = (((column - hyp) * counted.size)[pair] for column in ref.T)
    others = (_look_up(counted, counted.numbers[at] + shift) for shift in shifts)
    shared = np.minimum(reduce(np.maximum, others), counted.counts[at])
    return np.bincount(pair, weights=shared, minlength=len(hyp)).astype(np.int64)


def _look_up(counted: _Counted, wanted: Integers) -> Integers:
    """Return the counts of numbers, 0 where a number does not occur."""
    if not len(counted.numbers):
        return np.zeros_like(wanted)
    at = np.minimum(np.searchsorted(counted.numbers, wanted), len(counted.numbers) - 1)
    return np.where(counted.numbers[at] == wanted, counted.counts[at], 0)


PAPINENI = "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
SacreSmooth = Literal["exp", "floor", "add-k", "none"]
NltkSmooth = Literal["none", "method1", "method2", "method3", "method4"]


@dataclass(frozen=True, slots=True)
class Matches:
    """BLEU's sufficient statistics: lengths, and by order the n-grams matched and those there are."""

    length: int
    closest: int  # length of the closest reference, the shorter of two
    correct: tuple[int, ...]
    total: tuple[int, ...]


def match_statistics(samples: Sequence[Sample], n: int, tokenize: Tokenize, lowercase: bool) -> Integers:
    """Return length, closest length, matches and totals by order, in sacreBLEU's layout, per sample."""
    hypotheses = [tokens(sample.hypothesis, tokenize, lowercase) for sample in samples]
    references = [[tokens(text, tokenize, lowercase) for text in sample.references] for sample in samples]
    lengths = [
        [len(words), min(map(len, others), key=lambda size: (abs(size - len(words)), size))]
        for words, others in zip(hypotheses, references, strict=True)
    ]
    sizes = np.array(lengths, dtype=np.int64).reshape(len(samples), 2)
    totals = np.maximum(sizes[:, :1] - np.arange(n), 0)
    return np.concatenate([sizes, shared_ngrams(hypotheses, references, n), totals], axis=1)


def count_matches(
    samples: Sequence[Sample], n: int, tokenize: Tokenize, lowercase: bool = False
) -> list[Matches]:
    """Return the clipped n-gram matches of the orders 1 to n, per sample."""
    rows = match_statistics(samples, n, tokenize, lowercase).tolist()
    return [Matches(row[0], row[1], tuple(row[2 : 2 + n]), tuple(row[2 + n :])) for row in rows]


def brevity_penalty(length: float, closest: float) -> float:
    """Return 1 for a text at least as long as its closest reference, less for a shorter one."""
    if length >= closest:
        return 1.0
    return math.exp(1 - closest / length) if length else 0.0


def nltk_bleu(counts: Matches, smooth: NltkSmooth) -> float:
    """Return sentence BLEU as nltk.translate.bleu_score.sentence_bleu, with uniform weights."""
    if not counts.correct[0]:
        return 0.0
    logs, zeros = 0.0, 0
    for order, (hits, all_grams) in enumerate(zip(counts.correct, counts.total, strict=True)):
        total = float(max(all_grams, 1))  # NLTK's floor
        value = float(hits)
        if smooth == "method2" and order:
            value, total = value + 1, total + 1
        elif not hits:
            if smooth == "method4" and counts.length == 1:
                continue  # the logarithm of the length is 0: NLTK then leaves the order out
            zeros += 1
            value = _smoothed(smooth, zeros, counts.length)
        if value <= 0:
            return 0.0
        logs += math.log(value / total)
    return brevity_penalty(counts.length, counts.closest) * math.exp(logs / len(counts.correct))


def _smoothed(smooth: NltkSmooth, zeros: int, length: int) -> float:
    """Return what replaces a count of 0 at the `zeros`-th order without a match (Chen & Cherry 2014)."""
    if smooth == "method1":
        return 0.1
    if smooth == "method3":
        return math.ldexp(1.0, -zeros)
    if smooth == "method4":
        return math.ldexp(math.log(length) / 5, -zeros)
    return 0.0


@dataclass(frozen=True)
class Bleu(Metric):
    """Sentence BLEU as NLTK computes it; all references together clip the n-grams."""

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
        usable = [sample for sample in samples if sample.references]
        counts = iter(count_matches(usable, self.n, self.tokenize, self.lowercase))
        return [nltk_bleu(next(counts), self.smooth) if sample.references else None for sample in samples]


def sacrebleu_scores(rows: Floats, smooth: SacreSmooth, effective_order: bool) -> Floats:
    """Return BLEU in 0..100 for each row of statistics, as sacrebleu.BLEU.compute_bleu."""
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
    means = np.exp(np.where(usable, logs, 0.0).sum(axis=1) / orders)
    return np.asarray(np.where(matched & whole, 100 * penalty * means, 0.0))


@dataclass(frozen=True)
class SacreBleu(Metric):
    """Sentence BLEU in 0..100 as sacreBLEU computes it; all references together clip the n-grams."""

    name = "sacrebleu"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = "Post 2018, A Call for Clarity in Reporting BLEU Scores, W18-6319"
    identity_highest = True
    tokenize: Tokenize = "13a"
    smooth: SacreSmooth = "exp"
    n: int = 4
    lowercase: bool = False
    effective_order: bool = True

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        usable = [sample for sample in samples if sample.references]
        rows = match_statistics(usable, self.n, self.tokenize, self.lowercase)
        scores = iter(sacrebleu_scores(rows.astype(np.float64), self.smooth, self.effective_order).tolist())
        return [next(scores) if sample.references else None for sample in samples]


def coco_bleu(counts: Matches) -> list[float]:
    """Return BLEU-1 to BLEU-n of one caption as pycocoevalcap: tiny constants in place of smoothing."""
    product, values = 1.0, []
    ratio = (counts.length + 1e-15) / (counts.closest + 1e-9)
    penalty = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    for order, (hits, total) in enumerate(zip(counts.correct, counts.total, strict=True), 1):
        product *= (hits + 1e-15) / (total + 1e-9)
        values.append(product ** (1 / order) * penalty)
    return values


@dataclass(frozen=True)
class CocoBleu(JavaBacked, Metric):
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

    def score(self, samples: Sequence[Sample]) -> Floats:
        tokenize = self.tokenize
        if self.backend == "coco":
            samples, tokenize = ptb_prepared(samples), "split"
        return np.array([coco_bleu(counts) for counts in count_matches(samples, 4, tokenize)]).reshape(-1, 4)


def _information(references: Sequence[str], n: int, tokenize: Tokenize, lowercase: bool) -> Bits:
    """Return the bits that an n-gram adds to its beginning, from the references (Doddington's equation 2)."""
    counts: Counts = Counter()
    for text in references:
        for order in range(1, n + 1):
            counts.update(word_counts(text, order, tokenize, lowercase))
    starts = {**counts, (): sum(len(tokens(text, tokenize, lowercase)) for text in references)}
    return {gram: math.log(starts[gram[:-1]] / count, 2) for gram, count in counts.items()}


def nist_penalty(length: int, reference: int) -> float:
    """Return NIST's penalty: 1/2 for a text of two thirds of the reference's length."""
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
    citation = (
        "Doddington 2002, Automatic evaluation of machine translation quality using n-gram co-occurrence"
    )
    n: int = 5
    tokenize: Tokenize = "split"
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Return a score per sample; at each order the reference with the best precision counts."""
        return [self._one(sample) if sample.references else None for sample in samples]

    def _one(self, sample: Sample) -> float:
        how = (self.tokenize, self.lowercase)
        bits = _information(sample.references, self.n, *how)
        length = len(tokens(sample.hypothesis, *how))
        precision, lengths = 0.0, 0
        for order in range(1, self.n + 1):
            hyp = word_counts(sample.hypothesis, order, *how)
            total = max(length - order + 1, 0)
            best, words = max(
                (_weighted(hyp, word_counts(text, order, *how), bits, total), len(tokens(text, *how)))
                for text in sample.references
            )
            precision, lengths = precision + best, lengths + words
        return precision * nist_penalty(self.n * length, lengths)


def _weighted(hyp: Counts, ref: Counts, bits: Bits, total: int) -> float:
    # NLTK's order of summation and its logarithm: the last digit may decide which reference is best.
    shared = sum(min(count, ref[gram]) * bits[gram] for gram, count in hyp.items() if gram in ref)
    return shared / total if total else 0.0
