"""Perturbation checklists (*checklist*): does a score fall when one criterion of quality does, and only then?

Each row of the catalogue is a task, a criterion and a template. A score must fall by more than a margin under
a template that harms, and stay within a tolerance under one that does not, both in percent of the gap. Eq. 1
compares the fall with how much people mind. The paper's rule looks at the sign of the mean change alone, and
takes one penalty per template.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.audits.base import TextAudit, check_known, declared
from assay.audits.corpora import could_matter, equally_near, language_notes, outlier_notes
from assay.audits.gap import CLEAN, NOTICED, WORTHLESS, with_worthless
from assay.audits.slices import (
    FEWEST,
    SliceScores,
    difference,
    grouped,
    interval_estimate,
    largest,
    mean_estimate,
    read_slices,
    spread_out,
)
from assay.core import Case, Estimate, Finding, Interval, Judgement, MadeOnce, Record, Scored
from assay.datasets.published.corpora import read_records
from assay.datasets.records import embedded_records, read_text_sets, task_named
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.perturbations.checklist.catalogue import TASKS, Entry, applied, catalogue
from assay.statistics.estimates import proportion_interval
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Rule


def _edit(finding: Finding) -> tuple[str, str]:
    """The template of a finding in words, and the task."""
    task, _, template = finding.slice.split("/")
    return next((entry.edit for entry in catalogue() if entry.template == template), f"“{template}”"), task


@declared(in_words=_edit)
@dataclass(frozen=True)
class Checklist(MadeOnce, TextAudit):
    """Templates on the criteria of six tasks."""

    name = "checklist"
    roles = ("gold", "perturbed")

    limit: int | None = None
    only: tuple[str, ...] = ()  # templates
    task: tuple[str, ...] = ()
    criterion: tuple[str, ...] = ()
    human: Path | None = None  # penalties: task, template, item?, penalty
    margin: float = NOTICED  # percent of the gap by which a score must fall
    tolerance: float = 5.0  # percent of the gap by which a harmless edit may move it
    deviation: float = 0.25  # of the scale: how far from people a metric may be

    @cached_property
    def _entries(self) -> list[Entry]:
        entries = catalogue()
        wanted = {"template": self.only, "criterion": tuple(map(_path, self.criterion))}
        for kind, names in wanted.items():
            known = {_path(getattr(entry, kind)) for entry in catalogue()}
            check_known(f"unknown {kind}", names, known)
            if names:
                entries = tuple(entry for entry in entries if _path(getattr(entry, kind)) in names)
        return list(entries)

    @cached_property
    def _records(self) -> dict[str, list[Record]]:
        """Records by task; every one still knows all texts of its corpus."""
        named = [task_named(task) for task in self.task]
        records: list[Record] = []
        for path in self.data:
            if self.references is not None:
                records += read_text_sets(path, self.references, task=named[0] if named else "translation")
            else:
                records += read_records(path, task=named[0] if len(named) == 1 else None)
        if not self.data:
            records = [record for task in named or TASKS for record in embedded_records(task)]
        by_task = grouped(records, lambda record: record.task)
        usable = {task: listed if task in TASKS else [] for task, listed in by_task.items()}
        return {task: spread_out(listed, self.limit) for task, listed in usable.items()}

    def make_cases(self) -> list[Case]:
        """One case per item and row that applies: the clean and the perturbed text."""
        parse([record.gold for records in self._records.values() for record in records])
        cases: list[Case] = []
        for entry in self._entries:
            records = self._records.get(entry.task, [])
            changed = applied(entry, records, seed=self.seed)
            cases += [_case(entry, record, text, len(records)) for record, text in changed]
        if not cases and (reasons := self._language_notes()):
            raise DataError(f"{'; '.join(reasons)}; assay run stress has noises for any language")
        return _with_own_ids(cases)

    def _language_notes(self) -> list[str]:
        files, notes = ", ".join(path.name for path in self.data), list[str]()
        for task, records in self._records.items():
            templates = [entry.perturbation for entry in self._entries if entry.task == task]
            notes += language_notes(files or task, records, templates, "templates")
        return notes

    @cached_property
    def _penalties(self) -> Penalties:
        if self.human:
            return read_penalties(self.human)
        return Penalties({(e.task, e.template): e.severity for e in catalogue()}, by_people=False)

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        every = read_slices(scored, self.seed, self.rule)
        slices = [scores for scores in every if "perturbed" in scores.columns]
        findings = [finding for scores in slices for finding in self._row_findings(scores)]
        findings += criterion_profile(slices, self.seed)
        return Judgement(findings, [*self._notes(), *outlier_notes(slices)])

    def _row_findings(self, scores: SliceScores) -> Iterator[Finding]:
        change = scores.contrast(["perturbed"])
        if not is_harmful(scores.slice):
            change = replace(change, decisive=_beyond_spread(change, scores))
        # The paper: the mean falls under a harmful edit, and does not under a harmless one.
        change = replace(change, paper=(change.value < 0) == is_harmful(scores.slice))
        weights = difference(["perturbed"])
        sign = 1.0 if is_harmful(scores.slice) or change.value > 0 else -1.0
        evidence = scores.top_items({role: sign * weight for role, weight in weights.items()})
        enough = scores.n >= FEWEST and WORTHLESS in scores.columns
        yield Finding.of(
            scores.scored, scores.slice, "score_change", change,
            evidence=evidence, judged=self.rule == "paper" or enough,
        )  # fmt: skip
        yield from scores.noticed(scores.slice, ["perturbed"], self.seed)
        if not scores.scored.is_set:
            yield from self._deviations(scores)
            applied_to, total = self._applied[scores.slice], int(self._by_id[scores.ids[0]].meta["total"])
            share = interval_estimate(applied_to / total, total, proportion_interval(applied_to, total))
            yield Finding.of(scores.scored, scores.slice, "applied_share", share)

    @cached_property
    def _applied(self) -> Counter[str]:
        return Counter(case.slice for case in self.made)

    @cached_property
    def _by_id(self) -> dict[str, Case]:
        return {case.id: case for case in self.made}

    def _deviations(self, scores: SliceScores) -> Iterator[Finding]:
        """Eq. 1 with the fall as a share of the gap: below 0 the metric is more lenient than people."""
        penalties = [self._penalties.of(self._by_id[name], self.rule) for name in scores.ids]
        places = [place for place, penalty in enumerate(penalties) if penalty is not None]
        if not places:
            return
        people = np.array([penalties[place] for place in places], dtype=np.float64) / LIMIT
        signed = -people - scores.item_values(difference(["perturbed"]))[places] / scores.gap.unit
        clusters = [scores.clusters[place] for place in places]
        ids = [scores.ids[place] for place in places]
        # Our own severities are no people: only a file of penalties can fail a metric.
        judged = self._penalties.by_people and len(places) >= FEWEST
        for name, values in (("human_deviation", signed), ("absolute_human_deviation", np.abs(signed))):
            options = {"with_mde": True, "sensitive": scores.gap.sensitive}
            deviation = mean_estimate(values, clusters=clusters, seed=self.seed, **options)
            yield Finding.of(
                scores.scored, scores.slice, name, deviation,
                evidence=largest(ids, np.abs(signed)), judged=judged,
            )  # fmt: skip

    def _notes(self) -> list[str]:
        """Whose severities were used, and rows that found nothing to change."""
        notes = [*([] if self.human else [OURS]), *self._language_notes()]
        applied_to = {case.slice for case in self.made}
        silent = [e.slice for e in self._entries if e.task in self._records and e.slice not in applied_to]
        if silent:
            notes.append(f"templates that applied to no item: {', '.join(silent)}")
        unread = [task for task in self._records if task not in TASKS]
        left_out = "its items were left out"
        return notes + [f"no template is made for the task {task}; {left_out}" for task in unread]


def _path(criterion: str) -> str:
    return criterion.strip().lower().replace(" ", "-")


def _case(entry: Entry, record: Record, changed: str, total: int) -> Case:
    """One case: both texts against the same references, without one that serves as the perturbed text."""
    others = tuple(reference for reference in record.references if reference != changed)
    meta = {
        "task": entry.task, "criterion": entry.criterion, "template": entry.template, "item": record.id,
        "expect": entry.expect, "severity": entry.severity, "cluster": str(record.meta.get("doc", record.id)),
        "total": total, "matters": _could_matter(entry, record, changed, others),
    }  # fmt: skip
    seen = replace(record, references=others)
    samples = {CLEAN: seen.sample(), "perturbed": seen.sample(changed)}
    samples = with_worthless(samples, record.others, record.key)
    return Case(f"{entry.slice}/{record.id}", samples, entry.slice, meta)


def _could_matter(entry: Entry, record: Record, changed: str, references: Sequence[str]) -> bool:
    """Whether an edit counts for metrics that compare with the references: see `could_matter`.

    Two texts by different people must have the same right to be like the references that remain.
    """
    if entry.expect != "same":
        return could_matter(record, changed)
    return entry.template != "alternative-reference" or equally_near(references, record.gold, changed)


def _with_own_ids(cases: Sequence[Case]) -> list[Case]:
    """Records of several files may share an id: later ones get a number."""
    counts: dict[str, int] = {}
    numbered = []
    for case in cases:
        counts[case.id] = counts.get(case.id, 0) + 1
        numbered.append(case if counts[case.id] == 1 else replace(case, id=f"{case.id}#{counts[case.id]}"))
    return numbered


INVARIANCE = "invariance"  # the criterion of templates that should leave the score as it is


def is_harmful(slice_: str) -> bool:
    """Whether the templates of a slice should lower the score."""
    return INVARIANCE not in slice_.split("/")


def _beyond_spread(change: Estimate, scores: SliceScores) -> Interval | None:
    """The interval of a harmless edit, its inner end in a unit no smaller than the spread of clean scores.

    Where clean texts differ more from each other than from worthless ones, a small percentage of the gap is
    next to nothing: there the edit must also move the score by that percentage of their standard deviation.
    """
    if change.ci is None or scores.scored.is_set:
        return None
    spread = float(scores.columns[CLEAN].std(ddof=1)) if scores.n > 1 else 0.0
    shrink = min(1.0, scores.gap.unit / spread) if spread > 0 else 1.0
    low, high = change.ci
    return low * (shrink if low > 0 else 1.0), high * (shrink if high < 0 else 1.0)


def criterion_profile(slices: Sequence[SliceScores], seed: int) -> Iterator[Finding]:
    """By metric and criterion, the share of items noticed, averaged over templates."""
    harmful = (scores for scores in slices if is_harmful(scores.slice) and not scores.scored.is_set)
    rows = grouped(harmful, lambda scores: (scores.scored.metric, scores.slice.split("/")[1]))
    for (_, criterion), listed in rows.items():
        shares = np.concatenate([scores.noticed_shares(["perturbed"]) for scores in listed])
        weights = np.concatenate([np.full(scores.n, 1.0 / scores.n) for scores in listed])
        clusters = [cluster for scores in listed for cluster in scores.clusters]
        interval = bootstrap_mean(shares, clusters=clusters, weights=weights, seed=seed)
        share = interval_estimate(np.average(shares, weights=weights), shares.size, interval)
        yield Finding.of(listed[0].scored, criterion, "criterion_noticed", share)


LIMIT = 10.0
OURS = (
    "human_deviation rests on assay's own severity defaults (docs/catalogue.md), not on people's penalties; "
    "give --human FILE to measure against people"
)


@dataclass(frozen=True, slots=True)
class Penalties:
    """Mean penalties on the scale of 0 to 10, by (task, template) and by (task, template, item)."""

    means: Mapping[tuple[str, ...], float]
    by_people: bool

    def of(self, case: Case, rule: Rule) -> float | None:
        """A case's penalty: its own, else its template's; the paper asked about templates only."""
        place = tuple(str(case.meta[key]) for key in ("task", "template", "item"))
        own = self.means.get(place) if rule == "careful" else None
        return self.means.get(place[:2]) if own is None else own


def read_penalties(path: Path) -> Penalties:
    """Rows of `task, template, penalty, item?`; a penalty is a number, or a list with one per person."""
    templates = [entry.template for entry in catalogue()]
    given: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in read_rows(path):
        task, template = _known(row, "task", TASKS), _known(row, "template", templates)
        penalties = _penalties(row)
        given[task, template] += penalties
        if row.has("item"):
            given[task, template, row.text("item")] += penalties
    return Penalties({place: float(np.mean(numbers)) for place, numbers in given.items()}, by_people=True)


def _known(row: Row, column: str, names: Sequence[str]) -> str:
    value = row.text(column)
    if value not in names:
        raise row.fail(f"unknown {column} {value!r}{suggest(value, set(names))}")
    return value


def _penalties(row: Row) -> list[float]:
    value = row.values.get("penalty")
    given = value if isinstance(value, list) else [row.number("penalty")]
    numbers = [float(item) for item in given if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) != len(given) or not numbers or not all(0.0 <= item <= LIMIT for item in numbers):
        raise row.fail(f"column 'penalty' must be a number from 0 to {LIMIT:g}, or a list of them")
    return numbers
