"""Metrics of n-grams: BLEU, sacreBLEU, NIST, chrF, and the variety within one text.

Symbols are the characters of a string or the words of a tuple. N-grams are numbered and sorted by numpy for
many pairs at once, and each distinct text is counted once, so that shared references cost little.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats, Metric, Sample
from assay.errors import SpecError
from assay.metrics.coco import JavaBacked
from assay.metrics.text import Counts, Tokenize, by_reference, reduced, reference_pairs, tokens, word_counts
from assay.vocabulary import NonNegative

Symbols = str | tuple[str, ...]
_Integers = NDArray[np.int64]
Bits = dict[tuple[str, ...], float]
_PIECE = 128  # pairs per round: their sorted n-grams fit the processor's cache
_LARGEST = 2**62  # of the numbers that stand for a text's n-gram


@dataclass(frozen=True, slots=True)
class _Counted:
    """Distinct n-grams of one order, as sorted numbers text * size + n-gram, with their counts."""

    numbers: _Integers
    counts: _Integers
    size: int
    starts: _Integers  # where each text's n-grams start, and where the last one's end


def shared_ngrams(
    hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int
) -> _Integers:
    """Return (hypotheses, n): n-grams of orders 1 to n shared with the references, clipped as BLEU clips."""
    pieces = [slice(start, start + _PIECE) for start in range(0, len(hypotheses), _PIECE)]
    rows = [_shared(hypotheses[piece], references[piece], n) for piece in pieces]
    return np.concatenate(rows) if rows else np.zeros((0, n), dtype=np.int64)


def _shared(hypotheses: Sequence[Symbols], references: Sequence[Sequence[Symbols]], n: int) -> _Integers:
    place: dict[Symbols, int] = {}
    hyp = np.array([place.setdefault(text, len(place)) for text in hypotheses])
    most = max(map(len, references))
    # Groups are filled up to one size with their first reference, which does not change a maximum.
    groups = [[*group, *[group[0]] * (most - len(group))] for group in references]
    ref = np.array([[place.setdefault(text, len(place)) for text in group] for group in groups])
    return np.stack([_matches(counted, hyp, ref) for counted in _count_orders(list(place), n)], axis=1)


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
        numbers = np.sort(owner[: len(grams)][whole] * size + grams[whole])
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        starts = np.searchsorted(numbers[first], np.arange(len(texts) + 1) * size)
        yield _Counted(numbers[first], np.diff(first, append=len(numbers)), size, starts)


def _matches(counted: _Counted, hyp: _Integers, ref: _Integers) -> _Integers:
    """Sum over each hypothesis' n-grams the smaller of its count and the largest among its references."""
    starts = counted.starts[hyp]
    widths = counted.starts[hyp + 1] - starts
    pair = np.repeat(np.arange(len(hyp)), widths)
    at = np.arange(len(pair)) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    shifts = (((column - hyp) * counted.size)[pair] for column in ref.T)
    others = (_look_up(counted, counted.numbers[at] + shift) for shift in shifts)
    shared = np.minimum(reduce(np.maximum, others), counted.counts[at])
    return np.bincount(pair, weights=shared, minlength=len(hyp)).astype(np.int64)


def _look_up(counted: _Counted, wanted: _Integers) -> _Integers:
    """Return the counts of numbers, 0 where a number does not occur."""
    if not len(counted.numbers):
        return np.zeros_like(wanted)
    at = np.minimum(np.searchsorted(counted.numbers, wanted), len(counted.numbers) - 1)
    return np.where(counted.numbers[at] == wanted, counted.counts[at], 0)


SacreSmooth = Literal["exp", "floor", "add-k", "none"]
_SMOOTH_VALUES = {"floor": 0.1, "add-k": 1.0}  # sacreBLEU's, after Chen & Cherry 2014
NltkSmooth = Literal["none", "method1", "method2", "method3", "method4"]


@dataclass(frozen=True, slots=True)
class Matches:
    """BLEU's sufficient statistics: lengths, and by order the n-grams matched and those there are."""

    length: int
    closest: int  # length of the closest reference, the shorter of two
    correct: tuple[int, ...]
    total: tuple[int, ...]


def match_statistics(samples: Sequence[Sample], n: int, tokenize: Tokenize, lowercase: bool) -> _Integers:
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
    return 1.0 if length >= closest else math.exp(1 - closest / length) if length else 0.0


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
            zeros += 1  # Chen & Cherry 2014: what replaces a 0 at the `zeros`-th order without a match
            half = 0.5**zeros
            stand_ins = {"method1": 0.1, "method3": half, "method4": half * math.log(counts.length) / 5}
            value = stand_ins.get(smooth, 0.0)
        if value <= 0:
            return 0.0
        logs += math.log(value / total)
    return brevity_penalty(counts.length, counts.closest) * math.exp(logs / len(counts.correct))


@dataclass(frozen=True)
class Bleu(Metric):
    """Sentence BLEU as NLTK computes it; all references together clip the n-grams."""

    name = "bleu"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    identity_highest = True
    citation = (
        "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
    )

    tokenize: Tokenize = "split"
    smooth: NltkSmooth = "method1"
    n: int = 4
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        counts = count_matches(samples, self.n, self.tokenize, self.lowercase)
        return [nltk_bleu(matches, self.smooth) for matches in counts]


def smooth_value_of(smooth: SacreSmooth, given: float | None) -> float:
    """Return what replaces a count of 0, or is added to each; refuse a value where none is taken."""
    if given is not None and smooth not in _SMOOTH_VALUES:
        raise SpecError(f"smooth={smooth} takes no smooth_value; floor and add-k do")
    return _SMOOTH_VALUES.get(smooth, 0.0) if given is None else given


def sacrebleu_scores(
    rows: Floats, smooth: SacreSmooth, value: float | None, *, effective_order: bool
) -> Floats:
    """Return BLEU in 0..100 for each row of statistics, as sacrebleu.BLEU.compute_bleu."""
    constant = smooth_value_of(smooth, value)
    order = (rows.shape[1] - 2) // 2
    length, closest = rows[:, 0], rows[:, 1]
    correct, total = rows[:, 2 : 2 + order].copy(), rows[:, 2 + order :].copy()
    matched = correct.any(axis=1)
    if smooth == "add-k":
        correct[:, 1:] += constant
        total[:, 1:] += constant
    counted = np.logical_and.accumulate(total > 0, axis=1)  # the first order without n-grams ends it
    zeros = np.cumsum((correct == 0) & counted, axis=1)
    stand_in = {"exp": 0.5**zeros, "floor": np.full_like(correct, constant)}.get(
        smooth, np.zeros_like(correct)
    )
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
    identity_highest = True
    citation = "Post 2018, A Call for Clarity in Reporting BLEU Scores, W18-6319"

    tokenize: Tokenize = "13a"
    smooth: SacreSmooth = "exp"
    n: int = 4
    lowercase: bool = False
    effective_order: bool = True
    smooth_value: float | None = None  # of floor and add-k; theirs by default

    def __post_init__(self) -> None:
        """Refuse a value that the smoothing does not take."""
        smooth_value_of(self.smooth, self.smooth_value)

    def score(self, samples: Sequence[Sample]) -> Floats:
        rows = match_statistics(samples, self.n, self.tokenize, self.lowercase).astype(np.float64)
        return sacrebleu_scores(rows, self.smooth, self.smooth_value, effective_order=self.effective_order)


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
    # version 1 parted words as Stanford's tokeniser does in 95 of 100 sentences; now in more than 99
    version = 2
    paradigm = "n-gram"
    outputs = ("1", "2", "3", "4")
    range = (0.0, 1.0)
    identity_highest = True
    citation = (
        "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation, P02-1040"
    )

    tokenize: Tokenize = "ptb"
    backend: Literal["own", "coco"] = "own"

    def score(self, samples: Sequence[Sample]) -> Floats:
        prepared, tokenize = self.prepared(samples)
        return np.array([coco_bleu(counts) for counts in count_matches(prepared, 4, tokenize)]).reshape(-1, 4)


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
        return [self._one(sample) for sample in samples]

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


_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
NLTK_EPSILON = 1e-16


def _letters(text: str) -> str:
    """Return the characters that chrF counts."""
    return "".join(text.split())


def _words(text: str) -> tuple[str, ...]:
    """Return the words of chrF++: one punctuation mark is parted from a word's end, else from its start."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return tuple(words)


def _counts(hypotheses: Sequence[Symbols], references: Sequence[Symbols], n: int) -> _Integers:
    """Return [hypothesis, reference, shared] n-gram counts by order, one row per pair."""
    shared = shared_ngrams(hypotheses, [[text] for text in references], n)
    hyp, ref = (
        np.maximum(np.array([len(text) for text in texts], dtype=np.int64)[:, None] - np.arange(n), 0)
        for texts in (hypotheses, references)
    )
    # Without reference n-grams of an order, sacreBLEU does not count the hypothesis' either.
    return np.stack([np.where(ref > 0, hyp, 0), ref, shared], axis=2).reshape(len(hypotheses), 3 * n)


def pair_statistics(samples: Sequence[Sample], n: int, word_order: int, lowercase: bool) -> _Integers:
    """Return counts per (sample, reference): of characters, then of words, in sacreBLEU's layout."""
    texts = list(chain.from_iterable(reference_pairs(samples)))  # a hypothesis and a reference by turns
    if lowercase:
        texts = [text.lower() for text in texts]
    letters = [_letters(text) for text in texts]
    counts = [_counts(letters[::2], letters[1::2], n)]
    if word_order:
        words = [_words(text) for text in texts]
        counts.append(_counts(words[::2], words[1::2], word_order))
    return np.concatenate(counts, axis=1)


def _by_order(statistics: Floats | _Integers) -> Any:
    """Return the counts as [hypothesis, reference, shared], each (orders, rows)."""
    return statistics.reshape(len(statistics), statistics.shape[1] // 3, 3).T


def chrf_scores(statistics: Floats | _Integers, beta: float) -> Floats:
    """Return F of mean precision and mean recall over the orders that both texts have, times 100, per row."""
    hyp, ref, shared = _by_order(statistics)
    both = (hyp > 0) & (ref > 0)
    precision, recall = (sum(np.where(both, shared / np.where(both, side, 1), 0.0)) for side in (hyp, ref))
    orders = np.maximum(both.sum(axis=0), 1)
    return 100 * _f_measures(precision / orders, recall / orders, beta)


def nltk_scores(statistics: _Integers, beta: float) -> Floats:
    """Return the mean over orders of F, as nltk.translate.chrf_score.sentence_chrf does, per row."""
    hyp, ref, shared = _by_order(statistics)
    both = shared > 0
    f = _f_measures(shared / np.where(both, hyp, 1), shared / np.where(both, ref, 1), beta)
    return np.asarray(sum(np.where(both, f, NLTK_EPSILON)) / len(f))


def _f_measures(precision: Floats, recall: Floats, beta: float) -> Floats:
    weight = beta * beta
    total = weight * precision + recall
    return np.asarray((1 + weight) * precision * recall / np.where(total > 0, total, 1.0))


def best_statistics(
    samples: Sequence[Sample], n: int, word_order: int, beta: float, lowercase: bool
) -> _Integers:
    """Return each sample's counts against the reference with the best F, the first of equals."""
    statistics = pair_statistics(samples, n, word_order, lowercase)
    values = chrf_scores(statistics, beta)
    return statistics[[part.start + int(np.argmax(values[part])) for part in by_reference(samples)]]


def _best(samples: Sequence[Sample], values: Floats) -> list[float | None]:
    return [reduced(values[part].tolist(), "max") for part in by_reference(samples)]


@dataclass(frozen=True)
class Chrf(Metric):
    """chrF as sacreBLEU computes it, in 0..100; `backend=nltk` is NLTK's, in 0..1 and with beta 3."""

    name = "chrf"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    identity_highest = True
    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, W15-3049"

    n: int = 6
    beta: float | None = None  # 2 in sacreBLEU, 3 in NLTK
    lowercase: bool = False
    backend: Literal["sacrebleu", "nltk"] = "sacrebleu"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        statistics = pair_statistics(samples, self.n, 0, self.lowercase)
        if self.backend == "nltk":
            return _best(samples, nltk_scores(statistics, 3.0 if self.beta is None else self.beta))
        return _best(samples, chrf_scores(statistics, 2.0 if self.beta is None else self.beta))


@dataclass(frozen=True)
class ChrfPlusPlus(Metric):
    """chrF++: chrF with word unigrams and bigrams, as sacreBLEU computes it."""

    name = "chrf++"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    identity_highest = True
    citation = "Popović 2017, chrF++: words helping character n-grams, W17-4770"

    n: int = 6
    word_order: NonNegative = 2
    beta: float = 2.0
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        statistics = pair_statistics(samples, self.n, self.word_order, self.lowercase)
        return _best(samples, chrf_scores(statistics, self.beta))


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
