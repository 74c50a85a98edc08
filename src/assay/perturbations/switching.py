"""Gold text to text whose parts changed places: the switches of *blind* (table 16 and figure 9)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.models.nlp import Parse, Token, parse_one
from assay.perturbations.edit import is_address, is_word, rewritten, sentences, spliced, switch_pairs

_SUB_SENTENCE = re.compile(r"[^,.?!]+[,.?!]*\S*")  # footnote 14 of *blind* names these four marks


@dataclass(frozen=True)
class SentenceSwitching(Perturbation):
    """`level` pairs of sentences change places; `last` says whether the last one may move."""

    name = "sentence-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 1
    last: bool = True

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch sentences; two are reversed."""
        pieces = sentences(record.gold)
        free, fixed = (pieces, []) if self.last else (pieces[:-1], pieces[-1:])
        moved = free[::-1] if len(free) == 2 else switch_pairs(free, self.level, rng)
        return None if moved is None else " ".join(moved + fixed)


@dataclass(frozen=True)
class SubSentenceSwitching(Perturbation):
    """`level` pairs of stretches between punctuation marks change places."""

    name = "sub-sentence-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch stretches."""
        pieces = [piece.strip() for piece in _SUB_SENTENCE.findall(record.gold)]
        moved = switch_pairs(pieces, self.level, rng)
        return None if moved is None else " ".join(moved)


@dataclass(frozen=True)
class TokenSwitching(Perturbation):
    """`level` pairs of words change places."""

    name = "token-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch words."""
        moved = switch_pairs(record.gold.split(), self.level, rng)
        return None if moved is None else " ".join(moved)


@dataclass(frozen=True)
class NounSwitching(Perturbation):
    """`level` pairs of nouns change places."""

    name = "noun-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 2

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch common nouns."""
        parsed = parse_one(record.gold)
        places = [i for i, token in enumerate(parsed.tokens) if _switchable(token, "NOUN")]
        moved = switch_pairs(places, self.level, rng)
        if moved is None:
            return None
        pairs = zip(places, moved, strict=True)
        return parsed.replaced({at: parsed.tokens[other].text for at, other in pairs if at != other})


@dataclass(frozen=True)
class VerbSwitching(Perturbation):
    """`level` pairs of verbs change places, each inflected for its new place."""

    name = "verb-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 8

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch full verbs."""
        parsed = parse_one(record.gold)
        places = [i for i, token in enumerate(parsed.tokens) if _switchable(token, "VERB")]
        moved = switch_pairs(places, self.level, rng)
        if moved is None:
            return None
        return rewritten(parsed, _inflected(parsed, places, moved))


@dataclass(frozen=True)
class NamedEntitySwitching(Perturbation):
    """`level` pairs of names change places."""

    name = "named-entity-switching"
    criterion = "consistency"
    switched: ClassVar[bool] = True
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        """Switch entities, of whatever kind."""
        parsed = parse_one(record.gold)
        places = list(parsed.entities)
        moved = switch_pairs(places, self.level, rng)
        if moved is None:
            return None
        cuts = [(parsed.tokens[span.start].start, parsed.tokens[span.end - 1].end) for span in places]
        pieces = [parsed.piece(span) for span in moved]
        return spliced(record.gold, [(*cut, piece) for cut, piece in zip(cuts, pieces, strict=True)])


def _switchable(token: Token, pos: str) -> bool:
    """Whether a token is a word of this kind: the tagger takes emoji, quotes and links for nouns too."""
    return token.pos == pos and is_word(token) and not is_address(token)


def _inflected(parsed: Parse, places: list[int], moved: list[int]) -> dict[int, str]:
    changes = {}
    for at, other in zip(places, moved, strict=True):
        if at != other:
            form = _form(parsed.tokens[other], parsed.tokens[at].tag)
            changes[at] = form.capitalize() if parsed.tokens[at].text[:1].isupper() else form
    return changes


def _form(verb: Token, tag: str) -> str:
    return verb.text.lower() if verb.tag == tag else inflected(verb.lemma.lower(), tag) or verb.text.lower()


@lru_cache(maxsize=20_000)
def inflected(lemma: str, tag: str) -> str | None:
    """A verb in the form of a Penn tag, where the dictionary knows it."""
    from lemminflect import getInflection

    forms = getInflection(lemma, tag=tag)
    return forms[0] if forms else None
