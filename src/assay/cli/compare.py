"""`assay compare A B`: what got better, worse or stayed between two runs."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import options as o
from assay.cli.columns import print_columns
from assay.errors import SpecError
from assay.report.changes import Change, Changes, changes
from assay.run.results import Run, load_run


def command(
    before: Annotated[Path, typer.Argument(help="A run folder.")],
    after: Annotated[Path, typer.Argument(help="A later run folder.")],
    metric: Annotated[
        list[str] | None, typer.Option("-m", "--metric", help="OLD=NEW: compare metrics of different names.")
    ] = None,
    fail_on_worse: Annotated[bool, typer.Option("--fail-on-worse", help="Exit 1 if any got worse.")] = False,
    json: o.Json = False,
) -> None:
    """Compare two runs; a change counts where a verdict turned or q < .05."""
    first, second = load_run(before), load_run(after)
    found = changes(first, second, _renamed(metric or [], first.metrics))
    if not found.shared:
        raise SpecError(_nothing_shared(first, second))
    if json:
        listed = [one.document for one in found.shared]
        extra = {"only_before": found.only_before, "only_after": found.only_after}
        typer.echo(json_module.dumps({"changes": listed, **extra}, ensure_ascii=False, indent=1))
    else:
        _show(found)
    if fail_on_worse and found.of("worse"):
        raise typer.Exit(1)


def _nothing_shared(first: Run, second: Run) -> str:
    """What the runs do not share: an audit, a metric, or slices."""
    for kind, remedy in (("audit", "run one audit twice"), ("metric", "name a pair with -m OLD=NEW")):
        one, two = (sorted(set(run.findings[kind])) for run in (first, second))
        if not set(one) & set(two):
            return f"the runs share no {kind}: {_listed(one)} and {_listed(two)}; {remedy}"
    return "the runs share no finding: other data or options; run both alike, or name metrics with -m OLD=NEW"


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _renamed(given: list[str], known: list[str]) -> dict[str, str]:
    """`bertscore-f=bertscore-f:layer=5`: a spec holds equal signs itself, so the first run's names decide."""
    renamed = {}
    for text in given:
        old = next((name for name in known if text.startswith(f"{name}=")), None)
        if old is None or len(text) == len(old) + 1:
            raise SpecError(f"{text!r} is not OLD=NEW with a metric of the first run: {', '.join(known)}")
        renamed[old] = text[len(old) + 1 :]
    return renamed


def _show(found: Changes, most: int = 25) -> None:
    for direction in ("worse", "better"):
        mine = found.of(direction)
        typer.echo(f"{direction}: {len(mine)}")
        if mine:
            print_columns([_cells(one) for one in mine[:most]])
    typer.echo(f"unchanged within uncertainty: {len(found.of('unchanged'))}")
    if found.only_before or found.only_after:
        typer.echo(f"only in the first run: {found.only_before}; only in the second: {found.only_after}")


def _cells(one: Change) -> dict[str, str]:
    words = {True: "pass", False: "FAIL", None: "-"}
    metric, audit, slice_, statistic, _ = one.key
    return {
        "metric": metric, "audit": audit, "slice": slice_, "statistic": statistic,
        "before": f"{one.before:.4g}", "after": f"{one.after:.4g}",
        "q": "" if one.q_value is None else f"{one.q_value:.3f}",
        "verdict": f"{words[one.verdicts[0]]} > {words[one.verdicts[1]]}",
    }  # fmt: skip
