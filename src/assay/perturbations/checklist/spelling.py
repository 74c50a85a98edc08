"""Spelling templates: four kinds of slip at the keyboard (checklist, table 5, spelling errors)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import key_neighbours, word_list
from assay.models.nlp import Parse, parse_one
from assay.perturbations.edit import drawn, joined_word, known_word, rewrite

SHARE = 0.15  # of the words long enough to be misspelt
_TRIES = 8
Slip = Callable[[str, int, Random], str]


def _misspelt(text: str, slip: Slip, share: float, rng: Random, *, least: int = 4) -> str | None:
    """The text with a share of its longer words misspelt; none becomes another word."""
    parse = parse_one(text)
    changes = {}
    for index in drawn([i for i in range(len(parse.tokens)) if _open(parse, i, least)], share, rng):
        word = parse.tokens[index].text
        wrong = next((w for w in (_slipped(word, slip, rng) for _ in range(_TRIES)) if w), None)
        if wrong:
            changes[index] = wrong
    return rewrite(parse, changes) if changes else None


def _open(parse: Parse, index: int, least: int) -> bool:
    """Whether a slip in a word would be seen as one; in a name it might pass for another name."""
    token = parse.tokens[index]
    word = token.text
    name = token.pos == "PROPN" or (word[:1].isupper() and not known_word(word))
    plain = len(word) >= least and word.isascii() and word.isalpha()
    return plain and not name and not joined_word(parse, index)


def _slipped(word: str, slip: Slip, rng: Random) -> str | None:
    wrong = slip(word, rng.randrange(1, len(word) - 1), rng)
    known = known_word(wrong) or wrong.lower() in word_list("words", "stop_words", "words")
    return None if known or wrong == word else wrong


def _swap(word: str, at: int, rng: Random) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, at: int, rng: Random) -> str:
    return word[:at] + word[at + 1 :]


def _double(word: str, at: int, rng: Random) -> str:
    return word[: at + 1] + word[at:]


def _neighbour(word: str, at: int, rng: Random) -> str:
    beside = rng.choice(key_neighbours()[word[at].lower()])
    return word[:at] + (beside.upper() if word[at].isupper() else beside) + word[at + 1 :]


@dataclass(frozen=True)
class TypoSwap(Perturbation):
    """Two letters change places: frist."""

    name = "typo-swap"
    criterion = "fluency"
    share: float = SHARE

    def apply(self, record: Record, rng: Random) -> str | None:
        """Swap two neighbours inside a word."""
        return _misspelt(record.gold, _swap, self.share, rng)


@dataclass(frozen=True)
class TypoDrop(Perturbation):
    """A letter is left out: evry."""

    name = "typo-drop"
    criterion = "fluency"
    share: float = SHARE

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop a letter inside a word of five or more; too many strings of three are words: boat, bot."""
        return _misspelt(record.gold, _drop, self.share, rng, least=5)


@dataclass(frozen=True)
class TypoDouble(Perturbation):
    """A letter is typed twice: everry."""

    name = "typo-double"
    criterion = "fluency"
    share: float = SHARE

    def apply(self, record: Record, rng: Random) -> str | None:
        """Double a letter inside a word."""
        return _misspelt(record.gold, _double, self.share, rng)


@dataclass(frozen=True)
class TypoNeighbour(Perturbation):
    """The key beside the right one is hit: ebery."""

    name = "typo-neighbour"
    criterion = "fluency"
    share: float = SHARE

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace a letter by its neighbour on the keyboard."""
        return _misspelt(record.gold, _neighbour, self.share, rng)
