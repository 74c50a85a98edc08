"""Scores and ratings to agreement, level by level: over all texts, within documents, between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.audits._human_items import Items
from assay.core import Floats
from assay.statistics.agreement_draws import (
    Clusters,
    Draws,
    Over,
    grouped_draws,
    pooled_draws,
    set_draws,
    soft_accuracy_draws,
    system_accuracy_draws,
    system_draws,
)
from assay.statistics.correlation import Kind, grouped_correlations, system_means
from assay.statistics.pairwise import calibrated_accuracy, pairwise_accuracy
from assay.vocabulary import Rule

FEWEST_SYSTEMS = 3
CROSSED_SYSTEMS = 5  # fewer systems are taken as they are, not as a sample of systems
_MOST_PAIRS = 2_000_000  # pairs of texts that are compared one by one


@dataclass(frozen=True, slots=True)
class Choices:
    """How agreement is measured; see the fields of the audit."""

    kinds: tuple[Kind, ...]
    headline: Kind
    each_judgement: bool
    over: Over
    resamples: int
    seed: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class SetScores:
    """One score a system from a metric of whole sets, and its resamples (systems x draws)."""

    metric: str
    values: Floats
    resamples: Floats


@dataclass(frozen=True, slots=True)
class Board:
    """What every metric said of every text (metrics x texts), and set metrics of every system."""

    metrics: tuple[str, ...]
    scores: Floats
    sets: tuple[SetScores, ...] = ()

    def joined(self, more: Mapping[str, Floats]) -> Board:
        """With further rows, the sentinels'."""
        rows = np.vstack([self.scores, *more.values()]) if more else self.scores
        return Board((*self.metrics, *more), rows, self.sets)


@dataclass(frozen=True, slots=True)
class Agreement:
    """One statistic of all metrics in one slice, resampled together."""

    slice: str
    statistic: str
    metrics: tuple[str, ...]
    draws: Draws


def example_agreements(items: Items, criterion: str, board: Board, choices: Choices) -> list[Agreement]:
    """Over all texts; and where documents have several texts, within documents."""
    found = _pooled(items, criterion, board, choices)
    human = items.human(criterion)
    if items.grouped:
        found += _within_documents(items, criterion, board, human, choices)
    accuracy = _accuracy(items, criterion, board, human, choices)
    return [*found, *([accuracy] if accuracy else [])]


def _pooled(items: Items, criterion: str, board: Board, choices: Choices) -> list[Agreement]:
    scores, human, documents, systems = rows_of(items, criterion, board, choices)
    crossed = systems if len(set(systems)) >= CROSSED_SYSTEMS and choices.over != "documents" else None
    sampled = documents if choices.over != "systems" or crossed is None else None
    if choices.rule == "paper":  # the papers resample nothing, or rows
        sampled = crossed = None
    clusters = Clusters.of(human.size, sampled, crossed)
    return [
        Agreement(
            f"example/{criterion}",
            kind,
            board.metrics,
            pooled_draws(
                scores, human, kind, clusters=clusters, resamples=choices.resamples, seed=choices.seed
            ),
        )
        for kind in choices.kinds
    ]


def rows_of(
    items: Items, criterion: str, board: Board, choices: Choices
) -> tuple[Floats, Floats, list[str], list[str]]:
    """Scores (metrics x rows), judgements, documents and systems; a row a text, or a row a judgement."""
    human = items.human(criterion)
    places = np.flatnonzero(np.isfinite(human))
    judged = human[places]
    if choices.each_judgement:
        places, judged = items.judgements(criterion)
    documents, systems = ([labels[place] for place in places] for labels in (items.documents, items.systems))
    return board.scores[:, places], judged, documents, systems


def _within_documents(
    items: Items, criterion: str, board: Board, human: Floats, choices: Choices
) -> list[Agreement]:
    """The mean of documents' correlations; a document where either side is constant has none."""
    rated = np.flatnonzero(np.isfinite(human))
    documents = [items.documents[place] for place in rated]
    found = []
    for kind in choices.kinds:
        by_document = grouped_correlations(board.scores[:, rated], human[rated], documents, kind)
        draws = grouped_draws(by_document, resamples=choices.resamples, seed=choices.seed)
        found.append(Agreement(f"example/{criterion}/by-document", kind, board.metrics, draws))
    return found


def _accuracy(
    items: Items, criterion: str, board: Board, human: Floats, choices: Choices
) -> Agreement | None:
    """Pairs of texts of one document (of all, where each document has one text) ordered as people do.

    Ties are right where people tie; a metric's threshold for a tie is the one that suits it best (Deutsch,
    Foster & Freitag, 2023), and is held fixed in resampling.
    """
    labels = items.documents if items.grouped else ["all"] * len(items)
    members = [places for places in _members(labels, np.isfinite(human)) if places.size > 1]
    if not members or sum(places.size**2 // 2 for places in members) > _MOST_PAIRS:
        return None
    rows = [_document_accuracies(scores, human, members) for scores in board.scores]
    draws = grouped_draws(rows, resamples=choices.resamples, seed=choices.seed)
    return Agreement(f"example/{criterion}", "pairwise_accuracy", board.metrics, draws)


def _document_accuracies(scores: Floats, human: Floats, members: Sequence[np.ndarray]) -> list[float]:
    kept = [places[np.isfinite(scores[places])] for places in members]
    used = np.concatenate(kept)
    if used.size < 2 or np.ptp(scores[used]) == 0:
        return [np.nan] * len(members)
    labels = np.repeat(np.arange(len(kept)), [places.size for places in kept])
    epsilon = calibrated_accuracy(scores[used], human[used], groups=labels).epsilon
    found = [
        pairwise_accuracy(scores[places], human[places], epsilon=epsilon).accuracy
        if places.size > 1
        else None
        for places in kept
    ]
    return [np.nan if value is None else value for value in found]


def _members(labels: Sequence[str], used: np.ndarray) -> list[np.ndarray]:
    groups: dict[str, list[int]] = {}
    for place in np.flatnonzero(used).tolist():
        groups.setdefault(labels[place], []).append(place)
    return [np.array(places, dtype=np.intp) for places in groups.values()]


def system_agreements(items: Items, criterion: str, board: Board, choices: Choices) -> list[Agreement]:
    """Between systems' means; nothing below three systems that people judged."""
    human = items.table(items.human(criterion))
    if np.isfinite(system_means(human)).sum() < FEWEST_SYSTEMS:
        return []
    found = _set_agreements(f"system/{criterion}", board, system_means(human), choices)
    if board.metrics:
        cube = np.stack([items.table(row) for row in board.scores])
        found += _between_systems(f"system/{criterion}", board, cube, human, choices)
    return found


def _set_agreements(slice_: str, board: Board, human: Floats, choices: Choices) -> list[Agreement]:
    return [
        Agreement(
            slice_,
            kind,
            (one.metric,),
            set_draws(one.values, one.resamples, human, kind, seed=choices.seed),
        )
        for kind in choices.kinds
        for one in board.sets
    ]


def _between_systems(
    slice_: str, board: Board, cube: Floats, human: Floats, choices: Choices
) -> list[Agreement]:
    over, resamples, seed = choices.over, choices.resamples, choices.seed
    found = [
        Agreement(
            slice_,
            kind,
            board.metrics,
            system_draws(cube, human, kind, over=over, resamples=resamples, seed=seed),
        )
        for kind in choices.kinds
    ]
    accuracy = system_accuracy_draws(cube, human, over=over, resamples=resamples, seed=seed)
    found.append(Agreement(slice_, "pairwise_accuracy", board.metrics, accuracy))
    judged = np.isfinite(human).all(axis=0)
    for name, scores in zip(board.metrics, cube, strict=True):
        full = judged & np.isfinite(scores).all(axis=0)
        if (
            full.sum() > 1 and np.ptp(system_means(scores[:, full])) > 0
        ):  # soft accuracy swaps documents: every system must have them
            draws = soft_accuracy_draws(scores[:, full], human[:, full], resamples=resamples, seed=seed)
            found.append(Agreement(slice_, "soft_pairwise_accuracy", (name,), draws))
    return found
