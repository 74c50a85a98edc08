"""Task corpora as records: embedded ones by task, a user's files, and pairs of plain text files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core import Record
from assay.datasets.lexicon import data_path
from assay.datasets.rows import Row, read_rows, read_sources, text_lines
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
    """The task of that name; the error suggests a similar one."""
    for task in TASKS:
        if task == name:
            return task
    raise DataError(f"unknown task {name!r}{suggest(name, TASKS)}")


def embedded_records(task: Task) -> list[Record]:
    """The embedded corpus of a task; open-ended texts are compared with a separate reference set."""
    records = read_records(data_path("corpora", f"{CORPORA[task]}.jsonl"), task=task)
    if task == "open-ended":
        written = tuple(record.gold for record in records if record.meta.get("set") == "reference")
        golds = [record for record in records if record.meta.get("set") == "gold"]
        return _among_themselves([replace(record, references=written) for record in golds])
    return records


def read_records(path: Path, *, task: Task | None = None) -> list[Record]:
    """The records of a file; `NAME_sources.jsonl` beside it is joined on `doc`."""
    rows = read_rows(path)
    sources = read_sources(path)
    default = task or guess_task(rows[0])
    return _among_themselves([_record(row, number, default, sources) for number, row in enumerate(rows)])


def read_text_sets(gold: Path, references: Path, *, task: Task = "open-ended") -> list[Record]:
    """Read two files with one text per line: paired line by line, or as two sets when open-ended."""
    golds, others = ([line.strip() for line in text_lines(path)] for path in (gold, references))
    for path, texts in ((gold, golds), (references, others)):
        if not texts:
            raise DataError(f"{path} holds no text; one text per line is expected")
    if task == "open-ended":
        shared: list[tuple[str, ...]] = [tuple(others)] * len(golds)
    elif len(golds) == len(others):
        shared = [(other,) for other in others]
    else:
        raise DataError(
            f"{gold} has {len(golds)} lines, {references} has {len(others)}: they must pair line by line"
        )
    pairs = zip(golds, shared, strict=True)
    return _among_themselves(
        [Record(f"{gold.stem}-{n}", text, task, refs) for n, (text, refs) in enumerate(pairs)]
    )


def guess_task(row: Row) -> Task:
    """The task that a record names, or the one its columns suggest."""
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


def _among_themselves(records: Sequence[Record]) -> list[Record]:
    """Give each record the clean texts of its corpus, for perturbations that borrow from other items."""
    golds = tuple(record.gold for record in records)
    return [replace(record, others=golds) for record in records]
