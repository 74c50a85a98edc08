"""Commands on finished runs: report, compare, gate, cite and panel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from assay import vocabulary
from assay.cli import options as o
from assay.cli.output import print_columns, print_json, print_notes, print_outcomes
from assay.datasets.files import read_text
from assay.errors import AuditError, SpecError
from assay.reading.compare import Change, Comparison, unlike
from assay.reading.compare import compare as compare_runs
from assay.reading.gate import Bounds, disappeared, only_new, outcomes, parse_bounds, parse_gates, unchecked
from assay.reading.lines import Ranking, caption, with_interval
from assay.reading.names import shown_names
from assay.reading.pairs import Pair, best_pairs
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun, load_run, write_text
from assay.reading.text import number, probability
from assay.report import render, write_report
from assay.report.card import as_badge, as_markdown, as_shields, make_card
from assay.report.cite import bibtex
from assay.report.gates import job_summary
from assay.report.gates import junit as as_junit

PAGES_OF_ONE = {"card": as_markdown, "badge": as_badge, "shields": as_shields}  # metric
_MOST_CHANGES = 25  # lines printed


def report_command(
    run: list[Path],
    format: vocabulary.ReportFormat = "html",
    metric: o.OptionalMetric = None,
    figures: Path | None = None,
) -> None:
    """Write report.html again, print the run in another format, or write its charts to files.

    card is a page about one metric for its README; badge is a picture of its answers as SVG, shields the same
    for shields.io.
    """
    if metric is not None and format not in PAGES_OF_ONE:
        raise SpecError(f"-m chooses the metric of a card, a badge or shields; {format} has all metrics")
    *earlier, loaded = [load_run(folder) for folder in run]
    if figures is not None:
        from assay.report.figures import write_figures

        for path in write_figures(loaded, figures):
            typer.echo(path)
    elif format == "html":
        typer.echo(write_report(loaded, earlier))
    elif format in PAGES_OF_ONE:
        typer.echo(PAGES_OF_ONE[format](make_card(loaded, metric or _only_metric(loaded))))
    else:
        typer.echo(render(loaded, format))


def _only_metric(run: StoredRun) -> str:
    if len(run.metrics) > 1:
        raise SpecError(f"the run has several metrics: choose one with -m: {', '.join(run.metrics)}")
    return run.metrics[0]


def compare_command(
    before: Path,
    after: Path,
    metric: o.Metrics = None,
    fail_on_worse: bool = False,
    json: bool = False,
) -> None:
    """Compare two runs; a change counts where a verdict turned or q < .05.

    Audits whose size, seed, limit, other options or texts differ are not compared.
    """
    first, second = load_run(before), load_run(after)
    comparison = compare_runs(first, second, _renamed(metric or [], first.metrics))
    if json:
        changes = [change.document for change in comparison.shared]
        counts = {"only_before": comparison.only_before, "only_after": comparison.only_after}
        lost = [" ".join(filter(None, key)) for key in comparison.lost]
        print_json({"changes": changes, **counts, "lost": lost, "notes": list(comparison.notes)})
    else:
        _print_comparison(comparison, shown_names(second))
    print_notes(comparison.notes)
    if fail_on_worse and (comparison.of("worse") or comparison.lost):
        raise typer.Exit(1)
    if fail_on_worse and comparison.of("not compared"):
        audits = ", ".join(dict.fromkeys(change.key[1] for change in comparison.of("not compared")))
        raise SpecError(f"whether {audits} became worse cannot be told: use the same options and texts")


def _renamed(given: list[str], known: list[str]) -> dict[str, str]:
    """`bertscore-f=bertscore-f:layer=5`: a spec holds equal signs itself, so the first run's names decide."""
    renamed = {}
    for text in given:
        old = next((name for name in known if text.startswith(f"{name}=")), None)
        if old is None or len(text) == len(old) + 1:
            raise SpecError(f"{text!r} is not OLD=NEW with a metric of the first run: {', '.join(known)}")
        renamed[old] = text[len(old) + 1 :]
    return renamed


def _print_comparison(comparison: Comparison, names: dict[str, str]) -> None:
    for direction in ("worse", "better"):
        changes = comparison.of(direction)
        typer.echo(f"{direction}: {len(changes)}")
        if changes:
            print_columns([_cells(change, names) for change in changes[:_MOST_CHANGES]])
    typer.echo(f"unchanged within uncertainty: {len(comparison.of('unchanged'))}")
    if comparison.of("not compared"):
        typer.echo(f"not compared: {len(comparison.of('not compared'))}")
    before, after = comparison.only_before, comparison.only_after
    if before or after:
        typer.echo(f"only in the first run: {before}; only in the second: {after}")
    if comparison.lost:
        typer.echo(f"judged in the first run and gone in the second: {len(comparison.lost)}")
        for key in comparison.lost[:_MOST_CHANGES]:
            typer.echo(f"  {names.get(key[0], key[0])} {' '.join(key[1:4])}")


def _cells(change: Change, names: dict[str, str]) -> dict[str, str]:
    metric, audit, slice_, statistic, _ = change.key
    return {
        "metric": names.get(metric, metric), "audit": audit, "slice": slice_, "statistic": statistic,
        "before": number(change.before), "after": number(change.after), "q": probability(change.q_value),
        "verdict": " > ".join(change.verdicts),
    }  # fmt: skip


def gate_command(
    run: Path,
    bounds: Path | None = None,
    fail_on: list[str] | None = None,
    baseline: Path | None = None,
    junit: Path | None = None,
    summary: Path | None = None,
) -> None:
    """Check a run against bounds; exit with status 1 when one is broken.

    With --bounds only what the file names is checked: its bounds, and the verdicts of its fail-on.
    With --baseline only what is new counts.
    """
    given = parse_bounds(read_text(bounds), bounds) if bounds else Bounds(("fail",), (), ())
    asked = replace(given, fail_on=parse_gates(fail_on, "--fail-on")) if fail_on else given
    loaded = load_run(run)
    checked = outcomes(loaded, asked)
    if baseline:
        earlier = load_run(baseline)
        checked = [*only_new(checked, earlier, asked), *disappeared(checked, loaded, earlier, asked)]
        for audit in set(loaded.findings["audit"]) & set(earlier.findings["audit"]):
            if differences := unlike(earlier, loaded, audit):
                typer.echo(f"note: the baseline differs in {audit} ({', '.join(differences)})", err=True)
    if junit:
        write_text(junit, as_junit(checked))
    if summary:
        write_text(summary, (read_text(summary) if summary.exists() else "") + job_summary(loaded, checked))
    print_outcomes(checked, str(bounds or ", ".join(asked.fail_on)), unchecked(loaded, asked))


def cite_command(run: Path) -> None:
    """Print BibTeX entries for assay, and for the papers behind the metrics, audits and data of a run."""
    typer.echo(bibtex(load_run(run)))


def panel_command(run: Path, task: str | None = None, json: bool = False) -> None:
    """Name the pairs of metrics whose sum is right more often than either alone."""
    loaded = load_run(run)
    ranking = _ranking_of(loaded, task)
    pairs = best_pairs(loaded, ranking)
    if json:
        print_json({"task": ranking.task, "pairs": [_pair_document(pair) for pair in pairs]})
        return
    typer.echo(caption(ranking))
    if not pairs:
        typer.echo("no two metrics together surely decide better than the better of them alone")
        return
    print_columns([
        {"add up": pair.spec, "right of 100": with_interval(pair.order), "gain": f"{pair.gain.value:+.1f}"}
        for pair in pairs
    ])  # fmt: skip


def _ranking_of(run: StoredRun, task: str | None) -> Ranking:
    """The ranking of a task, or the first one."""
    rankings_by_task = {ranking.task: ranking for ranking in rankings(run)}
    if not rankings_by_task:
        raise AuditError("no audit of this run asked which errors a metric notices; run assay audit first")
    if task is not None and task not in rankings_by_task:
        raise SpecError(f"this run has no task {task!r}; it has {', '.join(rankings_by_task)}")
    return rankings_by_task[task or next(iter(rankings_by_task))]


def _pair_document(pair: Pair) -> dict[str, Any]:
    order, gain = ({"value": each.value, "ci": each.ci, "n": each.n} for each in (pair.order, pair.gain))
    return {"metrics": [pair.first, pair.second], "spec": pair.spec, "right_order": order, "gain": gain}
