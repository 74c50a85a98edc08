"""The commands `list` and `doctor`."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from assay import __version__
from assay.cli.output import print_columns, print_json, wrapped
from assay.errors import DataError, SpecError, WeightsError, install, suggest
from assay.files import toml_file

_LISTS: dict[str, list[str]] = toml_file("help", "commands")["lists"]
_WIDTH = 100  # characters of a line, also where no terminal says how many it has


def list_command(kind: str, name: Annotated[str | None, typer.Argument()] = None, json: bool = False) -> None:
    """List everything of a kind and whether it can run here; or, with a name, explain that one."""
    from assay.names.inventory import inventory

    if name is not None:
        _print_one(kind, name, json=json)
        return
    rows = inventory(kind)
    if json:
        print_json({kind: rows})
    else:
        print_columns(wrapped([{name: row[name] for name in _LISTS[kind]} for row in rows], _WIDTH))


def _print_one(kind: str, name: str, *, json: bool) -> None:
    """Everything known about one thing; for a metric, also its place in the atlas."""
    from assay.names.inventory import inventory

    if kind == "metrics":
        known = _metric(name)
    else:
        rows = {row["name"]: row for row in inventory(kind)}
        if name not in rows:
            raise SpecError(f"no {kind[:-1]} is called {name!r}{suggest(name, rows)}")
        known = rows[name]
    if json:
        print_json(known)
        return
    lines = [{"": key, name: text} for key, text in known.items() if text not in (None, "", name)]
    print_columns(wrapped(lines, _WIDTH))


def _metric(spec: str) -> dict[str, str]:
    """What a metric is, with its line of the atlas over all tasks."""
    from assay.names.about import about
    from assay.reading.lines import table_rows
    from assay.reading.ranking import rankings
    from assay.reading.shipped import load_atlas

    known = about(spec)
    try:
        (ranking, *_) = rankings(load_atlas())
    except DataError as error:
        return known | {"atlas": str(error)}
    lines = tuple(line for line in ranking.lines if line.metric == spec)
    if not lines:
        return known | {"atlas": f"not measured; assay atlas -m {spec} measures and places it"}
    (row,) = table_rows(replace(ranking, lines=lines))
    return known | {"atlas": "; ".join(f"{name}: {cell}" for name, cell in row.items() if cell)}


def doctor_command(json: bool = False) -> None:
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
    from assay.api.about import version_of
    from assay.models.weights import CARRIERS, check_folder, present
    from assay.names.inventory import readiness
    from assay.names.registry import find

    def with_version(package: str) -> str:
        distribution = {"faiss": "faiss-cpu", "vl_convert": "vl-convert-python"}.get(package, package)
        return f"{package} {version_of(distribution)}".strip()

    checks = [("python", "ok", platform.python_version()), ("assay", "ok", __version__)]
    known = toml_file("help", "health")
    for extra, packages in known["extras"].items():
        absent = [package for package in packages if importlib.util.find_spec(package) is None]
        detail = install(extra) if absent else ", ".join(map(with_version, packages))
        checks.append((f"extra {extra}", "absent" if absent else "ok", detail))
    for carrier in CARRIERS.values():
        verdict, detail = "absent", f"fetched when first used ({carrier.megabytes} MB)"
        if present(carrier.name):
            try:
                check_folder(carrier.home, carrier.files)
                verdict, detail = (
                    "ok",
                    f"{len(carrier.files)} files as pinned; {carrier.origin}, {carrier.licence}",
                )
            except WeightsError as error:
                verdict, detail = "wrong", str(error)
        checks.append((f"weights {carrier.name}", verdict, detail))
    for spec, (expected, tolerance) in known["scores"].items():
        if readiness(find("metrics", spec)[0])["runs"] == "now":
            value = _score_golden(spec, known)
            verdict = "ok" if abs(value - expected) <= tolerance else "wrong"
            checks.append((f"golden {spec}", verdict, f"{value:.6f}, expected {expected:.6f}"))
    return [dict(zip(("what", "state", "detail"), check, strict=True)) for check in checks]


def _score_golden(spec: str, known: Mapping[str, Any]) -> float:
    from assay.api.scores import score
    from assay.core import Sample
    from assay.engine.session import Session

    sample = Sample(known["hypothesis"], (known["reference"],))
    return float(score([spec], [sample], session=Session.open(cache=None))[spec][0])
