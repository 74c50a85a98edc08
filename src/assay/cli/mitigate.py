"""`assay mitigate`: mitigation methods besides adapters, and all of them side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o
from assay.cli.debias import People, Test, show

if TYPE_CHECKING:
    from assay.mitigation.compare import Comparison

app = typer.Typer(
    help="Mitigation methods for a biased metric, one by one or side by side.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
MetricOption = Annotated[str, typer.Option("-m", "--metric", help="The metric to debias.")]
Attribute = Annotated[
    list[str] | None, typer.Option("--attribute", help="An attribute to make fair; repeatable.")
]


@app.command()
def compare(
    metric: MetricOption = "bertscore-f",
    attribute: Attribute = None,
    adapter: Annotated[list[Path] | None, typer.Option(help="A folder of assay debias; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Another backbone; repeatable.")] = None,
    test: Test = None,
    human: People = None,
    stress: Annotated[bool, typer.Option("--stress", help="Also run the stress audit (slow).")] = False,
    limit: Annotated[int, typer.Option(min=2, help="Held-out pairs per attribute.")] = 60,
    out: o.Out = Path("assay-mitigation"),
    seed: o.SeedNumber = 0,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare adapters, backbones, layers, directions, hybrids and swaps by bias, accuracy and agreement."""
    from assay.mitigation import compare as c
    from assay.mitigation.data import check_attribute
    from assay.mitigation.methods import methods
    from assay.mitigation.proof import check_ratings, read_test_pairs
    from assay.report import write_report
    from assay.run.results import check_writable, write_text
    from assay.run.session import Session

    check_writable(out)
    attributes = attribute or ["gender"]
    for name in attributes:
        check_attribute(name)
    check_ratings(human or ())
    files = read_test_pairs(test or ())
    session = Session.open(cache=o.cache_path(cache), quiet=quiet)
    with session:
        compared = methods(metric, folders=adapter or (), models=model or (), session=session)
    sets = files | c.held_out_sets(attributes, limit)
    targets = [name for name, pairs in files.items() if pairs[0].attribute in attributes] or attributes
    comparison = c.compare(compared, sets, targets, human or (), out, session, stress=stress, seed=seed)
    report = write_report(comparison.proof.run)
    write_text(out / "compare.json", c.document(comparison))
    if json:
        typer.echo(c.document(comparison))
    else:
        _show(comparison)
    if not quiet:
        typer.echo(f"report: {report}", err=True)


@app.command()
def project(
    out: Annotated[Path, typer.Option(help="The folder to write; use it as adapter=DIR.")],
    metric: MetricOption = "bertscore-f",
    attribute: Attribute = None,
    directions: Annotated[int, typer.Option(min=1, help="Number of directions to remove.")] = 2,
    seed: o.SeedNumber = 0,
) -> None:
    """Remove the directions in which identities differ from a metric's embeddings."""
    from assay.mitigation.methods import fit_projection
    from assay.mitigation.train import with_adapter
    from assay.models.adapters import CARD
    from assay.run.results import check_writable

    check_writable(out, mark=CARD)
    space = fit_projection(metric, attribute or ["gender"], out, directions=directions, seed=seed)
    typer.echo(f"{directions} directions hold {100 * space.share:.0f}% of the differences", err=True)
    typer.echo(with_adapter(metric, out))


def _show(comparison: Comparison) -> None:
    show(comparison.proof.figures)
    for method in comparison.methods[1:]:
        metric = method.measure.label
        failed, changed = comparison.stress.get(metric, (0, 0))
        more = f"; stress: {failed} failed, {changed} verdicts changed" if comparison.stress else ""
        typer.echo(f"{method.kind}: {metric}: {comparison.proof.labels[metric]}{more}")
    typer.echo(f"not beaten in both bias and agreement: {', '.join(comparison.front)}")
    typer.echo(f"recommended: {comparison.recommended or 'none'} ({comparison.reason})")
