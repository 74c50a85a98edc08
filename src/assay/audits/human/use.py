"""What a metric's agreement is good for: the best systems, small differences, and few human labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from assay.audits.human.items import Items
from assay.audits.human.levels import AUDIT, FEWEST_SYSTEMS, Board, Choices, interval
from assay.core import Finding, Floats
from assay.statistics.correlation import system_means
from assay.statistics.intervals import draw_counts
from assay.statistics.pairwise import agreement_curve
from assay.statistics.ppi import prediction_powered_mean
from assay.statistics.resampled import system_draws

RELIABLE = 0.9  # the share of pairs people must agree with for a difference to be called real
_BINS = 5
_FEWEST_PAIRS = 10
_FEWEST_LABELS = 10


def top_findings(items: Items, criterion: str, board: Board, choices: Choices) -> list[Finding]:
    """Agreement over the k systems that people like best (assoc figure 1); documents are resampled."""
    human = items.table(items.human(criterion))
    means = system_means(human)
    ranked = np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable")
    present = int(np.isfinite(means).sum())
    if not board.metrics:
        return []
    cube = np.stack([items.table(row) for row in board.scores])
    found = []
    for k in range(present - 1, FEWEST_SYSTEMS - 1, -1):
        best = ranked[:k]
        draws = system_draws(
            cube[:, best], human[best], choices.headline,
            over="documents", resamples=choices.resamples, seed=choices.seed,
        )  # fmt: skip
        for index, metric in enumerate(board.metrics):
            value = float(draws.values[index])
            if np.isfinite(value):
                ci = interval(draws.draws[index], draws.clusters, choices)
                slice_ = f"system/{criterion}/top-{k}"
                found.append(
                    Finding(metric, AUDIT, slice_, choices.headline, value, k, ci=ci.pair if ci else None)
                )
    return found


def curve_findings(items: Items, criterion: str, board: Board, choices: Choices) -> list[Finding]:
    """Of pairs of systems a metric sets apart by so much, how many people order the same way.

    Bins hold equal numbers of pairs. `reliable_difference` is the smallest difference from which on people
    agree with at least nine pairs in ten.
    """
    human = items.table(items.human(criterion))
    found = []
    for metric, row in zip(board.metrics, board.scores, strict=True):
        scores = items.table(row)
        gaps, theirs = _gaps(system_means(scores)), _gaps(system_means(human))
        used = np.isfinite(gaps + theirs) & (gaps != 0) & (theirs != 0)
        if used.sum() >= _FEWEST_PAIRS:
            found += _curve(
                metric, criterion, gaps[used], theirs[used], _agreeing(human, gaps, used, choices), choices
            )
    return found


def _curve(
    metric: str, criterion: str, gaps: Floats, theirs: Floats, draws: tuple[Floats, Floats], choices: Choices
) -> list[Finding]:
    sizes = np.abs(gaps)
    edges = np.unique(np.quantile(sizes, np.linspace(0.0, 1.0, _BINS + 1)))
    edges[-1] = np.nextafter(edges[-1], np.inf)  # the last bin holds its upper bound
    weight, right = draws
    found = []
    for point, (low, high) in zip(
        agreement_curve(gaps, theirs, edges=edges.tolist()), pairwise(edges), strict=True
    ):
        inside = (sizes >= low) & (sizes < high)
        total = weight[:, inside].sum(axis=1)
        shares = np.where(total > 0, (weight * right)[:, inside].sum(axis=1) / np.maximum(total, 1.0), np.nan)
        ci = interval(shares, int(inside.sum()), choices)
        slice_ = f"system/{criterion}/difference-{point.low:.3g}-{point.high:.3g}"
        found.append(
            Finding(
                metric, AUDIT, slice_, "people_agree", point.share, point.n_pairs, ci=ci.pair if ci else None
            )
        )
    return [*found, *_reliable(metric, criterion, sizes, np.sign(gaps) == np.sign(theirs))]


def _reliable(metric: str, criterion: str, sizes: Floats, right: np.ndarray) -> list[Finding]:
    order = np.argsort(-sizes, kind="stable")
    shares = np.cumsum(right[order]) / np.arange(1, order.size + 1)
    enough = np.flatnonzero((shares >= RELIABLE) & (np.arange(1, order.size + 1) >= _FEWEST_PAIRS))
    if not enough.size:
        return []
    value = float(sizes[order][enough[-1]])
    return [Finding(metric, AUDIT, f"system/{criterion}", "reliable_difference", value, int(enough[-1]) + 1)]


def _gaps(values: Floats) -> Floats:
    i, j = np.triu_indices(values.size, 1)
    gaps: Floats = values[i] - values[j]
    return gaps


def _agreeing(human: Floats, gaps: Floats, used: np.ndarray, choices: Choices) -> tuple[Floats, Floats]:
    """Resample documents and systems: the weight of each pair, and whether people then agree with it."""
    rng = np.random.default_rng(choices.seed)
    systems = draw_counts(len(human), choices.resamples, rng)
    documents = draw_counts(human.shape[1], choices.resamples, rng)
    present = np.isfinite(human)
    total = documents @ np.where(present, human, 0.0).T
    count = documents @ present.T.astype(np.float64)
    means = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
    i, j = (side[used] for side in np.triu_indices(len(human), 1))
    moved = means[:, i] - means[:, j]
    weight = systems[:, i] * systems[:, j] * (np.isfinite(moved) & (moved != 0))
    right: Floats = (np.sign(moved) == np.sign(gaps[used])).astype(np.float64)
    return weight, right


def label_findings(items: Items, criterion: str, board: Board, choices: Choices) -> list[Finding]:
    """Prediction-powered means: few ratings correct a metric's mean over many texts (Angelopoulos et al.).

    With texts that nobody rated, people's mean is estimated for all texts and for each system. Where all are
    rated, a fifth of the documents is taken as rated; `label_gain` is how many labels one is then worth.
    """
    human = items.human(criterion)
    found: list[Finding] = []
    for metric, scores in zip(board.metrics, board.scores, strict=True):
        present = np.isfinite(scores)
        rated = present & np.isfinite(human)
        bare = present & ~np.isfinite(human)
        if bare.any():
            found += _estimates(items, criterion, metric, scores, human)
        elif rated.sum() >= 5 * _FEWEST_LABELS:
            found += _gain(items, criterion, metric, scores, human, rated)
    return found


def _estimates(items: Items, criterion: str, metric: str, scores: Floats, human: Floats) -> list[Finding]:
    parts = {f"mean/{criterion}": np.ones(len(items), dtype=bool)}
    for name in items.system_names:
        parts[f"mean/{criterion}/{name}"] = np.array([system == name for system in items.systems])
    found = []
    for slice_, part in parts.items():
        there = part & np.isfinite(scores)
        rated, bare = there & np.isfinite(human), there & ~np.isfinite(human)
        if rated.sum() < _FEWEST_LABELS or bare.sum() < 2:
            continue
        labels = np.array(items.documents)
        estimate = prediction_powered_mean(
            human[rated], scores[rated], scores[bare],
            clusters=labels[rated], unlabelled_clusters=labels[bare],
        )  # fmt: skip
        if estimate is not None:
            n, ci = int(rated.sum()), estimate.interval.pair
            found.append(Finding(metric, AUDIT, slice_, "ppi_mean", estimate.value, n, ci=ci))
            gain = estimate.effective_labels / n
            found.append(Finding(metric, AUDIT, slice_, "label_gain", gain, n))
    return found


def _gain(
    items: Items, criterion: str, metric: str, scores: Floats, human: Floats, rated: np.ndarray
) -> list[Finding]:
    names = list(dict.fromkeys(items.documents))
    taken = {name for place, name in enumerate(names) if place % 5 == 0}
    labelled = rated & np.array([document in taken for document in items.documents])
    rest = rated & ~labelled
    if labelled.sum() < _FEWEST_LABELS or rest.sum() < 2:
        return []
    labels = np.array(items.documents)
    estimate = prediction_powered_mean(
        human[labelled], scores[labelled], scores[rest],
        clusters=labels[labelled], unlabelled_clusters=labels[rest],
    )  # fmt: skip
    if estimate is None:
        return []
    n = int(labelled.sum())
    gain = estimate.effective_labels / n
    return [Finding(metric, AUDIT, f"mean/{criterion}", "label_gain", gain, n)]
