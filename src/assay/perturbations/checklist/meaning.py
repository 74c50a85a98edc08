"""Meaning templates: edits that change the meaning and keep the grammar, and edits that keep both.

Table 5 of *checklist*: negation, opposites and siblings should lower a score; synonyms, contractions and
another reference should not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import Pairs, antonyms, contractions, gendered, match_case, siblings, synonyms
from assay.models.nlp import Parse
from assay.perturbations.edit import (
    FULL_STEMS,
    WordEdit,
    children,
    class_and_lemma,
    draw_share,
    inflect,
    is_joined,
    is_word,
    neighbours,
    word_at,
)
from assay.perturbations.negation import negation

_TIED = ("to", "from", "of", "with", "for", "into", "against", "about", "out")  # prepositions a verb chooses
_GRADING = ("however", "how", "so", "as", "less", "more")
_FULL = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}


# --- another meaning ---


@dataclass(frozen=True)
class Negate(WordEdit):
    """The main clause of a share of the sentences is negated, or loses its negation."""

    name = "negate"
    criterion = "adequacy"
    share: float = 0.5

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        negated = [changes for sentence in parse.sentences if (changes := negation(parse, sentence))]
        merged: dict[int, str] = {}
        for changes in draw_share(negated, self.share, rng):
            merged.update(changes)
        return merged


@dataclass(frozen=True)
class Antonyms(WordEdit):
    """A share of the words replaced by their opposites, one per sentence: two may undo each other."""

    name = "antonyms"
    criterion = "adequacy"
    share: float = 0.5

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        bound = {i for i in range(len(parse.tokens)) if _resists_opposite(parse, i)}
        return _exchanged(parse, antonyms(), self.share, rng, skip=bound, per_sentence=1)


@dataclass(frozen=True)
class Siblings(WordEdit):
    """A share of the words replaced by others of their kind (the paper's hyponyms): musician, dancer."""

    name = "siblings"
    criterion = "correctness"
    share: float = 0.5

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        return _exchanged(parse, siblings(), self.share, rng)


def _resists_opposite(parse: Parse, index: int) -> bool:
    """Whether an opposite would not fit: not always, not never; however often; for longer, for shorter."""
    token = parse.tokens[index]
    verb = {"ADV": token.head, "ADJ": token.head, "VERB": index}.get(token.pos)
    denied = verb is not None and any(t.dep == "neg" for t in children(parse, verb))
    graded = token.pos == "ADV" and word_at(parse, index - 1) in _GRADING
    adjuncts = [t for t in children(parse, index) if t.dep in ("prep", "agent")]
    described = token.pos == "VERB" and len(adjuncts) > 1  # they say how it was done: built in the style of
    noun_like = token.pos == "ADJ" and token.dep in ("pobj", "pcomp", "nsubj", "dobj")
    return denied or graded or described or noun_like


def _exchanged(
    parse: Parse,
    table: Pairs,
    share: float,
    rng: Random,
    *,
    skip: Collection[int] = (),
    per_sentence: int | None = None,
) -> dict[int, str]:
    """Exchange a share of the words in a table, in the form of the old ones.

    A repeated word is exchanged for the same word everywhere, never for one that the text has already. A word
    that must stay in one place stays in all. At most `per_sentence` words of a sentence change.
    """
    options = {
        i: forms for i in range(len(parse.tokens)) if i not in skip and (forms := _forms(parse, i, table))
    }
    present = {token.text.lower() for token in parse.tokens}
    places: dict[str, list[int]] = defaultdict(list)
    for index in options:
        places[parse.tokens[index].text.lower()].append(index)
    fixed = {t.text.lower() for i, t in enumerate(parse.tokens) if i not in options}
    changes: dict[int, str] = {}
    for word in draw_share([w for w in places if w not in fixed], share, rng):
        fresh = [other for other in options[places[word][0]] if other.lower() not in present]
        if fresh and not (per_sentence and _exceeds(parse, places[word], changes, per_sentence)):
            other = rng.choice(fresh)
            changes.update({i: match_case(other, parse.tokens[i].text) for i in places[word]})
    return changes


def _exceeds(parse: Parse, indices: Sequence[int], changes: Collection[int], limit: int) -> bool:
    """Whether a sentence would have more changes than the limit."""
    merged = {*indices, *changes}
    return any(sum(s.start <= i < s.end for i in merged) > limit for s in parse.sentences)


def _forms(parse: Parse, index: int, table: Pairs) -> list[str]:
    """The words that the table gives for a word, in its form; empty where none would fit."""
    token = parse.tokens[index]
    known = class_and_lemma(token)
    if known is None or not stands_free(parse, index) or not _is_replaceable(parse, index):
        return []
    word_class, lemma = known
    if token.tag in ("JJ", "RB", "NN", "VB") and lemma != token.text.lower():
        return []  # the tagger and the dictionary disagree on the form
    proper = (word_class, lemma.capitalize())
    if token.pos == "PROPN" and proper not in table:
        return []
    others = table.get((word_class, lemma), ())
    if not others and (token.pos == "PROPN" or lemma.capitalize() == token.text):
        others = table.get(proper, ())
    gender = gendered(lemma)
    same_gender = [other for other in others if gender is None or gendered(other) in (gender, None)]
    return [form for other in same_gender or others if (form := inflect(other, token.tag))]


def _is_replaceable(parse: Parse, index: int) -> bool:
    """Whether another word of the class fits the place: no neighbour asks for this very word.

    Sold it to her, bought it to her; a fire station, a fire harbour; 21 nautical yards; in airport.
    """
    token, tokens = parse.tokens[index], parse.tokens
    dependents = children(parse, index)
    if token.pos == "VERB":
        complement = any(t.dep in ("xcomp", "ccomp", "acomp", "oprd") for t in dependents)
        tied = any(t.dep == "prep" and t.text.lower() in _TIED for t in dependents)
        return not complement and not tied and token.dep != "amod"
    if token.pos not in ("NOUN", "PROPN"):
        return True
    if token.tag == "NN" and tokens[token.head].tag == "VBG" and token.head == index - 1:
        return False  # packaging film: a compound, whatever the parse says
    deps = {t.dep for t in dependents}
    place = tokens[token.head].text.lower() in ("in", "at", "to") and token.dep == "pobj"
    bare = place and token.tag == "NN" and not deps & {"det", "poss", "nummod"}
    return not (bare or token.dep == "compound" or "compound" in deps or {"nummod", "amod"} <= deps)


def stands_free(parse: Parse, index: int) -> bool:
    """Whether a word is independent: no particle of its own, no part of a name or of a longer word."""
    token = parse.tokens[index]
    if is_joined(parse, index) or token.entity in ("PERSON", "ORG", "FAC", "WORK_OF_ART", "PRODUCT"):
        return False
    deps = {t.dep for t in children(parse, index)}
    if token.pos == "VERB" and deps & {"prt", "dative"}:
        return False
    if "npadvmod" in deps:  # 57 metres high
        return False
    beside = neighbours(parse, index)
    return not any(t.pos == "PROPN" and t.dep == "compound" and t.head == index for t in beside)


# --- the same meaning ---


@dataclass(frozen=True)
class Synonyms(WordEdit):
    """Every word that has a safe synonym replaced by it, but no comparative: cheaper, more inexpensive."""

    name = "synonyms"
    criterion = "invariance"
    expect = "same"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        compared = {i for i, t in enumerate(parse.tokens) if t.tag in ("JJR", "JJS", "RBR", "RBS")}
        return _exchanged(parse, synonyms(), 1.0, rng, skip=compared)


@dataclass(frozen=True)
class AlternativeReference(Perturbation):
    """Another text that people wrote for the item; it changes places with the clean text (fig. 4)."""

    name = "alternative-reference"
    criterion = "invariance"
    reads = "references"
    expect = "same"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        # Another reference must be left to compare with.
        return rng.choice(record.references) if len(record.references) > 1 else None


@dataclass(frozen=True)
class Contractions(WordEdit):
    """Every pair of words contracted that may be: We are, we're; do not, don't."""

    name = "contractions"
    criterion = "invariance"
    expect = "same"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for index in range(len(parse.tokens) - 1):
            short = _contraction(parse, index)
            if short and index not in changes:
                changes[index], changes[index + 1] = short, ""
        return changes


@cache
def _short_forms() -> dict[str, str]:
    """Full forms to contractions; of two with the same full form the first listed is taken."""
    table: dict[str, str] = {}
    for short, full in contractions().items():
        table.setdefault(full, short)
    return table


def _contraction(parse: Parse, index: int) -> str | None:
    """The contraction of a word and the next, or None where they may not be contracted."""
    first, second = parse.tokens[index], parse.tokens[index + 1]
    pair = f"{first.text} {second.text}".lower().replace("can not", "cannot")
    short = _short_forms().get(pair)
    if not short or not (first.space or pair == "cannot"):
        return None
    if second.text.lower() == "not":
        return first.text[0] + short[1:] if first.pos == "AUX" else None
    pronoun = first.tag in ("PRP", "EX") or first.text.lower() in ("who", "that", "what", "there")
    bare = first.tag in ("PRP", "EX") or second.text.lower() in ("is", "will")
    helping = second.pos == "AUX" and (second.lemma == "be" or second.dep in ("aux", "auxpass"))
    stranded = index + 2 >= len(parse.tokens) or not is_word(parse.tokens[index + 2]) or not second.space
    if not (pronoun and bare and helping) or stranded or _is_elliptic(parse, index + 1):
        return None
    if second.lemma != "be" and word_at(parse, index + 2) == "not":
        return None  # they wouldn't, not they'd not
    return first.text + short[len(first.text) :]


def _is_elliptic(parse: Parse, index: int) -> bool:
    """Whether the verb's complement is before it: what it is worth."""
    token = parse.tokens[index]
    later = [t for i, t in enumerate(parse.tokens) if i > index and t.head in (index, token.head)]
    return token.dep not in ("aux", "auxpass") and not any(
        t.dep in ("attr", "acomp", "prep", "advmod", "neg", "nsubj") for t in later
    )


@dataclass(frozen=True)
class Expansions(WordEdit):
    """Every contraction written out whose full form is certain: We're, we are; don't, do not."""

    name = "expansions"
    criterion = "invariance"
    expect = "same"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for index in range(1, len(parse.tokens)):
            changes.update(_expansion(parse, index))
        return changes


def _expansion(parse: Parse, index: int) -> dict[int, str]:
    token, before = parse.tokens[index], parse.tokens[index - 1]
    word = token.text.lower().replace("’", "'")
    if before.space:
        return {}
    if word == "n't":
        return _expanded_not(parse, index)
    if word == "'s" and before.text.lower() == "let":
        return {index: " us"}
    if token.pos not in ("AUX", "VERB"):
        return {}
    full = _FULL.get(word)
    if word in ("'s", "'d"):
        full = _is_or_has(parse, index) if word == "'s" else _had_or_would(parse, index)
    return {index: f" {full}"} if full else {}


def _expanded_not(parse: Parse, index: int) -> dict[int, str]:
    """n't to not; in a question it goes after a pronoun: Do you not know?"""
    stem = parse.tokens[index - 1]
    full = FULL_STEMS.get(stem.text.lower(), stem.text)
    if stem.text.lower() not in FULL_STEMS and stem.text.lower() + "n't" not in contractions():
        return {}
    after = parse.tokens[index + 1] if index + 1 < len(parse.tokens) else None
    if after is not None and (after.dep.startswith("nsubj") or after.text.lower() == "there"):
        movable = after.pos == "PRON" and full == stem.text
        return {index: "", index + 1: f"{after.text} not"} if movable else {}
    cased = full if stem.text[0].islower() else full.capitalize()
    return {index - 1: cased, index: "not" if cased.lower() == "can" else " not"}


def _is_or_has(parse: Parse, index: int) -> str | None:
    token = parse.tokens[index]
    if token.dep == "aux" and parse.tokens[token.head].tag == "VBN":
        return "has"
    beside = [t for t in parse.tokens if t.head == token.head]
    if token.dep == "auxpass" and any(t.text == "been" for t in beside):
        return "has"
    if token.dep == "auxpass" and any(t.dep in ("dobj", "dative") for t in beside):  # he's owed me a shift
        return "has" if any(t.tag == "PRP" and t.dep == "dative" for t in beside) else None
    return "is" if token.tag == "VBZ" else None


def _had_or_would(parse: Parse, index: int) -> str | None:
    head, after = parse.tokens[parse.tokens[index].head], word_at(parse, index + 1)
    if after == "better" or (head.tag == "VBN" and after != "have"):
        return "had"
    return "would" if head.tag == "VB" or after == "have" else None
