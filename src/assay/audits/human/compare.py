"""Is metric A really better than B? Agreement of many metrics in, a significance matrix and clusters out.

Two metrics are told apart where the interval of their difference, which resamples documents and systems,
excludes 0. Permutation-both, which asks whether two metrics could be exchanged on these systems and
documents, does not suffice: it takes what two equally good metrics make of each system for a difference
between them (4 of 10 such pairs are told apart at the 5% level). It gives the p-value where documents alone
are resampled; else the p-value is the larger of permutation's and the bootstrap's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from assay.audits.human.levels import BY_DOCUMENT, Agreement, Study
from assay.audits.slices import interval_estimate
from assay.core import Estimate, Finding, Floats, Statistic
from assay.statistics import significance
from assay.statistics.correlation import correlate
from assay.statistics.estimates import mde_interval, smallest_p
from assay.statistics.intervals import bootstrap_p_value
from assay.statistics.resampled import Draws

DIFFERENCE = "_difference"
_DIFFERENCE = (
    "This metric's {} with mean ratings minus the other metric's; where the interval excludes 0 the two are "
    "told apart. p: that the two metrics could be exchanged."
)
STATISTICS = (
    *(
        Statistic(kind + DIFFERENCE, _DIFFERENCE.format(name), "correlation")
        for kind, name in (("spearman", "rank correlation"), ("kendall_b", "tau-b"), ("kendall_c", "tau-c"))
    ),
    Statistic("cluster", "Rank group: metrics of one group cannot be told apart, and 1 is the best.", "rank"),
    Statistic(
        "williams_t",
        "Williams's t of the difference between two metrics' Pearson correlations with ratings.",
        "t",
    ),
)


def comparison_findings(study: Study, agreement: Agreement) -> list[Finding]:
    """Differences of all pairs of metrics, then the clusters they form."""
    if len(agreement.metrics) < 2:
        return []
    p_values = _p_values(study, agreement)
    names, statistic = agreement.metrics, agreement.statistic + DIFFERENCE
    findings = []
    for i, j in combinations(range(len(names)), 2):
        estimate = _difference(agreement, i, j, float(p_values[i, j]))
        if np.isfinite(estimate.value):
            findings.append(Finding.of(names[i], agreement.slice, statistic, estimate, versus=names[j]))
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
    clusters = significance.metric_clusters(list(values.values()), apart)
    return [
        Finding.of(name, slice_, "cluster", cluster, n=sizes[name])
        for name, cluster in zip(names, clusters, strict=True)
        if cluster and any(f.ci is not None for f in differences)
    ]


def _difference(agreement: Agreement, i: int, j: int, p_value: float) -> Estimate:
    draws = agreement.draws
    ci = agreement.difference(i, j)
    p = p_value if np.isfinite(p_value) else None
    n = int(min(draws.sizes[i], draws.sizes[j]))
    mde = mde_interval(ci, n_clusters=draws.clusters) if ci is not None and 0.0 in ci else None
    estimate = interval_estimate(draws.values[i] - draws.values[j], n, ci, p_value=p)
    return replace(estimate, mde=mde)


def _p_values(study: Study, agreement: Agreement) -> Floats:
    """p-values over metrics that vary and rows that all of them have; by bootstrap where there are none."""
    answer = _bootstrapped(agreement.draws)
    varying = np.flatnonzero(np.isfinite(agreement.draws.values))
    if varying.size < 2:
        return answer
    if agreement.slice.startswith("system/"):
        permuted = _between_systems(study, varying)
    elif agreement.slice.endswith(BY_DOCUMENT):
        permuted = _within_documents(study, varying)
    else:
        permuted = _over_all(study, varying)
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


def _over_all(study: Study, varying: np.ndarray) -> Floats | None:
    """Documents are swapped whole, for their texts are not independent. Kendall is left to the bootstrap."""
    if study.audit.headline != "spearman":
        return None
    scores, human, documents, _ = study.rows
    complete = np.isfinite(scores[varying]).all(axis=0)
    if complete.sum() < 3 or np.ptp(human[complete]) == 0:
        return None
    units = [document for document, whole in zip(documents, complete, strict=True) if whole]
    rows = scores[varying][:, complete], human[complete]
    return significance.permutation_both(*rows, kind="spearman", units=units, **study.audit.drawing).p_values


def _within_documents(study: Study, varying: np.ndarray) -> Floats | None:
    by_document = study.by_document(study.audit.headline)[varying]
    if not np.isfinite(by_document).all(axis=0).any():
        return None
    return significance.swap_groups(by_document, **study.audit.drawing).p_values


def _between_systems(study: Study, varying: np.ndarray) -> Floats | None:
    human, scores = study.human_table, study.tables[varying]
    complete = np.isfinite(human).all(axis=0) & np.isfinite(scores).all(axis=(0, 1))
    if complete.sum() < 2:
        return None
    tables, audit = (scores[:, :, complete], human[:, complete]), study.audit
    return significance.permutation_both_systems(*tables, audit.headline, **audit.drawing).p_values


def williams_findings(study: Study) -> list[Finding]:
    """Williams's test of two Pearson correlations: valid only where every row is a document of its own."""
    if study.items.grouped or study.audit.each_judgement:
        return []
    findings, names = [], study.metrics
    for i, j in combinations(range(len(names)), 2):
        rows = np.isfinite(study.scores[[i, j]]).all(axis=0) & np.isfinite(study.human)
        first, second, human = study.scores[i, rows], study.scores[j, rows], study.human[rows]
        if human.size < 4:
            continue
        sides = (first, human), (second, human), (first, second)
        r, s, between = (correlate(x, y, "pearson") for x, y in sides)
        if r is not None and s is not None and between is not None and abs(between) <= 1 - 1e-12:
            t, p_value = significance.williams_test(r, s, between, human.size)
            estimate, slice_ = Estimate(t, human.size, p_value=p_value), f"example/{study.label}"
            findings.append(Finding.of(names[i], slice_, "williams_t", estimate, versus=names[j]))
    return findings
