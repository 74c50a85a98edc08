"""Columns under other names: `--map`, aliases, separators, endings, and what is said of files that do not fit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from assay.datasets.columns import ALIASES, DataFile, as_data, parse_map
from assay.datasets.left_out import LeftOut
from assay.datasets.pairs import read_pair_files
from assay.datasets.ratings import read_samples
from assay.datasets.records import guess_task, read_record_table
from assay.datasets.rows import read_rows
from assay.errors import DataError, SpecError

TABLE = "id,article,summary,reference,rating\na,long text,short,brief,3\nb,other text,shorter,briefer,\n"


def file(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def mapped(path: Path, columns: str) -> Path:
    return as_data(path, parse_map(columns))[0]


def test_a_map_names_every_field(tmp_path: Path) -> None:
    path = file(tmp_path / "t.csv", "n,text,r1,r2,doc text,q\n7,out,one,two,in,4\n8,out2,three,,in2,\n")
    columns = "id=n,hypothesis=text,references=r1,references=r2,source=doc text,human.quality=q"
    first, second = read_samples(mapped(path, columns))
    assert (first.id, first.sample.hypothesis, first.sample.source) == ("7", "out", "in")
    assert (first.sample.references, second.sample.references) == (("one", "two"), ("three",))
    assert (first.human, second.human) == ({"quality": (4.0,)}, {})


@pytest.mark.parametrize(("field", "alias"), [(name, alias) for name in ALIASES for alias in ALIASES[name]])
def test_aliases_are_recognised(tmp_path: Path, field: str, alias: str) -> None:
    own = {"hypothesis": "out", "references": "ref text", "source": "in", "human": 4}
    row = {alias.title() if name == field else name: value for name, value in own.items()}
    (item,) = read_samples(file(tmp_path / "t.jsonl", json.dumps(row)))
    assert item.sample.hypothesis == "out"
    assert item.sample.references == ("ref text",)
    assert (item.sample.source, item.human) == ("in", {"overall": (4.0,)})


def test_the_fields_own_column_goes_before_an_alias(tmp_path: Path) -> None:
    row = {"hypothesis": "own", "output": "other", "human.fluency": 2, "score": 9}
    (item,) = read_samples(file(tmp_path / "t.jsonl", json.dumps(row)))
    assert (item.sample.hypothesis, item.human) == ("own", {"fluency": (2.0,)})
    assert item.meta == {"output": "other", "score": 9}


def test_a_field_mapped_to_nothing_is_not_read(tmp_path: Path) -> None:
    path = file(tmp_path / "t.csv", TABLE.replace(",3", ",good"))
    items = read_samples(mapped(path, "human="))
    assert [item.human for item in items] == [{}, {}]
    assert items[0].meta["rating"] == "good"
    assert [item.human for item in read_samples(path, rated=False)] == [{}, {}]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_separators_are_sniffed(tmp_path: Path, mark: str, ending: str) -> None:
    text = TABLE.replace(",", mark).replace("long text", '"a, b; c\td"')
    rows = read_rows(file(tmp_path / f"t.{ending}", text))
    assert rows[0].values["article"] == "a, b; c\td"
    assert [row.line for row in rows] == [2, 3]
    assert [row.values["summary"] for row in rows] == ["short", "shorter"]


def test_commas_within_cells_do_not_mislead(tmp_path: Path) -> None:
    text = "id;text, as written;ref\n1;one, two;three, four\n2;five, six;seven, eight\n"
    assert list(read_rows(file(tmp_path / "t.csv", text))[0].values) == ["id", "text, as written", "ref"]


def test_lines_are_counted_through_cells_of_several_lines(tmp_path: Path) -> None:
    path = file(tmp_path / "t.csv", 'id,hypothesis,human\n1,"two\nlines",3\n\n2,one,bad\n')
    assert [row.line for row in read_rows(path)] == [2, 5]
    with pytest.raises(DataError, match=r"t\.csv, line 5: human rating of 'overall' must be a number"):
        read_samples(path)


def test_lists_in_json_and_packed_files_are_read(tmp_path: Path) -> None:
    rows = [{"output": "a", "target": "b"}, {"output": "c", "target": "d"}]
    lines = "\n".join(map(json.dumps, rows)).encode()
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"output;target\na;b\nc;d\n"))
    file(tmp_path / "t.json", json.dumps(rows))
    for name in ("t.jsonl.gz", "t.json", "t.csv.gz"):
        texts = [(item.sample.hypothesis, item.sample.references) for item in read_samples(tmp_path / name)]
        assert texts == [("a", ("b",)), ("c", ("d",))], name
    (tmp_path / "bad.jsonl.gz").write_bytes(gzip.compress(lines)[:-12])
    with pytest.raises(DataError, match="is it a whole gzip file"):
        read_rows(tmp_path / "bad.jsonl.gz")


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (TABLE, "hypothesis=sumary", r"line 1: --map hypothesis=sumary: there is no column 'sumary'.*"
         r"did you mean summary\? Write --map hypothesis=summary"),
        (TABLE.replace("summary", "sumaries"), "", r"line 1: column 'hypothesis' is missing; its columns are id, "
         r"sumaries, reference, article, rating.*"
         r"--map hypothesis=sumaries,references=reference,source=article,human=rating \(sumaries is the nearest\)"),
        (TABLE.replace("summary", "xyz"), "", r"--map hypothesis=COLUMN,references=reference,source=article,human=rating "
         r"with one of these"),
        (TABLE.replace("article", "output"), "", r"line 1: columns 'output' and 'summary' may both be hypothesis; "
         r"choose: --map hypothesis=output,references=reference,human=rating or "
         r"--map hypothesis=summary,references=reference,human=rating"),
        (TABLE.replace(",3", ",good"), "", r"line 2: column 'rating' \(read as human\): human rating of 'overall' "
         r"must be a number, not 'good'; .*--map human="),
        (TABLE.replace(",3", ",good"), "human.quality=rating", r"line 2: column 'rating' \(read as "
         r"human.quality\): .*'quality' must be a number.*--map human.quality="),
        ("mt;b;c\n1;2;3\n4,5,6\n", "", "line 3: separated by commas, but the header by semicolons"),
        ("mt,b,c\n1,2,3\n4,5\n", "", "line 3: not as many cells .* 2 cells, but the header has 3 columns; column 'c'"),
        ("mt,b\n1,2\n4,5,6\n", "", "line 3: 3 cells, but the header has 2 columns; put cells that hold commas in"),
        ("a,b,a\n1,2,3\n", "", "line 1: column 'a' is there more than once"),
    ],
)  # fmt: skip
def test_a_wrong_column_prints_the_way_out(tmp_path: Path, text: str, columns: str, message: str) -> None:
    with pytest.raises(DataError, match=r"t\.csv, " + ("" if message.startswith("line") else ".*") + message):
        read_samples(mapped(file(tmp_path / "t.csv", text), columns))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("hypothsis=summary", "no field 'hypothsis'; did you mean hypothesis"),
        ("summary", "'summary' is not FIELD=COLUMN"),
        ("human.=rating", "name the criterion"),
        ("source=a,source=b", "gives source two columns"),
    ],
)
def test_a_wrong_map_is_refused(columns: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_map(columns)


def test_a_missing_image_names_its_line_and_column(tmp_path: Path) -> None:
    path = file(tmp_path / "t.csv", "hypothesis,picture\na,gone.png\n")
    with pytest.raises(
        DataError, match=r"line 2: column 'picture' \(read as image\): image 'gone.png' is missing"
    ):
        read_samples(mapped(path, "image=picture"))


def test_pairs_are_mapped_too(tmp_path: Path) -> None:
    path = file(tmp_path / "p.csv", "left,right,neutral\nHe ran.,She ran.,They ran.\n")
    with pytest.raises(DataError, match=r"line 1: column 'stereotype' is missing.*--map stereotype="):
        read_pair_files([path])
    (pair,), _ = read_pair_files([mapped(path, "stereotype=left,anti_stereotype=right,references=neutral")])
    assert (pair.stereotype, pair.anti_stereotype, pair.references) == ("He ran.", "She ran.", ("They ran.",))


def test_the_clean_text_is_one_hypothesis_for_each_input(tmp_path: Path) -> None:
    rows = [
        {"system": system, "output": f"{system} {n}", "ref": refs, "src": "quelle"}
        for system in "xy"
        for n, refs in enumerate([["one", "two"], ["three"]])
    ]
    records = read_record_table(file(tmp_path / "t.json", json.dumps(rows)))
    assert [record.gold[1:] for record in records] == [" 0", " 1"]
    assert [record.references for record in records] == [("one", "two"), ("three",)]
    assert {record.source for record in records} == {"quelle"}
    (alone,) = read_record_table(file(tmp_path / "u.json", '[{"output": "a"}]'))
    assert (alone.gold, alone.references) == ("a", ())
    with pytest.raises(DataError, match=r"column 'gold' \(or hypothesis, or references\) is missing"):
        read_record_table(file(tmp_path / "v.json", '[{"colour": "a"}]'))


def test_hypotheses_rated_in_the_better_half_are_the_clean_texts(tmp_path: Path) -> None:
    rows = [
        {"output": f"{system} {n}", "ref": f"reference {n}", "rating": rating}
        for n in range(70)
        for system, rating in (("good", n), ("bad", -n))
    ]
    left_out = LeftOut(path := file(tmp_path / "t.json", json.dumps(rows)))
    records = read_record_table(path, left_out=left_out)
    assert [record.gold for record in records] == [f"good {n}" for n in range(70)]
    assert left_out.sentences() == [
        "t.json: the clean texts are 70 hypotheses, those rated in the better half of 140"
    ]


def test_few_ratings_choose_the_output_of_an_input_and_leave_none_out(tmp_path: Path) -> None:
    rows = [
        {"output": f"{system} {n}", "ref": f"reference {n}", "rating": rating if n < 10 else None}
        for n in range(40)
        for system, rating in (("good", 5), ("bad", 2))
    ]
    records = read_record_table(file(tmp_path / "t.json", json.dumps(rows)))
    assert [record.gold for record in records[:10]] == [f"good {n}" for n in range(10)]
    assert len(records) == 40
    assert {record.gold.split()[0] for record in records[10:]} == {"good", "bad"}


def test_references_are_never_tested_by_themselves(tmp_path: Path) -> None:
    rows = [{"ref": ["one", "two"]}, {"ref": ["three"]}, {"ref": ["four", "four"]}]
    left_out = LeftOut(path := file(tmp_path / "t.json", json.dumps(rows)))
    records = read_record_table(path, left_out=left_out)
    assert [(record.gold, record.references) for record in records] == [("one", ("two",))]
    (remark,) = left_out.sentences()
    assert remark.startswith("t.json: 2 of 3 texts left out: the only reference would be the text itself")
    with pytest.raises(DataError, match="a second reference, hypotheses, or --map gold=COLUMN"):
        read_record_table(file(tmp_path / "u.json", json.dumps(rows[1:])))


@pytest.mark.parametrize(
    ("row", "task"),
    [
        ({"summary": "s", "references": "r", "source": "s"}, "summarisation"),
        ({"gold": "g", "references": "r", "source": "long " * 20}, "summarisation"),
        ({"mt": "m", "references": "r", "source": "long " * 20}, "translation"),
        ({"gold": "g", "references": "r", "source": "q"}, "translation"),
        ({"response": "a", "references": "r", "source": "q"}, "dialogue"),
        ({"gold": "g", "references": "r", "context": ["a"]}, "dialogue"),
        ({"gold": "g"}, "open-ended"),
    ],
)
def test_the_task_comes_from_columns_not_from_the_files_name(tmp_path: Path, row: dict, task: str) -> None:
    rows = read_rows(file(tmp_path / "translation.jsonl", json.dumps(row)))
    assert guess_task(rows) == task


def test_a_table_in_memory_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (table,) = as_data([{"hypothesis": "a"}])
    assert isinstance(table, DataFile)
    assert not table.is_dir()
    with pytest.raises(DataError, match="data, row 1: column 'references' must be a list of texts"):
        read_samples(as_data([{"hypothesis": "a", "references": 3}])[0])
