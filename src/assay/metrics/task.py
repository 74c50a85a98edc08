"""Metrics for one task: questions (Q-BLEU, Q-ROUGE), tables in words (PARENT), simplification (SARI)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import mul

from rapidfuzz.distance import LCSseq

from assay.core import Metric, Sample, Scores
from assay.errors import TextError
from assay.files import toml_file
from assay.metrics.ngram import coco_bleu, count_matches
from assay.metrics.text import (
    Counts,
    Tokenize,
    by_reference,
    f_measure,
    memo,
    reduced,
    reference_pairs,
    tokens,
    word_counts,
)

COCO_BETA = 1.2  # pycocoevalcap's ROUGE-L puts more weight on recall
# Of a question's parts; function words have what is left of 1, to the bit.
_WEIGHTS = {"entities": 0.6, "question": 0.2, "content": 0.1, "function": 1 - 0.6 - 0.2 - 0.1}


@cache
def _lexicon() -> dict[str, frozenset[str]]:
    lists = dict(toml_file("lexicons", "answerability")["words"])
    lists["asking"] = [*lists["question"], *map(str.capitalize, lists["question"])]
    return {name: frozenset(words) for name, words in lists.items()}


@memo(budget=500_000)
def question_parts(text: str) -> dict[str, str]:
    """Return a question's words by what they do, each part joined to a text, as the authors' scorer.

    A capital letter marks an entity, except at the beginning of a question.
    """
    lexicon, words, lowered = _lexicon(), text.split(), text.lower().split()
    asking = _asking(words)
    neither = lexicon["function"].union(asking)
    begins_question = not lexicon["question"].isdisjoint(lowered[:1])
    parts = {
        "content": [word for word in words if not word[0].isupper() and word not in neither],
        "entities": [word for word in words[begins_question:] if word[0].isupper()],
        "question": asking,
        "function": [word for word in lowered if word in lexicon["function"]],
    }
    return {name: " ".join(part) for name, part in parts.items()}


def _asking(words: list[str]) -> list[str]:
    """Return the question words; `what` takes its next word along."""
    lexicon = _lexicon()
    places = [place for place, word in enumerate(words) if word in lexicon["asking"]]
    ends = [place + 1 + (words[place].lower() in lexicon["with_next"]) for place in places]
    return [word for place, end in zip(places, ends, strict=True) for word in words[place:end]]


def _agreements(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Return F of BLEU-1 in both directions, on Treebank tokens, per pair of texts."""
    precision, recall = (
        [coco_bleu(counts)[0] for counts in count_matches(side, 1, "ptb")]
        for side in ([Sample(a, (b,)) for a, b in pairs], [Sample(b, (a,)) for a, b in pairs])
    )
    return list(map(f_measure, precision, recall))


def answerability(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Return the weighted agreement of the four parts."""
    parts = [(question_parts(hypothesis), question_parts(reference)) for hypothesis, reference in pairs]
    kinds = (_agreements([(hyp[name], ref[name]) for hyp, ref in parts]) for name in _WEIGHTS)
    return [sum(map(mul, _WEIGHTS.values(), row)) for row in zip(*kinds, strict=True)]


class _Answerability(Metric):
    """Answerability mixed with how fluent a question is; weights as in the authors' released example."""

    # version 1 parted words as Stanford's tokeniser does in 95 of 100 sentences; now in more than 99
    version = 2
    paradigm = "n-gram"
    made_for = ("question-generation",)
    range = (0.0, 1.0)
    citation = (
        "Nema & Khapra 2018, Towards a Better Metric for Evaluating Question Generation Systems, D18-1429"
    )

    delta: float

    @abstractmethod
    def fluency(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return one number per (hypothesis, reference)."""

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        pairs = reference_pairs(samples)
        both = zip(answerability(pairs), self.fluency(pairs), strict=True)
        values = [self.delta * answerable + (1 - self.delta) * fluent for answerable, fluent in both]
        return [reduced(values[part], "max") for part in by_reference(samples)]


@dataclass(frozen=True)
class QBleu(_Answerability):
    """Answerability mixed with BLEU-n."""

    name = "qbleu"

    n: int = 4
    delta: float = 0.7

    def fluency(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        samples = [Sample(hypothesis, (reference,)) for hypothesis, reference in pairs]
        return [coco_bleu(counts)[-1] for counts in count_matches(samples, self.n, "ptb")]


@dataclass(frozen=True)
class QRouge(_Answerability):
    """Answerability mixed with ROUGE-L."""

    name = "qrouge"

    delta: float = 0.7

    def fluency(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [_rouge_l(tokens(first, "ptb"), tokens(second, "ptb")) for first, second in pairs]


def _rouge_l(hyp: Sequence[str], ref: Sequence[str]) -> float:
    """Return pycocoevalcap's ROUGE-L of words."""
    length = LCSseq.similarity(hyp, ref)
    return f_measure(length / max(len(hyp), 1), length / max(len(ref), 1), COCO_BETA)


def table_values(source: str) -> list[list[str]]:
    """Return a table's values, none unless each line is `attribute | value` or `head | relation | tail`."""
    lines = filter(str.strip, source.lower().replace("|||", "|").splitlines())
    rows = [[cell.split() for cell in line.split("|")] for line in lines]
    if any(len(cells) not in (2, 3) for cells in rows):
        return []
    return [cells[1] if len(cells) == 2 else cells[0] + cells[2] for cells in rows]


def _entailed(gram: tuple[str, ...], known: frozenset[str]) -> float:
    return sum(word in known for word in gram) / len(gram)


def _precision(hyp: Counts, ref: Counts, known: frozenset[str]) -> float:
    """Return the share of n-grams that the reference has, or as far as the table entails them."""
    correct = 0.0
    for gram, count in hyp.items():
        present = min(1.0, ref[gram] / count)
        correct += count * (present + (1 - present) * _entailed(gram, known))
    return correct / hyp.total() if hyp else 0.0


def _recall(hyp: Counts, ref: Counts, known: frozenset[str]) -> float:
    """Return the share of reference n-grams covered, each weighted as far as the table entails it."""
    weighed = {gram: count * _entailed(gram, known) for gram, count in ref.items()}
    total = sum(weighed.values())
    if not total:
        return 1.0
    return sum(weight * min(1.0, hyp[gram] / ref[gram]) for gram, weight in weighed.items()) / total


def _geometric(values: Sequence[float], smoothing: float) -> float:
    """Return the geometric mean; zeros above the first order are smoothed, as the authors do."""
    smoothed = [values[0], *(value or smoothing for value in values[1:])]
    return math.exp(math.fsum(map(math.log, smoothed)) / len(smoothed)) if smoothed[0] else 0.0


@dataclass(frozen=True)
class Parent(Metric):
    """Precision and recall that know the table: what it entails is no error, even if no reference says it.

    The source holds the table, one entry per line.
    """

    name = "parent"
    paradigm = "n-gram"
    made_for = ("data-to-text",)
    needs = frozenset({"references", "source"})
    range = (0.0, 1.0)
    citation = (
        "Dhingra et al. 2019, Handling Divergent Reference Texts when Evaluating Table-to-Text, P19-1483"
    )

    n: int = 4
    table_weight: float = 0.5
    smoothing: float = 1e-5

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return the score against the best reference, per sample; None without a table, which is counted."""
        tables = [table_values(sample.source or "") for sample in samples]
        values = [
            reduced([self._pair(s.hypothesis, text, table) for text in s.references if table], "max")
            for s, table in zip(samples, tables, strict=True)
        ]
        return Scores(values, {"no_table": [int(not table) for table in tables]})

    def _pair(self, hypothesis: str, reference: str, values: list[list[str]]) -> float:
        known = frozenset(chain.from_iterable(values))
        counts = [
            (word_counts(hypothesis, order, "split", True), word_counts(reference, order, "split", True))
            for order in range(1, self.n + 1)
        ]
        precision = _geometric([_precision(*pair, known) for pair in counts], self.smoothing)
        covered = _geometric([_recall(*pair, known) for pair in counts], self.smoothing) or self.smoothing
        words = tokens(hypothesis, "split", True)
        mentioned = [LCSseq.similarity(value, words) / len(value) for value in filter(None, values)]
        table = sum(mentioned) / len(values) or self.smoothing
        recall = math.pow(covered, 1 - self.table_weight) * math.pow(table, self.table_weight)
        return 2 * precision * recall / (precision + recall + 1e-8)


@dataclass(frozen=True)
class Sari(Metric):
    """The mean of keeping (F), adding (F) and deleting (precision) n-grams, n = 1 to 4, on 0..100.

    Counts of source and hypothesis are multiplied by the number of references, as in the authors' code, with
    the recall of keeping by counts (the fix of its public versions). A part without any n-gram scores 1.
    """

    name = "sari"
    paradigm = "n-gram"
    made_for = ("simplification",)
    needs = frozenset({"references", "source"})
    range = (0.0, 100.0)
    citation = "Xu et al. 2016, Optimizing statistical machine translation for text simplification, TACL"

    tokenize: Tokenize = "13a"
    lowercase: bool = True
    n: int = 4

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Return one score per sample; None (counted) for a source in another script than its text."""
        values = [self._sentence(sample) if self._reads_source(sample) else None for sample in samples]
        return Scores(values, {"foreign_source": [int(value is None) for value in values]})

    def _reads_source(self, sample: Sample) -> bool:
        """Whether the tokeniser reads the source; where it reads no text at all, it is the wrong one."""
        for text in (sample.hypothesis, *sample.references):
            tokens(text, self.tokenize, self.lowercase)
        try:
            tokens(sample.source or "", self.tokenize, self.lowercase)
        except TextError:
            return False
        return True

    def _sentence(self, sample: Sample) -> float:
        parts = [0.0, 0.0, 0.0]
        for order in range(1, self.n + 1):
            texts, how = (sample.source or "", sample.hypothesis), (self.tokenize, self.lowercase)
            counts = (word_counts(text, order, *how) for text in (*texts, *sample.references))
            source, hypothesis, *references = counts
            times = len(references)
            source, hypothesis = (Counter({g: times * n for g, n in c.items()}) for c in (source, hypothesis))
            for place, part in enumerate((_kept, _deleted, _added)):
                parts[place] += part(source, hypothesis, sum(references, Counter()))
        return 100.0 * sum(parts) / (3 * self.n)


def _mean_share(part: Counts, whole: Counts) -> float:
    """Return the mean share of each n-gram's count that is in `part`; 1 where there is none."""
    return sum(part[gram] / whole[gram] for gram in part) / len(whole) if whole else 1.0


def _kept(source: Counts, hypothesis: Counts, wanted: Counts) -> float:
    kept, possible = source & hypothesis, source & wanted
    right = kept & wanted
    recall = right.total() / possible.total() if possible else 1.0
    return f_measure(_mean_share(right, kept), recall)


def _deleted(source: Counts, hypothesis: Counts, wanted: Counts) -> float:
    deleted = source - hypothesis
    return _mean_share(deleted - wanted, deleted)


def _added(source: Counts, hypothesis: Counts, wanted: Counts) -> float:
    added, possible = set(hypothesis) - set(source), set(wanted) - set(source)
    right = added & possible
    precision = len(right) / len(added) if added else 1.0
    return f_measure(precision, len(right) / len(possible) if possible else 1.0)
