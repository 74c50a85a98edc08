"""Laws that every template of the catalogue obeys, on the embedded corpora and on bad input."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.files import toml_file
from assay.names.registry import perturbation_class, perturbation_classes
from assay.perturbations.checklist.catalogue import applied, catalogue
from assay.vocabulary import CHECKLIST_TASKS, Criterion, Task

TEMPLATES = sorted({entry.template for entry in catalogue()})
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "catalogue.md"
section = runpy.run_path(str(DOCS / "make_catalogue.py"))["section"]
ENOUGH = 0.2  # of a task's items; where a template applies to fewer, the page says why
BAD = [
    "", " ", "Go", "?", "...", "STOP THE OLD BUS NOW, IT IS LATE!", "😀 👍🏽", "I 😀 the big dog.", "Привет, the old dog!",
    "他在 Paris 等了 3 hours.", '"Well," he said, (quietly) "it is [not] so."', "a\tb\nc d", "((()))", "don't", "'tis",
    "The dog.\n\nThe cat.", "x" * 300, "1990", "A-B-C well-known man", "Why?", "he he he he",
]  # fmt: skip


def record(gold: str, task: Task = "dialogue") -> Record:
    return Record(
        "x", gold, task, ("One reference.", "Another reference."), None,
        ("A: I like the sea.", "B: So do I."), ("The old man sat on a bench.", "Two dogs ran home.", gold),
    )  # fmt: skip


@pytest.fixture(scope="module")
def corpora() -> dict[Task, list[Record]]:
    return {task: embedded_records(task) for task in CHECKLIST_TASKS}


def test_the_catalogue_is_whole() -> None:
    from typing import get_args

    assert len(TEMPLATES) >= 34
    assert set(get_args(Criterion)) - {"consistency"} == {entry.criterion for entry in catalogue()}
    assert len({entry.slice for entry in catalogue()}) == len(catalogue())
    assert {entry.task for entry in catalogue()} == set(CHECKLIST_TASKS)
    assert all(0 <= entry.severity <= 10 for entry in catalogue())
    for entry in catalogue():
        assert (entry.expect == "same") == (entry.criterion == "invariance") == (entry.severity < 1)


def test_a_class_says_for_which_tasks_it_is_asked() -> None:
    asked = {name: kind.tasks for name, kind in perturbation_classes().items() if kind.tasks}
    rows = {name: {entry.task for entry in catalogue() if entry.template == name} for name in TEMPLATES}
    assert {name: set(tasks) for name, tasks in asked.items()} == rows
    assert all(perturbation_class(name).title for name in TEMPLATES)


def test_every_row_applies_or_says_why() -> None:
    """By the rates on the page, which another test makes anew."""
    told = 0
    for name, text in sections().items():
        rates = re.findall(r"^\| ([\w-]+) \| [^|]+ \| [^|]+ \| (\d+)% \|", text, flags=re.MULTILINE)
        for task, rate in rates:
            told += 1
            assert int(rate) >= 100 * ENOUGH or f"Seldom in {task}:" in text, (name, task, rate)
    assert told == len(catalogue())


@pytest.mark.parametrize("name", TEMPLATES)
def test_outputs_are_tidy_and_deterministic(name: str, corpora: dict[Task, list[Record]]) -> None:
    for entry in (entry for entry in catalogue() if entry.template == name):
        for item, changed in applied(entry, corpora[entry.task][:12]):
            assert changed == entry.perturbation.perturb(item)
            assert changed != item.gold
            assert changed == changed.strip()
            assert "  " not in changed
            assert not any(mark in changed for mark in (" ,", " .", " ?", ",,", "..", ",.", "( ", " )"))
            assert (
                changed[0].isupper()
                or not item.gold[0].isupper()
                or changed[0] in "\"'("
                or changed[0].isdigit()
            )


@pytest.mark.parametrize("name", TEMPLATES)
def test_bad_input(name: str) -> None:
    template = perturbation_class(name)()
    for gold in BAD:
        changed = template.perturb(record(gold))
        assert changed is None or (isinstance(changed, str) and changed != gold and changed.strip())


def test_loud_text_stays_loud() -> None:
    loud = "THE OLD MAN IS HOLDING A SMALL DOG."
    for name in (
        "antonyms",
        "siblings",
        "negate",
        "agreement",
        "drop-articles",
        "change-attributes",
        "synonyms",
    ):
        changed = perturbation_class(name)().perturb(record(loud))
        assert changed is None or changed.isupper(), (name, changed)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=40))
def test_any_text_is_safe(text: str) -> None:
    for name in TEMPLATES:
        changed = perturbation_class(name)().perturb(record(text))
        assert changed is None or changed != text


def lists(value: object) -> Iterator[list[str]]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from lists(inner)
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield value


def test_word_lists_have_no_doubles() -> None:
    for file in ("templates", "phrases"):
        for words in lists(toml_file("checklist", file)):
            assert len(words) == len(set(words)), [word for word in words if words.count(word) > 1]


def sections() -> dict[str, str]:
    """The page by template."""
    return dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), flags=re.M | re.S))


def test_the_page_has_every_template_in_order() -> None:
    assert list(sections()) == list(dict.fromkeys(entry.template for entry in catalogue()))


# masked-words runs a language model, which need not be here.
@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "masked-words"])
def test_the_page_is_up_to_date(name: str, corpora: dict[Task, list[Record]]) -> None:
    assert f"## {name}\n{sections()[name]}".strip() == section(name, corpora).strip(), (
        "run: python docs/make_catalogue.py > docs/catalogue.md"
    )
