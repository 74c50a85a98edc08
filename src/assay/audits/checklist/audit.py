"""Perturbation checklists (*checklist*): does a score fall when one criterion of quality does, and only then?

Each row of the catalogue is a task, a criterion and a template. A score must fall by more than a margin under
a template that harms, and stay within a tolerance under one that does not, both in units of the spread of the
unperturbed scores. Eq. 1 compares the fall with how much people mind. The paper's rule looks at the sign of
the mean change alone, and takes one penalty a template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.checklist.people import (
    LIMIT,
    OURS,
    Penalties,
    complements,
    criterion_profile,
    default_penalties,
    read_penalties,
)
from assay.audits.checklist.rows import (
    FEWEST,
    Changes,
    changes_by_slice,
    mean_interval,
    set_findings,
    share_interval,
)
from assay.audits.slices import spread_out
from assay.core import Audit, Case, Finding, Floats, Record, Scored
from assay.datasets.records import embedded_records, read_records, read_text_sets, task_named
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.perturbations.checklist.catalogue import TASKS, Entry, applied, catalogue
from assay.statistics.estimates import mde_interval, mde_mean, proportion_interval, verdict
from assay.statistics.permutation import sign_flip_test
from assay.vocabulary import Question, Rule


@dataclass(frozen=True)
class Checklist(Audit):
    """Fifty-one templates on the criteria of six tasks."""

    name: ClassVar[str] = "checklist"
    question: ClassVar[Question] = "robustness"
    roles: ClassVar[tuple[str, ...]] = ("gold", "perturbed")

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    only: tuple[str, ...] = ()  # templates
    task: tuple[str, ...] = ()
    criterion: tuple[str, ...] = ()
    human: Path | None = None  # penalties: task, template, item?, penalty
    margin: float = 0.1  # spreads by which a score must fall
    tolerance: float = 0.25  # spreads by which an invariance may move it
    least_lower: float = 0.5  # share of items whose score falls: no better than a coin below it
    least_same: float = 0.8  # share of items that an invariance leaves within the tolerance
    deviation: float = 0.25  # of the scale: how far from people a metric may be

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Twenty items a task."""
        return {"limit": 20}

    @cached_property
    def _rows(self) -> list[Entry]:
        """The catalogue's rows that were asked for."""
        known = {
            "template": {e.template for e in catalogue()},
            "criterion": {_path(e.criterion) for e in catalogue()},
        }
        asked = {"template": self.only, "criterion": tuple(map(_path, self.criterion))}
        for kind, names in asked.items():
            for name in names:
                if name not in known[kind]:
                    raise DataError(f"unknown {kind} {name!r}{suggest(name, known[kind])}")
        return [
            entry
            for entry in catalogue()
            if entry.template in (self.only or (entry.template,))
            and _path(entry.criterion) in (asked["criterion"] or (_path(entry.criterion),))
        ]

    @cached_property
    def _records(self) -> dict[str, list[Record]]:
        """Records by task; every one still knows all texts of its corpus."""
        named = [task_named(task) for task in self.task]
        found: list[Record] = []
        for path in self.data:
            if self.references is not None:
                found += read_text_sets(path, self.references, task=named[0] if named else "translation")
            else:
                found += read_records(path, task=named[0] if len(named) == 1 else None)
        if not self.data:
            found = [record for task in named or TASKS for record in embedded_records(task)]
        tasks = dict.fromkeys(record.task for record in found)
        grouped = {task: [r for r in found if r.task == task and task in TASKS] for task in tasks}
        return {task: spread_out(records, self.limit) for task, records in grouped.items()}

    def cases(self) -> Iterable[Case]:
        """An unperturbed and a perturbed text an item, for every row that applies."""
        return self._listed

    @cached_property
    def _listed(self) -> list[Case]:
        parse([record.gold for records in self._records.values() for record in records])
        made: list[Case] = []
        for entry in self._rows:
            records = self._records.get(entry.task, [])
            found = applied(entry, records, seed=self.seed)
            made += [_case(entry, record, text, len(records)) for record, text in found]
        return _with_own_ids(made)

    @cached_property
    def _penalties(self) -> Penalties:
        return read_penalties(self.human) if self.human else default_penalties()

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Every row for every metric, then profiles and pairs of metrics."""
        findings: list[Finding] = []
        single = [one for one in scored if not one.about.get("set")]
        rows = [(one.metric, changes_by_slice(one)) for one in single]
        for one in scored:
            if one.about.get("set"):
                findings += set_findings(one, self.margin, self.tolerance, self._expectations)
        for metric, found in rows:
            scale = _task_ranges(found)
            for row in found:
                findings += self._row_findings(metric, row, scale[row.slice.split("/")[0]])
            findings += criterion_profile(metric, found, self.tolerance, self.seed)
        return findings + complements(rows, self.seed)

    @cached_property
    def _expectations(self) -> dict[str, str]:
        return {entry.slice: entry.expect for entry in catalogue()}

    def _row_findings(self, metric: str, row: Changes, scale: tuple[float, float]) -> list[Finding]:
        found = [self._score_change(metric, row), self._pass_rate(metric, row)]
        return [*found, *self._deviations(metric, row, scale), _applied_share(metric, row)]

    def _score_change(self, metric: str, row: Changes) -> Finding:
        values = row.change / row.spread
        interval = mean_interval(values, row.clusters, self.seed)
        tested = sign_flip_test(row.change, clusters=row.clusters, seed=self.seed)
        value = float(values.mean())
        if self.rule == "paper":
            passed: bool | None = value < 0 if row.expect == "lower" else value >= 0
        elif row.n < FEWEST:
            passed = None
        elif row.expect == "lower":
            passed = verdict(interval, -self.margin, "above")
        else:
            passed = verdict(interval, self.tolerance, "either")
        return Finding(
            metric, self.name, row.slice, "score_change", value, row.n,
            ci=None if interval is None else interval.pair, p_value=tested.p_value,
            mde=mde_mean(values, clusters=row.clusters), passed=passed, evidence=_evidence(row),
        )  # fmt: skip

    def _pass_rate(self, metric: str, row: Changes) -> Finding:
        hits = row.passes(self.tolerance)
        interval = share_interval(hits, row.clusters, self.seed)
        least = self.least_lower if row.expect == "lower" else self.least_same
        judged = self.rule == "careful" and row.n >= FEWEST
        return Finding(
            metric, self.name, row.slice, "pass_rate", float(hits.mean()), row.n,
            ci=None if interval is None else interval.pair, mde=mde_interval(interval),
            passed=verdict(interval, least, "below") if judged else None, evidence=_evidence(row),
        )  # fmt: skip

    def _deviations(self, metric: str, row: Changes, scale: tuple[float, float]) -> list[Finding]:
        """Eq. 1 with f scaled to [0, 1] over the task: below 0 the metric is more lenient than people."""
        penalties = [self._penalties.of(case, self.rule) for case in row.cases]
        kept = [place for place, penalty in enumerate(penalties) if penalty is not None]
        if not kept:
            return []
        people = np.array([penalties[place] for place in kept], dtype=np.float64) / LIMIT
        low, high = scale
        fall = row.change[kept] / (high - low) if high > low else np.zeros(len(kept))
        signed = -people - fall
        clusters = [row.clusters[place] for place in kept]
        widest = np.argsort(-np.abs(signed), kind="stable")[:5]
        evidence = tuple(row.cases[kept[place]].id for place in widest)
        found = []
        for statistic, values in (("human_deviation", signed), ("absolute_human_deviation", np.abs(signed))):
            interval = mean_interval(values, clusters, self.seed)
            ci = None if interval is None else interval.pair
            made = Finding(metric, self.name, row.slice, statistic, float(values.mean()), len(kept), ci=ci)
            found.append(replace(made, mde=mde_mean(values, clusters=clusters), evidence=evidence))
        # Our own severities are no people: only a file of penalties can fail a metric.
        judged = self._penalties.by_people and len(kept) >= FEWEST and self.rule == "careful"
        passed = verdict(found[0].ci, self.deviation, "either") if judged else None
        return [replace(found[0], passed=passed), found[1]]

    def notes(self) -> list[str]:
        """Whose severities were used, and rows that found nothing to change."""
        lines = [] if self.human else [OURS]
        there = {case.slice for case in self._listed}
        silent = [e.slice for e in self._rows if e.task in self._records and e.slice not in there]
        if silent:
            lines.append(f"templates that applied to no item: {', '.join(silent)}")
        unread = [task for task in self._records if task not in TASKS]
        return lines + [
            f"no template is made for the task {task}; its items were left out" for task in unread
        ]


def _path(criterion: str) -> str:
    return criterion.strip().lower().replace(" ", "-")


def _case(entry: Entry, record: Record, changed: str, total: int) -> Case:
    """A case; a reference that serves as the perturbed text changes places with the gold (figure 4).

    Each of the two then meets all other texts of the item: as many, and the same but for one another.
    """
    others = tuple(record.gold if reference == changed else reference for reference in record.references)
    meta = {
        "task": entry.task, "criterion": entry.criterion, "template": entry.template, "item": record.id,
        "expect": entry.expect, "severity": entry.severity, "cluster": str(record.meta.get("doc", record.id)),
        "total": total,
    }  # fmt: skip
    seen = replace(record, references=others)
    samples = {"gold": record.sample(), "perturbed": seen.sample(changed)}
    return Case(f"{entry.slice}/{record.id}", samples, entry.slice, meta)


def _with_own_ids(cases: Sequence[Case]) -> list[Case]:
    """Records of several files may share an id: later ones get a number."""
    counts: dict[str, int] = {}
    made = []
    for case in cases:
        counts[case.id] = counts.get(case.id, 0) + 1
        made.append(case if counts[case.id] == 1 else replace(case, id=f"{case.id}#{counts[case.id]}"))
    return made


def _task_ranges(rows: Sequence[Changes]) -> dict[str, tuple[float, float]]:
    """The lowest and highest score of a task, gold and perturbed."""
    seen: dict[str, list[Floats]] = {}
    for row in rows:
        seen.setdefault(row.slice.split("/")[0], []).extend([row.gold, row.gold + row.change])
    joined = {task: np.concatenate(values) for task, values in seen.items()}
    return {task: (float(values.min()), float(values.max())) for task, values in joined.items()}


def _evidence(row: Changes) -> tuple[str, ...]:
    """The items where the metric is most wrong: least fall, or widest move of an invariance."""
    wrong = row.change if row.expect == "lower" else np.abs(row.change)
    return tuple(row.cases[place].id for place in np.argsort(-wrong, kind="stable")[:5])


def _applied_share(metric: str, row: Changes) -> Finding:
    total = int(row.cases[0].meta["total"])
    interval = proportion_interval(row.n, total)
    ci = None if interval is None else interval.pair
    return Finding(metric, Checklist.name, row.slice, "applied_share", row.n / total, total, ci=ci)
