"""The table of forms: complete, told apart, and the source of the page and the list."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from assay.datasets.published import corpora, pairs, ratings
from assay.datasets.published.formats import AUDITS, Format, form_rows, formats
from assay.names.registry import names

ROOT = Path(__file__).parents[2]
# Read where pairs are read, because they are two files or two lines per pair.
ELSEWHERE = {"winobias", "metric-fairness"}
READERS = {
    "ratings": ratings.RATING_READERS,
    "preferences": ratings.RATING_READERS,
    "pairs": pairs.PAIR_READERS,
    "records": corpora.RECORD_READERS,
}


def test_every_form_has_a_reader_or_says_how_its_columns_are_read() -> None:
    for form in formats():
        ways = [form.fields is not None, form.name in READERS[form.gives], form.name in ELSEWHERE]
        assert sum(ways) == 1, form.name
    assert len({form.name for form in formats()}) == len(formats())


def test_a_misspelt_key_is_an_error() -> None:
    entry = {"name": "x", "title": "x", "gives": "ratings", "layout": "table", "columns": ["a"]}
    entry |= {"published": "x", "licence": "x"}
    assert Format.of({**entry, "fields": {"system": "a"}}).fields is not None
    with pytest.raises(TypeError, match="sytem"):
        Format.of({**entry, "fields": {"sytem": "a"}})
    with pytest.raises(TypeError, match="layuot"):
        Format.of({**entry, "layuot": "table"})


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
