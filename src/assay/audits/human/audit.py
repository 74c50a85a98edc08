"""Agreement with people: how far, on which criterion, and is one metric really better than another?

Slices: `example/CRITERION` (all texts), `example/CRITERION/by-document` (mean of documents' correlations),
`system/CRITERION` (systems' means), `system/CRITERION/top-K`, `system/CRITERION/difference-LOW-HIGH`,
`criteria/CRITERION`, `annotators/CRITERION`, `mean/CRITERION`. Correlations and shares are given as they are,
not times 100.

Sentinels stand in every table: baselines that compare the text with nothing. The one verdict, on the finding
`over_sentinel`, fails a metric whose agreement lies below the best of them and passes one above: where the
interval says so and q < .05. p is the larger of the bootstrap's and permutation-both's, so that no verdict
stands beside a note that the two are not told apart; q is over the metric's `over_sentinel` findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.human.compare import comparison_findings, sentinel_scores, williams_findings
from assay.audits.human.items import SENTINELS, Items
from assay.audits.human.levels import (
    FEWEST_SYSTEMS,
    Agreement,
    Board,
    Choices,
    SetScores,
    agreement_findings,
    disagreements,
    example_agreements,
    sentinel_findings,
    settled,
    system_agreements,
)
from assay.audits.human.people import annotator_findings, apart_message, criteria_findings, with_strengths
from assay.audits.human.use import curve_findings, label_findings, top_findings
from assay.core import Audit, Case, Finding, Floats, Scored
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.errors import DataError, suggest
from assay.statistics.correlation import Kind, system_means
from assay.statistics.resampled import Over
from assay.vocabulary import Question, Rule

ROLE = "hypothesis"
ALL = "all"  # the slice of texts that no system is named for
FEWEST = 3  # rated texts below which nothing is correlated


@dataclass(frozen=True)
class Human(Audit):
    """Rated texts, a case each; a set metric scores the texts of a system as one set."""

    name: ClassVar[str] = "human"
    question: ClassVar[Question] = "agreement"
    roles: ClassVar[tuple[str, ...]] = (ROLE,)
    needs_data: ClassVar[bool] = True  # assay carries no ratings

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None  # texts a file
    only: tuple[str, ...] = ()  # criteria
    skip_missing: bool = False
    level: Literal["example", "system"] | None = None  # both by default
    tau: Literal["b", "c"] | None = (
        None  # both by default; the one named is also what metrics are compared by
    )
    each_judgement: bool = False  # every rating its own row (caption table 7), at the level of all texts
    drop_self_references: bool = False  # leave out texts that are among their own references
    over: Over = "both"  # what is resampled: documents, systems or both (Deutsch, Dror & Roth, 2021)
    resamples: int = 1000
    sentinel_margin: float = 0.0  # how far above the best sentinel agreement must lie
    details: bool = True  # top-k curves, difference curves, prediction-powered means

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Left out of `assay audit`, which has no ratings; fewer resamples where asked for by name."""
        return {"skip": True, "resamples": 300}

    @cached_property
    def _read(self) -> list[Rated]:
        if not self.data:
            raise DataError("human needs ratings: give --data FILE with a column human{criterion: number}")
        found: list[Rated] = []
        for path in self.data:
            found += read_ratings(path, skip_missing=self.skip_missing)[: self.limit]
        if len({item.id for item in found}) < len(found):
            raise DataError("two data files share ids; join them into one file with ids of their own")
        return with_strengths(found)

    @cached_property
    def items(self) -> Items:
        """The texts that are judged."""
        kept = [item for item in self._read if not (self.drop_self_references and _is_own_reference(item))]
        items = Items(tuple(kept))
        if not items.criteria:
            raise DataError(
                f"{self.data[0]}: no text has a rating; give a column human{{criterion: number or [numbers]}}"
                + _unused(items, "; columns not used: ")
            )
        return items

    @cached_property
    def criteria(self) -> list[str]:
        """The criteria asked for."""
        for name in self.only:
            if name not in self.items.criteria:
                raise DataError(f"nobody judged {name!r}{suggest(name, self.items.criteria)}")
        return list(self.only or self.items.criteria)

    @cached_property
    def _heard(self) -> dict[str, None]:
        """What judging came upon, in order: notes for the reader."""
        return {}

    @property
    def _choices(self) -> Choices:
        kinds: tuple[Kind, ...] = ("pearson", "spearman")
        taus: tuple[Kind, ...] = ("kendall_b", "kendall_c")
        chosen = taus if self.tau is None else (taus[0 if self.tau == "b" else 1],)
        headline: Kind = "spearman" if self.tau is None else chosen[0]
        return Choices(
            kinds + chosen, headline, self.each_judgement, self.over, self.resamples, self.seed, self.rule
        )

    def cases(self) -> Iterable[Case]:
        """A case a text, sliced by system."""
        for item in self.items.rated:
            meta = {"doc": item.doc, "human": {name: list(given) for name, given in item.human.items()}}
            yield Case(item.id, {ROLE: item.sample}, item.system or ALL, meta)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """All criteria: metrics and sentinels against people, each other, and people among themselves."""
        self._heard.clear()
        board = self._board(scored)
        found: list[Finding] = []
        for criterion in self.criteria:
            if self._can_judge(criterion):
                found += self._judge_one(criterion, board)
        found = settled(found)
        found += [f for name in self.criteria for f in annotator_findings(self.items, name, self._choices)]
        between = criteria_findings(self.items, self.criteria, self._choices)
        self._say(apart_message(between))
        return found + between

    def _board(self, scored: Sequence[Scored]) -> Board:
        place = {item.id: index for index, item in enumerate(self.items.rated)}
        rows: dict[str, Floats] = {}
        sets: list[SetScores] = []
        for one in scored:
            if one.about.get("set"):
                sets.append(self._set_scores(one))
                continue
            row = np.full(len(self.items), np.nan)
            for case, value in zip(one.cases, one.values[ROLE], strict=True):
                row[place[case.id]] = value
            rows[one.metric] = row
        matrix = np.array(list(rows.values())).reshape(len(rows), len(self.items))
        return Board(tuple(rows), matrix, tuple(sets))

    def _set_scores(self, one: Scored) -> SetScores:
        names = self.items.system_names
        values = np.full(len(names), np.nan)
        draws = one.resamples.get(ROLE, np.full((len(one.cases), 1), np.nan))
        resamples = np.full((len(names), draws.shape[1]), np.nan)
        for index, case in enumerate(one.cases):
            if case.slice in names:
                values[names.index(case.slice)] = one.values[ROLE][index]
                resamples[names.index(case.slice)] = draws[index]
        return SetScores(one.metric, values, resamples)

    def _can_judge(self, criterion: str) -> bool:
        human = self.items.human(criterion)
        rated = human[np.isfinite(human)]
        if rated.size < FEWEST:
            self._say(f"{criterion}: {rated.size} rated texts, too few to correlate (at least {FEWEST})")
        elif np.ptp(rated) == 0:
            self._say(f"{criterion}: people gave every text {rated[0]:g}; nothing can correlate with that")
        return rated.size >= FEWEST and bool(np.ptp(rated) > 0)

    def _judge_one(self, criterion: str, board: Board) -> list[Finding]:
        choices, items = self._choices, self.items
        full = board.joined(sentinel_scores(items, criterion))
        found: list[Finding] = []
        if self.level != "system":
            agreements = example_agreements(items, criterion, full, choices)
            found += self._findings(agreements, criterion, full)
            found += williams_findings(items, criterion, board, choices)
        if self.level != "example":
            agreements = system_agreements(items, criterion, full, choices)
            found += self._findings(agreements, criterion, full)
            if not agreements:
                self._say(self._too_few_systems(criterion))
            elif self.details:
                found += top_findings(items, criterion, full, choices)
                found += curve_findings(items, criterion, full, choices)
        return found + (label_findings(items, criterion, board, choices) if self.details else [])

    def _findings(self, agreements: Sequence[Agreement], criterion: str, board: Board) -> list[Finding]:
        choices, human = self._choices, self.items.human(criterion)
        ids = [item.id for item in self.items.rated]
        evidence = {
            metric: disagreements(row, human, ids)
            for metric, row in zip(board.metrics, board.scores, strict=True)
        }
        found: list[Finding] = []
        for agreement in agreements:
            self._say_undefined(agreement)
            found += agreement_findings(agreement, choices, evidence)
            if agreement.statistic == choices.headline and len(agreement.metrics) > 1:
                compared = comparison_findings(agreement, self.items, criterion, board, choices)
                found += sentinel_findings(agreement, compared, choices, self.sentinel_margin)
                self._say_best(agreement, compared)
                found += compared
        return found

    def _say(self, message: str | None) -> None:
        if message:
            self._heard[message] = None

    def _say_undefined(self, agreement: Agreement) -> None:
        if agreement.statistic != self._choices.headline:
            return
        for metric, value in zip(agreement.metrics, agreement.draws.values, strict=True):
            if not np.isfinite(value) and metric not in SENTINELS:
                self._say(f"{agreement.slice}: {metric} does not vary there, so it has no correlation")

    def _say_best(self, agreement: Agreement, compared: Sequence[Finding]) -> None:
        """Name the best metric of a slice, and those it cannot be told from."""
        values = dict(zip(agreement.metrics, agreement.draws.values, strict=True))
        first = [f.metric for f in compared if f.statistic == "cluster" and f.value == 1.0]
        if first and agreement.slice.count("/") == 1:
            best, *rest = sorted(first, key=lambda name: -values[name])
            like = f", not told apart from {', '.join(rest)}" if rest else ""
            self._say(f"{agreement.slice}: best is {best} ({agreement.statistic} {values[best]:.3f}){like}")

    def _too_few_systems(self, criterion: str) -> str:
        table = self.items.table(self.items.human(criterion))
        judged = int(np.isfinite(system_means(table)).sum())
        return (
            f"system/{criterion}: {judged} systems; at least {FEWEST_SYSTEMS} that people judged are needed "
            "(column 'system')"
        )

    def notes(self) -> list[str]:
        """What was dropped, averaged or undefined, and what judging came upon."""
        items, notes = self.items, []
        dropped = len(self._read) - len(items)
        if dropped:
            notes.append(f"{dropped} texts that are among their own references were dropped")
        for criterion in self.criteria:
            notes += _rating_notes(items, criterion)
        if items.repeated:
            notes.append(f"{items.repeated} texts repeat a (doc, system): averaged at the level of systems")
        if all(item.doc is None for item in items.rated):
            notes.append("no column 'doc': texts that share a source or references are taken as one document")
        if unused := _unused(items, "columns not used: "):
            notes.append(unused)
        return [*notes, *self._heard]


def _unused(items: Items, title: str) -> str:
    names = sorted({column for item in items.rated for column in item.meta})
    return title + ", ".join(names) if names else ""


def _rating_notes(items: Items, criterion: str) -> list[str]:
    counts = [len(item.human.get(criterion, ())) for item in items.rated]
    notes = []
    missing = counts.count(0)
    if missing:
        notes.append(f"{criterion}: {missing} of {len(counts)} texts have no rating")
    given = {count for count in counts if count}
    if len(given) > 1:
        notes.append(f"{criterion}: {min(given)} to {max(given)} ratings a text; means weigh texts alike")
    return notes


def _is_own_reference(item: Rated) -> bool:
    text = item.sample.hypothesis.strip()
    return any(text == reference.strip() for reference in item.sample.references)
