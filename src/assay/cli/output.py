"""What commands print: JSON, columns for people and for `cut` and `awk`, and the results of a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import typer

from assay.errors import AuditError

if TYPE_CHECKING:
    from assay.core import Asked
    from assay.engine.session import Session
    from assay.reading.gate import GateOutcome
    from assay.reading.results import StoredRun
    from assay.vocabulary import Gate

_WIDEST = 60  # characters of a cell, where lines are cut
_MOST_FINDINGS, _MOST_OUTCOMES, _MOST_NOTES = 60, 20, 7  # lines printed
_MOST_LEFT_OUT = 2  # notes on what was left out
_LONGEST_NOTE = 200  # characters
_WORST = 2  # findings in words
_INTERVAL = re.compile(r" \[\d[^\]]*\]")
_COUNT = re.compile(r".*\((\d+ of \d+ kinds).*")
_SETTLED = re.compile(r" \(\d+ of \d+ settled\)")


def print_json(document: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=1))


def print_columns(rows: Sequence[dict[str, Any]], *, cut: bool = False) -> None:
    """Print rows under their column names; `cut` shortens long lines on a terminal, never in a pipe."""
    width = shutil.get_terminal_size().columns if cut and sys.stdout.isatty() else None
    for line in columns(rows, width):
        typer.echo(line)


def columns(rows: Sequence[dict[str, Any]], width: int | None = None) -> list[str]:
    """The lines, no longer than width.

    >>> columns([{"a": 1, "bb": None}, {"a": "xyz", "bb": 2}])
    ['a    bb', '1', 'xyz  2']
    >>> columns([{"name": "one\\x1b[2J"}])
    ['name', 'one\ufffd[2J']
    """
    if not rows:
        return ["nothing here"]
    table = [list(rows[0])] + [[_printable(cell) for cell in row.values()] for row in rows]
    if width:
        table = [[_cut(cell, _WIDEST) for cell in line] for line in table]
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(cell.ljust(size) for cell, size in zip(line, sizes, strict=True)) for line in table]
    return [_cut(line.rstrip(), width) for line in lines]


def wrapped(rows: Sequence[dict[str, Any]], width: int) -> list[dict[str, Any]]:
    """The rows with the text of the last column spread over as many lines as fit the width.

    >>> columns(wrapped([{"name": "bleu", "what": "words in common"}], 16))
    ['name  what', 'bleu  words in', '      common']
    """
    *others, last = rows[0] if rows else [""]
    used = sum(2 + max(len(name), *(len(_printable(row[name])) for row in rows)) for name in others)
    lines = []
    for row in rows:
        first, *more = textwrap.wrap(_printable(row[last]), width - used) or [""]
        lines += [row | {last: first}, *(dict.fromkeys(others, "") | {last: part} for part in more)]
    return lines


def _printable(cell: Any) -> str:
    """A cell on one line, without control characters, which could steer a terminal."""
    text = "" if cell is None else str(cell)
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def _cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else text[: width - 1] + "…"


def finish(done: StoredRun, *, form: str, fail_on: Sequence[Gate], quiet: bool) -> None:
    """Write the report, print the result, apply the gate."""
    from assay.reading.gate import Bounds, outcomes, unchecked
    from assay.report import render, write_report

    if not done.findings.height:
        raise AuditError("; ".join(["nothing could be judged", *done.notes]))
    report = write_report(done)
    if form == "html" and done.whose:
        typer.echo(f"{done.whose}.")
    if form != "html":
        typer.echo(render(done, form))
    answers = _print_agreement(done) if form == "html" else []
    if form == "html" and not (answers and list(done.about["audits"]) == ["human"]):
        (_print_findings if len(done.about["audits"]) == 1 else _print_answers)(done)
    _print_run_notes(done, said=answers, quiet=quiet)
    if not quiet:
        typer.echo(f"report: {report}", err=True)
    if fail_on:
        asked = Bounds(tuple(fail_on), (), ())
        print_outcomes(outcomes(done, asked), ", ".join(fail_on), unchecked(done, asked))


def print_profile(run: StoredRun, *, reporting: float) -> None:
    """Print to stderr how many seconds each part of a run took, the longest first."""
    seconds = run.about["seconds"]
    parts = {f"scoring {label}": spent for label, spent in seconds["scoring"].items()}
    parts |= seconds["phases"] | {"writing the report": reporting}
    total = seconds["wall"] + reporting
    parts["everything else"] = total - sum(parts.values())
    for part, spent in sorted(parts.items(), key=itemgetter(1), reverse=True):
        typer.echo(f"{spent:8.2f} s  {part}", err=True)
    typer.echo(f"{total:8.2f} s  in all", err=True)


def print_notes(notes: Sequence[str], *, quiet: bool = False) -> None:
    """Print notes about the run to stderr."""
    if quiet:
        return
    for note in notes[:_MOST_NOTES]:  # the report and --json have them whole
        typer.echo(_cut(f"note: {note}", _LONGEST_NOTE), err=True)
    if len(notes) > _MOST_NOTES:
        typer.echo(f"note: and {len(notes) - _MOST_NOTES} more", err=True)


def _print_run_notes(done: StoredRun, *, said: Sequence[str], quiet: bool) -> None:
    """Print the notes to read first, and the first of what was left out; the report has all of them."""
    from assay.reading.notes import LEFT_OUT, READ_FIRST, grouped_notes

    if quiet:
        return
    groups = grouped_notes(done)
    first = [note for note in groups.get(READ_FIRST, []) if not note.endswith(tuple(said))]
    notes = [*first, *groups.get(LEFT_OUT, [])[:_MOST_LEFT_OUT]][:_MOST_NOTES]
    for note in notes:
        typer.echo(_cut(f"note: {note}", _LONGEST_NOTE), err=True)
    left = sum(map(len, groups.values())) - len(notes)
    more = f"{left} more notes and " if left else ""
    typer.echo(f"note: {more}{done.findings.height:,} findings are in the report and with --json", err=True)


def print_outcomes(checked: Sequence[GateOutcome], gate: str, unchecked: Sequence[str]) -> None:
    """Print the requirements that failed and what was not checked; exit with status 1 if any failed."""
    broken = [outcome for outcome in checked if outcome.is_broken]
    known = sum(outcome.known for outcome in checked)
    more = f"; {known} failures are known, since the baseline has them too" if known else ""
    for outcome in broken[:_MOST_OUTCOMES]:
        typer.echo(f"failed: {outcome.row['audit']} {outcome.name}: {outcome.problem}", err=True)
    if len(broken) > _MOST_OUTCOMES:
        typer.echo(f"failed: and {len(broken) - _MOST_OUTCOMES} more", err=True)
    for line in unchecked:
        typer.echo(f"not checked: {line}", err=True)
    if broken:
        typer.echo(f"gate {gate}: {len(broken)} of {len(checked)} requirements failed{more}", err=True)
        raise typer.Exit(1)
    typer.echo(f"gate {gate}: {len(checked) - known} requirements met{more}", err=True)


def _print_agreement(done: StoredRun) -> list[str]:
    """Which metric agrees with people, in ranked tables and sentences; returns the sentences.

    Where there are several datasets or language pairs, the tables are those of their averages.
    """
    if "human" not in done.about["audits"]:
        return []
    from assay.audits.human.compare import agreement_notes, agreement_tables
    from assay.core import Finding
    from assay.reading.text import shown_verdict

    rows = done.findings.iter_rows(named=True)
    findings = [Finding.from_row(row) for row in rows if row["audit"] == "human"]
    tables = agreement_tables(findings)
    for name in [name for name in tables if "/average:" in name] or tables:
        typer.echo(f"agreement with people: {name}")
        cells = []
        for finding, tied, verdict in tables[name]:
            interval = "" if finding.ci is None else f"{finding.ci[0]:.1f} .. {finding.ci[1]:.1f}"
            figure = {"metric": finding.metric, "right order": f"{finding.value:.1f}"}
            figure |= {"95% CI": interval, "n": str(finding.n), "tied with": ", ".join(tied)}
            cells.append(figure | {"verdict": shown_verdict(verdict)})
        print_columns(cells, cut=True)
    sentences = agreement_notes(findings)
    for sentence in sentences:
        typer.echo(f"- {sentence}.")
    return sentences


def _print_answers(done: StoredRun) -> None:
    """The one table, the recommendation and the gravest findings in words, for a run with several audits."""
    from assay.reading.lines import sources
    from assay.reading.names import shown
    from assay.reading.ranking import rankings
    from assay.reading.text import sentence_of_all
    from assay.reading.verdicts import rows_of, worst
    from assay.report.plain import headlines, short_rows

    done = shown(done)
    ranked = rankings(done)
    about, *advice = headlines(done) if ranked else [""]
    if about:
        print_paragraph(f"{about}:")
    print_columns(fitted(short_rows(done)), cut=True)
    if ranked and sources(ranked[0]):
        print_paragraph(sources(ranked[0]))
    for line in advice:
        print_paragraph(line)
    rows = rows_of(done)
    for row in worst(rows, _WORST):
        print_paragraph(f"- {sentence_of_all(row, rows)}")


def print_paragraph(text: str) -> None:
    """Print a text, on a terminal broken between words."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    typer.echo(textwrap.fill(text, width) if width else text)


def fitted(rows: Sequence[dict[str, str]], width: int | None = None) -> list[dict[str, str]]:
    """The rows of the one table with no more than fits a terminal.

    What the report can better say goes first: speeds, intervals, the names of blind spots, what is settled.

    >>> fitted([{"metric": "bleu [x]", "errors": "67 [65, 69]", "texts/s": "9"}], 18)
    [{'metric': 'bleu [x]', 'errors': '67'}]
    """
    width = width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
    table = [dict(row) for row in rows]
    for shorten in (_without_speed, _without_intervals, _without_names, _without_settled, _without_contrast):
        if width is None or max(map(len, columns(table))) <= width:
            break
        table = [shorten(row) for row in table]
    return table


def _without_speed(row: dict[str, str]) -> dict[str, str]:
    return {name: cell for name, cell in row.items() if name != "texts/s"}


def _without_contrast(row: dict[str, str]) -> dict[str, str]:
    return {name: cell for name, cell in row.items() if name != "other words"}


def _without_intervals(row: dict[str, str]) -> dict[str, str]:
    return {name: _INTERVAL.sub("", cell) for name, cell in row.items()}


def _without_names(row: dict[str, str]) -> dict[str, str]:
    """The number of blind spots: `17 of 59 kinds`."""
    return {name: _COUNT.sub(r"\1", cell) if name == "blind to" else cell for name, cell in row.items()}


def _without_settled(row: dict[str, str]) -> dict[str, str]:
    return {name: _SETTLED.sub("", cell) for name, cell in row.items()}


def print_first(done: StoredRun) -> None:
    """Print the answers of metrics already scored to stderr, while slower metrics are still running."""
    from assay.reading.names import shown
    from assay.report.plain import short_rows

    typer.echo("first answers; slower metrics follow:", err=True)
    for line in columns(fitted(short_rows(shown(done)))):
        typer.echo(line, err=True)


def _print_findings(done: StoredRun) -> None:
    """Judged findings, failures first; all findings if none was judged."""
    from assay.reading.names import shown
    from assay.reading.text import ROUNDING, probability, shown_verdict

    findings = list(shown(done).findings.iter_rows(named=True))
    judged = [row for row in findings if row["verdict"] != "not judged"]
    order = ("fail", "not covered", "pass", "inconclusive")
    judged.sort(key=lambda row: order.index(row["verdict"]))
    rows = []
    for row in (judged or findings)[:_MOST_FINDINGS]:
        interval = "" if row["ci_low"] is None else f"{row['ci_low']:.3g} .. {row['ci_high']:.3g}"
        value = f"{row['value']:.4g}" if abs(row["value"]) > ROUNDING else "0"
        labels = {name: row[name] for name in ("metric", "audit", "slice", "statistic")}
        numbers = {"value": value, "95% CI": interval, "q": probability(row["q_value"])}
        rows.append({"verdict": shown_verdict(row["verdict"])} | labels | numbers)
    print_columns(rows, cut=True)
    left = len(findings) - len(rows)
    if left > 0:
        typer.echo(f"({left} more findings in the report and with --json)", err=True)


def print_cost(
    only: Sequence[str], metrics: Sequence[str], options: Mapping[str, Any], size: str, session: Session
) -> None:
    """Print samples, unique texts, tokens and seconds per metric, before anything is scored.

    Of judges also how many questions they would be asked, and what that would cost.
    """
    from assay.api.pipeline import estimate_cost

    costs, notes = estimate_cost(only, metrics, options, size, session)
    rows = []
    for row in costs:
        counted = ("samples", "unique", "cached", "texts", "tokens")
        counts = {name: f"{getattr(row, name):,}" for name in counted}
        seconds = "?" if row.seconds is None else f"{row.seconds:,.0f}"
        rows.append({"metric": row.metric} | counts | {"seconds": seconds, "to fetch": row.fetch})
    print_columns(rows)
    for row in costs:
        if row.asked:
            typer.echo(f"{row.metric}: {_bill_in_words(row.asked)}")
    print_notes(notes)


def _bill_in_words(asked: Asked) -> str:
    """What a judge would be asked, and what that costs at the price that was set."""
    from assay.models.budget import PRICE, price

    sizes = f"{asked.questions:,} questions, {asked.read:,} tokens read, {asked.written:,} written"
    if not asked.is_paid:
        return f"{sizes}, cost 0 (on this machine)"
    price_per_token = price()
    if not price_per_token.known:
        return f"{sizes}, cost unknown: set {PRICE}=READ,WRITTEN (money per million tokens)"
    return f"{sizes}, cost {price_per_token.of(asked.read, asked.written):.4f}"


def interval_text(ci: tuple[float, float] | None, form: str = "{:.3g}") -> str:
    """An interval as it is printed after its figure; empty if there is none."""
    return "" if ci is None else f" [{form.format(ci[0])}, {form.format(ci[1])}]"
