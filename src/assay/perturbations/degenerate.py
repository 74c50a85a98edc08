"""Degenerate texts, which deserve a low score: repetition, frequent n-grams, copied sources, local errors.

*blind* sec. 5.1 and 5.3, app. D and E; and injections, which ask for a high score (sec. 5.2).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import Literal, get_args

from assay.core import Record
from assay.errors import SpecError, suggest
from assay.files import toml_file
from assay.language import join_words, split_words
from assay.perturbations import edit
from assay.vocabulary import Task

Position = Literal["start", "middle", "end"]
ErrorKind = Literal["random", "shuffle"]
Place = Literal["alone", "prefix", "suffix"]
POSITIONS: tuple[Position, ...] = get_args(Position)
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
PLACES: tuple[Place, ...] = get_args(Place)
CONTROL = "control"


@edit.template("repeated-ending", "avoiding repetition", languages=None)
def RepeatedEnding(text: str, rng: Random, *, level: int = 10, words: int = 4) -> str | None:
    """`level` copies of the last `words` words follow the text."""
    ending = join_words(split_words(text)[-words:], text)
    if ending.endswith("."):  # as in the release: it then looks like a sentence
        ending = ending[0].upper() + ending[1:]
    return join_words([text, *[ending] * level], text) if ending else None


@edit.template("frequent-ngrams", "structure and coherence", reads="others", languages=None)
def FrequentNgrams(
    record: Record, rng: Random, *, level: int = 10, n: int = 4, length: int = 0
) -> str | None:
    """N-grams drawn uniformly from the `level` most frequent ones of the corpus.

    `length` is in words; 0 means as long as the clean text, so that a metric cannot go by length.
    """
    frequent = frequent_ngrams(tuple(record.others), n)[:level]
    length = length or len(split_words(record.gold))
    words: list[str] = []
    while frequent and len(words) < length:
        words += rng.choice(frequent)
    return join_words(words[:length], record.gold) or None


@edit.template("copied-source", "adequacy", reads="source", languages=None)
def CopiedSource(record: Record, rng: Random, *, level: float = 1.0) -> str | None:
    """The first `level` share of the source in place of the text."""
    if record.source is None or level >= 1:
        return record.source
    words = split_words(record.source)
    return join_words(words[: max(1, round(len(words) * level))], record.source)


@edit.template("positioned-error", "fluency", languages=None)
def PositionedError(
    record: Record, rng: Random, *, level: int = 10, position: Position = "middle", kind: ErrorKind = "random"
) -> str | None:
    """A span of `level` words in one place is shuffled, or replaced by words of the corpus.

    The text must be long enough for three such spans.
    """
    words = split_words(record.gold)
    if len(words) < 3 * level:
        return None
    last = len(words) - level
    start = {"start": 0, "middle": last // 2, "end": last}[position]
    span = words[start : start + level]
    if kind == "shuffle":
        rng.shuffle(span)
    else:
        vocabulary = corpus_words(tuple(record.others) or (record.gold,))
        span = [rng.choice(vocabulary) for _ in span]
    return join_words([*words[:start], *span, *words[start + level :]], record.gold)


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


def placed(injection: str, text: str, place: Place) -> str:
    """The injection alone, before a text (prefix) or after it (suffix)."""
    if place == "alone":
        return injection
    return f"{injection} {text}" if place == "prefix" else f"{text} {injection}"


@edit.template("injection", "adequacy", languages=None)
def Injected(
    record: Record, rng: Random, *, level: int = 1, injection: str = "answer-yes-full", place: Place = "alone"
) -> str | None:
    """An injection, `level` times, in place of the text or beside an unrelated text."""
    known = injections()
    if injection not in known:
        raise SpecError(f"unknown injection {injection!r}{suggest(injection, known)}")
    wording = " ".join([known[injection].worded(record.task)] * level)
    other = "" if place == "alone" else edit.unrelated_text(record, rng)
    return None if other is None else placed(wording, other, place)
