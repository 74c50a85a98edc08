"""The templates of captions, dialogue, questions, names and numbers choose targets that they can change well."""

from __future__ import annotations

import re

import pytest

from assay.core import Record
from assay.names.registry import perturbation_class
from assay.vocabulary import Task

SEEDS = range(20)


def made(name: str, gold: str, *, seed: int = 0, task: Task = "translation", **fields: object) -> str | None:
    return perturbation_class(name)().perturb(Record("x", gold, task, **fields), seed)  # type: ignore[arg-type]


def all_made(name: str, gold: str) -> list[str]:
    """What the seeds make of a text that the template applies to."""
    changed = [made(name, gold, seed=seed) for seed in SEEDS]
    assert None not in changed
    return [text for text in changed if text is not None]


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("swap-objects", "A man crosses the street beside his dog."),
        ("swap-objects", "The back of a man."),
        ("swap-objects", "Four women are harvesting rice in a field."),
        ("repeat-object", "Five people wait as a train arrives."),
        ("change-attributes", "A young man with long braids reads an old book."),
        ("drop-question-word", "Who led the group?"),
        ("drop-question-word", "How long does Saturn take to go once around the Sun?"),
        ("drop-question-word", "What did she find in the parcel?"),
        ("change-question-word", "How far from the centre is the new fire station?"),
        ("change-question-word", "Which of the two gardeners won?"),
        ("question-to-statement", "How much is the deposit for a bag?"),
        ("change-numbers", "About two thirds were saved."),
        ("change-names", "The boat comes to Grey Skerry."),
        ("change-names", "Casa Lupita is closed."),
        ("numerals-to-words", "The 1821 record turned up by chance."),
    ],
)
def test_does_not_apply(name: str, gold: str) -> None:
    assert made(name, gold) is None


@pytest.mark.parametrize(
    "turn",
    ["I'd like to send this parcel to Vietnam, please.", "That makes it even worse!", "We were charged for three, but we had one."],
)  # fmt: skip
def test_contradict_leaves_what_it_would_only_half_deny(turn: str) -> None:
    assert made("contradict", "Thank you.", task="dialogue", context=(turn, "Of course.")) is None


def test_attributes_get_values_that_differ_from_theirs_and_from_each_other() -> None:
    for changed in all_made("change-attributes", "A large black and white dog sits behind a metal gate."):
        found = re.fullmatch(r"An? (\w+) (\w+) and (\w+) dog sits behind a (\w+) gate\.", changed)
        assert found, changed
        assert found[1] in ("small", "tiny")
        assert found[2] != found[3]
        assert not {found[2], found[3]} & {"black", "white"}
        assert found[4] in ("wooden", "plastic", "stone")


def test_an_asking_adverb_needs_no_preposition() -> None:
    changed = set(all_made("change-question-word", "From what did he build the guitar?"))
    assert changed == {f"{word} did he build the guitar?" for word in ("When", "Where", "Why", "How")}


def test_when_does_not_ask_for_a_perfect_nor_where_beside_a_place() -> None:
    changed = set(all_made("change-question-word", "Where have the papers of the archive been frozen?"))
    assert changed == {f"{word} have the papers of the archive been frozen?" for word in ("Why", "How")}
    assert made("change-question-word", "Why have the papers in the archive been frozen?") is None


def test_ranges_keep_their_order() -> None:
    for changed in all_made("change-numbers", "Homes are two to five degrees cooler, says the man."):
        assert re.fullmatch(r"Homes are (three|four) to five degrees cooler, says the man\.", changed), (
            changed
        )
    for changed in all_made("change-numbers", "Customers rate it 5 out of 5."):
        assert re.fullmatch(r"Customers rate it [34] out of 5\.", changed), changed


def test_numbers_differ_enough_and_not_too_much() -> None:
    for changed in all_made("change-numbers", "Winds of 165 kilometres an hour blew over 48,000 houses."):
        found = re.fullmatch(r"Winds of (\d+) kilometres an hour blew over (\d\d,000) houses\.", changed)
        assert found, changed
        assert 100 <= int(found[1]) <= 132 or 207 <= int(found[1]) <= 330
        assert 24 <= int(found[2][:2]) <= 38 or 60 <= int(found[2][:2]) <= 96


def test_hundreds_stay_hundreds() -> None:
    words = "two|three|four|five|six|seven|eight|nine"
    for changed in all_made("change-numbers", "He knows the seven hundred and ten employees."):
        assert re.fullmatch(rf"He knows the ({words}) hundred and \w+ employees\.", changed), changed


def test_years_keep_their_distance_and_the_future_lies_ahead() -> None:
    for changed in all_made(
        "change-dates", "It ran from 1988 to 2022, stopped in 2022, and returns in 2060."
    ):
        years = [int(year) for year in re.findall(r"\d{4}", changed)]
        assert years[1] - years[0] == 34
        assert years[1] == years[2]
        assert years[3] - 2060 == 2022 - years[2] > 2


def test_months_of_a_range_stay_two() -> None:
    for changed in all_made("change-dates", "The boat stays in harbour from July to October."):
        found = re.fullmatch(r"The boat stays in harbour from (\w+) to (\w+)\.", changed)
        assert found, changed
        assert len({found[1], found[2], "July", "October"}) == 4


def test_every_weekday_may_be_named() -> None:
    week = "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday"
    assert len(all_made("change-dates", f"The shop is open on {week}.")) == len(SEEDS)


def test_both_of_two_people_get_other_names() -> None:
    for changed in all_made("change-names", "Where did Chiara and Elin Ferrari meet?"):
        found = re.fullmatch(r"Where did (\S+) and (\S+) (\S+) meet\?", changed)
        assert found, changed
        assert len({*found.groups(), "Chiara", "Elin", "Ferrari"}) == 6


def test_a_queen_gets_a_womans_first_name() -> None:
    from assay.datasets.lexicon import first_names

    for changed in all_made("change-names", "Queen Elin built the palace."):
        found = re.fullmatch(r"Queen (\S+) built the palace\.", changed)
        assert found, changed
        assert first_names()[found[1]].gender == "female"


def test_long_numerals_are_left() -> None:
    assert made("change-numbers", f"It weighs {'9' * 5000} grams or {'9' * 12}.5 grams.") is None


def test_a_country_gives_way_to_a_country() -> None:
    from assay.datasets.lexicon import places_by_kind

    changed = made("change-names", "The race in Canada was cancelled.")
    assert changed is not None
    assert changed.split()[3] in set(places_by_kind()["country"]) - {"Canada"}


def test_a_surname_alone_becomes_no_it() -> None:
    assert made("nouns-to-pronouns", "Townsend was called up.", task="summarisation") is None
