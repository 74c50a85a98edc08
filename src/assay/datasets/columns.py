"""The names of columns: assay's own fields, what other tools call them, and the user's `--map`.

A `DataFile` is a path with the user's names of columns, or a table in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.datasets.lexicon import toml_file
from assay.errors import SpecError, suggest

if sys.platform == "win32":
    from pathlib import WindowsPath as _Path
else:
    from pathlib import PosixPath as _Path

Columns = Mapping[str, tuple[str, ...]]  # a field of ours to the user's columns; none: the field is not used
FIELDS: list[str] = toml_file("columns", "columns")["fields"]
ALIASES: dict[str, list[str]] = toml_file("columns", "columns")["aliases"]
CRITERION = "human."  # a table may have one column per criterion: human.fluency


class DataFile(_Path):
    """A path with the user's names of columns; or a table in memory, for which the path is only a name."""

    columns: Columns = {}
    table: Sequence[Mapping[str, Any]] | None = None

    @classmethod
    def of(
        cls, path: str | Path, columns: Columns, table: Sequence[Mapping[str, Any]] | None = None
    ) -> DataFile:
        """A path with these columns; pathlib's own constructor takes no more than the path."""
        file = cls(path)
        file.columns, file.table = columns, table
        return file

    def is_dir(self) -> bool:
        """Whether it is a folder; a table in memory is none, whatever lies in the working folder."""
        return self.table is None and super().is_dir()

    def is_file(self) -> bool:
        return self.table is None and super().is_file()


def table_of(path: Path) -> Sequence[Mapping[str, Any]] | None:
    """The table in memory that a path stands for; None for a file."""
    return path.table if isinstance(path, DataFile) else None


def parse_map(given: str | Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """`hypothesis=summary,human.quality=rating` to columns by field.

    A field without a column (`human=`) is not read at all; `references` may have several columns.

    >>> parse_map("hypothesis=summary,references=r1,references=r2,human=")
    {'hypothesis': ('summary',), 'references': ('r1', 'r2'), 'human': ()}
    """
    columns: dict[str, tuple[str, ...]] = {}
    for name, value in _map_items(given):
        field_ = "references" if name == "reference" else name
        if field_ not in FIELDS and not field_.removeprefix(CRITERION):
            raise SpecError(f"--map {name}={value}: name the criterion, as in human.quality={value}")
        if field_ not in FIELDS and value in FIELDS:
            raise SpecError(f"--map {name}={value}: the field comes first; write --map {value}={name}")
        if field_ not in FIELDS and not field_.startswith(CRITERION):
            raise SpecError(f"--map {name}={value}: assay has no field {name!r}{suggest(name, FIELDS)}")
        if field_ in columns and field_ != "references":
            raise SpecError(f"--map gives {field_} two columns; choose one of them")
        columns[field_] = columns.get(field_, ()) + ((value,) if value else ())
    return columns


def _map_items(given: str | Mapping[str, str | Sequence[str]]) -> Iterator[tuple[str, str]]:
    if not isinstance(given, str):
        for name, value in given.items():
            yield from ((name, column) for column in ([value] if isinstance(value, str) else value))
        return
    for pair in filter(None, (part.strip() for part in given.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise SpecError(f"--map {pair!r} is not FIELD=COLUMN; write --map hypothesis=summary")
        yield name.strip(), value.strip()
