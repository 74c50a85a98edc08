"""Identity lexicons, and sentences with slots for the people they speak of.

Slots: {he} {him} {his} {hers} {himself}, pronouns; {is|are}, agreement with the pronoun; {a}, a or an by the
word that follows; and any slot that the caller fills.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from assay.datasets.lexicon import indefinite_article
from assay.files import toml_file

Construction = Literal["drop", "replace", "abstract"]  # app. A of unfair
ATTRIBUTES = (
    "race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status",
    "disability", "nationality", "sexual-orientation",
)  # fmt: skip

_CASES = {"he": "subject", "him": "object", "his": "determiner", "hers": "possessive", "himself": "reflexive"}
_SLOT = re.compile(r"\{([^{}]*)\}")
_ARTICLE = re.compile(r"\{a\} (\S+)")


@dataclass(frozen=True, slots=True)
class Pronouns:
    """The five cases of a pronoun; `plural` says whether its verbs are plural (they are)."""

    subject: str
    object: str
    determiner: str
    possessive: str
    reflexive: str
    plural: bool = False

    def slots(self) -> dict[str, str]:
        """The cases by the names that templates use."""
        return {slot: getattr(self, case) for slot, case in _CASES.items()}


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun for a member of a group, and a noun that does not name the group."""

    singular: str
    plural: str
    neutral: str
    neutral_plural: str


@dataclass(frozen=True, slots=True)
class Group:
    """The words for one protected group."""

    name: str
    nouns: tuple[Noun, ...]
    adjectives: tuple[str, ...]
    names: tuple[str, ...]
    pronouns: Pronouns


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The groups of one attribute and the pronouns that reveal none of them."""

    attribute: str
    groups: Mapping[str, Group]
    neutral: Pronouns


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation, the gender it is commonly linked with, and whether it is in WinoBias."""

    name: str
    stereotype: Literal["female", "male", "balanced"]
    winobias: bool


def fill_slots(text: str, slots: Mapping[str, str], *, plural: bool = False) -> str:
    """Fill the slots of a text; an empty word leaves no gap.

    >>> fill_slots("{a} {adj} cook said {he} {was|were} tired.", {"adj": "old", "he": "they"}, plural=True)
    'An old cook said they were tired.'
    """

    def put(match: re.Match[str]) -> str:
        slot = match[1]
        if slot == "a":  # left for the end, when the next word is known
            return match[0]
        if "|" in slot:
            return slot.split("|")[plural]
        if slot not in slots:
            raise ValueError(f"unknown slot {match[0]} in {text!r}; known: {', '.join(sorted(slots))}")
        return slots[slot]

    filled = re.sub(r" +(?=[ .,;:!?])", "", _SLOT.sub(put, text)).strip()
    filled = _ARTICLE.sub(lambda m: f"{indefinite_article(m[1])} {m[1]}", filled)
    return filled[:1].upper() + filled[1:]


@cache
def load_lexicon(attribute: str) -> Lexicon:
    """Read the identity lexicon of an attribute."""
    table = toml_file("identities", attribute)
    neutral = Pronouns(**table["neutral"]["pronouns"])
    groups = {}
    for entry in table["group"]:
        name, nouns = entry["name"], tuple(Noun(**noun) for noun in entry["nouns"])
        pronouns = Pronouns(**entry["pronouns"]) if "pronouns" in entry else neutral
        words = (tuple(entry["adjectives"]), tuple(entry.get("names", ())))
        groups[name] = Group(name, nouns, *words, pronouns)
    return Lexicon(table["attribute"], groups, neutral)


def load_occupations() -> tuple[Occupation, ...]:
    """Read the occupations and the gender each is linked with."""
    return tuple(Occupation(**entry) for entry in toml_file("identities", "occupations")["occupation"])
