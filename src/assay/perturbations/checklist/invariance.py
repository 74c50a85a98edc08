"""Invariance templates: the text says the same in other words, so that no score should drop (table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import contractions, synonyms
from assay.models.nlp import Parse, parse_one
from assay.perturbations.checklist.meaning import exchanged
from assay.perturbations.edit import is_word, rewrite

_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
_FULL = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}


@dataclass(frozen=True)
class Synonyms(Perturbation):
    """Words replaced by synonyms."""

    name = "synonyms"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace every word that has a safe synonym, but no comparative: cheaper, more inexpensive."""
        parse = parse_one(record.gold)
        compared = {i for i, t in enumerate(parse.tokens) if t.tag in ("JJR", "JJS", "RBR", "RBS")}
        return exchanged(parse, synonyms(), 1.0, rng, leave=compared)


@dataclass(frozen=True)
class Contractions(Perturbation):
    """We are, we're; do not, don't."""

    name = "contractions"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Contract every pair of words that may be contracted where it stands."""
        parse = parse_one(record.gold)
        changes: dict[int, str] = {}
        for index in range(len(parse.tokens) - 1):
            short = _short(parse, index)
            if short and index not in changes:
                changes[index], changes[index + 1] = short, ""
        return rewrite(parse, changes) if changes else None


@cache
def _shortest() -> dict[str, str]:
    """Full forms to contractions; of two with the same full form the first listed is taken."""
    table: dict[str, str] = {}
    for short, full in contractions().items():
        table.setdefault(full, short)
    return table


def _short(parse: Parse, index: int) -> str | None:
    """The contraction of a word and the next, if they may be contracted here."""
    first, second = parse.tokens[index], parse.tokens[index + 1]
    pair = f"{first.text} {second.text}".lower().replace("can not", "cannot")
    short = _shortest().get(pair)
    if not short or not (first.space or pair == "cannot"):
        return None
    if second.text.lower() == "not":
        return first.text[0] + short[1:] if first.pos == "AUX" else None
    pronoun = first.tag in ("PRP", "EX") or first.text.lower() in ("who", "that", "what", "there")
    bare = first.tag in ("PRP", "EX") or second.text.lower() in ("is", "will")
    helping = second.pos == "AUX" and (second.lemma == "be" or second.dep in ("aux", "auxpass"))
    stranded = index + 2 >= len(parse.tokens) or not is_word(parse.tokens[index + 2]) or not second.space
    if not (pronoun and bare and helping) or stranded or _elliptic(parse, index + 1):
        return None
    if second.lemma != "be" and parse.tokens[index + 2].text.lower() == "not":
        return None  # they wouldn't, not they'd not
    return first.text + short[len(first.text) :]


def _elliptic(parse: Parse, index: int) -> bool:
    """Whether what the verb governs stands before it: what it is worth."""
    token = parse.tokens[index]
    later = [t for i, t in enumerate(parse.tokens) if i > index and (t.head == index or t.head == token.head)]
    return token.dep not in ("aux", "auxpass") and not any(
        t.dep in ("attr", "acomp", "prep", "advmod", "neg", "nsubj") for t in later
    )


@dataclass(frozen=True)
class Expansions(Perturbation):
    """We're, we are; don't, do not."""

    name = "expansions"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Write out every contraction whose full form is certain."""
        parse = parse_one(record.gold)
        changes: dict[int, str] = {}
        for index in range(1, len(parse.tokens)):
            changes.update(_expanded(parse, index))
        return rewrite(parse, changes) if changes else None


def _expanded(parse: Parse, index: int) -> dict[int, str]:
    token, before = parse.tokens[index], parse.tokens[index - 1]
    word = token.text.lower().replace("’", "'")
    if before.space:
        return {}
    if word == "n't":
        return _not(parse, index)
    if word in _FULL and token.pos in ("AUX", "VERB"):
        return {index: f" {_FULL[word]}"}
    if word == "'s" and before.text.lower() == "let":
        return {index: " us"}
    full = {"'s": _is_or_has, "'d": _had_or_would}.get(word)
    spoken = full(parse, index) if full and token.pos in ("AUX", "VERB") else None
    return {index: f" {spoken}"} if spoken else {}


def _not(parse: Parse, index: int) -> dict[int, str]:
    """n't to not; in a question it goes behind a pronoun: Do you not know?"""
    stem = parse.tokens[index - 1]
    full = _STEMS.get(stem.text.lower(), stem.text)
    if stem.text.lower() not in _STEMS and stem.text.lower() + "n't" not in contractions():
        return {}
    after = parse.tokens[index + 1] if index + 1 < len(parse.tokens) else None
    if (after is not None and after.dep.startswith("nsubj")) or (
        after is not None and after.text.lower() == "there"
    ):
        return (
            {index: "", index + 1: f"{after.text} not"} if after.pos == "PRON" and full == stem.text else {}
        )
    stem_full = full if stem.text[0].islower() else full.capitalize()
    return {index - 1: stem_full, index: "not" if stem_full.lower() == "can" else " not"}


def _is_or_has(parse: Parse, index: int) -> str | None:
    token = parse.tokens[index]
    head = parse.tokens[token.head]
    if token.dep == "aux" and head.tag == "VBN":
        return "has"
    own = [t for t in parse.tokens if t.head == token.head]
    if token.dep == "auxpass" and any(t.text == "been" for t in own):
        return "has"
    if token.dep == "auxpass" and any(t.dep in ("dobj", "dative") for t in own):  # he's owed me a shift
        return "has" if any(t.tag == "PRP" and t.dep == "dative" for t in own) else None
    return "is" if token.tag == "VBZ" else None


def _had_or_would(parse: Parse, index: int) -> str | None:
    token = parse.tokens[index]
    after = parse.tokens[index + 1].text.lower() if index + 1 < len(parse.tokens) else ""
    head = parse.tokens[token.head]
    if after == "better" or (head.tag == "VBN" and after != "have"):
        return "had"
    return "would" if head.tag == "VB" or after == "have" else None


@dataclass(frozen=True)
class AlternativeReference(Perturbation):
    """Another text that people wrote for the item; it changes places with the gold (fig. 4)."""

    name = "alternative-reference"
    criterion = "invariance"
    reads = "references"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take a reference, where another is left to compare with."""
        return rng.choice(record.references) if len(record.references) > 1 else None
