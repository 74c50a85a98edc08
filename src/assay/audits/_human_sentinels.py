"""Baselines that cannot judge a text, so that spurious agreement with people shows.

A sentinel (Perrella et al., 2024) never compares the hypothesis with a source or reference. `sentinel-length`
counts words. `sentinel-hypothesis` and `sentinel-source` are ridge regressions from surface features of that
one text to people's ratings; a text is predicted from other documents and other systems only, so that what
they know is style, not the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from string import digits, punctuation

import numpy as np
from numpy.typing import NDArray

from assay.audits._human_items import Items
from assay.core import Floats

LENGTH, HYPOTHESIS, SOURCE = "sentinel-length", "sentinel-hypothesis", "sentinel-source"
SENTINELS = (LENGTH, HYPOTHESIS, SOURCE)
_FOLDS = 5
_RIDGE = 1.0  # on standardised features: enough to tame collinear ones, too little to matter otherwise
_FEWEST = 30  # rated texts below which a regression is no baseline


def sentinel_scores(items: Items, criterion: str) -> dict[str, Floats]:
    """What each sentinel says of each text; those that the data cannot feed are left out."""
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
    """Length, variety, repetition, punctuation, capitals and digits of a text."""
    rows = [_surface(text) for text in texts]
    matrix = np.array(rows, dtype=np.float64)
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
    spread = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
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
    """Fold numbers by order of first appearance; fewer than a fold's worth of labels are one fold."""
    places: dict[str, int] = {}
    for label in labels:
        places.setdefault(label, len(places))
    folds = _FOLDS if len(places) >= _FOLDS else 1
    return np.array([places[label] % folds for label in labels], dtype=np.intp)


def _ridge(features: Floats, target: Floats) -> Floats:
    x, y = features - features.mean(axis=0), target - target.mean()
    weights: Floats = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y)
    return weights
