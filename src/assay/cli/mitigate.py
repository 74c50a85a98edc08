"""Commands that mitigate bias: debias and mitigate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o
from assay.cli.help import Command, CommandGroup
from assay.cli.output import interval_text, print_columns

if TYPE_CHECKING:
    from assay.mitigation.methods import MethodComparison
    from assay.mitigation.proof import ProofFigure

mitigate = typer.Typer(cls=CommandGroup, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@mitigate.callback()
def _group() -> None:
    """Mitigation methods for a biased metric, side by side."""


@o.with_request("seed", "cache", "json", "quiet", seed=0)
def debias_command(
    request: o.Request,
    attribute: Annotated[list[str], typer.Option()],
    out: Annotated[Path, typer.Option()],
    metric: o.MetricOption = "bertscore-f",
    data: list[Path] | None = None,
    test: list[Path] | None = None,
    human: list[Path] | None = None,
    demo: bool = False,
    steps: o.Count = None,
    batch: o.Count = None,
    rate: Annotated[float | None, typer.Option(min=0.0)] = None,
    bottleneck: o.Count = None,
    keep_weight: Annotated[float | None, typer.Option(min=0.0)] = None,
) -> None:
    """Train bottleneck adapters so that a metric scores groups alike and keeps its other scores.

    A stopped training is resumed when the same debias is given again. Afterwards the metric is audited with
    and without the adapter, on held-out pairs, gendered captions and your ratings.
    """
    from assay.mitigation.train import DEMO, Job, TrainPlan, debias, training_page
    from assay.report import write_report

    given = o.given(
        steps=steps, batch=batch, rate=rate, bottleneck=bottleneck, keep_weight=keep_weight, seed=request.seed
    )
    plan = replace(DEMO if demo else TrainPlan(), **given)
    files = (tuple(data or ()), tuple(test or ()), tuple(human or ()))
    debiased = debias(Job(metric, tuple(attribute), out, plan, *files), request.session())
    report = write_report(debiased.proof.run)
    if request.json:
        typer.echo(training_page(debiased))
    else:
        _print_figures(debiased.proof.figures)
        typer.echo(f"{debiased.spec}: {debiased.proof.labels[debiased.spec]}")
    if not request.quiet:
        typer.echo(f"report: {report}", err=True)


def _print_figures(figures: Sequence[ProofFigure]) -> None:
    """Print one line per figure: the metric as it was, then each debiased one with its change."""
    rows = [
        {
            "statistic": figure.statistic,
            "slice": figure.slice + (f" ({figure.versus})" if figure.versus else ""),
            "value": f"{figure.value:.4g}{interval_text(figure.ci)}",
            "change": _change(figure),
            "metric": figure.metric,
        }
        for figure in sorted(figures, key=lambda f: (f.statistic, f.slice, f.versus or ""))
    ]
    print_columns(rows)


def _change(figure: ProofFigure) -> str:
    """By how many percent a bias has shrunk; for other figures, the difference."""
    if figure.change is None:
        return ""
    if figure.statistic != "bias":
        return f"{figure.change:+.4f}" + interval_text(figure.change_ci, "{:+.4f}")
    gone = figure.change_ci and (-100 * figure.change_ci[1], -100 * figure.change_ci[0])
    return f"{-100 * figure.change:+.1f}%" + interval_text(gone, "{:+.1f}%")


@mitigate.command("compare", cls=Command)
@o.with_request("seed", "cache", "json", "quiet", seed=0)
def compare_methods_command(
    request: o.Request,
    metric: o.MetricOption = "bertscore-f",
    attribute: list[str] | None = None,
    adapter: list[Path] | None = None,
    model: list[str] | None = None,
    test: list[Path] | None = None,
    human: list[Path] | None = None,
    limit: Annotated[int, typer.Option(min=2)] = 60,
    out: Path = Path("assay-mitigation"),
) -> None:
    """Compare mitigation methods side by side.

    Adapters, backbones, layers, directions, hybrids and swaps are compared by bias, accuracy and agreement.
    """
    from assay.mitigation import methods as m
    from assay.mitigation.data import check_attribute
    from assay.mitigation.proof import check_ratings, read_test_pairs
    from assay.reading.results import check_writable, write_text
    from assay.report import write_report

    check_writable(out)
    attributes = attribute or ["gender"]
    for name in attributes:
        check_attribute(name)
    ratings = human or []
    check_ratings(ratings)
    files = read_test_pairs(test or ())
    with request.session() as session:
        compared = m.methods(metric, folders=adapter or (), models=model or (), session=session)
    sets = files | m.held_out_sets(attributes, limit)
    targets = [name for name, pairs in files.items() if pairs[0].attribute in attributes] or attributes
    comparison = m.compare_methods(compared, sets, targets, ratings, out, session, seed=request.seed or 0)
    report = write_report(comparison.proof.run)
    write_text(out / "compare.json", m.comparison_page(comparison))
    if request.json:
        typer.echo(m.comparison_page(comparison))
    else:
        _print_comparison(comparison)
    if not request.quiet:
        typer.echo(f"report: {report}", err=True)


def _print_comparison(comparison: MethodComparison) -> None:
    _print_figures(comparison.proof.figures)
    for method in comparison.methods[1:]:
        metric = method.measure.label
        typer.echo(f"{method.kind}: {metric}: {comparison.proof.labels[metric]}")
    typer.echo(f"not beaten in both bias and agreement: {', '.join(comparison.front)}")
    typer.echo(f"recommended: {comparison.recommended or 'none'} ({comparison.reason})")
