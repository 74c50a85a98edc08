"""The table of forms: complete, told apart, and the source of the page and the list."""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path

import pytest

from assay.datasets.published.formats import AUDITS, form_rows, formats
from assay.names.registry import names

ROOT = Path(__file__).parents[2]
# Read where pairs are read, because they are two files or two lines per pair.
ELSEWHERE = {"winobias", "metric-fairness"}


def test_every_form_has_a_reader_or_says_how_its_columns_are_read() -> None:
    for form in formats():
        assert bool(form.reader) + bool(form.fields) + (form.name in ELSEWHERE) == 1, form.name
        if form.reader:
            module, function = form.reader.split(":")
            assert callable(getattr(import_module(f"assay.datasets.published.{module}"), function))
    assert len({form.name for form in formats()}) == len(formats())


def test_no_two_forms_are_told_apart_by_nothing() -> None:
    seen = [(form.layout, form.under, frozenset(form.columns)) for form in formats()]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("row", form_rows(), ids=lambda row: row["name"])
def test_every_form_says_where_it_comes_from(row: dict[str, str]) -> None:
    assert row["title"]
    assert row["columns"]
    assert row["licence"]
    assert row["published"].startswith(("https://", "http://", "docs/"))


def test_the_audits_exist() -> None:
    assert {name for audits in AUDITS.values() for name in audits} <= set(names("audits"))


def test_the_page_is_that_of_the_table() -> None:
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert text == runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["formats_page"]()
    assert [form.name for form in formats() if form.name not in text] == []
