"""Sentinels: baselines that compare the text with nothing, and how far a metric's agreement exceeds theirs.

A metric that agrees with people no better than its text's length has learnt nothing from the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from string import digits, punctuation

import numpy as np
from numpy.typing import NDArray

from assay.audits.human.items import Items
from assay.audits.human.levels import ALPHA, Agreement, Study, interval
from assay.audits.slices import interval_estimate
from assay.core import Estimate, Finding, Floats, Interval, Statistic
from assay.statistics.intervals import bootstrap_p_value

LENGTH, HYPOTHESIS, SOURCE = "sentinel-length", "sentinel-hypothesis", "sentinel-source"
SENTINELS = (LENGTH, HYPOTHESIS, SOURCE)
_FOLDS = 5
_RIDGE = 1.0  # on standardised features: enough to tame collinear ones, too little to matter otherwise
_FEWEST = 30  # rated texts below which a regression is no baseline


def _sentence(finding: Finding) -> str:
    criterion = finding.slice.split("/")[1]
    less = "less than" if finding.value < 0 else "hardly more than"
    return (
        f"{finding.metric} agrees with people on {criterion} {less} {finding.versus}, a baseline that "
        f"compares the text with nothing (difference {finding.value:+.3g})."
    )


STATISTICS = (
    Statistic(
        "over_sentinel",
        "Agreement with people minus that of the best baseline which compares the text with nothing.",
        "correlation", "low", "sentinel_margin", headline=True, sentence=_sentence,
    ),
)  # fmt: skip


def sentinel_findings(
    study: Study, agreement: Agreement, compared: Sequence[Finding], margin: float
) -> list[Finding]:
    """Each metric's agreement minus the best sentinel's, on the same resamples.

    `compared` are the differences between metrics, whose permutation tests are taken into account.
    """
    values = dict(zip(agreement.metrics, agreement.draws.values, strict=True))
    defined = [name for name, value in values.items() if np.isfinite(value)]
    sentinels = [name for name in defined if name in SENTINELS]
    if not sentinels:
        return []
    best = max(sentinels, key=lambda name: values[name])
    permuted = {f.metric: f.p_value for f in compared if f.versus == best and f.p_value is not None}
    findings = []
    for metric in defined:
        if metric not in SENTINELS:
            estimate = _excess(study, agreement, (metric, best), margin, permuted.get(metric, 0.0))
            findings.append(Finding.of(metric, agreement.slice, "over_sentinel", estimate, versus=best))
    return findings


def _excess(
    study: Study, agreement: Agreement, pair: tuple[str, str], margin: float, permuted: float
) -> Estimate:
    """The difference of two metrics; a verdict also needs the larger of two p-values below .05.

    The bootstrap and permutation-both must both be sure, so that no verdict stands beside a note that metric
    and sentinel cannot be told apart. Where either is not, the decisive interval spans the margin.
    """
    draws, (own, other) = agreement.draws, map(agreement.metrics.index, pair)
    apart = draws.draws[own] - draws.draws[other]
    value, n = float(draws.values[own] - draws.values[other]), int(draws.sizes[own])
    ci = interval(apart, draws.clusters, study.audit.rule)
    if ci is None:
        return Estimate(value, n)
    # Short of a margin above 0 a metric may well equal the sentinel, so permutation has no say there.
    also = permuted if value >= margin or margin == 0 else 0.0
    p_value = max(bootstrap_p_value(apart, null=margin), also)
    estimate = interval_estimate(value, n, ci, p_value=p_value, with_mde=True)
    return replace(estimate, decisive=_across(margin, ci.pair)) if p_value >= ALPHA else estimate


def _across(margin: float, ci: Interval) -> Interval:
    """An interval around the margin that reaches as far as `ci` does.

    >>> _across(0.0, (0.1, 0.5))
    (-0.5, 0.5)
    """
    reach = max(abs(end - margin) for end in ci)
    return margin - reach, margin + reach


def sentinel_scores(items: Items, criterion: str) -> dict[str, Floats]:
    """What each sentinel says of each text; those for which the data does not suffice are left out."""
    hypotheses = [item.sample.hypothesis for item in items.rated]
    sources = [item.sample.source or "" for item in items.rated]
    scores = {LENGTH: np.array([float(len(text.split())) for text in hypotheses])}
    human = items.human(criterion)
    if np.isfinite(human).sum() < _FEWEST:
        return scores
    scores[HYPOTHESIS] = _held_out(_features(hypotheses), human, items.documents, items.systems)
    if len({source for source in sources if source}) > _FOLDS:
        # Systems stay in one fold: a source cannot tell them apart, and folds of systems would.
        scores[SOURCE] = _held_out(_features(sources), human, items.documents, [""] * len(items))
    return {name: values for name, values in scores.items() if np.isfinite(values).any()}


def _features(texts: Sequence[str]) -> Floats:
    """Length, variety, repetition, punctuation, capitals and digits of each text."""
    matrix = np.array([_surface(text) for text in texts], dtype=np.float64)
    return np.column_stack([matrix, matrix[:, :1] ** 2])  # people dislike both too short and too long


@lru_cache(maxsize=50_000)
def _surface(text: str) -> tuple[float, ...]:
    words, letters = text.split(), max(1, len(text))
    lower = [word.lower() for word in words]
    bigrams = list(pairwise(lower))
    return (
        float(np.log1p(len(words))),
        len(text) / max(1, len(words)),
        len(set(lower)) / max(1, len(words)),
        len(set(bigrams)) / max(1, len(bigrams)),
        sum(map(text.count, punctuation)) / letters,
        sum(map(str.isupper, text)) / letters,
        sum(map(text.count, digits)) / letters,
        float(text.rstrip()[-1:] in set(".!?\"'")),
    )


def _held_out(
    features: Floats, human: Floats, document_labels: Sequence[str], system_labels: Sequence[str]
) -> Floats:
    """Predict each fold of documents and systems from rows that share neither.

    Predictions carry no intercept: a fold's mean falls when its best rows are held out, and would order the
    folds backwards.
    """
    deviation = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    documents, systems = _folds(document_labels), _folds(system_labels)
    rated = np.isfinite(human)
    answer = np.full(human.size, np.nan)
    for document in np.unique(documents):
        for system in np.unique(systems):
            test = (documents == document) & (systems == system)
            train = rated & (documents != document)
            if len(np.unique(systems)) > 1:
                train &= systems != system
            if test.any() and train.sum() > features.shape[1]:
                answer[test] = standard[test] @ _ridge(standard[train], human[train])
    return answer


def _folds(labels: Sequence[str]) -> NDArray[np.intp]:
    """Fold numbers by order of first appearance; with fewer labels than folds, one fold."""
    places: dict[str, int] = {}
    for label in labels:
        places.setdefault(label, len(places))
    folds = _FOLDS if len(places) >= _FOLDS else 1
    return np.array([places[label] % folds for label in labels], dtype=np.intp)


def _ridge(features: Floats, target: Floats) -> Floats:
    x, y = features - features.mean(axis=0), target - target.mean()
    weights: Floats = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y)
    return weights
