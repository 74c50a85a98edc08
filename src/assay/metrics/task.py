"""Metrics made for one task: answerable questions (Q-BLEU, Q-ROUGE) and texts true to a table (PARENT)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rapidfuzz.distance import LCSseq

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.metrics.ngram import coco_bleu, count_matches
from assay.metrics.text import Counts, f_measure, memo, tokens, word_counts

NEMA = "Nema & Khapra 2018, Towards a Better Metric for Evaluating Question Generation Systems, D18-1429"
COCO_BETA = 1.2  # pycocoevalcap's ROUGE-L


@cache
def _lexicon() -> dict[str, frozenset[str]]:
    text = files("assay.data").joinpath("lexicons/answerability.toml").read_text(encoding="utf-8")
    return {name: frozenset(words) for name, words in tomllib.loads(text)["words"].items()}


@dataclass(frozen=True, slots=True)
class Parts:
    """A question by what its words do, each part a text."""

    content: str
    entities: str
    question: str
    function: str


@memo(budget=500_000)
def question_parts(text: str) -> Parts:
    """As the authors' scorer parts it: a capital letter marks an entity, `what` takes its next word along."""
    lexicon, words = _lexicon(), text.split()
    asking: list[str] = []
    for at, word in enumerate(words):
        if word in lexicon["question"] or word in _capitalised():
            asking += words[at : at + (2 if word.lower() in lexicon["with_next"] else 1)]
    rest = [word for word in words if word not in asking]
    content = [word for word in rest if not word[0].isupper() and word not in lexicon["function"]]
    named = words[1:] if words and words[0].lower() in lexicon["question"] else words
    entities = [word for word in named if word[0].isupper()]
    function = [word.lower() for word in words if word.lower() in lexicon["function"]]
    return Parts(" ".join(content), " ".join(entities), " ".join(asking), " ".join(function))


@cache
def _capitalised() -> frozenset[str]:
    return frozenset(word.capitalize() for word in _lexicon()["question"])


def _agreement(mine: str, theirs: str) -> float:
    """F of BLEU-1 in both directions, on Treebank tokens."""
    precision = coco_bleu(count_matches(mine, (theirs,), 1, "ptb"))[0]
    recall = coco_bleu(count_matches(theirs, (mine,), 1, "ptb"))[0]
    return f_measure(precision, recall)


def answerability(hypothesis: str, reference: str, entity: float, question: float, content: float) -> float:
    """The weighted agreement of the four parts; function words have what weight is left."""
    mine, theirs = question_parts(hypothesis), question_parts(reference)
    return (
        entity * _agreement(mine.entities, theirs.entities)
        + question * _agreement(mine.question, theirs.question)
        + content * _agreement(mine.content, theirs.content)
        + (1 - entity - question - content) * _agreement(mine.function, theirs.function)
    )


def coco_rouge_l(hypothesis: str, reference: str) -> float:
    """ROUGE-L as pycocoevalcap has it, recall weighted more."""
    mine, theirs = tokens(hypothesis, "ptb"), tokens(reference, "ptb")
    if not mine or not theirs:
        return 0.0
    length = LCSseq.similarity(mine, theirs)
    return f_measure(length / len(mine), length / len(theirs), COCO_BETA)


def _best(sample: Sample, compare: Callable[[str, str], float]) -> float | None:
    return max((compare(sample.hypothesis, text) for text in sample.references), default=None)


@dataclass(frozen=True)
class QBleu(Metric):
    """Answerability mixed with BLEU-n; the weights are those of the authors' released example."""

    name = "qbleu"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = NEMA
    n: int = 4
    delta: float = 0.7
    entity_weight: float = 0.6
    question_weight: float = 0.2
    content_weight: float = 0.1

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The best reference counts."""
        return [_best(sample, self._pair) for sample in samples]

    def _pair(self, hypothesis: str, reference: str) -> float:
        weights = (self.entity_weight, self.question_weight, self.content_weight)
        fluency = coco_bleu(count_matches(hypothesis, (reference,), self.n, "ptb"))[-1]
        return self.delta * answerability(hypothesis, reference, *weights) + (1 - self.delta) * fluency


@dataclass(frozen=True)
class QRouge(Metric):
    """Answerability mixed with ROUGE-L."""

    name = "qrouge"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    citation = NEMA
    delta: float = 0.7
    entity_weight: float = 0.6
    question_weight: float = 0.2
    content_weight: float = 0.1

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The best reference counts."""
        return [_best(sample, self._pair) for sample in samples]

    def _pair(self, hypothesis: str, reference: str) -> float:
        weights = (self.entity_weight, self.question_weight, self.content_weight)
        fluency = coco_rouge_l(hypothesis, reference)
        return self.delta * answerability(hypothesis, reference, *weights) + (1 - self.delta) * fluency


def table_values(source: str) -> list[list[str]]:
    """The values of a table given one entry a line: `attribute | value`, or `head | relation | tail`."""
    values = []
    for line in filter(str.strip, source.splitlines()):
        cells = [cell.split() for cell in line.lower().replace("|||", "|").split("|")]
        if len(cells) not in (2, 3):
            raise MetricError(
                "parent reads a table from the source, `attribute | value` or `head | relation | tail` "
                f"a line; {line[:60]!r} is neither"
            )
        values.append(cells[1] if len(cells) == 2 else cells[0] + cells[2])
    return values


def _entailed(gram: tuple[str, ...], known: frozenset[str]) -> float:
    return sum(word in known for word in gram) / len(gram)


def _precision(mine: Counts, theirs: Counts, known: frozenset[str]) -> float:
    """An n-gram is right if the reference has it, or as far as the table entails it."""
    found = 0.0
    for gram, count in mine.items():
        there = min(1.0, theirs[gram] / count)
        found += count * (there + (1 - there) * _entailed(gram, known))
    return found / mine.total() if mine else 0.0


def _recall(mine: Counts, theirs: Counts, known: frozenset[str]) -> float:
    """Reference n-grams weigh as much as the table entails them."""
    weighed = {gram: count * _entailed(gram, known) for gram, count in theirs.items()}
    total = sum(weighed.values())
    if not total:
        return 1.0
    return sum(weight * min(1.0, mine[gram] / theirs[gram]) for gram, weight in weighed.items()) / total


def _geometric(values: Sequence[float], smoothing: float) -> float:
    """The geometric mean; zeros above the first order are smoothed, as the authors do."""
    smoothed = [values[0], *(value or smoothing for value in values[1:])]
    return math.exp(math.fsum(map(math.log, smoothed)) / len(smoothed)) if smoothed[0] else 0.0


@dataclass(frozen=True)
class Parent(Metric):
    """Precision and recall that know the table: what it entails is no error, even if no reference says it.

    The source holds the table, an entry a line.
    """

    name = "parent"
    paradigm = "n-gram"
    needs = frozenset({"references", "source"})
    range = (0.0, 1.0)
    citation = (
        "Dhingra et al. 2019, Handling Divergent Reference Texts when Evaluating Table-to-Text, P19-1483"
    )
    n: int = 4
    table_weight: float = 0.5
    smoothing: float = 1e-5

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The best reference counts; absent without a table."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> float | None:
        values = table_values(sample.source or "")
        if not values:
            return None
        return _best(sample, lambda hypothesis, reference: self._pair(hypothesis, reference, values))

    def _pair(self, hypothesis: str, reference: str, values: list[list[str]]) -> float:
        known = frozenset(word for value in values for word in value)
        counts = [
            (word_counts(hypothesis, n, "split", True), word_counts(reference, n, "split", True))
            for n in range(1, self.n + 1)
        ]
        precision = _geometric([_precision(*pair, known) for pair in counts], self.smoothing)
        told = _geometric([_recall(*pair, known) for pair in counts], self.smoothing) or self.smoothing
        words = tokens(hypothesis, "split", True)
        mentioned = [LCSseq.similarity(value, words) / len(value) for value in values if value]
        table = sum(mentioned) / len(values) or self.smoothing
        recall = math.pow(told, 1 - self.table_weight) * math.pow(table, self.table_weight)
        return 2 * precision * recall / (precision + recall + 1e-8)
