"""Meaning, reference and invariance templates: where they change a word, and where they must not."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.names.registry import perturbation_class


def made(name: str, gold: str) -> str | None:
    return perturbation_class(name)().perturb(Record("x", gold, "summarisation"))


CERTAIN = [
    # Of verbs that share a subject the last is negated, so that "not" reaches no further.
    ("negate", "Robin thanked us, promised a prize and left the room.",
     "Robin thanked us, promised a prize and did not leave the room."),
    ("negate", "The bridge is made of timber and opened in 1908.",
     "The bridge is made of timber and did not open in 1908."),
    ("negate", "A nova is an explosion of gas.", "A nova is not an explosion of gas."),
    ("antonyms", "The houses are cheap.", "The houses are expensive."),
    ("antonyms", "They often sing.", "They rarely sing."),
    ("synonyms", "The large houses are cheaper.", "The big houses are cheaper."),
    ("contractions", "They would not tell anyone.", "They wouldn't tell anyone."),
    ("expansions", "He's owed me a shift since Christmas.", "He has owed me a shift since Christmas."),
    ("nouns-to-pronouns", "The stone will cost 11 million euros.", "It will cost 11 million euros."),
    ("nouns-to-pronouns", "The farm makes a profit.", "It makes a profit."),
    ("nouns-to-pronouns", "The owner holds no grudge, and the book requires neither card nor deposit.",
     "The owner holds no grudge, and it requires neither card nor deposit."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "gold", "expected"), CERTAIN, ids=[f"{n}-{g[:20]}" for n, g, _ in CERTAIN])
def test_certain(name: str, gold: str, expected: str) -> None:
    assert made(name, gold) == expected


UNTOUCHED = [
    ("negate", "Everyone had been looking forward to the speech."),
    ("negate", "Three paintings were damaged, one of them badly."),
    ("negate", "A water pipe burst in the gallery."),
    ("negate", "Every autumn the pickers arrive from Spain."),
    ("negate", "They gave him a medal, which he put away."),
    ("negate", "They sold it until the box was empty."),
    ("negate", "It is now a cycle path."),
    ("negate", "There are students from Krakow."),
    ("negate", "We never keep any for the next day."),
    ("negate", "Does the bus stop here?"),
    ("antonyms", "There isn't always something to see."),
    ("antonyms", "However often he calls, we answer."),
    ("antonyms", "She can sew for longer."),
    ("antonyms", "You needn't be able to swim."),
    ("synonyms", "They sell minerals, packaging film and fertiliser."),
    ("siblings", "She keeps the boat in harbour."),
    ("siblings", "It can be seen for 21 nautical miles."),
    ("siblings", "It is a crime novel."),
    ("nouns-to-pronouns", "They turned to packaging film."),
    ("nouns-to-pronouns", "It is late, said the owner of the house."),
    ("nouns-to-pronouns", "They won, beating Coast Eagles 61-58."),
]


@pytest.mark.parametrize(("name", "gold"), UNTOUCHED, ids=[f"{n}-{g[:20]}" for n, g in UNTOUCHED])
def test_leaves_alone(name: str, gold: str) -> None:
    assert made(name, gold) is None


def test_a_word_is_exchanged_everywhere_or_nowhere() -> None:
    changed = made("siblings", "The ducks eat rice. The ducks swim well.")
    assert changed is not None
    first, second = changed.split(". ")
    assert first.split()[1] == second.split()[1]
    assert made("synonyms", "They change colour, though they are colour-blind.") is None


def test_opposites_come_one_a_sentence() -> None:
    changed = perturbation_class("antonyms")(share=1.0).perturb(
        Record("x", "The small house is cheap.", "summarisation")
    )
    assert changed is not None
    assert (
        sum(a != b for a, b in zip(["The", "small", "house", "is", "cheap."], changed.split(), strict=True))
        == 1
    )
