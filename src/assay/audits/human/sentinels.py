"""Sentinels: baselines that compare the text with nothing, and how far a metric's agreement exceeds theirs.

A metric that agrees with people no better than its text's length has learnt nothing from the reference. The
first baseline is a constant, which is right half of the time: no sentinel counts for less than that.
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
from assay.audits.human.levels import COIN_ORDER, LEVEL, ORDER, LevelAgreement
from assay.core import Estimate, Finding, Floats
from assay.statistics.estimates import smallest_p
from assay.statistics.intervals import Interval, bootstrap_p_value, label_codes

CONSTANT = "constant"
LENGTH, HYPOTHESIS, SOURCE = "sentinel-length", "sentinel-hypothesis", "sentinel-source"
SENTINELS = (LENGTH, HYPOTHESIS, SOURCE)
_FOLDS = 5
_RIDGE = 1.0  # on standardised features: enough to tame collinear ones, too little to matter otherwise
_FEWEST = 30  # rated texts below which a regression is no baseline


def without_constants(agreement: LevelAgreement) -> LevelAgreement:
    """Agreement in order without sentinels that do not vary there: a constant is a baseline itself."""
    if agreement.statistic != ORDER:
        return agreement
    draws = agreement.draws
    moves = ((draws.draws != COIN_ORDER) & np.isfinite(draws.draws)).any(axis=1)
    is_constant = [
        name in SENTINELS and not moved for name, moved in zip(agreement.metrics, moves, strict=True)
    ]
    return replace(agreement, draws=replace(draws, values=np.where(is_constant, np.nan, draws.values)))


def sentinel_findings(agreement: LevelAgreement, margin: float) -> list[Finding]:
    """Each metric's agreement minus the best baseline's, on the same resamples."""
    defined = [index for index, value in enumerate(agreement.draws.values) if np.isfinite(value)]
    sentinels = [index for index in defined if agreement.metrics[index] in SENTINELS]
    metrics = [index for index in defined if index not in sentinels]
    return [_over_baselines(agreement, index, sentinels, margin) for index in metrics]


def _over_baselines(agreement: LevelAgreement, own: int, sentinels: Sequence[int], margin: float) -> Finding:
    """The smallest of the metric's differences to the constant and to every sentinel, with its interval.

    The lower end is the smallest of the differences' lower ends: the true smallest difference is one of them
    (Berger, 1982). Any of the upper ends may be the one that is too low by chance, so they share the 5%.
    """
    draws, names = agreement.draws, agreement.metrics
    better = [index for index in sentinels if draws.values[index] > COIN_ORDER]
    best = max(better, key=lambda index: draws.values[index], default=None)
    value = float(draws.values[own] - (COIN_ORDER if best is None else draws.values[best]))
    estimate = Estimate(value, int(draws.sizes[own]))
    lows = _differences(agreement, own, sentinels, LEVEL)
    highs = _differences(agreement, own, sentinels, 1.0 - (1.0 - LEVEL) / (1 + len(sentinels)))
    if lows and highs and agreement.can_be_judged:
        ci = min(interval.low for interval in lows), min(interval.high for interval in highs)
        apart = draws.draws[own] - (COIN_ORDER if best is None else draws.draws[best])
        p_value = max(bootstrap_p_value(apart, null=margin), smallest_p(draws.clusters))
        estimate = replace(estimate, ci=ci, p_value=p_value)
    versus = CONSTANT if best is None else names[best]
    return Finding.of(names[own], agreement.slice, "over_sentinel", estimate, versus=versus)


def _differences(
    agreement: LevelAgreement, own: int, sentinels: Sequence[int], level: float
) -> list[Interval]:
    """The intervals of those differences; none where one of them is not known."""
    alone = agreement.interval(own, level)
    over_constant = alone and Interval(alone.low - COIN_ORDER, alone.high - COIN_ORDER, level)
    over_others = [agreement.difference(own, sentinel, level) for sentinel in sentinels]
    known = [interval for interval in (over_constant, *over_others) if interval is not None]
    return known if len(known) == 1 + len(sentinels) else []


def sentinel_scores(items: Items, criterion: str) -> dict[str, Floats]:
    """What each sentinel says of each text; those for which the data does not suffice are left out."""
    hypotheses = [item.sample.hypothesis for item in items.rated]
    sources = [item.sample.source or "" for item in items.rated]
    scores = {LENGTH: np.array([float(len(text.split())) for text in hypotheses])}
    human = items.human(criterion)
    if np.isfinite(human).sum() >= _FEWEST:
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
                x, y = (side[train] - side[train].mean(axis=0) for side in (standard, human))
                ridge = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y)
                answer[test] = standard[test] @ ridge
    return answer


def _folds(labels: Sequence[str]) -> NDArray[np.intp]:
    """Fold numbers by order of first appearance; with fewer labels than folds, one fold."""
    codes, count = label_codes(labels, len(labels))
    return codes % (_FOLDS if count >= _FOLDS else 1)
