"""Dialects of BLEU and ROUGE that the papers' tools speak and nobody should choose today.

They are here because a published figure rests on them, and only recipes name them:
`multeval-bleu`  jBLEU of MultEval (Clark et al., 2011): smoothed even where no word matches
`py-rouge-1|2|l` py-rouge: ROUGE-L takes ROUGE-W's root, a slip of the package
`coco-rouge`     pycocoevalcap: the best precision and the best recall, perhaps of two references
`multeval-meteor` Java METEOR on lower-cased text that is not tokenised, as MultEval hands it over
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from rapidfuzz.distance import LCSseq

from assay.core import Measure, Metric, Sample
from assay.errors import MetricError
from assay.metrics.coco import jar, run_java
from assay.metrics.ngram import Matches, brevity_penalty, count_matches
from assay.metrics.text import f_measure, memo, tokens

_WORD = re.compile("[a-z0-9]+")
_LISTS = ("wordnet_key_value.txt", "wordnet_key_value_special_cases.txt")


def jbleu(found: Matches) -> float:
    """An order without matches counts half as much as the one before; an order without n-grams is skipped."""
    logs, smooth = 0.0, 1.0
    for hits, total in zip(found.correct, found.total, strict=True):
        if not total:
            continue
        if not hits:
            smooth *= 2
        logs += math.log((hits or 1 / smooth) / total)
    return brevity_penalty(found.length, found.closest) * math.exp(logs / len(found.correct))


@dataclass(frozen=True)
class MultEvalBleu(Metric):
    """Sentence BLEU of MultEval on white-space tokens."""

    name = "multeval-bleu"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    lowercase: bool = True

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """All references together."""
        return [jbleu(found) for found in count_matches(samples, 4, "split", self.lowercase)]


@cache
def irregular() -> dict[str, str]:
    """py-rouge's list of irregular forms, read from the installed package; nothing of it is run."""
    found = importlib.util.find_spec("rouge")
    folders = found.submodule_search_locations if found else None
    paths = [Path(folder, name) for folder in folders or () for name in _LISTS]
    if not paths or not all(path.is_file() for path in paths):
        raise MetricError("this recipe needs the word list of py-rouge; run `pip install py-rouge`")
    lines = [line.partition("|") for path in paths for line in path.read_text("utf-8").split()]
    return {word: base for word, _, base in lines}


@memo(budget=4_000_000)
def _words(text: str, limit: int) -> tuple[str, ...]:
    """Lower-case words and numbers of the first `limit` tokens, stemmed from four letters on."""
    cut = " ".join(text.split()[:limit]).lower()
    return tuple(_stem(word) if len(word) > 3 else word for word in _WORD.findall(cut))


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """Porter's stem as first published, irregular forms apart."""
    return irregular().get(word) or str(_porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)


@memo(budget=4_000_000)
def _counts(text: str, limit: int, n: int) -> Counter[tuple[str, ...]]:
    words = _words(text, limit)
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


@dataclass(frozen=True)
class PyRouge(Metric):
    """ROUGE of py-rouge as its manual sets it: 100 words, stems, weight 1.2; the mean over references."""

    name = "py-rouge"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    symmetric = True
    kind: Literal["1", "2", "l"] = "1"
    limit: int = 100
    weight: float = 1.2  # read by ROUGE-L too, though it is meant for ROUGE-W

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """The mean F over references."""
        return [
            sum(self._pair(one.hypothesis, text) for text in one.references) / len(one.references)
            for one in samples
        ]

    def _pair(self, hypothesis: str, reference: str) -> float:
        if self.kind == "l":
            words, other = _words(hypothesis, self.limit), _words(reference, self.limit)
            shared, mine, theirs = LCSseq.similarity(words, other), len(words), len(other)
        else:
            counts, others = (_counts(text, self.limit, int(self.kind)) for text in (hypothesis, reference))
            shared, mine, theirs = (counts & others).total(), counts.total(), others.total()
        root = 1 / self.weight if self.kind == "l" else 1.0
        return f_measure((shared / max(mine, 1)) ** root, (shared / max(theirs, 1)) ** root)


@dataclass(frozen=True)
class CocoRouge(Metric):
    """ROUGE-L of pycocoevalcap: F with beta 1.2."""

    name = "coco-rouge"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    beta: float = 1.2

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """Precision and recall each of its best reference."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> float:
        mine = tokens(sample.hypothesis, "ptb")
        others = [tokens(text, "ptb") for text in sample.references]
        shared = [LCSseq.similarity(mine, other) for other in others]
        precision = max(shared) / len(mine) if mine else 0.0
        recall = max(
            count / len(other) if other else 0.0 for count, other in zip(shared, others, strict=True)
        )
        if not precision or not recall:
            return 0.0
        return (1 + self.beta**2) * precision * recall / (recall + self.beta**2 * precision)


@dataclass(frozen=True)
class MultEvalMeteor(Metric):
    """Java METEOR 1.5 (MultEval has 1.4), without its own tokeniser."""

    name = "multeval-meteor"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    packages = ("pycocoevalcap",)
    extra = "coco"
    lowercase: bool = True

    @property
    def batch(self) -> int:
        """Every call starts Java twice."""
        return 4096

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        """One process for the statistics, one for the scores."""
        program = jar("meteor/meteor-1.5.jar")
        command = ["-Xmx2G", "-jar", program.name, "-", "-", "-stdio", "-l", "en"]
        asked = [
            " ||| ".join(["SCORE", *map(self._line, (*one.references, one.hypothesis))]) for one in samples
        ]
        statistics = run_java(command, asked, program.parent)
        scores = run_java(command, [" ||| ".join(["EVAL", *statistics])], program.parent)
        if len(scores) != len(samples) + 1:  # the last is the score of all
            raise MetricError(f"Java METEOR gave {len(scores) - 1} scores for {len(samples)} samples")
        return [float(score) for score in scores[:-1]]

    def _line(self, text: str) -> str:
        plain = " ".join(text.replace("|||", "").split())
        return plain.lower() if self.lowercase else plain


_DIALECTS: dict[str, Callable[[], Metric]] = {
    "multeval-bleu": MultEvalBleu,
    "multeval-bleu:lowercase=false": lambda: MultEvalBleu(lowercase=False),
    "py-rouge-1": lambda: PyRouge("1"),
    "py-rouge-2": lambda: PyRouge("2"),
    "py-rouge-l": lambda: PyRouge("l"),
    "coco-rouge": CocoRouge,
    "multeval-meteor": MultEvalMeteor,
}


def recipe_measure(spec: str) -> str | Measure:
    """A dialect of a recipe, or the spec as it is for everyone."""
    return Measure(spec, _DIALECTS[spec]()) if spec in _DIALECTS else spec
