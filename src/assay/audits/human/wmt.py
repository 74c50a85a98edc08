"""Rank groups as the WMT metrics task forms them: by soft pairwise accuracy and permutation.

They speak of the systems and documents of the campaign alone; `cluster` speaks of others too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from assay.audits.human.average import AVERAGE
from assay.audits.human.levels import FEWEST_SYSTEMS, Study, labelled
from assay.core import Finding, Floats, Statistic
from assay.statistics.correlation import system_means
from assay.statistics.resampled import soft_accuracy_draws
from assay.statistics.significance import metric_clusters, swapped_soft_accuracies

_ALPHA = 0.05
_SWAPS = 500  # swaps of two metrics, at most
_PATTERNS = 200  # signs behind each p-value within a swap

STATISTICS = (
    Statistic(
        "soft_cluster",
        "Rank group by soft pairwise accuracy as the WMT metrics task forms it, for these systems and texts "
        "alone: 1 is the best.",
        "rank",
    ),
)


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
            findings += _clusters(study.label, study.metrics, accuracies[-1], swapped[-1], len(human))
    if len(swapped) > 1:
        # As in the task, language pairs are swapped each by itself and their differences averaged.
        label, metrics = labelled(AVERAGE, studies[0].criterion), studies[0].metrics
        means = np.mean(accuracies, axis=0), np.mean(swapped, axis=0)
        findings += _clusters(label, metrics, *means, sum(sizes))
    return findings


def _complete_tables(study: Study) -> tuple[Floats, Floats] | None:
    """Scores and ratings of the documents that every system has; None where they are too few to compare."""
    human, scores = study.human_table, study.tables
    if len(study.metrics) < 2 or len(human) < FEWEST_SYSTEMS:
        return None
    full = np.isfinite(human).all(axis=0) & np.isfinite(scores).all(axis=(0, 1))
    human, scores = human[:, full], scores[:, :, full]
    if full.sum() < 2 or any(np.ptp(system_means(table)) == 0 for table in (human, *scores)):
        return None
    return scores, human


def _clusters(
    label: str, metrics: Sequence[str], accuracies: Floats, swapped: Floats, n: int
) -> list[Finding]:
    """Clusters from one-sided p-values that the metric of higher accuracy is better."""
    apart = np.zeros((len(metrics), len(metrics)), dtype=bool)
    for (i, j), deltas in zip(combinations(range(len(metrics)), 2), swapped.T, strict=True):
        side = 1.0 if deltas[0] >= 0 else -1.0
        # The +1 counts the observed arrangement (Phipson & Smyth, 2010); the task leaves it out.
        hits = 1 + int((side * deltas[1:] >= abs(deltas[0])).sum())
        apart[i, j] = apart[j, i] = hits / deltas.size <= _ALPHA
    clusters = metric_clusters(accuracies, apart)
    return [
        Finding.of(metric, f"system/{label}", "soft_cluster", cluster, n=n)
        for metric, cluster in zip(metrics, clusters, strict=True)
    ]
