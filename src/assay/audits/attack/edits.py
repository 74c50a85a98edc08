"""A text to its possible small edits, and edits back to texts: what a search may try.

Places are those of the gold's words, so that edits at different places commute and a set of them is a text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from rapidfuzz.distance import OSA

Kind = Literal["delete", "replace", "insert", "swap"]
KINDS: tuple[Kind, ...] = ("delete", "replace", "insert", "swap")


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One edit: `word` replaces the word at `place` or stands before it; a swap takes the next word too."""

    place: int
    kind: Kind
    word: str = ""

    @property
    def places(self) -> tuple[int, ...]:
        """The words it touches."""
        return (self.place, self.place + 1) if self.kind == "swap" else (self.place,)


Moves = tuple[Move, ...]


def apply(words: Sequence[str], moves: Sequence[Move]) -> str:
    """The text after the edits, which must not touch the same words.

    >>> apply("she went to the office".split(), [Move(0, "replace", "he"), Move(3, "delete")])
    'he went to office'
    """
    by_place = {move.place: move for move in moves}
    out: list[str] = []
    place = 0
    while place < len(words):
        move = by_place.get(place)
        if move is None:
            out.append(words[place])
        elif move.kind == "replace":
            out.append(move.word)
        elif move.kind == "insert":
            out += [move.word, words[place]]
        elif move.kind == "swap":
            out += [words[place + 1], words[place]]
            place += 1
        place += 1
    return " ".join(out)


def free(moves: Sequence[Move], new: Move) -> bool:
    """Whether a new edit stands clear of others: neighbours could undo each other."""
    taken = {place for move in moves for place in move.places}
    reach = range(min(new.places) - 1, max(new.places) + 2)
    return not taken & set(reach)


def edits_needed(words: Sequence[str], ratio: float) -> int:
    """How many edits bring a text to a noise-ratio.

    >>> edits_needed(["word"] * 22, 0.15), edits_needed(["word"] * 20, 0.15)
    (4, 3)
    """
    return max(1, math.ceil(ratio * len(words) - 1e-9))


def edit_ratio(gold: str, noised: str) -> float:
    """Noise-ratio (*blind* Eq. 1) in which neighbours that changed places count once.

    The paper halves it for switches, which Levenshtein counts twice; in a text with edits of several kinds
    that is the restricted Damerau distance. It is never above the plain ratio.

    >>> edit_ratio("a b c d", "b a c d"), edit_ratio("a b c d", "a c")
    (0.25, 0.5)
    """
    words = gold.split()
    return OSA.distance(words, noised.split()) / len(words) if words else 0.0


def random_moves(words: Sequence[str], count: int, pool: Sequence[str], rng: Random) -> Moves:
    """Edits that nobody searched for: any kind, any place, any word of the corpus."""
    moves: list[Move] = []
    for _ in range(50 * count):
        if len(moves) == count:
            break
        kind, place = rng.choice(KINDS), rng.randrange(len(words))
        word = rng.choice(pool) if kind in ("replace", "insert") else ""
        move = Move(place, kind, word)
        if real(words, move) and free(moves, move):
            moves.append(move)
    return tuple(sorted(moves))


def real(words: Sequence[str], move: Move) -> bool:
    """Whether an edit changes something a reader would see: not case or marks alone."""
    if move.kind == "swap":
        if move.place + 1 >= len(words):
            return False
        first, second = core(words[move.place]), core(words[move.place + 1])
        return bool(first) and bool(second) and first != second
    if move.kind == "insert":
        return bool(core(move.word))
    old = core(words[move.place])
    return bool(old) and old != core(move.word)


def core(word: str) -> str:
    """A word without case and marks.

    >>> core('"Yes,"'), core("--")
    ('yes', '')
    """
    return "".join(letter for letter in word.lower() if letter.isalnum())
