"""Agreement of scores with ratings: over all texts, within documents, and between systems.

Agreement in order counts decisions: of two texts that people rate differently, a metric is right if it scores
the one that they prefer higher, and half right if it scores both alike. 100 is always right, 50 is a coin. It
is 50 (1 + d), d Somers' d of scores given ratings, and is resampled as that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.audits.effects import EVIDENCE, interval_estimate
from assay.audits.human.items import Items
from assay.core import Finding, Floats, Scored
from assay.grouping import grouped
from assay.statistics import resampled
from assay.statistics.correlation import Coefficient, average_ranks, grouped_correlations, system_means
from assay.statistics.intervals import Interval, interval_of
from assay.statistics.resampled import Draws
from assay.statistics.significance import pairwise_accuracy, tie_threshold
from assay.vocabulary import Rule

if TYPE_CHECKING:
    from assay.audits.human.audit import Human

ORDER = "agreement_order"
COIN_ORDER = 50.0  # the agreement in order of a metric that tosses a coin
KINDS: Mapping[str, Coefficient] = {
    ORDER: "somers_d", "pearson": "pearson", "spearman": "spearman", "kendall_b": "kendall_b",
    "kendall_c": "kendall_c",
}  # fmt: skip
FEWEST_TEXTS = 10  # texts or documents below which an interval hardly holds, so that there is no verdict
FEWEST_SYSTEMS = 3
LEVEL = 0.95
BY_DOCUMENT = "/by-document"
CROSSED_SYSTEMS = 5  # fewer systems are taken as they are, not as a sample of systems; no verdict on systems
_SYSTEM_RESAMPLES = 200  # of systems within documents: each correlates every document anew
_MOST_PAIRS = 2_000_000  # pairs of texts above which no threshold for ties is looked for
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

    def by_document(self, kind: Coefficient) -> Floats:
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
class LevelAgreement:
    """One statistic of some metrics in one slice, resampled together."""

    slice: str
    statistic: str
    metrics: tuple[str, ...]
    draws: Draws
    rule: Rule
    sampled: bool = True  # whether what is correlated was resampled, and not only what its means rest on

    def interval(self, index: int, level: float = LEVEL) -> Interval | None:
        """The interval of one metric's agreement."""
        value, draws, clusters = self.draws.values[index], self.draws.draws[index], self.draws.clusters
        if self.rule == "paper":
            return interval_of(draws, n_clusters=clusters, corrected=False)
        if self.statistic not in KINDS:
            return resampled.bounded_interval(value, draws, lowest=0.0, n_clusters=clusters, level=level)
        if self.statistic == ORDER:
            interval = self._correlation_interval(
                value / COIN_ORDER - 1, draws / COIN_ORDER - 1, index, level
            )
            return interval and Interval(
                COIN_ORDER * (1 + interval.low), COIN_ORDER * (1 + interval.high), level
            )
        return self._correlation_interval(value, draws, index, level)

    def _correlation_interval(self, value: float, draws: Floats, index: int, level: float) -> Interval | None:
        clusters = self.draws.clusters
        if self.slice.endswith(BY_DOCUMENT):
            return resampled.bounded_interval(value, draws, lowest=-1.0, n_clusters=clusters, level=level)
        rows = int(self.draws.sizes[index]) if self.sampled else None
        return resampled.correlation_interval(
            value, draws, KINDS[self.statistic], n_clusters=clusters, n_rows=rows, level=level
        )

    def difference(self, i: int, j: int, level: float = LEVEL) -> Interval | None:
        """The interval of the difference between two metrics."""
        draws = self.draws.draws
        if self.rule == "paper":
            return interval_of(draws[i] - draws[j], n_clusters=self.draws.clusters, corrected=False)
        values = float(self.draws.values[i]), float(self.draws.values[j])
        sides = self.interval(i, level), self.interval(j, level)
        return resampled.difference_interval(values, sides, resampled.draws_correlation(draws[i], draws[j]))

    @property
    def can_be_judged(self) -> bool:
        """Whether there is enough for a verdict: texts or documents, or systems."""
        fewest = CROSSED_SYSTEMS if self.slice.startswith("system/") else FEWEST_TEXTS
        return int(self.draws.sizes.max(initial=0)) >= fewest


def _agreement(
    study: Study, slice_: str, statistic: str, draws: Draws, *, sampled: bool = True
) -> LevelAgreement:
    """The agreement of all sample metrics; agreement in order is given in percent."""
    draws = in_percent(draws) if statistic == ORDER else draws
    return LevelAgreement(slice_, statistic, study.metrics, draws, study.audit.rule, sampled)


def in_percent(draws: Draws) -> Draws:
    """Somers' d as the share of pairs in the right order."""
    return replace(draws, values=COIN_ORDER * (1 + draws.values), draws=COIN_ORDER * (1 + draws.draws))


def example_agreements(study: Study) -> Iterator[LevelAgreement]:
    """Agreement over all texts; and where documents have several texts, within documents."""
    slice_, statistics, drawing = f"example/{study.label}", study.audit.agreements, study.audit.drawing
    scores, human, *_ = study.rows
    clusters, crossed = _clusters(study)
    for name in statistics:
        draws = resampled.pooled_draws(
            scores, human, KINDS[name], clusters=clusters, crossed=crossed, **drawing
        )
        yield _agreement(study, slice_, name, draws)
    within = slice_ + BY_DOCUMENT if study.items.grouped else slice_
    for name in statistics if study.items.grouped else ():
        yield _agreement(study, within, name, _document_draws(study, KINDS[name]))
    accuracy = _accuracy(study)
    if accuracy is not None:
        yield _agreement(study, within, _ACCURACY, accuracy)


def _document_draws(study: Study, kind: Coefficient) -> Draws:
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

    Ties of people count here, as in mt-metrics-eval: a tie is right where people tie. A metric's threshold
    for a tie is the one that suits it best (Deutsch, Foster & Freitag, 2023), and is held fixed in
    resampling. None where there are no pairs, or too many.
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


def system_agreements(study: Study) -> Iterator[LevelAgreement]:
    """Agreement between systems' means; nothing below three systems that people rated."""
    human, over, drawing = study.human_table, study.audit.over, study.audit.drawing
    slice_, means = f"system/{study.label}", system_means(human)
    if np.isfinite(means).sum() < FEWEST_SYSTEMS:
        return
    for answer in study.sets:
        alone = replace(study, metrics=(answer.metric,))
        for name in study.audit.agreements:
            scored = _by_system(study, answer)
            draws = resampled.set_draws(*scored, means, KINDS[name], seed=study.audit.seed)
            yield _agreement(alone, slice_, name, draws)
    if not study.metrics:
        return
    for name in study.audit.agreements:
        draws = resampled.system_draws(study.tables, human, KINDS[name], over=over, **drawing)
        yield _agreement(study, slice_, name, draws, sampled=over != "documents")
    for place, metric in enumerate(study.metrics):
        tables = study.complete([place])  # soft accuracy swaps documents: every system must have them
        if tables is not None and np.ptp(system_means(tables[0][0])) > 0:
            draws = resampled.soft_accuracy_draws(tables[0][0], tables[1], **drawing)
            yield _agreement(replace(study, metrics=(metric,)), slice_, _SOFT_ACCURACY, draws)


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


def level_findings(study: Study, agreement: LevelAgreement) -> list[Finding]:
    """One finding per metric; none where agreement is undefined."""
    findings, draws = [], agreement.draws
    for index, metric in enumerate(agreement.metrics):
        value = float(draws.values[index])
        if not np.isfinite(value):
            continue
        estimate = interval_estimate(value, int(draws.sizes[index]), agreement.interval(index))
        evidence = study.disagreements.get(metric, ()) if agreement.statistic == ORDER else ()
        place = metric, agreement.slice, agreement.statistic
        findings.append(Finding.of(*place, estimate, evidence=evidence))
    return findings
