"""`assay list`: what there is - metrics, audits, perturbations, datasets, weights."""

from __future__ import annotations

import json as json_module
import shutil
import sys
from typing import Annotated, Any

import typer

from assay.cli import options as o
from assay.errors import SpecError, suggest

KINDS = ("metrics", "audits", "perturbations", "datasets", "weights")
_WIDEST = 62  # characters of a cell on a terminal


def command(
    kind: Annotated[str, typer.Argument(help=", ".join(KINDS))],
    json: o.Json = False,
) -> None:
    """List everything of a kind."""
    if kind not in KINDS:
        raise SpecError(f"unknown list {kind!r}{suggest(kind, KINDS)}")
    show(kind, as_json=json)


def show(kind: str, *, as_json: bool) -> None:
    """Print the list as columns or as JSON."""
    from assay.inventory import inventory

    rows: list[dict[str, Any]] = inventory(kind)
    if as_json:
        typer.echo(json_module.dumps({kind: rows}, ensure_ascii=False, indent=1))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in columns(rows, width):
        typer.echo(line)


def columns(rows: list[dict[str, Any]], width: int | None) -> list[str]:
    """Aligned columns; on a terminal long cells and lines are cut, in a pipe nothing is."""
    if not rows:
        return ["nothing here"]
    table = [list(rows[0])] + [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
    if width:
        table = [[_cut(cell, _WIDEST) for cell in line] for line in table]
    sizes = [max(len(line[place]) for line in table) for place in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(line, sizes, strict=True)) for line in table]
    return [_cut(line.rstrip(), width) for line in lines]


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: width - 1] + "…"
