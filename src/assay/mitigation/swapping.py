"""Averaging at test time: the mean of a metric over the world as it is and the world with genders swapped.

Hypothesis and references are swapped together. Against a neutral reference both texts of a pair then score
the same; against a gendered one the wrong gender is wrong in both worlds, so that nothing becomes invisible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core import Floats, Measure, Metric, Sample, Scores
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.errors import SpecError
from assay.vocabulary import Need


@dataclass(frozen=True)
class SwapAverage(Metric):
    """The mean of a metric's scores of a sample and of its gender-swapped twin; twice the cost."""

    of: Measure
    name = "swap-average"
    paradigm = "hybrid"

    def __post_init__(self) -> None:
        """Only sample metrics have a score a sample."""
        if not isinstance(self.of.metric, Metric):
            raise SpecError(f"{self.of.label} scores whole sets; averaging over swaps takes sample metrics")

    @cached_property
    def needs(self) -> frozenset[Need]:
        """What the metric needs."""
        return self.of.metric.needs

    @property
    def signature(self) -> str:
        """The metric's own, and what is done with it."""
        return f"{self.name}|({self.of.metric.signature}|output:{self.of.output})|v:{self.version}"

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """Fit the metric inside."""
        return replace(self, of=replace(self.of, metric=self.of.metric.fitted(references)))

    def prepare(self) -> None:
        """Load what the metric inside needs."""
        self.of.metric.prepare()

    def score(self, samples: Sequence[Sample]) -> Scores:
        """Absent where either world has no score."""
        twins = swapped_samples(samples)
        answer = self.of.metric.score([*samples, *twins])  # type: ignore[union-attr]
        values = np.asarray(getattr(answer, "values", answer), dtype=float).reshape(2 * len(samples), -1)
        column: Floats = values[:, self.of.column]
        means = (column[: len(samples)] + column[len(samples) :]) / 2
        notes = getattr(answer, "notes", {})
        size = len(samples)
        halves = {name: [a + b for a, b in zip(c[:size], c[size:], strict=True)] for name, c in notes.items()}
        return Scores([None if np.isnan(value) else float(value) for value in means], halves)


def swapped_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Every text of the samples with its gendered words turned."""
    texts = list(dict.fromkeys(t for s in samples for t in (s.hypothesis, *s.references)))
    turned = dict(zip(texts, (s.text for s in swap_texts(texts, embedded_swaps())), strict=True))
    return [
        replace(s, hypothesis=turned[s.hypothesis], references=tuple(turned[t] for t in s.references))
        for s in samples
    ]
