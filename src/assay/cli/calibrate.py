"""`assay calibrate AUDIT`: what an audit can find on your data, and how often it cries wolf."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

if TYPE_CHECKING:
    from assay.calibration.curve import Curve, Point
    from assay.calibration.simulated.base import Plant

CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


def command(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(help="The audit's name; see assay list audits.")],
    data: o.Data = None,
    metric: Annotated[str | None, typer.Option("-m", "--metric", help="Plants as noisy as this.")] = None,
    noise: Annotated[float | None, typer.Option(min=0.0, help="The planted metric's noise.")] = None,
    draws: Annotated[int, typer.Option(min=20, help="Planted metrics a size.")] = 100,
    only: o.Only = None,
    task: o.TaskNames = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
    size: o.Size = o.SizeName.full,
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Plant defects of known size in the data's scores, and count how often the audit finds them."""
    from assay.calibration.curve import calibrate
    from assay.names.registry import audit_class
    from assay.run.session import Session

    asked = o.Request(data=data, task=task, seed=seed, limit=limit).fields(only)
    known = [field.name for field in fields(audit_class(audit))]  # type: ignore[arg-type]
    asked |= o.extra_fields(context.args, known)
    session = Session.open(cache=o.cache_path(cache))
    curves, notes = calibrate(
        audit, asked, seeds=draws, noise=noise, metric=metric, session=session, size=size.value
    )
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if json:
        document = {"curves": [curve.document() for curve in curves], "notes": notes}
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        _show(curves)


def _show(curves: Sequence[Curve]) -> None:
    for curve in curves:
        plant = curve.plant
        typer.echo(f"{curve.sentence()} (95 of 100 draws; noise {curve.noise:.3g} {plant.noise_unit})")
        typer.echo(f"a clean metric is blamed in {curve.alarms.share:.0%} of {curve.alarms.draws} draws")
        print_columns([_cells(plant, point) for point in curve.points])


def _cells(plant: Plant, point: Point) -> dict[str, str]:
    low, high = point.interval
    size = f"{plant.statistic}, {plant.unit}"
    return {size: f"{point.size:g}", "found in": f"{point.share:.0%}", "95% CI": f"{low:.0%} .. {high:.0%}"}
