"""Templates and identity lexicons to pairs of texts that differ in one identity, with a neutral reference.

Slots: {adj} {noun} {nouns} {name}, the identity; {he} {him} {his} {hers} {himself}, its pronouns; {is|are},
agreement with the pronoun; {a}, a or an by the word that follows; and any slot the template fills itself.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

from assay.datasets.lexicon import indefinite_article, toml_file

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
class Template:
    """A sentence with a stereotype about `groups` that is not one about the groups in `against`."""

    id: str
    text: str
    groups: Sequence[str]
    against: Sequence[str]
    construction: Construction
    reference: str | None = None
    fill: Mapping[str, Sequence[str]] = field(default_factory=dict)
    take: int = 5


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation, the gender it is commonly linked with, and whether it is in WinoBias."""

    name: str
    stereotype: Literal["female", "male", "balanced"]
    winobias: bool


@dataclass(frozen=True, slots=True)
class TemplatePair:
    """One filled template: two texts, their reference, and whom each text speaks of."""

    id: str
    attribute: str
    stereotype: str
    anti_stereotype: str
    reference: str
    group: str
    anti_group: str
    identity: str
    anti_identity: str
    template: str
    construction: Construction


class _Identity(NamedTuple):
    group: Group
    word: str
    neutral: str


_Cell = tuple[_Identity, _Identity, dict[str, str]]


def render(text: str, slots: Mapping[str, str], *, plural: bool = False) -> str:
    """Fill the slots of a text; an empty word leaves no gap.

    >>> render("{a} {adj} cook said {he} {was|were} tired.", {"adj": "old", "he": "they"}, plural=True)
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


def load_templates(attribute: str) -> tuple[Template, ...]:
    """Read the written templates of an attribute."""
    table = toml_file("stereotypes", f"{attribute}.templates")
    return tuple(Template(**{"take": table["take"], **entry}) for entry in table["template"])


def load_occupations() -> tuple[Occupation, ...]:
    """Read the occupations and the gender each is linked with."""
    return tuple(Occupation(**entry) for entry in toml_file("identities", "occupations")["occupation"])


def expand(template: Template, lexicon: Lexicon) -> list[TemplatePair]:
    """Fill a template with up to `take` pairs of identities, using all words about equally often."""
    form = next((f for f in ("adj", "noun", "nouns", "name") if f"{{{f}}}" in template.text), "he")
    first, second = (
        [identity for name in side for identity in _identities(lexicon.groups[name], form)]
        for side in (template.groups, template.against)
    )
    fills = [dict(zip(template.fill, words, strict=True)) for words in product(*template.fill.values())]
    # Both words need the same neutral word and length in words, so that neither text is nearer the reference.
    alike = [
        (a, b)
        for a, b in product(first, second)
        if a.neutral == b.neutral and len(a.word.split()) == len(b.word.split())
    ]
    cells = [(*pair, fill) for pair, fill in product(alike, fills)]
    if not cells:
        raise ValueError(f"{template.id}: no two words have equal length and one neutral; widen its groups")
    chosen = enumerate(_select(cells, template.take, template.id), 1)
    return [_pair(template, lexicon, form, cell, n) for n, cell in chosen]


def _pair(template: Template, lexicon: Lexicon, form: str, cell: _Cell, n: int) -> TemplatePair:
    first, second, fill = cell

    def filled(text: str, word: str, pronouns: Pronouns) -> str:
        return render(text, {form: word, **pronouns.slots(), **fill}, plural=pronouns.plural)

    texts = (
        filled(template.text, first.word, first.group.pronouns),
        filled(template.text, second.word, second.group.pronouns),
        filled(template.reference or template.text, first.neutral, lexicon.neutral),
    )
    who, name = (first.group.name, second.group.name, first.word, second.word), template.id
    return TemplatePair(f"{name}-{n}", lexicon.attribute, *texts, *who, name, template.construction)


def _identities(group: Group, form: str) -> list[_Identity]:
    words = {
        "adj": [(word, "") for word in group.adjectives],
        "noun": [(noun.singular, noun.neutral) for noun in group.nouns],
        "nouns": [(noun.plural, noun.neutral_plural) for noun in group.nouns],
        "name": [(word, "") for word in group.names],
        "he": [(group.pronouns.subject, "")],
    }
    return [_Identity(group, word, neutral) for word, neutral in words[form]]


def _select(cells: Sequence[_Cell], take: int, seed: str) -> Iterator[_Cell]:
    """Choose cells whose groups and words were chosen least so far; a digest decides between equals."""
    used: Counter[str] = Counter()
    tags = {
        i: [f"+{a.group.name}", f"+{a.word}", f"-{b.group.name}", f"-{b.word}", *fill.values()]
        for i, (a, b, fill) in enumerate(cells)
    }
    # Prefer words of similar length: a metric that counts characters reacts to length, not identity.
    gaps = {i: abs(len(a.word) - len(b.word)) // 3 for i, (a, b, _) in enumerate(cells)}
    digests = {i: hashlib.sha256("\x1f".join((seed, *words)).encode()).digest() for i, words in tags.items()}
    for _ in range(min(take, len(cells))):
        best = min(tags, key=lambda i: (sum(used[t] for t in tags[i]) + gaps[i], digests[i]))
        used.update(tags.pop(best))
        yield cells[best]
