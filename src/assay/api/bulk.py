"""Files to scores: of one file as a table, of many larger than memory as one Parquet file of scores each.

Files are read in blocks. A part is written whole or not at all, so that a stopped run goes on with the parts
that are missing. On a Ray cluster every part is one task: workers read and write their own files.
"""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.api.scores import score_chunks, score_counted
from assay.api.whose import alias_notes, encoding_notes
from assay.core import Measure, Sample
from assay.datasets.columns import DataFile
from assay.datasets.left_out import LeftOut
from assay.datasets.ratings import CHUNK, RATING_COLUMNS, TEXT_FIELDS, stream_samples
from assay.datasets.rows import first_rows, recognise
from assay.engine.cache import ScoreCache
from assay.engine.session import Session
from assay.engine.unfold import metric_notes, missing_field
from assay.engine.workers.local import LocalEngine
from assay.engine.workers.ray import RayEngine, map_tasks
from assay.errors import DataError, SpecError, nearest
from assay.files import file_digest
from assay.vocabulary import OnError

BLOCK = 20_000  # rows in memory at once
_KEY = b"assay"  # what the scores were made from, in the metadata of their file


@dataclass(frozen=True, slots=True)
class Part:
    """One file to score, and where its scores go."""

    source: Path
    target: Path
    columns: dict[str, tuple[str, ...]]
    skip_missing: bool = False
    on_error: OnError = "stop"
    timeout: float | None = None
    any_language: bool = False

    @property
    def data(self) -> Path:
        """The file with the user's names of its columns (which do not travel to another process with it)."""
        return DataFile.of(self.source, self.columns) if self.columns else self.source

    def recipe(self, measures: Sequence[Measure]) -> bytes:
        """What decides the scores: the metrics, the content of the file and the names of its columns."""
        signatures = [[measure.label, measure.metric.signature, measure.output] for measure in measures]
        made = {"data": file_digest(self.source), "columns": self.columns, "metrics": signatures}
        return json.dumps(made, sort_keys=True).encode()


@dataclass(slots=True)
class PartCounts:
    """What scoring a part, or all of them, counted."""

    rows: int = 0
    notes: dict[str, Counter[str]] = field(default_factory=dict)  # by metric
    failures: list[str] = field(default_factory=list)
    kept: int = 0  # parts that an earlier run had scored

    def add(self, other: PartCounts) -> None:
        self.rows, self.kept = self.rows + other.rows, self.kept + other.kept
        self.failures += other.failures
        for label, counts in other.notes.items():
            self.notes.setdefault(label, Counter()).update(counts)

    def sentences(self) -> list[str]:
        kept = [f"{self.kept} parts were scored before and are kept"] if self.kept else []
        notes = [*metric_notes(self.notes, self.rows), *self.failures]
        return [*kept, *notes, f"{self.rows:,} rows have scores"]


def score_file(
    measures: Sequence[Measure], file: Path, session: Session, *, skip_missing: bool, limit: int | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """The scores of a file beside its ids, and notes. Refuses a metric that can score no row of it."""
    aliases = recognise(first_rows(file, limit), TEXT_FIELDS)
    left_out = LeftOut(file)
    ids: list[str] = []
    lacks: list[set[str | None]] = [set() for _ in measures]

    def samples() -> Iterator[list[Sample]]:
        for chunk in stream_samples(file, skip_missing=skip_missing, limit=limit, left_out=left_out):
            ids.extend(item.id for item in chunk)
            for given, needs in zip(measures, lacks, strict=True):
                needs |= {missing_field(given.metric, item.sample) for item in chunk}
                if len(chunk) < CHUNK and None not in needs:  # the last chunk, mostly the only one
                    raise DataError(f"{given.label} needs {_explain(sorted(filter(None, needs)), file)}")
            yield [item.sample for item in chunk]

    frame, notes = score_chunks(measures, samples(), session=session)
    frame.insert_column(0, pl.Series("id", ids))
    return frame, [*encoding_notes(file), *alias_notes(file, aliases), *left_out.sentences(), *notes]


def _explain(needs: Sequence[str], data: Path) -> str:
    """Why the rows of a file lack what is needed: a column that is not there, or one without values."""
    columns = list(dict.fromkeys(column for row in first_rows(data) for column in row.values))
    absent = [need for need in needs if not {need, need.rstrip("s")} & set(columns)]
    if not absent:
        empty = "the files are missing, or the column is empty" if "image" in needs else "the column is empty"
        return f"{' and '.join(needs)}, which no row of {data} has: {empty}; fill it, or take another metric"
    advice = f"; name it with --map {absent[0]}=COLUMN, add a column {absent[0]}, or take another metric"
    for column in columns:
        meant = None if column in RATING_COLUMNS else nearest(column, absent)
        if meant:
            advice = f"; did you mean {meant}? Write --map {shlex.quote(f'{meant}={column}')}"
            break
    return f"{' and '.join(needs)}; {data} has columns {', '.join(columns)}{advice}"


def score_parts(measures: Sequence[Measure], parts: Sequence[Part], session: Session) -> PartCounts:
    """Score every part that has no scores yet, with one bar of progress over all of them."""
    for measure in measures:
        if measure.metric.fitted([("a",), ("b",)]) is not measure.metric:
            raise SpecError(
                f"{measure.label} weighs words by the references of all rows, which are never in memory at "
                f"once here; leave out --out, or take a metric that scores each row by itself"
            )
    total, engine = PartCounts(), session.engine
    if isinstance(engine, RayEngine):
        answers = map_tasks(engine, score_part, list(measures), parts)
    else:
        answers = (score_part(measures, part, engine) for part in parts)
    with session, session.progress.task("parts", len(parts)) as counter:
        for counts in answers:
            total.add(counts)
            counter.advance(1)
    return total


def score_part(measures: Sequence[Measure], part: Part, engine: Any = None) -> PartCounts:
    """Score one file, block by block, and put its scores in place when they are whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    recipe = part.recipe(measures)
    if _recipe_of(part.target) == recipe:
        return PartCounts(pq.ParquetFile(part.target).metadata.num_rows, kept=1)
    columns = [("id", pa.string()), *((measure.label, pa.float64()) for measure in measures)]
    schema = pa.schema(columns, metadata={_KEY: recipe})
    half = part.target.with_name(f".{part.target.name}.{os.getpid()}")
    total = PartCounts()
    engine = engine or LocalEngine(1, part.timeout)
    try:
        with pq.ParquetWriter(half, schema, compression="zstd") as writer:
            left_out = LeftOut(part.source)
            blocks = stream_samples(part.data, skip_missing=part.skip_missing, size=BLOCK, left_out=left_out)
            for block in blocks:
                session = Session(
                    ScoreCache(None), engine, on_error=part.on_error, any_language=part.any_language
                )
                samples = [item.sample for item in block]
                with session:
                    scores, counts = score_counted(measures, samples, session)
                values = [pa.array(column, from_pandas=True) for column in scores.values()]
                writer.write_table(pa.table([[item.id for item in block], *values], schema))
                total.add(PartCounts(len(block), counts, session.failures))
            total.failures += left_out.sentences()
        half.replace(part.target)
    finally:
        half.unlink(missing_ok=True)
    return total


def _recipe_of(target: Path) -> bytes | None:
    """What a file of scores was made from; None where it is absent or not whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return (pq.read_schema(target).metadata or {}).get(_KEY)
    except (OSError, pa.ArrowException):
        return None


def parts_of(files: Sequence[Path], out: Path, template: Part) -> list[Part]:
    """One part per file. Refuses to overwrite what is not a file of scores, or the scores of another file."""
    names = Counter(file.name for file in files)
    for file in files:
        if not file.is_file():
            raise DataError(f"there is no file {file}; check the path or the pattern of --data")
        if names[file.name] > 1:
            raise DataError(f"two files are called {file.name}; each needs a name of its own in {out}")
    stems = [file.name.removesuffix(".gz").rpartition(".")[0] or file.name for file in files]
    parts = [
        replace(template, source=file, target=out / f"{stem}.parquet")
        for file, stem in zip(files, stems, strict=True)
    ]
    for part in parts:
        if part.target.exists() and _recipe_of(part.target) is None:
            raise DataError(f"{part.target} holds no scores and would be overwritten; choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    return parts
