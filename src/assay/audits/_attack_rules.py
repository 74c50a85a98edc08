"""Edits that fooled a metric to kinds of edits, and kinds to rules tried on text no search has seen.

The step that *blind* left open (app. J): one fooled text is an anecdote, a kind of edit that a metric
overlooks everywhere is a blind spot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from assay.audits._attack_edits import Move, Moves, core, edits_needed, free
from assay.audits._attack_words import Source, words_of


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of edit, and the substitutions of that kind which worked."""

    kind: str
    pairs: dict[str, tuple[str, ...]]

    def moves(self, text: str, source: Source, ratio: float, rng: Random) -> Moves:
        """Edits of this kind at random places of a text, at most as many as reach the noise-ratio."""
        by_place: dict[int, list[Move]] = {}
        for move in source.moves(text):
            if kind_of(text, move) == self.kind:
                by_place.setdefault(move.place, []).append(move)
        places = sorted(by_place)
        rng.shuffle(places)
        chosen: list[Move] = []
        for place in places:
            move = self._choice(words_of(text)[place].text, by_place[place], rng)
            if len(chosen) < edits_needed(text.split(), ratio) and free(chosen, move):
                chosen.append(move)
        return tuple(sorted(chosen))

    def _choice(self, old: str, moves: Sequence[Move], rng: Random) -> Move:
        """A substitution that worked, where the word is one of them."""
        known = self.pairs.get(core(old), ())
        return rng.choice([move for move in moves if core(move.word) in known] or list(moves))


def kind_of(text: str, move: Move) -> str:
    """The kind of an edit as a path: `article/delete`, `number/replace`, `order/swap`.

    A word said twice is `repetition/insert`, a negation put in `negation/insert`.
    """
    word = words_of(text)[move.place]
    if move.kind == "swap":
        return "order/swap"
    if move.kind == "insert":
        return "repetition/insert" if core(move.word) == core(word.text) else "negation/insert"
    return f"{word.category}/{move.kind}"


def rules(successes: Iterable[tuple[str, Moves]], support: int, most: int) -> list[Rule]:
    """The kinds of edits in at least `support` of the texts that fooled a metric, commonest first."""
    seen: Counter[str] = Counter()
    pairs: dict[str, dict[str, list[str]]] = {}
    for text, moves in successes:
        kinds = {move: kind_of(text, move) for move in moves}
        seen.update(set(kinds.values()))
        for move, kind in kinds.items():
            old = core(words_of(text)[move.place].text)
            pairs.setdefault(kind, {}).setdefault(old, []).append(core(move.word))
    common = sorted(seen, key=lambda kind: (-seen[kind], kind))
    return [
        Rule(kind, {old: tuple(new) for old, new in pairs[kind].items()})
        for kind in common[:most]
        if seen[kind] >= support
    ]
