"""Names changed for others of the same gender, places for places (checklist, table 5, "perturb names")."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import first_names, people, places, places_by_kind, surnames, word_list
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import joined_word, rewrite

# Titles that stand before a first name.
_GIVEN = frozenset(["Queen", "King", "Prince", "Princess", "Lady", "Sir", "Don", "Doña", "Pope", "Saint"])
_PLACING = frozenset(["on", "off", "to", "from", "between", "into", "towards", "around", "across", "over"])


@dataclass(frozen=True)
class ChangeNames(Perturbation):
    """Every person gets another name, the same wherever the name comes; without persons, every place.

    First names keep their gender, as far as the list or the text's pronouns tell it; the region is drawn.
    """

    name = "change-names"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Rename persons, else places."""
        parse = parse_one(record.gold)
        changes = _persons(parse, rng) or _places(parse, rng)
        return rewrite(parse, changes) if changes else None


def _persons(parse: Parse, rng: Random) -> dict[int, str]:
    firsts, lasts = person_words(parse)
    gender = _gender(parse) if len({parse.tokens[i].text for i in firsts}) == 1 else None
    region = rng.choice(sorted(set(surnames().values())))
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for index in sorted(firsts | lasts):
        word = parse.tokens[index].text
        if word not in chosen:
            taken = {word, *chosen.values()}
            named = _firsts(word, gender, region) if index in firsts else _lasts(region)
            chosen[word] = rng.choice([name for name in named if name not in taken] or named)
        changes[index] = chosen[word]
    return changes


def person_words(parse: Parse) -> tuple[set[int], set[int]]:
    """Where first names and surnames stand, each mention of a person found by entity or by the list."""
    firsts: set[str] = set()
    lasts: set[str] = set()
    for span in parse.entities:
        names = _names_in(parse, span)
        if span.label != "PERSON" or not names or not _is_person(parse, span, names):
            continue
        before = (
            parse.tokens[span.start].text
            if len(names) < span.end - span.start
            else _before(parse, span.start)
        )
        listed = names[0] in surnames() and names[0] not in first_names()
        if len(names) == 1 and before.rstrip(".") not in _GIVEN and (listed or _is_title(before)):
            lasts.update(names)
        elif len(names) > 1 or names[0] in first_names() or before in _GIVEN:
            firsts.add(names[0])
            lasts.update(names[1:])
    known = {token.text for token in parse.tokens if token.text in first_names() and token.pos == "PROPN"}
    firsts |= {name for name in known if name not in places() and name not in lasts}
    lasts -= firsts
    _add_neighbours(parse, firsts, lasts)
    spots = [i for i, token in enumerate(parse.tokens) if token.pos == "PROPN" and not _hyphenated(parse, i)]
    found = {i for i in spots if parse.tokens[i].text in firsts}
    return found, {i for i in spots if parse.tokens[i].text in lasts} - found


def _names_in(parse: Parse, span: Span) -> list[str]:
    """The words of a person's name, without title and possessive."""
    words = [token.text for token in parse.tokens[span.start : span.end]]
    names = [word for word in words if word not in ("'s", "’s") and not _is_title(word)]
    return names if len(names) <= 3 and all(map(_name_like, names)) else []


def _is_person(parse: Parse, span: Span, names: list[str]) -> bool:
    """Whether a name is a person's by the list or by its place in the sentence: nobody is "on" a person."""
    before = _before(parse, span.start).lower()
    if before in ("in", "at", "near"):
        return False
    if any(name in first_names() or name in surnames() for name in names) or len(names) == 1:
        return True
    head = parse.tokens[span.end - 1]
    owned = head.dep in ("case", "poss")
    thing = any(
        token.dep == "attr"
        and token.head == head.head
        and token.lemma not in people()
        and head.dep == "nsubj"
        for token in parse.tokens
    )
    return not thing and (owned or before not in _PLACING)


def _add_neighbours(parse: Parse, firsts: set[str], lasts: set[str]) -> None:
    """The other half of a name, and the other of two people: Isla and Ronan Fairweather."""
    words = [t.text if t.pos == "PROPN" and _name_like(t.text) else "" for t in parse.tokens]
    for at, token in enumerate(parse.tokens[1:-1], 1):
        left, right = words[at - 1], words[at + 1]
        if token.text == "and" and left and right and {left, right} & (firsts | lasts):
            firsts.update({left, right} - lasts - set(places()))
        if words[at] in firsts and right and right not in firsts:
            lasts.add(right)
        if words[at] in lasts and left and left not in lasts and not _is_title(left):
            firsts.add(left)


def _before(parse: Parse, start: int) -> str:
    return parse.tokens[start - 1].text if start else ""


def _is_title(word: str) -> bool:
    return word.rstrip(".") in word_list("checklist", "templates", "titles")


def _name_like(word: str) -> bool:
    common = word_list("checklist", "templates", "not_names")
    return word[:1].isupper() and word[1:].islower() and word.isalpha() and word not in common


def _hyphenated(parse: Parse, index: int) -> bool:
    """Part of a longer word; a possessive 's does not count."""
    after = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
    return joined_word(parse, index) and after not in ("'s", "’s", "'", "’")


def _gender(parse: Parse) -> str | None:
    """The gender that the text's pronouns and titles tell, where they agree."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = (
        bool(words & {"she", "her", "hers", "herself", "queen", "princess", "lady", "doña"}),
        bool(words & {"he", "him", "his", "himself", "king", "prince", "sir", "don", "pope"}),
    )
    return None if female == male else "female" if female else "male"


def _firsts(word: str, told: str | None, region: str) -> list[str]:
    known = first_names().get(word)
    gender = known.gender if known else told or "unisex"
    return [n.name for n in first_names().values() if n.gender == gender and n.region == region]


def _lasts(region: str) -> list[str]:
    return [name for name, home in surnames().items() if home == region]


def _places(parse: Parse, rng: Random) -> dict[int, str]:
    """Single-word places the list knows, or that the parse takes for one, each for another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for span in parse.entities:
        word = parse.tokens[span.start].text
        alone = span.end == span.start + 1 and not _beside_name(parse, span.start)
        if span.start and parse.tokens[span.start - 1].text.lower() == "the":
            continue  # rivers and ships: the Saale, the Marama
        placed = parse.tokens[span.start].dep in ("pobj", "dobj", "poss") or word in places()
        if (
            span.label != "GPE"
            or not (alone and placed and _name_like(word))
            or _hyphenated(parse, span.start)
        ):
            continue
        named = next(
            (names for names in places_by_kind().values() if word in names), places_by_kind()["city"]
        )
        others = [name for name in named if name not in {word, *chosen.values()}]
        changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


def _beside_name(parse: Parse, index: int) -> bool:
    """Whether another capitalised name touches it: Bremen Museum, South Korea."""
    beside = [parse.tokens[i] for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return any(token.pos == "PROPN" for token in beside)
