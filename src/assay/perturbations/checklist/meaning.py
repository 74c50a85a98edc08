"""Meaning templates: negation, opposites and siblings, which leave the grammar right (checklist, table 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import Pairs, antonyms, gendered, siblings
from assay.models.nlp import Parse, parse_one
from assay.perturbations.edit import class_and_lemma, drawn, inflect, joined_word, like, rewrite
from assay.perturbations.negation import negation

_TIED = ("to", "from", "of", "with", "for", "into", "against", "about", "out")  # prepositions a verb chooses
_GRADING = ("however", "how", "so", "as", "less", "more")


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
        """Replace a share of the words that have an opposite, one a sentence: two may undo each other."""
        parse = parse_one(record.gold)
        bound = {i for i in range(len(parse.tokens)) if _bound(parse, i)}
        return exchanged(parse, antonyms(), self.share, rng, leave=bound, each=1)


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
    parse: Parse,
    table: Pairs,
    share: float,
    rng: Random,
    *,
    leave: Collection[int] = (),
    each: int | None = None,
) -> str | None:
    """The text with a share of the words in a table exchanged, in the form of the old ones.

    A word that comes twice is exchanged alike, and never for a word that the text has already; one that
    is part of a longer word elsewhere stays, as it would be left there. At most so many a sentence.
    """
    open_to = [i for i in range(len(parse.tokens)) if i not in leave]
    options = {i: found for i in open_to if (found := _options(parse, i, table))}
    present = {token.text.lower() for token in parse.tokens}
    places: dict[str, list[int]] = defaultdict(list)
    for index in options:
        places[parse.tokens[index].text.lower()].append(index)
    fixed = {t.text.lower() for i, t in enumerate(parse.tokens) if i not in options}
    changes: dict[int, str] = {}
    for word in drawn([w for w in places if w not in fixed], share, rng):
        fresh = [other for other in options[places[word][0]] if other.lower() not in present]
        if fresh and not (each and _crowded(parse, places[word], changes, each)):
            other = rng.choice(fresh)
            changes.update({i: like(other, parse.tokens[i].text) for i in places[word]})
    return rewrite(parse, changes) if changes else None


def _crowded(parse: Parse, indices: Sequence[int], changes: Collection[int], each: int) -> bool:
    """Whether a sentence would have more changes than it may."""
    merged = {*indices, *changes}
    return any(sum(s.start <= i < s.end for i in merged) > each for s in parse.sentences)


def _bound(parse: Parse, index: int) -> bool:
    """Whether an opposite would not fit: not always, not never; however often; for longer, for shorter."""
    token = parse.tokens[index]
    verb = {"ADV": token.head, "ADJ": token.head, "VERB": index}.get(token.pos)
    denied = verb is not None and any(t.head == verb and t.dep == "neg" for t in parse.tokens)
    graded = token.pos == "ADV" and index > 0 and parse.tokens[index - 1].text.lower() in _GRADING
    adjuncts = [t for t in parse.tokens if t.head == index and t.dep in ("prep", "agent")]
    crowded = token.pos == "VERB" and len(adjuncts) > 1  # they tell how it was done: built in the style of
    noun_like = token.pos == "ADJ" and token.dep in ("pobj", "pcomp", "nsubj", "dobj")
    return denied or graded or crowded or noun_like


def _options(parse: Parse, index: int, table: Mapping[tuple[str, str], tuple[str, ...]]) -> list[str]:
    token = parse.tokens[index]
    known = class_and_lemma(token)
    if known is None or not stands_free(parse, index) or not _keeps_its_frame(parse, index):
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


def _keeps_its_frame(parse: Parse, index: int) -> bool:
    """Whether another word of the class fits the place: nothing near asks for this very word.

    Sold it to her, bought it to her; a fire station, a fire harbour; 21 nautical yards; in airport.
    """
    token, tokens = parse.tokens[index], parse.tokens
    own = [t for t in tokens if t.head == index]
    if token.pos == "VERB":
        asks = any(t.dep in ("xcomp", "ccomp", "acomp", "oprd") for t in own)
        tied = any(t.dep == "prep" and t.text.lower() in _TIED for t in own)
        return not asks and not tied and token.dep != "amod"
    if token.pos not in ("NOUN", "PROPN"):
        return True
    if token.tag == "NN" and tokens[token.head].tag == "VBG" and token.head == index - 1:
        return False  # packaging film: a compound, whatever the parse says
    held = {t.dep for t in own}
    place = tokens[token.head].text.lower() in ("in", "at", "to") and token.dep == "pobj"
    bare = place and token.tag == "NN" and not held & {"det", "poss", "nummod"}
    return not (bare or token.dep == "compound" or "compound" in held or {"nummod", "amod"} <= held)


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
