"""`assay calibrate AUDIT`: how small a defect it finds on your data, and how often it gives a false alarm."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

if TYPE_CHECKING:
    from assay.calibration.curve import Curve

CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
_METRIC = typer.Option("-m", "--metric", help="Match this metric's noise level.")
_NOISE = typer.Option(min=0.0, help="Noise of the simulated metrics, in the unit that is printed.")


def command(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(help="The audit's name; see assay list audits.")],
    data: o.Data = None,
    metric: Annotated[str | None, _METRIC] = None,
    noise: Annotated[float | None, _NOISE] = None,
    draws: Annotated[int, typer.Option(min=20, help="Simulations per effect size.")] = 100,
    only: o.Only = None,
    task: o.TaskNames = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
    size: o.Size = o.SizeName.full,
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Simulate metrics with a defect of known size on your data, and count how often the audit finds it."""
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
        simulated, alarms = curve.simulated, curve.alarms
        noise = f"noise {curve.noise:.3g} {simulated.noise_unit}"
        typer.echo(f"{curve.sentence()} (in 95 of 100 simulations; {noise})")
        typer.echo(f"a metric without the defect fails in {alarms.share:.0%} of {alarms.draws} simulations")
        rows = []
        for point in curve.points:
            low, high = point.interval
            found = {"found in": f"{point.share:.0%}", "95% CI": f"{low:.0%} .. {high:.0%}"}
            rows.append({f"{simulated.statistic}, {simulated.unit}": f"{point.size:g}"} | found)
        print_columns(rows)
