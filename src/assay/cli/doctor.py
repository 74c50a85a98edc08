"""`assay doctor`: what is installed, which weights are here, and whether the numbers come out."""

from __future__ import annotations

import json as json_module

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns


def command(json: o.Json = False) -> None:
    """Check the installation; exit 1 when a golden number does not come out."""
    from assay.names.inventory import health

    checks = health()
    if json:
        typer.echo(json_module.dumps({"checks": checks}, indent=1))
    else:
        print_columns(checks)
    if any(check["state"] == "wrong" for check in checks):
        raise typer.Exit(1)
