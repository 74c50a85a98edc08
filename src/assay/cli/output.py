"""What commands print of a run: answers, findings, notes and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import typer

from assay.cli.columns import print_columns
from assay.cli.runs import check_gate
from assay.errors import AuditError
from assay.run.pipeline import estimate_cost
from assay.run.results import Run
from assay.run.session import Session


def finish(done: Run, *, form: str, fail_on: str | None, quiet: bool) -> None:
    """Write the report, print the result, apply the gate."""
    from assay.report import render, write_report

    if not done.findings.height:
        raise AuditError("; ".join(["nothing could be judged", *done.notes]))
    report = write_report(done)
    if form == "html":
        (print_findings if len(done.about["audits"]) == 1 else print_answers)(done)
    else:
        typer.echo(render(done, form))
    print_notes(done.notes, quiet=quiet)
    if not quiet:
        typer.echo(f"report: {report}", err=True)
    check_gate(done, fail_on)


def print_notes(notes: Sequence[str], *, quiet: bool, most: int = 12) -> None:
    """Print notes about the run to stderr."""
    if quiet:
        return
    for note in notes[:most]:
        typer.echo(f"note: {note}", err=True)
    if len(notes) > most:
        typer.echo(f"note: and {len(notes) - most} more", err=True)


def print_answers(done: Run) -> None:
    """Each metric's answers and the gravest findings in words, for a run with several audits."""
    from assay.report.text import sentence
    from assay.report.verdicts import QUESTION_TITLES, answers, audits_of, rows_of, worst

    audits, answered = audits_of(done), answers(done)
    rows = [
        {"metric": metric}
        | {title: answered[metric, question].short for question, title in QUESTION_TITLES.items()}
        for metric in done.metrics
    ]
    print_columns(rows)
    for row in worst(done, rows_of(done)):
        typer.echo(f"- {sentence(audits[row['audit']], row)}")
    typer.echo(f"({done.findings.height:,} findings in the report and with --json)", err=True)


def print_findings(done: Run, most: int = 60) -> None:
    """Judged findings, failures first; all findings where none was judged."""
    from assay.report.text import shown_verdict

    judged = done.findings.filter(pl.col("verdict") != "not judged")
    rows = judged.sort(pl.col("verdict") != "fail", pl.col("verdict") != "pass", maintain_order=True)
    rows = rows if judged.height else done.findings
    shown = [{"verdict": shown_verdict(row)} | _cells(row) for row in rows.head(most).iter_rows(named=True)]
    print_columns(shown, cut=True)
    left = done.findings.height - len(shown)
    if left > 0:
        typer.echo(f"({left} more findings in the report and with --json)", err=True)


def _cells(row: dict[str, Any]) -> dict[str, str]:
    interval = "" if row["ci_low"] is None else f"{row['ci_low']:.3g} .. {row['ci_high']:.3g}"
    return {
        "metric": row["metric"],
        "audit": row["audit"],
        "slice": row["slice"],
        "statistic": row["statistic"],
        "value": f"{row['value']:.4g}" if abs(row["value"]) > 1e-9 else "0",  # rounding is no finding
        "95% CI": interval,
        "q": "" if row["q_value"] is None else f"{row['q_value']:.3f}",
    }


def show_cost(
    only: Sequence[str], metrics: Sequence[str], asked: Mapping[str, Any], size: str, session: Session
) -> None:
    """Samples, unique texts, tokens and seconds per metric, before anything is scored."""
    rows = []
    for row in estimate_cost(only, metrics, asked, size, session):
        counted = ("samples", "unique", "cached", "texts", "tokens")
        counts = {name: f"{getattr(row, name):,}" for name in counted}
        seconds = "?" if row.seconds is None else f"{row.seconds:,.0f}"
        rows.append({"metric": row.metric} | counts | {"seconds": seconds, "to fetch": row.fetch})
    print_columns(rows)


_WIDEST = 60  # characters of a cell, where lines are cut
