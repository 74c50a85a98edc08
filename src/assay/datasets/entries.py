"""JSON files that hold one document, not a record a line: entries with the getters of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.datasets.rows import Row, json_value, read_text
from assay.errors import DataError


@dataclass(frozen=True, slots=True)
class Entry(Row):
    """A member of a list or an object; errors name it by its place."""

    def fail(self, problem: str) -> DataError:
        """An error that says where."""
        return DataError(f"{self.file}, entry {self.line}: {problem}")

    def members(self, column: str) -> list[Entry]:
        """The objects of a list in this entry."""
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
    """A whole JSON file."""
    try:
        return json_value(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); is it the whole file?") from error


def read_object(path: Path) -> Mapping[str, Any]:
    """A JSON file whose document is an object."""
    value = read_json(path)
    if not isinstance(value, Mapping):
        raise DataError(f"{path}: an object is expected, not {type(value).__name__}")
    return value


def entries(value: object, path: Path) -> list[Entry]:
    """The objects of a list, or of an object by its keys."""
    listed = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or not all(isinstance(member, Mapping) for member in listed):
        raise DataError(f"{path}: a list of objects is expected")
    if not listed:
        raise DataError(f"{path} holds no entries")
    return [Entry(member, path, number) for number, member in enumerate(listed, start=1)]
