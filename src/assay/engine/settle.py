"""Findings to verdicts: q-values, verdicts and sentences of every audit, by one rule.

A statistic with a bad side fails where its whole interval lies beyond the audit's margin and passes where it
lies within; it is *insensitive* where the metric does not tell clean from worthless texts on these items.
q-values (Benjamini-Hochberg over one metric and one audit) stand beside the verdict and decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.core import Audit, Finding, Interval, Judgement, Statistic
from assay.errors import AuditError
from assay.statistics.estimates import benjamini_hochberg
from assay.vocabulary import QUESTION_ALIASES, Verdict


def settle(audit: Audit, judgement: Judgement, *, held_back: Sequence[str] = ()) -> list[Finding]:
    """The audit's findings with q-values, verdicts and sentences, grouped by metric.

    Metrics in `held_back` get no verdict: a set metric on too few texts, for example.
    """
    settled: list[Finding] = []
    for metric in dict.fromkeys(finding.metric for finding in judgement.findings):
        findings = [finding for finding in judgement.findings if finding.metric == metric]
        q_values = benjamini_hochberg([finding.p_value for finding in findings])
        for finding, q_value in zip(findings, q_values, strict=True):
            statistic = declared(audit, finding)
            withheld = metric in held_back or not finding.judged
            verdict: Verdict = "not judged" if withheld else verdict_of(audit, statistic, finding)
            q = None if finding.p_value is None else float(q_value)
            evidence = () if verdict == "pass" else finding.evidence  # a pass needs no examples
            named = replace(finding, audit=audit.name, q_value=q, verdict=verdict, evidence=evidence)
            sentence = sentence_of(audit, statistic, named) if verdict == "fail" else ""
            settled.append(replace(named, sentence=sentence))
    return settled


def declared(audit: Audit, finding: Finding) -> Statistic:
    """The declaration that a finding's statistic and slice answer to."""
    parts = finding.slice.split("/")
    named = [statistic for statistic in audit.statistics if statistic.name == finding.statistic]
    for statistic in sorted(named, key=lambda statistic: not statistic.within):
        if not statistic.within or statistic.within in parts:
            return statistic
    raise AuditError(
        f"audit {audit.name} reports {finding.statistic!r} but does not declare it; add "
        f"Statistic({finding.statistic!r}, ...) to its `statistics`"
    )


def verdict_of(audit: Audit, statistic: Statistic, finding: Finding) -> Verdict:
    """The verdict on one finding, by its interval or (under `--rule paper`) by the paper's criterion."""
    estimate = finding.estimate
    if statistic.bad is None or estimate is None:
        return "not judged"
    if getattr(audit, "rule", "careful") == "paper":
        return "not judged" if estimate.paper is None else "pass" if estimate.paper else "fail"
    interval = estimate.decisive or estimate.ci
    if not estimate.sensitive:
        return "insensitive"
    if interval is None:
        return "not judged"
    return by_interval(interval, statistic, margin_of(audit, statistic))


def by_interval(interval: Interval, statistic: Statistic, margin: float) -> Verdict:
    """Fail beyond the margin, pass within it, inconclusive where the interval touches both sides.

    >>> statistic = Statistic("gain", "what a worse text gains", bad="high")
    >>> [by_interval(interval, statistic, 0.1) for interval in ((0.2, 0.9), (-0.5, 0.05), (0.0, 0.9))]
    ['fail', 'pass', 'inconclusive']
    """
    low, high = interval
    floor, ceiling = float("-inf"), float("inf")
    if statistic.bad == "high":
        ceiling = margin
    elif statistic.bad == "low":
        floor = margin
    else:
        floor, ceiling = statistic.centre - abs(margin), statistic.centre + abs(margin)
    if low > ceiling or high < floor:
        return "fail"
    return "pass" if floor <= low and high <= ceiling else "inconclusive"


def margin_of(audit: Audit, statistic: Statistic) -> float:
    """The smallest difference that matters, from the audit's own options."""
    if isinstance(statistic.margin, str):
        sign = -1.0 if statistic.margin.startswith("-") else 1.0
        return sign * float(getattr(audit, statistic.margin.lstrip("-")))
    return float(statistic.margin or 0.0)


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
            | {"margin": None if statistic.bad is None else margin_of(audit, statistic)}
            for statistic in audit.statistics
        ],
        "advice": audit.advice,
        "charts": [{name: getattr(chart, name) for name in chart.__slots__} for chart in audit.charts],
    }
