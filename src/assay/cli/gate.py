"""Gates: an exit status from findings, so that a metric's authors can put assay into their CI."""

from __future__ import annotations

import typer

from assay.errors import SpecError, suggest
from assay.results import Run

GATES = {"fail": ("fair", "sees", "agrees"), "unfair": ("fair",), "blind": ("sees",)}


def check_gate(run: Run, gate: str | None) -> None:
    """Exit 1 when a finding that the gate watches failed."""
    if gate is None:
        return
    if gate not in GATES:
        raise SpecError(f"unknown gate {gate!r}{suggest(gate, GATES)}")
    questions = {name: about["question"] for name, about in run.about["audits"].items()}
    failed = [
        row
        for row in run.findings.iter_rows(named=True)
        if row["passed"] is False and questions[row["audit"]] in GATES[gate]
    ]
    for row in failed[:20]:
        typer.echo(f"failed: {row['metric']} {row['audit']} {row['slice']} {row['statistic']}", err=True)
    if failed:
        typer.echo(f"gate {gate}: {len(failed)} findings failed", err=True)
        raise typer.Exit(1)
