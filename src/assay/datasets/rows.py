"""Read JSON Lines, CSV, TSV and Parquet files as rows, and JSON files as entries; errors name the place.

`Row` is one record of a table or one object of a JSON document; its getters check presence and type. Columns
are renamed as the user's `--map` says, and `with_aliases` recognises common names of other tools.
`read_sources` reads `NAME_sources.jsonl`, the texts that belong to `NAME.jsonl`.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

from assay.core import Image
from assay.datasets.columns import ALIASES, FIELDS, Columns, DataFile, table_of
from assay.errors import DataError, nearest
from assay.models.weights import MAX_UNPACKED, file_digest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet", ".tsv")
_READABLE = (*SUFFIXES, ".json", ".gz")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_BATCH = 10_000  # rows of a Parquet file in memory at once
_SNIFFED = 1000  # rows by which the separator of a table is chosen
_MQM = {"rater", "category", "severity"}  # the columns of a table of translation errors


class MissingColumn(DataError):
    """A column is missing that the reader needs: the file may be in another form."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file; the getters check presence and type."""

    values: Mapping[str, Any]
    file: Path
    line: int
    header: int | None = None  # the line that names the columns, in a table
    names: Mapping[str, str] = field(default_factory=dict)  # a field to the user's name of its column
    unit: str = "line"

    def fail(self, problem: str) -> DataError:
        """Return an error that names file and line."""
        return DataError(f"{self.file}, {self.unit} {self.line}: {problem}")

    def fail_header(self, problem: str) -> DataError:
        """Return an error about the columns; it names the line of the header."""
        return DataError(f"{self.file}, {self.unit} {self.header or self.line}: {problem}")

    def called(self, column: str) -> str:
        """The column in an error message, by the user's name for it."""
        name = self.names.get(column)
        return f"column {name!r} (read as {column})" if name else f"column {column!r}"

    def has(self, column: str) -> bool:
        """Whether the column is present and not empty."""
        return self.values.get(column) not in (None, "", [])

    def missing(self, column: str, purpose: str = "") -> MissingColumn:
        """The error for a column that is not there, with the `--map` that would name it."""
        listed = ", ".join(self.names.get(name) or name for name in self.values)
        unused = [name for name in self.values if name not in self.names and name not in FIELDS]
        similar = [near for name in (column, *ALIASES.get(column, ())) if (near := nearest(name, unused))]
        problem = f"column {column!r}{purpose} is missing; its columns are {listed}"
        way = f"{similar[0]} (the nearest)" if similar else "COLUMN with one of these"
        error = self.fail_header(f"{problem}; name the one to read: --map {column}={way}")
        return MissingColumn(str(error))

    def text(self, column: str) -> str:
        """A required text."""
        if column not in self.values:
            raise self.missing(column)
        value = self.values[column]
        if not isinstance(value, str):
            raise self.fail(f"{self.called(column)} must be text, not {type(value).__name__}")
        return value

    def label(self, column: str) -> str | None:
        """A name or a whole number as text, or None where it is absent or empty."""
        value = self.values.get(column)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.fail(f"{self.called(column)} must be a name or a whole number, not {value!r}")
        return str(value)

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
            raise self.fail(f"{self.called(column)} must be a list of texts")
        return tuple(value)

    def number(self, column: str) -> float | None:
        """A finite number, or None where it is absent (null, empty, nan)."""
        value = self.values.get(column)
        if value is None or value == "":
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.fail(f"{self.called(column)} must be a number, not {value!r}") from error
        if math.isinf(number):
            raise self.fail(f"{self.called(column)} is infinite")
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
            raise self.fail(f"{self.called('image')}: image {named!r} lies outside the data folder")
        if not path.is_file():
            raise self.fail(
                f"{self.called('image')}: image {named!r} is missing; put it beside the file or use "
                "--skip-missing"
            )
        return Image(str(path), file_digest(path))

    def members(self, column: str) -> list[Row]:
        """The objects of a list in a column."""
        value = self.values.get(column)
        if not isinstance(value, list):
            raise self.fail(f"{self.called(column)} must be a list of objects")
        return [self.inner(member, column) for member in value]

    def object(self, column: str) -> Row:
        """The object in a column."""
        return self.inner(self.values.get(column), column)

    def inner(self, value: Any, name: str) -> Row:
        """An object within this one."""
        if not isinstance(value, Mapping):
            raise self.fail(f"{name!r} must hold an object, not {type(value).__name__}")
        return Row(value, self.file, self.line, unit=self.unit)

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


def read_rows(path: Path, limit: int | None = None) -> list[Row]:
    """The rows of a file, its columns renamed as the user's `--map` says; no rows at all is an error.

    With a limit, no more of the file is read than that many rows need, where its form allows that.
    """
    rows = list(_raw_rows(path, limit))
    _check_map(path, rows)
    return list(_renamed(rows, path))


def read_columns(path: Path, limit: int | None = None) -> list[Row]:
    """The rows that have a column which none before them has: they show what columns a large file has."""
    rows: list[Row] = []
    seen: set[str] = set()
    for row in _raw_rows(path, limit):
        if not rows or not row.values.keys() <= seen:
            seen |= row.values.keys()
            rows.append(row)
    _check_map(path, rows)
    return list(_renamed(rows, path))


def stream_rows(path: Path, limit: int | None, chosen: Mapping[str, str]) -> Iterator[Row]:
    """`read_rows` one by one, after `read_columns` and `recognise`, which chose columns for fields."""
    return _aliased(_renamed(_raw_rows(path, limit), path), chosen)


def _raw_rows(path: Path, limit: int | None) -> Iterator[Row]:
    table = table_of(path)
    if table is None:
        return islice(_file_rows(path), limit)
    return (Row(values, path, number, unit="row") for number, values in enumerate(table[:limit], start=1))


def _file_rows(path: Path) -> Iterable[Row]:
    try:  # a missing path or a folder is reported before the file's ending
        mode = path.stat().st_mode
    except OSError as error:
        raise _unreadable(path, error) from error
    if S_ISDIR(mode):
        raise DataError(f"{path} is a folder; give a file: {', '.join(SUFFIXES)}")
    check_plain(path)
    ending = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if ending not in _READABLE[:-1] or path.name.endswith(".parquet.gz"):
        raise DataError(
            f"{path}: cannot read {path.suffix or 'a file without ending'}; use {', '.join(_READABLE)}"
        )
    if ending == ".json":
        return entries(read_json(path), path)
    readers = {".parquet": _parquet, ".csv": _table, ".tsv": _table}
    return readers.get(ending, _json_lines)(path)


def _columns_of(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row.values))


def _check_map(path: Path, rows: Sequence[Row]) -> None:
    """Refuse a file without rows, and columns of the user's `--map` that it does not have."""
    if not rows:
        raise DataError(f"{path} holds no rows; give a file with at least one record")
    present = _columns_of(rows)
    for name, theirs in _map_of(path).items():
        for column in theirs:
            if column not in present:
                near = nearest(column, present)
                advice = f"did you mean {near}? Write --map {name}={near}" if near else "choose one of them"
                listed = ", ".join(present)
                raise rows[0].fail_header(
                    f"--map {name}={column}: there is no column {column!r}, only {listed}; {advice}"
                )


def _map_of(path: Path) -> Columns:
    return path.columns if isinstance(path, DataFile) else {}


def _renamed(rows: Iterable[Row], path: Path) -> Iterator[Row]:
    """The rows with the user's columns under our names."""
    columns = _map_of(path)
    names = {name: " and ".join(theirs) for name, theirs in columns.items()}
    return (
        (replace(row, values=_rename(row, columns), names=names) for row in rows) if columns else iter(rows)
    )


def _rename(row: Row, columns: Columns) -> dict[str, Any]:
    taken = {column for theirs in columns.values() for column in theirs}
    values = {
        column: value for column, value in row.values.items() if column not in taken and column not in columns
    }
    for name, theirs in columns.items():
        if len(theirs) > 1:
            values[name] = [text for column in theirs for text in row.texts(column) if text]
        elif theirs and theirs[0] in row.values:
            values[name] = row.values[theirs[0]]
    return values


def recognise(rows: Sequence[Row], wanted: Sequence[str], own: Sequence[str] = ()) -> dict[str, str]:
    """The user's column for each wanted field whose own column is absent; two candidates are an error.

    `own` are columns that the reader uses by themselves.
    """
    present = _columns_of(rows)
    chosen: dict[str, str] = {}
    for name in wanted:
        if name in rows[0].names or any(c == name or c.startswith(f"{name}.") for c in present):
            continue
        known = {_plain(alias) for alias in (name, *ALIASES.get(name, ()))}
        candidates = [c for c in present if _plain(c) in known and c not in own]
        if len(candidates) > 1:
            maps = [f"--map {name}={candidate}" for candidate in candidates]
            raise rows[0].fail_header(
                f"columns {' and '.join(map(repr, candidates))} may both be {name}; "
                f"choose: {' or '.join(maps)}"
            )
        if candidates:
            chosen[name] = candidates[0]
    return chosen


def with_aliases(rows: Sequence[Row], wanted: Sequence[str], own: Sequence[str] = ()) -> list[Row]:
    """The rows with the columns that `recognise` finds under our names."""
    return list(_aliased(rows, recognise(rows, wanted, own)))


def _aliased(rows: Iterable[Row], chosen: Mapping[str, str]) -> Iterator[Row]:
    columns = {name: (column,) for name, column in chosen.items()}
    for row in rows:
        yield replace(row, values=_rename(row, columns), names={**row.names, **chosen}) if chosen else row


def _plain(name: str) -> str:
    """A column's name without capitals, blanks and the s of the plural."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_").removesuffix("s")


def read_sources(path: Path) -> dict[str, str]:
    """Document to source text, from `NAME_sources.jsonl` beside `NAME.jsonl`; empty where there is none."""
    if table_of(path) is not None:
        return {}
    beside = Path(path.with_name(f"{path.stem}_sources{path.suffix}"))
    if not beside.is_file():
        return {}
    return {str(row.values.get("doc")): row.text("source") for row in read_rows(beside)}


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"cannot read {path}: {error.strerror or error}; check the path and its permissions")


def check_plain(path: Path) -> None:
    """Refuse a pipe or a device, which may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} is a pipe or a device; save what it gives to a file, and give that")


def read_text(path: Path) -> str:
    """Read a file as UTF-8; the error names the line of the first invalid byte."""
    check_plain(path)
    try:
        raw = _unpacked(path) if path.suffix == ".gz" else path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8"
        ) from error


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as handle:
            raw = handle.read(MAX_UNPACKED + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole gzip file?") from error
    if len(raw) > MAX_UNPACKED:
        raise DataError(f"{path} unpacks to more than {MAX_UNPACKED:,} bytes; give a smaller file")
    return raw


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


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text file, one by one."""
    if path.suffix == ".gz":
        yield from read_text(path).split("\n")
        return
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            yield from file
    except UnicodeDecodeError:
        read_text(path)  # names the line
        raise
    except OSError as error:
        raise _unreadable(path, error) from error


def _json_lines(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path), start=1):
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
    """Rows of CSV and TSV files with a header; a cell that is a list or a JSON object is read as one."""
    csv.field_size_limit(100_000_000)
    text = read_text(path)
    separator = _separator(text, "\t" if ".tsv" in path.suffixes[-2:] else ",")
    # Cells of an MQM table hold bare quotation marks.
    is_mqm = set(text.split("\n", 1)[0].rstrip("\r").split(separator)) >= _MQM
    quoting = csv.QUOTE_NONE if is_mqm else csv.QUOTE_MINIMAL
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting)  # type: ignore[arg-type]
    line, header = 1, 0
    columns: list[str] = []
    try:
        for cells in table:
            start, line = line, table.line_num + 1
            if not cells:
                continue
            if not columns:
                columns, header = _header(cells, path, start), start
            elif len(cells) != len(columns):
                raise Row({}, path, start).fail(_ragged(cells, columns, separator))
            else:
                yield Row(dict(zip(columns, map(_cell, cells), strict=True)), path, start, header)
    except csv.Error as error:
        raise DataError(f"{path}, line {table.line_num}: not a table ({error})") from error


def _header(cells: list[str], path: Path, line: int) -> list[str]:
    repeated = [cell for cell in cells if cell and cells.count(cell) > 1]
    if repeated:
        raise DataError(
            f"{path}, line {line}: column {repeated[0]!r} is there more than once; rename one of them"
        )
    return cells


def _separator(text: str, usual: str) -> str:
    """The separator by which most rows have as many cells as the header; the usual one where several do."""
    best, most = usual, 0
    for separator in (usual, *(mark for mark in _SEPARATORS if mark != usual)):
        table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        with suppress(csv.Error):
            widths = [len(cells) for cells in islice(table, _SNIFFED) if cells]
            fitting = widths.count(widths[0]) if widths and widths[0] > 1 else 0
            if fitting > most:
                best, most = separator, fitting
    return best


def _ragged(cells: Sequence[str], columns: Sequence[str], separator: str) -> str:
    """What is wrong with a row that has more or fewer cells than the header has columns."""
    counts = f"{len(cells)} cells, but the header has {len(columns)} columns"
    line = separator.join(cells)
    for other, plural in _SEPARATORS.items():
        is_fitting = len(next(csv.reader([line], delimiter=other), [])) == len(columns) > len(cells)
        if other != separator and is_fitting:
            return (
                f"separated by {plural}, but the header by {_SEPARATORS[separator]}, so that column "
                f"{columns[len(cells)]!r} has no cell; use one separator throughout"
            )
    if len(cells) < len(columns):
        first = f"column {columns[len(cells)]!r} has none; write a separator for an empty cell, too"
        return f"not as many cells as the header has columns: {counts}; {first}"
    quoted = f"put cells that hold {_SEPARATORS[separator]} in double quotes"
    return f"{counts}; {quoted}: column {columns[-1]!r} is the last"


def _cell(value: str) -> Any:
    if not (value.startswith(("[", "{")) and value.endswith(("]", "}"))):
        return value
    with suppress(ValueError, RecursionError):
        return json_value(value)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        listed = ast.literal_eval(value)  # a list as Python and pandas write it; builds literals only
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            return listed
    return value


def _parquet(path: Path) -> Iterator[Row]:
    """Rows of a Parquet file, by pyarrow: polars panics on a damaged page instead of raising an error."""
    import pyarrow as pa

    number = 0
    try:
        for batch in open_parquet(path).iter_batches(_BATCH):
            for values in batch.to_pylist():
                number += 1
                yield Row(values, path, number)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole Parquet file?") from error


def open_parquet(path: Path, columns: Sequence[str] | None = None) -> pq.ParquetFile:
    """A Parquet file, unless it unpacks to more than `MAX_UNPACKED` bytes.

    The footer tells the size of the pages. A page may repeat a long text a million times in a few bytes:
    texts are therefore read as dictionaries first, and the sizes of what they refer to are added up.
    """
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    size = sum(max(chunk.total_uncompressed_size, 8 * chunk.num_values) for chunk in chunks)
    most = max((chunk.total_uncompressed_size * chunk.num_values for chunk in chunks), default=0)
    if size <= MAX_UNPACKED < most:
        leaves = [file.schema.column(number) for number in range(len(file.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        packed = pq.ParquetFile(path, read_dictionary=texts).read(columns)
        size += sum(_text_bytes(chunk) for column in packed.columns for chunk in column.chunks)
    if size > MAX_UNPACKED:
        raise DataError(f"{path} unpacks to more than {MAX_UNPACKED:,} bytes; give a smaller file")
    return file


def _text_bytes(array: Any) -> int:
    """Bytes of the texts that an array of dictionaries refers to, in lists and structures too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if pa.types.is_struct(array.type):
        return sum(map(_text_bytes, array.flatten()))
    return _text_bytes(array.flatten()) if pa.types.is_nested(array.type) else 0


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json_value(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); is it the whole file?") from error


def entries(value: object, path: Path, *, under: str | None = None) -> list[Row]:
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
    return [Row(member, path, number, unit="entry") for number, member in enumerate(listed, start=1)]
