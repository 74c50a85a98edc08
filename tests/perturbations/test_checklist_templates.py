"""Each template on texts where its right answer is known."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from assay.core import Record
from assay.names.registry import perturbation_class
from assay.vocabulary import Task


def made(name: str, gold: str, *, task: Task = "translation", **fields: object) -> str | None:
    return perturbation_class(name)().perturb(Record("x", gold, task, **fields))  # type: ignore[arg-type]


CERTAIN = [
    ("negate", "It will rain on Monday.", "It will not rain on Monday."),
    ("negate", "The bus can stop here.", "The bus cannot stop here."),
    ("negate", "She plays the cello.", "She does not play the cello."),
    ("negate", "They left the house.", "They did not leave the house."),
    ("negate", "I'll call you back.", "I won't call you back."),
    ("negate", "The author is J.K. Rowling.", "The author is not J.K. Rowling."),
    ("negate", "He doesn't know the way.", "He knows the way."),
    ("negate", "The boat has never sunk.", "The boat has sunk."),
    ("agreement", "He doesn't know how to bake.", "He don't know how to bake."),
    ("agreement", "She sings well and knows the song.", "She sing well and know the song."),
    ("agreement", "The dogs are asleep.", "The dogs is asleep."),
    ("drop-articles", "The bank approved an old loan.", "Bank approved old loan."),
    ("drop-prepositions", "He sat on the roof of the house.", "He sat the roof the house."),
    ("drop-stop-words", "It was a cold morning in the high mountains.", "Cold morning high mountains."),
    ("expansions", "There weren't any clear winners.", "There were not any clear winners."),
    ("expansions", "He's been ill and I can't wait.", "He has been ill and I cannot wait."),
    ("expansions", "I'd better go, or I'd miss it.", "I had better go, or I would miss it."),
    ("contractions", "We are going to embark on an adventure.", "We're going to embark on an adventure."),
    ("contractions", "They do not know what it is.", "They don't know what it is."),
    ("contractions", "I have a dog that cannot swim.", "I have a dog that can't swim."),
    ("numerals-to-words", "He waited 27 hours.", "He waited twenty-seven hours."),
    ("change-gender", "The man lost his hat.", "The woman lost her hat."),
    ("change-gender", "Two girls saw her.", "Two boys saw him."),
    ("drop-question-word", "When was he born?", "Was he born?"),
    ("question-to-statement", "Who led the group?", "Someone led the group."),
    ("question-to-statement", "Why did the crew stop the engines?", "The crew stopped the engines for some reason."),
    ("repeat-sentences", "My relatives are in town.", "My relatives are in town. My relatives are in town."),
    ("split-sentence", "The tower is old.", "The tower. Is old."),
    ("drop-modifiers", "A small boy holds a red ball.", "A boy holds a ball."),
    ("nouns-to-pronouns", "The woman bought the apples.", "She bought them."),
    ("nouns-to-pronouns", "The girls saw the old house.", "They saw it."),
    ("swap-objects", "A man stands behind a tree.", "A tree stands behind a man."),
    ("swap-objects", "A woman in blue gloves is hitting a leather bag.", "A leather bag is hitting a woman in blue gloves."),
    ("swap-objects", "A barber is shaving a man who leans back.", "A man who leans back is shaving a barber."),
    ("repeat-object", "A man stands beside the chair.", "A man stands beside the chair and a man."),
    ("drop-question-word", "From whom did she learn to repair violins?", "Did she learn to repair violins?"),
    ("change-question-word", "Who led the group?", "How many people led the group?"),
    ("change-question-word", "Who was late for the concert?", "Whose friend was late for the concert?"),
    ("change-question-word", "What did she find in the parcel?", "Who did she find in the parcel?"),
    ("change-question-word", "How many cities lie on the river?", "Which cities lie on the river?"),
    ("change-question-word", "Whose help did he have?", "What help did he have?"),
    ("numerals-to-words", "She was born on 30 January 1998 and has 4 cats.", "She was born on 30 January 1998 and has four cats."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "gold", "expected"), CERTAIN, ids=[f"{n}-{g[:20]}" for n, g, _ in CERTAIN])
def test_certain(name: str, gold: str, expected: str) -> None:
    assert made(name, gold) == expected


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("negate", "Nobody came to the party."),
        ("numerals-to-words", "The Vega 9 is a bus."),
        ("change-numbers", "He has one dog."),
        ("reorder-sentences", "There is one sentence."),
        ("change-gender", "A dog sleeps."),
        ("expansions", "John's dog is old."),
        ("contractions", "That is what it is."),
        ("drop-question-word", "Was he born?"),
        ("question-to-statement", "He was born."),
        ("alternative-reference", "No reference is left."),
        ("contradict", "There is no context."),
        ("agreement", "The team plays well."),
    ],
)
def test_does_not_apply(name: str, gold: str) -> None:
    if name == "contractions":
        assert made(name, gold) in (None, "That's what it is.")
    else:
        assert made(name, gold) is None


def test_jumble_keeps_the_bag_of_written_words() -> None:
    gold = "We play badminton every evening, and nobody wins. Then we all drink tea in the small hut."
    jumbled = made("jumble", gold)
    assert jumbled is not None
    assert jumbled != gold
    assert Counter(jumbled.split()) == Counter(gold.split())
    assert jumbled.split()[0] == "We"


@pytest.mark.parametrize("name", ["typo-swap", "typo-drop", "typo-double", "typo-neighbour"])
def test_typos_are_one_slip_a_word(name: str) -> None:
    gold = "Make the most of every opportunity presented to your friendly neighbours yesterday."
    wrong = made(name, gold)
    assert wrong is not None
    pairs = [(a, b) for a, b in zip(gold.split(), wrong.split(), strict=True) if a != b]
    assert pairs
    for right, slip in pairs:
        by = len(slip) - len(right)
        assert by == {"typo-drop": -1, "typo-double": 1}.get(name, 0)
        assert (sorted(right) == sorted(slip)) == (name == "typo-swap")


def test_numbers_keep_their_form() -> None:
    changed = made("change-numbers", "It has 1,200 roofs, three doors and 45 rooms.")
    assert changed is not None
    found = re.fullmatch(r"It has (\d,\d{3}) roofs, (\w+) doors and (\d\d) rooms\.", changed)
    assert found
    assert found[1] != "1,200"
    assert found[2] != "three"
    assert found[3] not in ("45", "01")


def test_dates_change_whole() -> None:
    changed = made("change-dates", "It opened on 6 April 2019, a Saturday, with 20 guests.")
    assert changed is not None
    found = re.fullmatch(r"It opened on (\d+) (\w+) (\d{4}), a (\w+), with 20 guests\.", changed)
    assert found
    assert (found[1] != "6", found[2] != "April", found[3] != "2019", found[4] != "Saturday") == (True,) * 4


def test_names_keep_gender_and_are_the_same_everywhere() -> None:
    from assay.datasets.lexicon import first_names

    changed = made("change-names", "Chiara called. Chiara Rossi lost her keys, and Rossi laughed.")
    assert changed is not None
    names = re.fullmatch(r"(\w+) called\. \1 (\S+) lost her keys, and \2 laughed\.", changed)
    assert names, changed
    assert first_names()[names[1]].gender == "female"


def test_dialogue_templates_use_the_speakers_own_turns() -> None:
    context = ("A: I enjoy having your daughter in my class.", "B: I'm glad to hear that.")
    assert made("contradict", "She is bright.", task="dialogue", context=context) == (
        "I do not enjoy having your daughter in my class."
    )
    assert made("repeat-turn", "She is bright.", task="dialogue", context=context) == context[0][3:]
    unlabelled = ("I need a taxi.", "Where to?")
    assert made("repeat-turn", "The airport.", task="dialogue", context=unlabelled) == "I need a taxi."


def test_borrowed_words_keep_their_form() -> None:
    others = ("The dogs chased a red ball.", "Two cats found the old key.", "The girls lost a small shoe.")
    changed = made("change-nouns", "The birds ate a large seed.", others=others)
    assert changed is not None
    assert re.fullmatch(r"The (birds|dogs|cats|girls) ate a large (seed|ball|key|shoe)\.", changed)


def test_alternative_reference_is_one_of_them() -> None:
    references = ("One good way.", "Another way.", "A very much longer way, which says more than the text.")
    assert made("alternative-reference", "A good way.", references=references) in references[:2]
    assert made("alternative-reference", "A good way.", references=references[:1]) is None
