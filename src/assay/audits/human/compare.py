"""Is metric A really better than B? Agreement of many metrics in, a significance matrix and clusters out.

The p-value and the interval of a difference answer two questions. Permutation-both asks whether the metrics
could be exchanged on these systems and documents; the interval resamples both, and so speaks of other systems
and documents too. With few systems the first may be sure where the second is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from string import digits, punctuation

import numpy as np
from numpy.typing import NDArray

from assay.audits.human.items import HYPOTHESIS, LENGTH, SOURCE, Items
from assay.audits.human.levels import ALPHA, AUDIT, Agreement, Board, Choices, interval, rows_of
from assay.core import Finding, Floats
from assay.statistics.correlation import grouped_correlations, pearson
from assay.statistics.estimates import mde_interval
from assay.statistics.intervals import bootstrap_p_value
from assay.statistics.significance import (
    metric_clusters,
    permutation_both,
    permutation_both_systems,
    swap_groups,
    williams_test,
)


def comparison_findings(
    agreement: Agreement, items: Items, criterion: str, board: Board, choices: Choices
) -> list[Finding]:
    """Differences of all pairs of metrics with permutation-both p-values, then the clusters they make."""
    if len(agreement.metrics) < 2:
        return []
    p_values = _permuted(agreement, items, criterion, board, choices)
    found = []
    for i, first in enumerate(agreement.metrics):
        for j in range(i + 1, len(agreement.metrics)):
            found += _difference(agreement, first, (i, j), float(p_values[i, j]), choices)
    return [*found, *_clusters(agreement, p_values)]


def _difference(
    agreement: Agreement, first: str, pair: tuple[int, int], p_value: float, choices: Choices
) -> list[Finding]:
    draws, (i, j) = agreement.draws, pair
    value = float(draws.values[i] - draws.values[j])
    if not np.isfinite(value):
        return []
    ci = interval(draws.draws[i] - draws.draws[j], draws.clusters, choices)
    p = p_value if np.isfinite(p_value) else None
    return [
        Finding(
            first,
            AUDIT,
            agreement.slice,
            f"{agreement.statistic}_difference",
            value,
            int(min(draws.sizes[i], draws.sizes[j])),
            versus=agreement.metrics[j],
            ci=ci.pair if ci else None,
            p_value=p,
            mde=mde_interval(ci) if p is None or p >= ALPHA else None,
        )
    ]


def _clusters(agreement: Agreement, p_values: Floats) -> list[Finding]:
    """Metrics that cannot be told apart share a number; 1 is the best."""
    numbers = metric_clusters(agreement.draws.values, p_values, alpha=ALPHA)
    return [
        Finding(metric, AUDIT, agreement.slice, "cluster", float(number), int(agreement.draws.sizes[index]))
        for index, (metric, number) in enumerate(zip(agreement.metrics, numbers, strict=True))
        if number
    ]


def _permuted(agreement: Agreement, items: Items, criterion: str, board: Board, choices: Choices) -> Floats:
    """p-values by permutation-both, over metrics that vary and rows all of them have; else by bootstrap."""
    answer = _bootstrapped(agreement)
    varying = np.flatnonzero(np.isfinite(agreement.draws.values))
    if varying.size < 2:
        return answer
    if agreement.slice.startswith("system/"):
        found = _between_systems(items, criterion, board, varying, choices)
    elif agreement.slice.endswith("/by-document"):
        found = _within_documents(items, criterion, board, varying, choices)
    else:
        found = _over_all(items, criterion, board, varying, choices)
    if found is not None:
        answer[np.ix_(varying, varying)] = found
    return answer


def _bootstrapped(agreement: Agreement) -> Floats:
    draws = agreement.draws.draws
    answer = np.ones((len(draws), len(draws)))
    for i in range(len(draws)):
        for j in range(i + 1, len(draws)):
            apart = draws[i] - draws[j]
            answer[i, j] = answer[j, i] = bootstrap_p_value(apart) if np.isfinite(apart).any() else np.nan
    return answer


def _over_all(
    items: Items, criterion: str, board: Board, varying: np.ndarray, choices: Choices
) -> Floats | None:
    """Documents are swapped whole, for their texts are not independent. Kendall is left to the bootstrap."""
    if choices.headline not in ("pearson", "spearman"):
        return None
    scores, human, documents, _ = rows_of(items, criterion, board, choices)
    complete = np.isfinite(scores[varying]).all(axis=0)
    if complete.sum() < 3 or np.ptp(human[complete]) == 0:
        return None
    return permutation_both(
        scores[varying][:, complete],
        human[complete],
        kind="pearson" if choices.headline == "pearson" else "spearman",
        units=[document for document, kept in zip(documents, complete, strict=True) if kept],
        resamples=choices.resamples,
        seed=choices.seed,
    ).p_values


def _within_documents(
    items: Items, criterion: str, board: Board, varying: np.ndarray, choices: Choices
) -> Floats | None:
    human = items.human(criterion)
    rated = np.flatnonzero(np.isfinite(human))
    documents = [items.documents[place] for place in rated.tolist()]
    by_document = grouped_correlations(
        board.scores[varying][:, rated], human[rated], documents, choices.headline
    )
    if not np.isfinite(by_document).all(axis=0).any():
        return None
    return swap_groups(by_document, resamples=choices.resamples, seed=choices.seed).p_values


def _between_systems(
    items: Items, criterion: str, board: Board, varying: np.ndarray, choices: Choices
) -> Floats | None:
    human = items.table(items.human(criterion))
    cube = np.stack([items.table(row) for row in board.scores[varying]])
    complete = np.isfinite(human).all(axis=0) & np.isfinite(cube).all(axis=(0, 1))
    if complete.sum() < 2:
        return None
    return permutation_both_systems(
        cube[:, :, complete],
        human[:, complete],
        choices.headline,
        resamples=choices.resamples,
        seed=choices.seed,
    ).p_values


def williams_findings(items: Items, criterion: str, board: Board, choices: Choices) -> list[Finding]:
    """Williams's test of two Pearson correlations: valid only where every row is a document of its own."""
    if items.grouped or choices.each_judgement:
        return []
    human, found = items.human(criterion), []
    for i, first in enumerate(board.metrics):
        for j in range(i + 1, len(board.metrics)):
            rows = np.isfinite(board.scores[[i, j]]).all(axis=0) & np.isfinite(human)
            one, two, judged = board.scores[i, rows], board.scores[j, rows], human[rows]
            if judged.size < 4:
                continue
            r = pearson(one, judged), pearson(two, judged), pearson(one, two)
            if r[0] is None or r[1] is None or r[2] is None or abs(r[2]) > 1 - 1e-12:
                continue
            test = williams_test(r[0], r[1], r[2], judged.size)
            found.append(
                Finding(
                    first, AUDIT, f"example/{criterion}", "williams_t", test.t, judged.size,
                    versus=board.metrics[j], p_value=test.p_value,
                )
            )  # fmt: skip
    return found


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
