"""Is metric A really better than B? Agreement of many metrics in, a significance matrix and clusters out.

The p-value and the interval of a difference answer two questions. Permutation-both asks whether the metrics
could be exchanged on these systems and documents; the interval resamples both, and so speaks of other systems
and documents too. With few systems the first may be sure where the second is not.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from assay.audits.human.levels import ALPHA, Agreement, Study, interval
from assay.audits.slices import interval_estimate
from assay.core import Estimate, Finding, Floats, Statistic
from assay.statistics import significance
from assay.statistics.correlation import pearson
from assay.statistics.intervals import bootstrap_p_value

_DIFFERENCE = "This metric's {} with mean ratings minus the other metric's; p by swapping the two metrics."
STATISTICS = (
    *(
        Statistic(f"{kind}_difference", _DIFFERENCE.format(name), "correlation")
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
    """Differences of all pairs of metrics with permutation-both p-values, then the clusters they form."""
    if len(agreement.metrics) < 2:
        return []
    p_values = _p_values(study, agreement)
    findings = []
    for i, j in combinations(range(len(agreement.metrics)), 2):
        estimate = _difference(study, agreement, i, j, float(p_values[i, j]))
        if np.isfinite(estimate.value):
            names, statistic = agreement.metrics, f"{agreement.statistic}_difference"
            findings.append(Finding.of(names[i], agreement.slice, statistic, estimate, versus=names[j]))
    clusters = significance.metric_clusters(agreement.draws.values, p_values, alpha=ALPHA)
    return findings + [
        Finding.of(metric, agreement.slice, "cluster", cluster, n=int(size))
        for metric, cluster, size in zip(agreement.metrics, clusters, agreement.draws.sizes, strict=True)
        if cluster
    ]


def _difference(study: Study, agreement: Agreement, i: int, j: int, p_value: float) -> Estimate:
    draws = agreement.draws
    value = float(draws.values[i] - draws.values[j])
    ci = interval(draws.draws[i] - draws.draws[j], draws.clusters, study.audit.rule)
    p = p_value if np.isfinite(p_value) else None
    n = int(min(draws.sizes[i], draws.sizes[j]))
    return interval_estimate(value, n, ci, p_value=p, with_mde=p is None or p >= ALPHA)


def _p_values(study: Study, agreement: Agreement) -> Floats:
    """p-values by permutation-both, over metrics that vary and rows all of them have; else by bootstrap."""
    answer = _bootstrapped(agreement.draws.draws)
    varying = np.flatnonzero(np.isfinite(agreement.draws.values))
    if varying.size < 2:
        return answer
    if agreement.slice.startswith("system/"):
        permuted = _between_systems(study, varying)
    elif agreement.slice.endswith("/by-document"):
        permuted = _within_documents(study, varying)
    else:
        permuted = _over_all(study, varying)
    if permuted is not None:
        answer[np.ix_(varying, varying)] = permuted
    return answer


def _bootstrapped(draws: Floats) -> Floats:
    answer = np.ones((len(draws), len(draws)))
    for i, j in combinations(range(len(draws)), 2):
        apart = draws[i] - draws[j]
        answer[i, j] = answer[j, i] = bootstrap_p_value(apart) if np.isfinite(apart).any() else np.nan
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
    findings = []
    for i, j in combinations(range(len(study.metrics)), 2):
        rows = np.isfinite(study.scores[[i, j]]).all(axis=0) & np.isfinite(study.human)
        first, second, human = study.scores[i, rows], study.scores[j, rows], study.human[rows]
        if human.size < 4:
            continue
        r = pearson(first, human), pearson(second, human), pearson(first, second)
        if r[0] is None or r[1] is None or r[2] is None or abs(r[2]) > 1 - 1e-12:
            continue
        test = significance.williams_test(r[0], r[1], r[2], human.size)
        estimate = Estimate(test.t, human.size, p_value=test.p_value)
        findings.append(
            Finding.of(
                study.metrics[i],
                f"example/{study.criterion}",
                "williams_t",
                estimate,
                versus=study.metrics[j],
            )
        )
    return findings
