"""Task corpora as records: embedded ones by task, files of the user's, and pairs of plain text files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from assay.core import Record
from assay.datasets.rows import Row, read_rows, read_text
from assay.errors import DataError, suggest
from assay.vocabulary import TASKS, Task

CORPORA: dict[Task, str] = {
    "translation": "translation",
    "summarisation": "summarisation",
    "open-ended": "open_ended",
    "dialogue": "dialogue",
    "question-generation": "question_generation",
    "image-captioning": "captions",
    "data-to-text": "data_to_text",
}
KNOWN = ("id", "gold", "references", "source", "task", "context", "doc")


def task_named(name: str) -> Task:
    """A task by its name; a wrong one suggests."""
    for task in TASKS:
        if task == name:
            return task
    raise DataError(f"unknown task {name!r}{suggest(name, TASKS)}")


def embedded_records(task: Task) -> list[Record]:
    """The corpus assay carries for a task; open-ended golds meet the disjoint reference set."""
    with as_file(files("assay.data") / "corpora" / f"{CORPORA[task]}.jsonl") as path:
        records = read_records(path, task=task)
    if task == "open-ended":
        written = tuple(record.gold for record in records if record.meta.get("set") == "reference")
        golds = [record for record in records if record.meta.get("set") == "gold"]
        return _among_themselves([replace(record, references=written) for record in golds])
    return records


def read_records(path: Path, *, task: Task | None = None) -> list[Record]:
    """Records of a file; `NAME_sources.jsonl` beside it joins on `doc`."""
    rows = read_rows(path)
    sources = _sources(path)
    default = task or guess_task(rows[0])
    return _among_themselves([_record(row, number, default, sources) for number, row in enumerate(rows)])


def read_text_sets(gold: Path, references: Path, *, task: Task = "open-ended") -> list[Record]:
    """Two text files, a text a line: pairs when a task has references, two whole sets when open-ended."""
    golds, others = _lines(gold), _lines(references)
    if task == "open-ended":
        shared: list[tuple[str, ...]] = [tuple(others)] * len(golds)
    elif len(golds) == len(others):
        shared = [(other,) for other in others]
    else:
        raise DataError(
            f"{gold} has {len(golds)} lines, {references} {len(others)}: line by line they must pair"
        )
    pairs = zip(golds, shared, strict=True)
    return _among_themselves(
        [Record(f"{gold.stem}-{n}", text, task, refs) for n, (text, refs) in enumerate(pairs)]
    )


def guess_task(row: Row) -> Task:
    """The task of a record that names none: by what it carries."""
    if row.has("task"):
        return task_named(row.text("task"))
    if row.has("context"):
        return "dialogue"
    source = row.maybe("source") or ""
    gold = row.text("gold")
    if not row.has("references"):
        return "open-ended"
    return "summarisation" if len(source) > 3 * len(gold) else "translation"


def _record(row: Row, number: int, task: Task, sources: dict[str, str]) -> Record:
    gold = row.text("gold")
    if not gold.strip():
        raise row.fail("column 'gold' is empty; a record needs the text to be tested")
    meta: dict[str, Any] = row.unknown(KNOWN)
    doc = row.values.get("doc")
    if doc is not None:
        meta["doc"] = str(doc)
    named = row.maybe("id") or f"{row.file.stem}-{number}"
    source = row.maybe("source") or sources.get(str(doc))
    return Record(named, gold, task, row.texts("references"), source, row.texts("context"), (), meta)


def _sources(path: Path) -> dict[str, str]:
    beside = path.with_name(f"{path.stem}_sources{path.suffix}")
    if not beside.is_file():
        return {}
    return {str(row.values.get("doc")): row.text("source") for row in read_rows(beside)}


def _lines(path: Path) -> list[str]:
    lines = [line.strip() for line in read_text(path).split("\n")]
    kept = [line for line in lines if line]
    if not kept:
        raise DataError(f"{path} holds no text; one text a line is expected")
    return kept


def _among_themselves(records: Sequence[Record]) -> list[Record]:
    """Each record knows the golds of its corpus, for perturbations that borrow from other items."""
    golds = tuple(record.gold for record in records)
    return [replace(record, others=golds) for record in records]
