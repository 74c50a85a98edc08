"""Commands that look around: list, doctor, calibrate and reproduce."""

from __future__ import annotations

import importlib.util
import json as json_module
import platform
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.errors import SpecError, suggest

if TYPE_CHECKING:
    from assay.calibration.curve import Curve
from pathlib import Path

from assay.errors import DataError

if TYPE_CHECKING:
    from assay.reproduction import Checked

KINDS = ("metrics", "audits", "perturbations", "datasets", "weights")


def list_(
    kind: Annotated[str, typer.Argument(help=", ".join(KINDS))],
    json: o.Json = False,
) -> None:
    """List everything of a kind."""
    if kind not in KINDS:
        raise SpecError(f"unknown list {kind!r}{suggest(kind, KINDS)}")
    show(kind, as_json=json)


def show(kind: str, *, as_json: bool) -> None:
    """Print the list as columns or as JSON."""
    from assay.names.inventory import inventory

    rows: list[dict[str, Any]] = inventory(kind)
    if as_json:
        typer.echo(json_module.dumps({kind: rows}, ensure_ascii=False, indent=1))
        return
    print_columns(rows, cut=True)


_EXTRAS = {
    "neural": ("torch", "transformers", "accelerate", "gguf", "peft", "faiss"),
    "coco": ("pycocoevalcap",),
    "serve": ("fastapi", "uvicorn"),
    "scale": ("ray",),
    "judge": ("httpx",),
}


def doctor(json: o.Json = False) -> None:
    """Check the installation; exit 1 when a known score does not come out."""
    checks = health()
    if json:
        typer.echo(json_module.dumps({"checks": checks}, indent=1))
    else:
        print_columns(checks)
    if any(check["state"] == "wrong" for check in checks):
        raise typer.Exit(1)


def health() -> list[dict[str, str]]:
    """Installation, extras, weights, and known scores."""
    from assay.models.weights import CARRIERS, present

    checks = [
        _check("python", platform.python_version(), ok=True),
        _check("assay", version("assay"), ok=True),
    ]
    for extra, packages in _EXTRAS.items():
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        detail = f"pip install 'assay[{extra}]'" if absent else _versions(packages)
        checks.append({"what": f"extra {extra}", "state": "absent" if absent else "ok", "detail": detail})
    for carrier in CARRIERS.values():
        here = present(carrier.name)
        detail = (
            f"sha256 {carrier.packages[0][1]}"
            if here
            else f"fetched when first used ({carrier.megabytes} MB)"
        )
        checks.append(
            {"what": f"weights {carrier.name}", "state": "ok" if here else "absent", "detail": detail}
        )
    return checks + [_golden(*golden) for golden in GOLDENS if _runnable(golden[0])]


def _versions(packages: tuple[str, ...]) -> str:
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version({'faiss': 'faiss-cpu'}.get(package, package))}")
        except PackageNotFoundError:
            found.append(package)
    return ", ".join(found)


def _check(what: str, detail: str, *, ok: bool) -> dict[str, str]:
    return {"what": what, "state": "ok" if ok else "wrong", "detail": detail}


# What these metrics say of one pair; a number that moves means another library, other weights or a fault.
_HYPOTHESIS = "The ferry left the harbour an hour late because of the fog."
_REFERENCE = "Fog delayed the ferry's departure from the harbour by an hour."
GOLDENS = (
    ("bleu", 0.0428361950754725, 1e-9),
    ("rougeL", 0.5, 1e-9),
    ("chrf", 39.043475708051204, 1e-6),
    ("wmd", -1.444123385439569, 1e-5),
    ("bertscore-f", 0.8349270761932774, 1e-4),
)


def _runnable(spec: str) -> bool:
    from assay.models.weights import CARRIERS
    from assay.names.registry import load, names

    where, _ = names("metrics")[spec]
    kind = load(where)
    if any(importlib.util.find_spec(package) is None for package in kind.packages):
        return False
    return all(getattr(kind, field, None) in CARRIERS for field in kind.weights)


def _golden(spec: str, expected: float, tolerance: float) -> dict[str, str]:
    from assay.core import Sample
    from assay.run.pipeline import score
    from assay.run.session import Session

    sample = Sample(_HYPOTHESIS, (_REFERENCE,))
    value = float(score([spec], [sample], session=Session.open(cache=None))[spec][0])
    return _check(
        f"golden {spec}", f"{value:.6f}, expected {expected:.6f}", ok=abs(value - expected) <= tolerance
    )


OWN_OPTIONS: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
_METRIC = typer.Option("-m", "--metric", help="Match this metric's noise level.")
_NOISE = typer.Option(min=0.0, help="Noise of the simulated metrics, in the unit that is printed.")


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


PAGE = "reproduction.html"


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

    _refuse_contradictions(recipe, all_=all_, quick=quick)
    if not recipe and not all_:
        _list(json)
        return
    chosen = [find_recipe(name) for name in recipe or recipes()]
    if quick:
        chosen = [one for one in chosen if not one.slow]
    if data is None:
        raise SpecError(
            "give the folder of published data with --data DIR; `assay reproduce` lists its files"
        )
    if not data.is_dir():
        raise DataError(f"{data} is not a folder; --data names the folder that holds the published data")
    session = Session.open(cache=o.cache_path(cache), workers=workers, quiet=quiet)
    results: dict[str, list[Checked]] = {}
    for one in chosen:
        results[one.name] = reproduce(one, data, session)
        if not json:
            _show_table(one.name, one.title, results[one.name])
    if json:
        typer.echo(json_module.dumps(_document(results), ensure_ascii=False, indent=1))
    _write(results, out, docs, quiet)
    if all(one.ours is None for checked in results.values() for one in checked):
        raise DataError(f"nothing was run on {data}, as said above; `assay reproduce` lists the files needed")


def _refuse_contradictions(recipe: list[str] | None, *, all_: bool, quick: bool) -> None:
    if all_ and recipe:
        raise SpecError(f"--all is every recipe: leave out --all or {' '.join(recipe)}")
    if quick and not all_:
        raise SpecError("--quick chooses among all recipes: give it with --all")


def _list(json: bool) -> None:
    from assay.reproduction import recipes

    if json:
        listed = [
            {
                "recipe": one.name, "title": one.title, "cells": len(one.cells),
                "runnable": len(one.runnable), "data": list(one.paths),
            }
            for one in recipes().values()
        ]  # fmt: skip
        typer.echo(json_module.dumps(listed, ensure_ascii=False, indent=1))
        return
    rows = [
        {
            "recipe": one.name, "cells": len(one.cells), "can run": len(one.runnable), "what": one.title,
            "data": ", ".join(one.paths) or "-",
        }
        for one in recipes().values()
    ]  # fmt: skip
    print_columns(rows)


def _show_table(name: str, title: str, checked: Sequence[Checked]) -> None:
    from assay.reproduction.page import reasons, summary

    ran = [one for one in checked if one.ours is not None]
    if ran:
        typer.echo(f"{name}: {title}")
        rows = [
            {
                "row": one.cell.row, "column": one.cell.column, "from": one.cell.source,
                "published": one.cell.published, "ours": one.shown, "difference": f"{one.difference:+.4g}",
                "verdict": one.verdict + (f": {one.reason}" if one.reason else ""),
            }
            for one in ran
        ]  # fmt: skip
        print_columns(rows)
    typer.echo(f"{name}: {summary(checked)}")
    for reason in reasons([one for one in checked if one.ours is None]):
        typer.echo(f"  {reason}")


def _document(results: dict[str, list[Checked]]) -> dict[str, Any]:
    from assay.reproduction import count

    every = [one for checked in results.values() for one in checked]
    rows = [
        {
            "recipe": name, "row": one.cell.row, "column": one.cell.column, "from": one.cell.source,
            "published": one.cell.published, "ours": one.ours, "difference": one.difference,
            "verdict": one.verdict, "reason": one.reason,
        }
        for name, checked in results.items()
        for one in checked
    ]  # fmt: skip
    return {"cells": rows, "counts": count(every)}


def _write(results: dict[str, list[Checked]], out: Path | None, docs: Path | None, quiet: bool) -> None:
    from assay.reproduction.page import document, html_page
    from assay.run.results import make_folder, write_text

    if out:
        make_folder(out)
        write_text(out / PAGE, html_page(results))
        if not quiet:
            typer.echo(f"page: {out / PAGE}", err=True)
    if docs:
        before = docs.read_text("utf-8") if docs.exists() else ""
        write_text(docs, document(results, before))
