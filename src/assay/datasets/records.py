"""Task corpora as records: embedded ones by task, a user's files, and pairs of plain text files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core import NearWrong, Record
from assay.datasets.files import text_lines
from assay.datasets.lexicon import data_path, jsonl_file, toml_file
from assay.datasets.rows import Row, read_rows, read_sources, with_aliases
from assay.errors import DataError, suggest
from assay.language import language_name
from assay.vocabulary import TASKS, Language, Task

CORPORA: dict[Task, str] = toml_file("columns", "columns")["corpora"]
KNOWN = ("id", "gold", "references", "source", "task", "context", "doc", "reworded", "wrong", "candidates")
SEVERITIES = ("minor", "major", "critical")
_TELLING: dict[str, Task] = toml_file("columns", "columns")["tasks"]


def task_named(name: str) -> Task:
    """The task of that name, in either spelling; the error suggests a similar one."""
    for task in TASKS:
        if task == name.replace("summariz", "summaris"):
            return task
    raise DataError(f"unknown task {name!r}{suggest(name, TASKS)}")


def embedded_records(task: Task, language: Language = "en") -> list[Record]:
    """The embedded corpus of a task; open-ended texts are compared with a separate reference set.

    In other languages than English there are translations from English.
    """
    if language != "en":
        if task != "translation":
            raise DataError(
                f"there are no embedded texts of {task} in {language_name(language)}: translations only"
            )
        return read_records(data_path("languages", language, "translation.jsonl"), task=task)
    records = read_records(data_path("corpora", f"{CORPORA[task]}.jsonl"), task=task)
    variants = {row["id"]: row for row in jsonl_file("variants", CORPORA[task])}
    records = [_with_variants(record, variants.get(record.id)) for record in records]
    if task == "open-ended":
        written = tuple(record.gold for record in records if record.meta.get("set") == "reference")
        golds = [record for record in records if record.meta.get("set") == "gold"]
        return among_themselves([replace(record, references=written) for record in golds])
    return records


def _with_variants(record: Record, row: Mapping[str, Any] | None) -> Record:
    """An embedded record with the texts that decisions are asked on."""
    if row is None:
        return record
    wrong = NearWrong(**row["wrong"]) if "wrong" in row else None
    candidates = (row["better"], row["worse"]) if "better" in row else None
    return replace(record, reworded=(row["near"], row["far"]), wrong=wrong, candidates=candidates)


def read_records(path: Path, *, task: Task | None = None) -> list[Record]:
    """The records of a file; `NAME_sources.jsonl` beside it is joined on `doc`."""
    rows = with_aliases(read_rows(path), ("references", "source"), KNOWN)
    sources = read_sources(path)
    default = task or guess_task(rows)
    if not any("gold" in row.values for row in rows):
        rows = _from_references(rows)
    return among_themselves([_record(row, number, default, sources) for number, row in enumerate(rows)])


def _from_references(rows: Sequence[Row]) -> list[Row]:
    """Each first reference as the clean text, compared with the others or, where it is alone, with itself.

    Outputs of several systems share their references, which are then one record.
    """
    records: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        texts = tuple(filter(None, row.texts("references")))
        if not texts:
            problem = row.fail("column 'references' is empty: the clean text is taken from it")
            raise problem if "references" in row.values else row.missing("gold", " (or references)")
        values = {**row.values, "gold": texts[0], "references": list(texts[1:] or texts)}
        records.setdefault((texts, row.maybe("source"), row.texts("context")), replace(row, values=values))
    return list(records.values())


def read_text_sets(gold: Path, references: Path, *, task: Task = "open-ended") -> list[Record]:
    """Read two files with one text per line: paired line by line, or as two sets when open-ended."""
    golds, others = ([line.strip() for line in text_lines(path)] for path in (gold, references))
    for path, texts in ((gold, golds), (references, others)):
        if not texts:
            raise DataError(f"{path} holds no text; one text per line is expected")
    shared = [tuple(others)] * len(golds) if task == "open-ended" else [(other,) for other in others]
    if len(golds) != len(shared):
        raise DataError(
            f"{gold} has {len(golds)} lines, {references} has {len(others)}: they must pair line by line"
        )
    pairs = enumerate(zip(golds, shared, strict=True))
    return among_themselves([Record(f"{gold.stem}-{n}", text, task, refs) for n, (text, refs) in pairs])


def guess_task(rows: Sequence[Row]) -> Task:
    """The task that the first record names, or the one that columns suggest: their names, else lengths."""
    first = rows[0]
    if first.has("task"):
        return task_named(first.text("task"))
    if first.has("context"):
        return "dialogue"
    if not first.has("references"):
        return "open-ended"
    telling = {*first.values, *first.names.values()}
    if named := next((task for column, task in _TELLING.items() if column in telling), None):
        return named
    sources = sum(len(row.maybe("source") or "") for row in rows)
    texts = sum(len(text) for row in rows for text in (row.texts("gold") or row.texts("references"))[:1])
    return "summarisation" if sources > 3 * texts else "translation"


def _record(row: Row, number: int, task: Task, sources: dict[str, str]) -> Record:
    gold = row.text("gold")
    if not gold.strip():
        raise row.fail("column 'gold' is empty; a record needs the text to be tested")
    doc = row.values.get("doc")
    meta = row.unknown(KNOWN) | ({} if doc is None else {"doc": str(doc)})
    named = row.label("id") or f"{row.file.stem}-{number}"
    source = row.maybe("source") or sources.get(str(doc))
    record = Record(named, gold, task, row.texts("references"), source, row.texts("context"), (), meta)
    return replace(record, reworded=row.texts("reworded"), wrong=_wrong(row), candidates=_candidates(row))


def _wrong(row: Row) -> NearWrong | None:
    """The near-wrong text of a row: an object with `text`, `kind` and `severity`."""
    value = row.values.get("wrong")
    if value in (None, ""):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or not value["text"].strip():
        raise row.fail("column 'wrong' must be an object with a 'text' (and 'kind', 'severity')")
    severity = value.get("severity", "major")
    if severity not in SEVERITIES:
        raise row.fail(f"severity {severity!r} is none of {', '.join(SEVERITIES)}")
    return NearWrong(value["text"], str(value.get("kind", "error")), severity)


def _candidates(row: Row) -> tuple[str, str] | None:
    """The better and the worse candidate of a row: an object with `better` and `worse`."""
    value = row.values.get("candidates")
    if value in (None, ""):
        return None
    if not isinstance(value, dict) or not all(
        isinstance(value.get(side), str) for side in ("better", "worse")
    ):
        raise row.fail("column 'candidates' must be an object with the texts 'better' and 'worse'")
    return value["better"], value["worse"]


def among_themselves(records: Sequence[Record]) -> list[Record]:
    """Give each record the clean texts of its corpus, for perturbations that borrow from other items."""
    golds = tuple(record.gold for record in records)
    return [replace(record, others=golds) for record in records]
