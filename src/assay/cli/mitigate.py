"""Commands that mitigate bias: debias, mitigate and propagate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli import options as o
from assay.cli.help import Command, CommandGroup
from assay.cli.output import print_columns, print_json
from assay.errors import SpecError
from assay.files import toml_file

if TYPE_CHECKING:
    from assay.mitigation.methods import MethodComparison
    from assay.mitigation.proof import ProofFigure
    from assay.papers.propagate import Effect

_REWARDS = ("clipscore:model=scenes", "clipscore:model=scenes+cider", "clipscore:model=scenes-balanced")
_COLUMNS = ("bleu-4", "meteor", "rougeL", "cider")  # of tables 3 and 6, beside the rewards
_EXPLANATION: str = toml_file("help", "commands")["notes"]["propagate"]
# How a reward is optimised: an enumeration, since typer takes no list of Literals.
_Method = StrEnum("_Method", {"BEST": "best-of-n", "RISK": "minimum-risk", "CRITICAL": "self-critical"})
_METHODS = (_Method.BEST, _Method.RISK)
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
) -> None:
    """Train bottleneck adapters so that a metric scores groups alike and keeps its other scores.

    A stopped training is resumed when the same debias is given again. Afterwards the metric is audited with
    and without the adapter, on held-out pairs, gendered captions and your ratings.
    """
    from assay.mitigation.train import DEMO, Job, TrainPlan, debias, training_page
    from assay.report import write_report

    given = _given(steps=steps, batch=batch, rate=rate, bottleneck=bottleneck, seed=request.seed)
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
            "value": f"{figure.value:.4g}{_interval(figure.ci)}",
            "change": _change(figure),
            "metric": figure.metric,
        }
        for figure in sorted(figures, key=lambda f: (f.statistic, f.slice, f.versus or ""))
    ]
    print_columns(rows)


def _interval(ci: tuple[float, float] | None, form: str = "{:.3g}") -> str:
    return "" if ci is None else f" [{form.format(ci[0])}, {form.format(ci[1])}]"


def _change(figure: ProofFigure) -> str:
    """The percentage that is gone of a bias; of other figures the difference."""
    if figure.change is None:
        return ""
    if figure.statistic != "bias":
        return f"{figure.change:+.4f}" + _interval(figure.change_ci, "{:+.4f}")
    gone = figure.change_ci and (-100 * figure.change_ci[1], -100 * figure.change_ci[0])
    return f"{-100 * figure.change:+.1f}%" + _interval(gone, "{:+.1f}%")


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
    check_ratings(human or ())
    files = read_test_pairs(test or ())
    with request.session() as session:
        compared = m.methods(metric, folders=adapter or (), models=model or (), session=session)
    sets = files | m.held_out_sets(attributes, limit)
    targets = [name for name, pairs in files.items() if pairs[0].attribute in attributes] or attributes
    comparison = m.compare_methods(compared, sets, targets, human or (), out, session, seed=request.seed or 0)
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
    from assay.names.spec import parse
    from assay.papers.propagate import Experiment, own_world, propagate, rendered_world

    if (model is None) != (data is None):
        raise SpecError("a captioner of your own needs both --model and --data")
    if device is not None:
        os.environ["ASSAY_DEVICE"] = device
    rewards, columns = ([parse(text) for text in texts] for texts in (request.metric or _REWARDS, _COLUMNS))
    effects = propagate(
        rewards, range(seeds), Experiment(**_given(epochs=epochs, samples=samples, batch=batch, rate=rate)),
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
            "change": f"{effect.errors.change:+.1f}{_interval(effect.errors.ci, '{:+.1f}')}",
            "no gender": f"{effect.silent.before:.1f}% to {effect.silent.after:.1f}%",
            "biased concepts": " to ".join(shares) or "too few scenes",
            "reward gain": f"{effect.gain.change:+.4f}{_interval(effect.gain.ci, '{:+.4f}')}",
        })  # fmt: skip
        columns = {name: f"{100 * c.before:.1f} to {100 * c.after:.1f}" for name, c in effect.scores.items()}
        scores.append(named | columns)
    print_columns(rows)
    typer.echo("")
    print_columns(scores)


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others keep their defaults."""
    return {name: value for name, value in options.items() if value is not None}
