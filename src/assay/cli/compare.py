"""`assay compare A B`: what got better, worse or stayed between two runs."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.errors import SpecError
from assay.report.compare import Change, Comparison, compare
from assay.run.results import Run, load_run


def command(
    before: Annotated[Path, typer.Argument(help="A run folder.")],
    after: Annotated[Path, typer.Argument(help="A later run folder.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("-m", "--metric", help="OLD=NEW: compare metrics of different names; repeatable."),
    ] = None,
    fail_on_worse: Annotated[
        bool, typer.Option("--fail-on-worse", help="Exit with status 1 if any finding got worse.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Compare two runs; a change counts where a verdict turned or q < .05."""
    first, second = load_run(before), load_run(after)
    comparison = compare(first, second, _renamed(metric or [], first.metrics))
    if not comparison.shared:
        raise SpecError(_nothing_shared(first, second))
    if json:
        listed = [change.document for change in comparison.shared]
        counts = {"only_before": comparison.only_before, "only_after": comparison.only_after}
        typer.echo(json_module.dumps({"changes": listed, **counts}, ensure_ascii=False, indent=1))
    else:
        _show(comparison)
    if fail_on_worse and comparison.of("worse"):
        raise typer.Exit(1)


def _nothing_shared(first: Run, second: Run) -> str:
    """What the runs do not share: an audit, a metric, or slices."""
    for kind, remedy in (("audit", "run one audit twice"), ("metric", "name a pair with -m OLD=NEW")):
        before, after = (sorted(set(run.findings[kind])) for run in (first, second))
        if not set(before) & set(after):
            return f"the runs share no {kind}: {_listed(before)} and {_listed(after)}; {remedy}"
    return "the runs share no finding: other data or options; run both alike, or name metrics with -m OLD=NEW"


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _renamed(given: list[str], known: list[str]) -> dict[str, str]:
    """`bertscore-f=bertscore-f:layer=5`: a spec holds equal signs itself, so the first run's names decide."""
    renamed = {}
    for text in given:
        old = next((name for name in known if text.startswith(f"{name}=")), None)
        if old is None or len(text) == len(old) + 1:
            raise SpecError(f"{text!r} is not OLD=NEW with a metric of the first run: {', '.join(known)}")
        renamed[old] = text[len(old) + 1 :]
    return renamed


def _show(comparison: Comparison, most: int = 25) -> None:
    for direction in ("worse", "better"):
        changes = comparison.of(direction)
        typer.echo(f"{direction}: {len(changes)}")
        if changes:
            print_columns([_cells(change) for change in changes[:most]])
    typer.echo(f"unchanged within uncertainty: {len(comparison.of('unchanged'))}")
    before, after = comparison.only_before, comparison.only_after
    if before or after:
        typer.echo(f"only in the first run: {before}; only in the second: {after}")


def _cells(change: Change) -> dict[str, str]:
    metric, audit, slice_, statistic, _ = change.key
    return {
        "metric": metric, "audit": audit, "slice": slice_, "statistic": statistic,
        "before": f"{change.before:.4g}", "after": f"{change.after:.4g}",
        "q": "" if change.q_value is None else f"{change.q_value:.3f}",
        "verdict": " > ".join(change.verdicts),
    }  # fmt: skip
