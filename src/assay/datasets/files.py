"""Files to values: JSON Lines, CSV, TSV, Excel, Parquet, JSON and text, plain or gzipped.

Errors name the place. A row that cannot be read is handed on as its error, so that the others are not lost.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets.encodings import ESCAPED, encoding_of, escaped_byte
from assay.datasets.sheets import SHEET, sheet_rows
from assay.errors import DataError, RowError
from assay.files import MAX_UNPACKED

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet", ".tsv", SHEET)
_READABLE = (*SUFFIXES, ".json", ".gz")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_BATCH = 10_000  # rows of a Parquet file in memory at once
_SNIFFED = 1000  # rows by which the separator of a table is chosen
_PIECE = 1_000_000  # characters of a text file in memory at once
_LONGEST_NAME = 10_000  # characters: a longer one is a whole line, and every message would repeat it
_MOST_COLUMNS = 10_000  # a wider table is a matrix or an attack; every message and check walks over the names
# Texts pack to a tenth or a thirtieth, equal ones to a hundredth, and gzip packs zeros to a thousandth. What
# unpacks to no more than the free amount may be of any kind: it takes at most half a GB as objects.
_PACKED, _FREE = 100, 10_000_000
_MQM = {"rater", "category", "severity"}  # the columns of a table of translation errors
# A record or why it cannot be read, its line, and the line of a table's header.
_Values = tuple[Mapping[str, Any] | RowError, int, int | None]


def file_values(path: Path) -> Iterator[_Values]:
    """The records of a file of rows, by its ending."""
    if path.is_dir():  # a folder or a missing path is reported before the file's ending
        raise DataError(f"{path} is a folder; give a file: {', '.join(SUFFIXES)}")
    _check_plain(path)
    ending = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if ending not in SUFFIXES or path.name.endswith((".parquet.gz", f"{SHEET}.gz")):
        given = path.suffix or "a file without ending"
        raise DataError(f"{path}: cannot read {given}; use {', '.join(_READABLE)}")
    readers = {".parquet": _parquet, ".csv": _table, ".tsv": _table, SHEET: _sheet}
    return readers.get(ending, _json_lines)(path)


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"cannot read {path}: {error.strerror or error}; check the path and its permissions")


def _check_plain(path: Path) -> None:
    """Refuse a path where nothing is, and a pipe or a device, which may never end."""
    try:
        path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} is a pipe or a device; save what it gives to a file, and give that")


def read_text(path: Path) -> str:
    """Read a file as text; the error names the line of the first byte that is none."""
    text = _decoded(path)
    if ESCAPED.search(text):
        line = text[: ESCAPED.search(text).start()].count("\n") + 1  # type: ignore[union-attr]
        raise DataError(f"{path}, line {line}: {_not_text(text)}")
    return text


def _decoded(path: Path) -> str:
    """A file as text, in which bytes that are none are escaped."""
    raw = _raw(path)
    encoding = encoding_of(raw)
    try:
        return raw.decode(encoding, "surrogateescape")
    except UnicodeDecodeError as error:  # a byte is missing, so that all that follows would be read askew
        line = raw[: error.start].decode(encoding, "replace").count("\n") + 1
        problem = f"not {encoding.upper()} ({error.reason}); save the file as UTF-8"
        raise DataError(f"{path}, line {line}: {problem}") from error


def _raw(path: Path) -> bytes:
    _check_plain(path)
    try:
        return _unpacked(path) if path.suffix == ".gz" else path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _not_text(text: str) -> str:
    """What is wrong with a text in which a byte is escaped."""
    byte = escaped_byte(text)
    return f"{'not UTF-8' if byte else 'not text'} (byte {byte:#04x}); save the file as UTF-8"


def unusual_encoding(path: Path) -> str | None:
    """The name of a file's encoding where it is not UTF-8, for a note; None for a file that holds no text."""
    if not path.name.removesuffix(".gz").endswith((".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt")):
        return None
    encoding = None if _is_utf8(path) else encoding_of(_raw(path))
    return None if encoding == "utf-8-sig" else encoding


def _is_utf8(path: Path) -> bool:
    """Whether a file is plainly UTF-8, looked at in pieces: it need not fit in memory."""
    _check_plain(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            pieces = iter(partial(file.read, _PIECE), "")
            return not any("\0" in piece for piece in pieces)
    except UnicodeDecodeError:
        return False
    except OSError as error:
        raise _unreadable(path, error) from error


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as handle:
            raw = handle.read(_most_bytes(path) + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole gzip file?") from error
    _check_size(path, len(raw))
    return raw


def _most_bytes(path: Path) -> int:
    """What a packed file may unpack to."""
    return min(MAX_UNPACKED, max(_FREE, _PACKED * path.stat().st_size))


def _check_size(path: Path, size: int) -> None:
    if size > (most := _most_bytes(path)):
        plain = "save it as JSON Lines" if path.suffix == ".parquet" else "unpack it and give the plain file"
        advice = "give a smaller file" if most == MAX_UNPACKED else f"few texts pack so well: {plain}"
        raise DataError(f"{path} unpacks to more than {most:,} bytes; {advice}")


def _check_names(names: Sequence[str]) -> None:
    """Refuse a name that is there more than once, and more columns than a table of texts has."""
    if len(names) > _MOST_COLUMNS:
        raise ValueError(f"{len(names):,} columns, more than {_MOST_COLUMNS:,}; give those that are read")
    longest = max(map(len, names), default=0)
    if longest > _LONGEST_NAME:
        raise ValueError(
            f"the name of a column has {longest:,} characters; name the columns in the first line"
        )
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise ValueError(f"column {name!r} is there more than once; rename one of them")
        seen.add(name)


def text_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank."""
    return [line for line in read_text(path).split("\n") if line.strip()]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a duplicate key is an error, where Python would silently keep the last value."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"duplicate key {key!r} in one object")
        values[key] = value
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_object)  # json.loads would build a decoder for every line


def _json_value(text: str) -> Any:
    """Decode a JSON value; a lone surrogate (`\\ud800` without its other half) becomes U+FFFD."""
    value = _DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:
        return json.loads(whole_text(json.dumps(value, ensure_ascii=False)))
    return value


def whole_text(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, which no file and no tokeniser accepts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return _json_value(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); is it the whole file?") from error


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file that need not fit in memory, unless it is packed or not UTF-8."""
    read = 0
    try:
        if path.suffix != ".gz":
            with path.open(encoding="utf-8-sig", newline="\n") as file:
                for line in file:
                    read += 1
                    yield line
            return
    except UnicodeDecodeError:
        pass
    except OSError as error:
        raise _unreadable(path, error) from error
    yield from _decoded(path).split("\n")[read:]


def _json_lines(path: Path) -> Iterator[_Values]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield _json_record(path, number, line), number, None


def _json_record(path: Path, number: int, line: str) -> Mapping[str, Any] | RowError:
    if ESCAPED.search(line):
        return RowError(path, "line", number, _not_text(line))
    try:
        values = _json_value(line)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        return RowError(path, "line", number, f"not JSON ({error}); one record per line is expected")
    if not isinstance(values, dict):
        return RowError(path, "line", number, 'a record must be an object like {"id": ...}')
    check_width(values, f"{path}, line {number}")
    return values


def check_width(record: Collection[str], place: str) -> None:
    """Refuse a record of more columns than a table of texts has."""
    if len(record) > _MOST_COLUMNS:
        problem = f"a record of {len(record):,} columns, more than {_MOST_COLUMNS:,}"
        raise DataError(f"{place}: {problem}; give those that are read")


def _table(path: Path) -> Iterator[_Values]:
    """Rows of CSV and TSV files with a header; a cell that is a list or a JSON object is read as one."""
    csv.field_size_limit(100_000_000)
    text = _decoded(path)
    separator = _separator(text, "\t" if ".tsv" in path.suffixes[-2:] else ",")
    quoting = csv.QUOTE_NONE if _has_bare_quotes(text, separator) else csv.QUOTE_MINIMAL
    lines = io.StringIO(text, newline="")
    table = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)  # type: ignore[arg-type]
    yield from named_cells(path, _table_rows(path, table, separator), "line", separator)


def _table_rows(path: Path, table: Any, separator: str) -> Iterator[tuple[int, list[str] | RowError]]:
    """The cells of each row and the line where it begins; a row that cannot be read is its error."""
    while True:
        start = table.line_num + 1
        try:
            cells = next(table, None)
        except csv.Error as error:
            swallowed = max(1, table.line_num - start + 1)
            yield start, RowError(path, "line", start, _broken(error, separator), swallowed)
            continue
        if cells is None:
            return
        marked = next(filter(ESCAPED.search, cells), None)
        yield start, cells if marked is None else RowError(path, "line", start, _not_text(marked))


def _broken(error: csv.Error, separator: str) -> str:
    """What is wrong with a row that is no row of a table."""
    if "end of data" in str(error):
        return "a cell begins with a quotation mark that is never closed; close it, or write it twice"
    if "expected after" in str(error):
        return (
            "a quotation mark stands within a cell or is not closed; write it twice within a cell that is in "
            f"quotation marks, and end that cell by one before the {_SEPARATORS[separator].removesuffix('s')}"
        )
    return f"not a table ({error})"


def named_cells(
    path: Path, rows: Iterator[tuple[int, list[str] | RowError]], unit: str, separator: str
) -> Iterator[_Values]:
    """Rows of cells as records: the first row that is not blank names the columns."""
    columns: list[str] = []
    header = 0
    for start, cells in rows:
        if isinstance(cells, RowError):
            if not columns:
                raise cells
            yield cells, start, header
        elif columns and cells:
            yield _record(path, start, cells, columns, separator), start, header
        elif cells:
            columns, header = cells, start
            try:
                _check_names(columns)
            except ValueError as error:
                raise RowError(path, unit, start, str(error)) from error


def _record(
    path: Path, line: int, cells: Sequence[str], columns: Sequence[str], separator: str
) -> Mapping[str, Any] | RowError:
    if len(cells) != len(columns):
        return RowError(path, "line", line, _ragged(cells, columns, separator))
    return dict(zip(columns, map(_cell, cells), strict=True))


def _sheet(path: Path) -> Iterator[_Values]:
    """The rows of a workbook's first sheet with content, as a table of texts."""
    yield from named_cells(path, sheet_rows(path), "row", ",")


def _has_bare_quotes(text: str, separator: str) -> bool:
    """Whether quotation marks in a table are part of its texts, as those between tabs mostly are."""
    names = text.split("\n", 1)[0].rstrip("\r").split(separator)
    if separator != "\t" or set(names) >= _MQM:
        return set(names) >= _MQM
    table = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for _ in table:
            pass
    except csv.Error:
        return True
    return False


def _separator(text: str, usual: str) -> str:
    """The separator by which most rows have as many cells as the header; the usual one where several do."""
    fitting = dict.fromkeys((usual, *_SEPARATORS), 0)
    for separator in fitting:
        table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        with suppress(csv.Error):
            widths = [len(cells) for cells in islice(table, _SNIFFED) if cells]
            fitting[separator] = widths.count(widths[0]) if widths and widths[0] > 1 else 0
    return max(fitting, key=lambda separator: fitting[separator])


def _ragged(cells: Sequence[str], columns: Sequence[str], separator: str) -> str:
    """What is wrong with a row that has more or fewer cells than the header has columns."""
    counts = f"{len(cells)} cells, but the header has {len(columns)} columns"
    line = separator.join(cells)
    for other, plural in _SEPARATORS.items():
        if other != separator and _width(line, other) == len(columns) > len(cells):
            return (
                f"separated by {plural}, but the header by {_SEPARATORS[separator]}, so that column "
                f"{columns[len(cells)]!r} has no cell; use one separator throughout"
            )
    if len(cells) < len(columns):
        first = f"column {columns[len(cells)]!r} has none; write a separator for an empty cell, too"
        return f"not as many cells as the header has columns: {counts}; {first}"
    quoted = f"put cells that hold {_SEPARATORS[separator]} in double quotes"
    return f"{counts}; {quoted}: column {columns[-1]!r} is the last"


def _width(line: str, separator: str) -> int:
    """How many cells a line has by this separator."""
    with suppress(csv.Error):
        return len(next(csv.reader([line], delimiter=separator), []))
    return 0


def _cell(value: str) -> Any:
    if not (value.startswith(("[", "{")) and value.endswith(("]", "}"))):
        return value
    with suppress(ValueError, RecursionError):
        return _json_value(value)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        listed = ast.literal_eval(value)  # a list as Python and pandas write it; builds literals only
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            return listed
    return value


def _parquet(path: Path) -> Iterator[_Values]:
    """Rows of a Parquet file, by pyarrow: polars panics on a damaged page instead of raising an error."""
    import pyarrow as pa

    try:
        rows = (values for batch in open_parquet(path).iter_batches(_BATCH) for values in batch.to_pylist())
        yield from ((values, number, None) for number, values in enumerate(rows, start=1))
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole Parquet file?") from error


def open_parquet(path: Path) -> pq.ParquetFile:
    """A Parquet file, unless it unpacks to more than it may; looked at by column and group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file, packed, most = pq.ParquetFile(path), _packed(path), _most_bytes(path)
    _check_pages(path, file)
    size = 0
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for chunk in (group.column(leaf) for leaf in range(group.num_columns)):
            largest = chunk.total_uncompressed_size * chunk.num_values
            if chunk.physical_type == "BYTE_ARRAY" and largest > most:
                size += _text_bytes(packed.read_row_group(number, [chunk.path_in_schema], use_threads=False))
                _check_size(path, size)
    pa.default_memory_pool().release_unused()
    return file


def read_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of a whole Parquet file, of the same limit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    packed, plain = _packed(path), pq.read_schema(path)
    _check_pages(path, packed)
    table = packed.read(columns, use_threads=False)
    _check_size(path, _text_bytes(table))
    table.validate(full=True)
    return table.cast(pa.schema([plain.field(name) for name in table.column_names]))


def _check_pages(path: Path, file: pq.ParquetFile) -> None:
    """Refuse a file whose pages are too large by its footer, or whose columns are too many or of one name."""
    _check_fields(path, list(file.schema_arrow))
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    _check_size(path, sum(max(chunk.total_uncompressed_size, 8 * chunk.num_values) for chunk in chunks))


def _check_fields(path: Path, fields: Sequence[pa.Field]) -> None:
    """Check the names of columns, and of the parts of a column."""
    try:
        _check_names([field.name for field in fields])
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    for field in fields:
        parts = [field.type.field(number) for number in range(field.type.num_fields)]
        if parts:
            _check_fields(path, parts)


def _packed(path: Path) -> pq.ParquetFile:
    """A file with its texts as dictionaries: a page may repeat a long text a million times in a few bytes."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    return pq.ParquetFile(path, read_dictionary=texts)


def _text_bytes(table: pa.Table) -> int:
    """Bytes of the texts that dictionaries of a table refer to."""
    return sum(_array_bytes(chunk) for column in table.columns for chunk in column.chunks)


def _array_bytes(array: Any) -> int:
    """The same of an array, of lists and structures too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if pa.types.is_struct(array.type):
        return sum(map(_array_bytes, array.flatten()))
    return _array_bytes(array.flatten()) if pa.types.is_nested(array.type) else 0
