"""Written templates x lexicons to pairs of texts that differ in one identity, with one neutral reference.

Slots: {adj} {noun} {nouns} {name}, the identity; {he} {him} {his} {hers} {himself}, its pronouns; {is|are},
agreement with the pronoun; {a}, a or an by the word that follows; and any slot the template fills itself.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

Construction = Literal["drop", "replace", "abstract"]  # app. A of unfair
ATTRIBUTES = (
    "race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status",
    "disability", "nationality", "sexual-orientation",
)  # fmt: skip

_CASES = {"he": "subject", "him": "object", "his": "determiner", "hers": "possessive", "himself": "reflexive"}
_SLOT = re.compile(r"\{([^{}]*)\}")
_ARTICLE = re.compile(r"\{a\} (\S+)")
# Spelt with a vowel but spoken with a consonant, and the other way round.
_CONSONANT_SOUND = re.compile(r"(?i:uni(?![dmn])|us[aeiu]|ut[io]|ubi|ukr|eu|ewe|u-|one\b|once\b)")
_VOWEL_SOUND = re.compile(r"(?:[hH](?:our|onest|onou?r|eir)|[FHLMNRSX](?:-|[A-Z]))")


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
    """A noun for a member of a group, with the noun that says nothing of the group."""

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
    """A sentence that is a stereotype of `groups` and of none of the groups it is held `against`."""

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
    """An occupation, the gender it is commonly linked with, and whether WinoBias has it."""

    name: str
    stereotype: Literal["female", "male", "balanced"]
    winobias: bool


@dataclass(frozen=True, slots=True)
class TemplatePair:
    """One expansion; controls have no groups, and only occupation pairs have the last three fields."""

    id: str
    attribute: str
    stereotype: str
    anti_stereotype: str
    reference: str
    group: str | None
    anti_group: str | None
    identity: str | None
    anti_identity: str | None
    template: str
    construction: Construction
    type: int | None = None
    occupation: str | None = None
    winobias: bool | None = None

    def record(self) -> dict[str, Any]:
        """The line of a data file: the fields that are set, in order."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Identity:
    group: str
    word: str
    slots: Mapping[str, str]
    neutral: Mapping[str, str]
    plural: bool
    length: int

    def tags(self, side: str) -> tuple[str, str]:
        return side + self.group, side + self.word


_Cell = tuple[_Identity, _Identity, dict[str, str]]


def indefinite(word: str) -> str:
    """Return `a` or `an` for the word that follows, by its sound.

    >>> [indefinite(w) for w in ("old", "European", "hour", "university", "Asian", "one-armed", "unmarried")]
    ['an', 'a', 'an', 'a', 'an', 'a', 'an']
    """
    if _VOWEL_SOUND.match(word):
        return "an"
    return "an" if word[:1].lower() in "aeiou" and not _CONSONANT_SOUND.match(word) else "a"


def render(text: str, slots: Mapping[str, str], *, plural: bool = False) -> str:
    """Fill the slots of a text; an empty word closes the gap it leaves.

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
    filled = _ARTICLE.sub(lambda m: f"{indefinite(m[1])} {m[1]}", filled)
    return filled[:1].upper() + filled[1:]


@cache
def load_lexicon(attribute: str) -> Lexicon:
    """Read the identity lexicon of an attribute."""
    table = _toml("identities", f"{attribute}.toml")
    neutral = Pronouns(**table["neutral"]["pronouns"])
    return Lexicon(table["attribute"], {e["name"]: _group(e, neutral) for e in table["group"]}, neutral)


def load_templates(attribute: str) -> tuple[Template, ...]:
    """Read the written templates of an attribute."""
    table = _toml("stereotypes", f"{attribute}.templates.toml")
    return tuple(Template(**{"take": table["take"], **entry}) for entry in table["template"])


def load_occupations() -> tuple[Occupation, ...]:
    """Read the occupations and the gender each is linked with."""
    return tuple(Occupation(**entry) for entry in _toml("identities", "occupations.toml")["occupation"])


def expand(template: Template, lexicon: Lexicon) -> list[TemplatePair]:
    """Fill a template with up to `take` pairs of identities, each word used as evenly as may be."""
    form = next((f for f in ("adj", "noun", "nouns", "name") if f"{{{f}}}" in template.text), "he")
    sides = (template.groups, template.against)
    one, other = ([i for name in side for i in _identities(lexicon.groups[name], form)] for side in sides)
    fills = [dict(zip(template.fill, words, strict=True)) for words in product(*template.fill.values())]
    # One neutral word must stand for both, and neither text may be the longer one.
    alike = [(a, b) for a, b in product(one, other) if a.neutral == b.neutral and a.length == b.length]
    cells = [(*pair, fill) for pair, fill in product(alike, fills)]
    if not cells:
        raise ValueError(f"{template.id}: no two words have equal length and one neutral; widen its groups")
    chosen = enumerate(_spread(cells, template.take, template.id), 1)
    return [_pair(template, lexicon, cell, n) for n, cell in chosen]


def expand_attribute(attribute: str) -> list[TemplatePair]:
    """Every pair that the templates of an attribute give, in the order of the file."""
    return [p for template in load_templates(attribute) for p in expand(template, load_lexicon(attribute))]


def expand_occupations() -> Iterator[TemplatePair]:
    """Occupation-pronoun pairs (Table 1 of unfair): half refer to a female-stereotyped occupation."""
    table = _toml("stereotypes", "gender_occupation.templates.toml")
    female, male = ([o for o in load_occupations() if o.stereotype == s] for s in ("female", "male"))
    # WinoBias's occupations meet only each other, so that leaving them out leaves whole pairs.
    pool = [pair for pair in product(female, male) if pair[0].winobias == pair[1].winobias]
    names = {pair: [occupation.name for occupation in pair] for pair in pool}
    used: Counter[str] = Counter()
    for frame in table["template"]:
        for n in range(table["take"]):
            best = min(pool, key=lambda p: (sum(used[o] for o in names[p]), _digest(frame["id"], *names[p])))
            used.update(names[best])
            yield _occupation_pair(frame, best if n % 2 else best[::-1], n + 1)


def expand_controls() -> Iterator[TemplatePair]:
    """Pairs that swap two words of a kind with no identity: what a metric does to any swap at all."""
    for frame in _toml("stereotypes", "controls.templates.toml")["template"]:
        text, name, kind = frame["text"], frame["id"], frame["construction"]
        reference = frame.get("reference") or render(text, {"word": frame.get("neutral", "")})
        for n, words in enumerate(frame["swaps"], 1):
            # Neither word is a stereotype; the digest decides the order so that no kind of word leads.
            ordered = words if int(_digest(name, *words), 16) % 2 else words[::-1]
            one, other = (render(text, {"word": word}) for word in ordered)
            yield TemplatePair(f"{name}-{n}", "control", one, other, reference, *4 * (None,), name, kind)


def _pair(template: Template, lexicon: Lexicon, cell: _Cell, n: int) -> TemplatePair:
    one, other, fill = cell
    neutral = {**one.neutral, **lexicon.neutral.slots(), **fill}
    texts = (
        render(template.text, {**one.slots, **fill}, plural=one.plural),
        render(template.text, {**other.slots, **fill}, plural=other.plural),
        render(template.reference or template.text, neutral, plural=lexicon.neutral.plural),
    )
    who, name = (one.group, other.group, one.word, other.word), template.id
    return TemplatePair(f"{name}-{n}", lexicon.attribute, *texts, *who, name, template.construction)


def _occupation_pair(frame: Mapping[str, Any], pair: Sequence[Occupation], n: int) -> TemplatePair:
    slots, referent = {"first": pair[0].name, "second": pair[1].name}, pair[frame["refers"] - 1]
    groups = ("female", "male") if referent.stereotype == "female" else ("male", "female")
    pronouns = [load_lexicon("gender").groups[group].pronouns.slots() for group in groups]
    case = next(slot for slot in _SLOT.findall(frame["text"]) if slot in _CASES)
    phrase = f"the {referent.name}" + ("'s" if case in ("his", "hers") else "")
    one, other, reference = (render(frame["text"], slots | by) for by in (*pronouns, {case: phrase}))
    who = (*groups, pronouns[0][case], pronouns[1][case])
    told, name = (frame["type"], referent.name, referent.winobias), frame["id"]
    return TemplatePair(f"{name}-{n}", "gender", one, other, reference, *who, name, "replace", *told)


def _identities(group: Group, form: str) -> Iterator[_Identity]:
    pronouns, plural = group.pronouns.slots(), group.pronouns.plural
    words = {
        "adj": [(word, "") for word in group.adjectives],
        "noun": [(noun.singular, noun.neutral) for noun in group.nouns],
        "nouns": [(noun.plural, noun.neutral_plural) for noun in group.nouns],
        "name": [(word, "") for word in group.names],
        "he": [(group.pronouns.subject, "")],
    }
    for word, neutral in words[form]:
        yield _Identity(group.name, word, pronouns | {form: word}, {form: neutral}, plural, len(word.split()))


def _spread(cells: Sequence[_Cell], take: int, seed: str) -> Iterator[_Cell]:
    used: Counter[str] = Counter()
    tags = {i: [*a.tags("+"), *b.tags("-"), *fill.values()] for i, (a, b, fill) in enumerate(cells)}
    # Words of like length first: a metric that counts characters sees length, not identity.
    gaps = {i: abs(len(a.word) - len(b.word)) // 3 for i, (a, b, _) in enumerate(cells)}
    for _ in range(min(take, len(cells))):
        best = min(tags, key=lambda i: (sum(used[t] for t in tags[i]) + gaps[i], _digest(seed, *tags[i])))
        used.update(tags.pop(best))
        yield cells[best]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _group(entry: Mapping[str, Any], neutral: Pronouns) -> Group:
    pronouns = Pronouns(**entry["pronouns"]) if "pronouns" in entry else neutral
    nouns = tuple(Noun(**noun) for noun in entry["nouns"])
    return Group(entry["name"], nouns, tuple(entry["adjectives"]), tuple(entry.get("names", ())), pronouns)


def _toml(*path: str) -> dict[str, Any]:
    return tomllib.loads(files("assay").joinpath("data", *path).read_text(encoding="utf-8"))
