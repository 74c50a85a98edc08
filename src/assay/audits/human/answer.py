"""Which metric agrees best with people? Findings of the human audit in, one ranked table per slice out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.audits.human.compare import DIFFERENCE
from assay.audits.human.sentinels import CONSTANT, SENTINELS
from assay.core import Finding, Interval
from assay.vocabulary import Verdict

_NAMES = {"spearman": "Spearman", "kendall_b": "tau-b", "kendall_c": "tau-c"}


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One metric's agreement with people in one slice, and the metrics it cannot be told apart from."""

    metric: str
    slice: str
    statistic: str
    value: float
    ci: Interval | None
    n: int
    tied: tuple[str, ...]
    verdict: Verdict
    sentence: str


def agreement_tables(findings: Sequence[Finding]) -> dict[str, list[AgreementRow]]:
    """For every slice with a verdict on agreement, its metrics and sentinels, best first."""
    tables: dict[str, list[AgreementRow]] = {}
    for slice_ in dict.fromkeys(f.slice for f in findings if f.statistic == "over_sentinel"):
        here = [f for f in findings if f.slice == slice_]
        statistic = _headline(here)
        rows = [_row(finding, here) for finding in here if finding.statistic == statistic]
        tables[slice_] = sorted(rows, key=lambda row: -row.value)
    return tables


def agreement_notes(findings: Sequence[Finding]) -> list[str]:
    """The best metric of every slice over all texts or systems, in one sentence each."""
    notes = []
    for slice_, rows in agreement_tables(findings).items():
        metrics = [row for row in rows if row.metric not in SENTINELS]
        if slice_.count("/") == 1 and metrics:
            notes.append(_best(slice_, metrics[0]))
    return notes


def _headline(findings: Sequence[Finding]) -> str:
    """The correlation that metrics are compared by; Spearman where there is nothing to compare."""
    compared = (f.statistic.removesuffix(DIFFERENCE) for f in findings if f.statistic.endswith(DIFFERENCE))
    present = {f.statistic for f in findings}
    return next(compared, next((name for name in _NAMES if name in present), "spearman"))


def _row(finding: Finding, findings: Sequence[Finding]) -> AgreementRow:
    tied = [
        other
        for f in findings
        if f.statistic == finding.statistic + DIFFERENCE and f.ci is not None and f.ci[0] <= 0.0 <= f.ci[1]
        for metric, other in ((f.metric, f.versus), (f.versus, f.metric))
        if metric == finding.metric and other is not None
    ]
    over = next((f for f in findings if f.statistic == "over_sentinel" and f.metric == finding.metric), None)
    row = AgreementRow(
        finding.metric, finding.slice, finding.statistic, finding.value, finding.ci, finding.n, tuple(tied),
        "not judged" if over is None else over.verdict, "",
    )  # fmt: skip
    criterion = row.slice.split("/")[1]
    baseline = "a baseline" if over is None or over.versus in (None, CONSTANT) else over.versus
    claims: dict[Verdict, str] = {
        "pass": f"agrees with people on {criterion}",
        "fail": f"agrees with people on {criterion} less than {baseline}",
        "inconclusive": f"may agree with people on {criterion} no better than {baseline}",
    }
    claim = claims.get(row.verdict, f"is not judged on {criterion}")
    return replace(row, sentence=f"{row.metric} {claim}: {_figure(row)}{_tied(row)}.")


def _figure(row: AgreementRow) -> str:
    ends = "" if row.ci is None else f" [{row.ci[0]:.2f}, {row.ci[1]:.2f}]"
    return f"{_NAMES[row.statistic]} {row.value:.3f}{ends}, n = {row.n}"


def _tied(row: AgreementRow) -> str:
    return f", not told apart from {', '.join(row.tied)}" if row.tied else ""


def _best(slice_: str, row: AgreementRow) -> str:
    if row.ci is None or row.ci[0] <= 0.0:
        return f"{slice_}: no metric surely agrees with people; closest is {row.metric} ({_figure(row)})"
    return f"{slice_}: best is {row.metric} ({_figure(row)}){_tied(row)}"
