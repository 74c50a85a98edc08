"""`assay panel RUN`: the smallest fair set of metrics that notices what some metric notices."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.report.panel import Candidate, Panel, Spot, choose_panel

LISTED = 12


def command(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    allow_unfair: Annotated[
        bool, typer.Option("--allow-unfair", help="Let metrics in that failed a fairness check.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Choose metrics that together notice every kind of error that some metric of the run notices."""
    from assay.run.results import load_run

    loaded = load_run(run)
    panel = choose_panel(loaded, fair=not allow_unfair)
    if json:
        typer.echo(json_module.dumps(_document(panel), ensure_ascii=False, indent=1))
    else:
        _show(panel, allow_unfair)
        if panel.unfair_only:
            wider = choose_panel(loaded, fair=False)
            typer.echo(
                f"with unfair metrics too: {' + '.join(wider.members)} would notice {len(wider.covered)}; "
                "read their scores only where groups do not matter"
            )


def _document(panel: Panel) -> dict[str, Any]:
    hybrid = panel.hybrid
    return {
        "members": list(panel.members),
        "spots": len(panel.spots),
        "noticed": len(panel.covered),
        "noticed_by_none": _listed(panel.unnoticed),
        "noticed_by_unfair_metrics_only": _listed(panel.unfair_only),
        "curve": [{"members": list(members), "noticed": covered} for members, covered in panel.curve],
        "hybrid": hybrid
        and {"spec": hybrid.spec, "predicted": len(hybrid.notices), "gained": _listed(hybrid.gained)},
        "candidates": [
            {
                "metric": candidate.metric, "notices": len(candidate.notices),
                "unfair": list(candidate.unfair), "seconds_per_1000_texts": candidate.seconds,
            }
            for candidate in panel.candidates
        ],
    }  # fmt: skip


def _listed(spots: frozenset[Spot]) -> list[str]:
    return [_name(spot) for spot in sorted(spots)]


def _name(spot: Spot) -> str:
    audit, slice_, versus = spot
    return f"{audit} {slice_}" + (f" (against {versus})" if versus else "")


def _show(panel: Panel, allow_unfair: bool) -> None:
    kind = "panel" if allow_unfair else "fair panel"
    chosen = " + ".join(panel.members) or "no metric qualifies"
    typer.echo(f"{kind}: {chosen}")
    typer.echo(f"notices {len(panel.covered)} of {len(panel.spots)} kinds of error")
    for members, covered in panel.curve:
        typer.echo(f"  with {len(members)}: {covered} ({', '.join(members)})")
    ranked = sorted(panel.candidates, key=lambda candidate: -len(candidate.notices))
    print_columns([_cells(candidate) for candidate in ranked])
    _show_rest(panel)


def _cells(candidate: Candidate) -> dict[str, object]:
    more = " ..." if len(candidate.unfair) > 3 else ""
    return {
        "metric": candidate.metric,
        "notices": len(candidate.notices),
        "s / 1000 texts": "?" if candidate.seconds is None else f"{candidate.seconds:.2f}",
        "fair": "yes" if candidate.is_fair else f"no: {', '.join(candidate.unfair[:3])}{more}",
    }


def _show_rest(panel: Panel) -> None:
    if panel.hybrid:
        typer.echo(
            f"best hybrid (predicted): {panel.hybrid.spec} notices {len(panel.hybrid.notices)}, of which "
            f"{len(panel.hybrid.gained)} are noticed by neither part alone; check it with "
            f"assay audit -m '{panel.hybrid.spec}'"
        )
    for title, spots in (
        ("noticed by unfair metrics only (--allow-unfair lets them in)", panel.unfair_only),
        ("noticed by no metric of this run", panel.unnoticed),
    ):
        if spots:
            typer.echo(f"{title}: {len(spots)}")
            for spot in sorted(spots)[:LISTED]:
                typer.echo(f"  {_name(spot)}")
            if len(spots) > LISTED:
                typer.echo(f"  ... and {len(spots) - LISTED} more (--json lists all)")
