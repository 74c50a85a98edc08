"""chrF and chrF++: character (and word) n-grams shared with the reference; fit for any script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.core import Floats, Metric, Sample
from assay.metrics.ngram import Integers, Symbols, shared_ngrams
from assay.metrics.text import reduced, segments
from assay.vocabulary import NonNegative

POPOVIC_2015 = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, W15-3049"
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
NLTK_EPSILON = 1e-16


def _words(text: str) -> tuple[str, ...]:
    """Return the words of chrF++: one punctuation mark is parted from a word's end, else from its start."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return tuple(words)


def _counts(hypotheses: Sequence[Symbols], references: Sequence[Symbols], n: int) -> Integers:
    """Return [hypothesis, reference, shared] n-gram counts by order, one row per pair."""
    shared = shared_ngrams(hypotheses, [[text] for text in references], n)
    hyp, ref = (
        np.maximum(np.array([len(text) for text in texts], dtype=np.int64)[:, None] - np.arange(n), 0)
        for texts in (hypotheses, references)
    )
    # Without reference n-grams of an order, sacreBLEU does not count the hypothesis' either.
    return np.stack([np.where(ref > 0, hyp, 0), ref, shared], axis=2).reshape(len(hypotheses), 3 * n)


def pair_statistics(samples: Sequence[Sample], n: int, word_order: int, lowercase: bool) -> Integers:
    """Return counts per (sample, reference): of characters, then of words, in sacreBLEU's layout."""
    pairs = [(sample.hypothesis, text) for sample in samples for text in sample.references]
    if not pairs:
        return np.zeros((0, 3 * (n + word_order)), dtype=np.int64)
    sides = [[text.lower() if lowercase else text for text in side] for side in zip(*pairs, strict=True)]
    letters = [["".join(text.split()) for text in side] for side in sides]
    counts = _counts(letters[0], letters[1], n)
    if not word_order:
        return counts
    words = [[_words(text) for text in side] for side in sides]
    return np.concatenate([counts, _counts(words[0], words[1], word_order)], axis=1)


def chrf_scores(statistics: Floats | Integers, beta: float) -> Floats:
    """Return F of mean precision and mean recall over the orders that both texts have, times 100, per row."""
    precision, recall, orders = (np.zeros(len(statistics)) for _ in range(3))
    for at in range(0, statistics.shape[1], 3):
        hyp, ref, shared = statistics[:, at : at + 3].T
        both = (hyp > 0) & (ref > 0)
        precision += np.where(both, shared / np.where(both, hyp, 1), 0.0)
        recall += np.where(both, shared / np.where(both, ref, 1), 0.0)
        orders += both
    orders = np.maximum(orders, 1)
    return 100 * _f_measures(precision / orders, recall / orders, beta)


def nltk_scores(statistics: Integers, beta: float) -> Floats:
    """Return the mean over orders of F, as nltk.translate.chrf_score.sentence_chrf does, per row."""
    total = np.zeros(len(statistics))
    for at in range(0, statistics.shape[1], 3):
        hyp, ref, shared = statistics[:, at : at + 3].T
        both = shared > 0
        f = _f_measures(shared / np.where(both, hyp, 1), shared / np.where(both, ref, 1), beta)
        total += np.where(both, f, NLTK_EPSILON)
    return np.asarray(total / (statistics.shape[1] // 3))


def _f_measures(precision: Floats, recall: Floats, beta: float) -> Floats:
    weight = beta * beta
    total = weight * precision + recall
    return np.asarray((1 + weight) * precision * recall / np.where(total > 0, total, 1.0))


def best_statistics(
    samples: Sequence[Sample], n: int, word_order: int, beta: float, lowercase: bool
) -> Integers:
    """Return each sample's counts against the reference with the best F, the first of equals."""
    statistics = pair_statistics(samples, n, word_order, lowercase)
    values = chrf_scores(statistics, beta)
    parts = segments(len(sample.references) for sample in samples)
    return statistics[[part.start + int(np.argmax(values[part])) for part in parts]]


def _best(samples: Sequence[Sample], values: Floats) -> list[float | None]:
    parts = segments(len(sample.references) for sample in samples)
    return [reduced(values[part].tolist(), "max") for part in parts]


@dataclass(frozen=True)
class Chrf(Metric):
    """chrF as sacreBLEU computes it, in 0..100; `backend=nltk` is NLTK's, in 0..1 and with beta 3."""

    name = "chrf"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = POPOVIC_2015
    identity_highest = True
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
    citation = "Popović 2017, chrF++: words helping character n-grams, W17-4770"
    identity_highest = True
    n: int = 6
    word_order: NonNegative = 2
    beta: float = 2.0
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        statistics = pair_statistics(samples, self.n, self.word_order, self.lowercase)
        return _best(samples, chrf_scores(statistics, self.beta))
