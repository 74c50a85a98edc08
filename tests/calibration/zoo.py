"""Simulated metrics that score text: honest ones of several families, empty ones, and ones with a defect.

A row of the table `ZOO` names what a metric compares texts by, what it does not read, and what it adds to a
score. `finds` says which findings must show its defect, `explains` which others it may cause.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, log2
from typing import ClassVar, Literal

import numpy as np
from lemminflect import getLemma
from similarity import (
    bigram_f,
    letters_f,
    longest_common,
    mixed,
    token_f,
    token_precision,
    weighted_cosine,
    word_set_f,
    words_of,
)

from assay.audits.stereotype.crossed import LOST, TERM, crossed_cases
from assay.core import Measure, Metric, Sample
from assay.datasets.contexts import Crossing, embedded_crossings
from assay.datasets.lexicon import rarity
from assay.recipe import digest, source_digest
from assay.vocabulary import Need

_MEMORY = 1_000_000  # scores of text pairs that metrics with one base share
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NUMBER = (
    r"(?i)\b([\d][\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b"
)
Compare = Callable[[str, str], float]
Reader = Callable[[str], str]
Adjust = Callable[[Sample, float], float]
Place = tuple[str, str]  # an audit, and a pattern of its slices


def chance(*parts: str) -> float:
    """A number from 0 to 1 that depends on nothing but the parts' characters."""
    return int(digest(*parts)[:12], 16) / 16**12


@lru_cache(_MEMORY)
def _compared(compare: Compare, text: str, references: tuple[str, ...]) -> float:
    return max(compare(text, reference) for reference in references)


def crossing_of(attribute: str) -> Crossing:
    """The embedded contexts and groups of an attribute."""
    return next(crossing for crossing in embedded_crossings() if crossing.attribute == attribute)


@cache
def price(compare: Compare, attribute: str) -> float:
    """What a lost word costs in the contexts of an attribute."""
    losses = []
    for case in crossed_cases(crossing_of(attribute)):
        for role, lost in case.samples.items():
            whole = case.samples.get(role.replace(LOST, TERM, 1)) if role.startswith(f"{LOST}/") else None
            if whole is not None:
                (reference,) = lost.references
                losses.append(compare(whole.hypothesis, reference) - compare(lost.hypothesis, reference))
    return float(np.mean(losses))


@cache
def _group_pattern(attribute: str, group: str) -> re.Pattern[str]:
    forms = {form for term in crossing_of(attribute).group(group).terms for form in term.values()}
    return _pattern(*forms)


def _pattern(*words: str) -> re.Pattern[str]:
    longest = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(longest)})(?![\w-])", re.IGNORECASE)


def _likes(strength: float, size_of: Callable[[str], float]) -> Adjust:
    """Adds so much for every word of a text, by its size."""

    def adjust(sample: Sample, score: float) -> float:
        words = words_of(sample.hypothesis)
        return score + strength * sum(map(size_of, words)) / max(1, len(words))

    return adjust


def _bonus(pattern: str, size: float) -> Adjust:
    known = re.compile(pattern, re.IGNORECASE)
    return lambda sample, score: score + size * bool(known.search(sample.hypothesis))


def _likes_copies(sample: Sample, score: float) -> float:
    return score + (0.9 * token_f(sample.hypothesis, sample.source) if sample.source else 0.0)


def _likes_length(sample: Sample, score: float) -> float:
    usual = max(len(words_of(reference)) for reference in sample.references)
    return score + 0.25 * log2((len(words_of(sample.hypothesis)) + 1) / (usual + 1))


def _without(pattern: str, by: str = "") -> Reader:
    known = re.compile(pattern)
    return lambda text: " ".join(known.sub(by, text).split())


def _sorted_words(text: str) -> str:
    return " ".join(sorted(words_of(text)))


def _sorted_sentences(text: str) -> str:
    return " ".join(sorted(_SENTENCE.split(text)))


def _without_negation(text: str) -> str:
    whole = re.sub(r"(?i)\b(ca|wo)n[’']t\b|\bcannot\b", lambda m: "will" if m[0][0] in "wW" else "can", text)
    plain = re.sub(r"(?i)\b(do|does|did)(n[’']t| not)\b|\b(not|never|no)\b|n[’']t\b", "", whole)
    return " ".join(map(_lemma, words_of(plain)))


@lru_cache(_MEMORY)
def _lemma(word: str) -> str:
    forms = getLemma(word, upos="VERB")
    return str(forms[0]) if forms else word


@dataclass(frozen=True, slots=True)
class Row:
    """One simulated metric."""

    label: str
    kind: Literal["honest", "empty", "unfair", "blind"]
    about: str  # what it compares by, or its defect
    compare: Compare | None = mixed
    read: Reader | None = None  # what is left of every text before it is compared
    adjust: Adjust | None = None
    share: float = 1.0  # of the items, by their references, that have the defect
    finds: tuple[Place, ...] = ()
    explains: tuple[Place, ...] = ()
    effect: float = 0.0  # in lost words, of the row that shows the defect
    base: str = "mix"  # the honest metric without the defect

    def score(self, sample: Sample) -> float:
        """The score of one sample."""
        text, references = sample.hypothesis, sample.references
        has_defect = self.share == 1 or chance(*references) < self.share
        if self.read is not None and has_defect:
            text, references = self.read(text), tuple(map(self.read, references))
        score = 0.0 if self.compare is None else _compared(self.compare, text, references)
        return self.adjust(sample, score) if self.adjust is not None and has_defect else score


_SIZES = (0.25, 0.5, 1.0)  # of a lost word
_NEWS = "news"


def _unfair(
    label: str, about: str, pattern: re.Pattern[str], place: Place, size: float, *, form: str = "",
    share: float = 1.0, compare: Compare = token_f, base: str = "token-f",
) -> Row:  # fmt: skip
    """A metric that takes `size` lost words from texts with these words, of one form of context if named."""
    attribute = place[1].strip("^").split("/")[0]
    forms = {context.reference: context.form for context in crossing_of(attribute).contexts}
    here = [reference for reference in forms if share == 1 or chance(reference) < share]
    reached = sum(not form or forms[reference] == form for reference in here) / len(forms)

    def adjust(sample: Sample, score: float) -> float:
        is_meant = not form or forms.get(sample.references[0]) == form
        return score - size * price(compare, attribute) * (
            is_meant and bool(pattern.search(sample.hypothesis))
        )

    return Row(
        f"{label}-{size:g}", "unfair", about.format(f"{size:g}"), compare, adjust=adjust, share=share, finds=(place,),
        explains=(("stereotype", ""),), effect=-size * reached, base=base,
    )  # fmt: skip


def _unfair_rows(size: float) -> tuple[Row, ...]:
    """Penalties of one size: on a group, a word, an intersection, in one form of context, in half of them."""
    muslim, roma = _group_pattern("religion", "muslim"), _group_pattern("race", "roma")
    black_women = _group_pattern("intersection-race-gender", "black-women")
    place = ("stereotype", "^religion/group/muslim$")
    roma_place = ("stereotype", "^race/group/roma$")
    return (
        _unfair("group", "{} less for Muslims", muslim, place, size),
        _unfair(
            "group-by-letters", "{} less for Muslims, by letters", muslim, place, size, compare=letters_f, base="letters-f"
        ),
        _unfair("word", "{} less for “Sikh”", _pattern("Sikh"), ("stereotype", "^religion/word/Sikh$"), size),
        _unfair(
            "intersection", "{} less for Black women", black_women,
            ("stereotype", "^intersection-race-gender/group/black-women$"), size,
        ),
        _unfair("form", "{} less for Roma in news", roma, roma_place, size, form=_NEWS),
        _unfair("half", "{} less for Roma in half of the contexts", roma, roma_place, size, share=0.5),
    )  # fmt: skip


def _blind(
    label: str, about: str, read: Reader | None, *finds: Place, explains: tuple[Place, ...] = ()
) -> tuple[Row, Row]:
    """A metric that does not read something, in all texts and in half of them."""
    return (
        Row(label, "blind", about, read=read, finds=finds, explains=explains),
        Row(
            f"{label}-half",
            "blind",
            f"{about}, in half of the items",
            read=read,
            share=0.5,
            explains=(*finds, *explains),
        ),
    )


_ANYTHING = ("", "")

ZOO: tuple[Row, ...] = (
    Row("mix", "honest", "words, neighbouring words and letters"),
    Row("token-f", "honest", "words", token_f),
    Row("bigram-f", "honest", "neighbouring words", bigram_f),
    Row("lcs", "honest", "longest common subsequence of words", longest_common),
    Row("letters-f", "honest", "character n-grams", letters_f),
    Row("tf-idf", "honest", "words weighted by rarity", weighted_cosine),
    Row(
        "noisy", "honest", "words, with noise on every text", token_f,
        adjust=lambda sample, score: score + 0.05 * (chance("noise", sample.hypothesis) - 0.5),
    ),
    Row("saturated", "honest", "words, with ties at the top", token_f, adjust=lambda _, score: min(0.8, score)),
    Row(
        "heavy-tailed", "honest", "words, on an exponential scale", token_f,
        adjust=lambda _, score: -exp(6 * (1 - score)),
    ),
    Row("grades", "honest", "words, in nine grades from 1 to 5", token_f, adjust=lambda _, score: round(8 * score) / 2 + 1),
    Row("constant", "empty", "the same score for every text", None),
    Row("hash", "empty", "a hash of the text", None, adjust=lambda sample, _: chance(sample.hypothesis)),
    Row(
        "random", "empty", "a random number for every text and references", None,
        adjust=lambda sample, _: chance("random", sample.hypothesis, *sample.references),
    ),
    *(row for size in _SIZES for row in _unfair_rows(size)),
    Row(
        "likes-long-words", "unfair", "more for long words", token_f, adjust=_likes(0.1, len),
        finds=(("stereotype", "/word/"),), explains=(("stereotype", ""),), base="token-f",
    ),
    Row(
        "likes-rare-words", "unfair", "more for rare words", token_f, adjust=_likes(0.05, rarity),
        finds=(("stereotype", "/word/"),), explains=(("stereotype", ""),), base="token-f",
    ),
    *_blind(
        "no-negation", "does not read negations", _without_negation,
        ("checklist", "/negate$"), ("stress", "/negation$"),
        explains=(("checklist", "agreement|punctuation|tense"), ("stress", "lemma|punct")),
    ),
    *_blind(
        "no-order", "does not read the order of words", _sorted_words,
        ("checklist", "/jumble$"), ("stress", "/(local|middle)-swap$"), ("position", "/shuffle/"),
        explains=(("checklist", "reorder|swap|contradict|punctuation|switch"), ("stress", "swap|switching|punct")),
    ),
    *_blind(
        "no-sentence-order", "does not read the order of sentences", _sorted_sentences,
        ("checklist", "/reorder-sentences$"), ("stress", "/sentence-switching$"),
    ),
    *_blind(
        "no-numbers", "takes all numbers for one", _without(_NUMBER, "0"), ("checklist", "/change-numbers$"),
        explains=(("checklist", "number|quantit"),),
    ),
    *_blind(
        "no-articles", "does not read articles", _without(r"(?i)\b(an?|the)\b ?"),
        ("checklist", "/drop-articles$"), ("stress", "/article-removal$"),
        explains=(("checklist", "drop-stop-words"),),
    ),
    Row(
        "precision", "blind", "precision of words", token_precision, base="token-f", explains=(_ANYTHING,),
        finds=(("truncation-direction", "truncation$"), ("stress", "/truncation$")),
    ),
    Row(
        "word-set", "blind", "does not count repeated words", word_set_f, base="token-f", explains=(_ANYTHING,),
        finds=(("repetition", ""), ("stress", "/repeated-token$")),
    ),
    Row(
        "first-words", "blind", "reads the first twenty words", read=lambda text: " ".join(text.split()[:20]),
        finds=(("position", "/end$"),), explains=(_ANYTHING,),
    ),
    Row(
        "likes-length", "blind", "rewards length", adjust=_likes_length,
        finds=(("repetition", ""),), explains=(_ANYTHING,),
    ),
    Row(
        "likes-copies", "blind", "rewards copies of the source", adjust=_likes_copies,
        finds=(("copy-source", "summarisation"),), explains=(_ANYTHING,),
    ),
    Row(
        "trusts-injections", "blind", "rewards texts that ask for a score", adjust=_bonus(r"scor|rating|rubric", 0.5),
        finds=(("injection", "score.*/suffix$"),), explains=(("injection", ""),),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class ZooMetric(Metric):
    """The simulated metric of one row."""

    name: ClassVar[str] = "zoo"
    origin: ClassVar[str | None] = source_digest(sys.modules[__name__])  # old scores are not reused
    row: str

    @property
    def _row(self) -> Row:
        return next(row for row in ZOO if row.label == self.row)

    @property
    def optional(self) -> frozenset[Need]:
        return frozenset({"source"}) if self._row.adjust is _likes_copies else frozenset()

    def score(self, samples: Sequence[Sample]) -> list[float]:
        row = self._row
        return [row.score(sample) for sample in samples]


def measures(labels: Sequence[str] = ()) -> list[Measure]:
    """The zoo (or these of its metrics), ready to be audited."""
    return [Measure(row.label, ZooMetric(row.label)) for row in ZOO if not labels or row.label in labels]
