"""What all metrics share: the facts about them, which become attributes of their classes, and weighted sums.

A class inherits the facts of the metric that it extends, as it inherits any attribute.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isinf
from pathlib import Path
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

from assay.core import Answer, Floats, Measure, Metric, Sample
from assay.errors import SpecError
from assay.vocabulary import Need

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def metric(name: str) -> Callable[[type[_T]], type[_T]]:
    """Decorate the class of the metric of that name: a frozen dataclass with the facts about it."""

    def decorate(kind: type[_T]) -> type[_T]:
        for key, value in (_facts().get(name, {}) | {"name": name}).items():
            setattr(kind, key, value)
        return dataclass(frozen=True)(kind)

    return decorate


@cache
def metric_tables(name: str) -> dict[str, Any]:
    """Return the tables of a TOML file beside the metrics."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


@cache
def _facts() -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = {}
    for row in metric_tables("facts")["metric"]:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        if "range" in values:
            values["range"] = tuple(None if isinf(end) else end for end in values["range"])
        if "needs" in values:
            values["needs"] = frozenset(values["needs"])
        for name in values.pop("names"):
            facts.setdefault(name, {}).update(values)
    return facts


@dataclass(frozen=True)
class Hybrid(Metric):
    """The weighted sum of its parts (Eq. 4 of *caption* with weights of 1)."""

    members: tuple[Measure, ...]
    scales: tuple[float, ...]
    name = "hybrid"
    paradigm = "hybrid"

    def __post_init__(self) -> None:
        for member in self.members:
            if not isinstance(member.metric, Metric):
                raise SpecError(f"{member.label} scores whole sets; a hybrid takes sample metrics only")

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset().union(*(member.metric.needs for member in self.members))

    @property
    def signature(self) -> str:
        pairs = zip(self.scales, self.members, strict=True)
        terms = (f"{scale}*({part.metric.signature}|output:{part.output})" for scale, part in pairs)
        return "hybrid|" + "+".join(terms)

    @property
    def parts(self) -> tuple[Measure, ...]:
        return self.members

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        members = tuple(replace(m, metric=m.metric.fitted(references)) for m in self.members)
        return replace(self, members=members)

    def combine(self, parts: Floats) -> Floats:
        return np.asarray(parts @ np.asarray(self.scales))

    def score(self, samples: Sequence[Sample]) -> Answer:
        """Score the parts and combine them; a run scores the parts on their own instead."""
        columns = []
        for member in self.members:
            answer = member.metric.score(samples)  # type: ignore[union-attr]
            values = np.asarray(getattr(answer, "values", answer), dtype=float).reshape(len(samples), -1)
            columns.append(values[:, member.column])
        return self.combine(np.stack(columns, axis=1))
