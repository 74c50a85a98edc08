"""Perturbation checklists (*checklist*): does a score fall when one criterion of quality does, and only then?

Each row of the catalogue is a task, a criterion and a template. A score must fall by more than a margin under
a template that harms, and stay within a tolerance under one that does not, both in percent of the gap. Eq. 1
compares the fall with how much people mind. The paper's rule looks at the sign of the mean change alone, and
takes one penalty per template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.audits.checklist.rows import (
    LIMIT,
    OURS,
    STATISTICS,
    Penalties,
    complements,
    criterion_profile,
    default_penalties,
    is_harmful,
    read_penalties,
)
from assay.audits.corpora import could_matter, noticed_finding, outlier_notes
from assay.audits.gap import CLEAN, NOTICED, WORTHLESS, worthless_text
from assay.audits.languages import language_notes
from assay.audits.slices import (
    FEWEST,
    SliceScores,
    difference,
    ends,
    largest,
    mean_estimate,
    read_slices,
    spread_out,
)
from assay.core import Audit, Case, Estimate, Finding, Judgement, Record, Scored
from assay.datasets.records import embedded_records, read_records, read_text_sets, task_named
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.perturbations.checklist.catalogue import TASKS, Entry, applied, catalogue
from assay.statistics.estimates import proportion_interval
from assay.vocabulary import NonNegative, Rule


@dataclass(frozen=True)
class Checklist(Audit):
    """Fifty-one templates on the criteria of six tasks."""

    name = "checklist"
    question = "robustness"
    title = "Checklist of criteria"
    advice = "On the criteria it fails, let people judge or add a metric made for the criterion."
    statistics = STATISTICS
    roles = ("gold", "perturbed")

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    only: tuple[str, ...] = ()  # templates
    task: tuple[str, ...] = ()
    criterion: tuple[str, ...] = ()
    human: Path | None = None  # penalties: task, template, item?, penalty
    margin: float = NOTICED  # percent of the gap by which a score must fall
    tolerance: float = 5.0  # percent of the gap by which a harmless edit may move it
    deviation: float = 0.25  # of the scale: how far from people a metric may be

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Twenty items per task."""
        return {"limit": 20}

    @cached_property
    def _entries(self) -> list[Entry]:
        """The rows of the catalogue that were asked for."""
        entries = catalogue()
        wanted = {"template": self.only, "criterion": tuple(map(_path, self.criterion))}
        for kind, names in wanted.items():
            known = {_path(getattr(entry, kind)) for entry in catalogue()}
            for name in names:
                if name not in known:
                    raise DataError(f"unknown {kind} {name!r}{suggest(name, known)}")
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
        tasks = dict.fromkeys(record.task for record in records)
        grouped = {task: [r for r in records if r.task == task and task in TASKS] for task in tasks}
        return {task: spread_out(listed, self.limit) for task, listed in grouped.items()}

    def cases(self) -> Iterable[Case]:
        """One case per item and row that applies: the clean and the perturbed text."""
        return self._cases

    @cached_property
    def _cases(self) -> list[Case]:
        parse([record.gold for records in self._records.values() for record in records])
        cases: list[Case] = []
        for entry in self._entries:
            records = self._records.get(entry.task, [])
            changed = applied(entry, records, seed=self.seed)
            cases += [_case(entry, record, text, len(records)) for record, text in changed]
        return _with_own_ids(cases)

    @cached_property
    def _penalties(self) -> Penalties:
        return read_penalties(self.human) if self.human else default_penalties()

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Every row for every metric, then criteria and pairs of metrics."""
        slices = [
            scores for scores in read_slices(scored, self.seed, self.rule) if "perturbed" in scores.columns
        ]
        findings = [finding for scores in slices for finding in self._row_findings(scores)]
        findings += [*criterion_profile(slices, self.seed), *complements(slices, self.seed)]
        return Judgement(findings, [*self._notes(), *outlier_notes(slices)])

    def _row_findings(self, scores: SliceScores) -> Iterator[Finding]:
        change = scores.contrast(["perturbed"])
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
        yield from noticed_finding(scores, scores.slice, ["perturbed"], self.seed)
        if not scores.scored.is_set:
            yield from self._deviations(scores)
            applied_to, total = self._applied[scores.slice], int(self._by_id[scores.ids[0]].meta["total"])
            share = Estimate(applied_to / total, total, ends(proportion_interval(applied_to, total)))
            yield Finding.of(scores.scored, scores.slice, "applied_share", share)

    @cached_property
    def _applied(self) -> Counter[str]:
        """How many items each row changes."""
        return Counter(case.slice for case in self._cases)

    @cached_property
    def _by_id(self) -> dict[str, Case]:
        return {case.id: case for case in self._cases}

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
            deviation = mean_estimate(values, clusters=clusters, seed=self.seed, with_mde=True)
            deviation = replace(deviation, sensitive=scores.gap.sensitive)
            yield Finding.of(
                scores.scored, scores.slice, name, deviation,
                evidence=largest(ids, np.abs(signed)), judged=judged,
            )  # fmt: skip

    def _notes(self) -> list[str]:
        """Whose severities were used, and rows that found nothing to change."""
        notes = [] if self.human else [OURS]
        files = ", ".join(path.name for path in self.data)
        for task, records in self._records.items():
            templates = [entry.perturbation for entry in self._entries if entry.task == task]
            notes += language_notes(files or task, records, templates, "templates")
        applied_to = {case.slice for case in self._cases}
        silent = [e.slice for e in self._entries if e.task in self._records and e.slice not in applied_to]
        if silent:
            notes.append(f"templates that applied to no item: {', '.join(silent)}")
        unread = [task for task in self._records if task not in TASKS]
        return notes + [
            f"no template is made for the task {task}; its items were left out" for task in unread
        ]


def _path(criterion: str) -> str:
    return criterion.strip().lower().replace(" ", "-")


def _case(entry: Entry, record: Record, changed: str, total: int) -> Case:
    """One case: both texts against the same references, without one that serves as the perturbed text."""
    others = tuple(reference for reference in record.references if reference != changed)
    meta = {
        "task": entry.task, "criterion": entry.criterion, "template": entry.template, "item": record.id,
        "expect": entry.expect, "severity": entry.severity, "cluster": str(record.meta.get("doc", record.id)),
        "total": total, "matters": entry.expect == "same" or could_matter(record, changed),
    }  # fmt: skip
    seen = replace(record, references=others)
    samples = {CLEAN: seen.sample(), "perturbed": seen.sample(changed)}
    worthless = worthless_text(record.gold, record.others, record.key)
    if worthless is not None:
        samples[WORTHLESS] = seen.sample(worthless)
    return Case(f"{entry.slice}/{record.id}", samples, entry.slice, meta)


def _with_own_ids(cases: Sequence[Case]) -> list[Case]:
    """Records of several files may share an id: later ones get a number."""
    counts: dict[str, int] = {}
    numbered = []
    for case in cases:
        counts[case.id] = counts.get(case.id, 0) + 1
        numbered.append(case if counts[case.id] == 1 else replace(case, id=f"{case.id}#{counts[case.id]}"))
    return numbered
