"""The command `atlas`: it prints the atlas of metrics, and where other metrics stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import typer

from assay.cli import options as o
from assay.cli.output import fitted, print_columns, print_json, print_notes, print_paragraph
from assay.errors import AuditError, SpecError
from assay.reading.atlas import FRESH, Placement, Standing, objections, place
from assay.reading.lines import blind_to, caption, sources, table_rows, with_interval
from assay.reading.names import shown, shown_names
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun, load_run
from assay.reading.shipped import load_atlas
from assay.reading.verdicts import checks

_WITHOUT_PEOPLE = (
    "agreement with people is left out: give --people FOLDER with public ratings (docs/human-ratings.md)"
)
_MOST = 8  # errors named that only one metric notices


@o.with_request("metric", "out", "cache", "workers", "json", "quiet", out=Path("assay-run"))
def atlas_command(
    request: o.Request, task: str | None = None, check: Path | None = None, people: Path | None = None
) -> None:
    """Show where metrics stand, by task; with -m, measure your metric and place it among them."""
    known = load_atlas()
    if people is not None and not request.metric:
        raise SpecError("--people says where ratings lie on which to measure a metric: give one with -m")
    if check is not None:
        _check(load_run(check), known)
    elif request.metric:
        _measure(request, known, people)
    else:
        _print_ranking(known, task, json=request.json)


def _measure(request: o.Request, known: StoredRun, people: Path | None) -> None:
    """Measure metrics as those of the atlas were, on public ratings where they are given, and place them."""
    from assay.api.people import people_findings
    from assay.api.pipeline import audit

    specs = o.read_specs(request.metric)
    rated, notes = people_findings(people, specs) if people else (None, [_WITHOUT_PEOPLE])
    run = audit(specs, session=request.session(), size=known.about["size"], also=(FRESH,))
    if rated is not None:
        run = replace(run, findings=pl.concat([run.findings, rated]))
    print_placements(run, known, json=request.json, quiet=request.quiet, notes=notes)


def _print_ranking(known: StoredRun, task: str | None, *, json: bool) -> None:
    known = shown(known)
    by_task = {ranking.task: ranking for ranking in rankings(known)}
    if task is not None and task not in by_task:
        raise SpecError(f"the atlas has no task {task!r}; it has {', '.join(by_task)}")
    ranking = by_task[task or next(iter(by_task))]
    if json:
        document = {"task": ranking.task, "about": caption(ranking), "metrics": table_rows(ranking)}
        print_json(document | {"best": ranking.best, "reason": ranking.reason})
        return
    print_paragraph(f"{caption(ranking)}:")
    print_columns(fitted(table_rows(ranking)), cut=True)
    if sources(ranking):
        print_paragraph(sources(ranking))
    print_paragraph(f"{ranking.advice}. {ranking.reason}")
    if ranking.unnoticed:
        typer.echo(f"every ranked metric is blind to: {', '.join(ranking.unnoticed)}")
    if task is None:
        typer.echo(f"(--task NAME: {', '.join(list(by_task)[1:])})", err=True)


def print_placements(
    run: StoredRun, known: StoredRun, *, json: bool, quiet: bool = False, notes: Sequence[str] = ()
) -> None:
    """Print where the metrics of a run stand in the atlas."""
    if not checks(run):
        raise AuditError("nothing was judged in this run, so that it has no place in the atlas")
    placements, left_out = place(run, known)
    notes = [*notes, *left_out]
    if json:
        print_json({"placements": [_document(placement) for placement in placements], "notes": notes})
        return
    names = shown_names(known) | shown_names(run)
    for placement in placements:
        _print_placement(placement, names)
    print_notes(notes, quiet=quiet)


def _document(placement: Placement) -> dict[str, Any]:
    standings = [_standing_cells(standing) for standing in placement.standings]
    near = [{"metric": n.metric, "blind_together": n.both, "of": n.either} for n in placement.neighbours]
    return {
        "metric": placement.metric, "standings": standings, "neighbours": near,
        "noticed_alone": [list(spot) for spot in placement.alone],
    }  # fmt: skip


def _print_placement(placement: Placement, names: dict[str, str]) -> None:
    typer.echo(f"{names[placement.metric]} in the atlas:")
    print_columns([_standing_cells(standing) for standing in placement.standings])
    for near in placement.neighbours:
        missed = f"of {near.either} errors that either misses, both miss {near.both}"
        typer.echo(f"near {names[near.metric]}: {missed}")
    listed = [f"{slice_} ({audit})" for audit, slice_ in placement.alone]
    more = f", and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    typer.echo(f"only it notices: {', '.join(listed[:_MOST]) or 'nothing'}{more}")


def _standing_cells(standing: Standing) -> dict[str, Any]:
    line = standing.line
    return {
        "task": standing.task, "errors": with_interval(line.errors),
        "rewordings": with_interval(line.reworded), "other words": with_interval(line.contrast),
        "people": with_interval(line.people), "blind to": blind_to(line),
        "better than": f"{standing.percentile:.0f}% of {standing.metrics} metrics",
    }  # fmt: skip


def _check(run: StoredRun, known: StoredRun) -> None:
    reasons = objections(run, known)
    for reason in reasons:
        typer.echo(f"failed: {reason}", err=True)
    if reasons:
        measured = f"assay atlas -m {run.metrics[0]} --out DIR"
        typer.echo(f"the run cannot be added to the atlas; make it with {measured}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{', '.join(run.metrics)}: {run.findings.height:,} findings that can be added to the atlas")
