"""`assay reproduce [PAPER:TABLE ...]`: published figures beside ours."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.errors import DataError, SpecError

if TYPE_CHECKING:
    from assay.reproduction import Checked

PAGE = "reproduction.html"


def command(
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
            _show(one.name, one.title, results[one.name])
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


def _show(name: str, title: str, checked: Sequence[Checked]) -> None:
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
    from assay.reproduction.docs import document
    from assay.reproduction.page import html_page
    from assay.run.results import make_folder, write_text

    if out:
        make_folder(out)
        write_text(out / PAGE, html_page(results))
        if not quiet:
            typer.echo(f"page: {out / PAGE}", err=True)
    if docs:
        before = docs.read_text("utf-8") if docs.exists() else ""
        write_text(docs, document(results, before))
