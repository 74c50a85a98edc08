"""`assay debias`: train a debiasing adapter for a metric, and prove what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns

if TYPE_CHECKING:
    from assay.mitigation.proof import Figure

Attributes = Annotated[list[str], typer.Option("--attribute", help="An attribute to make fair; repeatable.")]
Material = Annotated[
    list[Path] | None,
    typer.Option(help="More training data: pairs, sentences, MultiNLI, STS-B or StereoSet; repeatable."),
]
Test = Annotated[list[Path] | None, typer.Option(help="Pairs to test on; never trained on; repeatable.")]
People = Annotated[
    list[Path] | None, typer.Option(help="Human ratings, to check that agreement stays; repeatable.")
]


def command(
    attribute: Attributes,
    out: Annotated[Path, typer.Option(help="The adapter's folder; the run with its report is OUT/run.")],
    metric: Annotated[str, typer.Option("-m", "--metric", help="A metric's spec.")] = "bertscore-f",
    data: Material = None,
    test: Test = None,
    human: People = None,
    demo: Annotated[bool, typer.Option("--demo", help="Half the training steps: a few minutes.")] = False,
    steps: Annotated[int | None, typer.Option(min=1, help="Training steps.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Batch size per loss.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.0, help="Learning rate.")] = None,
    bottleneck: Annotated[int | None, typer.Option(min=1, help="Width of an adapter.")] = None,
    seed: o.SeedNumber = 0,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train bottleneck adapters so that a metric scores groups alike and keeps its other scores.

    A stopped training is resumed when the same command is given again. Afterwards the metric is audited with
    and without the adapter, on held-out pairs, gendered captions and your ratings.
    """
    from assay.mitigation.train import DEMO, Job, Plan, debias, document
    from assay.report import write_report
    from assay.run.session import Session

    given = {"steps": steps, "batch": batch, "rate": rate, "bottleneck": bottleneck, "seed": seed}
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    plan = replace(DEMO if demo else Plan(), **changes)
    files = (tuple(data or ()), tuple(test or ()), tuple(human or ()))
    session = Session.open(cache=o.cache_path(cache), quiet=quiet)
    debiased = debias(Job(metric, tuple(attribute), out, plan, *files), session)
    report = write_report(debiased.proof.run)
    if json:
        typer.echo(document(debiased))
    else:
        show(debiased.proof.figures)
        typer.echo(f"{debiased.spec}: {debiased.proof.labels[debiased.spec]}")
    if not quiet:
        typer.echo(f"report: {report}", err=True)


def show(figures: Sequence[Figure]) -> None:
    """Print one line per figure: the metric as it was, then each debiased one with its change."""
    rows = [
        {
            "statistic": figure.statistic,
            "slice": figure.slice + (f" ({figure.versus})" if figure.versus else ""),
            "value": f"{figure.value:.4g}{_interval(figure.ci)}",
            "change": _change(figure),
            "metric": figure.metric,
        }
        for figure in sorted(figures, key=lambda f: (f.statistic, f.slice, f.versus or ""))
    ]
    print_columns(rows)


def _interval(ci: tuple[float, float] | None, form: str = "{:.3g}") -> str:
    return "" if ci is None else f" [{form.format(ci[0])}, {form.format(ci[1])}]"


def _change(figure: Figure) -> str:
    """The percentage that is gone of a bias; of other figures the difference."""
    if figure.change is None:
        return ""
    if figure.statistic != "bias":
        return f"{figure.change:+.4f}" + _interval(figure.change_ci, "{:+.4f}")
    gone = figure.change_ci and (-100 * figure.change_ci[1], -100 * figure.change_ci[0])
    return f"{-100 * figure.change:+.1f}%" + _interval(gone, "{:+.1f}%")
