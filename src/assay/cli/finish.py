"""What happens after a run: report, result on stdout, gate; and before it, with --dry-run: the cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from assay.cli.gate import check_gate
from assay.pipeline import Options, estimate
from assay.results import Run


def finish(done: Run, *, as_json: bool, fail_on: str | None, quiet: bool) -> None:
    """Write the report, print the result, apply the gate."""
    from assay.report import write_report

    report = write_report(done)
    if as_json:
        typer.echo(done.json())
    else:
        print_findings(done)
    if not quiet:
        for note in done.notes[:12]:
            typer.echo(f"note: {note}", err=True)
        typer.echo(f"report: {report}", err=True)
    check_gate(done, fail_on)


def print_findings(done: Run, most: int = 60) -> None:
    """The findings that a person looks for first: failures, then the rest."""
    table = Table("metric", "audit", "slice", "statistic", "value", "95% CI", "q", "verdict")
    rows = done.findings.sort("passed", descending=False, nulls_last=True, maintain_order=True)
    for row in rows.head(most).iter_rows(named=True):
        interval = "" if row["ci_low"] is None else f"{row['ci_low']:.3g} .. {row['ci_high']:.3g}"
        q_value = "" if row["q_value"] is None else f"{row['q_value']:.3f}"
        verdict = {True: "pass", False: "FAIL", None: "-"}[row["passed"]]
        cells = (row["metric"], row["audit"], row["slice"], row["statistic"], f"{row['value']:.4g}")
        table.add_row(*cells, interval, q_value, verdict)
    Console().print(table)
    if done.findings.height > most:
        typer.echo(f"({done.findings.height - most} more findings in the report and with --json)", err=True)


def show_cost(
    only: Sequence[str], metrics: Sequence[str], asked: Mapping[str, Any], size: str, options: Options
) -> None:
    """Samples, unique texts, tokens and seconds a metric, before anything is scored."""
    table = Table("metric", "samples", "unique", "cached", "texts", "tokens", "seconds", "to fetch")
    for row in estimate(only, metrics, asked, size, options):
        seconds = "?" if row.seconds is None else f"{row.seconds:,.0f}"
        counts = (f"{n:,}" for n in (row.samples, row.unique, row.cached, row.texts, row.tokens))
        table.add_row(row.metric, *counts, seconds, row.fetch)
    Console().print(table)
