"""Degenerate texts, which deserve a low score: repetition, frequent n-grams, copied sources, local errors.

*blind* sec. 5.1 and 5.3, app. D and E; and injections, which ask for a high score (sec. 5.2).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import Literal, get_args

from assay.core import Perturbation, Record
from assay.errors import SpecError, suggest
from assay.files import toml_file
from assay.language import join_words, split_words
from assay.perturbations import edit
from assay.vocabulary import Task

Where = Literal["start", "middle", "end"]
ErrorKind = Literal["random", "shuffle"]
_Place = Literal["alone", "prefix", "suffix"]
POSITIONS: tuple[Where, ...] = get_args(Where)
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
PLACES: tuple[_Place, ...] = get_args(_Place)
CONTROL = "control"


@dataclass(frozen=True)
class RepeatedEnding(Perturbation):
    """`level` copies of the last `words` words follow the text."""

    name = "repeated-ending"
    criterion = "avoiding repetition"
    languages = None

    level: int = 10
    words: int = 4

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        ending = join_words(split_words(text)[-self.words :], text)
        if ending.endswith("."):  # as in the release: it then looks like a sentence
            ending = ending[0].upper() + ending[1:]
        return join_words([text, *[ending] * self.level], text) if ending else None


@dataclass(frozen=True)
class FrequentNgrams(Perturbation):
    """N-grams drawn uniformly from the `level` most frequent ones of the corpus.

    `length` is in words; 0 means as long as the clean text, so that a metric cannot go by length.
    """

    name = "frequent-ngrams"
    criterion = "structure and coherence"
    reads = "others"
    languages = None

    level: int = 10
    n: int = 4
    length: int = 0

    def apply(self, record: Record, rng: Random) -> str | None:
        frequent = frequent_ngrams(tuple(record.others), self.n)[: self.level]
        length = self.length or len(split_words(record.gold))
        words: list[str] = []
        while frequent and len(words) < length:
            words += rng.choice(frequent)
        return join_words(words[:length], record.gold)


@dataclass(frozen=True)
class CopiedSource(Perturbation):
    """The first `level` share of the source in place of the text."""

    name = "copied-source"
    criterion = "adequacy"
    reads = "source"
    languages = None

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        if record.source is None or self.level >= 1:
            return record.source
        words = split_words(record.source)
        return join_words(words[: max(1, round(len(words) * self.level))], record.source)


@dataclass(frozen=True)
class PositionedError(Perturbation):
    """A span of `level` words in one place is shuffled, or replaced by words of the corpus.

    The text must be long enough for three such spans.
    """

    name = "positioned-error"
    criterion = "fluency"
    languages = None

    level: int = 10
    position: Where = "middle"
    kind: ErrorKind = "random"

    def apply(self, record: Record, rng: Random) -> str | None:
        words = split_words(record.gold)
        if len(words) < 3 * self.level:
            return None
        last = len(words) - self.level
        start = {"start": 0, "middle": last // 2, "end": last}[self.position]
        span = words[start : start + self.level]
        if self.kind == "shuffle":
            rng.shuffle(span)
        else:
            vocabulary = corpus_words(tuple(record.others) or (record.gold,))
            span = [rng.choice(vocabulary) for _ in span]
        return join_words([*words[:start], *span, *words[start + self.level :]], record.gold)


@lru_cache(maxsize=32)
def frequent_ngrams(texts: tuple[str, ...], n: int) -> tuple[tuple[str, ...], ...]:
    """Lower-case word n-grams of a corpus, most frequent first; of equals, those of more frequent words."""
    counts: Counter[tuple[str, ...]] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        tokens = split_words(text.lower())
        words.update(tokens)
        counts.update(zip(*(tokens[start:] for start in range(n)), strict=False))
    return tuple(sorted(counts, key=lambda gram: (-counts[gram], -sum(words[word] for word in gram), gram)))


@lru_cache(maxsize=32)
def corpus_words(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The vocabulary of a corpus, in order of appearance."""
    return tuple(dict.fromkeys(word for text in texts for word in split_words(text)))


@dataclass(frozen=True, slots=True)
class Injection:
    """A string that asks for a high score, and the family it belongs to."""

    id: str
    family: str
    text: str
    source: str

    def worded(self, task: Task) -> str:
        """The string with the task's word for a text."""
        return self.text.replace("{kind}", toml_file("injections", "injections")["kinds"].get(task, "text"))


@cache
def injections() -> dict[str, Injection]:
    """The embedded strings by id, controls last."""
    return {row["id"]: Injection(**row) for row in toml_file("injections", "injections")["injection"]}


def placed(injection: str, text: str, place: _Place) -> str:
    """The injection alone, before a text (prefix) or after it (suffix)."""
    if place == "alone":
        return injection
    return f"{injection} {text}" if place == "prefix" else f"{text} {injection}"


@dataclass(frozen=True)
class Injected(Perturbation):
    """An injection, `level` times, in place of the text or beside an unrelated text."""

    name = "injection"
    criterion = "adequacy"
    languages = None

    level: int = 1
    injection: str = "answer-yes-full"
    place: _Place = "alone"

    def apply(self, record: Record, rng: Random) -> str | None:
        known = injections()
        if self.injection not in known:
            raise SpecError(f"unknown injection {self.injection!r}{suggest(self.injection, known)}")
        wording = " ".join([known[self.injection].worded(record.task)] * self.level)
        other = "" if self.place == "alone" else edit.unrelated_text(record, rng)
        return None if other is None else placed(wording, other, self.place)
