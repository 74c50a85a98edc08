"""Task corpora as records: embedded ones by task, a user's files, and pairs of plain text files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from assay.core import NearWrong, Record
from assay.datasets.files import text_lines
from assay.datasets.headings import task_named_by
from assay.datasets.left_out import LeftOut
from assay.datasets.ratings import TEXT_FIELDS, human_ratings
from assay.datasets.rows import Row, every_row, read_sources, readable, with_aliases
from assay.errors import DataError, suggest
from assay.files import data_path, jsonl_file, toml_file
from assay.grouping import grouped
from assay.language import language_name
from assay.recipe import digest
from assay.vocabulary import TASKS, Language, Task

CORPORA: dict[Task, str] = toml_file("columns", "columns")["corpora"]
RECORD_COLUMNS = (
    "id",
    "gold",
    "references",
    "source",
    "task",
    "context",
    "doc",
    "reworded",
    "wrong",
    "candidates",
)
_RECOGNISED = (*TEXT_FIELDS, "human")
FEWEST_BETTER = 30  # texts by which a metric that is right nine times in ten surely reaches the bar of 75
ONLY_REFERENCE = (
    "the only reference would be the text itself: this needs a second reference, hypotheses, or "
    "--map gold=COLUMN"
)
SEVERITIES = ("minor", "major", "critical")


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
        return read_record_table(data_path("languages", language, "translation.jsonl"), task=task)
    records = read_record_table(data_path("corpora", f"{CORPORA[task]}.jsonl"), task=task)
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


def read_record_table(
    path: Path, *, task: Task | None = None, left_out: LeftOut | None = None
) -> list[Record]:
    """The records of a file; `NAME_sources.jsonl` beside it is joined on `doc`.

    The clean text is the column `gold`, else a hypothesis, else the first of several references. Rows that
    cannot be used are counted in `left_out`.
    """
    left_out = left_out or LeftOut(path)
    rows = every_row(path)
    has_gold = any("gold" in row.values for row in rows)
    rows = with_aliases(rows, ("references", "source") if has_gold else _RECOGNISED, RECORD_COLUMNS)
    columns = {column for row in rows for column in row.values}
    default = task or guess_task(readable(rows))
    read = partial(_record, default, read_sources(path))
    if has_gold:
        return among_themselves(left_out.keep(rows, read))
    if "hypothesis" in columns:
        chosen = better_rated(left_out.keep(rows, _written), left_out.remarks)
    else:
        chosen = _from_references(left_out.keep(rows, _referenced), left_out)
    return among_themselves([read(row, number) for number, row in enumerate(chosen)])


def _referenced(row: Row, number: int) -> Row:
    """The row with its references; one of them is the clean text."""
    if "references" not in row.values:
        raise row.missing("gold", " (or hypothesis, or references)")
    texts = row.filled("references")
    if not texts:
        raise row.fail(f"{row.called('references')} is empty: the clean text is taken from it")
    return row.with_values({"references": texts})


def _from_references(rows: Sequence[Row], left_out: LeftOut) -> list[Row]:
    """Each first reference as the clean text, compared with the others; a text is not tested by itself.

    Outputs of several systems share their references, which are then one record.
    """
    records: dict[tuple[Any, ...], Row] = {}
    alone = 0
    for row in rows:
        first, *others = dict.fromkeys(row.texts("references"))
        alone += not others
        if others:
            record = row.with_values({"gold": first, "references": others})
            records.setdefault((first, *others, row.maybe("source")), record)
    if not records:
        raise DataError(f"{left_out.path}: {ONLY_REFERENCE}")
    if alone:
        left_out.remarks.append(f"{alone:,} of {len(rows):,} texts left out: {ONLY_REFERENCE}")
    return list(records.values())


@dataclass(frozen=True, slots=True)
class _Written:
    """What one system wrote for one input, and how people rated it on each criterion."""

    row: Row
    ratings: Mapping[str, float]

    @property
    def input(self) -> tuple[Any, ...]:
        """What outputs for the same input share."""
        return (self.row.texts("references"), self.row.maybe("source"), self.row.texts("context"))


def _written(row: Row, number: int) -> _Written:
    """A hypothesis as the clean text of its row, with its references and its ratings."""
    hypothesis = row.text("hypothesis")
    if not hypothesis.strip():
        raise row.fail(f"{row.called('hypothesis')} is empty")
    references = row.filled("references")
    if "references" in row.values and not references:
        raise row.fail(f"{row.called('references')} is empty")
    doc = row.values.get("doc") or digest(*references, row.maybe("source") or "", *row.texts("context"))
    rated = {criterion: fmean(numbers) for criterion, numbers in human_ratings(row).items()}
    return _Written(row.with_values({"gold": hypothesis, "references": references, "doc": doc}), rated)


def better_rated(written: Sequence[_Written], remarks: list[str]) -> list[Row]:
    """One hypothesis for each input as its clean text: the better-rated half if enough are rated, else all.

    Of several for one input it is the one that people rate best, else one drawn by its content.
    """
    merits = _merits(written)
    by_input = grouped(range(len(written)), lambda place: written[place].input)
    chosen = [_best(written, merits, places) for places in by_input.values()]
    rated = sorted(merits.values())
    middle = rated[len(rated) // 2] if rated else 0.0
    better = [place for place in chosen if place in merits and merits[place] >= middle]
    if len(better) < FEWEST_BETTER:
        remarks.append(f"the clean texts are its {len(chosen):,} hypotheses, one for each input")
        return [written[place].row for place in chosen]
    remarks.append(
        f"the clean texts are {len(better):,} hypotheses, those rated in the better half of {len(rated):,}"
    )
    return [written[place].row for place in better]


def _merits(written: Sequence[_Written]) -> dict[int, float]:
    """Each rated hypothesis to its rating, in standard deviations and averaged over criteria."""
    merits: dict[int, list[float]] = {}
    for criterion in dict.fromkeys(name for one in written for name in one.ratings):
        rated = [place for place, one in enumerate(written) if criterion in one.ratings]
        values = [written[place].ratings[criterion] for place in rated]
        middle, spread = fmean(values), pstdev(values) or 1.0
        for place, value in zip(rated, values, strict=True):
            merits.setdefault(place, []).append((value - middle) / spread)
    return {place: fmean(values) for place, values in merits.items()}


def _best(written: Sequence[_Written], merits: Mapping[int, float], places: Sequence[int]) -> int:
    """Of the hypotheses for one input the best rated, else one by its content: the same for every metric."""
    rated = [place for place in places if place in merits]
    if rated:
        return max(rated, key=lambda place: merits[place])
    return min(places, key=lambda place: digest(written[place].row.text("gold")))


def read_text_sets(gold: Path, references: Path, *, task: Task = "open-ended") -> list[Record]:
    """Read two files with one text per line: paired line by line, or as two sets when open-ended."""
    golds, others = _texts_of(gold), _texts_of(references)
    shared = [tuple(others)] * len(golds) if task == "open-ended" else [(other,) for other in others]
    if len(golds) != len(shared):
        raise DataError(
            f"{gold} has {len(golds)} lines, {references} has {len(others)}: they must pair line by line"
        )
    pairs = enumerate(zip(golds, shared, strict=True))
    return among_themselves([Record(f"{gold.stem}-{n}", text, task, refs) for n, (text, refs) in pairs])


def _texts_of(path: Path) -> list[str]:
    """The texts of a file with one on each line; none at all is an error."""
    texts = [line.strip() for line in text_lines(path)]
    if not texts:
        raise DataError(f"{path} holds no text; one text per line is expected")
    return texts


def guess_task(rows: Sequence[Row]) -> Task:
    """The task that the first record names, or the one that columns suggest: their names, else lengths."""
    first = rows[0]
    if first.has("task"):
        return task_named(first.text("task"))
    if first.has("context"):
        return "dialogue"
    if not first.has("references"):
        return "open-ended"
    if named := task_named_by([*first.values, *first.names.values()]):
        return task_named(named)
    sources = sum(len(row.maybe("source") or "") for row in rows)
    texts = sum(len(text) for row in rows for text in (row.texts("gold") or row.texts("references"))[:1])
    return "summarisation" if sources > 3 * texts else "translation"


def _record(task: Task, sources: Mapping[str, str], row: Row, number: int) -> Record:
    gold = row.text("gold")
    if not gold.strip():
        raise row.fail("column 'gold' is empty; a record needs the text to be tested")
    doc = row.values.get("doc")
    meta = row.unknown(RECORD_COLUMNS) | ({} if doc is None else {"doc": str(doc)})
    named = row.label("id") or f"{row.file.stem}-{number}"
    source = row.maybe("source") or sources.get(str(doc))
    record = Record(named, gold, task, row.texts("references"), source, row.texts("context"), (), meta)
    return replace(record, reworded=row.texts("reworded"), wrong=_wrong(row), candidates=_candidates(row))


def _wrong(row: Row) -> NearWrong | None:
    """The near-wrong text of a row: an object with `text`, `kind` and `severity`."""
    if not row.has("wrong"):
        return None
    value = row.values["wrong"]
    (text,) = _texts_in(value, "text")
    if not text.strip():
        raise row.fail("column 'wrong' must be an object with a 'text' (and 'kind', 'severity')")
    severity = value.get("severity", "major")
    if severity not in SEVERITIES:
        raise row.fail(f"severity {severity!r} is none of {', '.join(SEVERITIES)}")
    return NearWrong(text, str(value.get("kind", "error")), severity)


def _texts_in(value: object, *keys: str) -> list[str]:
    """The texts under these keys of an object; empty where a key holds no text, or where it is no object."""
    members = value if isinstance(value, Mapping) else {}
    texts = [members.get(key) for key in keys]
    return [text if isinstance(text, str) else "" for text in texts]


def _candidates(row: Row) -> tuple[str, str] | None:
    """The better and the worse candidate of a row: an object with `better` and `worse`."""
    if not row.has("candidates"):
        return None
    better, worse = _texts_in(row.values["candidates"], "better", "worse")
    if not better or not worse:
        raise row.fail("column 'candidates' must be an object with the texts 'better' and 'worse'")
    return better, worse


def among_themselves(records: Sequence[Record]) -> list[Record]:
    """Give each record the clean texts of its corpus, for perturbations that borrow from other items."""
    golds = tuple(record.gold for record in records)
    return [replace(record, others=golds) for record in records]
