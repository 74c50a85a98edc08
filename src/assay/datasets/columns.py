"""What users pass as data: the names of its columns (`--map`), and paths or tables of any library.

A `DataFile` is a path with the user's names of columns, or a table in memory. `as_data` turns records,
columns, pandas, polars, Arrow and Hugging Face tables into paths for the readers. Tables of equal content
become equal rows, whichever library holds them; no library is imported for it.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from assay.errors import DataError, SpecError, suggest
from assay.files import toml_file

if sys.platform == "win32":
    from pathlib import WindowsPath as _Path
else:
    from pathlib import PosixPath as _Path

Columns = Mapping[str, tuple[str, ...]]  # a field of ours to the user's columns; none: the field is not used
_Table = Sequence[Mapping[str, Any]]
FIELDS: list[str] = toml_file("columns", "columns")["fields"]
ALIASES: dict[str, list[str]] = toml_file("columns", "columns")["aliases"]
CRITERION = "human."  # a table may have one column per criterion: human.fluency
_NAME = "data"  # of a table in memory, and so of its rows without id: data-0, data-1
_ABSENT = ("NAType", "NaTType")  # what pandas writes where there is no value


class DataFile(_Path):
    """A path with the user's names of columns; or a table in memory, for which the path is only a name."""

    columns: Columns = {}
    table: _Table | None = None

    @classmethod
    def of(cls, path: str | Path, columns: Columns, table: _Table | None = None) -> DataFile:
        """A path with these columns; pathlib's own constructor takes no more than the path."""
        file = cls(path)
        file.columns, file.table = columns, table
        return file

    def is_dir(self) -> bool:
        """Whether it is a folder; a table in memory is none, whatever lies in the working folder."""
        return self.table is None and super().is_dir()

    def is_file(self) -> bool:
        return self.table is None and super().is_file()


def table_of(path: Path) -> _Table | None:
    """The table in memory that a path stands for; None for a file."""
    return path.table if isinstance(path, DataFile) else None


def parse_map(given: str | Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """`hypothesis=summary,human.quality=rating` to columns by field.

    A field without a column (`human=`) is not read at all; `references` may have several columns.

    >>> parse_map("hypothesis=summary,references=r1,references=r2,human=")
    {'hypothesis': ('summary',), 'references': ('r1', 'r2'), 'human': ()}
    """
    columns: dict[str, tuple[str, ...]] = {}
    for name, value in _named_columns(given):
        field = "references" if name == "reference" else name
        if field not in FIELDS:
            _check_criterion(field, value)
        if field in columns and field != "references":
            raise SpecError(f"--map gives {field} two columns; choose one of them")
        columns[field] = (*columns.get(field, ()), *filter(None, [value]))
    return columns


def _check_criterion(name: str, value: str) -> None:
    """Refuse what is neither a field nor a criterion of ratings."""
    if name == CRITERION:
        raise SpecError(f"--map {name}={value}: name the criterion, as in human.quality={value}")
    if value in FIELDS:
        raise SpecError(f"--map {name}={value}: the field comes first; write --map {value}={name}")
    if not name.startswith(CRITERION):
        raise SpecError(f"--map {name}={value}: assay has no field {name!r}{suggest(name, FIELDS)}")


def _named_columns(given: str | Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    """Each field and one of its columns."""
    if not isinstance(given, str):
        lists = {name: [value] if isinstance(value, str) else value for name, value in given.items()}
        return [(name, column) for name, columns in lists.items() for column in columns]
    pairs: list[tuple[str, str]] = []
    for part in filter(None, map(str.strip, given.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise SpecError(f"--map {part!r} is not FIELD=COLUMN; write --map hypothesis=summary")
        pairs.append((name.strip(), value.strip()))
    return pairs


def as_data(given: Any, columns: Columns | None = None) -> tuple[Path, ...]:
    """A path, a table, or a list of them, as paths that every reader takes."""
    names = chain([_NAME], (f"{_NAME}-{number}" for number in count(2)))
    files: list[Path] = []
    for item in _items(given):
        if isinstance(item, str | os.PathLike):
            files.append(_as_path(item, columns))
        else:
            files.append(DataFile.of(next(names), columns or {}, _rows(item)))
    return tuple(files)


def _items(given: Any) -> Sequence[Any]:
    """The paths and tables that were given: one, a list of them, or none; a list of records is a table."""
    if given is None:
        return []
    is_several = isinstance(given, list | tuple) and not _are_records(given)
    return given if is_several else [given]


def _are_records(rows: Sequence[Any]) -> bool:
    return bool(rows) and all(isinstance(row, Mapping) for row in rows)


def _as_path(item: str | os.PathLike[str], columns: Columns | None) -> Path:
    path = item if isinstance(item, Path) else Path(item).expanduser()
    return DataFile.of(path, columns) if columns else path


def _rows(table: Any) -> list[dict[str, Any]]:
    """The records of a table; a cell without a value is left out."""
    rows = [{str(name): _plain(value) for name, value in record.items()} for record in _records(table)]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _records(table: Any) -> Iterable[Mapping[Any, Any]]:
    if hasattr(table, "collect_schema"):  # polars: of a lazy table, what it computes
        table = table.lazy().collect()
    for method in ("to_dicts", "to_pylist"):  # polars, Arrow
        if hasattr(table, method):
            return getattr(table, method)()  # type: ignore[no-any-return]
    if isinstance(table, Mapping):
        return _from_columns(table)
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas
        return table.to_dict("records")  # type: ignore[no-any-return]
    records = list(table) if isinstance(table, Iterable) else []  # Hugging Face; any records
    if not _are_records(records):
        raise DataError(
            f"data: cannot read {type(table).__name__}; give a path, a list of records like "
            '{"hypothesis": ..., "references": [...]}, or a pandas, polars or Hugging Face table'
        )
    return records


def _from_columns(columns: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    """Records from column names and lists; a Hugging Face dataset with splits is not one table."""
    if any(hasattr(column, "column_names") for column in columns.values()):
        splits, first = ", ".join(map(str, columns)), next(iter(columns))
        raise DataError(f"data: a dataset with the splits {splits}; give one of them, as in data[{first!r}]")
    if not all(map(_is_list, columns.values())):  # a single record
        return [dict(columns)]
    lists = {name: list(values) for name, values in columns.items()}
    if len(set(map(len, lists.values()))) > 1:
        listed = ", ".join(f"{name} {len(values)}" for name, values in lists.items())
        raise DataError(
            f"data: the columns are not of one length ({listed}); give every column one value per row"
        )
    return [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _plain(value: Any) -> Any:
    """A cell as JSON would hold it; None where there is no value.

    A whole number becomes an int: pandas makes floats of whole numbers in a column with gaps.

    >>> _plain([1.0, float("nan"), {"a": 2.5}])
    [1, None, {'a': 2.5}]
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    if type(value).__name__ in _ABSENT:
        return None
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    for method in ("tolist", "to_list"):  # numpy's arrays and numbers, a polars series
        if hasattr(value, method):
            return _plain(getattr(value, method)())
    return str(value)
