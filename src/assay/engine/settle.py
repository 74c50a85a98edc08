"""Findings to verdicts: q-values, verdicts and sentences of every audit, by one rule.

The rule has three inputs: the interval, the side that is bad, and the bar where it begins. A finding fails
where its whole interval lies beyond the bar and passes where none of it does; an inconclusive one says how
many items would settle it. What rests on too few scores is not covered. q-values (Benjamini-Hochberg over one
metric and one audit) stand beside the verdict and decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from assay.core import Audit, Finding, Judgement, Limits, Statistic
from assay.engine.coverage import STATISTIC, Answered
from assay.errors import AuditError
from assay.grouping import grouped
from assay.statistics.estimates import benjamini_hochberg
from assay.vocabulary import QUESTION_ALIASES, Verdict

_MOST_ITEMS = 1_000_000  # beyond which "so many items would settle it" helps nobody


def settle(audit: Audit, judgement: Judgement, answered: Iterable[Answered] = ()) -> list[Finding]:
    """The audit's findings with q-values, verdicts and sentences, grouped by metric.

    Without a value there is no finding: scores were absent wherever they would have been compared. `answered`
    says how much each metric scored: what rests on too little is not covered, and such slices are findings.
    """
    coverage = {answer.metric: answer for answer in answered}
    settled: list[Finding] = []
    valued = [finding for finding in judgement.findings if not math.isnan(finding.value)]
    for findings in grouped(valued, lambda finding: finding.metric).values():
        q_values = benjamini_hochberg([finding.p_value for finding in findings])
        for finding, q_value in zip(findings, q_values, strict=True):
            q = None if finding.p_value is None else float(q_value)
            judged = _settled(audit, replace(finding, audit=audit.name, q_value=q))
            settled.append(_covered(judged, coverage.get(finding.metric)))
    for answer in coverage.values():
        gaps = answer.gaps().items()
        settled += [_gap(answer, audit.name, slice_, problem) for slice_, problem in gaps]
    return settled


def _gap(answered: Answered, audit: str, slice_: str, problem: str) -> Finding:
    """The finding that a slice is not covered."""
    coverage = answered.slices[slice_]
    finding = Finding.of(answered.metric, slice_, STATISTIC.name, coverage.share, n=coverage.asked.total())
    return replace(finding, audit=audit, verdict="not covered", sentence=problem)


def _covered(finding: Finding, answered: Answered | None) -> Finding:
    """The finding, without its verdict where that would rest on too few scores."""
    if answered is None or finding.verdict == "not judged":
        return finding
    problem = answered.problem(finding.slice)
    return replace(finding, verdict="not covered", sentence=problem, settles=None) if problem else finding


def _settled(audit: Audit, finding: Finding) -> Finding:
    """One finding with its verdict, and what a reader needs beside that verdict."""
    statistic = declared_statistics(audit, finding)
    if statistic.bad is None or finding.ci is None:
        return finding
    bounds = bounds_of(statistic, bar_of(audit, statistic))
    verdict = verdict_of(finding.ci, bounds)
    if verdict == "pass":
        return replace(finding, verdict=verdict, evidence=())  # a pass needs no examples
    if verdict == "inconclusive":
        return replace(finding, verdict=verdict, settles=items_to_settle(finding, bounds))
    named = replace(finding, verdict=verdict)
    return replace(named, sentence=sentence_of(audit, statistic, named))


def declared_statistics(audit: Audit, finding: Finding) -> Statistic:
    """The declaration of a finding's statistic."""
    for statistic in audit.statistics:
        if statistic.name == finding.statistic:
            return statistic
    raise AuditError(
        f"audit {audit.name} reports {finding.statistic!r} but does not declare it; add "
        f"Statistic({finding.statistic!r}, ...) to its `statistics`"
    )


def bar_of(audit: Audit, statistic: Statistic) -> float:
    """Where the bad side of a statistic begins, by the audit's own options."""
    if isinstance(statistic.bar, str):
        sign = -1.0 if statistic.bar.startswith("-") else 1.0
        return sign * float(getattr(audit, statistic.bar.lstrip("-")))
    return float(statistic.bar or 0.0)


def bounds_of(statistic: Statistic, bar: float) -> Limits:
    """The values that are good: below the bar, above it, or no farther than it from the centre."""
    if statistic.bad == "high":
        return -math.inf, bar
    if statistic.bad == "low":
        return bar, math.inf
    return statistic.centre - abs(bar), statistic.centre + abs(bar)


def verdict_of(interval: Limits, bounds: Limits) -> Verdict:
    """Fail wholly beyond the bounds, pass wholly within, inconclusive where the interval touches both sides.

    >>> [verdict_of(interval, (75.0, 100.0)) for interval in ((40.0, 60.0), (75.0, 90.0), (70.0, 80.0))]
    ['fail', 'pass', 'inconclusive']
    """
    (low, high), (floor, ceiling) = interval, bounds
    if low > ceiling or high < floor:
        return "fail"
    return "pass" if floor <= low and high <= ceiling else "inconclusive"


def items_to_settle(finding: Finding, bounds: Limits) -> int | None:
    """About how many items would settle an inconclusive finding if its value stayed as it is.

    The width of an interval shrinks with the square root of their number; None where too many would be
    needed.
    """
    low, high = finding.ci or (finding.value, finding.value)
    distances = [abs(finding.value - bound) for bound in bounds if low <= bound <= high]
    if not distances or not min(distances):
        return None
    items = math.ceil(finding.n * ((high - low) / 2 / min(distances)) ** 2)
    return items if 0 < items <= _MOST_ITEMS else None


def sentence_of(audit: Audit, statistic: Statistic, finding: Finding) -> str:
    """A failed finding in one sentence: the statistic's own, or a plain one."""
    if statistic.sentence is not None:
        return statistic.sentence(finding)
    unit = f" {statistic.unit}" if statistic.unit else ""
    heading = (audit.title or audit.name.replace("-", " ")).lower()
    name = statistic.name.replace("_", " ")
    return f"{finding.metric} fails {heading} ({finding.slice}): {name} is {finding.value:.3g}{unit}."


def describe(audit: Audit) -> dict[str, Any]:
    """What run.json keeps of an audit, so that report, compare, panel and card need none of its code."""
    return {
        "question": QUESTION_ALIASES.get(audit.question, audit.question),
        "title": audit.title or audit.name.replace("-", " ").capitalize(),
        "options": audit.parameters_text,
        "statistics": [
            {name: getattr(statistic, name) for name in statistic.__slots__ if name != "sentence"}
            | {"bar": None if statistic.bad is None else bar_of(audit, statistic)}
            for statistic in (*audit.statistics, STATISTIC)
        ],
        "advice": audit.advice,
        "subjects": dict(audit.subjects),
        "charts": [{name: getattr(chart, name) for name in chart.__slots__} for chart in audit.charts],
    }
