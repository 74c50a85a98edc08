"""`assay mitigate`: roads to a fairer metric besides adapters, and all of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import options as o
from assay.cli.debias import People, Test, show

if TYPE_CHECKING:
    from assay.core import Measure
    from assay.mitigation.compare import Compared
    from assay.run.session import Session

app = typer.Typer(
    help="Roads to a fairer metric, one by one or side by side.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
MetricOption = Annotated[str, typer.Option("-m", "--metric", help="The metric to be mended.")]
Attribute = Annotated[list[str] | None, typer.Option("--attribute", help="What to make fair; repeatable.")]
_EACH = 60  # held-out pairs an attribute


@app.command()
def compare(
    metric: MetricOption = "bertscore-f",
    attribute: Attribute = None,
    adapter: Annotated[list[Path] | None, typer.Option(help="A folder of assay debias; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Another backbone; repeatable.")] = None,
    test: Test = None,
    human: People = None,
    stress: Annotated[bool, typer.Option("--stress", help="Also the stress verdicts (slow).")] = False,
    limit: Annotated[int, typer.Option(min=2, help="Held-out pairs an attribute.")] = _EACH,
    out: o.Out = Path("assay-mitigation"),
    seed: o.SeedNumber = 0,
    cache: o.Cache = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Adapters, backbones, layers, directions, hybrids and swaps: bias, sight, agreement and cost of each."""
    from assay.mitigation import compare as c
    from assay.mitigation.counterfactuals import check_attribute
    from assay.mitigation.evaluation import read_people
    from assay.mitigation.page import write_page
    from assay.mitigation.roads import roads
    from assay.run.results import check_writable, write_text
    from assay.run.session import Session

    check_writable(out, mark="compare.json")
    options = Session.open(cache=o.cache_path(cache), quiet=quiet)
    settings = options
    wanted = attribute or ["gender"]
    for name in wanted:
        check_attribute(name)
    files, rated = c.file_sets(test or ()), read_people(human or ())
    found = roads(metric, folders=adapter or (), models=model or (), settings=settings)
    held = c.untouched_sets(wanted, limit)
    targets = [name for name in files if name.rpartition("/")[2] in wanted] or wanted
    verdicts = stress_verdicts([road.measure for road in found], options) if stress else {}
    done = c.compare(found, {**files, **held}, targets, rated, settings, stress=verdicts, seed=seed)
    page = write_page(done.tested, out)
    write_text(out / "compare.json", c.document(done))
    if json:
        typer.echo(c.document(done))
    else:
        _show(done)
    if not quiet:
        typer.echo(f"report: {page}", err=True)


@app.command()
def project(
    out: Annotated[Path, typer.Option(help="The folder to write; use it as adapter=DIR.")],
    metric: MetricOption = "bertscore-f",
    attribute: Attribute = None,
    directions: Annotated[int, typer.Option(min=1, help="How many to take out.")] = 2,
    seed: o.SeedNumber = 0,
) -> None:
    """Take the directions in which identities differ out of a metric's embeddings."""
    from assay.mitigation.debias import with_adapter
    from assay.mitigation.projection import fit
    from assay.models.adapters import CARD
    from assay.run.results import check_writable

    check_writable(out, mark=CARD)
    found = fit(metric, attribute or ["gender"], out, directions=directions, seed=seed)
    typer.echo(f"{directions} directions hold {100 * found.share:.0f}% of the differences", err=True)
    typer.echo(with_adapter(metric, out))


def stress_verdicts(measures: Sequence[Measure], options: Session) -> dict[str, tuple[int, int]]:
    """Failed and changed verdicts of the quick stress audit, a metric each."""
    from assay.mitigation.compare import stress_changes
    from assay.run.pipeline import run

    rows = run("stress", list(measures), options=options, size="quick").findings
    verdicts: dict[str, dict[tuple[str, str], bool | None]] = {one.label: {} for one in measures}
    for row in rows.iter_rows(named=True):
        verdicts[row["metric"]][row["slice"], row["statistic"]] = row["passed"]
    first = verdicts[measures[0].label]
    return {name: stress_changes(first, mine) for name, mine in verdicts.items()}


def _show(done: Compared) -> None:
    show(done.tested)
    for road in done.roads[1:]:
        label = road.measure.label
        failed, changed = done.stress.get(label, (0, 0))
        more = f"; stress: {failed} failed, {changed} verdicts changed" if done.stress else ""
        typer.echo(f"{road.kind}: {label}: {done.tested.labels[label]}{more}")
    typer.echo(f"not beaten in bias and agreement: {', '.join(done.front)}")
    typer.echo(f"recommended: {done.recommended or 'none'} ({done.reason})")
