"""Templates for people and places: names changed, and nouns turned into pronouns (checklist, table 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.datasets.lexicon import (
    first_names,
    gendered,
    jsonl_file,
    listed_places,
    people,
    places_by_kind,
    surnames,
    template_words,
    word_list,
)
from assay.models.nlp import Parse, Span, Token
from assay.perturbations.edit import (
    FINITE_TAGS,
    QUESTION_TAGS,
    WordEdit,
    children,
    is_address,
    is_compound_part,
    known_word,
    lemma_of,
    neighbours,
    subtree,
    word_at,
)
from assay.perturbations.negation import garbled

# Titles that precede a first name.
_GIVEN = frozenset(["Queen", "King", "Prince", "Princess", "Lady", "Sir", "Don", "Doña", "Pope", "Saint"])
_PLACING = frozenset(["on", "off", "to", "from", "between", "into", "towards", "around", "across", "over"])
_FEMALE = frozenset(["she", "her", "hers", "herself", "queen", "princess", "lady", "doña"])
_MALE = frozenset(["he", "him", "his", "himself", "king", "prince", "sir", "don", "pope"])

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}
_MARKS = frozenset('"“”«»()[]{}:;')  # a phrase that holds one would lose its partner
_MEASURES = ("DATE", "TIME", "MONEY", "QUANTITY", "PERCENT", "CARDINAL", "ORDINAL")
_LOST = (
    "no",
    "neither",
    "nor",
    "few",
    "little",
    "less",
    "fewer",
    "or",
    "any",
)  # a pronoun cannot express them


# --- names ---


@dataclass(frozen=True)
class ChangeNames(WordEdit):
    """Every person gets another name, the same wherever it occurs; without persons, every place.

    First names keep their gender, as far as the list or the text's pronouns show it; the region is drawn.
    """

    name = "change-names"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        return _renamed_persons(parse, rng) or _renamed_places(parse, rng)


def _renamed_persons(parse: Parse, rng: Random) -> dict[int, str]:
    firsts, lasts = _person_words(parse)
    gender = _text_gender(parse) if len({parse.tokens[i].text for i in firsts}) == 1 else None
    region = rng.choice(sorted(set(surnames().values())))
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for index in sorted(firsts | lasts):
        word = parse.tokens[index].text
        if word not in chosen:
            taken = {word, *chosen.values()}
            names = _first_names(word, gender, region) if index in firsts else _surnames(region)
            chosen[word] = rng.choice([name for name in names if name not in taken] or names)
        changes[index] = chosen[word]
    return changes


def _person_words(parse: Parse) -> tuple[set[int], set[int]]:
    """The indices of first names and of surnames, found by entity or by the list, at every mention."""
    firsts: set[str] = set()
    lasts: set[str] = set()
    for span in parse.entities:
        names = _names_in(parse, span)
        if span.label != "PERSON" or not names or not _is_person(parse, span, names):
            continue
        titled = len(names) < span.end - span.start
        before = parse.tokens[span.start].text if titled else _before(parse, span.start)
        listed = names[0] in surnames() and names[0] not in first_names()
        if len(names) == 1 and before.rstrip(".") not in _GIVEN and (listed or _is_title(before)):
            lasts.update(names)
        elif len(names) > 1 or names[0] in first_names() or before in _GIVEN:
            firsts.add(names[0])
            lasts.update(names[1:])
    known = {token.text for token in parse.tokens if token.text in first_names() and token.pos == "PROPN"}
    firsts |= {name for name in known if name not in listed_places() and name not in lasts}
    lasts -= firsts
    _add_neighbours(parse, firsts, lasts)
    mentions = [i for i, t in enumerate(parse.tokens) if t.pos == "PROPN" and not is_compound_part(parse, i)]
    first_indices = {i for i in mentions if parse.tokens[i].text in firsts}
    return first_indices, {i for i in mentions if parse.tokens[i].text in lasts} - first_indices


def _names_in(parse: Parse, span: Span) -> list[str]:
    """The words of a person's name, without title and possessive."""
    words = [token.text for token in parse.tokens[span.start : span.end]]
    names = [word for word in words if word not in ("'s", "’s") and not _is_title(word)]
    return names if len(names) <= 3 and all(map(_looks_like_name, names)) else []


def _is_person(parse: Parse, span: Span, names: list[str]) -> bool:
    """Whether a name is a person's, by the list or by its place in the sentence: nobody is "on" a person."""
    before = word_at(parse, span.start - 1)
    if before in ("in", "at", "near"):
        return False
    if any(name in first_names() or name in surnames() for name in names) or len(names) == 1:
        return True
    head = parse.tokens[span.end - 1]
    thing = head.dep == "nsubj" and any(
        t.dep == "attr" and t.head == head.head and t.lemma not in people() for t in parse.tokens
    )
    return not thing and (head.dep in ("case", "poss") or before not in _PLACING)


def _add_neighbours(parse: Parse, firsts: set[str], lasts: set[str]) -> None:
    """Add the other half of a name, and the other of two people: Isla and Ronan Fairweather."""
    words = [t.text if t.pos == "PROPN" and _looks_like_name(t.text) else "" for t in parse.tokens]
    for at, token in enumerate(parse.tokens[1:-1], 1):
        left, right = words[at - 1], words[at + 1]
        if token.text == "and" and left and right and {left, right} & (firsts | lasts):
            firsts.update({left, right} - lasts - listed_places())
        if words[at] in firsts and right and right not in firsts:
            lasts.add(right)
        if words[at] in lasts and left and left not in lasts and not _is_title(left):
            firsts.add(left)


def _before(parse: Parse, start: int) -> str:
    return parse.tokens[start - 1].text if start else ""


def _is_title(word: str) -> bool:
    return word.rstrip(".") in template_words("titles")


def _looks_like_name(word: str) -> bool:
    common = template_words("not_names")
    return word[:1].isupper() and word[1:].islower() and word.isalpha() and word not in common


def _text_gender(parse: Parse) -> str | None:
    """The gender that the text's pronouns and titles show, or None where they disagree or there are none."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = bool(words & _FEMALE), bool(words & _MALE)
    return None if female == male else "female" if female else "male"


def _first_names(word: str, text_gender: str | None, region: str) -> list[str]:
    known = first_names().get(word)
    gender = known.gender if known else text_gender or "unisex"
    return [n.name for n in first_names().values() if n.gender == gender and n.region == region]


def _surnames(region: str) -> list[str]:
    return [name for name, home in surnames().items() if home == region]


def _renamed_places(parse: Parse, rng: Random) -> dict[int, str]:
    """Single-word places, by the list or by the parse, each replaced by another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for span in parse.entities:
        word = parse.tokens[span.start].text
        if word_at(parse, span.start - 1) == "the":
            continue  # rivers and ships: the Saale, the Marama
        if span.label != "GPE" or not _is_single_place(parse, span):
            continue
        kinds = places_by_kind()
        same_kind = next((names for names in kinds.values() if word in names), kinds["city"])
        others = [name for name in same_kind if name not in {word, *chosen.values()}]
        changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


def _is_single_place(parse: Parse, span: Span) -> bool:
    """Whether a place is one word, beside no other name: not Bremen Museum, South Korea."""
    token = parse.tokens[span.start]
    alone = span.end == span.start + 1 and all(t.pos != "PROPN" for t in neighbours(parse, span.start))
    placed = token.dep in ("pobj", "dobj", "poss") or token.text in listed_places()
    return alone and placed and _looks_like_name(token.text) and not is_compound_part(parse, span.start)


# --- pronouns ---


@dataclass(frozen=True)
class NounsToPronouns(WordEdit):
    """Subjects and objects become he, she, it or they; one that needs an unknown gender stays."""

    name = "nouns-to-pronouns"
    criterion = "referential clarity"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            if garbled(parse, sentence):
                continue
            for index in range(sentence.start, sentence.end):
                span, pronoun = _pronoun(parse, index) or (Span(0, 0), "")
                if pronoun and not any(i in changes for i in range(span.start, span.end)):
                    changes.update(dict.fromkeys(range(span.start, span.end), ""))
                    changes[span.start] = pronoun
        return changes


def _pronoun(parse: Parse, index: int) -> tuple[Span, str] | None:
    """A noun's whole phrase and the pronoun for it, or None where a pronoun would not do."""
    token = parse.tokens[index]
    if token.dep not in ("nsubj", "nsubjpass", "dobj") or token.pos not in ("NOUN", "PROPN"):
        return None
    span, kind = _phrase(parse, index), _referent(parse, index)
    if span is None or kind is None or not _is_beside_verb(parse, token, span):
        return None
    return span, (_SUBJECT if _takes_subject_case(parse, token, span) else _OBJECT)[kind]


def _phrase(parse: Parse, index: int) -> Span | None:
    """The noun with all its dependents; None where that asks, counts or cannot be replaced as a whole."""
    token, span = parse.tokens[index], subtree(parse, index)
    # A unit only counts: it will cost 11 million euros.
    if span is None or token.entity in _MEASURES or lemma_of(token.text, "noun") in _units():
        return None
    inside = parse.tokens[span.start : span.end]
    if any(t.text.lower() in _LOST for t in inside):
        return None
    asks = any(t.tag in QUESTION_TAGS for t in inside)
    owner = word_at(parse, span.end) in ("'s", "’s")
    marks = any(t.text in _MARKS or is_address(t) for t in inside)
    ends = inside[-1].text == "," or inside[-1].tag == "CD"  # beat the Eagles 61-58
    return None if asks or owner or marks or ends else span


@cache
def _units() -> frozenset[str]:
    kinds = ("currencies", "spans of time", "long spans of time")
    groups = [(group["kind"], group["terms"]) for group in jsonl_file("words", "siblings")]
    return frozenset(
        term for kind, terms in groups for term in terms if kind in kinds or kind.startswith("units of")
    )


def _referent(parse: Parse, index: int) -> str | None:
    """Plural, thing, male or female; None for a person whose gender is unknown."""
    token, dependents = parse.tokens[index], children(parse, index)
    joined = any(t.dep == "conj" for t in dependents)
    if token.tag in ("NNS", "NNPS") or joined or _verb_is_plural(parse, token):
        return "plural"
    titled = any(
        t.text.lower() in people() or t.entity == "PERSON"
        for t in (token, *dependents)
        if t.dep == "compound"
    )
    unknown = token.text[:1].isupper() and not known_word(token.text)
    if token.pos == "PROPN" or token.entity == "PERSON" or unknown:
        personal = titled or token.entity in ("PERSON", "") or _is_lone_name(parse, index)
        return _person_gender(parse, index) if personal else "thing"
    lemma = lemma_of(token.text, "noun")
    gender = gendered(token.text.lower()) or gendered(lemma)
    if gender:
        return gender
    person = lemma in people() or lemma.endswith(word_list("checklist", "templates", "person_endings"))
    return None if person else "thing"


def _is_lone_name(parse: Parse, index: int) -> bool:
    """Whether a name is one word and no known place: a surname alone is often taken for a firm."""
    known = any(parse.tokens[index].text in names for names in places_by_kind().values())
    return subtree(parse, index) == Span(index, index + 1) and not known


def _person_gender(parse: Parse, index: int) -> str | None:
    """A named person's gender by the list of first names or by a title, or None."""
    span = subtree(parse, index) or Span(index, index + 1)
    for token in parse.tokens[span.start : span.end]:
        known = first_names().get(token.text)
        gender = known.gender if known else gendered(token.text.lower()) or gendered(f"{token.text.lower()}.")
        if gender in ("male", "female"):
            return gender
    return None


def _takes_subject_case(parse: Parse, token: Token, span: Span) -> bool:
    """Whether a subject has a clause of its own; in "makes tides larger" it takes the object's case."""
    if token.dep == "dobj":
        return False
    governed = span.start > 0 and parse.tokens[span.start - 1].pos == "VERB"
    helping = [t for t in parse.tokens if t.head == token.head and t.dep.startswith("aux")]
    finite = any(t.tag in FINITE_TAGS for t in (parse.tokens[token.head], *helping))
    return finite or not governed


def _is_beside_verb(parse: Parse, token: Token, span: Span) -> bool:
    """Whether the phrase is next to its verb, so that the parse can be trusted and a pronoun fits."""
    verb, tokens = parse.tokens[token.head], parse.tokens
    if token.dep == "dobj":
        bare = verb.tag == "VBG" and tokens[span.start] is token  # packaging film, reflecting cells
        light = verb.lemma in template_words("light_verbs")
        particle = any(t.head == token.head and t.dep == "prt" for t in tokens)  # break down it
        continues = span.end < len(tokens) and tokens[span.end].tag in FINITE_TAGS | {"VB"}
        return span.start == token.head + 1 and not (bare or light or particle or continues)
    if span.start > token.head or (span.start > 0 and tokens[span.start - 1].dep == "prep"):
        return False  # said the owner; in June Seehofer spoke
    between = tokens[span.end : token.head]
    direct = all(t.head == token.head and t.dep in ("aux", "auxpass", "neg", "advmod") for t in between)
    loose = any(
        t.head == token.head and t.dep in ("npadvmod", "dep") and t.entity not in ("DATE", "TIME")
        for t in tokens[: span.start]
    )
    return direct and not loose and all(t.text != "," for t in between)


def _verb_is_plural(parse: Parse, token: Token) -> bool:
    """Whether the verb treats a singular subject as several: the team are."""
    finite = [t for t in parse.tokens if t.head == token.head and t.dep in ("aux", "auxpass")]
    return token.dep != "dobj" and any(
        t.text.lower() in ("are", "were", "have") and t.tag != "VB"
        for t in (parse.tokens[token.head], *finite)
    )
