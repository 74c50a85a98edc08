"""Findings to tables: one line per slice, one column per metric, the verdict in each cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from assay.core import Statistic
from assay.report.text import heading, interval, number, probability
from assay.report.verdicts import AuditInfo, Row, is_check
from assay.vocabulary import Verdict

MOST_LINES = 150


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as shown, its verdict, and what a pointer shows."""

    text: str
    verdict: Verdict
    title: str
    depth: float  # 0 to 1: how dark a failure is painted


@dataclass(frozen=True, slots=True)
class Table:
    """One statistic of one audit over slices and metrics."""

    title: str
    meaning: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell | None, ...]], ...]  # label, cells
    left_out: int


def tables(audit: AuditInfo, rows: Sequence[Row], metrics: Sequence[str]) -> list[Table]:
    """The tables of an audit: its headline statistics, then the others that were judged."""
    everyone = {*metrics, *(row["metric"] for row in rows)}
    compared = [row["versus"] in everyone and not is_check(row) for row in rows]
    alone = _by_statistic(audit, compress(rows, (not pair for pair in compared)))
    between = _by_statistic(audit, compress(rows, compared))
    shown = [known for known in audit.statistics if known.headline and known in alone]
    shown += [known for known, listed in alone.items() if any(map(is_check, listed))]
    drawn = [_by_slice(known, shown_rows(alone[known]), metrics) for known in dict.fromkeys(shown)]
    for known, listed in between.items():
        if known not in alone:
            drawn += _by_pair(known, shown_rows(listed))
    return drawn


def _by_statistic(audit: AuditInfo, rows: Iterable[Row]) -> dict[Statistic, list[Row]]:
    grouped: dict[Statistic, list[Row]] = {}
    for row in rows:
        grouped.setdefault(audit.statistic(row), []).append(row)
    return grouped


def shown_rows(rows: Sequence[Row]) -> list[Row]:
    """Those findings of a statistic that deserve a line: the ones judged for some metric.

    Where nothing was judged in a slice, its findings are shown if no other slice has a shorter path.
    """
    judged = {_line(row) for row in rows if is_check(row)}
    slices = {slice_ for slice_, _ in judged}
    shortest = min((row["slice"].count("/") for row in rows), default=0)
    return [
        row
        for row in rows
        if _line(row) in judged or (row["slice"] not in slices and row["slice"].count("/") == shortest)
    ]


def _line(row: Row) -> tuple[str, str | None]:
    return row["slice"], row["versus"]


def _by_slice(statistic: Statistic, rows: Sequence[Row], metrics: Sequence[str]) -> Table:
    lines = list(dict.fromkeys(_line(row) for row in rows))
    present = {row["metric"] for row in rows}
    columns = [m for m in dict.fromkeys([*metrics, *(row["metric"] for row in rows)]) if m in present]
    table = {(*_line(row), row["metric"]): row for row in rows}
    largest = max(abs(row["value"]) for row in rows) or 1.0
    several = len({versus for _, versus in lines}) > 1
    made = tuple(
        (
            f"{slice_} ({versus})" if several and versus else slice_,
            tuple(_cell(table.get((slice_, versus, metric)), largest) for metric in columns),
        )
        for slice_, versus in lines[:MOST_LINES]
    )
    left_out = max(0, len(lines) - MOST_LINES)
    return Table(f"{heading(statistic)} by metric", statistic.meaning, tuple(columns), made, left_out)


def _by_pair(statistic: Statistic, rows: Sequence[Row]) -> list[Table]:
    """One table per slice of a statistic that compares two metrics; stars say how sure a difference is."""
    how = "The metric of the line is compared with that of the column. * p < .05, ** p < .01."
    drawn = []
    for slice_ in dict.fromkeys(row["slice"] for row in rows):
        here = {(row["metric"], row["versus"]): row for row in rows if row["slice"] == slice_}
        columns = tuple(dict.fromkeys(versus for _, versus in here))
        lines = tuple(
            (metric, tuple(_cell(here.get((metric, versus)), None) for versus in columns))
            for metric in dict.fromkeys(metric for metric, _ in here)
        )
        title = f"{heading(statistic)}, {slice_}"
        drawn.append(Table(title, f"{statistic.meaning} {how}".strip(), columns, lines, 0))
    return drawn


def _cell(row: Row | None, largest: float | None) -> Cell | None:
    """A finding of one metric, as dark as its share of the largest value; without one, of two metrics."""
    if row is None:
        return None
    p_value = 1.0 if largest is not None or row["p_value"] is None else row["p_value"]
    stars = "**" if p_value < 0.01 else "*" if p_value < 0.05 else ""
    depth = 0.0 if largest is None else min(1.0, abs(row["value"]) / largest)
    q_value = "" if row["q_value"] is None else f"q = {probability(row['q_value'])}"
    facts = (row["metric"], row["verdict"], interval(row), q_value, f"n = {row['n']}")
    return Cell(number(row["value"]) + stars, row["verdict"], ", ".join(filter(None, facts)), depth)
