"""Commands that look around: list, doctor, calibrate and reproduce."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.output import print_columns, print_json
from assay.errors import DataError, SpecError

if TYPE_CHECKING:
    from assay.calibration.curve import Curve
    from assay.reproduction import Checked

_EXTRAS = {
    "neural": ("torch", "transformers", "accelerate", "gguf", "faiss"),
    "coco": ("pycocoevalcap",),
    "serve": ("fastapi", "uvicorn"),
    "scale": ("ray",),
    "judge": ("httpx",),
}
# Known scores of one pair; a number that moves means another library, other weights or a fault.
_HYPOTHESIS = "The ferry left the harbour an hour late because of the fog."
_REFERENCE = "Fog delayed the ferry's departure from the harbour by an hour."
GOLDENS = (
    ("bleu", 0.0428361950754725, 1e-9),
    ("rougeL", 0.5, 1e-9),
    ("chrf", 39.043475708051204, 1e-6),
    ("wmd", -1.444123385439569, 1e-5),
    ("bertscore-f", 0.8349270761932774, 1e-4),
)
_METRIC = typer.Option("-m", "--metric", help="Match this metric's noise level.")
_NOISE = typer.Option(min=0.0, help="Noise of the simulated metrics, in the unit that is printed.")
_PAGE = "reproduction.html"


def list_(
    kind: Annotated[str, typer.Argument(help="metrics, audits, perturbations, datasets, weights")],
    json: o.Json = False,
) -> None:
    """List everything of a kind."""
    from assay.names.inventory import inventory

    rows = inventory(kind)
    if json:
        print_json({kind: rows})
    else:
        print_columns(rows, cut=True)


def doctor(json: o.Json = False) -> None:
    """Check the installation; exit 1 when a known score does not come out."""
    checks = health()
    if json:
        print_json({"checks": checks})
    else:
        print_columns(checks)
    if any(check["state"] == "wrong" for check in checks):
        raise typer.Exit(1)


def health() -> list[dict[str, str]]:
    """Installation, extras, weights, and known scores."""
    from assay.models.weights import CARRIERS, present
    from assay.names.inventory import state
    from assay.names.registry import find

    checks = [("python", "ok", platform.python_version()), ("assay", "ok", version("assay"))]
    for extra, packages in _EXTRAS.items():
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        detail = f"pip install 'assay[{extra}]'" if absent else ", ".join(map(_with_version, packages))
        checks.append((f"extra {extra}", "absent" if absent else "ok", detail))
    for carrier in CARRIERS.values():
        here = present(carrier.name)
        size = f"fetched when first used ({carrier.megabytes} MB)"
        detail = f"sha256 {carrier.packages[0][1]}" if here else size
        checks.append((f"weights {carrier.name}", "ok" if here else "absent", detail))
    for spec, expected, tolerance in GOLDENS:
        if state(find("metrics", spec)[0]).startswith("ready"):
            value = _score_golden(spec)
            verdict = "ok" if abs(value - expected) <= tolerance else "wrong"
            checks.append((f"golden {spec}", verdict, f"{value:.6f}, expected {expected:.6f}"))
    return [dict(zip(("what", "state", "detail"), check, strict=True)) for check in checks]


def _with_version(package: str) -> str:
    try:
        return f"{package} {version({'faiss': 'faiss-cpu'}.get(package, package))}"
    except PackageNotFoundError:
        return package


def _score_golden(spec: str) -> float:
    from assay.core import Sample
    from assay.run.pipeline import score
    from assay.run.session import Session

    sample = Sample(_HYPOTHESIS, (_REFERENCE,))
    return float(score([spec], [sample], session=Session.open(cache=None))[spec][0])


def calibrate(
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
    size: o.Size = "full",
    cache: o.Cache = None,
    json: o.Json = False,
) -> None:
    """Simulate metrics with a defect of known size on your data, and count how often the audit finds it."""
    from assay.calibration.curve import calibrate
    from assay.names.registry import audit_class
    from assay.run.session import Session

    options = o.Request(data=data, task=task, seed=seed, limit=limit).fields(only)
    known = [field.name for field in fields(audit_class(audit))]  # type: ignore[arg-type]
    options |= o.extra_fields(context.args, known)
    session = Session.open(cache=o.cache_path(cache))
    curves, notes = calibrate(
        audit, options, seeds=draws, noise=noise, metric=metric, session=session, size=size
    )
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if json:
        print_json({"curves": [curve.document() for curve in curves], "notes": notes})
    else:
        _print_curves(curves)


def _print_curves(curves: Sequence[Curve]) -> None:
    for curve in curves:
        simulated, alarms = curve.simulated, curve.alarms
        noise = f"noise {curve.noise:.3g} {simulated.noise_unit}"
        typer.echo(f"{curve.sentence()} (in 95 of 100 simulations; {noise})")
        typer.echo(f"a metric without the defect fails in {alarms.share:.0%} of {alarms.draws} simulations")
        rows = []
        for point in curve.points:
            low, high = point.interval
            power = {"found in": f"{point.share:.0%}", "95% CI": f"{low:.0%} .. {high:.0%}"}
            rows.append({f"{simulated.statistic}, {simulated.unit}": f"{point.size:g}"} | power)
        print_columns(rows)


def reproduce(
    recipe: Annotated[list[str] | None, typer.Argument(help="PAPER:TABLE; none lists the recipes.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The folder of published data.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every recipe; what lacks data is not run.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="With --all: leave out those that take minutes.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="A folder for the page of results.")] = None,
    docs: Annotated[Path | None, typer.Option(help="A Markdown page to bring up to date.")] = None,
    cache: o.Cache = None,
    workers: o.Workers = 1,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare published tables with ours: published, ours, difference, verdict."""
    from assay.reproduction import find_recipe, recipes, reproduce
    from assay.run.session import Session

    if all_ and recipe:
        raise SpecError(f"--all is every recipe: leave out --all or {' '.join(recipe)}")
    if quick and not all_:
        raise SpecError("--quick chooses among all recipes: give it with --all")
    if not recipe and not all_:
        _list_recipes(json)
        return
    chosen = [find_recipe(name) for name in recipe or recipes()]
    if data is None:
        raise SpecError(
            "give the folder of published data with --data DIR; `assay reproduce` lists its files"
        )
    if not data.is_dir():
        raise DataError(f"{data} is not a folder; --data names the folder that holds the published data")
    session = Session.open(cache=o.cache_path(cache), workers=workers, quiet=quiet)
    results: dict[str, list[Checked]] = {}
    for table in chosen:
        if not (quick and table.slow):
            results[table.name] = reproduce(table, data, session)
            if not json:
                _print_table(table.name, table.title, results[table.name])
    if json:
        _print_document(results)
    _write_pages(results, out, docs, quiet)
    if all(cell.ours is None for checked in results.values() for cell in checked):
        raise DataError(f"nothing was run on {data}, as said above; `assay reproduce` lists the files needed")


def _list_recipes(json: bool) -> None:
    from assay.reproduction import recipes

    listed = recipes().values()
    if json:
        print_json(
            [
                {
                    "recipe": table.name, "title": table.title, "cells": len(table.cells),
                    "runnable": len(table.runnable), "data": list(table.paths),
                }
                for table in listed
            ]
        )  # fmt: skip
        return
    rows = [
        {
            "recipe": table.name, "cells": len(table.cells), "can run": len(table.runnable),
            "what": table.title, "data": ", ".join(table.paths) or "-",
        }
        for table in listed
    ]  # fmt: skip
    print_columns(rows)


def _place(checked: Checked) -> dict[str, Any]:
    """Where a published number stands, and the number."""
    cell = checked.cell
    return {"row": cell.row, "column": cell.column, "from": cell.source, "published": cell.published}


def _print_table(name: str, title: str, checked: Sequence[Checked]) -> None:
    from assay.reproduction.page import reasons, summary

    rows = [
        {
            **_place(cell), "ours": cell.shown, "difference": f"{cell.difference:+.4g}",
            "verdict": cell.verdict + (f": {cell.reason}" if cell.reason else ""),
        }
        for cell in checked
        if cell.ours is not None
    ]  # fmt: skip
    if rows:
        typer.echo(f"{name}: {title}")
        print_columns(rows)
    typer.echo(f"{name}: {summary(checked)}")
    for reason in reasons([cell for cell in checked if cell.ours is None]):
        typer.echo(f"  {reason}")


def _print_document(results: Mapping[str, Sequence[Checked]]) -> None:
    from assay.reproduction import count

    rows = [
        {
            "recipe": name, **_place(cell), "ours": cell.ours, "difference": cell.difference,
            "verdict": cell.verdict, "reason": cell.reason,
        }
        for name, checked in results.items()
        for cell in checked
    ]  # fmt: skip
    print_json({"cells": rows, "counts": count([cell for checked in results.values() for cell in checked])})


def _write_pages(results: dict[str, list[Checked]], out: Path | None, docs: Path | None, quiet: bool) -> None:
    from assay.reproduction.page import document, html_page
    from assay.run.results import make_folder, write_text

    if out:
        make_folder(out)
        write_text(out / _PAGE, html_page(results))
        if not quiet:
            typer.echo(f"page: {out / _PAGE}", err=True)
    if docs:
        before = docs.read_text("utf-8") if docs.exists() else ""
        write_text(docs, document(results, before))
