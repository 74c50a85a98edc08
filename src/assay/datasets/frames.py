"""Data as Python users hold it: paths, records, columns, pandas, polars, Arrow and Hugging Face tables.

`as_data` turns any of them into paths for the readers. Tables of equal content become equal rows, whichever
library holds them; no library is imported for it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.datasets.columns import Columns, DataFile
from assay.errors import DataError

_NAME = "data"  # of a table in memory, and so of its rows without id: data-0, data-1
_ABSENT = ("NAType", "NaTType")  # what pandas writes where there is no value


def as_data(given: Any, columns: Columns | None = None) -> tuple[Path, ...]:
    """A path, a table, or a list of them, as paths that every reader takes."""
    if given is None:
        return ()
    is_list = isinstance(given, list | tuple) and not all(isinstance(item, Mapping) for item in given)
    files: list[Path] = []
    for item in given if is_list else [] if isinstance(given, list | tuple) and not given else [given]:
        if isinstance(item, str | os.PathLike):
            path = item if isinstance(item, Path) else Path(item).expanduser()
            files.append(DataFile.of(path, columns) if columns else path)
        else:
            number = sum(isinstance(file, DataFile) and file.table is not None for file in files)
            name = f"{_NAME}-{number + 1}" if number else _NAME
            files.append(DataFile.of(name, columns or {}, _rows(item)))
    return tuple(files)


def _rows(table: Any) -> list[dict[str, Any]]:
    """The records of a table; a cell without a value is left out."""
    rows = [{str(name): plain(value) for name, value in record.items()} for record in _records(table)]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _records(table: Any) -> Iterable[Mapping[Any, Any]]:
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):  # polars, not yet computed
        table = table.collect()
    for method in ("to_dicts", "to_pylist"):  # polars, Arrow
        if hasattr(table, method):
            return getattr(table, method)()  # type: ignore[no-any-return]
    if isinstance(table, Mapping):
        return _from_columns(table)
    if hasattr(table, "to_dict") and hasattr(table, "columns"):  # pandas
        return table.to_dict("records")  # type: ignore[no-any-return]
    records = list(table) if isinstance(table, Iterable) else []  # Hugging Face; any records
    if not records or not all(isinstance(record, Mapping) for record in records):
        raise DataError(
            f"data: cannot read {type(table).__name__}; give a path, a list of records like "
            '{"hypothesis": ..., "references": [...]}, or a pandas, polars or Hugging Face table'
        )
    return records


def _from_columns(columns: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    """Records from column names and lists; a Hugging Face dataset with splits is not one table."""
    if any(hasattr(column, "column_names") for column in columns.values()):
        splits = ", ".join(map(str, columns))
        raise DataError(
            f"data: a dataset with the splits {splits}; give one of them, as in data[{next(iter(columns))!r}]"
        )
    single = (str, bytes, Mapping)
    lists = {
        name: list(v) for name, v in columns.items() if isinstance(v, Iterable) and not isinstance(v, single)
    }
    if len(lists) < len(columns):  # a single record
        return [dict(columns)]
    sizes = {name: len(values) for name, values in lists.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise DataError(
            f"data: the columns are not of one length ({listed}); give every column one value per row"
        )
    return [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]


def plain(value: Any) -> Any:
    """A cell as JSON would hold it; None where there is no value.

    A whole number becomes an int: pandas makes floats of whole numbers in a column with gaps.

    >>> plain([1.0, float("nan"), {"a": 2.5}])
    [1, None, {'a': 2.5}]
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    if type(value).__name__ in _ABSENT:
        return None
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [plain(item) for item in value]
    for method in ("tolist", "to_list"):  # numpy's arrays and numbers, a polars series
        if hasattr(value, method):
            return plain(getattr(value, method)())
    return str(value)
