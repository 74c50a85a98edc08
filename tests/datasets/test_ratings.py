"""Rated texts: assay's own columns, and what is said of rows that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.ratings import read_samples
from assay.errors import DataError


def write(path: Path, *records: dict) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_columns_become_fields(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rated.jsonl",
        {"id": "one", "hypothesis": "A cat.", "references": ["The cat.", "A cat!"], "system": "s1", "doc": 7,
         "human": {"fluency": [1, 2, None], "adequacy": 4}, "batch": "x"},
    )  # fmt: skip
    (item,) = read_samples(path)
    assert (item.id, item.system, item.doc) == ("one", "s1", "7")
    assert item.sample.references == ("The cat.", "A cat!")
    assert item.human == {"fluency": (1.0, 2.0), "adequacy": (4.0,)}
    assert item.meta == {"batch": "x"}


def test_human_is_optional_and_rows_are_numbered(tmp_path: Path) -> None:
    items = read_samples(write(tmp_path / "plain.jsonl", {"hypothesis": "a"}, {"hypothesis": "b"}))
    assert [item.id for item in items] == ["plain-0", "plain-1"]
    assert [item.human for item in items] == [{}, {}]


def test_sources_join_on_doc(tmp_path: Path) -> None:
    path = write(tmp_path / "sums.jsonl", {"hypothesis": "a", "doc": 3}, {"hypothesis": "b", "doc": "4"})
    write(tmp_path / "sums_sources.jsonl", {"doc": "3", "source": "three"}, {"doc": 4, "source": "four"})
    assert [item.sample.source for item in read_samples(path)] == ["three", "four"]


def test_tables_may_give_a_column_a_criterion(tmp_path: Path) -> None:
    path = tmp_path / "rated.csv"
    path.write_text(
        'hypothesis,references,human.fluency,human\na,"[""b""]",3,"{""adequacy"": [1, 2]}"\n', "utf-8"
    )
    (item,) = read_samples(path)
    assert item.human == {"adequacy": (1.0, 2.0), "fluency": (3.0,)}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "x"}, "line 1: column 'hypothesis' is missing"),
        ({"hypothesis": "a", "human": {"fluency": "good"}}, "'fluency' must be a number, not 'good'"),
        ({"hypothesis": "a", "human": {"fluency": True}}, "must be a number"),
        ({"hypothesis": "a", "human": {"fluency": 10**400}}, "must be a number, not 1000"),
        (
            {"hypothesis": "a", "human": 1e308},
            r"'overall' must be a number within 1e\+50, not 1e\+308; write numbers on the scale",
        ),
        ({"hypothesis": "a", "human": float("-inf")}, "not -inf; .* and nothing where there is no rating"),
        ({"hypothesis": "a", "system": ["s"]}, "column 'system' must be a name"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, record: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_samples(write(tmp_path / "bad.jsonl", record))


def test_a_repeated_id_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "twice.jsonl", {"id": "x", "hypothesis": "a"}, {"id": "x", "hypothesis": "b"})
    with pytest.raises(DataError, match="id 'x' is in more than one row"):
        read_samples(path)


def test_a_missing_image_is_refused_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "captions.jsonl", {"hypothesis": "a", "image": "gone.png"})
    with pytest.raises(DataError, match="skip-missing"):
        read_samples(path)
    assert read_samples(path, skip_missing=True)[0].sample.image is None


def test_published_files_have_their_sizes(shared: Path) -> None:
    flickr = read_samples(shared / "human" / "flickr8k_expert.jsonl")
    assert len(flickr) == 5822
    assert all(len(item.human["overall"]) == 3 for item in flickr)
    summeval = read_samples(shared / "human" / "summeval.jsonl")
    assert (len(summeval), len({item.system for item in summeval})) == (1600, 16)
    assert all(item.sample.source for item in summeval)
