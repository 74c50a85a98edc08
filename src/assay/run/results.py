"""A finished run, in memory and in its folder: run.json, three Parquet tables, explanations.jsonl."""

from __future__ import annotations

import dataclasses
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from assay.core import Case, Explanation, Finding, Scored
from assay.datasets.rows import whole_text
from assay.errors import CacheError, unwritable

Schema = dict[str, pl.DataType | type[pl.DataType]]
FINDINGS: Schema = {
    "metric": pl.String, "audit": pl.String, "slice": pl.String, "statistic": pl.String, "versus": pl.String,
    "value": pl.Float64, "n": pl.Int64, "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64,
    "q_value": pl.Float64, "mde": pl.Float64, "verdict": pl.String, "passed": pl.Boolean,
    "sentence": pl.String, "evidence": pl.List(pl.String),
}  # fmt: skip
CASES: Schema = {
    "audit": pl.String, "case": pl.String, "slice": pl.String, "role": pl.String, "hypothesis": pl.String,
    "references": pl.List(pl.String), "source": pl.String, "meta": pl.String,
}  # fmt: skip
SCORES: Schema = {
    "audit": pl.String, "metric": pl.String, "case": pl.String, "role": pl.String, "score": pl.Float64,
}  # fmt: skip
TABLES = {"findings": FINDINGS, "cases": CASES, "scores": SCORES}
RUN = "run.json"  # the mark of a run folder
_ALWAYS = ("assay", "metrics", "audits", "notes")  # in run.json; the rest a report can do without
_SHAPES = {
    "assay": str, "metrics": dict, "audits": dict, "notes": list, "size": str, "packages": dict,
    "seconds": dict, "computed": dict,
}  # fmt: skip
_DOCUMENT = (
    "metric", "audit", "slice", "statistic", "versus", "value", "n", "ci", "p_value", "q_value", "mde",
    "verdict", "passed", "evidence",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation of one sample's score, and where it belongs."""

    metric: str
    audit: str
    case: str
    role: str
    explanation: Explanation


@dataclass(frozen=True)
class Run:
    """Findings with the cases and scores they rest on, and a description of the run."""

    findings: pl.DataFrame
    cases: pl.DataFrame
    scores: pl.DataFrame
    explanations: Sequence[Explained] = ()
    about: Mapping[str, Any] = field(default_factory=dict)  # run.json
    folder: Path | None = None

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        return list(self.about.get("notes", []))

    @property
    def metrics(self) -> list[str]:
        """The metrics of the run, in the order they were given."""
        return list(self.about.get("metrics", {}))

    def document(self) -> dict[str, Any]:
        """What `--json` prints: no times in it, so that equal runs print equal bytes."""
        return {
            "assay": self.about.get("assay"),
            "findings": [_finding_document(row) for row in self.findings.iter_rows(named=True)],
            "notes": self.notes,
        }

    def json(self) -> str:
        """The document as text."""
        return json.dumps(self.document(), ensure_ascii=False, indent=1, allow_nan=False)

    def save(self, folder: Path) -> Run:
        """Write the run folder, whole or not at all; the run remembers where."""
        lines = [json.dumps(dataclasses.asdict(e), ensure_ascii=True) for e in self.explanations]
        texts = {
            "explanations.jsonl": "".join(f"{line}\n" for line in lines),
            RUN: json.dumps(self.about, indent=1, default=str),
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
                for name in TABLES:
                    getattr(self, name).write_parquet(Path(scratch) / f"{name}.parquet")
                for name, text in texts.items():
                    (Path(scratch) / name).write_text(text, "utf-8")
                for path in Path(scratch).iterdir():
                    path.replace(folder / path.name)
        except (OSError, pl.exceptions.ComputeError) as error:  # polars wraps a full disk
            raise unwritable(folder, error) from error
        return dataclasses.replace(self, folder=folder)

    def _repr_html_(self) -> str:
        return str(self.findings._repr_html_())


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named; an error becomes a message, not a traceback after the work."""
    try:
        path.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise unwritable(path, error) from error


def check_writable(folder: Path, mark: str = RUN) -> None:
    """Refuse a folder before the work rather than after it; one that was not there is not left behind.

    `mark` is the file that marks an earlier result of the same kind: such a folder may be written over, and
    so may an empty one, but never one with files of the user's own.
    """
    try:
        files = sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    except OSError as error:
        raise unwritable(folder, error) from error
    others = [name for name in files if not name.startswith(".")]
    if others and mark not in files:
        raise CacheError(
            f"{folder} holds {others[0]!r} and no {mark}: files of yours could be written over; "
            f"give --out a new or empty folder, or that of an earlier result"
        )
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    with suppress(OSError):  # somebody else has put something there
        for path in new:
            path.rmdir()


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to; an error becomes a message."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".assay-probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from error


def load_run(folder: Path) -> Run:
    """Read a run folder."""
    if not (folder / RUN).is_file():
        raise CacheError(f"{folder} is not a run folder (no {RUN}); give the folder of an earlier run")
    about = load_about(folder)
    frames = {name: _read_table(folder / f"{name}.parquet", schema) for name, schema in TABLES.items()}
    with _reading(folder / "explanations.jsonl") as path:
        explanations = [_parse_explained(line) for line in path.read_text("utf-8").splitlines()]
    return Run(**frames, explanations=explanations, about=about, folder=folder)


def load_about(folder: Path) -> dict[str, Any]:
    """The content of run.json, checked; the tables are not read."""
    with _reading(folder / RUN) as path:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        _check_about(about)
    return about


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turn whatever a damaged file of a run raises into a message that names the file."""
    try:
        yield path
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
            pl.exceptions.PolarsError, pa.ArrowException) as error:  # fmt: skip
        problem = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise CacheError(f"{path} is damaged: {problem}; run the audit again, scores are cached") from error


def _read_table(path: Path, schema: Schema) -> pl.DataFrame:
    """A table of the run, read by pyarrow: polars panics if a page or the metadata is damaged."""
    with _reading(path):
        stored = pq.ParquetFile(path).read(columns=list(schema))
        table = pa.table({name: stored.column(name) for name in schema})  # without metadata
        table.validate(full=True)
        return pl.DataFrame(table).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _check_about(about: Any) -> None:
    """Refuse a run.json without the keys and shapes that reports rely on."""
    if not isinstance(about, dict):
        raise ValueError("it is not that of a run")
    for key in _ALWAYS:
        if key not in about:
            raise KeyError(key)
    for key, kind in _SHAPES.items():
        if not isinstance(about.get(key, kind()), kind):
            raise ValueError(f"its {key!r} is not that of a run")
    parts = [*about["metrics"].values(), *about["audits"].values()]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("its metrics or audits are not those of a run")
    if not all(isinstance(note, str) for note in about["notes"]):
        raise ValueError("its notes are not texts")


def _parse_explained(line: str) -> Explained:
    fields = json.loads(line)
    inner = fields.pop("explanation")
    explanation = Explanation(
        inner["kind"], tuple(inner["rows"]), tuple(inner["columns"]), tuple(map(tuple, inner["values"]))
    )
    return Explained(**fields, explanation=explanation)


def findings_frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """One row per finding, in the given order."""
    rows = []
    for finding in findings:
        low, high = finding.ci or (None, None)
        row = {name: getattr(finding, name) for name in FINDINGS if not name.startswith("ci_")}
        rows.append(row | {"ci_low": low, "ci_high": high, "evidence": list(finding.evidence)})
    return pl.DataFrame(rows, schema=FINDINGS)


def cases_frame(work: Mapping[str, Sequence[Case]]) -> pl.DataFrame:
    """The samples of every case, one row per role."""
    rows = []
    for audit, cases in work.items():
        for case in cases:
            meta = json.dumps(case.meta, ensure_ascii=True, default=str, sort_keys=True) if case.meta else ""
            rows += [
                (audit, case.id, case.slice, role, s.hypothesis, list(s.references), s.source, meta)
                for role, s in case.samples.items()
            ]
    try:
        return pl.DataFrame(rows, schema=CASES, orient="row")
    except UnicodeEncodeError:  # samples made in code may hold half a surrogate pair
        return pl.DataFrame([_with_whole_texts(row) for row in rows], schema=CASES, orient="row")


def _with_whole_texts(cell: Any) -> Any:
    if isinstance(cell, tuple | list):
        return [_with_whole_texts(part) for part in cell]
    return whole_text(cell) if isinstance(cell, str) else cell


def scores_frame(scored: Mapping[str, Sequence[Scored]]) -> pl.DataFrame:
    """One row per score; absent scores are null."""
    frames = [pl.DataFrame(schema=SCORES)]
    for audit, answers in scored.items():
        for answer in answers:
            labels = {"audit": audit, "metric": answer.metric, "case": [case.id for case in answer.cases]}
            for role, values in answer.values.items():
                frames.append(pl.DataFrame(labels | {"role": role, "score": values}, schema=SCORES))
    return pl.concat(frames).fill_nan(None)


def _finding_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as JSON: `ci` as a pair, None for numbers that are not finite."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    has_interval = row["ci_low"] is not None and row["ci_high"] is not None
    finite["ci"] = [finite["ci_low"], finite["ci_high"]] if has_interval else None
    finite["evidence"] = list(row["evidence"] or [])
    return {name: finite[name] for name in _DOCUMENT}
