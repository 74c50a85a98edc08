"""chrF and chrF++: character (and word) n-grams shared with the reference; fit for any script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.core import Metric, Sample
from assay.metrics.text import character_counts, f_measure, grams, matches, memo

POPOVIC_2015 = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, W15-3049"
POPOVIC_2017 = "Popović 2017, chrF++: words helping character n-grams, W17-4770"
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
NLTK_EPSILON = 1e-16


@memo(budget=100_000)
def _word_counts(text: str, n: int) -> tuple[Counter[Any], ...]:
    """Word n-grams of chrF++: one punctuation mark is parted from a word's end, else from its start."""
    words: list[str] = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return tuple([grams(words, order) for order in range(1, n + 1)])


def chrf_statistics(hypothesis: str, reference: str, n: int, word_order: int, lowercase: bool) -> list[int]:
    """[hypothesis, reference, shared] n-gram counts by order: characters, then words (sacreBLEU's layout)."""
    if lowercase:
        hypothesis, reference = hypothesis.lower(), reference.lower()
    mine: tuple[Counter[Any], ...] = character_counts(hypothesis, n)
    theirs: tuple[Counter[Any], ...] = character_counts(reference, n)
    if word_order:
        mine += _word_counts(hypothesis, word_order)
        theirs += _word_counts(reference, word_order)
    flat: list[int] = []
    for one, other in zip(mine, theirs, strict=True):
        # Without reference n-grams of an order, sacreBLEU does not count the hypothesis' either.
        flat += [one.total() if other else 0, other.total(), matches(one, other)]
    return flat


def chrf_score(statistics: Sequence[float], beta: float) -> float:
    """F of the mean precision and mean recall over the orders that both texts have, times 100."""
    precision = recall = 0.0
    orders = 0
    for at in range(0, len(statistics), 3):
        mine, theirs, shared = statistics[at : at + 3]
        if mine > 0 and theirs > 0:
            precision += shared / mine
            recall += shared / theirs
            orders += 1
    return 100 * f_measure(precision / orders, recall / orders, beta) if orders else 0.0


def nltk_chrf(hypothesis: str, reference: str, n: int, beta: float) -> float:
    """The mean over orders of F, as nltk.translate.chrf_score.sentence_chrf does on raw strings."""
    total = 0.0
    for mine, theirs in zip(character_counts(hypothesis, n), character_counts(reference, n), strict=True):
        shared = matches(mine, theirs)
        if shared:
            total += f_measure(shared / mine.total(), shared / theirs.total(), beta)
        else:
            total += NLTK_EPSILON
    return total / n


def best_statistics(
    hypothesis: str, references: Sequence[str], n: int, word_order: int, beta: float, lowercase: bool
) -> list[int]:
    """Statistics against the reference with the best F, the first of equals."""
    return max(
        (chrf_statistics(hypothesis, reference, n, word_order, lowercase) for reference in references),
        key=lambda statistics: chrf_score(statistics, beta),
    )


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
        """The best reference counts."""
        one = self._nltk if self.backend == "nltk" else self._sacrebleu
        return [one(sample) if sample.references else None for sample in samples]

    def _sacrebleu(self, sample: Sample) -> float:
        beta = 2.0 if self.beta is None else self.beta
        found = best_statistics(sample.hypothesis, sample.references, self.n, 0, beta, self.lowercase)
        return chrf_score(found, beta)

    def _nltk(self, sample: Sample) -> float:
        beta = 3.0 if self.beta is None else self.beta
        texts = (sample.hypothesis, *sample.references)
        hypothesis, *references = (text.lower() if self.lowercase else text for text in texts)
        return max(nltk_chrf(hypothesis, reference, self.n, beta) for reference in references)


@dataclass(frozen=True)
class ChrfPlusPlus(Metric):
    """chrF++: chrF with word unigrams and bigrams, as sacreBLEU computes it."""

    name = "chrf++"
    paradigm = "n-gram"
    range = (0.0, 100.0)
    citation = POPOVIC_2017
    identity_highest = True
    n: int = 6
    word_order: int = 2
    beta: float = 2.0
    lowercase: bool = False

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The best reference counts."""
        return [self._one(sample) if sample.references else None for sample in samples]

    def _one(self, sample: Sample) -> float:
        found = best_statistics(
            sample.hypothesis, sample.references, self.n, self.word_order, self.beta, self.lowercase
        )
        return chrf_score(found, self.beta)
