"""Gold text to degenerate text: repeated endings, frequent n-grams, copied sources, errors in one place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal, get_args

from assay.core import Perturbation, Record

Position = Literal["start", "middle", "end"]
ErrorKind = Literal["random", "shuffle"]
POSITIONS: tuple[Position, ...] = get_args(Position)
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)


@dataclass(frozen=True)
class RepeatedEnding(Perturbation):
    """`level` copies of the last `words` words follow the text (*blind* app. E)."""

    name = "repeated-ending"
    criterion = "avoiding repetition"
    level: int = 10
    words: int = 4

    def apply(self, record: Record, rng: Random) -> str | None:
        """Say the end again and again."""
        ending = " ".join(record.gold.split()[-self.words :])
        return " ".join([record.gold, *[ending] * self.level]) if ending else None


@dataclass(frozen=True)
class FrequentNgrams(Perturbation):
    """N-grams drawn uniformly from the `level` most frequent ones of the corpus (*blind* sec. 5.3).

    `length` is in words; 0 means as long as the gold, so that length is not what a metric sees.
    """

    name = "frequent-ngrams"
    criterion = "structure and coherence"
    reads = "others"
    level: int = 10
    n: int = 4
    length: int = 0

    def apply(self, record: Record, rng: Random) -> str | None:
        """String n-grams together."""
        frequent = frequent_ngrams(tuple(record.others), self.n)[: self.level]
        wanted = self.length or len(record.gold.split())
        words: list[str] = []
        while frequent and len(words) < wanted:
            words += rng.choice(frequent)
        return " ".join(words[:wanted]) or None


@dataclass(frozen=True)
class CopiedSource(Perturbation):
    """The first `level` share of the source in place of the text (*blind* app. D)."""

    name = "copied-source"
    criterion = "adequacy"
    reads = "source"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Hand in the source."""
        if record.source is None:
            return None
        if self.level >= 1:
            return record.source
        words = record.source.split()
        return " ".join(words[: max(1, round(len(words) * self.level))])


@dataclass(frozen=True)
class PositionedError(Perturbation):
    """A span of `level` words at one place is shuffled, or replaced by words of the corpus (*blind* 5.1)."""

    name = "positioned-error"
    criterion = "fluency"
    level: int = 10
    position: Position = "middle"
    kind: ErrorKind = "random"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Spoil one span; the text must be long enough for three."""
        words = record.gold.split()
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
        return " ".join([*words[:start], *span, *words[start + self.level :]])


@lru_cache(maxsize=32)
def frequent_ngrams(texts: tuple[str, ...], n: int) -> tuple[tuple[str, ...], ...]:
    """Lower-case word n-grams of a corpus, most frequent first; of equals, those of more frequent words."""
    counts: Counter[tuple[str, ...]] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        tokens = text.lower().split()
        words.update(tokens)
        counts.update(zip(*(tokens[start:] for start in range(n)), strict=False))
    ranked = sorted(counts, key=lambda gram: (-counts[gram], -sum(words[word] for word in gram), gram))
    return tuple(ranked)


@lru_cache(maxsize=32)
def corpus_words(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The vocabulary of a corpus, in order of appearance."""
    return tuple(dict.fromkeys(word for text in texts for word in text.split()))
