"""Invariance templates: what they write in another way, and what they must leave alone."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.files import toml_file, tsv_file
from assay.names.registry import perturbation_class
from assay.perturbations.checklist.catalogue import catalogue
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.checklist.rewordings import REWORDINGS, content_recall
from assay.perturbations.edit import read
from assay.vocabulary import CHECKLIST_TASKS, Task


def changed(name: str, gold: str, task: Task = "translation") -> str | None:
    return perturbation_class(name)().perturb(Record("x", gold, task))


CERTAIN = [
    ("spelling", "The colour of the theatre was analysed.", "The color of the theater was analyzed."),
    ("spelling", "My favorite neighbor organized it.", "My favourite neighbour organised it."),
    ("date-format", "She was born on 12 May 2019 in Rome.", "She was born on May 12, 2019, in Rome."),
    ("date-format", "It opened on May 12, 2019.", "It opened on 12 May 2019."),
    ("date-format", "We met on the 1st of August.", "We met on August 1."),
    ("abbreviations", "Prices rose by 5% in March.", "Prices rose by 5 percent in March."),
    ("abbreviations", "Prices rose by 5 per cent in March.", "Prices rose by 5% in March."),
    ("abbreviations", "The deal is worth £200m to the club.", "The deal is worth £200 million to the club."),
    ("abbreviations", "It has a budget of 3.5 million dollars.", "It has a budget of $3.5 million."),
    ("abbreviations", "It has room for 7,400 people at 20 degrees Celsius.", "It has room for 7400 people at 20 °C."),
    ("abbreviations", "The shop closes at 3pm.", "The shop closes at 3 p.m."),
    ("numerals-to-words", "The fire killed 63 people in 2008.", "The fire killed sixty-three people in 2008."),
    ("numerals-to-words", "28 players fell ill.", "Twenty-eight players fell ill."),
    ("words-to-numerals", "He waited for twenty minutes and ate three apples.", "He waited for 20 minutes and ate 3 apples."),
    ("quotation-style", 'She said "no" and didn\'t move.', "She said “no” and didn’t move."),
    ("quotation-style", "She said “no” and didn’t move.", 'She said "no" and didn\'t move.'),
    ("equal-phrases", "Everyone came despite the rain.", "Everybody came in spite of the rain."),
    ("equal-phrases", "A dog stands next to a red car.", "A dog stands beside a red car."),
    ("equal-phrases", "More than 20 people came by bus.", "Over 20 people came by bus."),
    ("equal-phrases", "He asked whether she was ready.", "He asked if she was ready."),
    ("equal-phrases", "It was a crash that closed the road.", "It was a crash which closed the road."),
    ("equal-phrases", "How long did she train for it?", "For how long did she train for it?"),
    ("equal-phrases", "The café is closed every Monday.", "The café is closed each Monday."),
    ("synonyms", "A man sits on a large rock.", "A man sits on a big rock."),
    ("synonyms", "He purchased the camera in May.", "He bought the camera in May."),
    ("optional-that", "I think it works well.", "I think that it works well."),
    ("optional-that", "She said that he was late.", "She said he was late."),
    ("contractions", "I will call you tomorrow.", "I'll call you tomorrow."),
    ("expansions", "We don't have any grapes.", "We do not have any grapes."),
    ("expansions", "It's been a long time.", "It has been a long time."),
    ("equal-phrases", "It was founded in 1968.", "It was established in 1968."),
    ("equal-phrases", "He died in World War II.", "He died in the Second World War."),
    ("equal-phrases", "He won the following year.", "He won the next year."),
    ("abbreviations", "The loaf weighs 650 grams.", "The loaf weighs 650 g."),
    ("abbreviations", "It dates from the 19th century.", "It dates from the nineteenth century."),
    ("synonyms", "The film opened in May.", "The movie opened in May."),
    ("synonyms", "A completely separate page.", "A totally separate page."),
    ("synonyms", "The little girl tries to catch a ball.", "The small girl attempts to catch a ball."),
    ("synonyms", "Chelsea beat Burnley in May.", "Chelsea defeated Burnley in May."),
    ("synonyms", "I am not sure about it.", "I am not certain about it."),
    ("synonyms", "An old man is performing a trick.", "An elderly man is doing a trick."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "gold", "expected"), CERTAIN, ids=[f"{n}-{g[:24]}" for n, g, _ in CERTAIN])
def test_says_the_same_in_another_way(name: str, gold: str, expected: str) -> None:
    assert changed(name, gold) == expected


UNTOUCHED = [
    # No invitation, no comfort, no tag: the full form would be read in another way.
    ("expansions", "Why don't you come with us?"),
    ("expansions", "Don't you know?"),
    ("expansions", "Don't worry."),
    ("expansions", "No, I didn't."),
    ("expansions", "Let's go."),
    ("expansions", "What's up?"),
    ("numerals-to-words", "The firm was founded in 2009."),
    ("numerals-to-words", "She was born in 1990."),
    ("numerals-to-words", "The Wasps No 8 was sent off."),
    ("numerals-to-words", "It lasts two to 5 hours."),
    ("numerals-to-words", "He found 41 videos, 34 of them new."),
    # A number that opens a sentence stays a word; so do all where one counts nothing.
    ("words-to-numerals", "Two men left early."),
    ("words-to-numerals", "One man and two dogs ran."),
    ("words-to-numerals", "The three of them ate two apples."),
    ("words-to-numerals", "He is one or two years older."),
    ("synonyms", "The scene was captured on film."),
    ("synonyms", "He has little time and little food."),
    ("synonyms", "The board required him to pledge money."),
    ("synonyms", "Could you come again?"),
    ("synonyms", "They are picking and choosing data."),
    ("synonyms", "It has a wonderful store of food."),
    ("synonyms", "That's not nearly enough."),
    ("synonyms", "It was the dawn of books."),
    ("synonyms", "It is a big question."),
    ("synonyms", "It would be important that all keep away."),
    ("synonyms", "The fault is mine, and the car is fast."),
    ("equal-phrases", "Which one is the best?"),
    ("equal-phrases", "How long did it take to build?"),
    ("equal-phrases", "She calls every other day."),
    ("abbreviations", "It cost $7,400 in 1999."),
    ("equal-phrases", "The match was over 20 minutes ago."),
    ("spelling", "The Labour Party met at Boston Harbor."),
    ("spelling", "The analyses were wrong."),
    ("date-format", "It runs from March 13 to June 17."),
    ("date-format", "It is open on 12 and 13 May."),
    ("abbreviations", "It ran at 10 knots (19 km/h; 12 mph)."),
    ("optional-that", "“It is late”, said the owner of the house."),
    ("optional-that", "What do you think he said?"),
    ("quotation-style", "The boys said 'no\" at once."),
    ("contractions", "Applicants need NOT apply."),
    # All of a kind or none: another spelling beside the old one would be careless.
    ("abbreviations", "The US says that a US RC-135U flew over it."),
    ("abbreviations", "In some countries 75% percent of girls stay at home."),
    ("abbreviations", "It cost 300 billion dollars, now 1 trillion dollars."),
    ("numerals-to-words", "10 of the players were late. 22 players came."),
    ("numerals-to-words", "Her dog is 15 years old. It barked from the age of 9 to 13."),
    ("spelling", "Many came to the town center for the program."),
    ("quotation-style", "Port O 'Connor, near Carla's landfall, was lost."),
    ("synonyms", "The corridor was to be upgraded."),
    ("synonyms", "The road goes completely into the county."),
    ("equal-phrases", "It is a runner that would differentiate itself from others."),
    ("caption-form", "A dog runs through the grass."),  # not the text of a caption task
]


@pytest.mark.parametrize(("name", "gold"), UNTOUCHED, ids=[f"{n}-{g[:24]}" for n, g in UNTOUCHED])
def test_leaves_alone(name: str, gold: str) -> None:
    assert changed(name, gold) is None


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("A man sits on a wall and reads a book.", "A man is sitting on a wall and reading a book."),
        ("Two girls are fighting over a ball.", "Two girls fight over a ball."),
        ("A dog biting the tail of a cow.", "A dog is biting the tail of a cow."),
        ("A man has a hat.", None),
    ],
)
def test_captions_take_another_form(gold: str, expected: str | None) -> None:
    assert changed("caption-form", gold, "image-captioning") == expected


@pytest.mark.parametrize(("task", "least"), [("question-generation", 0.3), *((t, 0.5) for t in CHECKLIST_TASKS if t != "question-generation")])  # fmt: skip
def test_most_texts_have_another_wording(task: Task, least: float) -> None:
    records = embedded_records(task)
    template = perturbation_class("rewording")()
    assert sum(template.perturb(record) is not None for record in records) >= least * len(records)


def test_rewordings_are_the_invariances_of_the_catalogue() -> None:
    listed = {entry.template for entry in catalogue() if entry.criterion == "invariance"}
    assert listed == {*REWORDINGS, "quotation-style", "rewording", "alternative-reference"}
    for name in REWORDINGS:
        template = perturbation_class(name)
        assert (template.expect, template.criterion) == ("same", "invariance")


def test_the_data_name_known_frames() -> None:
    data = toml_file("checklist", "rewordings")
    rows = [tuple(row) for key in ("phrases", "phrases_one_way", "synonyms") for row in data[key]]
    assert len(set(rows)) == len(rows)
    named = {row[-1] for row in rows} | {c for conditions in data["frames"].values() for c in conditions}
    assert set(data["frames"]) <= named
    parse = read("She found a large red book in the house that he sold.")
    for frame in {row[-1] for row in rows}:
        assert stands_in(frame, parse, 3, 4) in (True, False)  # every condition can be read


@pytest.mark.parametrize(
    ("frame", "holds"),
    [
        ("", True), ("concrete", True), ("opens", False), ("closes", False), ("question", False),
        ("definite", False), ("cycle", True), ("rich-noun", False), ("plural", False),
    ],
)  # fmt: skip
def test_a_frame_looks_around_a_word(frame: str, holds: bool) -> None:
    parse = read("The girl sat on a large red rock.")
    assert stands_in(frame, parse, 5, 6) is holds


def test_spellings_are_many_and_unique() -> None:
    rows = tsv_file("words", "spellings")
    assert len(rows) >= 300
    assert len({row["british"] for row in rows}) == len({row["american"] for row in rows}) == len(rows)
    assert {row["to"] for row in rows} == {"both", "american"}
    assert not {row["british"] for row in rows} & {row["american"] for row in rows}


def test_a_text_of_other_content_is_no_alternative() -> None:
    gold = "The council closed the old bridge after a flood."
    near, far = (
        "After the flood the council has closed the bridge.",
        "A new school will open in the town in May.",
    )
    template = perturbation_class("alternative-reference")()
    assert content_recall(gold, near) > 0.5 > content_recall(gold, far)
    assert template.perturb(Record("x", gold, "translation", (near, far))) == near
    assert template.perturb(Record("x", gold, "translation", (far, far[:-1]))) is None
    assert template.perturb(Record("x", gold, "dialogue", (near, far))) is None
