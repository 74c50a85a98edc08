"""What a metric's agreement is good for: the best systems, small differences, and few human labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from assay.audits.human.levels import FEWEST_SYSTEMS, Agreement, Study, interval
from assay.audits.slices import interval_estimate
from assay.core import Finding, Floats
from assay.statistics.correlation import system_means, weighted_system_means
from assay.statistics.intervals import draw_counts, ratio
from assay.statistics.ratings import prediction_powered_mean
from assay.statistics.resampled import system_draws

RELIABLE = 0.9  # the share of pairs people must agree with for a difference to be called real
_BINS = 5
_FEWEST_PAIRS = 10
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
        draws = system_draws(*tables, audit.headline, over="documents", **audit.drawing)
        slice_ = f"system/{study.label}/top-{k}"
        agreement = Agreement(slice_, audit.headline, study.metrics, draws, audit.rule, sampled=False)
        for index, (metric, value) in enumerate(zip(study.metrics, draws.values, strict=True)):
            if np.isfinite(value):
                estimate = interval_estimate(value, k, agreement.interval(index))
                findings.append(Finding.of(metric, slice_, audit.headline, estimate, judged=False))
    return findings


def curve_findings(study: Study) -> list[Finding]:
    """Share of system pairs that people rank the same way, binned by metric difference.

    Bins hold equal numbers of pairs. `reliable_difference` is the smallest difference from which on people
    agree with at least nine pairs in ten.
    """
    human_gaps = _gaps(system_means(study.human_table))
    findings = []
    for metric, table in zip(study.metrics, study.tables, strict=True):
        gaps = _gaps(system_means(table))
        used = np.isfinite(gaps + human_gaps) & (gaps != 0) & (human_gaps != 0)
        if used.sum() >= _FEWEST_PAIRS:
            same = np.sign(gaps[used]) == np.sign(human_gaps[used])
            findings += _curve(study, metric, gaps, same, used)
            findings += _reliable(study, metric, np.abs(gaps[used]), same)
    return findings


def _curve(study: Study, metric: str, gaps: Floats, same: np.ndarray, used: np.ndarray) -> list[Finding]:
    sizes = np.abs(gaps[used])
    edges = np.unique(np.quantile(sizes, np.linspace(0.0, 1.0, _BINS + 1)))
    edges[-1] = np.nextafter(edges[-1], np.inf)  # the last bin holds its upper bound
    weight, right = _agreeing(study, gaps, used)
    findings = []
    for low, high in pairwise(edges.tolist()):
        inside = (sizes >= low) & (sizes < high)
        n = int(inside.sum())
        if not n:
            continue
        shares = ratio((weight * right)[:, inside].sum(axis=1), weight[:, inside].sum(axis=1))
        estimate = interval_estimate(same[inside].mean(), n, interval(shares, n, study.audit.rule))
        slice_ = f"system/{study.label}/difference-{low:.3g}-{high:.3g}"
        findings.append(Finding.of(metric, slice_, "people_agree", estimate))
    return findings


def _reliable(study: Study, metric: str, sizes: Floats, right: np.ndarray) -> list[Finding]:
    order = np.argsort(-sizes, kind="stable")
    counts = np.arange(1, order.size + 1)
    enough = np.flatnonzero((np.cumsum(right[order]) / counts >= RELIABLE) & (counts >= _FEWEST_PAIRS))
    if not enough.size:
        return []
    value, slice_ = float(sizes[order][enough[-1]]), f"system/{study.label}"
    return [Finding.of(metric, slice_, "reliable_difference", value, n=int(enough[-1]) + 1)]


def _gaps(values: Floats) -> Floats:
    i, j = np.triu_indices(values.size, 1)
    return values[i] - values[j]


def _agreeing(study: Study, gaps: Floats, used: np.ndarray) -> tuple[Floats, Floats]:
    """Resample documents and systems: the weight of each pair, and whether people then agree with it."""
    human, resamples = study.human_table, study.audit.resamples
    rng = np.random.default_rng(study.audit.seed)
    systems = draw_counts(len(human), resamples, rng)
    documents = draw_counts(human.shape[1], resamples, rng)
    means = weighted_system_means(human, documents)
    i, j = (side[used] for side in np.triu_indices(len(human), 1))
    moved = means[:, i] - means[:, j]
    weight = systems[:, i] * systems[:, j] * (np.isfinite(moved) & (moved != 0))
    right: Floats = (np.sign(moved) == np.sign(gaps[used])).astype(np.float64)
    return weight, right


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
