"""`assay panel RUN`: the smallest fair set of metrics that sees what can be seen."""

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
    """Choose metrics that together see every error that some metric of the run sees."""
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
                f"with unfair metrics too: {' + '.join(wider.members)} would see {len(wider.covered)}; "
                "read its scores only where groups do not matter"
            )


def _document(panel: Panel) -> dict[str, Any]:
    hybrid = panel.hybrid
    return {
        "members": list(panel.members),
        "spots": len(panel.spots),
        "covered": len(panel.covered),
        "residue": _listed(panel.residue),
        "seen_by_unfair_metrics_only": _listed(panel.unfair_only),
        "curve": [{"members": list(members), "covered": covered} for members, covered in panel.curve],
        "hybrid": hybrid
        and {"spec": hybrid.spec, "predicted": len(hybrid.sees), "gained": _listed(hybrid.gained)},
        "candidates": [
            {
                "metric": one.metric, "sees": len(one.sees), "unfair": list(one.unfair),
                "seconds_a_thousand": one.seconds,
            }
            for one in panel.candidates
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
    typer.echo(f"sees {len(panel.covered)} of {len(panel.spots)} kinds of error")
    for members, covered in panel.curve:
        typer.echo(f"  with {len(members)}: {covered} ({', '.join(members)})")
    ranked = sorted(panel.candidates, key=lambda each: -len(each.sees))
    print_columns([_cells(one) for one in ranked])
    _show_rest(panel)


def _cells(one: Candidate) -> dict[str, object]:
    more = " ..." if len(one.unfair) > 3 else ""
    return {
        "metric": one.metric,
        "sees": len(one.sees),
        "s / 1000 texts": "?" if one.seconds is None else f"{one.seconds:.2f}",
        "fair": "yes" if one.fair else f"no: {', '.join(one.unfair[:3])}{more}",
    }


def _show_rest(panel: Panel) -> None:
    if panel.hybrid:
        typer.echo(
            f"best hybrid (predicted): {panel.hybrid.spec} sees {len(panel.hybrid.sees)}, of which "
            f"{len(panel.hybrid.gained)} neither part sees alone; check it with "
            f"assay audit -m '{panel.hybrid.spec}'"
        )
    for title, spots in (
        ("seen by unfair metrics only (--allow-unfair lets them in)", panel.unfair_only),
        ("seen by no metric of this run", panel.residue),
    ):
        if spots:
            typer.echo(f"{title}: {len(spots)}")
            for spot in sorted(spots)[:LISTED]:
                typer.echo(f"  {_name(spot)}")
            if len(spots) > LISTED:
                typer.echo(f"  ... and {len(spots) - LISTED} more (--json lists all)")
