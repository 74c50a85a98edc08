"""`assay gate RUN`: exit 1 when a run breaks its bounds; also the `--fail-on` of other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.datasets.rows import read_text
from assay.report.gate import Bounds, Outcome, outcomes, parse_bounds
from assay.report.gate import junit as as_junit
from assay.run.results import Run, load_run, write_text

MOST = 20


def command(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    bounds: Annotated[
        Path | None, typer.Option(help="A TOML file of bounds that findings must keep.")
    ] = None,
    fail_on: o.FailOn = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
) -> None:
    """Check a run against bounds; exit with status 1 when one is broken."""
    asked = parse_bounds(read_text(bounds), bounds) if bounds else Bounds(None, (), ())
    gate = fail_on or asked.fail_on or (None if bounds else "fail")
    checked = outcomes(load_run(run), Bounds(o.known_gate(gate), asked.bounds, asked.allowed))
    if junit:
        write_text(junit, as_junit(checked))
    _report(checked, str(bounds) if bounds else str(gate))


def check_gate(run: Run, gate: str | None) -> None:
    """Exit 1 when a finding that the gate watches failed."""
    if gate is not None:
        _report(outcomes(run, Bounds(gate, (), ())), gate)


def _report(checked: list[Outcome], gate: str) -> None:
    broken = [outcome for outcome in checked if outcome.problem is not None]
    for outcome in broken[:MOST]:
        typer.echo(f"failed: {outcome.row['audit']} {outcome.name}: {outcome.problem}", err=True)
    if broken:
        typer.echo(f"gate {gate}: {len(broken)} of {len(checked)} requirements failed", err=True)
        raise typer.Exit(1)
    typer.echo(f"gate {gate}: {len(checked)} requirements met", err=True)
