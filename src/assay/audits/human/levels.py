"""Scores and ratings to agreement, level by level: over all texts, within documents, between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.audits.human.items import SENTINELS, Items
from assay.core import Finding, Floats
from assay.statistics.correlation import Kind, grouped_correlations, system_means
from assay.statistics.estimates import benjamini_hochberg, mde_interval, verdict
from assay.statistics.intervals import Interval, bootstrap_p_value, interval_of
from assay.statistics.pairwise import calibrated_accuracy, pairwise_accuracy
from assay.statistics.resampled import (
    Draws,
    Over,
    grouped_draws,
    pooled_draws,
    set_draws,
    soft_accuracy_draws,
    system_accuracy_draws,
    system_draws,
)
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
    return [
        Agreement(
            f"example/{criterion}",
            kind,
            board.metrics,
            pooled_draws(
                scores,
                human,
                kind,
                clusters=sampled,
                crossed=crossed,
                resamples=choices.resamples,
                seed=choices.seed,
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


AUDIT = "human"
OVER_SENTINEL = "over_sentinel"
ALPHA = 0.05
_ACCURACIES = ("pairwise_accuracy", "soft_pairwise_accuracy")  # where 0 is not "no agreement"


def interval(draws: Floats, clusters: int, choices: Choices) -> Interval | None:
    """A percentile interval, widened for few clusters unless the paper's rule is asked for."""
    if clusters < 2 or not np.isfinite(draws).any():
        return None
    correction: Literal["t", "none"] = "none" if choices.rule == "paper" else "t"
    return interval_of(draws, n_clusters=clusters, correction=correction)


def agreement_findings(
    agreement: Agreement, choices: Choices, evidence: Mapping[str, tuple[str, ...]]
) -> list[Finding]:
    """A finding a metric; undefined agreement gives none (the audit says why in its notes)."""
    found = []
    for index, metric in enumerate(agreement.metrics):
        value = float(agreement.draws.values[index])
        if not np.isfinite(value):
            continue
        ci = interval(agreement.draws.draws[index], agreement.draws.clusters, choices)
        null = ci is not None and 0.0 in ci and agreement.statistic not in _ACCURACIES
        found.append(
            Finding(
                metric,
                AUDIT,
                agreement.slice,
                agreement.statistic,
                value,
                int(agreement.draws.sizes[index]),
                ci=ci.pair if ci else None,
                mde=mde_interval(ci) if null else None,
                evidence=evidence.get(metric, ()) if agreement.statistic == choices.headline else (),
            )
        )
    return found


def sentinel_findings(
    agreement: Agreement, compared: Sequence[Finding], choices: Choices, margin: float
) -> list[Finding]:
    """Each metric's agreement less the best sentinel's, on the same resamples.

    A metric fails where the interval lies wholly below the margin: a baseline that compares nothing agrees
    with people better. It passes where the interval lies wholly above. Either stands only if the p-value
    does too (see `settled`); `compared` are the differences whose permutation tests it heeds.
    """
    values = dict(zip(agreement.metrics, agreement.draws.values, strict=True))
    standing = {name: value for name, value in values.items() if name in SENTINELS and np.isfinite(value)}
    if not standing:
        return []
    best = max(standing, key=lambda name: standing[name])
    judged = [name for name, value in values.items() if name not in SENTINELS and np.isfinite(value)]
    permuted = {f.metric: f.p_value for f in compared if f.versus == best and f.p_value is not None}
    return [_over(agreement, metric, best, choices, margin, permuted.get(metric, 0.0)) for metric in judged]


def _over(
    agreement: Agreement, metric: str, best: str, choices: Choices, margin: float, permuted: float
) -> Finding:
    draws, (own, other) = agreement.draws, map(agreement.metrics.index, (metric, best))
    apart = draws.draws[own] - draws.draws[other]
    ci = interval(apart, draws.clusters, choices)
    value = float(draws.values[own] - draws.values[other])
    # Beyond the margin means apart from the sentinel too, which permutation tells: both tests must say so.
    # Short of a margin above 0 a metric may well equal the sentinel.
    also = permuted if value >= margin or margin == 0 else 0.0
    return Finding(
        metric,
        AUDIT,
        agreement.slice,
        OVER_SENTINEL,
        value,
        int(draws.sizes[own]),
        versus=best,
        ci=ci.pair if ci else None,
        p_value=max(bootstrap_p_value(apart, null=margin), also) if ci else None,
        mde=mde_interval(ci),
        passed=None if choices.rule == "paper" else verdict(ci, margin, "below"),
    )


def settled(found: Sequence[Finding]) -> list[Finding]:
    """Findings with verdicts only where q < .05 (Benjamini-Hochberg over a metric's `over_sentinel`)."""
    answer = list(found)
    tested: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        if one.statistic == OVER_SENTINEL and one.p_value is not None:
            tested.setdefault(one.metric, []).append(place)
    for places in tested.values():
        for place, q in zip(places, benjamini_hochberg([found[at].p_value for at in places]), strict=True):
            kept = found[place].passed if q < ALPHA else None
            answer[place] = replace(found[place], q_value=float(q), passed=kept)
    return answer


def disagreements(scores: Floats, human: Floats, ids: Sequence[str], most: int = 5) -> tuple[str, ...]:
    """The texts that the metric and people place furthest apart, by rank."""
    both = np.flatnonzero(np.isfinite(scores) & np.isfinite(human))
    if both.size < 2:
        return ()
    apart = np.abs(_ranks(scores[both]) - _ranks(human[both]))
    return tuple(ids[both[place]] for place in np.argsort(-apart, kind="stable")[:most].tolist())


def _ranks(values: Floats) -> Floats:
    order = np.sort(values)
    low, high = np.searchsorted(order, values), np.searchsorted(order, values, side="right")
    middle: Floats = (low + high) / 2.0
    return middle
