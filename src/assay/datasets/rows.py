"""Rows with named columns: files or tables in memory in, `Row`s out, whose getters check presence and type.

A `Row` is one record of a table or one object of a JSON document. Columns are renamed as the user's `--map`
says, and `with_aliases` recognises common names of other tools.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.columns import ALIASES, CRITERION, FIELDS, Columns, DataFile, table_of
from assay.datasets.files import check_width, file_values, read_json
from assay.datasets.headings import field_named, holds, map_option, number_in
from assay.datasets.sheets import SHEET
from assay.errors import DataError, RowError, nearest
from assay.files import file_digest

_FIRST = 10_000  # rows by which the columns of a large file are recognised


class MissingColumn(RowError):
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
    columns: Collection[str] = field(default=(), repr=False)  # of the whole table, where cells may be absent
    problem: RowError | None = None  # why there are no values: the row itself cannot be read

    def with_values(self, more: Mapping[str, Any]) -> Row:
        """The row with more values, or other ones."""
        return replace(self, values={**self.values, **more})

    def fail(self, problem: str) -> RowError:
        """Return an error that names file and line."""
        return RowError(self.file, self.unit, self.line, problem)

    def fail_header(self, problem: str) -> RowError:
        """Return an error about the columns; it names the line of the header."""
        return RowError(self.file, self.unit, self.header or self.line, problem)

    def whole(self) -> Row:
        """The row itself, unless it could not be read at all."""
        if self.problem is not None:
            raise self.problem
        return self

    def called(self, column: str) -> str:
        """The column in an error message, by the user's name for it."""
        name = self.names.get(column)
        return f"column {name!r} (read as {column})" if name else f"column {column!r}"

    def has(self, column: str) -> bool:
        """Whether the column is present and not empty."""
        return self.values.get(column) not in (None, "", [])

    @property
    def mapped(self) -> dict[str, str]:
        """The fields whose column is known under another name, as `--map` gives them."""
        fields = {*FIELDS, *(name for name in self.names if name.startswith(CRITERION))}
        single = {name: column for name, column in self.names.items() if " and " not in column}
        return {name: column for name, column in single.items() if name in fields}

    def missing(self, column: str, purpose: str = "") -> MissingColumn:
        """The error for a column that is not there, with the `--map` that would name it."""
        listed = ", ".join(self.names.get(name) or name for name in self.values)
        unused = [name for name in self.values if name not in {*self.names, *FIELDS}]
        similar = filter(None, (nearest(name, unused) for name in (column, *ALIASES.get(column, ()))))
        near = next(similar, None)
        option = map_option({column: near or "COLUMN"} | self.mapped)
        way = f"{option} ({near} is the nearest)" if near else f"{option} with one of these"
        problem = f"column {column!r}{purpose} is missing; its columns are {listed}"
        problem += f"; name the one to read: {way}"
        return MissingColumn(self.file, self.unit, self.header or self.line, problem)

    def text(self, column: str) -> str:
        """A required text."""
        if column not in self.values:
            if self.names.get(column, column) not in self.columns:
                raise self.missing(column)
            problem = "has no value (None or NaN); fill it in, or leave the row out"
            raise self.fail(f"{self.called(column)} {problem}")
        value = self.values[column]
        if not isinstance(value, str):
            raise self.fail(f"{self.called(column)} must be text, not {type(value).__name__}")
        return value

    def label(self, column: str) -> str | None:
        """A name or a whole number as text, or None where it is absent or empty."""
        value = self.values.get(column)
        if value in (None, ""):
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

    def filled(self, column: str) -> tuple[str, ...]:
        """The texts of a column that are not blank."""
        return tuple(text for text in self.texts(column) if text.strip())

    def number(self, column: str) -> float | None:
        """A finite number, or None where it is absent (null, empty, nan)."""
        value = self.values.get(column)
        try:
            number = math.nan if value in (None, "") else number_in(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.fail(f"{self.called(column)} must be a number, not {value!r}") from error
        if math.isinf(number):
            raise self.fail(f"{self.called(column)} is infinite")
        return None if math.isnan(number) else number

    def lacks_image(self) -> bool:
        """Whether the row names an image that is not in the data folder."""
        return self.maybe("image") is not None and self._image_file() is None

    def _image_file(self) -> Path | None:
        """The image that the row names, where it is a file in the data folder."""
        path = below(self.file.parent, self.text("image"))
        return path if path is not None and path.is_file() else None

    def image(self) -> Image | None:
        """The image in the data folder that the row names, or None; paths cannot leave that folder."""
        named = self.maybe("image")
        if named is None:
            return None
        path = self._image_file()
        if path is not None:
            return Image(str(path), file_digest(path))
        is_inside = below(self.file.parent, named) is not None
        missing = "is missing; put it beside the file or use --skip-missing"
        problem = missing if is_inside else "lies outside the data folder"
        raise self.fail(f"{self.called('image')}: image {named!r} {problem}")

    def members(self, column: str) -> list[Row]:
        """The objects of a list in a column."""
        value = self.values.get(column)
        if not isinstance(value, list):
            raise self.fail(f"{self.called(column)} must be a list of objects")
        return [self.inner(member, column) for member in value]

    def object(self, column: str) -> Row:
        return self.inner(self.values.get(column), column)

    def inner(self, value: Any, name: str) -> Row:
        if not isinstance(value, Mapping):
            raise self.fail(f"{name!r} must hold an object, not {type(value).__name__}")
        return Row(value, self.file, self.line, unit=self.unit)

    def unknown(self, known: Collection[str]) -> dict[str, Any]:
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
    return [row.whole() for row in every_row(path, limit)]


def every_row(path: Path, limit: int | None = None) -> list[Row]:
    """The same, with the rows that cannot be read: these have a problem and no values."""
    rows = list(_raw_rows(path, limit))
    _check_map(path, rows)
    return [*_renamed(rows, _map_of(path))]


def first_rows(path: Path, limit: int | None = None) -> list[Row]:
    """The rows by which the columns of a large file are recognised, without those that cannot be read."""
    return readable(every_row(path, min(limit or _FIRST, _FIRST)))


def readable(rows: Sequence[Row]) -> list[Row]:
    """The rows that could be read; an error where there are none."""
    return [row for row in rows if row.problem is None] or [rows[0].whole()]


def stream_rows(path: Path, wanted: Sequence[str], limit: int | None = None) -> Iterable[Row]:
    """`read_rows` with aliases, one by one."""
    rows = _raw_rows(path, limit)
    first = list(islice(rows, _FIRST))
    _check_map(path, first)
    columns = _map_of(path)
    aliases = {name: (column,) for name, column in recognise([*_renamed(first, columns)], wanted).items()}
    return _renamed(_renamed(chain(first, rows), columns), aliases)


def _raw_rows(path: Path, limit: int | None) -> Iterator[Row]:
    table = table_of(path)
    if table is not None:
        columns = frozenset(chain.from_iterable(table))
        rows = enumerate(table[:limit], start=1)
        return (Row(row, path, number, unit="row", columns=columns) for number, row in rows)
    if path.name.removesuffix(".gz").endswith(".json") and not path.is_dir():
        return islice(entries(read_json(path), path), limit)
    return (_row(path, *values) for values in islice(file_values(path), limit))


def _row(path: Path, values: Mapping[str, Any] | RowError, line: int, header: int | None) -> Row:
    """A row of a file; one that could not be read has a problem and no values."""
    unit = "row" if path.suffix == SHEET else "line"
    if isinstance(values, RowError):
        return Row({}, path, line, header, unit=unit, problem=values)
    return Row(values, path, line, header, unit=unit)


def _columns_of(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(row.values for row in rows)))


def _check_map(path: Path, rows: Sequence[Row]) -> None:
    """Refuse a file without rows, and columns of the user's `--map` that it does not have."""
    if not rows:
        raise DataError(f"{path} holds no rows; give a file with at least one record")
    whole = readable(rows)
    present = _columns_of(whole)
    mapped = [(name, column) for name, theirs in _map_of(path).items() for column in theirs]
    for name, column in mapped:
        if column not in present:
            near = nearest(column, present)
            advice = f"did you mean {near}? Write --map {name}={near}" if near else "choose one of them"
            problem = f"there is no column {column!r}, only {', '.join(present)}; {advice}"
            raise whole[0].fail_header(f"--map {name}={column}: {problem}")


def _map_of(path: Path) -> Columns:
    return path.columns if isinstance(path, DataFile) else {}


def _renamed(rows: Iterable[Row], columns: Columns) -> Iterable[Row]:
    """The rows with the user's columns under our names."""
    names = {name: " and ".join(theirs) for name, theirs in columns.items()}
    renamed = (replace(row, values=_rename(row, columns), names={**row.names, **names}) for row in rows)
    return renamed if columns else rows


def _rename(row: Row, columns: Columns) -> dict[str, Any]:
    values = row.unknown({*columns, *chain(*columns.values())})
    for name, theirs in columns.items():
        if len(theirs) > 1:
            values[name] = [text for column in theirs for text in row.texts(column) if text]
        elif theirs and theirs[0] in row.values:
            values[name] = row.values[theirs[0]]
    return values


def recognise(rows: Sequence[Row], wanted: Sequence[str], own: Sequence[str] = ()) -> dict[str, str]:
    """The user's column for each wanted field whose own column is absent; two candidates are an error.

    A column is known by its whole name, else by the words in it. `own` are columns that the reader uses by
    themselves.
    """
    rows = readable(rows)
    lacking = [name for name in wanted if not _is_there(rows[0], name, _columns_of(rows))]
    candidates = _candidates(rows, lacking, own)
    doubtful = next((name for name, columns in candidates.items() if len(columns) > 1), None)
    if doubtful is not None:
        raise rows[0].fail_header(_doubtful(rows[0], doubtful, candidates))
    return {name: columns[0] for name, columns in candidates.items() if columns}


def _candidates(rows: Sequence[Row], fields: Sequence[str], own: Sequence[str]) -> dict[str, list[str]]:
    """The columns that each of these fields may have: by their whole names, else by the words in them."""
    free = [column for column in _columns_of(rows) if column not in own]
    candidates = {name: _by_whole_name(name, free) for name in fields}
    used = {*FIELDS, *chain.from_iterable(candidates.values())}
    others = [column for column in free if column not in used and not column.startswith(CRITERION)]
    return {name: columns or _by_words(name, others, rows) for name, columns in candidates.items()}


def _is_there(row: Row, name: str, present: Sequence[str]) -> bool:
    """Whether a field has a column of its own, or one that the user named."""
    return name in {*row.names, *(column.split(".")[0] for column in present)}


def _by_whole_name(field: str, columns: Sequence[str]) -> list[str]:
    """The columns that are called like a field, or by one of its other names."""
    names = {_plain(alias) for alias in (field, *ALIASES.get(field, ()))}
    return [column for column in columns if _plain(column) in names]


def _by_words(field: str, columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The columns that may be a field by a word of their name and by what they hold."""
    named = [column for column in columns if field_named(column) == field]
    return [column for column in named if holds(field, [row.values.get(column) for row in rows])]


def _doubtful(row: Row, name: str, candidates: Mapping[str, Sequence[str]]) -> str:
    """What to do where several columns may be one field: the whole option, for each of them to choose."""
    columns = candidates[name]
    others = {field: listed[0] for field, listed in candidates.items() if listed and field != name}
    advice = " or ".join(map_option({name: column} | others | row.mapped) for column in columns)
    if name == "human":
        criteria = {f"{CRITERION}{_plain(column)}": column for column in columns}
        advice = f"{map_option(criteria | others | row.mapped)} for all of them, or {advice}"
    listed = " and ".join(map(repr, columns))
    return f"columns {listed} may {'both' if len(columns) == 2 else 'all'} be {name}; choose: {advice}"


def with_aliases(rows: Sequence[Row], wanted: Sequence[str], own: Sequence[str] = ()) -> list[Row]:
    """The rows with the columns that `recognise` finds under our names."""
    return [*_renamed(rows, {name: (column,) for name, column in recognise(rows, wanted, own).items()})]


def with_their_images(rows: Sequence[Row], path: Path, *, skip_missing: bool) -> tuple[list[Row], list[str]]:
    """The rows that lack no image, and a note on the others, which are refused unless they may be skipped."""
    missing = [row for row in rows if row.has("image") and row.lacks_image()]
    for row in missing:
        if below(row.file.parent, row.text("image")) is None:
            row.image()  # which says that it lies outside the data folder: that is never skipped
    if not missing:
        return list(rows), []
    if not skip_missing:
        names = ", ".join(str(row.values["image"]) for row in missing[:5])
        raise DataError(
            f"{path}: {len(missing)} of {len(rows)} images are missing ({names}; the first in "
            f"{missing[0].unit} {missing[0].line}, {missing[0].called('image')}); put them beside the file "
            "or leave these rows out with --skip-missing"
        )
    skipped = {row.line for row in missing}
    note = f"{path.name}: {len(missing)} rows left out, image missing"
    return [row for row in rows if row.line not in skipped], [note]


def _plain(name: str) -> str:
    """A column's name without capitals, blanks and the s of the plural."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_").removesuffix("s")


def read_sources(path: Path) -> dict[str, str]:
    """Document to source text, from `NAME_sources.jsonl` beside `NAME.jsonl`; empty where there is none."""
    beside = Path(path.with_name(f"{path.stem}_sources{path.suffix}"))
    if table_of(path) is not None or not beside.is_file():
        return {}
    return {str(row.values.get("doc")): row.text("source") for row in read_rows(beside)}


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
    return [_entry(member, path, number) for number, member in enumerate(listed, start=1)]


def _entry(member: Mapping[str, Any], path: Path, number: int) -> Row:
    check_width(member, f"{path}, entry {number}")
    return Row(member, path, number, unit="entry")
