"""Meaning templates: negation, opposites and siblings, which leave the grammar right (checklist, table 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, parse_one
from assay.perturbations.choice import drawn
from assay.perturbations.inflection import class_and_lemma, inflect
from assay.perturbations.lexicon import Pairs, antonyms, gendered, siblings
from assay.perturbations.negation import negation
from assay.perturbations.surgery import joined_word, like, rewrite


@dataclass(frozen=True)
class Negate(Perturbation):
    """The main clause of every other sentence says the contrary."""

    name = "negate"
    criterion = "adequacy"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Negate, or affirm what is negated."""
        return negated(record.gold, self.share, rng)


def negated(text: str, share: float, rng: Random) -> str | None:
    """The text with a share of its sentences negated."""
    parse = parse_one(text)
    found = [changes for sentence in parse.sentences if (changes := negation(parse, sentence))]
    merged: dict[int, str] = {}
    for changes in drawn(found, share, rng):
        merged.update(changes)
    return rewrite(parse, merged) if merged else None


@dataclass(frozen=True)
class Antonyms(Perturbation):
    """Words replaced by their opposites."""

    name = "antonyms"
    criterion = "adequacy"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace a share of the words that have an opposite."""
        return exchanged(parse_one(record.gold), antonyms(), self.share, rng)


@dataclass(frozen=True)
class Siblings(Perturbation):
    """Words replaced by others of their kind, "use hyponyms" in the paper: musician, dancer."""

    name = "siblings"
    criterion = "correctness"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace a share of the words that have siblings."""
        return exchanged(parse_one(record.gold), siblings(), self.share, rng)


def exchanged(
    parse: Parse, table: Pairs, share: float, rng: Random, *, leave: Collection[int] = ()
) -> str | None:
    """The text with a share of the words in a table exchanged, in the form of the old ones.

    A word that comes twice is exchanged alike, and never for a word that the text has already.
    """
    open_to = [i for i in range(len(parse.tokens)) if i not in leave]
    options = {i: found for i in open_to if (found := _options(parse, i, table))}
    present = {token.text.lower() for token in parse.tokens}
    chosen: dict[str, str] = {}
    changes = {}
    for index in drawn(list(options), share, rng):
        word = parse.tokens[index].text
        fresh = [other for other in options[index] if other.lower() not in present]
        if fresh:
            other = chosen.setdefault(word.lower(), rng.choice(fresh))
            changes[index] = like(other, word)
    return rewrite(parse, changes) if changes else None


def _options(parse: Parse, index: int, table: Mapping[tuple[str, str], tuple[str, ...]]) -> list[str]:
    token = parse.tokens[index]
    known = class_and_lemma(token)
    if known is None or not stands_free(parse, index):
        return []
    word_class, lemma = known
    if token.tag in ("JJ", "RB", "NN", "VB") and lemma != token.text.lower():
        return []  # the tagger and the dictionary disagree on the form
    proper = token.pos == "PROPN" or lemma.capitalize() == token.text
    others = table.get((word_class, lemma)) or (
        table.get((word_class, lemma.capitalize())) if proper else None
    )
    if token.pos == "PROPN" and (word_class, lemma.capitalize()) not in table:
        return []
    gender = gendered(lemma)
    kept = [other for other in others or () if gender is None or gendered(other) in (gender, None)]
    return [form for other in kept or others or () if (form := inflect(other, token.tag))]


def stands_free(parse: Parse, index: int) -> bool:
    """Whether a word stands free: no particle of its own, no part of a name or of a longer word."""
    tokens = parse.tokens
    token = tokens[index]
    if joined_word(parse, index) or token.entity in ("PERSON", "ORG", "FAC", "WORK_OF_ART", "PRODUCT"):
        return False
    own = [t for t in tokens if t.head == index]
    if token.pos == "VERB" and any(t.dep in ("prt", "dative") for t in own):
        return False
    if any(t.dep == "npadvmod" for t in own):  # 57 metres high
        return False
    neighbours = [tokens[i] for i in (index - 1, index + 1) if 0 <= i < len(tokens)]
    return not any(t.pos == "PROPN" and t.dep == "compound" and t.head == index for t in neighbours)
