"""What a metric's agreement is good for: the best systems, and few human labels."""

from __future__ import annotations

import numpy as np

from assay.audits.effects import interval_estimate
from assay.audits.human.levels import FEWEST_SYSTEMS, KINDS, LevelAgreement, Study
from assay.core import Finding, Floats
from assay.statistics.correlation import system_means
from assay.statistics.ratings import prediction_powered_mean
from assay.statistics.resampled import system_draws

_FEWEST_LABELS = 10


def top_findings(study: Study) -> list[Finding]:
    """Agreement over the k systems that people like best (assoc figure 1); documents are resampled."""
    if not study.metrics:
        return []
    audit, human, means = study.audit, study.human_table, system_means(study.human_table)
    ranked = np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable")
    findings = []
    for k in range(int(np.isfinite(means).sum()) - 1, FEWEST_SYSTEMS - 1, -1):
        best = ranked[:k]
        tables = study.tables[:, best], human[best]
        draws = system_draws(*tables, KINDS[audit.correlation], over="documents", **audit.drawing)
        slice_ = f"system/{study.label}/top-{k}"
        agreement = LevelAgreement(slice_, audit.correlation, study.metrics, draws, audit.rule, sampled=False)
        for index, (metric, value) in enumerate(zip(study.metrics, draws.values, strict=True)):
            if np.isfinite(value):
                estimate = interval_estimate(value, k, agreement.interval(index))
                findings.append(Finding.of(metric, slice_, audit.correlation, estimate))
    return findings


def label_findings(study: Study) -> list[Finding]:
    """Prediction-powered means: few ratings correct a metric's mean over many texts (Angelopoulos et al.).

    With texts that nobody rated, people's mean is estimated for all texts and for each system. Where all are
    rated, a fifth of the documents is taken as rated; `label_gain` is how many labels one is then worth.
    """
    slice_, systems = f"mean/{study.label}", np.array(study.items.systems)
    parts = {slice_: np.ones(len(study.items), dtype=bool)}
    parts |= {f"{slice_}/{name}": systems == name for name in study.items.system_names}
    every_fifth = list(dict.fromkeys(study.items.documents))[::5]
    fifth = np.isin(study.items.documents, every_fifth)
    judged = np.isfinite(study.human)
    findings: list[Finding] = []
    for metric, scores in zip(study.metrics, study.scores, strict=True):
        rated, bare = np.isfinite(scores) & judged, np.isfinite(scores) & ~judged
        if bare.any():
            for name, part in parts.items():
                findings += _mean(study, metric, name, scores, rated & part, bare & part)
        elif rated.sum() >= 5 * _FEWEST_LABELS:
            findings += _mean(study, metric, slice_, scores, rated & fifth, rated & ~fifth)[1:]
    return findings


def _mean(
    study: Study, metric: str, slice_: str, scores: Floats, labelled: np.ndarray, rest: np.ndarray
) -> list[Finding]:
    """People's mean over all these texts, and how much a label is worth; nothing where labels are few."""
    n, documents = int(labelled.sum()), np.array(study.items.documents)
    if n < _FEWEST_LABELS or rest.sum() < 2:
        return []
    powered = prediction_powered_mean(
        study.human[labelled], scores[labelled], scores[rest],
        clusters=documents[labelled], unlabelled_clusters=documents[rest],
    )  # fmt: skip
    if powered is None:
        return []
    return [
        Finding.of(metric, slice_, "ppi_mean", interval_estimate(powered.value, n, powered.interval)),
        Finding.of(metric, slice_, "label_gain", powered.effective_labels / n, n=n),
    ]
