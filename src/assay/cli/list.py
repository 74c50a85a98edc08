"""`assay list`: what there is - metrics, audits, perturbations, datasets, weights."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.errors import SpecError, suggest

KINDS = ("metrics", "audits", "perturbations", "datasets", "weights")


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
    from assay.names.inventory import inventory

    rows: list[dict[str, Any]] = inventory(kind)
    if as_json:
        typer.echo(json_module.dumps({kind: rows}, ensure_ascii=False, indent=1))
        return
    print_columns(rows, cut=True)
