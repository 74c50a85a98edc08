"""Names changed for others of the same gender, places for places (checklist, table 5, "perturb names")."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, parse_one
from assay.perturbations.lexicon import first_names, places, surnames, word_list
from assay.perturbations.surgery import joined_word, rewrite


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
            chosen[word] = _first(word, gender, region, rng) if index in firsts else _last(word, region, rng)
        changes[index] = chosen[word]
    return changes


def person_words(parse: Parse) -> tuple[set[int], set[int]]:
    """Where first names and surnames stand, each mention of a person found by entity or by the list."""
    firsts: set[str] = set()
    lasts: set[str] = set()
    for span in parse.entities:
        words = [parse.tokens[i] for i in range(span.start, span.end)]
        titles = word_list("checklist", "templates", "titles")
        names = [t.text for t in words if t.text not in ("'s", "’s") and t.text.rstrip(".") not in titles]
        titled = len(names) == 1 and (names[0] != words[0].text or _titled(parse, span.start))
        if span.label != "PERSON" or not names or not all(map(_name_like, names)) or len(names) > 3:
            continue
        if span.start and parse.tokens[span.start - 1].text.lower() in ("in", "at", "near"):
            continue  # a place that the parse takes for a person
        listed = len(names) == 1 and names[0] in surnames() and names[0] not in first_names()
        if listed or titled:
            lasts.update(names)
        elif len(names) > 1 or names[0] in first_names():
            firsts.add(names[0])
            lasts.update(names[1:])
    known = {token.text for token in parse.tokens if token.text in first_names() and token.pos == "PROPN"}
    firsts |= {name for name in known if name not in places() and name not in lasts}
    lasts -= firsts
    spots = [i for i, token in enumerate(parse.tokens) if token.pos == "PROPN" and not _hyphenated(parse, i)]
    where = {
        kind: {i for i in spots if parse.tokens[i].text in group}
        for kind, group in (("f", firsts), ("l", lasts))
    }
    return where["f"], where["l"]


def _name_like(word: str) -> bool:
    common = word_list("checklist", "templates", "not_names")
    return word[:1].isupper() and word[1:].islower() and word.isalpha() and word not in common


def _hyphenated(parse: Parse, index: int) -> bool:
    """Part of a longer word; a possessive 's does not count."""
    after = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
    return joined_word(parse, index) and after not in ("'s", "’s", "'", "’")


def _titled(parse: Parse, start: int) -> bool:
    titles = word_list("checklist", "templates", "titles")
    return start > 0 and parse.tokens[start - 1].text.rstrip(".") in titles


def _gender(parse: Parse) -> str | None:
    """The gender that the text's pronouns tell, where they agree."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = (
        bool(words & {"she", "her", "hers", "herself"}),
        bool(words & {"he", "him", "his", "himself"}),
    )
    return None if female == male else "female" if female else "male"


def _first(word: str, told: str | None, region: str, rng: Random) -> str:
    known = first_names().get(word)
    gender = known.gender if known else told or "unisex"
    fitting = [n.name for n in first_names().values() if n.gender == gender and n.region == region]
    return rng.choice([name for name in fitting if name != word])


def _last(word: str, region: str, rng: Random) -> str:
    return rng.choice([name for name, home in surnames().items() if home == region and name != word])


def _places(parse: Parse, rng: Random) -> dict[int, str]:
    """Single-word places the list knows, or that the parse takes for one, each for another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for span in parse.entities:
        word = parse.tokens[span.start].text
        alone = span.end == span.start + 1 and not _beside_name(parse, span.start)
        if span.start and parse.tokens[span.start - 1].text.lower() == "the":
            continue  # rivers and ships: the Saale, the Marama
        if span.label != "GPE" or not alone or not _name_like(word) or _hyphenated(parse, span.start):
            continue
        known = places().get(word)
        kind = known.kind if known else "city"
        others = [place.name for place in places().values() if place.kind == kind and place.name != word]
        changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


def _beside_name(parse: Parse, index: int) -> bool:
    """Whether another capitalised name touches it: Bremen Museum, South Korea."""
    beside = [parse.tokens[i] for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return any(token.pos == "PROPN" for token in beside)
