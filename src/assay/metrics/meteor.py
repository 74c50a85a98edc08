"""METEOR as in NLTK: words aligned exactly, then by stem, then by synonym where WordNet is installed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal

from assay.core import Metric, Sample, Scores
from assay.errors import MetricError
from assay.metrics.coco import JavaBacked, java_meteor
from assay.metrics.text import Tokenize, stem, tokens

Words = list[tuple[int, str]]
Forms = Callable[[str], Iterable[str]]
_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5  # Banerjee & Lavie's weights


@cache
def wordnet() -> Any:
    """Return NLTK's WordNet reader, None where the corpus is not installed."""
    import nltk
    from nltk.corpus import wordnet as reader

    for place in ("corpora/wordnet", "corpora/wordnet.zip"):
        with suppress(LookupError):
            nltk.data.find(place)
            return reader
    return None


@lru_cache(maxsize=50_000)
def wordnet_synonyms(word: str) -> frozenset[str]:
    """Return the word and the one-word lemmas of its synsets."""
    lemmas = (lemma.name() for synset in wordnet().synsets(word) for lemma in synset.lemmas())
    return frozenset(name for name in lemmas if "_" not in name) | {word}


def match(hyp: Words, ref: Words, forms: Forms) -> list[tuple[int, int]]:
    """Return pairs of positions, the last words first, and remove what is paired from both lists.

    Each hypothesis word, from the end, takes the latest free reference word that has one of its forms.
    """
    free: defaultdict[str, list[int]] = defaultdict(list)
    for at, (_, word) in enumerate(ref):
        free[word].append(at)
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    left: Words = []
    for place, word in reversed(hyp):
        latest = max((free[form][-1] for form in forms(word) if free.get(form)), default=None)
        if latest is None:
            left.append((place, word))
            continue
        free[ref[latest][1]].pop()
        taken.add(latest)
        pairs.append((place, ref[latest][0]))
    hyp[:] = reversed(left)
    ref[:] = [pair for at, pair in enumerate(ref) if at not in taken]
    return pairs


def meteor(hypothesis: Sequence[str], reference: Sequence[str], *, use_synonyms: bool) -> float:
    """Return the weighted harmonic mean of matches, less a penalty for scattered ones."""
    hyp, ref = list(enumerate(hypothesis)), list(enumerate(reference))
    pairs = match(hyp, ref, lambda word: (word,))
    # What is left is compared as stems; NLTK looks up the synonyms of stems, too.
    hyp, ref = ([(place, stem(word)) for place, word in words] for words in (hyp, ref))
    pairs += match(hyp, ref, lambda word: (word,))
    if use_synonyms:
        pairs += match(hyp, ref, wordnet_synonyms)
    if not pairs:
        return 0.0
    pairs.sort()
    precision, recall = len(pairs) / len(hypothesis), len(pairs) / len(reference)
    mean = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
    chunks = 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(pairs))
    return float(mean * (1 - _GAMMA * (chunks / len(pairs)) ** _BETA))


@dataclass(frozen=True)
class Meteor(JavaBacked, Metric):
    """METEOR; `backend=coco` is Java METEOR 1.5.

    Without the WordNet corpus the synonym stage does not run: the signature names the stages that did, and a
    note counts the samples scored without it.
    """

    name = "meteor"
    paradigm = "n-gram"
    range = (0.0, 1.0)
    identity_highest = True
    citation = "Banerjee & Lavie 2005, METEOR: An Automatic Metric for MT Evaluation, W05-0909"

    tokenize: Tokenize = "split"
    synonyms: Literal["auto", "on", "off"] = "auto"
    backend: Literal["own", "coco"] = "own"

    def pins(self) -> Mapping[str, str]:
        return {} if self.backend == "coco" else {"synonyms": "+".join(self.stages)}

    @property
    def stages(self) -> tuple[str, ...]:
        complete = self.synonyms != "off" and wordnet() is not None
        return ("exact", "stem", "synonym") if complete else ("exact", "stem")

    def score(self, samples: Sequence[Sample]) -> Scores:
        if self.backend == "coco":
            return Scores(java_meteor(self.prepared(samples)[0], "-norm") if samples else [])
        complete = "synonym" in self.stages
        if self.synonyms == "on" and not complete:
            raise MetricError(
                "meteor:synonyms=on needs WordNet: run `python -m nltk.downloader wordnet`, "
                "or give synonyms=off"
            )
        values = [self._one(sample, complete) for sample in samples]
        missed = {} if complete or self.synonyms == "off" else {"without_synonyms": [1] * len(samples)}
        return Scores(values, missed)

    def _one(self, sample: Sample, use_synonyms: bool) -> float:
        hyp = tokens(sample.hypothesis, self.tokenize, True)
        references = (tokens(text, self.tokenize, True) for text in sample.references)
        return max(meteor(hyp, ref, use_synonyms=use_synonyms) for ref in references)
