"""A finished run, in memory and in its folder: run.json, three Parquet tables, explanations.jsonl."""

from __future__ import annotations

import dataclasses
import fcntl
import importlib.util
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa

from assay import __version__
from assay.core import Case, Explanation, Finding, Scored
from assay.datasets.files import read_parquet, whole_text
from assay.errors import CacheError, DataError, SpecError, unwritable
from assay.files import MAX_UNPACKED, file_digest, toml_file

Schema = dict[str, pl.DataType | type[pl.DataType]]
_FACTS = toml_file("run", "run")
_KINDS: Schema = {
    "text": pl.String,
    "texts": pl.List(pl.String),
    "number": pl.Float64,
    "count": pl.Int64,
    "flag": pl.Boolean,
}
TABLES: dict[str, Schema] = {
    table: {name: _KINDS[kind] for name, kind in columns.items()}
    for table, columns in _FACTS["tables"].items()
}
FINDINGS, CASES, SCORES = TABLES.values()
RUN, REPORT = "run.json", "report.html"  # the first is the mark of a run folder
_EXPLANATIONS = "explanations.jsonl"
_FILES = (*(f"{name}.parquet" for name in TABLES), _EXPLANATIONS)
_SAVING = ".saving"  # the folder in which a run's files wait until its run.json is in place
_FRAME_CASES = 100_000  # cases whose rows are in memory at a time, before they are a frame
_HARMLESS = (".gitignore", ".gitkeep", ".DS_Store")
_ALWAYS = ("assay", "metrics", "audits", "notes")  # in run.json; the rest a report can do without
_SHAPES = {
    "assay": str, "metrics": dict, "audits": dict, "notes": list, "size": str, "packages": dict,
    "seconds": dict, "computed": dict, "files": dict,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation of one sample's score, and where it belongs."""

    metric: str
    audit: str
    case: str
    role: str
    explanation: Explanation


@dataclass(frozen=True)
class StoredRun:
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
    def whose(self) -> str:
        """Whose texts the run speaks of, where some are the user's."""
        return str(self.about.get("texts", {}).get("sentence", ""))

    @property
    def metrics(self) -> list[str]:
        """The metrics of the run, in the order they were given."""
        return list(self.about.get("metrics", {}))

    def to_pandas(self) -> Any:
        """The findings as a table of pandas."""
        if importlib.util.find_spec("pandas") is None:
            raise SpecError("to_pandas needs pandas: pip install pandas; run.findings is a table of polars")
        return self.findings.to_pandas()

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

    def save(self, folder: Path | str) -> Self:
        """Write the run folder; the run remembers where.

        A kill at any moment leaves one whole run: run.json, which has the digests of the other files, takes
        the old one's place in one step, and the others are read where they wait until they are in theirs.
        """
        folder = Path(folder)
        waiting = folder / _SAVING
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder):
                _finish_save(folder)  # one that was cut off
                waiting.mkdir()
                try:
                    about = {**self.about, "files": self._write_files(waiting)}
                    (waiting / RUN).write_text(json.dumps(about, indent=1, default=str), "utf-8")
                    (folder / REPORT).unlink(missing_ok=True)  # it shows the run that was here before
                    (waiting / RUN).replace(folder / RUN)
                finally:
                    _finish_save(folder)
        except (OSError, pl.exceptions.ComputeError) as error:  # polars wraps a full disk
            raise unwritable(folder, error) from error
        return dataclasses.replace(self, folder=folder, about=about)

    def _write_files(self, scratch: Path) -> dict[str, str]:
        """Write all but run.json; returns their digests."""
        for name in TABLES:
            getattr(self, name).write_parquet(scratch / f"{name}.parquet")
        lines = (json.dumps(reason, ensure_ascii=True, default=_fields) for reason in self.explanations)
        (scratch / _EXPLANATIONS).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return {path.name: file_digest(path) for path in sorted(scratch.iterdir())}


def _fields(thing: Any) -> dict[str, Any]:
    """The fields of an explanation, for JSON."""
    return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}


def _finish_save(folder: Path) -> None:
    """Move the files that wait for the folder's run.json into place, and remove those that do not."""
    waiting = folder / _SAVING
    if waiting.is_symlink():
        waiting.unlink()
    if waiting.is_dir():
        for name, digest in _about_if_any(folder).get("files", {}).items():
            if (path := _place(folder, name, digest)).parent == waiting:
                path.replace(folder / name)
        shutil.rmtree(waiting)


def _place(folder: Path, name: str, digest: str | None) -> Path:
    """Where a file of the run lies: in the folder, or where a save that was cut off has left it."""
    path = folder / _SAVING / name
    linked = path.is_symlink() or path.parent.is_symlink()
    return path if not linked and path.is_file() and file_digest(path) == digest else folder / name


@contextmanager
def locked(folder: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Let one process at a time write to a run's folder; where the system has no locks, all may."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, in the place of a link and never through it; errors are messages."""
    is_file = path.is_symlink() or path.is_file() or not path.exists()
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if not is_file or path.is_relative_to("/dev"):  # such as /dev/stdout, or a pipe that the user named
            path.write_text(text, "utf-8", errors="replace")
            return
        try:
            with scratch.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error) from error


def check_writable(folder: Path, mark: str = RUN) -> None:
    """Refuse a folder before the work rather than after it; one that was not there is not left behind.

    `mark` is the file that marks an earlier result of the same kind: such a folder may be written over, and
    so may an empty one, but never one with files of the user's own.
    """
    if file := _file_of_others(folder, mark):
        raise CacheError(
            f"{folder} holds {file!r} and no {mark} of ours: files of yours could be written over; "
            f"give --out a new or empty folder, or that of an earlier result"
        )
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    with suppress(OSError):  # somebody else has put something there
        for path in new:
            path.rmdir()


def _file_of_others(folder: Path, mark: str) -> str:
    """A file in a folder that could be the user's; empty where there is none, or a result of ours."""
    try:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise unwritable(folder, error) from error
    of_system = len(folder.resolve().parts) <= 2  # /usr, /var: folders alone are enough to refuse it
    files = [path.name for path in paths if of_system or not path.is_dir()]
    others = [name for name in files if name not in _HARMLESS]
    is_ours = mark in others and (mark != RUN or bool(_writer(folder)))
    return "" if is_ours or not others else others[0]


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to; an error becomes a message."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(folder, error) from error


def load_run(folder: Path | str) -> StoredRun:
    """Read a run folder."""
    folder = Path(folder)
    if not (folder / RUN).is_file():
        raise CacheError(f"{folder} is not a run folder (no {RUN}); give the folder of an earlier run")
    with locked(folder, fcntl.LOCK_SH), _of_this_version(folder):
        about = load_about(folder)
        paths = _checked_paths(folder, about)
        frames = {name: _read_table(paths[f"{name}.parquet"], schema) for name, schema in TABLES.items()}
        with _reading(paths[_EXPLANATIONS]) as path:
            explanations = [_parse_explained(line) for line in path.read_text("utf-8").splitlines()]
    return StoredRun(**frames, explanations=explanations, about=about, folder=folder)


def load_findings(folder: Path) -> pl.DataFrame:
    """The findings of a run folder, without the rest."""
    with _of_this_version(folder):
        return _read_table(_checked_paths(folder, load_about(folder))[_FILES[0]], FINDINGS)


@contextmanager
def _of_this_version(folder: Path) -> Iterator[None]:
    """Say which version wrote a folder that cannot be read, where that is why; it is not damaged then."""
    try:
        yield
    except CacheError as error:
        writer = _writer(folder)
        if not isinstance(writer, str) or _release(writer) == _release(__version__):
            raise
        raise CacheError(
            f"{folder} was written by assay {writer}, whose tables {__version__} does not read; run the "
            f"audit again (scores that still hold are kept, a judge's answers always), or install "
            f"nlg-assay=={writer} to read it"
        ) from error


def _writer(folder: Path) -> object:
    """The version that run.json names, whatever else it holds; None where it names none."""
    with suppress(CacheError), _reading(folder / RUN) as path:
        return json.loads(path.read_text("utf-8"))["assay"]
    return None


def _release(version: str) -> list[str]:
    """The part of a version within which tables stay the same."""
    return version.split(".")[:2]


def _checked_paths(folder: Path, about: Mapping[str, Any]) -> dict[str, Path]:
    """Where the files of a run lie, each with the digest that its run.json has."""
    digests = about.get("files", {})
    paths = {name: _place(folder, name, digests.get(name)) for name in _FILES}
    for name, digest in digests.items():
        with _reading(paths[name]) as path:
            if file_digest(path) != digest:
                raise ValueError("it is not the file that this run saved")
    return paths


def _about_if_any(folder: Path) -> dict[str, Any]:
    """The content of run.json; empty where there is none of ours."""
    try:
        return load_about(folder)
    except CacheError:
        return {}


def load_about(folder: Path) -> dict[str, Any]:
    """The content of run.json, checked; the tables are not read."""
    with _reading(folder / RUN) as path:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        _check_about(about)
    return about


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turn whatever a damaged file of a run raises into a message that names the file.

    A link, a pipe, a device or a file of gigabytes is no file of a run.
    """
    try:
        status = path.lstat()
        if not S_ISREG(status.st_mode) or status.st_size > MAX_UNPACKED:
            raise ValueError(f"it is no plain file of at most {MAX_UNPACKED:,} bytes")
        yield path
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
            MemoryError, DataError, pl.exceptions.PolarsError, pa.ArrowException) as error:  # fmt: skip
        problem = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise CacheError(f"{path} is damaged: {problem}; run the audit again, scores are cached") from error


def _read_table(path: Path, schema: Schema) -> pl.DataFrame:
    """A table of the run, read by pyarrow: polars panics if a page or the metadata is damaged."""
    with _reading(path):
        stored = read_parquet(path, list(schema))
        table = pa.table({name: stored.column(name) for name in schema})  # without metadata
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
    if not set(about.get("files", {})) <= set(_FILES):
        raise ValueError("its 'files' are not those of a run")
    parts = [*about["metrics"].values(), *about["audits"].values()]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("its metrics or audits are not those of a run")
    if not all(isinstance(note, str) for note in about["notes"]):
        raise ValueError("its notes are not texts")


def _parse_explained(line: str) -> Explained:
    fields = json.loads(line)
    return Explained(**fields | {"explanation": Explanation.read(fields["explanation"])})


def findings_frame(findings: Iterable[Finding]) -> pl.DataFrame:
    """One row per finding, in the given order."""
    rows = []
    for finding in findings:
        low, high = finding.ci or (None, None)
        row = {name: getattr(finding, name) for name in FINDINGS if not name.startswith("ci_")}
        rows.append(row | {"ci_low": low, "ci_high": high, "evidence": list(finding.evidence)})
    return pl.DataFrame(rows, schema=FINDINGS)


def cases_frame(work: Mapping[str, Sequence[Case]]) -> pl.DataFrame:
    """The samples of every case, one row per role; made in parts, since rows are larger than their frame."""
    cases = [(audit, case) for audit, listed in work.items() for case in listed]
    starts = range(0, len(cases), _FRAME_CASES)
    frames = [_part_frame(cases[start : start + _FRAME_CASES]) for start in starts]
    return pl.concat([pl.DataFrame(schema=CASES), *frames])


def _part_frame(cases: Sequence[tuple[str, Case]]) -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for audit, case in cases:
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
    """One row per metric, case and role that has a score."""
    frames = [pl.DataFrame(schema=SCORES)]
    for audit, answers in scored.items():
        for answer in answers:
            frames += _answer_frames(audit, answer)
    return pl.concat(frames)


def _answer_frames(audit: str, answer: Scored) -> Iterator[pl.DataFrame]:
    """The scores of one metric in one audit, role by role; many roles belong to few of the cases."""
    ids = np.array([case.id for case in answer.cases], dtype=object)
    places = {role: np.flatnonzero(~np.isnan(values)) for role, values in answer.values.items()}
    if not any(rows.size for rows in places.values()):
        return
    sizes = [rows.size for rows in places.values()]
    columns = {
        "case": ids[np.concatenate(list(places.values()))].tolist(),
        "role": np.repeat(np.array(list(places), dtype=object), sizes).tolist(),
        "score": np.concatenate([answer.values[role][rows] for role, rows in places.items()]),
    }
    names = {"audit": audit, "metric": answer.metric}
    yield pl.DataFrame(names | columns, schema=SCORES)


def _finding_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as JSON: `ci` as a pair, None for numbers that are not finite."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    has_interval = row["ci_low"] is not None and row["ci_high"] is not None
    finite["ci"] = [finite["ci_low"], finite["ci_high"]] if has_interval else None
    finite["evidence"] = list(row["evidence"] or [])
    return {name: finite[name] for name in _FACTS["document"]}
