"""A sentence typed into the playground to scores, explanations, and the scores of edited versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

from assay.core import Measure, Metric, Perturbation, Record, Sample, SetMetric
from assay.errors import AuditError, SpecError
from assay.names.registry import load, names
from assay.run.pipeline import score
from assay.run.scoring import explain_samples, project
from assay.run.session import Session
from assay.vocabulary import Expectation, Task

MOST_SWAPS = 8
_NEEDS_A_MODEL = ("bert-diverge", "masked-words")  # seconds per text: too slow for live use


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed."""

    hypothesis: str
    references: tuple[str, ...]
    source: str | None
    task: Task

    @property
    def sample(self) -> Sample:
        """As a metric sees it."""
        return Sample(self.hypothesis, self.references, self.source)

    @property
    def record(self) -> Record:
        """As a perturbation sees it."""
        return Record("typed", self.hypothesis, self.task, self.references, self.source)


@dataclass
class Live:
    """The metrics of a playground, loaded once; one request at a time, as models are shared."""

    given: Sequence[Measure]
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Metrics by label, without those that score whole sets only."""
        return {each.label: each for each in self.given if not isinstance(each.metric, SetMetric)}

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """Every perturbation at its default level."""
        table = names("perturbations")
        return {name: load(where)() for name, (where, _) in table.items() if name not in _NEEDS_A_MODEL}

    def chosen(self, labels: Sequence[str]) -> list[Measure]:
        """The named metrics of those the server was started with: a spec can name files, a page must not."""
        for label in labels:
            if label not in self.measures:
                raise SpecError(f"{label!r} is not served; start assay serve with -m {label}")
        return [self.measures[label] for label in labels] or list(self.measures.values())

    def scores(self, asked: Asked, labels: Sequence[str]) -> dict[str, Any]:
        """Each metric's score with its explanation, or why there is none."""
        rows = []
        with self.lock:
            for measure in self.chosen(labels):
                row: dict[str, Any] = {
                    "metric": measure.label, "score": None, "why": None, "explanation": None,
                }  # fmt: skip
                if project(measure.metric, asked.sample) is None:
                    row["why"] = "needs " + ", ".join(sorted(measure.metric.needs))
                else:
                    row |= _scored(measure, asked.sample)
                rows.append(row)
        return {"scores": rows}

    def changes(self, asked: Asked, labels: Sequence[str]) -> dict[str, Any]:
        """Each score before and after every perturbation and identity swap that applies to the sentence."""
        with self.lock:
            rows = [*self._swaps(asked), *self._perturbed(asked)]
            samples = [asked.sample, *(replace(asked.sample, hypothesis=row["text"]) for row in rows)]
            for measure in self.chosen(labels):
                if project(measure.metric, asked.sample) is not None:
                    values = _values(measure, samples)
                    for row, value in zip(rows, values[1:], strict=True):
                        row["scores"][measure.label] = [values[0], value]
        return {"changes": rows}

    def _perturbed(self, asked: Asked) -> list[dict[str, Any]]:
        rows = []
        for name, edit in self.perturbations.items():
            try:
                text = edit.perturb(asked.record)
            except AuditError:  # weights or a language resource that is not here
                continue
            if text is not None:
                rows.append(_row(edit.criterion, name, edit.expect, text))
        return rows

    def _swaps(self, asked: Asked) -> list[dict[str, Any]]:
        from assay.server.swaps import identity_swaps

        swaps = identity_swaps(asked.hypothesis)[:MOST_SWAPS]
        return [_row("identity", name, "same", text) for name, text in swaps]


def _row(kind: str, name: str, expect: Expectation, text: str) -> dict[str, Any]:
    """One edited version of the sentence, before it is scored."""
    return {"kind": kind, "name": name, "expect": expect, "text": text, "scores": {}}


def _scored(measure: Measure, sample: Sample) -> dict[str, Any]:
    try:
        value = _values(measure, [sample])[0]
    except AuditError as error:
        return {"why": str(error)}
    reason = explain_samples(measure, [sample])[0] if isinstance(measure.metric, Metric) else None
    if reason is None:
        return {"score": value}
    numbers = [[float(f"{value:.3g}") for value in row] for row in reason.values]
    shown = {"kind": reason.kind, "rows": reason.rows, "columns": reason.columns, "values": numbers}
    return {"score": value, "explanation": shown}


def _values(measure: Measure, samples: Sequence[Sample]) -> list[float | None]:
    column = score([measure], samples, session=Session.open(cache=None))[measure.label]
    return [None if value is None or not math.isfinite(value) else float(value) for value in column]
