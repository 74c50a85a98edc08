"""Read JSON Lines, CSV, TSV and Parquet files as rows, and JSON files as entries; errors name the place.

`Row` is one record of a table, `Entry` one object of a JSON document. Their getters check presence and type.
`read_sources` reads the texts of `NAME_sources.jsonl` that belong to `NAME.jsonl`.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import Any, ClassVar

from assay.core import Image
from assay.errors import DataError, suggest
from assay.models.weights import file_digest

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet", ".tsv")


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file; the getters check presence and type."""

    unit: ClassVar[str] = "line"
    values: Mapping[str, Any]
    file: Path
    line: int

    def fail(self, problem: str) -> DataError:
        """Return an error that names file and line."""
        return DataError(f"{self.file}, {self.unit} {self.line}: {problem}")

    def has(self, column: str) -> bool:
        """Whether the column is present and not empty."""
        return self.values.get(column) not in (None, "", [])

    def text(self, column: str) -> str:
        """A required text."""
        if column not in self.values:
            raise self.fail(f"column {column!r} is missing{suggest(column, self.values)}")
        value = self.values[column]
        if not isinstance(value, str):
            raise self.fail(f"column {column!r} must be text, not {type(value).__name__}")
        return value

    def maybe(self, column: str) -> str | None:
        """A text, or None where the column is absent or null."""
        return self.text(column) if self.values.get(column) is not None else None

    def texts(self, column: str) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one, an absent column an empty list."""
        value = self.values.get(column)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
            raise self.fail(f"column {column!r} must be a list of texts")
        return tuple(value)

    def number(self, column: str) -> float | None:
        """A finite number, or None where it is absent (null, empty, nan)."""
        value = self.values.get(column)
        if value is None or value == "":
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.fail(f"column {column!r} must be a number, not {value!r}") from error
        if math.isinf(number):
            raise self.fail(f"column {column!r} is infinite")
        return None if math.isnan(number) else number

    def lacks_image(self) -> bool:
        """Whether the row names an image that is not in the data folder."""
        named = self.maybe("image")
        path = None if named is None else below(self.file.parent, named)
        return named is not None and (path is None or not path.is_file())

    def image(self) -> Image | None:
        """The image in the data folder that the row names, or None; paths cannot leave that folder."""
        named = self.maybe("image")
        if named is None:
            return None
        path = below(self.file.parent, named)
        if path is None:
            raise self.fail(f"image {named!r} lies outside the data folder")
        if not path.is_file():
            raise self.fail(f"image {named!r} is missing; put it beside the file or use --skip-missing")
        return Image(str(path), file_digest(path))

    def unknown(self, known: Sequence[str]) -> dict[str, Any]:
        """The columns that the reader does not know; they go into `meta`."""
        return {column: value for column, value in self.values.items() if column not in known}


def below(folder: Path, *parts: str) -> Path | None:
    """A path made of names found in data; None where it leaves the folder or is no valid path."""
    try:
        root = folder.resolve()
        path = root.joinpath(*parts).resolve()
        path.is_file()  # raises on a name that is too long
    except (OSError, ValueError):
        return None
    return path if path.is_relative_to(root) else None


def read_rows(path: Path) -> list[Row]:
    """All rows of a file; a file without rows is an error."""
    try:  # a missing path or a folder is reported before the file's ending
        is_folder = S_ISDIR(path.stat().st_mode)
    except OSError as error:
        raise _unreadable(path, error) from error
    if is_folder:
        raise DataError(f"{path} is a folder; give a file: {', '.join(SUFFIXES)}")
    if path.suffix not in SUFFIXES:
        ending = path.suffix or "a file without ending"
        raise DataError(f"{path}: cannot read {ending}; use {', '.join(SUFFIXES)}")
    readers = {".parquet": _parquet, ".csv": _table, ".tsv": _table}
    rows = list(readers.get(path.suffix, _json_lines)(path))
    if not rows:
        raise DataError(f"{path} holds no rows; give a file with at least one record")
    return rows


def read_sources(path: Path) -> dict[str, str]:
    """Document to source text, from `NAME_sources.jsonl` beside `NAME.jsonl`; empty where there is none."""
    beside = path.with_name(f"{path.stem}_sources{path.suffix}")
    if not beside.is_file():
        return {}
    return {str(row.values.get("doc")): row.text("source") for row in read_rows(beside)}


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"cannot read {path}: {error.strerror or error}; check the path and its permissions")


def read_text(path: Path) -> str:
    """Read a file as UTF-8; the error names the line of the first invalid byte."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8"
        ) from error


def text_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank."""
    return [line for line in read_text(path).split("\n") if line.strip()]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a duplicate key is an error, where Python would silently keep the last value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {twice!r} in one object")
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object)  # json.loads would build a decoder for every line


def json_value(text: str) -> Any:
    """Decode a JSON value; a lone surrogate (`\\ud800` without its other half) becomes U+FFFD."""
    value = _DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:
        return json.loads(whole_text(json.dumps(value, ensure_ascii=False)))
    return value


def whole_text(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, which no file and no tokeniser accepts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_lines(path: Path) -> Iterator[Row]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json_value(line)
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
            raise DataError(
                f"{path}, line {number}: not JSON ({error}); one record per line is expected"
            ) from error
        if not isinstance(values, dict):
            raise DataError(f'{path}, line {number}: a record must be an object like {{"id": ...}}')
        yield Row(values, path, number)


def _table(path: Path) -> Iterator[Row]:
    """Rows of CSV and TSV files with a header; a cell that is a JSON list or object is read as one."""
    csv.field_size_limit(100_000_000)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    try:
        table = csv.DictReader(io.StringIO(read_text(path)), delimiter=delimiter)
        if delimiter == "," and any("\t" in column for column in table.fieldnames or ()):
            raise DataError(f"{path}, line 1: the columns are separated by tabs; rename the file to .tsv")
        for number, values in enumerate(table, start=2):
            if None in values or None in values.values():
                raise DataError(f"{path}, line {number}: not as many cells as the header has columns")
            yield Row({column: _cell(value) for column, value in values.items()}, path, number)
    except csv.Error as error:
        raise DataError(f"{path}: not a table ({error})") from error


def _cell(value: str) -> Any:
    if value.startswith(("[", "{")) and value.endswith(("]", "}")):
        with suppress(ValueError, RecursionError):
            return json_value(value)
    return value


def _parquet(path: Path) -> Iterator[Row]:
    """Rows of a Parquet file, by pyarrow: polars panics on a damaged page instead of raising an error."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.ParquetFile(path).read().to_pylist()
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole Parquet file?") from error
    for number, values in enumerate(rows, start=1):
        yield Row(values, path, number)


@dataclass(frozen=True, slots=True)
class Entry(Row):
    """An object of a JSON document; errors name it by its position."""

    unit: ClassVar[str] = "entry"

    def members(self, column: str) -> list[Entry]:
        """The objects of a list within this entry."""
        value = self.values.get(column)
        if not isinstance(value, list):
            raise self.fail(f"column {column!r} must be a list of objects")
        return [self.inner(member, column) for member in value]

    def inner(self, value: object, name: str) -> Entry:
        """An object within this entry."""
        if not isinstance(value, Mapping):
            raise self.fail(f"{name!r} must hold an object, not {type(value).__name__}")
        return Entry(value, self.file, self.line)


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json_value(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); is it the whole file?") from error


def entries(value: object, path: Path, *, under: str | None = None) -> list[Entry]:
    """The members of a list of objects, or of an object of objects; `under` is the document's key for it."""
    if under is not None:
        if not isinstance(value, Mapping):
            raise DataError(f"{path}: an object is expected, not {type(value).__name__}")
        value = value.get(under)
    listed = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or not all(isinstance(member, Mapping) for member in listed):
        raise DataError(f"{path}: a list of objects is expected")
    if not listed:
        raise DataError(f"{path} holds no entries")
    return [Entry(member, path, number) for number, member in enumerate(listed, start=1)]
