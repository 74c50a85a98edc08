"""The command on the atlas of metrics: what it shows, and where other metrics stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from assay.cli import options as o
from assay.cli.output import print_columns, print_json, print_notes
from assay.errors import SpecError
from assay.reading.atlas import Placement, Standing, load_atlas, objections, options_of, place
from assay.reading.names import shown, shown_names
from assay.reading.ranking import Line, Profile, Share, profiles, rankings
from assay.reading.results import StoredRun, load_run
from assay.reading.verdicts import audits_of

_MOST = 8  # errors named that only one metric notices


@o.with_request("metric", "out", "cache", "workers", "json", "quiet", out=Path("assay-run"))
def atlas(request: o.Request, task: str | None = None, check: Path | None = None) -> None:
    """Show where metrics stand, by task; with -m, measure your metric and place it among them."""
    known = load_atlas()
    if check is not None:
        _check(load_run(check), known)
    elif request.metric:
        from assay.api.pipeline import audit

        options = {name: known.about[name] for name in ("size", "limit")}
        run = audit(o.read_specs(request.metric), session=request.session(), **options)
        print_placements(run, known, json=request.json, quiet=request.quiet)
    else:
        _print_ranking(known, task, json=request.json)


def _print_ranking(known: StoredRun, task: str | None, *, json: bool) -> None:
    known = shown(known)
    listed = rankings(known)
    chosen = [ranking for ranking in listed if ranking.task == (task or listed[0].task)]
    if not chosen:
        raise SpecError(f"the atlas has no task {task!r}; it has {', '.join(r.task for r in listed)}")
    (ranking,), about = chosen, profiles(known)
    rows = [_cells(line, about[line.metric]) for line in ranking.lines]
    if json:
        print_json({"task": ranking.task, "metrics": rows, "panel": ranking.panel, "reason": ranking.reason})
        return
    typer.echo(f"{ranking.task}: {len(rows)} metrics, assay {known.about['assay']}")
    print_columns(rows)
    typer.echo(f"{ranking.advice}: {ranking.reason}" if ranking.panel else ranking.reason)
    if ranking.unnoticed:
        typer.echo(f"noticed by none: {', '.join(ranking.unnoticed)}")
    if task is None:
        typer.echo(f"(--task NAME: {', '.join(each.task for each in listed[1:])})", err=True)


def _cells(line: Line, about: Profile) -> dict[str, Any]:
    return {
        "rank": line.rank or "too few to rank", "metric": line.metric,
        "errors noticed": _percent(line.noticed), "harmless edits left alone": _percent(line.steady),
        "fairness": about.fairness.words,
        "texts/s": "" if about.speed is None else f"{about.speed:,.0f}",
    }  # fmt: skip


def _percent(share: Share) -> str:
    if not share.total:
        return ""
    low, high = share.ends
    return f"{share.value:.0%} [{100 * low:.0f}, {100 * high:.0f}] of {share.total}"


def print_placements(run: StoredRun, known: StoredRun, *, json: bool, quiet: bool = False) -> None:
    """Print where the metrics of a run stand in the atlas."""
    placements, notes = place(run, known)
    if json:
        print_json({"placements": [_document(placement) for placement in placements], "notes": notes})
        return
    names = shown_names(known) | shown_names(run)
    for placement in placements:
        _print_placement(placement, run, names)
    print_notes(notes, quiet=quiet)


def _document(placement: Placement) -> dict[str, Any]:
    standings = [
        {"audit": s.audit, "good": s.share.good, "bad": s.share.bad, "of": s.share.total,
         "percentile": round(s.percentile, 1), "metrics": s.metrics}
        for s in placement.standings
    ]  # fmt: skip
    near = [
        {"metric": name, "blind_together": shared.good, "of": shared.total}
        for name, shared in placement.neighbours.items()
    ]
    return {
        "metric": placement.metric, "standings": standings, "neighbours": near, "joins": placement.joins,
        "noticed_alone": [list(spot) for spot in placement.alone], "panel": list(placement.panel.members),
    }  # fmt: skip


def _print_placement(placement: Placement, run: StoredRun, names: dict[str, str]) -> None:
    audits = audits_of(run)
    typer.echo(f"{names[placement.metric]} in the atlas:")
    print_columns([_standing_cells(each, audits[each.audit].question) for each in placement.standings])
    for name, shared in placement.neighbours.items():
        missed = f"of {shared.total} errors that either misses, both miss {_percent(shared)}"
        typer.echo(f"near {names[name]}: {missed.rpartition(' of ')[0]}")
    listed = [f"{slice_} ({audit})" for audit, slice_ in placement.alone]
    more = f", and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    typer.echo(f"only it notices: {', '.join(listed[:_MOST]) or 'nothing'}{more}")
    panel, verb = placement.panel, "belongs to" if placement.joins else "is not needed in"
    size = f"{len(panel.covered)} of {len(panel.spots)} kinds of error"
    members = " + ".join(names[member] for member in panel.members)
    typer.echo(f"it {verb} the smallest fair panel, which notices {size}: {members}")


def _standing_cells(standing: Standing, question: str) -> dict[str, Any]:
    return {
        "question": question, "audit": standing.audit, "good": _percent(standing.share),
        "failed": standing.share.bad,
        "percentile": f"{standing.percentile:.0f} of {standing.metrics} metrics",
    }  # fmt: skip


def _check(run: StoredRun, known: StoredRun) -> None:
    reasons = objections(run, known)
    for reason in reasons:
        typer.echo(f"failed: {reason}", err=True)
    if reasons:
        typer.echo(f"the run cannot be added to the atlas; run assay audit {options_of(known)}", err=True)
        raise typer.Exit(1)
    typer.echo(f"{', '.join(run.metrics)}: {run.findings.height:,} findings that can be added to the atlas")
