"""The embedded word lists as look-ups, each read once: antonyms, siblings, names, replies, swaps."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# The lists' word classes, by the tag set of the parser.
CLASSES: Mapping[str, str] = {
    "NOUN": "noun",
    "PROPN": "noun",
    "ADJ": "adj",
    "VERB": "verb",
    "ADV": "adv",
    "ADP": "prep",
}
Pairs = Mapping[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Name:
    """A first name with the gender and region it is common in."""

    name: str
    gender: str
    region: str


@dataclass(frozen=True, slots=True)
class Place:
    """A city, state or country."""

    name: str
    kind: str
    region: str


@cache
def antonyms() -> Pairs:
    """(class, lemma) to opposites; a pair is read backwards where its second word opens none."""
    table = _pairs("antonyms.tsv", "antonym")
    spoilt = set(word_list("checklist", "templates", "antonyms_unsafe"))
    backwards: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (kind, word), others in table.items():
        for other in others:
            if (kind, other) not in table:
                backwards[kind, other].append(word)
    merged = {**{key: tuple(words) for key, words in backwards.items()}, **table}
    return {key: words for key, words in merged.items() if not {key[1], " ".join(key)} & spoilt}


@cache
def synonyms() -> Pairs:
    """(class, lemma) to words that may stand for it; read from left to right only."""
    spoilt = set(word_list("checklist", "templates", "synonyms_unsafe"))
    listed = {key: words for key, words in _pairs("synonyms.tsv", "synonym").items() if key[1] not in spoilt}
    more = toml_file("checklist", "templates")["synonyms_more"]
    return {(word_class, word): (synonym,) for word_class, word, synonym in more} | listed


@cache
def siblings() -> Pairs:
    """(class, term) to other terms of its kind, capitals where the text needs them."""
    table: dict[tuple[str, str], list[str]] = defaultdict(list)
    spoilt = set(word_list("checklist", "templates", "siblings_unsafe"))
    for group in json_lines("siblings.jsonl"):
        cased = [term.capitalize() if group["proper"] else term for term in group["terms"]]
        terms = [term for term in cased if term not in spoilt]
        for term in terms:
            table[group["pos"], term].extend(other for other in terms if other != term)
    return {key: tuple(words) for key, words in table.items() if words}


@cache
def first_names() -> Mapping[str, Name]:
    """First names by spelling."""
    return {row["name"]: Name(row["name"], row["gender"], row["region"]) for row in _table("first_names.tsv")}


@cache
def surnames() -> Mapping[str, str]:
    """Surnames to their region."""
    return {row["name"]: row["region"] for row in _table("surnames.tsv")}


@cache
def places() -> Mapping[str, Place]:
    """Cities, states and countries by name."""
    return {row["name"]: Place(row["name"], row["kind"], row["region"]) for row in _table("places.tsv")}


@cache
def places_by_kind() -> Mapping[str, tuple[str, ...]]:
    """Names of cities, states and countries: those of the balanced list, and the rest of the larger ones."""
    more: Mapping[str, Sequence[str]] = toml_file("checklist", "templates")["kinds_of_places"]
    kinds = {place.kind for place in places().values()}
    return {
        kind: (*(place.name for place in places().values() if place.kind == kind), *more.get(kind, ()))
        for kind in sorted(kinds)
    }


@cache
def replies(kind: str) -> tuple[str, ...]:
    """Replies of a kind: generic or back_off."""
    return tuple(row["text"] for row in json_lines("generic_replies.jsonl") if row["kind"] == kind)


@cache
def contractions() -> Mapping[str, str]:
    """Contracted forms, lower-case, to their likelier expansion."""
    return {row["contraction"].lower(): row["expansion"].lower() for row in _table("contractions.tsv")}


@cache
def attributes() -> Mapping[str, tuple[str, ...]]:
    """Attribute words to the other values of their attribute, those that say nearly the same left out."""
    safe = set(word_list("checklist", "templates", "attributes_safe"))
    alike = [set(words) for words in toml_file("checklist", "templates")["attributes_alike"]]
    table: dict[str, tuple[str, ...]] = {}
    for words in toml_file("words", "attributes").values():
        group = [word for word in words if word in safe]
        for word in group:
            near = {word}.union(*(like for like in alike if word in like))
            table[word] = tuple(other for other in group if other not in near)
    return table


@cache
def key_neighbours() -> Mapping[str, str]:
    """Letters to those beside them on the keyboard."""
    neighbours: dict[str, str] = toml_file("words", "typos")["neighbours"]
    return neighbours


@cache
def gender_swaps() -> Mapping[tuple[str, str], str]:
    """(word, Penn tag) to its counterpart of the other gender; one way only where the list says so."""
    table: dict[tuple[str, str], str] = {}
    for pair in toml_file("identities", "gender_swap")["pair"]:
        way = pair.get("from")
        if way in (None, "male"):
            table.setdefault((pair["male"], pair["tag"]), pair["female"])
        if way in (None, "female"):
            table.setdefault((pair["female"], pair["tag"]), pair["male"])
    return table


@cache
def gendered(word: str) -> str | None:
    """The gender a lower-case noun or title names, if one."""
    for pair in toml_file("identities", "gender_swap")["pair"]:
        for gender in ("male", "female"):
            if pair[gender].lower() == word and pair["male"] != pair["female"]:
                return gender
    return None


@cache
def people() -> frozenset[str]:
    """Nouns for people: occupations, and siblings among them."""
    named = {entry["name"] for entry in toml_file("identities", "occupations")["occupation"]}
    kinds = set(word_list("checklist", "templates", "kinds_of_people"))
    grouped = {
        term for group in json_lines("siblings.jsonl") if group["kind"] in kinds for term in group["terms"]
    }
    return frozenset(named | grouped | set(word_list("checklist", "templates", "people")))


@cache
def word_list(folder: str, file: str, key: str) -> tuple[str, ...]:
    """A list of words of a TOML file: word_list("words", "stop_words", "words")."""
    words: Sequence[str] = toml_file(folder, file)[key]
    return tuple(words)


@cache
def toml_file(folder: str, file: str) -> dict[str, Any]:
    """An embedded TOML file."""
    return tomllib.loads((files("assay.data") / folder / f"{file}.toml").read_text(encoding="utf-8"))


@cache
def json_lines(file: str) -> tuple[dict[str, Any], ...]:
    """The rows of an embedded JSON Lines word list."""
    text = (files("assay.data") / "words" / file).read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines() if line)


@cache
def _table(file: str) -> tuple[dict[str, str], ...]:
    text = (files("assay.data") / "words" / file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t"))


def _pairs(file: str, column: str) -> dict[tuple[str, str], tuple[str, ...]]:
    table: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in _table(file):
        table[row["pos"], row["word"]].append(row[column])
    return {key: tuple(words) for key, words in table.items()}
