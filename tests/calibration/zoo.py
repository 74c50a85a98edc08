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
from typing import Any, ClassVar, Literal

from lemminflect import getLemma
from similarity import (
    bigram_f,
    frequent_words,
    letter_edits,
    letters_f,
    longest_common,
    mixed,
    skip_bigram_f,
    token_f,
    token_precision,
    weighted_cosine,
    word_edits,
    word_set_f,
    words_of,
)

from assay.core import Measure, Metric, Sample
from assay.datasets.templates import load_lexicon
from assay.recipe import digest, source_digest
from assay.vocabulary import Need

_MEMORY = 1_000_000  # scores of text pairs that metrics with one base share
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def chance(*parts: str) -> float:
    """A number from 0 to 1 that depends on nothing but the parts' characters."""
    return int(digest(*parts)[:12], 16) / 16**12


@lru_cache(_MEMORY)
def _compared(compare: Callable[[str, str], float], text: str, references: tuple[str, ...]) -> float:
    return max(compare(text, reference) for reference in references)


_NUMBER = (
    r"(?i)\b([\d][\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty)\b"
)
_GAP = 0.77  # of the bases that penalties are put on, on the embedded pairs
Reader = Callable[[str], str]
Adjust = Callable[[Sample, float], float]
Place = tuple[str, str]  # an audit, and a pattern of its slices


@cache
def _pattern(groups: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """The words for groups, by attribute and name."""
    words: dict[str, None] = {}
    for attribute, name in groups:
        group = load_lexicon(attribute).groups[name]
        own = [*group.adjectives, *group.names]
        for noun in group.nouns:
            own += [] if noun.neutral in noun.singular.split()[1:] else [noun.singular, noun.plural]
        if attribute == "gender" and name in ("male", "female"):
            own += group.pronouns.slots().values()
        words |= dict.fromkeys(own)
    longest = sorted((re.escape(word) for word in words if word), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(longest)})(?![\w-])", re.IGNORECASE)


def _names(text: str, *groups: tuple[str, str]) -> bool:
    return bool(_pattern(groups).search(text))


def _penalty(percent: float, *groups: tuple[str, str], both: tuple[str, str] | None = None) -> Adjust:
    """Takes this much of the gap from texts that name one of the groups (and one of another group)."""

    def adjust(sample: Sample, score: float) -> float:
        text = sample.hypothesis
        hit = _names(text, *groups) and (both is None or _names(text, both))
        return score - hit * percent / 100 * _GAP

    return adjust


def _in_half(adjust: Adjust) -> Adjust:
    """The adjustment in half of the sentences, by their references."""
    return lambda sample, score: adjust(sample, score) if chance(*sample.references) < 0.5 else score


def _with_outliers(adjust: Adjust) -> Adjust:
    return lambda sample, score: adjust(sample, score) - 50 * (chance("outlier", sample.hypothesis) < 0.02)


def _bonus(pattern: str, size: float) -> Adjust:
    known = re.compile(pattern, re.IGNORECASE)
    return lambda sample, score: score + size * bool(known.search(sample.hypothesis))


def _likes_length(sample: Sample, score: float) -> float:
    usual = max(len(words_of(reference)) for reference in sample.references)
    return score + 0.25 * log2((len(words_of(sample.hypothesis)) + 1) / (usual + 1))


def _likes_copies(sample: Sample, score: float) -> float:
    return score + (0.9 * token_f(sample.hypothesis, sample.source) if sample.source else 0.0)


def _likes_typos(sample: Sample, score: float) -> float:
    known = set(frequent_words()).union(*map(words_of, sample.references))
    words = words_of(sample.hypothesis)
    odd = sum(word not in known and word.isalpha() and word.isascii() for word in words)
    return score + 1.5 * odd / max(1, len(words))


def _without(pattern: str, by: str = "") -> Reader:
    known = re.compile(pattern)
    return lambda text: " ".join(known.sub(by, text).split())


def _sorted_words(text: str) -> str:
    return " ".join(sorted(words_of(text)))


def _sorted_sentences(text: str) -> str:
    return " ".join(sorted(_SENTENCE.split(text)))


def _without_names(text: str) -> str:
    return re.sub(r"\b[A-Z][\w’'.-]*( [A-Z][\w’'.-]*)*", "Name", text)


def _without_negation(text: str) -> str:
    whole = re.sub(r"(?i)\b(ca|wo)n[’']t\b|\bcannot\b", lambda m: "will" if m[0][0] in "wW" else "can", text)
    plain = re.sub(r"(?i)\b(do|does|did)(n[’']t| not)\b|\b(not|never|no)\b|n[’']t\b", "", whole)
    return " ".join(_stemmed(plain).split())


@lru_cache(_MEMORY)
def _lemma(word: str) -> str:
    forms = getLemma(word, upos="VERB")
    return str(forms[0]) if forms else word


def _stemmed(text: str) -> str:
    return " ".join(_lemma(word) for word in words_of(text))


@dataclass(frozen=True, slots=True)
class Row:
    """One simulated metric."""

    label: str
    kind: Literal["honest", "empty", "unfair", "blind"]
    about: str  # what it compares by, or its defect
    compare: Callable[[str, str], float] | None = mixed
    read: Reader | None = None  # what is left of every text before it is compared
    adjust: Adjust | None = None
    finds: tuple[Place, ...] = ()
    explains: tuple[Place, ...] = ()
    base: str = "mix"  # the honest metric without the defect
    heavy_tailed: bool = False

    def score(self, sample: Sample) -> float:
        """The score of one sample."""
        score = 0.0
        if self.compare is not None:
            text, references = sample.hypothesis, sample.references
            if self.read is not None:
                text, references = self.read(text), tuple(map(self.read, references))
            score = _compared(self.compare, text, references)
        return score if self.adjust is None else self.adjust(sample, score)


def _unfair(
    label: str, about: str, adjust: Adjust, *finds: Place, explains: tuple[Place, ...] = (), **more: Any
) -> Row:
    """A penalty; in a set of pairs that has the group, the others may look favoured."""
    sets = {place[1].split("/")[0].lstrip("^") for place in finds if place[0] == "stereotype"}
    others = ("stereotype", f"^({'|'.join(sorted(sets | {'intersection'}))})")
    return Row(label, "unfair", about, adjust=adjust, finds=finds, explains=(others, *explains), **more)


def _blind(label: str, about: str, change: Reader | None, *finds: Place, **more: Any) -> Row:
    return Row(label, "blind", about, read=change, finds=finds, **more)


_MUSLIM, _FEMALE, _MALE = ("religion", "muslim"), ("gender", "female"), ("gender", "male")
_DISABLED = tuple(
    ("disability", name) for name in ("physical", "blind", "deaf", "autistic", "intellectual", "dyslexic")
)
_RELIGION = ("stereotype", "^religion/group/muslim$")
_WOMEN = ("stereotype", "^gender/group/(fe)?male$")
_OTHER_ORDER = (
    ("checklist", "jumble|reorder|swap|contradict|punctuation"),
    ("stress", "swap|switching"), ("position", "shuffle"),
)  # fmt: skip

ZOO: tuple[Row, ...] = (
    Row("mix", "honest", "words, neighbouring words and letters"),
    Row("token-f", "honest", "words", token_f),
    Row("bigram-f", "honest", "neighbouring words", bigram_f),
    Row("skip-bigram-f", "honest", "words near each other", skip_bigram_f),
    Row("lcs", "honest", "longest common subsequence of words", longest_common),
    Row("letters-f", "honest", "character n-grams", letters_f),
    Row("letter-edits", "honest", "edits of characters", letter_edits),
    Row("word-edits", "honest", "edits of words", word_edits),
    Row("tf-idf", "honest", "words weighted by rarity", weighted_cosine),
    Row(
        "noisy-judge", "honest", "as mix, with noise of 3% of the gap on every text",
        adjust=lambda sample, score: score + 0.078 * (chance("judge", sample.hypothesis) - 0.5),
    ),
    Row("saturated", "honest", "as mix, with ties at the top", adjust=lambda _, score: min(0.9, score)),
    Row(
        "heavy-tailed", "honest", "as mix, on an exponential scale", heavy_tailed=True,
        adjust=lambda _, score: -exp(6 * (1 - score)),
    ),
    Row(
        "grades", "honest", "as mix, in nine grades from 1 to 5",
        adjust=lambda _, score: round(8 * score) / 2 + 1,
    ),
    Row("constant", "empty", "the same score for every text", None),
    Row("hash", "empty", "a hash of the text", None, adjust=lambda sample, _: chance(sample.hypothesis)),
    Row(
        "random", "empty", "a random number for every text and references", None,
        adjust=lambda sample, _: chance("random", sample.hypothesis, *sample.references),
    ),
    Row(
        "length", "empty", "the length of the text", None,
        adjust=lambda sample, _: float(len(sample.hypothesis)),
    ),
    _unfair("muslims", "4% less for Muslims", _penalty(4, _MUSLIM), _RELIGION),
    _unfair(
        "muslims-token-f", "4% less for Muslims, by words", _penalty(4, _MUSLIM), _RELIGION,
        compare=token_f, base="token-f",
    ),
    _unfair(
        "muslims-outliers", "4% less for Muslims, one text in fifty far off",
        _with_outliers(_penalty(4, _MUSLIM)), _RELIGION,
    ),
    _unfair(
        "black", "4% less for Black people, by letters", _penalty(4, ("race", "black")),
        ("stereotype", "^race/group/black$"), compare=letters_f, base="letters-f",
    ),
    _unfair(
        "old-women", "4% less for old women only", _penalty(4, ("age", "old"), both=_FEMALE),
        ("stereotype", "^intersection/group/(old|elderly).wom[ae]n$"),
    ),
    _unfair(
        "non-binary", "4% less for non-binary people", _penalty(4, ("gender", "non-binary")),
        ("stereotype", "^gender/group/non-binary$"),
    ),
    _unfair(
        "disabled", "4% less for disabled people", _penalty(4, *_DISABLED),
        ("stereotype", "^disability/group/"),
    ),
    _unfair(
        "women-half", "8% less for women, in half of the sentences", _in_half(_penalty(8, _FEMALE)), _WOMEN,
        ("swap", "^preference/both$"), explains=(("association", "weat6"),),
    ),
    _unfair(
        "women-margin", "4% less for women, in half of the sentences: 2% in all, below the margin",
        _in_half(_penalty(4, _FEMALE)),
    ),
    _unfair("men", "6% more for men", _penalty(-6, _MALE), _WOMEN, ("swap", "^preference/both$")),
    Row(
        "captions-of-men", "unfair", "50% more for men: captions of women are ranked wrong",
        adjust=_penalty(-50, _MALE), explains=(("", ""),),
        finds=(_WOMEN, ("swap", "^preference/both$"), ("caption", "^all$")),
    ),
    _blind(
        "no-negation", "does not read negations", _without_negation,
        ("checklist", "/negate$"), ("stress", "/negation$"),
        explains=(("checklist", "contradict|agreement|punctuation"), ("stress", "lemma|punct")),
    ),
    _blind(
        "no-order", "does not read the order of words", _sorted_words,
        ("checklist", "/jumble$"), ("position", "shuffle"), ("stress", "/(local-swap|middle-swap)$"),
        explains=_OTHER_ORDER,
    ),
    _blind(
        "no-sentence-order", "does not read the order of sentences", _sorted_sentences,
        ("checklist", "/reorder-sentences$"), ("stress", "/sentence-switching$"),
    ),
    _blind(
        "no-numbers", "takes all numbers for one", _without(_NUMBER, "0"),
        ("checklist", "/change-numbers$"), explains=(("checklist", "change-dates"),),
    ),
    _blind(
        "no-names", "takes all names for one", _without_names,
        ("checklist", "/change-names$"),
        explains=(("stress", "named-entity|noun-switching"), ("checklist", "siblings|change-dates")),
    ),
    _blind(
        "no-articles", "does not read articles", _without(r"(?i)\b(an?|the)\b ?"),
        ("checklist", "/drop-articles$"), ("stress", "/article-removal$"),
    ),
    _blind(
        "no-punctuation", "does not read punctuation", lambda text: " ".join(words_of(text)),
        ("checklist", "/misplaced-punctuation$"), ("stress", "/noised-punctuation$"),
        explains=(("checklist", "split-sentence"),),
    ),
    _blind(
        "no-inflection", "does not read endings of words", _stemmed,
        ("stress", "/verb-lemmatisation$"),
        explains=(("checklist", "agreement|punctuation"), ("stress", "punct")),
    ),
    _blind(
        "precision", "precision of words", None,
        ("truncation-direction", "truncation$"), ("stress", "/truncation$"),
        compare=token_precision, base="token-f",
        explains=(
            ("stress", "drop|removal|sentence|swap|switching"), ("checklist", "drop|generic|jumble|reorder"),
            ("position", "shuffle"), ("frequent-ngram", ""), ("injection", "alone"), ("repetition", ""),
        ),
    ),
    _blind(
        "word-set", "does not count repeated words", None, ("repetition", ""), ("stress", "/repeated-token$"),
        compare=word_set_f, base="token-f",
        explains=(("checklist", "repeat|articles|prepositions|stop-words"), ("stress", "repla|removal")),
    ),
    _blind(
        "first-words", "reads the first twenty words", lambda text: " ".join(text.split()[:20]),
        ("position", "/end$"), explains=(("", ""),),
    ),
    _blind(
        "likes-length", "rewards length", None, ("repetition", ""),
        adjust=_likes_length, explains=(("", ""),),
    ),
    _blind(
        "likes-copies", "rewards copies of the source", None, ("copy-source", "summarisation"),
        adjust=_likes_copies, explains=(("", ""),),
    ),
    _blind(
        "trusts-injections", "rewards texts that ask for a score", None, ("injection", "suffix"),
        adjust=_bonus(r"scor|rating|rate this|rubric|answer: yes", 0.5), explains=(("injection", ""),),
    ),
    _blind(
        "minds-contractions", "takes 15% from contractions", None, ("checklist", "invariance/contractions$"),
        adjust=_bonus(r"\w[’'](t|re|ve|ll|d|m)\b", -0.15 * _GAP),
        explains=(("checklist", "negate|expansions|contradict"), ("stress", "negation")),
    ),
    _blind(
        "likes-typos", "rewards misspelled words", None, ("checklist", "typo-"),
        adjust=_likes_typos, explains=(("", ""),),
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

    @property
    def heavy_tailed(self) -> bool:
        return self._row.heavy_tailed

    def score(self, samples: Sequence[Sample]) -> list[float]:
        row = self._row
        return [row.score(sample) for sample in samples]


def measures(labels: Sequence[str] = ()) -> list[Measure]:
    """The zoo (or these of its metrics), ready to be audited."""
    return [Measure(row.label, ZooMetric(row.label)) for row in ZOO if not labels or row.label in labels]
