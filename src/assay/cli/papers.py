"""The commands on published figures: papers reproduce, study, propagate and calibrate."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.cli import options as o
from assay.cli.help import Command, CommandGroup
from assay.cli.output import finish, interval_text, print_columns, print_json, print_notes
from assay.errors import DataError, SpecError
from assay.files import toml_file

if TYPE_CHECKING:
    from assay.engine.session import Session
    from assay.papers import Checked, PublishedCell
    from assay.papers.curve import Curve
    from assay.papers.propagate import Effect
    from assay.papers.recipes import TableRecipe

Folder = Annotated[Path | None, typer.Option(metavar="DIR")]
_REWARDS = (
    "clipscore:model=scenes",
    "clipscore:model=scenes+cider",
    "cider",
    "clipscore:model=scenes-balanced",
)
_COLUMNS = ("bleu-4", "meteor", "rougeL", "cider")  # of tables 3 and 6, beside the rewards
_EXPLANATION: str = toml_file("help", "commands")["notes"]["propagate"]
# How a reward is optimised: an enumeration, since typer takes no list of Literals.
_Method = StrEnum("_Method", {"BEST": "best-of-n", "RISK": "minimum-risk", "CRITICAL": "self-critical"})
_METHODS = (_Method.BEST, _Method.RISK)
_ANY_OPTION = {"allow_extra_args": True, "ignore_unknown_options": True}  # those of any audit
papers = typer.Typer(cls=CommandGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@papers.callback()
def _group() -> None:
    """The five papers: their tables beside ours, their studies on your metrics, and their experiments."""


@papers.command("reproduce", cls=Command, short_help="Compare published tables with ours.")
@o.with_request("metric", "cache", "workers", "json", "quiet")
def reproduce_command(
    request: o.Request,
    recipe: Annotated[list[str] | None, typer.Argument()] = None,
    data: Folder = None,
    all_: Annotated[bool, typer.Option("--all")] = False,
    quick: bool = False,
    weights: Literal["local", "hub"] = "local",
    long: bool = False,
    latex: bool = False,
    docs: Path | None = None,
) -> None:
    """Compare published tables with ours: published, ours, difference, verdict.

    With -m your own metrics join a table, in the paper's protocol, and stand where their figures put them.
    """
    from assay.papers import PublishedCell

    if not (recipe or all_ or quick):
        _list_recipes(request.json)
        return
    chosen = _chosen(recipe or [], every=all_, quick=quick)
    if data is None:
        raise SpecError(
            "give the folder of published data with --data DIR; `assay papers reproduce` lists its files"
        )
    _check_folder(data)
    with _released(data) as folder:
        place, session = PublishedCell(folder, weights == "hub", long), request.session()
        if request.metric:
            _print_own(chosen, o.read_specs(request.metric), place, session, latex=latex, json=request.json)
        elif not _reproduce_all(chosen, place, session, latex=latex, json=request.json, docs=docs):
            raise DataError(
                f"nothing was run on {data}, as said above; `assay papers reproduce` lists the files needed"
            )


def _chosen(named: Sequence[str], *, every: bool, quick: bool) -> list[TableRecipe]:
    """The recipes that were named, or all of them, or all that take seconds."""
    from assay.papers import find_recipe, recipes

    if every and named:
        raise SpecError(f"--all is every recipe: leave out --all or {' '.join(named)}")
    if quick and not every:
        raise SpecError("--quick chooses among all recipes: give it with --all")
    return [table for table in map(find_recipe, named or recipes()) if not (quick and table.slow)]


def _reproduce_all(
    chosen: Sequence[TableRecipe],
    place: PublishedCell,
    session: Session,
    *,
    latex: bool,
    json: bool,
    docs: Path | None,
) -> bool:
    """Print every recipe as soon as it is done; whether any cell was run."""
    from assay.papers import count, reproduce
    from assay.papers.page import document
    from assay.reading.results import write_text

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
    return any(item.ours is not None for _, item in every)


@papers.command("study", cls=Command, short_help="Repeat a paper's study on your metrics.")
@o.with_request("metric", "limit", "out", "cache", "workers", "json", "quiet", out=Path("assay-run"))
def study_command(paper: str, request: o.Request, data: Folder = None) -> None:
    """Repeat the study of a paper (unfair, assoc, caption, blind or checklist) on your metrics.

    Its tables follow the paper's rule, on the paper's data where --data has it and on embedded data
    elsewhere; its claims are tested on them: holds, does not hold here, cannot tell.
    """
    from assay.papers.study import study

    _check_folder(data)
    with _released(data) if data else nullcontext() as folder:
        done = study(
            paper, o.read_specs(request.metric), folder, session=request.session(), limit=request.limit
        )
    if not request.json:
        _print_study(done.about["study"])
    finish(done, form="json" if request.json else "html", fail_on=(), quiet=request.quiet)


@contextmanager
def _released(data: Path) -> Iterator[Path]:
    """The data folder, with what authors released in it under the names of recipes."""
    from assay.papers.releases import under_recipe_names

    with under_recipe_names(data.absolute()) as (folder, notes):
        print_notes(notes)
        yield folder


def _print_study(page: Mapping[str, Any]) -> None:
    """The tables that were filled, in a line each, and every claim with its answer."""
    for part in page["parts"]:
        typer.echo(f"{part['where']}: {part['heading']}")
        typer.echo(f"  {part['empty'] or _size(part)}")
    typer.echo("")
    print_columns([
        {"claim": claim["text"], "here": claim["answer"], "figures": claim["number"], "why": claim["why"]}
        for claim in page["claims"]
    ])  # fmt: skip
    typer.echo("; ".join(f"{count} {answer}" for answer, count in page["answers"].items()))


def _size(part: Mapping[str, Any]) -> str:
    return f"{len(part['lines'])} rows of {len(part['columns'])} figures, in the report"


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


def _print_own(
    chosen: Sequence[TableRecipe],
    specs: Sequence[str],
    place: PublishedCell,
    session: Session,
    *,
    latex: bool,
    json: bool,
) -> None:
    """The user's metrics in published tables, each figure with its place among the printed ones."""
    from assay.papers.own import own_cells, own_standing
    from assay.papers.page import latex_table

    rows: list[dict[str, Any]] = []
    for table in chosen:
        mine = own_cells(table, specs, place, session)
        rows += [
            {
                "table": table.name, "row": item.cell.row, "column": item.cell.column, "ours": item.shown,
                "stands": own_standing(item, table),
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


def _print_table(table: TableRecipe, checked: Sequence[Checked], latex: bool) -> None:
    from assay.papers.page import latex_table, page_summary, reasons

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
    typer.echo(f"{table.name}: {page_summary(checked)}")
    for reason in reasons([item for item in checked if item.ours is None]):
        typer.echo(f"  {reason}")


@papers.command("propagate", cls=Command, short_help="Train a captioner on a metric.")
@o.with_request("metric", "cache", "json", "quiet")
def propagate_command(
    request: o.Request,
    method: list[_Method] | None = None,
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    scenes: Annotated[int, typer.Option(min=20)] = 832,
    epochs: Annotated[float | None, typer.Option(min=0.01)] = None,
    samples: Annotated[int | None, typer.Option(min=2)] = None,
    batch: o.Count = None,
    rate: Annotated[float | None, typer.Option(min=0.0)] = None,
    device: str | None = None,
    model: str | None = None,
    data: Path | None = None,
    out: Path | None = None,
) -> None:
    """Optimise a captioner towards each metric, and measure its gender errors before and after.

    The best of N captions is taken, or the captioner is trained, with the metric as the reward.
    """
    from assay.names.spec import parse_spec
    from assay.papers.propagate import Experiment, own_world, propagate, rendered_world

    if (model is None) != (data is None):
        raise SpecError("a captioner of your own needs both --model and --data")
    if device is not None:
        os.environ["ASSAY_DEVICE"] = device
    rewards, columns = (
        [parse_spec(text) for text in texts] for texts in (request.metric or _REWARDS, _COLUMNS)
    )
    effects = propagate(
        rewards, range(seeds), Experiment(**o.given(epochs=epochs, samples=samples, batch=batch, rate=rate)),
        own_world(model, data) if model and data else rendered_world(scenes),
        replace(request, quiet=True).session(), methods=[each.value for each in method or _METHODS],
        columns=[*columns, *rewards], out=out,
    )  # fmt: skip
    if request.json:
        print_json({"effects": [asdict(effect) for effect in effects]})
        return
    _print_effects(effects)
    if not request.quiet:
        typer.echo(_EXPLANATION, err=True)


def _print_effects(effects: Sequence[Effect]) -> None:
    rows, scores = [], []
    for effect in effects:
        both = (effect.biased_before, effect.biased_after)
        shares = [f"{share:.0f}%" for share in both if share is not None]
        named = {"reward": effect.reward, "method": effect.method}
        rows.append(named | {
            "error before": f"{effect.errors.before:.1f}%", "after": f"{effect.errors.after:.1f}%",
            "change": f"{effect.errors.change:+.1f}{interval_text(effect.errors.ci, '{:+.1f}')}",
            "no gender": f"{effect.silent.before:.1f}% to {effect.silent.after:.1f}%",
            "biased concepts": " to ".join(shares) or "too few scenes",
            "reward gain": f"{effect.gain.change:+.4f}{interval_text(effect.gain.ci, '{:+.4f}')}",
        })  # fmt: skip
        columns = {name: f"{100 * c.before:.1f} to {100 * c.after:.1f}" for name, c in effect.scores.items()}
        scores.append(named | columns)
    print_columns(rows)
    typer.echo("")
    print_columns(scores)


@papers.command(
    "calibrate", cls=Command, short_help="Measure what an audit can find.", context_settings=_ANY_OPTION
)
@o.with_request("data", "task", "seed", "limit", "size", "json")
def calibrate_command(
    context: typer.Context,
    audit: str,
    request: o.Request,
    draws: Annotated[int, typer.Option(min=20)] = 100,
    only: list[str] | None = None,
) -> None:
    """Simulate metrics with a defect of known size on your data, and count how often the audit finds it."""
    from assay.papers.curve import calibrate

    options = o.audit_fields(context, audit, request.fields(only))
    curves, notes = calibrate(audit, options, seeds=draws, size=request.size)
    print_notes(notes)
    if request.json:
        print_json({"curves": [curve.document() for curve in curves], "notes": notes})
    else:
        _print_curves(curves)


def _print_curves(curves: Sequence[Curve]) -> None:
    for curve in curves:
        simulated = curve.simulated
        typer.echo(f"{curve.sentence()} (in 95 of 100 simulations)")
        typer.echo(f"without the defect {curve.alarms.share:.1%} of {curve.alarms.findings} findings fail")
        header = f"{simulated.statistic}, {simulated.unit}"
        print_columns([{header: f"{p.size:g}", "found in": f"{p.share:.0%}"} for p in curve.points])
