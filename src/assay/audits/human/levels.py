"""Agreement of scores with ratings: over all texts, within documents, and between systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from assay.audits.human.items import Items
from assay.audits.slices import EVIDENCE, FEWEST, grouped, interval_estimate
from assay.core import Finding, Floats, Scored
from assay.statistics import resampled
from assay.statistics.correlation import Kind, average_ranks, grouped_correlations, system_means
from assay.statistics.estimates import mde_interval
from assay.statistics.intervals import Interval, interval_of
from assay.statistics.resampled import Draws
from assay.statistics.significance import pairwise_accuracy, tie_threshold
from assay.vocabulary import Rule

if TYPE_CHECKING:
    from assay.audits.human.audit import Human

FEWEST_SYSTEMS = 3
LEVEL = 0.95
BY_DOCUMENT = "/by-document"
CROSSED_SYSTEMS = 5  # fewer systems are taken as they are, not as a sample of systems; no verdict on systems
_SYSTEM_RESAMPLES = 200  # of systems within documents: each correlates every document anew
_MOST_PAIRS = 2_000_000  # pairs of texts above which no pairwise accuracy is computed
_CORRELATIONS = get_args(Kind)
_ACCURACY, _SOFT_ACCURACY = "pairwise_accuracy", "soft_pairwise_accuracy"


def labelled(part: str, criterion: str) -> str:
    """A criterion of one part of the data, as slices name it."""
    return f"{part}:{criterion}" if part else criterion


@dataclass(frozen=True)
class Study:
    """One criterion in one part of the data: texts, ratings, every metric's scores, the audit's options."""

    audit: Human
    criterion: str
    metrics: tuple[str, ...]
    scores: Floats  # metrics x texts
    items: Items  # the texts of one part
    sets: tuple[Scored, ...] = ()  # set metrics: one case per system
    part: str = ""

    @property
    def label(self) -> str:
        """The criterion as slices name it: with its part, where the data has several."""
        return labelled(self.part, self.criterion)

    @cached_property
    def human(self) -> Floats:
        return self.items.human(self.criterion)

    @cached_property
    def rated(self) -> np.ndarray:
        return np.flatnonzero(np.isfinite(self.human))

    @cached_property
    def human_table(self) -> Floats:
        return self.items.table(self.human)

    @cached_property
    def tables(self) -> Floats:
        shape = (len(self.metrics), *self.human_table.shape)
        return np.array([self.items.table(row) for row in self.scores]).reshape(shape)

    @cached_property
    def rows(self) -> tuple[Floats, Floats, list[str], list[str]]:
        """Scores (metrics x rows), ratings, documents and systems; one row per text, or per single rating."""
        places, ratings = self.rated, self.human[self.rated]
        if self.audit.each_judgement:
            places, ratings = self.items.judgements(self.criterion)
        labels = self.items.documents, self.items.systems
        documents, systems = ([names[place] for place in places] for names in labels)
        return self.scores[:, places], ratings, documents, systems

    def complete(self, metrics: Sequence[int] | slice = slice(None)) -> tuple[Floats, Floats] | None:
        """Scores and ratings of the documents that all systems have; None where they are fewer than two."""
        human, scores = self.human_table, self.tables[metrics]
        full = np.isfinite(human).all(axis=0) & np.isfinite(scores).all(axis=(0, 1))
        return (scores[:, :, full], human[:, full]) if full.sum() > 1 else None

    def by_document(self, kind: Kind) -> Floats:
        """Correlations within documents (metrics x documents); nan where either side is constant."""
        documents = [self.items.documents[place] for place in self.rated]
        return grouped_correlations(self.scores[:, self.rated], self.human[self.rated], documents, kind)

    @cached_property
    def disagreements(self) -> dict[str, tuple[str, ...]]:
        """For each metric, the texts that it and people place furthest apart by rank."""
        texts = {}
        for metric, scores in zip(self.metrics, self.scores, strict=True):
            both = np.flatnonzero(np.isfinite(scores) & np.isfinite(self.human))
            apart = np.abs(average_ranks(scores[both]) - average_ranks(self.human[both]))
            worst = both[np.argsort(-apart, kind="stable")[:EVIDENCE]] if both.size > 1 else ()
            texts[metric] = tuple(self.items.rated[place].id for place in worst)
        return texts


@dataclass(frozen=True, slots=True)
class Agreement:
    """One statistic of some metrics in one slice, resampled together."""

    slice: str
    statistic: str
    metrics: tuple[str, ...]
    draws: Draws
    rule: Rule
    sampled: bool = True  # whether what is correlated was resampled, and not only what its means rest on

    def interval(self, index: int, level: float = LEVEL) -> Interval | None:
        value, draws, clusters = self.draws.values[index], self.draws.draws[index], self.draws.clusters
        if self.rule == "paper":
            return interval_of(draws, n_clusters=clusters, correction="none")
        if self.statistic not in _CORRELATIONS or self.slice.endswith(BY_DOCUMENT):
            lowest = -1.0 if self.statistic in _CORRELATIONS else 0.0
            return resampled.bounded_interval(value, draws, lowest=lowest, n_clusters=clusters, level=level)
        rows = int(self.draws.sizes[index]) if self.sampled else None
        kind = cast(Kind, self.statistic)
        return resampled.correlation_interval(
            value, draws, kind, n_clusters=clusters, n_rows=rows, level=level
        )

    def difference(self, i: int, j: int, level: float = LEVEL) -> Interval | None:
        draws = self.draws.draws
        if self.rule == "paper":
            return interval_of(draws[i] - draws[j], n_clusters=self.draws.clusters, correction="none")
        values = float(self.draws.values[i]), float(self.draws.values[j])
        sides = self.interval(i, level), self.interval(j, level)
        return resampled.difference_interval(values, sides, resampled.draws_correlation(draws[i], draws[j]))

    @property
    def judgeable(self) -> bool:
        """Whether there is enough for a verdict: texts or documents, or systems."""
        fewest = CROSSED_SYSTEMS if self.slice.startswith("system/") else FEWEST
        return int(self.draws.sizes.max(initial=0)) >= fewest


def example_agreements(study: Study) -> Iterator[Agreement]:
    """Agreement over all texts; and where documents have several texts, within documents."""
    slice_, kinds, drawing = f"example/{study.label}", study.audit.kinds, study.audit.drawing
    rule = study.audit.rule
    scores, human, *_ = study.rows
    clusters, crossed = _clusters(study)
    for kind in kinds:
        draws = resampled.pooled_draws(scores, human, kind, clusters=clusters, crossed=crossed, **drawing)
        yield Agreement(slice_, kind, study.metrics, draws, rule)
    for kind in kinds if study.items.grouped else ():
        yield Agreement(slice_ + BY_DOCUMENT, kind, study.metrics, _document_draws(study, kind), rule)
    accuracy = _accuracy(study)
    if accuracy is not None:
        yield Agreement(slice_, _ACCURACY, study.metrics, accuracy, rule)


def _document_draws(study: Study, kind: Kind) -> Draws:
    """Mean correlation within documents; documents are resampled and, where there are enough, systems."""
    drawing = study.audit.drawing
    draws = resampled.grouped_draws(study.by_document(kind), **drawing)
    fixed = study.audit.rule == "paper" or study.audit.over == "documents"
    if fixed or int(np.isfinite(study.human_table).any(axis=1).sum()) < CROSSED_SYSTEMS:
        return draws
    fewer = min(_SYSTEM_RESAMPLES, drawing["resamples"])
    tables = study.tables, study.human_table
    return resampled.with_systems(draws, *tables, kind, resamples=fewer, seed=drawing["seed"] + 1)


def _clusters(study: Study) -> tuple[list[str] | None, list[str] | None]:
    """What rows are resampled by: documents, systems, or the two crossed."""
    *_, documents, systems = study.rows
    if study.audit.rule == "paper":  # the papers resample nothing, or rows
        return None, None
    crossed = len(set(systems)) >= CROSSED_SYSTEMS and study.audit.over != "documents"
    sampled = documents if study.audit.over != "systems" or not crossed else None
    return sampled, systems if crossed else None


def _accuracy(study: Study) -> Draws | None:
    """Pairs of texts of one document (of all, where each document has one text) ordered as people do.

    Ties are right where people tie; a metric's threshold for a tie is the one that suits it best (Deutsch,
    Foster & Freitag, 2023), and is held fixed in resampling. None where there are no pairs, or too many.
    """
    items, rated = study.items, study.rated.tolist()
    members = grouped(rated, lambda place: items.documents[place] if items.grouped else "")
    groups = [np.array(places, dtype=np.intp) for places in members.values() if len(places) > 1]
    if not groups or sum(places.size**2 // 2 for places in groups) > _MOST_PAIRS:
        return None
    rows = [_group_accuracies(scores, study.human, groups) for scores in study.scores]
    return resampled.grouped_draws(rows, **study.audit.drawing)


def _group_accuracies(scores: Floats, human: Floats, groups: Sequence[np.ndarray]) -> list[float]:
    scored = [places[np.isfinite(scores[places])] for places in groups]
    used = np.concatenate(scored)
    if used.size < 2 or np.ptp(scores[used]) == 0:
        return [np.nan] * len(groups)
    labels = np.repeat(np.arange(len(scored)), [places.size for places in scored])
    epsilon = tie_threshold(scores[used], human[used], groups=labels)
    accuracies = (
        pairwise_accuracy(scores[places], human[places], epsilon=epsilon) if places.size else None
        for places in scored
    )
    return [np.nan if value is None else value for value in accuracies]


def system_agreements(study: Study) -> Iterator[Agreement]:
    """Agreement between systems' means; nothing below three systems that people rated."""
    human, over, drawing = study.human_table, study.audit.over, study.audit.drawing
    slice_, means, rule = f"system/{study.label}", system_means(human), study.audit.rule
    sampled = over != "documents"
    if np.isfinite(means).sum() < FEWEST_SYSTEMS:
        return
    for kind in study.audit.kinds:
        for answer in study.sets:
            draws = resampled.set_draws(*_by_system(study, answer), means, kind, seed=study.audit.seed)
            yield Agreement(slice_, kind, (answer.metric,), draws, rule)
    if not study.metrics:
        return
    for kind in study.audit.kinds:
        draws = resampled.system_draws(study.tables, human, kind, over=over, **drawing)
        yield Agreement(slice_, kind, study.metrics, draws, rule, sampled)
    draws = resampled.system_accuracy_draws(study.tables, human, over=over, **drawing)
    yield Agreement(slice_, _ACCURACY, study.metrics, draws, rule, sampled)
    for place, metric in enumerate(study.metrics):
        tables = study.complete([place])  # soft accuracy swaps documents: every system must have them
        if tables is not None and np.ptp(system_means(tables[0][0])) > 0:
            draws = resampled.soft_accuracy_draws(tables[0][0], tables[1], **drawing)
            yield Agreement(slice_, _SOFT_ACCURACY, (metric,), draws, rule)


def _by_system(study: Study, answer: Scored) -> tuple[Floats, Floats]:
    """A set metric's scores, one per system, and their resamples (systems x draws); nan where absent."""
    (role,) = study.audit.roles
    names = study.items.system_names
    drawn = answer.resamples.get(role, np.full((len(answer.cases), 1), np.nan))
    values, resamples = np.full(len(names), np.nan), np.full((len(names), drawn.shape[1]), np.nan)
    slices = {system_slice(study.part, name): place for place, name in enumerate(names)}
    for index, case in enumerate(answer.cases):
        place = slices.get(case.slice)
        if place is not None:
            values[place], resamples[place] = answer.values[role][index], drawn[index]
    return values, resamples


def system_slice(part: str, system: str) -> str:
    """The slice of a system's cases: a set metric scores one set for every system of every part."""
    return f"{part}/{system}" if part else system


def agreement_findings(study: Study, agreement: Agreement) -> list[Finding]:
    """One finding per metric; none where agreement is undefined."""
    findings, draws = [], agreement.draws
    for index, metric in enumerate(agreement.metrics):
        value = float(draws.values[index])
        if not np.isfinite(value):
            continue
        ci = agreement.interval(index)
        # Zero means "no agreement" for a correlation, not for a share of pairs.
        null = ci is not None and 0.0 in ci and agreement.statistic in _CORRELATIONS
        mde = mde_interval(ci, n_clusters=draws.clusters) if null else None
        estimate = interval_estimate(value, int(draws.sizes[index]), ci, mde=mde)
        headline = agreement.statistic == study.audit.headline
        evidence = study.disagreements.get(metric, ()) if headline else ()
        place = agreement.slice, agreement.statistic
        findings.append(Finding.of(metric, *place, estimate, evidence=evidence, judged=False))
    return findings
