"""Agreement in several datasets or language pairs in, its average over them out.

Every part counts the same. Parts are independent samples, so the interval of an average follows from theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.audits.human.compare import DIFFERENCE, cluster_findings
from assay.audits.human.levels import LEVEL, labelled
from assay.core import Estimate, Finding
from assay.statistics.agreement import average_interval
from assay.statistics.intervals import Interval

AVERAGE = "average"
BASELINES = "the best baseline of each part"
_NOT_AVERAGED = ("cluster", "williams_t", "reliable_difference")
_LEVELS = ("example/{}", "example/{}/by-document", "system/{}")


def average_findings(findings: Sequence[Finding], parts: Sequence[str], criterion: str) -> list[Finding]:
    """The averages over all parts in which any metric has the statistic; none for a metric that lacks one."""
    averages: list[Finding] = []
    for level in _LEVELS:
        slices = [level.format(labelled(part, criterion)) for part in parts]
        listed = [f for f in findings if f.slice in slices and f.statistic not in _NOT_AVERAGED]
        slice_ = level.format(labelled(AVERAGE, criterion))
        for statistic in dict.fromkeys(f.statistic for f in listed):
            averages += _averaged([f for f in listed if f.statistic == statistic], slice_)
        averages += _clusters([f for f in averages if f.slice == slice_], slice_)
    return averages


def _averaged(findings: Sequence[Finding], slice_: str) -> Iterator[Finding]:
    """The average of one statistic, for each metric (and the one it is compared with) that all parts have."""
    n_parts = len({finding.slice for finding in findings})
    members: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in findings:
        # The best baseline may differ between parts.
        versus = finding.versus if finding.statistic.endswith(DIFFERENCE) else None
        members.setdefault((finding.metric, versus), []).append(finding)
    for (metric, _), of_parts in members.items():
        if len(of_parts) == n_parts:
            judged = all(finding.judged for finding in of_parts)
            baselines = list(dict.fromkeys(finding.versus for finding in of_parts))
            against = baselines[0] if len(baselines) == 1 else BASELINES
            estimate = _average(of_parts)
            yield Finding.of(metric, slice_, findings[0].statistic, estimate, versus=against, judged=judged)


def _average(findings: Sequence[Finding]) -> Estimate:
    values = [finding.value for finding in findings]
    n = sum(finding.n for finding in findings)
    ends = [finding.ci for finding in findings if finding.ci is not None]
    value = sum(values) / len(values)
    if len(ends) < len(values):
        return Estimate(value, n)
    return Estimate(value, n, average_interval(values, [Interval(*end, LEVEL) for end in ends]).pair)


def _clusters(averages: Sequence[Finding], slice_: str) -> list[Finding]:
    differences = [f for f in averages if f.statistic.endswith(DIFFERENCE)]
    if not differences:
        return []
    statistic = differences[0].statistic.removesuffix(DIFFERENCE)
    agreement = [f for f in averages if f.statistic == statistic]
    values, sizes = ({f.metric: getattr(f, name) for f in agreement} for name in ("value", "n"))
    known = [f for f in differences if f.metric in values and f.versus in values]
    return cluster_findings(slice_, values, sizes, known)
