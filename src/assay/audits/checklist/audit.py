"""Perturbation checklists (*checklist*): does a score fall when one criterion of quality does, and only then?

Each row of the catalogue is a task, a criterion and a template. A score must fall by more than a margin under
a template that harms, and stay within a tolerance under one that does not, both in SDs of the clean scores.
Eq. 1 compares the fall with how much people mind. The paper's rule looks at the sign of the mean change
alone, and takes one penalty per template.
"""

from __future__ import annotations

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
    Changes,
    Penalties,
    changes_by_slice,
    complements,
    criterion_profile,
    default_penalties,
    is_harmful,
    mean_estimate,
    read_penalties,
)
from assay.audits.slices import FEWEST, ends, read_slices, spread_out
from assay.core import Audit, Case, Estimate, Finding, Floats, Judgement, Record, Scored
from assay.datasets.records import embedded_records, read_records, read_text_sets, task_named
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.perturbations.checklist.catalogue import TASKS, Entry, applied, catalogue
from assay.statistics.estimates import proportion_interval
from assay.statistics.permutation import sign_flip_test
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
    margin: float = 0.1  # SDs of clean scores by which a score must fall
    tolerance: float = 0.25  # SDs of clean scores by which a harmless edit may move it
    least_lower: float = 0.5  # share of items whose score falls: no better than a coin below it
    least_same: float = 0.8  # share of items that a harmless edit leaves within the tolerance
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
        findings = list(self._set_changes([answer for answer in scored if answer.is_set]))
        single = [(answer, changes_by_slice(answer)) for answer in scored if not answer.is_set]
        for answer, rows in single:
            scales = _task_ranges(rows)
            for row in rows:
                findings += self._row_findings(answer, row, scales[row.task])
            findings += criterion_profile(answer, rows, self.tolerance, self.seed)
        findings += complements(single, self.seed)
        return Judgement(findings, self._notes())

    def _set_changes(self, scored: Sequence[Scored]) -> Iterator[Finding]:
        """Changes of set scores, in SDs of an item as resampling shows them, or raw without resamples."""
        for scores in read_slices(scored, self.seed):
            if "perturbed" in scores.columns:
                known = scores if scores.draws is not None else replace(scores, sd=0.0)
                change = _with_paper(scores.slice, known.contrast(["perturbed"]))
                yield Finding.of(
                    scores.scored, scores.slice, "score_change", change,
                    evidence=scores.ids, judged=self._judges(scores.n),
                )  # fmt: skip

    def _judges(self, n: int) -> bool:
        return self.rule == "paper" or n >= FEWEST

    def _row_findings(self, answer: Scored, row: Changes, scale: tuple[float, float]) -> Iterator[Finding]:
        values, judged = row.change / row.sd, self._judges(row.n)
        tested = sign_flip_test(row.change, clusters=row.clusters, seed=self.seed)
        change = replace(mean_estimate(values, row.clusters, self.seed), p_value=tested.p_value)
        # Most wrong: the least fall, or the widest move under a harmless edit.
        evidence = row.evidence(row.change if row.is_harmful else np.abs(row.change))
        yield Finding.of(
            answer, row.slice, "score_change", _with_paper(row.slice, change),
            evidence=evidence, judged=judged,
        )  # fmt: skip
        rate = row.pass_rate(self.tolerance, self.seed)
        yield Finding.of(answer, row.slice, "pass_rate", rate, evidence=evidence, judged=judged)
        yield from self._deviations(answer, row, scale)
        total = int(row.cases[0].meta["total"])
        share = Estimate(row.n / total, total, ends(proportion_interval(row.n, total)))
        yield Finding.of(answer, row.slice, "applied_share", share)

    def _deviations(self, answer: Scored, row: Changes, scale: tuple[float, float]) -> Iterator[Finding]:
        """Eq. 1 with f scaled to [0, 1] over the task: below 0 the metric is more lenient than people."""
        penalties = [self._penalties.of(case, self.rule) for case in row.cases]
        positions = [position for position, penalty in enumerate(penalties) if penalty is not None]
        if not positions:
            return
        people = np.array([penalties[position] for position in positions], dtype=np.float64) / LIMIT
        low, high = scale
        fall = row.change[positions] / (high - low) if high > low else np.zeros(len(positions))
        signed = -people - fall
        clusters = [row.clusters[position] for position in positions]
        evidence = row.evidence(np.abs(signed), positions)
        # Our own severities are no people: only a file of penalties can fail a metric.
        judged = self._penalties.by_people and len(positions) >= FEWEST
        for name, values in (("human_deviation", signed), ("absolute_human_deviation", np.abs(signed))):
            deviation = mean_estimate(values, clusters, self.seed)
            yield Finding.of(answer, row.slice, name, deviation, evidence=evidence, judged=judged)

    def _notes(self) -> list[str]:
        """Whose severities were used, and rows that found nothing to change."""
        notes = [] if self.human else [OURS]
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
        "total": total,
    }  # fmt: skip
    seen = replace(record, references=others)
    samples = {"gold": seen.sample(), "perturbed": seen.sample(changed)}
    return Case(f"{entry.slice}/{record.id}", samples, entry.slice, meta)


def _with_paper(slice_: str, change: Estimate) -> Estimate:
    """With the paper's criterion: the mean falls under a harmful edit, and does not under a harmless one."""
    return replace(change, paper=(change.value < 0) == is_harmful(slice_))


def _with_own_ids(cases: Sequence[Case]) -> list[Case]:
    """Records of several files may share an id: later ones get a number."""
    counts: dict[str, int] = {}
    numbered = []
    for case in cases:
        counts[case.id] = counts.get(case.id, 0) + 1
        numbered.append(case if counts[case.id] == 1 else replace(case, id=f"{case.id}#{counts[case.id]}"))
    return numbered


def _task_ranges(rows: Sequence[Changes]) -> dict[str, tuple[float, float]]:
    """The lowest and highest score of each task, clean and perturbed."""
    by_task: dict[str, list[Floats]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).extend([row.clean, row.clean + row.change])
    joined = {task: np.concatenate(values) for task, values in by_task.items()}
    return {task: (float(values.min()), float(values.max())) for task, values in joined.items()}
