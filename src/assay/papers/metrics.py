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
from typing import Literal, get_args

from rapidfuzz.distance import LCSseq

from assay.core import Metric, Sample
from assay.metrics.coco import JAVA_BATCH, java_meteor
from assay.metrics.ngram import Matches, brevity_penalty, count_matches
from assay.metrics.text import f_measure, grams, memo, tokens

RougeKind = Literal["1", "2", "l"]
_LISTS = ("wordnet_key_value.txt", "wordnet_key_value_special_cases.txt")


class _Dialect(Metric):
    paradigm = "n-gram"
    range = (0.0, 1.0)


@dataclass(frozen=True)
class MultEvalBleu(_Dialect):
    """Sentence BLEU of MultEval on white-space tokens, with all references together."""

    name = "multeval-bleu"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return [_jbleu(matches) for matches in count_matches(samples, 4, "split", lowercase=True)]


def _jbleu(matches: Matches) -> float:
    """An order without matches counts half as much as the one before; an order without n-grams is skipped."""
    logs, smooth = 0.0, 1.0
    for hits, total in zip(matches.correct, matches.total, strict=True):
        if not total:
            continue
        if not hits:
            smooth *= 2
        logs += math.log((hits or 1 / smooth) / total)
    return brevity_penalty(matches.length, matches.closest) * math.exp(logs / len(matches.correct))


def _word_lists() -> list[Path]:
    """The lists of irregular forms in the installed package py-rouge, of which nothing is run; or none."""
    package = importlib.util.find_spec("rouge")
    folders = package.submodule_search_locations if package else None
    paths = [Path(folder, name) for folder in folders or () for name in _LISTS]
    return paths if all(path.is_file() for path in paths) else []


@cache
def _stemmer() -> Callable[[str], str]:
    """Porter's stem as first published, apart from irregular forms."""
    from nltk.stem.porter import PorterStemmer

    lines = [line.partition("|") for path in _word_lists() for line in path.read_text("utf-8").split()]
    irregular = {word: base for word, _, base in lines}
    porter = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
    return lru_cache(maxsize=100_000)(lambda word: irregular.get(word) or str(porter.stem(word)))


@memo(budget=4_000_000)
def _words(text: str, limit: int) -> tuple[str, ...]:
    """Lower-case words and numbers of the first `limit` tokens, stemmed from four letters on."""
    words = re.findall("[a-z0-9]+", " ".join(text.split()[:limit]).lower())
    return tuple(_stemmer()(word) if len(word) > 3 else word for word in words)


@memo(budget=4_000_000)
def _counts(text: str, limit: int, n: int) -> Counter[tuple[str, ...]]:
    return grams(_words(text, limit), n)


@dataclass(frozen=True)
class PyRouge(_Dialect):
    """ROUGE of py-rouge as its manual sets it: 100 words, stems, weight 1.2; the mean over references."""

    name = "py-rouge"
    symmetric = True
    kind: RougeKind = "1"
    limit: int = 100
    weight: float = 1.2  # read by ROUGE-L too, though it is meant for ROUGE-W

    @classmethod
    def absent(cls) -> str | None:
        return None if _word_lists() else "its word list is missing; run `pip install py-rouge`"

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        pairs = [[self._pair(s.hypothesis, text) for text in s.references] for s in samples]
        return [sum(scores) / len(scores) for scores in pairs]

    def _pair(self, hypothesis: str, reference: str) -> float:
        root = 1.0
        if self.kind == "l":
            words, other_words = (_words(text, self.limit) for text in (hypothesis, reference))
            shared, sizes = LCSseq.similarity(words, other_words), (len(words), len(other_words))
            root = 1 / self.weight
        else:
            counts, others = (_counts(text, self.limit, int(self.kind)) for text in (hypothesis, reference))
            shared, sizes = (counts & others).total(), (counts.total(), others.total())
        precision, recall = ((shared / max(size, 1)) ** root for size in sizes)
        return f_measure(precision, recall)


@dataclass(frozen=True)
class CocoRouge(_Dialect):
    """ROUGE-L of pycocoevalcap: F with beta 1.2, precision and recall each of its best reference."""

    name = "coco-rouge"
    beta: float = 1.2

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return [self._scored(sample) for sample in samples]

    def _scored(self, sample: Sample) -> float:
        words = tokens(sample.hypothesis, "ptb")
        others = [tokens(text, "ptb") for text in sample.references]
        pairs = [(LCSseq.similarity(words, other), len(other)) for other in others]
        precision = max(shared / max(len(words), 1) for shared, _ in pairs)
        recall = max(shared / max(size, 1) for shared, size in pairs)
        return f_measure(precision, recall, self.beta)


@dataclass(frozen=True)
class MultEvalMeteor(_Dialect):
    """Java METEOR 1.5 (MultEval has 1.4), without its own tokeniser."""

    name = "multeval-meteor"
    packages = ("pycocoevalcap",)
    extra = "coco"

    @property
    def batch(self) -> int:
        return JAVA_BATCH  # every call starts Java twice

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        def line(text: str) -> str:
            return " ".join(text.replace("|||", "").split()).lower()

        return [*java_meteor([Sample(line(s.hypothesis), tuple(map(line, s.references))) for s in samples])]


_ROUGES = {f"py-rouge-{kind}": PyRouge(kind) for kind in get_args(RougeKind)}
_OTHERS = (MultEvalBleu(), CocoRouge(), MultEvalMeteor())
DIALECTS: dict[str, Metric] = {**_ROUGES, **{metric.name: metric for metric in _OTHERS}}
