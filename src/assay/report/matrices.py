"""Findings to tables: a row a slice, a column a metric, the verdict in each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.report.verdicts import Row, Verdict, verdict_of
from assay.report.words import meaning, number, statistic_words
from assay.run.results import Run

# What an audit's table shows, best first; other statistics stay in the list of findings.
_SHOWN: dict[str, tuple[str, ...]] = {
    "stereotype": ("excess_bias", "signed_bias"),
    "association": ("effect_size",),
    "swap": ("preference_share", "correlation_change"),
    "caption": ("biased_share", "neutral_gap"),
    "stress": ("sensitivity",),
    "checklist": ("score_change", "human_deviation", "criterion_pass_rate"),
    "human": ("spearman", "kendall_b", "pairwise_accuracy", "over_sentinel"),
    "attention": ("attention_share",),
}
MOST_ROWS = 150


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as shown, its verdict, and what a pointer tells."""

    text: str
    verdict: Verdict
    title: str
    depth: float  # 0 to 1: how dark a heatmap paints it


@dataclass(frozen=True, slots=True)
class Matrix:
    """One statistic of one audit over slices and metrics."""

    statistic: str
    meaning: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell | None, ...]], ...]  # slice, label, cells
    left_out: int


def matrices(run: Run, audit: str) -> list[Matrix]:
    """The tables of an audit."""
    rows = [row for row in run.findings.iter_rows(named=True) if row["audit"] == audit]
    judged = list(dict.fromkeys(row["statistic"] for row in rows if row["passed"] is not None))
    there = {row["statistic"] for row in rows}
    shown = [name for name in (*_SHOWN.get(audit, ()), *judged) if name in there]
    made = [found for name in dict.fromkeys(shown) if (found := _matrix(run, rows, name)).rows]
    return [*made, *_against(rows)] if audit == "human" else made


def _matrix(run: Run, rows: Sequence[Row], statistic: str) -> Matrix:
    metrics = list(run.metrics)
    table: dict[tuple[str, str], Row] = {}
    slices: dict[str, str] = {}
    for row in rows:
        if row["statistic"] != statistic or _is_detail(row, metrics):
            continue
        if row["metric"] not in metrics:
            metrics.append(row["metric"])
        key = (row["slice"], row["metric"])
        if key not in table or table[key]["passed"] is None:
            table[key] = row
        label = _label(row)
        slices[row["slice"]] = label
    largest = max((abs(row["value"]) for row in table.values()), default=0.0) or 1.0
    used = tuple(metric for metric in metrics if any((slice_, metric) in table for slice_ in slices))
    made = tuple(
        (slice_, label, tuple(_cell(table.get((slice_, metric)), largest) for metric in used))
        for slice_, label in list(slices.items())[:MOST_ROWS]
    )
    return Matrix(statistic_words(statistic), meaning(statistic), used, made, max(0, len(slices) - MOST_ROWS))


def _against(rows: Sequence[Row]) -> list[Matrix]:
    """Is one metric really better than another? Row less column, starred by significance."""
    tables: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows:
        if row["statistic"].endswith("_difference") and row["versus"] and row["slice"].count("/") == 1:
            tables.setdefault((row["slice"], row["statistic"]), {})[row["metric"], row["versus"]] = row
    found = []
    for (slice_, statistic), table in tables.items():
        names = tuple(dict.fromkeys(name for pair in table for name in pair))
        lines = tuple((one, one, tuple(_gap(table, one, two) for two in names)) for one in names)
        title = f"{statistic_words(statistic)}, {slice_}: row less column"
        found.append(
            Matrix(title, "One star: p below .05; two: below .01 (permutation of both).", names, lines, 0)
        )
    return found


def _gap(table: Mapping[tuple[str, str], Row], one: str, two: str) -> Cell | None:
    row, sign = table.get((one, two)), 1.0
    if row is None:
        row, sign = table.get((two, one)), -1.0
    if row is None:
        return None
    return Cell(number(sign * row["value"]) + stars(row["p_value"]), "unclear", f"n = {row['n']}", 0.0)


def _is_detail(row: Row, metrics: Sequence[str]) -> bool:
    """Comparisons between metrics, and parts of a slice that the list of findings holds."""
    if row["versus"] in metrics or row["metric"] == "all metrics":
        return True
    parts = row["slice"].split("/")
    return any(
        part in ("group", "word", "paradigm") or part.startswith(("top-", "difference-")) for part in parts
    )


def _label(row: Row) -> str:
    """A test's label and sets where there are such, else the slice."""
    if row["audit"] == "association" and row["versus"]:
        label, _, sets = str(row["versus"]).partition(": ")
        return f"{row['slice']} ({label}): {sets}" if sets else str(row["slice"])
    return str(row["slice"])


def stars(p_value: float | None) -> str:
    """Two stars below .01, one below .05, as association tables print them."""
    if p_value is None:
        return ""
    return "**" if p_value < 0.01 else "*" if p_value < 0.05 else ""


def _cell(row: Row | None, largest: float) -> Cell | None:
    if row is None:
        return None
    text = number(row["value"]) + (stars(row["q_value"]) if row["audit"] == "association" else "")
    return Cell(text, verdict_of(row["passed"]), _title(row), min(1.0, abs(row["value"]) / largest))


def _title(row: Mapping[str, object]) -> str:
    def shown(key: str) -> str:
        value = row[key]
        return number(value) if isinstance(value, float) else ""

    interval = f", 95% CI {shown('ci_low')} to {shown('ci_high')}" if row["ci_low"] is not None else ""
    q_value = f", q = {shown('q_value')}" if row["q_value"] is not None else ""
    return f"{row['metric']}{interval}{q_value}, n = {row['n']}"
