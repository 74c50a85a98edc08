"""Which metric agrees best with people? Findings of the human audit in, one sentence per slice out."""

from __future__ import annotations

from collections.abc import Sequence

from assay.audits.human.compare import DIFFERENCE
from assay.audits.human.sentinels import SENTINELS
from assay.core import Finding

_NAMES = {"spearman": "Spearman", "kendall_b": "tau-b", "kendall_c": "tau-c"}


def agreement_notes(findings: Sequence[Finding]) -> list[str]:
    """The best metric of every slice over all texts or systems that has a verdict on agreement."""
    notes = []
    for slice_ in dict.fromkeys(f.slice for f in findings if f.statistic == "over_sentinel"):
        here = [f for f in findings if f.slice == slice_]
        statistic = _headline(here)
        metrics = [f for f in here if f.statistic == statistic and f.metric not in SENTINELS]
        if slice_.count("/") == 1 and metrics:
            notes.append(_say_best(max(metrics, key=lambda finding: finding.value), here))
    return notes


def _headline(findings: Sequence[Finding]) -> str:
    """The correlation that metrics are compared by; Spearman where there is nothing to compare."""
    compared = (f.statistic.removesuffix(DIFFERENCE) for f in findings if f.statistic.endswith(DIFFERENCE))
    present = {f.statistic for f in findings}
    return next(compared, next((name for name in _NAMES if name in present), "spearman"))


def _say_best(best: Finding, findings: Sequence[Finding]) -> str:
    ends = "" if best.ci is None else f" [{best.ci[0]:.2f}, {best.ci[1]:.2f}]"
    figure = f"{best.metric} ({_NAMES[best.statistic]} {best.value:.3f}{ends}, n = {best.n})"
    if best.ci is None or best.ci[0] <= 0.0:
        return f"{best.slice}: no metric surely agrees with people; closest is {figure}"
    tied = [
        other
        for f in findings
        if f.statistic == best.statistic + DIFFERENCE and f.ci is not None and f.ci[0] <= 0.0 <= f.ci[1]
        for metric, other in ((f.metric, f.versus), (f.versus, f.metric))
        if metric == best.metric and other is not None
    ]
    also = f", not told apart from {', '.join(tied)}" if tied else ""
    return f"{best.slice}: best is {figure}{also}"
