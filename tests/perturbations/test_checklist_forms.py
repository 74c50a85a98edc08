"""Spelling, fluency, structure and borrowing templates where an easy rule would go wrong."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.files import toml_file
from assay.names.registry import perturbation_class
from assay.perturbations.edit import known_classes
from assay.vocabulary import Task


def made(name: str, gold: str, *, seed: int = 0, task: Task = "translation", **fields: object) -> str | None:
    return perturbation_class(name)().perturb(Record("x", gold, task, **fields), seed)  # type: ignore[arg-type]


def every(name: str, gold: str, **fields: object) -> set[str | None]:
    """What a dozen seeds make of a text."""
    return {made(name, gold, seed=seed, **fields) for seed in range(12)}


@pytest.mark.parametrize("name", ["typo-swap", "typo-drop", "typo-double", "typo-neighbour"])
def test_slips_leave_names_alone(name: str) -> None:
    for changed in every(name, "Halden Junction is near Westmoor station."):
        assert changed is not None
        assert changed.startswith("Halden Junction is ")
        assert "Westmoor" in changed


def test_no_letter_is_dropped_from_short_words() -> None:
    assert every("typo-drop", "The boat took us home.") == {None}  # bot, tok and hom are read as words
    for changed in every("typo-drop", "The yellow boat sank."):
        assert changed is not None
        assert changed.endswith(" boat sank.")
        assert not known_classes(changed.split()[1])


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("drop-articles", "What do the bats near Lake Oku eat?"),
        ("drop-articles", "He drank the water."),
        ("drop-articles", "She replaced it with a stew."),
        ("drop-prepositions", "My phone is on silent while I sleep."),
        ("drop-prepositions", "They closed the shop on Monday."),
        ("agreement", "A flock of sheep blocks the narrow road."),
    ],
)
def test_what_stays_good_english_is_left(name: str, gold: str) -> None:
    assert made(name, gold) is None


def test_another_sentence_opens_the_text() -> None:
    gold = "Ann has a boat. It is red. It leaks."
    orders = every("reorder-sentences", gold)
    assert len(orders) > 1
    assert all(order and not order.startswith("Ann") and len(order) == len(gold) for order in orders)


def test_the_main_subject_is_said_again() -> None:
    gold = "Although the reviews were bad, the theatre sold every seat in the house."
    assert every("repeat-phrases", gold) == {f"{gold[:-1]}, the theatre."}
    assert every("repeat-phrases", "Have you seen it, by any chance?") == {None}
    assert every("repeat-phrases", "The Salt Garden has 312 pages.") == {
        "The Salt Garden has 312 pages, 312 pages."
    }


BARE = (
    "No",
    "And the pitch is still there.",
    "No way at all, sir.",
    "Careful, the banister is not fixed yet.",
)


def test_added_clauses_are_whole_statements() -> None:
    gold = "The court ruled in his favour."
    assert made("add-text", gold, others=BARE) is None
    assert made("add-text", gold, others=("The old pitch is still there.",)) == (
        "The court ruled in his favour, and the old pitch is still there."
    )
    assert made("add-text", gold, others=("The Blue Door is a restaurant.",)) == (
        "The court ruled in his favour. The Blue Door is a restaurant."
    )


QUESTIONS = (
    "Where did the gardener find the guitar?",
    "Who borrowed the bus in March?",
    "When did the dogs see the kindergarten?",
    "Why did he lose a hospital bed at night?",
    "Which tourist photographed the notebook?",
)


@pytest.mark.parametrize(
    ("gold", "fitting"),
    [
        ("Why did the passenger leave?", {"gardener", "tourist"}),
        ("Who repaired the clock?", {"guitar", "notebook"}),
        ("Who was in the cinema?", {"kindergarten"}),
        ("Who offered her a scooter?", {"bus"}),
    ],
)
def test_nouns_are_borrowed_within_their_kind(gold: str, fitting: set[str]) -> None:
    noun = next(word for word in ("passenger", "clock", "cinema", "scooter") if word in gold)
    allowed = {gold.replace(noun, word) for word in fitting}
    assert every("change-nouns", gold, others=QUESTIONS) <= allowed


@pytest.mark.parametrize(
    "gold",
    [
        "How old is the invention of paper?",
        "Who cut the slabs?",
        "When did the night train stop?",
        "What closed to most traffic?",
    ],
)
def test_nouns_that_little_else_fits_stay(gold: str) -> None:
    assert every("change-nouns", gold, others=QUESTIONS) == {None}


def test_verbs_are_borrowed_in_the_form_of_the_old() -> None:
    found = every("change-verbs", "Who restored the boat?", others=QUESTIONS)
    assert found <= {f"Who {verb} the boat?" for verb in ("found", "borrowed", "saw", "lost", "photographed")}
    assert len(found) > 1
    assert "Who borrowed the cinema?" not in every("change-verbs", "Who saved the cinema?", others=QUESTIONS)
    nearer = {"Who found the key?", "Who saw the key?"}
    assert not nearer & every("change-verbs", "Who discovered the key?", others=QUESTIONS)


@pytest.mark.parametrize(
    "gold", ["Where did they spend the night?", "Why did she put panes into the window?"]
)
def test_verbs_that_bind_their_own_words_stay(gold: str) -> None:
    assert every("change-verbs", gold, others=QUESTIONS) == {None}


def test_kinds_have_no_doubles() -> None:
    for words in toml_file("checklist", "nouns").values():
        if isinstance(words[0], str):
            assert len(words) == len(set(words))
