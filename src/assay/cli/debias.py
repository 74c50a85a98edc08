"""`assay debias`: train a debiasing adapter for a metric, and prove what it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

if TYPE_CHECKING:
    from assay.mitigation.evaluation import Evaluation, Figure

Attributes = Annotated[
    list[str], typer.Option("--attribute", help="An attribute to be made fair; repeatable.")
]
Material = Annotated[
    list[Path] | None, typer.Option(help="More to train on: pairs, sentences, MultiNLI, STS-B, StereoSet.")
]
Test = Annotated[list[Path] | None, typer.Option(help="Pairs to prove it on, never trained on; repeatable.")]
People = Annotated[list[Path] | None, typer.Option(help="Ratings, to see that agreement stays; repeatable.")]


def command(
    attribute: Attributes,
    out: Annotated[Path, typer.Option(help="The adapter's folder.")],
    metric: Annotated[str, typer.Option("-m", "--metric", help="A metric's spec.")] = "bertscore-f",
    data: Material = None,
    test: Test = None,
    human: People = None,
    demo: Annotated[bool, typer.Option("--demo", help="Half the steps: minutes.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Updates.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Pairs an update, of each kind.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.0, help="Learning rate.")] = None,
    bottleneck: Annotated[int | None, typer.Option(min=1, help="Width of an adapter.")] = None,
    seed: o.SeedNumber = 0,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train bottleneck adapters so that a metric scores groups alike and keeps its other scores.

    A stopped training goes on where it was when the same command is given again.
    """
    from assay.mitigation.debias import Job, debias, document
    from assay.mitigation.page import write_page
    from assay.mitigation.training import DEMO, Plan
    from assay.run.progress import Progress
    from assay.run.session import Session

    given = {"steps": steps, "batch": batch, "rate": rate, "bottleneck": bottleneck, "seed": seed}
    asked: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    plan = replace(DEMO if demo else Plan(), **asked)
    files = (tuple(data or ()), tuple(test or ()), tuple(human or ()))
    settings = Session.open(cache=o.cache_path(cache), quiet=quiet)
    done = debias(Job(metric, tuple(attribute), out, plan, *files), settings, Progress(quiet))
    page = write_page(done.tested, out)
    if json:
        typer.echo(document(done))
    else:
        show(done.tested)
        typer.echo(f"{done.spec}: {done.tested.labels[done.spec]}")
    if not quiet:
        typer.echo(f"report: {page}", err=True)


def show(tested: Evaluation) -> None:
    """The figures, a line each: the metric as it was, then every mended one with its change."""
    rows = [
        {
            "what": one.kind,
            "on": one.slice,
            "value": f"{one.value:.4g}{_interval(one.ci)}",
            "change": _change(one),
            "metric": one.metric,
        }
        for one in sorted(tested.figures, key=lambda one: (one.kind, one.slice))
    ]
    print_columns(rows)


def _interval(ci: tuple[float, float] | None, form: str = "{:.3g}") -> str:
    return "" if ci is None else f" [{form.format(ci[0])}, {form.format(ci[1])}]"


def _change(one: Figure) -> str:
    """Of a bias the share that is gone, of the others the difference."""
    if one.change is None:
        return ""
    if one.kind != "bias":
        return f"{one.change:+.4f}" + _interval(one.change_ci, "{:+.4f}")
    gone = one.change_ci and (-100 * one.change_ci[1], -100 * one.change_ci[0])
    return f"{-100 * one.change:+.1f}%" + _interval(gone, "{:+.1f}%")
