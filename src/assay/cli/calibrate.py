"""`assay calibrate AUDIT`: what an audit can find on your data, and how often it cries wolf."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o

if TYPE_CHECKING:
    from assay.calibration import Curve

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
    from assay.calibration import calibrate
    from assay.pipeline import Options
    from assay.registry import audit_class

    asked = o.Asked(data, None, only, task, None, seed, limit).fields()
    known = [field.name for field in fields(audit_class(audit))]  # type: ignore[arg-type]
    asked |= o.extra_fields(context.args, known)
    options = Options(cache=o.cache_path(cache))
    curves, notes = calibrate(
        audit, asked, seeds=draws, noise=noise, metric=metric, options=options, size=size.value
    )
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if json:
        document = {"curves": [curve.document() for curve in curves], "notes": notes}
        typer.echo(json_module.dumps(document, ensure_ascii=False, indent=1))
    else:
        _show(curves)


def _show(curves: Sequence[Curve]) -> None:
    from rich.console import Console
    from rich.table import Table

    for curve in curves:
        plant = curve.plant
        table = Table(f"{plant.statistic}, {plant.unit}", "found in", "95% CI")
        for point in curve.points:
            low, high = point.interval
            table.add_row(f"{point.size:g}", f"{point.share:.0%}", f"{low:.0%} .. {high:.0%}")
        typer.echo(f"{curve.sentence()} (95 of 100 draws; noise {curve.noise:.3g} {plant.noise_unit})")
        typer.echo(f"a clean metric is blamed in {curve.alarms.share:.0%} of {curve.alarms.draws} draws")
        Console().print(table)
