"""Rows as plain columns, for people and for `cut` and `awk`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import typer

_WIDEST = 60  # characters of a cell, where lines are cut


def print_columns(rows: Sequence[dict[str, Any]], *, cut: bool = False) -> None:
    """Print rows under their column names; `cut` shortens long lines on a terminal, never in a pipe."""
    width = shutil.get_terminal_size().columns if cut and sys.stdout.isatty() else None
    for line in columns(rows, width):
        typer.echo(line)


def columns(rows: Sequence[dict[str, Any]], width: int | None = None) -> list[str]:
    """The lines, no longer than width.

    >>> columns([{"a": 1, "bb": None}, {"a": "xyz", "bb": 2}])
    ['a    bb', '1', 'xyz  2']
    >>> columns([{"name": "one\\x1b[2J"}])
    ['name', 'one\ufffd[2J']
    """
    if not rows:
        return ["nothing here"]
    table = [list(rows[0])] + [[_shown(cell) for cell in row.values()] for row in rows]
    if width:
        table = [[_cut(cell, _WIDEST) for cell in line] for line in table]
    sizes = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(line, sizes, strict=True)) for line in table]
    return [_cut(line.rstrip(), width) for line in lines]


def _shown(cell: Any) -> str:
    """A cell on one line, without control characters, which could steer a terminal."""
    text = "" if cell is None else str(cell)
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: width - 1] + "…"
