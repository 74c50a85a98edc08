"""Is metric A really better than B? Agreement of many metrics in, significance, clusters and averages out.

Two metrics are told apart where the interval of their difference, which resamples documents and systems,
excludes 0. Permutation-both, which asks whether two metrics could be exchanged on these systems and
documents, does not suffice: it takes what two equally good metrics make of each system for a difference
between them (4 of 10 such pairs are told apart at the 5% level). It gives the p-value where documents alone
are resampled; else the p-value is the larger of permutation's and the bootstrap's.

In averages over datasets or language pairs every part counts the same. Parts are independent samples, so the
interval of an average follows from theirs. `soft_cluster` are rank groups as the WMT metrics task forms them,
by soft pairwise accuracy and permutation: they speak of the systems and documents of the campaign alone;
`cluster` speaks of others too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.audits.effects import interval_estimate
from assay.audits.human.levels import (
    BY_DOCUMENT,
    COIN_ORDER,
    FEWEST_SYSTEMS,
    KINDS,
    LEVEL,
    ORDER,
    LevelAgreement,
    Study,
    labelled,
)
from assay.audits.human.sentinels import SENTINELS
from assay.core import Estimate, Finding, Floats
from assay.grouping import grouped
from assay.statistics import significance
from assay.statistics.correlation import Coefficient, system_means
from assay.statistics.estimates import smallest_p
from assay.statistics.intervals import Interval, bootstrap_p_value
from assay.statistics.resampled import Draws, average_interval, soft_accuracy_draws
from assay.statistics.significance import metric_clusters, swapped_soft_accuracies
from assay.vocabulary import Verdict

DIFFERENCE = "_difference"


def comparison_findings(study: Study, agreement: LevelAgreement) -> list[Finding]:
    """Differences of all pairs of metrics, and the clusters they form by agreement in order."""
    if len(agreement.metrics) < 2:
        return []
    p_values = _p_values(study, agreement)
    names, statistic = agreement.metrics, agreement.statistic + DIFFERENCE
    findings = []
    for i, j in combinations(range(len(names)), 2):
        estimate = _difference(agreement, i, j, float(p_values[i, j]))
        if np.isfinite(estimate.value):
            findings.append(Finding.of(names[i], agreement.slice, statistic, estimate, versus=names[j]))
    if agreement.statistic != ORDER:
        return findings
    sizes = dict(zip(names, agreement.draws.sizes.tolist(), strict=True))
    values = dict(zip(names, agreement.draws.values.tolist(), strict=True))
    return findings + cluster_findings(agreement.slice, values, sizes, findings)


def cluster_findings(
    slice_: str, values: Mapping[str, float], sizes: Mapping[str, int], differences: Sequence[Finding]
) -> list[Finding]:
    """The cluster of each metric, 1 the best; none where no interval tells whether two metrics differ."""
    names = list(values)
    place = {name: index for index, name in enumerate(names)}
    apart = np.zeros((len(names), len(names)), dtype=bool)
    for finding in differences:
        if finding.versus is not None and finding.ci is not None:
            i, j = place[finding.metric], place[finding.versus]
            apart[i, j] = apart[j, i] = not finding.ci[0] <= 0.0 <= finding.ci[1]
    if all(finding.ci is None for finding in differences):
        return []
    clusters = zip(names, metric_clusters(list(values.values()), apart), strict=True)
    return [Finding.of(name, slice_, "cluster", number, n=sizes[name]) for name, number in clusters if number]


def _difference(agreement: LevelAgreement, i: int, j: int, p_value: float) -> Estimate:
    draws = agreement.draws
    p = p_value if np.isfinite(p_value) else None
    n = int(min(draws.sizes[i], draws.sizes[j]))
    return interval_estimate(draws.values[i] - draws.values[j], n, agreement.difference(i, j), p_value=p)


def _p_values(study: Study, agreement: LevelAgreement) -> Floats:
    """p-values over metrics that vary and rows that all of them have; by bootstrap where there are none."""
    answer = _bootstrapped(agreement.draws)
    varying = np.flatnonzero(np.isfinite(agreement.draws.values))
    if varying.size < 2:
        return answer
    kind = KINDS[agreement.statistic]
    if agreement.slice.startswith("system/"):
        permuted = _between_systems(study, varying, kind)
    elif agreement.slice.endswith(BY_DOCUMENT):
        permuted = _within_documents(study, varying, kind)
    else:
        permuted = _over_all(study, varying, kind)
    if permuted is not None:
        block = np.ix_(varying, varying)
        both = study.audit.over != "documents"
        answer[block] = np.fmax(answer[block], permuted) if both else permuted
    return answer


def _bootstrapped(draws: Draws) -> Floats:
    resampled, n_metrics = draws.draws, len(draws.draws)
    answer = np.ones((n_metrics, n_metrics))
    for i, j in combinations(range(n_metrics), 2):
        apart = resampled[i] - resampled[j]
        p_value = bootstrap_p_value(apart) if np.isfinite(apart).any() else np.nan
        answer[i, j] = answer[j, i] = np.maximum(p_value, smallest_p(draws.clusters))
    return answer


def _over_all(study: Study, varying: np.ndarray, kind: Coefficient) -> Floats | None:
    """Documents are swapped whole, for their texts are not independent. Pairs are left to the bootstrap."""
    if kind != "spearman":
        return None
    scores, human, documents, _ = study.rows
    complete = np.isfinite(scores[varying]).all(axis=0)
    if complete.sum() < 3 or np.ptp(human[complete]) == 0:
        return None
    units = [document for document, whole in zip(documents, complete, strict=True) if whole]
    rows = scores[varying][:, complete], human[complete]
    return significance.permutation_both(*rows, kind="spearman", units=units, **study.audit.drawing)


def _within_documents(study: Study, varying: np.ndarray, kind: Coefficient) -> Floats | None:
    by_document = study.by_document(kind)[varying]
    if not np.isfinite(by_document).all(axis=0).any():
        return None
    return significance.swap_groups(by_document, **study.audit.drawing)


def _between_systems(study: Study, varying: np.ndarray, kind: Coefficient) -> Floats | None:
    tables = study.complete(varying.tolist())
    if tables is None:
        return None
    return significance.permutation_both_systems(*tables, kind, **study.audit.drawing)


AVERAGE = "average"
BASELINES = "the best baseline of each part"
_LEVELS = ("example/{}", "example/{}/by-document", "system/{}")


def average_findings(findings: Sequence[Finding], parts: Sequence[str], criterion: str) -> list[Finding]:
    """The averages over all parts in which any metric has the statistic; none for a metric that lacks one."""
    averages: list[Finding] = []
    for level in _LEVELS:
        slices = [level.format(labelled(part, criterion)) for part in parts]
        listed = [f for f in findings if f.slice in slices and f.statistic != "cluster"]
        slice_ = level.format(labelled(AVERAGE, criterion))
        for statistic in dict.fromkeys(f.statistic for f in listed):
            averages += _averaged([f for f in listed if f.statistic == statistic], slice_)
        averages += _average_clusters([f for f in averages if f.slice == slice_], slice_)
    return averages


def _averaged(findings: Sequence[Finding], slice_: str) -> Iterator[Finding]:
    """The average of one statistic, for each metric (and the one it is compared with) that all parts have."""
    n_parts = len({finding.slice for finding in findings})
    # The best baseline may differ between parts.
    members = grouped(findings, lambda f: (f.metric, f.versus if f.statistic.endswith(DIFFERENCE) else None))
    for (metric, _), of_parts in members.items():
        if len(of_parts) == n_parts:
            baselines = list(dict.fromkeys(finding.versus for finding in of_parts))
            against = baselines[0] if len(baselines) == 1 else BASELINES
            estimate = _average(of_parts)
            yield Finding.of(metric, slice_, findings[0].statistic, estimate, versus=against)


def _average(findings: Sequence[Finding]) -> Estimate:
    values = [finding.value for finding in findings]
    n = sum(finding.n for finding in findings)
    ends = [finding.ci for finding in findings if finding.ci is not None]
    value = sum(values) / len(values)
    if len(ends) < len(values):
        return Estimate(value, n)
    return Estimate(value, n, average_interval(values, [Interval(*end, LEVEL) for end in ends]).pair)


def _average_clusters(averages: Sequence[Finding], slice_: str) -> list[Finding]:
    """The clusters of the averages, by agreement in order."""
    agreement = [f for f in averages if f.statistic == ORDER]
    values, sizes = ({f.metric: getattr(f, name) for f in agreement} for name in ("value", "n"))
    differences = [f for f in averages if f.statistic == ORDER + DIFFERENCE]
    known = [f for f in differences if f.metric in values and f.versus in values]
    return cluster_findings(slice_, values, sizes, known) if known else []


_ALPHA = 0.05
_SWAPS = 500  # swaps of two metrics, at most
_PATTERNS = 200  # signs behind each p-value within a swap


def soft_cluster_findings(studies: Sequence[Study]) -> list[Finding]:
    """The groups of every part of the data and, where there are several, of their average."""
    findings: list[Finding] = []
    swapped: list[Floats] = []
    accuracies: list[Floats] = []
    sizes: list[int] = []
    for study in studies:
        tables = _complete_tables(study)
        if tables is not None:
            scores, human = tables
            drawing, sizes = study.audit.drawing, [*sizes, len(human)]
            swaps = min(_SWAPS, drawing["resamples"])
            options = {"resamples": swaps, "patterns": _PATTERNS, "seed": drawing["seed"]}
            swapped.append(swapped_soft_accuracies(scores, human, **options))
            values = [soft_accuracy_draws(table, human, **drawing).values[0] for table in scores]
            accuracies.append(np.array(values))
            findings += _soft_clusters(study.label, study.metrics, accuracies[-1], swapped[-1], len(human))
    if len(swapped) > 1:
        # As in the task, language pairs are swapped each by itself and their differences averaged.
        label, metrics = labelled(AVERAGE, studies[0].criterion), studies[0].metrics
        means = np.mean(accuracies, axis=0), np.mean(swapped, axis=0)
        findings += _soft_clusters(label, metrics, *means, sum(sizes))
    return findings


def _complete_tables(study: Study) -> tuple[Floats, Floats] | None:
    """Scores and ratings of the documents that every system has; None where they cannot be compared."""
    if len(study.metrics) < 2 or len(study.human_table) < FEWEST_SYSTEMS:
        return None
    tables = study.complete()
    if tables is None or any(np.ptp(system_means(table)) == 0 for table in (tables[1], *tables[0])):
        return None
    return tables


def _soft_clusters(
    label: str, metrics: Sequence[str], accuracies: Floats, swapped: Floats, n: int
) -> list[Finding]:
    """Clusters from one-sided p-values that the metric of higher accuracy is better."""
    apart = np.zeros((len(metrics), len(metrics)), dtype=bool)
    for (i, j), deltas in zip(combinations(range(len(metrics)), 2), swapped.T, strict=True):
        side = 1.0 if deltas[0] >= 0 else -1.0
        # The +1 counts the observed arrangement (Phipson & Smyth, 2010); the task leaves it out.
        hits = 1 + int((side * deltas[1:] >= abs(deltas[0])).sum())
        apart[i, j] = apart[j, i] = hits / deltas.size <= _ALPHA
    clusters = zip(metrics, metric_clusters(accuracies, apart), strict=True)
    return [Finding.of(metric, f"system/{label}", "soft_cluster", number, n=n) for metric, number in clusters]


class AgreementRow(NamedTuple):
    """One metric's agreement with people in one slice, and the metrics it cannot be told apart from."""

    finding: Finding
    tied: tuple[str, ...]
    verdict: Verdict


def agreement_tables(findings: Sequence[Finding]) -> dict[str, list[AgreementRow]]:
    """The metrics and sentinels of every slice over all texts or systems; best first."""
    tables = {}
    for slice_ in dict.fromkeys(f.slice for f in findings if f.statistic == ORDER):
        if slice_.count("/") == 1:
            here = [f for f in findings if f.slice == slice_]
            rows = [_row(finding, here) for finding in here if finding.statistic == ORDER]
            tables[slice_] = sorted(rows, key=lambda row: -row.finding.value)
    return tables


def agreement_notes(findings: Sequence[Finding]) -> list[str]:
    """The best metric of every table in one sentence."""
    notes = []
    for slice_, rows in agreement_tables(findings).items():
        metrics = [row for row in rows if row.finding.metric not in SENTINELS]
        if metrics:
            notes.append(f"{slice_}: {_say_best(metrics[0])}")
    return notes


def _row(finding: Finding, findings: Sequence[Finding]) -> AgreementRow:
    tied = [
        other
        for f in findings
        if f.statistic == ORDER + DIFFERENCE and f.ci is not None and f.ci[0] <= 0.0 <= f.ci[1]
        for metric, other in ((f.metric, f.versus), (f.versus, f.metric))
        if metric == finding.metric and other is not None
    ]
    judged = (f for f in findings if f.statistic == "over_sentinel" and f.metric == finding.metric)
    over = next(judged, None)
    return AgreementRow(finding, tuple(tied), "not judged" if over is None else over.verdict)


def _say_best(row: AgreementRow) -> str:
    best = row.finding
    ends = "" if best.ci is None else f" [{best.ci[0]:.0f}, {best.ci[1]:.0f}]"
    figure = f"{best.metric} (orders {best.value:.1f}{ends} of 100 pairs as people do, n = {best.n})"
    if best.ci is None or best.ci[0] <= COIN_ORDER:
        return f"no metric surely agrees with people; closest is {figure}"
    return f"best is {figure}" + (f", not told apart from {', '.join(row.tied)}" if row.tied else "")
