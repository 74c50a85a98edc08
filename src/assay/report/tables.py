"""Findings to tables: one line per slice, one column per metric, a finding in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import filterfalse

from assay.core import Statistic
from assay.grouping import grouped
from assay.reading.text import heading
from assay.reading.verdicts import AuditInfo, JudgedRow, is_check, metric_of

MOST_LINES = 150


@dataclass(frozen=True, slots=True)
class PageTable:
    """One statistic of one audit over slices and metrics."""

    title: str
    meaning: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[JudgedRow | None, ...]], ...]  # label, findings
    left_out: int = 0
    is_starred: bool = False  # stars say how sure a difference between metrics is


def tables(audit: AuditInfo, rows: Sequence[JudgedRow], metrics: Sequence[str]) -> list[PageTable]:
    """The tables of an audit: its headline statistics, then the others that were judged."""
    everyone = {*metrics, *(row["metric"] for row in rows)}

    def is_of_pair(row: JudgedRow) -> bool:
        return row["versus"] in everyone and not is_check(row)

    alone = grouped(filterfalse(is_of_pair, rows), lambda row: row.declared)
    headlines = [known for known in audit.statistics if known.headline and known in alone]
    judged = [known for known, of_statistic in alone.items() if any(map(is_check, of_statistic))]
    drawn = [
        _by_slice(known, shown_rows(alone[known]), metrics) for known in dict.fromkeys([*headlines, *judged])
    ]
    for known, of_pairs in grouped(filter(is_of_pair, rows), lambda row: row.declared).items():
        if known not in alone:
            drawn += _by_pair(known, shown_rows(of_pairs))
    return drawn


def shown_rows(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Those findings of a statistic that deserve a line: the ones judged for some metric.

    Where nothing was judged in a slice, its findings are shown if no other slice has a shorter path.
    """
    judged = {_line(row) for row in rows if is_check(row)}
    slices = {slice_ for slice_, _ in judged}
    shortest = min((row["slice"].count("/") for row in rows), default=0)

    def is_shown(row: JudgedRow) -> bool:
        if row["slice"] in slices:
            return _line(row) in judged
        return bool(row["slice"].count("/") == shortest)

    return list(filter(is_shown, rows))


def _line(row: JudgedRow) -> tuple[str, str | None]:
    return row["slice"], row["versus"]


def _by_slice(statistic: Statistic, rows: Sequence[JudgedRow], metrics: Sequence[str]) -> PageTable:
    lines = list(dict.fromkeys(map(_line, rows)))
    present = dict.fromkeys(map(metric_of, rows))
    columns = [metric for metric in dict.fromkeys([*metrics, *present]) if metric in present]
    cells = {(*_line(row), row["metric"]): row for row in rows}
    several = len({versus for _, versus in lines}) > 1
    made = []
    for slice_, versus in lines[:MOST_LINES]:
        label = f"{slice_} ({versus})" if several and versus else slice_
        made.append((label, tuple(cells.get((slice_, versus, metric)) for metric in columns)))
    left_out = max(0, len(lines) - MOST_LINES)
    return PageTable(
        f"{heading(statistic)} by metric", statistic.meaning, tuple(columns), tuple(made), left_out
    )


def _by_pair(statistic: Statistic, rows: Sequence[JudgedRow]) -> list[PageTable]:
    """One table per slice of a statistic that compares two metrics."""
    how = "The metric of the line is compared with that of the column. * p < .05, ** p < .01."
    drawn = []
    for slice_, listed in grouped(rows, lambda row: row["slice"]).items():
        here = {(row["metric"], row["versus"]): row for row in listed}
        columns = tuple(dict.fromkeys(versus for _, versus in here))
        lines = tuple(
            (metric, tuple(here.get((metric, versus)) for versus in columns))
            for metric in dict.fromkeys(metric for metric, _ in here)
        )
        title = f"{heading(statistic)}, {slice_}"
        drawn.append(PageTable(title, f"{statistic.meaning} {how}".strip(), columns, lines, is_starred=True))
    return drawn
