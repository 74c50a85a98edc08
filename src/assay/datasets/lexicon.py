"""The embedded word lists as look-ups: antonyms, names, replies and so on; and which article a word takes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations

from assay.files import data_path, jsonl_file, toml_file, tsv_file, word_set

Pairs = Mapping[tuple[str, str], tuple[str, ...]]

# Sound, not spelling, decides between a and an: "an hour", "a unit", "an MP".
_EIGHT = re.compile(r"8|1[18](\d{2,3})?(?!\d)")  # eight, eleven, eighteen, and so many hundreds or thousands
_SILENT_H = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(
    r"(uni(?!n|m|dent)|unanim|us[aeiu]|u(?!ber)[bcfhjkqrst][aeiou]|ukr|u-|eu|ewe|one(?![ir])|once)",
    re.IGNORECASE,
)
_VOWEL_LETTERS = frozenset("AEFHILMNORSX")  # letters whose names begin with a vowel


def template_words(key: str) -> frozenset[str]:
    """A set of words that the checklist's templates look out for."""
    return word_set("checklist", "templates", key)


def indefinite_article(word: str) -> str:
    """Return `a` or `an`, whichever the word takes.

    >>> [indefinite_article(word) for word in ("apple", "pear", "hour", "university", "unidentified")]
    ['an', 'a', 'an', 'a', 'an']
    >>> [indefinite_article(word) for word in ("MP", "UN", "LGBTQ", "X-ray", "11", "180", "one-armed")]
    ['an', 'a', 'an', 'an', 'an', 'a', 'a']
    """
    return "an" if _begins_with_vowel(word) else "a"


def _begins_with_vowel(word: str) -> bool:
    """Whether a word, a number or an abbreviation begins with the sound of a vowel."""
    if word[:1].isdigit():
        return _EIGHT.match(word) is not None
    if _is_spelt_out(word):
        return word[0] in _VOWEL_LETTERS
    is_vowel = word[:1].lower() in tuple("aeiouáéíóúäöüåøæ")
    return bool(_SILENT_H.match(word)) or (is_vowel and not _CONSONANT_SOUND.match(word))


def _is_spelt_out(word: str) -> bool:
    """Whether a word is read letter by letter: MP, LGBTQ and the X of X-ray are, NATO is not."""
    if re.match(r"[A-Z](-|$)", word):
        return True
    is_short = len(word) < 5 and not re.search(r"[AEIOU].*[AEIOU]", word[1:])
    return word.isupper() and (is_short or not re.search(r"[AEIOU]", word))


def capitalised(text: str) -> str:
    """The text with its first letter in upper case, even after quotes or brackets."""
    return re.sub(r"[^\W_]", lambda match: match[0].upper(), text, count=1)


def match_case(word: str, model: str) -> str:
    """The word in the case of another: ALL CAPITALS, Capitalised, or as it is."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return capitalised(word) if model[:1].isupper() else word


# The lists' word classes, by the parser's part-of-speech tags.
CLASSES: Mapping[str, str] = toml_file("lexicons", "tags")["classes"]


@dataclass(frozen=True, slots=True)
class Name:
    """A first name with the gender and region it is common in."""

    name: str
    gender: str
    region: str


@cache
def _ranks() -> dict[str, int]:
    words = data_path("words", "frequent.txt").read_text("utf-8").split()
    return {word: rank for rank, word in enumerate(words, start=1)}


def rarity(phrase: str) -> float:
    """How rare a phrase is: log2 of the frequency rank of its rarest word.

    >>> rarity("the"), rarity("genderqueer") == rarity("qwertyuiop")
    (0.0, True)
    """
    unlisted = len(_ranks()) + 1
    return math.log2(max((_ranks().get(word, unlisted) for word in phrase.lower().split()), default=unlisted))


@cache
def antonyms() -> Pairs:
    """(class, lemma) to opposites; a pair is also read backwards if its second word has no entry."""
    table, unsafe = _pairs("antonyms", "antonym"), template_words("antonyms_unsafe")
    both = dict(table)
    for (kind, word), others in table.items():
        for other in others:
            if (kind, other) not in table:
                both[kind, other] = (*both.get((kind, other), ()), word)
    return {key: words for key, words in both.items() if not {key[1], " ".join(key)} & unsafe}


@cache
def synonyms() -> Pairs:
    """(class, lemma) to words of nearly the same meaning, which tell a paraphrase from another meaning."""
    return _pairs("synonyms", "synonym")


@cache
def siblings(*, interchangeable: bool = False) -> Pairs:
    """(class, term) to other terms of its kind, capitals where the text needs them.

    With `interchangeable`, only the kinds whose terms can stand for each other in nearly any sentence.
    """
    table: dict[tuple[str, str], tuple[str, ...]] = defaultdict(tuple)
    kinds, unsafe = template_words("siblings_kinds"), template_words("siblings_unsafe")
    groups = jsonl_file("words", "siblings")
    for group in (group for group in groups if not interchangeable or group["kind"] in kinds):
        cased = map(str.capitalize, group["terms"]) if group["proper"] else group["terms"]
        for term, other in permutations((term for term in cased if term not in unsafe), 2):
            table[group["pos"], term] += (other,)
    return dict(table)


@cache
def first_names() -> Mapping[str, Name]:
    """First names by spelling."""
    return {row["name"]: Name(**row) for row in tsv_file("words", "first_names")}


@cache
def surnames() -> Mapping[str, str]:
    """Surnames to their region."""
    return {row["name"]: row["region"] for row in tsv_file("words", "surnames")}


@cache
def places_by_kind() -> Mapping[str, tuple[str, ...]]:
    """Names of cities, states and countries: those of the balanced list, then the other large ones."""
    more = toml_file("checklist", "templates")["kinds_of_places"]
    listed = defaultdict(list)
    for row in tsv_file("words", "places"):
        listed[row["kind"]].append(row["name"])
    return {kind: (*listed[kind], *more.get(kind, ())) for kind in sorted(listed)}


@cache
def replies(kind: str, after: str = "any") -> tuple[str, ...]:
    """Replies of a kind, generic or back_off, that fit a turn: a question, thanks and so on."""
    rows = jsonl_file("words", "generic_replies")
    return tuple(row["text"] for row in rows if (row["kind"], row["after"]) == (kind, after))


@cache
def contractions() -> Mapping[str, str]:
    """Contracted forms, lower-case, to their likeliest expansion."""
    return {row["contraction"].lower(): row["expansion"].lower() for row in tsv_file("words", "contractions")}


@cache
def attributes() -> Mapping[str, tuple[str, ...]]:
    """Attribute words to other values of the same attribute, without near-synonyms."""
    safe = template_words("attributes_safe")
    alike = [set(words) for words in toml_file("checklist", "templates")["attributes_alike"]]
    table: dict[str, tuple[str, ...]] = {}
    for words in toml_file("words", "attributes").values():
        group = [word for word in words if word in safe]
        for word in group:
            near = {word}.union(*(like for like in alike if word in like))
            table[word] = tuple(other for other in group if other not in near)
    return table


def gendered(word: str) -> str | None:
    """The gender that a lower-case noun or title names; None where it names neither."""
    return genders().get(word)


@cache
def genders() -> Mapping[str, str]:
    """Lower-case nouns and titles that name a gender, with it."""
    listed = toml_file("identities", "gender_swap")["pair"]
    pairs = [pair for pair in listed if pair["male"] != pair["female"]]
    named = [(pair[side].lower(), side) for pair in reversed(pairs) for side in ("female", "male")]
    return dict(named)


@cache
def people() -> frozenset[str]:
    """Nouns for people: occupations, and siblings among them."""
    kinds = template_words("kinds_of_people")
    named = {entry["name"] for entry in toml_file("identities", "occupations")["occupation"]}
    groups = [group["terms"] for group in jsonl_file("words", "siblings") if group["kind"] in kinds]
    return frozenset(named.union(*groups, template_words("people")))


def _pairs(file: str, column: str) -> Pairs:
    table: dict[tuple[str, str], tuple[str, ...]] = defaultdict(tuple)
    for row in tsv_file("words", file):
        table[row["pos"], row["word"]] += (row[column],)
    return dict(table)
