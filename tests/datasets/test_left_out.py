"""Bad rows are left out and counted; a file of which more than a tenth is bad is refused, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.left_out import LeftOut
from assay.datasets.ratings import read_samples
from assay.datasets.records import read_record_table
from assay.errors import DataError

COLUMNS = "Nr,Artikel,Generated Summary,Reference Summary,score (1-5)"


def lines(count: int = 40) -> list[str]:
    rows = (f'{n},"Article number {n}, long.",Summary {n}.,Reference {n}.,{n % 5 + 1}' for n in range(count))
    return [COLUMNS, *rows]


def written(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('7,"Article, long.",Summary.,Reference.', "not as many cells as the header has columns"),
        ('7,Article, long,Summary.,Reference.,3', "6 cells, but the header has 5 columns"),
        ('7,"Article" long.,Summary.,Reference.,3', "a quotation mark stands within a cell"),
        ('7,"Article, long.",Summary.,Reference.,good', "must be a number"),
        ('7,"Article, long.",Summary.,Reference.,"4,500"', "must be a number"),
    ],
)  # fmt: skip
def test_a_bad_row_is_left_out_and_counted(tmp_path: Path, row: str, reason: str) -> None:
    rows = lines()
    rows[8] = row
    left_out = LeftOut(path := written(tmp_path / "t.csv", rows))
    assert len(read_samples(path, left_out=left_out)) == 39
    assert (left_out.rows, left_out.used) == (40, 39)
    (sentence,) = left_out.sentences()
    assert sentence.startswith("t.csv: 1 of 40 rows left out: ")
    assert reason in sentence
    assert sentence.endswith("(line 9)")


def test_an_empty_cell_costs_its_row_alone(tmp_path: Path) -> None:
    rows = lines(300)
    rows[75] = '74,"Article number 74, long.",Summary 74.,,3'
    left_out = LeftOut(path := written(tmp_path / "t.csv", rows))
    records = read_record_table(path, left_out=left_out)
    assert left_out.used == 299
    assert all(record.references for record in records)
    assert left_out.sentences()[0] == (
        "t.csv: 1 of 300 rows left out: column 'Reference Summary' (read as references) is empty (line 76)"
    )


def test_reasons_are_counted_and_the_first_lines_named(tmp_path: Path) -> None:
    rows = lines(100)
    for place in (10, 20, 30, 40, 50, 60, 70):
        rows[place] = rows[place].rpartition(",")[0] + ",good"
    rows[80] = "7,too few"
    left_out = LeftOut(path := written(tmp_path / "t.csv", rows))
    assert len(read_samples(path, left_out=left_out)) == 92
    words, cells = left_out.sentences()
    assert "7 of 100 rows left out: column 'score (1-5)' (read as human)" in words
    assert words.endswith("must be a number (lines 11, 21, 31, 41, 51 and 2 more)")
    assert cells.endswith("(line 81)")


def test_a_file_of_which_more_than_a_tenth_is_bad_is_refused(tmp_path: Path) -> None:
    rows = lines(60)
    for place in range(10, 17):
        rows[place] = rows[place].rpartition(",")[0] + ",good"
    with pytest.raises(DataError) as told:
        read_samples(written(tmp_path / "t.csv", rows))
    message = str(told.value)
    assert "7 of 60 rows cannot be used, and no more than a tenth may be left out: line 11: " in message
    assert message.count("must be a number, not 'good'") == 5
    assert message.endswith("; and 2 more")


def test_a_quotation_mark_that_is_never_closed_swallows_no_row_in_silence(tmp_path: Path) -> None:
    rows = lines()
    rows[20] = '19,"Article number 19, long,Summary 19.,Reference 19.,3'
    path = written(tmp_path / "t.csv", rows)
    left_out = LeftOut(path)
    read = read_samples(path, left_out=left_out)
    assert {item.id for item in read}.isdisjoint({"19", "20"})
    assert (len(read), left_out.used, left_out.rows) == (38, 38, 40)
    rows = [row.replace('"', "").replace(", long", "") for row in lines()]
    rows[20] = '19,"Article number 19,Summary 19.,Reference 19.,3'
    with pytest.raises(DataError, match="line 21: a cell begins with a quotation mark that is never closed"):
        read_samples(written(path, rows))
    rows[20], rows[39] = rows[19], '38,"Article number 38,Summary 38.,Reference 38.,3'
    left_out = LeftOut(written(path, rows))
    assert len(read_samples(path, left_out=left_out)) == left_out.used == 38


def test_lines_that_are_no_json_are_left_out(tmp_path: Path) -> None:
    rows = [json.dumps({"output": f"text {n}", "target": "text"}) for n in range(30)]
    rows[3], rows[5] = "{", '["a"]'
    left_out = LeftOut(path := written(tmp_path / "t.jsonl", rows))
    assert [item.id for item in read_samples(path, left_out=left_out)][2:5] == ["t-2", "t-4", "t-6"]
    assert [sentence.rpartition("(")[2] for sentence in left_out.sentences()] == ["line 4)", "line 6)"]


def test_a_byte_that_is_no_text_costs_its_row_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", [row.replace("Article", "Ärticle") for row in lines()])
    path.write_bytes(path.read_bytes().replace(b"Summary 17", b"Summary \xff17"))
    left_out = LeftOut(path)
    assert len(read_samples(path, left_out=left_out)) == 39
    assert left_out.sentences() == ["t.csv: 1 of 40 rows left out: not UTF-8 (byte 0xff) (line 19)"]
    path.write_bytes(path.read_bytes().replace(b"Artikel", b"Art\xffikel"))
    with pytest.raises(DataError, match=r"t\.csv, line 1: not UTF-8"):
        read_samples(path)


def test_ratings_with_decimal_commas_and_words_for_nothing(tmp_path: Path) -> None:
    rows = [row.replace(",", ";") for row in lines(12)]
    marks = ["4,5", "n/a", "-", "NA", "3,25", "0,125", " 2 ", "", "none", "1e0", "?", "5"]
    rows[1:] = [f"{row.rpartition(';')[0]};{mark}" for row, mark in zip(rows[1:], marks, strict=True)]
    ratings = [item.human.get("overall") for item in read_samples(written(tmp_path / "t.csv", rows))]
    assert ratings == [(4.5,), None, None, None, (3.25,), (0.125,), (2.0,), None, None, (1.0,), None, (5.0,)]
