"""The commands on published figures: reproduce and study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli import options as o
from assay.cli.output import finish, print_columns, print_json
from assay.errors import DataError, SpecError

if TYPE_CHECKING:
    from assay.engine.session import Session
    from assay.papers import Checked, Place
    from assay.papers.recipes import Recipe

Folder = Annotated[Path | None, typer.Option(metavar="DIR")]


@o.with_request("metric", "cache", "workers", "json", "quiet")
def reproduce_command(
    request: o.Request,
    recipe: Annotated[list[str] | None, typer.Argument()] = None,
    data: Folder = None,
    all_: Annotated[bool, typer.Option("--all")] = False,
    quick: bool = False,
    weights: Literal["local", "hub"] = "local",
    long: bool = False,
    plan: bool = False,
    machine: str = "here",
    latex: bool = False,
    docs: Path | None = None,
) -> None:
    """Compare published tables with ours: published, ours, difference, verdict.

    With -m your own metrics join a table, in the paper's protocol, and stand where their figures put them.
    """
    from assay.papers import Place, count, find_recipe, recipes, reproduce
    from assay.papers.page import document
    from assay.reading.results import write_text

    if all_ and recipe:
        raise SpecError(f"--all is every recipe: leave out --all or {' '.join(recipe)}")
    if quick and not all_:
        raise SpecError("--quick chooses among all recipes: give it with --all")
    if not recipe and not all_:
        _list_recipes(request.json)
        return
    chosen = [table for table in map(find_recipe, recipe or recipes()) if not (quick and table.slow)]
    if data is None and not plan:
        raise SpecError(
            "give the folder of published data with --data DIR; `assay reproduce` lists its files"
        )
    _check_folder(data)
    place = Place((data or Path("data")).absolute(), weights == "hub", long)
    session, json = request.session(), request.json
    if plan:
        _print_plan(chosen, place, machine, session, json)
        return
    if request.metric:
        _print_own(chosen, o.read_specs(request.metric), place, session, latex=latex, json=json)
        return
    results: dict[str, list[Checked]] = {}
    for table in chosen:
        results[table.name] = reproduce(table, place, session)
        if not json:
            _print_table(table, results[table.name], latex)
    every = [(name, item) for name, checked in results.items() for item in checked]
    if json:
        rows = [
            {"recipe": name, **_row(item), "kind": item.kind, "reason": item.reason} for name, item in every
        ]
        print_json({"cells": rows, "counts": count(item for _, item in every)})
    if docs:
        write_text(docs, document(results, docs.read_text("utf-8") if docs.exists() else ""))
    if all(item.ours is None for _, item in every):
        raise DataError(f"nothing was run on {data}, as said above; `assay reproduce` lists the files needed")


@o.with_request("metric", "limit", "out", "cache", "workers", "json", "quiet", out=Path("assay-run"))
def study_command(paper: str, request: o.Request, data: Folder = None) -> None:
    """Repeat the study of a paper (unfair, assoc, caption, blind or checklist) on your metrics.

    It runs on the paper's data where --data has it, on embedded data elsewhere, at quick size.
    """
    from assay.papers.study import study

    _check_folder(data)
    done = study(paper, o.read_specs(request.metric), data, session=request.session(), limit=request.limit)
    if not request.json:
        for part in done.about["study"]["parts"]:
            typer.echo(f"{part['where']}: {part['heading']}")
            typer.echo(f"  the paper: {part['found']}\n  this run: {part['ours']}")
    finish(done, form="json" if request.json else "html", fail_on=(), quiet=request.quiet)


def _check_folder(data: Path | None) -> None:
    if data is not None and not data.is_dir():
        raise DataError(f"{data} is not a folder; --data names the folder that holds the published data")


def _list_recipes(json: bool) -> None:
    from assay.papers import recipes

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


def _print_plan(chosen: Sequence[Recipe], place: Place, machine: str, session: Session, json: bool) -> None:
    """What would run, what it would fetch and how long it would take, from stated rough rates."""
    from assay.papers.own import size_of, steps

    planned = steps(chosen, place, machine, session)
    ready = [step for step in planned if not step.lacks]
    fetch = {name: size_of(name)[0] for step in ready for name in step.fetch}
    seconds = sum(step.seconds or 0.0 for step in ready)
    rows: list[dict[str, Any]] = [
        {
            "recipe": step.recipe, "run": step.run, "cells": step.cells, "metric": step.metric,
            "to fetch": ", ".join(f"{name} {size_of(name)[0]:.2g} GB" for name in step.fetch),
            "minutes": "" if step.seconds is None else f"{step.seconds / 60:.2g}", "lacks": step.lacks,
        }
        for step in planned
    ]  # fmt: skip
    if json:
        print_json({"steps": rows, "fetch": fetch, "seconds": seconds, "machine": machine})
        return
    print_columns(rows)
    hours = seconds / 3600
    runs, cells = (sum(step.cells for step in listed) for listed in (ready, planned))
    typer.echo(
        f"{runs} of {cells} cells would run, {sum(fetch.values()):.1f} GB\n"
        f"would be fetched, and models would work about {hours:.2g} hours on {machine!r}: rough, by\n"
        "the parameters and tokens read; it may be wrong by a factor of three"
    )


def _print_own(
    chosen: Sequence[Recipe], specs: Sequence[str], place: Place, session: Session, *, latex: bool, json: bool
) -> None:
    """The user's metrics in published tables, each figure with its place among the printed ones."""
    from assay.papers.own import own_cells, standing
    from assay.papers.page import latex_table

    rows: list[dict[str, Any]] = []
    for table in chosen:
        mine = own_cells(table, specs, place, session)
        rows += [
            {
                "table": table.name, "row": item.cell.row, "column": item.cell.column, "ours": item.shown,
                "stands": standing(item, table),
            }
            for item in mine
        ]  # fmt: skip
        if latex:
            typer.echo(latex_table(table, mine))
    if json:
        print_json({"cells": rows})
    elif not latex:
        print_columns(rows)


def _row(item: Checked) -> dict[str, Any]:
    """Where a published number stands, the number and ours."""
    cell = item.cell
    place = {"row": cell.row, "column": cell.column, "from": cell.source, "published": cell.published}
    return {**place, "ours": item.ours, "difference": item.difference, "verdict": item.verdict}


def _print_table(table: Recipe, checked: Sequence[Checked], latex: bool) -> None:
    from assay.papers.page import latex_table, reasons, summary

    if latex:
        typer.echo(latex_table(table, checked))
        return
    rows = [
        _row(item) | {
            "ours": item.shown, "difference": f"{item.difference:+.4g}",
            "verdict": f"{item.verdict}" + (f": {item.reason}" if item.reason else ""),
        }
        for item in checked
        if item.ours is not None
    ]  # fmt: skip
    if rows:
        typer.echo(f"{table.name}: {table.title}")
        print_columns(rows)
    typer.echo(f"{table.name}: {summary(checked)}")
    for reason in reasons([item for item in checked if item.ours is None]):
        typer.echo(f"  {reason}")
