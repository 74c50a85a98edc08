"""Findings to tables: one line per slice, one column per metric, a finding in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from assay.core import Statistic
from assay.grouping import grouped
from assay.reading.text import heading
from assay.reading.verdicts import AuditInfo, JudgedRow, is_check

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
    compared = [row["versus"] in everyone and not is_check(row) for row in rows]
    alone = grouped(compress(rows, (not pair for pair in compared)), lambda row: row.declared)
    shown = [known for known in audit.statistics if known.headline and known in alone]
    shown += [known for known, listed in alone.items() if any(map(is_check, listed))]
    drawn = [_by_slice(known, shown_rows(alone[known]), metrics) for known in dict.fromkeys(shown)]
    for known, listed in grouped(compress(rows, compared), lambda row: row.declared).items():
        if known not in alone:
            drawn += _by_pair(known, shown_rows(listed))
    return drawn


def shown_rows(rows: Sequence[JudgedRow]) -> list[JudgedRow]:
    """Those findings of a statistic that deserve a line: the ones judged for some metric.

    Where nothing was judged in a slice, its findings are shown if no other slice has a shorter path.
    """
    judged = {_line(row) for row in rows if is_check(row)}
    slices = {slice_ for slice_, _ in judged}
    shortest = min((row["slice"].count("/") for row in rows), default=0)
    shown = judged | {_line(row) for row in rows if row["slice"].count("/") == shortest}
    return [row for row in rows if _line(row) in (judged if row["slice"] in slices else shown)]


def _line(row: JudgedRow) -> tuple[str, str | None]:
    return row["slice"], row["versus"]


def _by_slice(statistic: Statistic, rows: Sequence[JudgedRow], metrics: Sequence[str]) -> PageTable:
    lines = list(dict.fromkeys(_line(row) for row in rows))
    present = {row["metric"] for row in rows}
    columns = [m for m in dict.fromkeys([*metrics, *(row["metric"] for row in rows)]) if m in present]
    table = {(*_line(row), row["metric"]): row for row in rows}
    several = len({versus for _, versus in lines}) > 1
    made = tuple(
        (
            f"{slice_} ({versus})" if several and versus else slice_,
            tuple(table.get((slice_, versus, metric)) for metric in columns),
        )
        for slice_, versus in lines[:MOST_LINES]
    )
    left_out = max(0, len(lines) - MOST_LINES)
    return PageTable(f"{heading(statistic)} by metric", statistic.meaning, tuple(columns), made, left_out)


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
