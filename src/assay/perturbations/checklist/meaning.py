"""Meaning templates: edits that change the meaning and keep the grammar, and edits that keep both.

Table 5 of *checklist*: negation, opposites and siblings should lower a score; synonyms, contractions and
another reference should not. `negation` is for other templates too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.perturbations import edit
from assay.perturbations.edit import Text
from assay.perturbations.negation import negation

_TIED = ("to", "from", "of", "with", "for", "into", "against", "about", "out")  # prepositions a verb chooses
_DENYING = frozenset(
    ["no", "not", "n't", "n’t", "never", "nobody", "nothing", "none", "neither", "nor", "without"]
)
_GRADING = ("however", "how", "so", "as", "less", "more")
_FULL = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}


# --- another meaning: words exchanged ---


@edit.template("antonyms", "adequacy")
def Antonyms(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A share of the words replaced by their opposites, one per sentence: two may undo each other."""
    bound = {i for i in range(len(parse.tokens)) if _resists_opposite(parse, i)}
    return _exchanged(parse, lexicon.antonyms(), share, rng, skip=bound, single=True)


@edit.template("siblings", "correctness")
def Siblings(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """A share of the words replaced by others of their kind (the paper's hyponyms): musician, dancer."""
    return _exchanged(parse, lexicon.siblings(), share, rng)


def _resists_opposite(parse: Text, index: int) -> bool:
    """Whether an opposite would not fit: not always, not never; however often; for longer, for shorter."""
    token = parse.tokens[index]
    sentence = parse.sentence_of(index)
    words = {t.text.lower() for t in parse.tokens[sentence.start : sentence.end]}
    denied = bool(words & _DENYING)
    measured = index > 0 and any(map(str.isdigit, parse.tokens[index - 1].text))  # 100ft wide
    opens = token.pos == "ADV" and index == parse.first_word(sentence)  # Often there are, Rarely are there
    graded = token.pos == "ADV" and parse.word_at(index - 1) in _GRADING
    adjuncts = [t for t in parse.children(index) if t.dep in ("prep", "agent")]
    described = token.pos == "VERB" and len(adjuncts) > 1  # they say how it was done: built in the style of
    noun_like = token.pos == "ADJ" and token.dep in ("pobj", "pcomp", "nsubj", "dobj")
    return denied or measured or opens or graded or described or noun_like


def _exchanged(
    parse: Text,
    table: lexicon.Pairs,
    share: float,
    rng: Random,
    *,
    skip: Collection[int] = (),
    single: bool = False,
) -> dict[int, str]:
    """Exchange a share of the words in a table, in the form of the old ones.

    A repeated word is exchanged for the same word everywhere, never for one that the text has already. A word
    that must stay in one place stays in all. With `single`, only one word of a sentence changes.
    """
    indices = [i for i in range(len(parse.tokens)) if i not in skip]
    options = {i: forms for i in indices if (forms := _forms(parse, i, table))}
    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(parse.tokens):
        places[token.text.lower()].append(index)
    changes: dict[int, str] = {}
    for word in edit.draw_share([w for w in places if options.keys() >= set(places[w])], share, rng):
        fresh = [other for other in options[places[word][0]] if other.lower() not in places]
        changed = {*places[word], *changes}
        crowded = any(sum(s.start <= i < s.end for i in changed) > 1 for s in parse.sentences)
        if fresh and not (single and crowded):
            other = rng.choice(fresh)
            changes.update({i: lexicon.match_case(other, parse.tokens[i].text) for i in places[word]})
    return changes


def _forms(parse: Text, index: int, table: lexicon.Pairs) -> list[str]:
    """The words that the table gives for a word, in its form; empty where none would fit."""
    token = parse.tokens[index]
    known = edit.class_and_lemma(token)
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
    gender = lexicon.gendered(lemma)
    same_gender = [other for other in others if gender is None or lexicon.gendered(other) in (gender, None)]
    return [form for other in same_gender or others if (form := edit.inflect(other, token.tag))]


def _is_replaceable(parse: Text, index: int) -> bool:
    """Whether another word of the class fits the place: no neighbour asks for this very word.

    Sold it to her, bought it to her; a fire station, a fire harbour; 21 nautical yards; in airport.
    """
    token, tokens = parse.tokens[index], parse.tokens
    dependents = parse.children(index)
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


def stands_free(parse: Text, index: int) -> bool:
    """Whether a word is independent: no particle of its own, no part of a name or of a longer word."""
    token = parse.tokens[index]
    if parse.is_joined(index) or token.entity in ("PERSON", "ORG", "FAC", "WORK_OF_ART", "PRODUCT"):
        return False
    deps = {t.dep for t in parse.children(index)}
    if "npadvmod" in deps or (token.pos == "VERB" and deps & {"prt", "dative"}):  # 57 metres high
        return False
    beside = parse.neighbours(index)
    return not any(t.pos == "PROPN" and t.dep == "compound" and t.head == index for t in beside)


# --- another meaning: negation ---


@edit.template("negate", "adequacy")
def Negate(parse: Text, rng: Random, *, share: float = 0.5) -> Mapping[int, str]:
    """The main clause of a share of the sentences is negated, or loses its negation."""
    negated = [changes for sentence in parse.sentences if (changes := negation(parse, sentence))]
    drawn = edit.draw_share(negated, share, rng)
    return {index: word for changes in drawn for index, word in changes.items()}


# --- the same meaning ---


@edit.template("synonyms", "invariance", expect="same")
def Synonyms(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every word that has a safe synonym replaced by it, but no comparative: cheaper, more inexpensive."""
    compared = {i for i, t in enumerate(parse.tokens) if t.tag in ("JJR", "JJS", "RBR", "RBS")}
    return _exchanged(parse, lexicon.synonyms(), 1.0, rng, skip=compared)


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


@edit.template("contractions", "invariance", expect="same")
def Contractions(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every pair of words contracted that may be: We are, we're; do not, don't."""
    changes: dict[int, str] = {}
    for index in range(len(parse.tokens) - 1):
        short = _contraction(parse, index)
        if short and index not in changes:
            changes[index], changes[index + 1] = short, ""
    return changes


@cache
def _short_forms() -> dict[str, str]:
    """Full forms to contractions; of two with the same full form the first listed is taken."""
    return {full: short for short, full in reversed(list(lexicon.contractions().items()))}


def _contraction(parse: Text, index: int) -> str | None:
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
    stranded = index + 2 >= len(parse.tokens) or not edit.is_word(parse.tokens[index + 2]) or not second.space
    if not (pronoun and bare and helping) or stranded or _is_elliptic(parse, index + 1):
        return None
    if second.lemma != "be" and parse.word_at(index + 2) == "not":
        return None  # they wouldn't, not they'd not
    return first.text + short[len(first.text) :]


def _is_elliptic(parse: Text, index: int) -> bool:
    """Whether the verb's complement is before it: what it is worth."""
    token = parse.tokens[index]
    later = {t.dep for i, t in enumerate(parse.tokens) if i > index and t.head in (index, token.head)}
    complements = later & {"attr", "acomp", "prep", "advmod", "neg", "nsubj"}
    return token.dep not in ("aux", "auxpass") and not complements


@edit.template("expansions", "invariance", expect="same")
def Expansions(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every contraction written out whose full form is certain: We're, we are; don't, do not."""
    changes = [_expansion(parse, index) for index in range(1, len(parse.tokens))]
    return {index: word for change in changes for index, word in change.items()}


def _expansion(parse: Text, index: int) -> dict[int, str]:
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


def _expanded_not(parse: Text, index: int) -> dict[int, str]:
    """n't to not; in a question it goes after a pronoun: Do you not know?"""
    stem = parse.tokens[index - 1]
    full = edit.FULL_STEMS.get(stem.text.lower(), stem.text)
    if stem.text.lower() not in edit.FULL_STEMS and stem.text.lower() + "n't" not in lexicon.contractions():
        return {}
    after = parse.tokens[index + 1] if index + 1 < len(parse.tokens) else None
    if after is not None and (after.dep.startswith("nsubj") or after.text.lower() == "there"):
        movable = after.pos == "PRON" and full == stem.text
        return {index: "", index + 1: f"{after.text} not"} if movable else {}
    cased = full if stem.text[0].islower() else full.capitalize()
    return {index - 1: cased, index: "not" if cased.lower() == "can" else " not"}


def _is_or_has(parse: Text, index: int) -> str | None:
    token = parse.tokens[index]
    if token.dep == "aux" and parse.tokens[token.head].tag == "VBN":
        return "has"
    beside = [t for t in parse.tokens if t.head == token.head]
    if token.dep == "auxpass" and any(t.text == "been" for t in beside):
        return "has"
    if token.dep == "auxpass" and any(t.dep in ("dobj", "dative") for t in beside):  # he's owed me a shift
        return "has" if any(t.tag == "PRP" and t.dep == "dative" for t in beside) else None
    return "is" if token.tag == "VBZ" else None


def _had_or_would(parse: Text, index: int) -> str | None:
    head, after = parse.tokens[parse.tokens[index].head], parse.word_at(index + 1)
    if after == "better" or (head.tag == "VBN" and after != "have"):
        return "had"
    return "would" if head.tag == "VB" or after == "have" else None
