"""A sentence typed into the playground to scores, reasons, and what changes of it do to the scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from assay.core import Measure, Metric, Perturbation, Record, Sample, SetMetric
from assay.errors import AuditError, SpecError
from assay.names.registry import load, names
from assay.run.pipeline import score
from assay.run.scoring import explain_samples, project
from assay.run.session import Session
from assay.vocabulary import Task

MOST_SWAPS = 8
_NEEDS_A_MODEL = ("bert-diverge", "masked-words")  # seconds a text: not for live use


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
        """Metrics by label; those of whole sets say nothing of one sentence."""
        made = {one.label: one for one in self.given}
        return {label: one for label, one in made.items() if not isinstance(one.metric, SetMetric)}

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """Every perturbation at its default level."""
        table = names("perturbations")
        return {name: load(where)() for name, (where, _) in table.items() if name not in _NEEDS_A_MODEL}

    def chosen(self, labels: Sequence[str]) -> list[Measure]:
        """Only metrics the server was started with: a spec can name files, a page must not."""
        for label in labels:
            if label not in self.measures:
                raise SpecError(f"{label!r} is not served; start assay serve with -m {label}")
        return [self.measures[label] for label in labels] or list(self.measures.values())

    def scores(self, asked: Asked, labels: Sequence[str]) -> dict[str, Any]:
        """Each metric's score, or why there is none, and its reasons."""
        found = []
        with self.lock:
            for one in self.chosen(labels):
                row: dict[str, Any] = {"metric": one.label, "score": None, "why": None, "explanation": None}
                if project(one.metric, asked.sample) is None:
                    row["why"] = "needs " + ", ".join(sorted(one.metric.needs))
                else:
                    row |= _scored(one, asked.sample)
                found.append(row)
        return {"scores": found}

    def changes(self, asked: Asked, labels: Sequence[str]) -> dict[str, Any]:
        """What perturbations and identity swaps of the sentence do to each score."""
        with self.lock:
            rows = [*self._swaps(asked), *self._perturbed(asked)]
            samples = [asked.sample, *(_with(asked, row["text"]) for row in rows)]
            for one in self.chosen(labels):
                if project(one.metric, asked.sample) is not None:
                    values = _values(one, samples)
                    for row, value in zip(rows, values[1:], strict=True):
                        row["scores"][one.label] = [values[0], value]
        return {"changes": rows}

    def _perturbed(self, asked: Asked) -> list[dict[str, Any]]:
        found = []
        for name, one in self.perturbations.items():
            try:
                text = one.perturb(asked.record)
            except AuditError:  # weights or a language resource that is not here
                continue
            if text is not None and text.strip():
                found.append(
                    {"kind": one.criterion, "name": name, "expect": one.expect, "text": text, "scores": {}}
                )
        return found

    def _swaps(self, asked: Asked) -> list[dict[str, Any]]:
        from assay.server.swaps import identity_swaps

        found = identity_swaps(asked.hypothesis)[:MOST_SWAPS]
        return [
            {"kind": "identity", "name": name, "expect": "same", "text": text, "scores": {}}
            for name, text in found
        ]


def _with(asked: Asked, text: str) -> Sample:
    return Sample(text, asked.references, asked.source)


def _scored(one: Measure, sample: Sample) -> dict[str, Any]:
    try:
        value = _values(one, [sample])[0]
    except AuditError as error:
        return {"why": str(error)}
    reasons = explain_samples(one, [sample]) if isinstance(one.metric, Metric) else [None]
    shown = None
    if reasons[0] is not None:
        numbers = [[float(f"{value:.3g}") for value in row] for row in reasons[0].values]
        shown = {
            "kind": reasons[0].kind,
            "rows": reasons[0].rows,
            "columns": reasons[0].columns,
            "values": numbers,
        }
    return {"score": value, "explanation": shown}


def _values(one: Measure, samples: Sequence[Sample]) -> list[float | None]:
    column = score([one], samples, session=Session.open(cache=None))[one.label]
    return [None if value is None or not math.isfinite(value) else float(value) for value in column]
