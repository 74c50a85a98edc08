"""Weighted sums of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core import Floats, Measure, Metric, Sample, ScoreAnswer
from assay.errors import SpecError
from assay.vocabulary import Need


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

    def score(self, samples: Sequence[Sample]) -> ScoreAnswer:
        """Score the parts and combine them; a run scores the parts on their own instead."""
        columns = []
        for member in self.members:
            answer = member.metric.score(samples)  # type: ignore[union-attr]
            values = np.asarray(getattr(answer, "values", answer), dtype=float).reshape(len(samples), -1)
            columns.append(values[:, member.column])
        return self.combine(np.stack(columns, axis=1))
