"""Small files that would be large: each is refused by name, before it takes memory or minutes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peaks import memory_within

from assay.datasets.rows import read_rows
from assay.errors import DataError


def _csv(path: Path) -> None:
    path.write_text(",".join(f"column{n}" for n in range(60_000)) + "\n" + ",".join("x" * 60_000) + "\n")


def _csv_of_one_name(path: Path) -> None:
    path.write_text(",".join(["text"] * 9_000) + "\n" + ",".join("x" * 9_000) + "\n")


def _csv_of_one_long_name(path: Path) -> None:
    header = "|".join(f"'column{n}'" for n in range(40_000))
    path.write_text(header + "\n" + "'a','b'\n" * 20_000)


def _twice(path: Path) -> None:
    path.write_text("[{" + ",".join(f'"k{n}": 1' for n in range(60_000)) + ', "k59999": 2}]')


def _wide_records(path: Path) -> None:
    path.write_text(json.dumps({f"k{n}": 1 for n in range(10_001)}) + "\n")


def _empty_lists(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[" + b"[]," * 17_000_000 + b"[]]"))


def _blanks(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * 60_000_000))


def _nulls(path: Path) -> None:
    rows = pa.ListArray.from_arrays(pa.array([0, 30_000_000], pa.int32()), pa.nulls(30_000_000, pa.int8()))
    pq.write_table(pa.table({"hypothesis": rows}), path, compression="zstd")


def _one_text_often(path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["x" * 20_000]))
    pq.write_table(pa.table({"hypothesis": texts}), path, compression="zstd")


def _two_columns(path: Path) -> None:
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array(["c"])]
    pq.write_table(pa.table(columns, names=["hypothesis", "hypothesis", "references"]), path)


def _two_parts(path: Path) -> None:
    names = [pa.field("a", pa.int8()), pa.field("a", pa.int8())]
    rows = pa.StructArray.from_arrays([pa.array([1], pa.int8()), pa.array([2], pa.int8())], fields=names)
    pq.write_table(pa.table({"meta": rows}), path)


def _wide_parquet(path: Path) -> None:
    pq.write_table(pa.table({f"c{n}": [1] for n in range(10_001)}), path)


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "wide.csv": (_csv, "line 1: 60,000 columns, more than 10,000"),
    "one.csv": (_csv_of_one_name, "line 1: column 'text' is there more than once"),
    "long.csv": (_csv_of_one_long_name, "line 1: the name of a column has 548,889 characters"),
    "twice.json": (_twice, "duplicate key 'k59999' in one object"),
    "wide.jsonl": (_wide_records, "line 1: a record of 10,001 columns"),
    "lists.json.gz": (_empty_lists, "unpacks to more than 10,000,000 bytes"),
    "blanks.jsonl.gz": (_blanks, "unpacks to more than 10,000,000 bytes"),
    "blanks.csv.gz": (_blanks, "unpacks to more than 10,000,000 bytes"),
    "nulls.parquet": (
        _nulls,
        "unpacks to more than 10,000,000 bytes; few texts pack so well: save it as JSON",
    ),
    "often.parquet": (_one_text_often, "unpacks to more than"),
    "two.parquet": (_two_columns, "column 'hypothesis' is there more than once; rename one of them"),
    "parts.parquet": (_two_parts, "column 'a' is there more than once"),
    "wide.parquet": (_wide_parquet, "10,001 columns"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_would_be_large_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    build, problem = BOMBS[name]
    build(path)
    assert path.stat().st_size < 3_000_000
    with memory_within(400_000_000), pytest.raises(DataError) as caught:
        read_rows(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_texts_that_pack_well_are_read(tmp_path: Path) -> None:
    """Equal texts pack to a hundredth; what is small is read however well it packs."""
    rows = [
        {"hypothesis": "The cat sat on the mat. " * 10, "references": ["The cat."]} for _ in range(30_000)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()[:9_000_000].rpartition(b"\n")[0]))
    assert len(read_rows(tmp_path / "rows.jsonl.gz")) > 25_000
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", compression="zstd")
    assert len(read_rows(tmp_path / "rows.parquet")) == 30_000
