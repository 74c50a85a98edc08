"""`assay doctor`: what is installed, which weights are here, and whether the numbers come out."""

from __future__ import annotations

import json as json_module

import typer
from rich.console import Console
from rich.table import Table

from assay.cli import options as o


def command(json: o.Json = False) -> None:
    """Check the installation; exit 1 when a golden number does not come out."""
    from assay.inventory import health

    checks = health()
    if json:
        typer.echo(json_module.dumps({"checks": checks}, indent=1))
    else:
        table = Table("what", "state", "detail")
        for check in checks:
            table.add_row(check["what"], check["state"], check["detail"])
        Console().print(table)
    if any(check["state"] == "wrong" for check in checks):
        raise typer.Exit(1)
