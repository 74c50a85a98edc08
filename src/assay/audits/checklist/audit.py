"""Perturbation checklists (*checklist*): does a metric prefer a text to one that fails a single criterion?

Each row of the catalogue is a task, a criterion and a template. Of the clean text and the one that a harmful
template makes, a metric must score the clean one higher. Harmless templates are asked too: how often such a
text scores as high as the clean one is shown and not judged. By the paper's rule the mean must fall under a
harmful template and not under a harmless one, and Eq. 1 compares the fall with how much people mind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.base import TextAudit, check_known, order_in_words, spread_out
from assay.audits.corpora import (
    MEAN_CHANGE,
    MEAN_KEPT,
    REWORDED_STATISTIC,
    apart_from_references,
    in_content_order,
    language_notes,
    matched_rewording,
    mean_change,
    pooled_order,
    right_order_statistic,
    titles,
    with_one_reference,
)
from assay.audits.effects import (
    BAR,
    CLEAN,
    REWORDED,
    AlignedScores,
    outcome,
    read_slices,
    right_order,
    row_means,
)
from assay.core import Case, Estimate, Finding, Judgement, MadeOnce, Record, Scored, Statistic
from assay.datasets.published.corpora import read_records
from assay.datasets.records import embedded_records, read_text_sets, task_named
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, suggest
from assay.grouping import rows_by_label
from assay.models import fill
from assay.models.nlp import parse
from assay.names.registry import plugged
from assay.perturbations.checklist.catalogue import Entry, applied, catalogue
from assay.statistics.estimates import share_interval
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import CHECKLIST_TASKS, DataKind, Question, Rule, aspect_of

PERTURBED = "perturbed"
MASKED_WORDS = "masked-words"  # the template that asks a language model
_EVERYTHING = "all"


def _sentence(finding: Finding) -> str:
    task, _, template = finding.slice.split("/")
    edit = next((entry.edit for entry in catalogue() if entry.template == template), f"“{template}”")
    return order_in_words(finding, f"a clean text ({task})", f"one with {edit}")


@dataclass(frozen=True)
class Checklist(MadeOnce, TextAudit):
    """Templates on the criteria of six tasks."""

    name = "checklist"
    title = "Checklist of criteria"
    question: ClassVar[Question] = "robustness"
    advice = "On the criteria it fails, let people judge or add a metric made for the criterion."
    reads: ClassVar[DataKind] = "records"
    roles = (CLEAN, PERTURBED)
    quick: ClassVar[Mapping[str, Any]] = {"asks_model": False}
    statistics = (
        right_order_statistic("a clean text and one that a template harms", "", sentence=_sentence),
        REWORDED_STATISTIC,
        Statistic(
            "mean_right_order",
            "Right order averaged over the harmful templates that change what a text means, or over those "
            "that change its form; by task and over all tasks.",
            "of 100", headline=True,
        ),
        Statistic(
            "mean_right_order_reworded",
            "The same average with sound rewordings in place of the clean texts.",
            "of 100", headline=True,
        ),
        Statistic("criterion_order", "Right order averaged over the templates of one criterion.", "of 100"),
        Statistic(
            "criteria_apart",
            "Of 100 pairs of a template that changes the meaning of a text and one that changes its form, on "
            "the same item, in how many the change of meaning costs more: 50 tells nothing apart.",
            "of 100",
        ),
        MEAN_CHANGE,
        MEAN_KEPT,
        Statistic(
            "human_deviation",
            "Eq. 1: how far the fall of the score is from how much people mind, on the scale of 0 to 1: 0 is "
            "like people, below 0 the metric is more lenient.",
            "share of the scale",
        ),
        Statistic(
            "absolute_human_deviation", "Mean size of the deviation from people.", "share of the scale"
        ),
        Statistic("applied_share", "Share of the task's items that the template could change.", "share"),
    )  # fmt: skip

    only: tuple[str, ...] = ()  # templates
    task: tuple[str, ...] = ()
    criterion: tuple[str, ...] = ()
    asks_model: bool = True  # templates that run a language model, seconds per text
    human: Path | None = None  # penalties: task, template, item?, penalty
    bar: float = BAR

    @property
    def subjects(self) -> Mapping[str, str]:
        return titles()

    @property
    def is_own(self) -> bool:
        return not plugged("perturbations") and super().is_own

    @cached_property
    def _entries(self) -> list[Entry]:
        """The rows of the catalogue that are asked about."""
        entries = list(catalogue())
        wanted = {"template": self.only, "criterion": tuple(map(_path, self.criterion))}
        for kind, names in wanted.items():
            check_known(f"unknown {kind}", names, {_path(getattr(entry, kind)) for entry in catalogue()})
            entries = [entry for entry in entries if not names or _path(getattr(entry, kind)) in names]
        asks_model = self.asks_model or MASKED_WORDS in self.only
        return [entry for entry in entries if asks_model or entry.template != MASKED_WORDS]

    def fetch(self) -> str | None:
        asks = MASKED_WORDS in (entry.template for entry in self._entries)
        reason = fill.fetch() if asks else None
        return f"{MASKED_WORDS}: {reason}" if reason else None

    @cached_property
    def _records(self) -> dict[str, list[Record]]:
        """Records by task; every one still knows all texts of its corpus."""
        records = self._read_records()
        if self.data and self.rule == "careful":
            records = apart_from_references(" and ".join(path.stem for path in self.data), records)
        by_task: dict[str, list[Record]] = {record.task: [] for record in records}
        for record in records:
            by_task[record.task] += [record] if record.task in CHECKLIST_TASKS else []
        by_task = {task: spread_out(listed, self.limit) for task, listed in by_task.items()}
        if self.rule == "paper":
            return by_task
        return {task: list(map(with_one_reference, in_content_order(rows))) for task, rows in by_task.items()}

    def _read_records(self) -> list[Record]:
        """The records of the files, or the embedded ones of the tasks."""
        tasks = [task_named(task) for task in self.task]
        task = tasks[0] if len(tasks) == 1 else None
        if not self.data:
            return [record for task in tasks or CHECKLIST_TASKS for record in embedded_records(task)]
        if self.references is None:
            return [record for path in self.data for record in read_records(path, task=task)]
        first = tasks[0] if tasks else "translation"
        return [record for path in self.data for record in read_text_sets(path, self.references, task=first)]

    def make_cases(self) -> list[Case]:
        """One case per item and row that applies: the clean and the perturbed text."""
        entries = self._entries  # a wrong name is an error before the work
        parse([record.gold for records in self._records.values() for record in records])
        cases: list[Case] = []
        for entry in entries:
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
        slices = [scores for scores in read_slices(scored) if {CLEAN, PERTURBED} <= set(scores.columns)]
        findings = list(chain.from_iterable(map(self._row_findings, slices)))
        if self.rule == "careful":
            findings += averages(slices)
        return Judgement(findings, self._notes())

    def _row_findings(self, scores: AlignedScores) -> Iterator[Finding]:
        """What one metric says of one row of the catalogue."""
        if self.rule == "paper":
            change = mean_change(scores, scores.slice, [PERTURBED])
            yield change if is_harmful(scores.slice) else replace(change, statistic=MEAN_KEPT.name)
        elif is_harmful(scores.slice):
            evidence = scores.largest(1 - scores.decisions([CLEAN], [PERTURBED]))
            order = scores.right_order([CLEAN], [PERTURBED])
            yield Finding.of(
                scores.scored, scores.slice, "right_order", order, versus=CLEAN, evidence=evidence
            )
            if REWORDED in scores.columns:
                sound = scores.right_order([REWORDED], [PERTURBED])
                yield Finding.of(scores.scored, scores.slice, "right_order_reworded", sound, versus=REWORDED)
        if not scores.scored.is_set:
            yield from self._deviations(scores)
            applied_to, total = self._applied[scores.slice], int(scores.cases[0].meta["total"])
            share = applied_to / total
            estimate = Estimate(share, total, share_interval(share, total).pair)
            yield Finding.of(scores.scored, scores.slice, "applied_share", estimate)

    @cached_property
    def _applied(self) -> Counter[str]:
        return Counter(case.slice for case in self.made)

    def _deviations(self, scores: AlignedScores) -> Iterator[Finding]:
        """Eq. 1 of the paper, for metrics whose scores lie between 0 and 1: the fall of the score minus the
        penalty."""
        clean, perturbed = scores.columns[CLEAN], scores.columns[PERTURBED]
        penalties = np.array([self._penalties.of(case, self.rule) for case in scores.cases], dtype=np.float64)
        signed = -penalties / LIMIT - (perturbed - clean)
        there = np.isfinite(signed)
        both = np.concatenate([perturbed, clean])
        if not there.any() or not 0.0 <= np.nanmin(both) <= np.nanmax(both) <= 1.0:
            return
        clusters = np.asarray(scores.clusters, dtype=object)[there].tolist()
        evidence = scores.largest(np.abs(signed))
        for name, values in (("human_deviation", signed), ("absolute_human_deviation", np.abs(signed))):
            interval = bootstrap_mean(values[there], clusters=clusters, seed=self.seed)
            deviation = Estimate(
                float(values[there].mean()), int(there.sum()), interval.pair if interval else None
            )
            yield Finding.of(scores.scored, scores.slice, name, deviation, evidence=evidence)

    def _notes(self) -> list[str]:
        """Whose severities were used, and rows that found nothing to change."""
        notes = [*([] if self.human else [OURS]), *self._language_notes()]
        asked = {entry.slice: entry.task for entry in self._entries}
        silent = [
            slice_ for slice_, task in asked.items() if task in self._records and not self._applied[slice_]
        ]
        if silent:
            notes.append(f"templates that applied to no item: {', '.join(silent)}")
        unread = self._records.keys() - set(CHECKLIST_TASKS)
        left_out = "its items were left out"
        return notes + [f"no template is made for the task {task}; {left_out}" for task in sorted(unread)]


def _path(criterion: str) -> str:
    return criterion.strip().lower().replace(" ", "-")


def _case(entry: Entry, record: Record, changed: str, total: int) -> Case:
    """One case: the texts against the same references, without one that serves as the perturbed text."""
    others = tuple(reference for reference in record.references if reference != changed)
    meta = {
        "task": entry.task, "criterion": entry.criterion, "template": entry.template, "item": record.id,
        "expect": entry.expect, "severity": entry.severity, "cluster": str(record.meta.get("doc", record.id)),
        "total": total, "aspect": aspect_of(entry.criterion),
    }  # fmt: skip
    seen = replace(record, references=others)
    samples = {CLEAN: seen.sample(), PERTURBED: seen.sample(changed)}
    sound = matched_rewording(record, changed) if entry.expect == "lower" else None
    if sound is not None:
        samples[REWORDED] = seen.sample(sound)
    return Case(f"{entry.slice}/{record.id}", samples, entry.slice, meta)


def _with_own_ids(cases: Sequence[Case]) -> list[Case]:
    """Records of several files may share an id: later ones get a number."""
    counts = Counter[str]()
    numbered = []
    for case in cases:
        counts[case.id] += 1
        numbered.append(case if counts[case.id] == 1 else replace(case, id=f"{case.id}#{counts[case.id]}"))
    return numbered


INVARIANCE = "invariance"  # the criterion of templates that should leave the score as it is


def is_harmful(slice_: str) -> bool:
    """Whether the templates of a slice should lower the score."""
    return INVARIANCE not in slice_.split("/")


def averages(slices: Sequence[AlignedScores]) -> Iterator[Finding]:
    """Right order averaged over templates: by aspect, task and criterion, each template counted alike."""
    harmful = [scores for scores in slices if is_harmful(scores.slice) and not scores.scored.is_set]
    for metric_rows in rows_by_label([scores.scored.metric for scores in harmful]).values():
        rows = [harmful[row] for row in metric_rows]
        yield from _by_label(lambda s: f"{_task(s)}/{_aspect(s)}", rows, "mean_right_order", reworded=True)
        yield from _by_label(lambda s: f"{_EVERYTHING}/{_aspect(s)}", rows, "mean_right_order", reworded=True)
        yield from _by_label(lambda s: s.slice.split("/")[1], rows, "criterion_order", reworded=False)
        yield from _criteria_apart(rows)


def _by_label(
    label_of: Callable[[AlignedScores], str], rows: Sequence[AlignedScores], statistic: str, *, reworded: bool
) -> Iterator[Finding]:
    """One average per label and, where that is asked, beside it the one with sound rewordings."""
    averaged = [(CLEAN, statistic), (REWORDED, f"{statistic}_reworded")][: 1 + reworded]
    for label, places in rows_by_label(list(map(label_of, rows))).items():
        for better, name in averaged:
            kinds = [(rows[place], rows[place].decisions([better], [PERTURBED])) for place in places]
            finding = pooled_order(str(label), name, kinds)
            if finding is not None and np.isfinite(finding.value):
                yield finding


def _criteria_apart(rows: Sequence[AlignedScores]) -> Iterator[Finding]:
    """Whether a metric minds a change of meaning more than one of form, on the same item."""
    scored = rows[0].scored
    for task, places in rows_by_label(list(map(_task, rows))).items():
        here = [rows[place] for place in places]
        meaning = _scores_by_item([scores for scores in here if _aspect(scores) == "meaning"])
        form = _scores_by_item([scores for scores in here if _aspect(scores) == "form"])
        items = [item for item in form if item in meaning]
        pairs = [np.meshgrid(form[item], meaning[item]) for item in items]
        decisions = [row_means(outcome(*pair, scored.is_of_model).reshape(1, -1))[0] for pair in pairs]
        order = right_order([(np.array(decisions), items)])
        yield Finding.of(scored, f"{task}/criteria", "criteria_apart", order)


def _scores_by_item(rows: Sequence[AlignedScores]) -> Mapping[str, list[float]]:
    """The scores of each item's perturbed texts."""
    by_item: dict[str, list[float]] = defaultdict(list)
    for scores in rows:
        for case, score in zip(scores.cases, scores.columns[PERTURBED].tolist(), strict=True):
            by_item[case.meta["item"]].append(score)
    return by_item


def _task(scores: AlignedScores) -> str:
    return scores.slice.partition("/")[0]


def _aspect(scores: AlignedScores) -> str:
    return str(scores.cases[0].meta["aspect"])


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
        task, template = _known(row, "task", CHECKLIST_TASKS), _known(row, "template", templates)
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
    numbers: list[Any] = value if isinstance(value, list) and value else [row.number("penalty")]
    if not all(type(number) in (int, float) and 0.0 <= number <= LIMIT for number in numbers):
        raise row.fail(f"column 'penalty' must be a number from 0 to {LIMIT:g}, or a list of them")
    return list(map(float, numbers))
