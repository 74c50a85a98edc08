"""Metrics made of metrics: weighted sums whose parts are scored, and cached, on their own.

Parts may be put on one scale first: by their declared ranges (`norm="range"`), or by centres and widths that
`calibrated` takes from scores at hand. Both are fixed numbers in the signature, so that a score still depends
on its own sample alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from assay.core import Answer, Floats, Measure, Metric, Sample
from assay.errors import SpecError
from assay.vocabulary import Need

Norm = Literal["none", "range", "standard"]


@dataclass(frozen=True)
class Hybrid(Metric):
    """The weighted sum of its parts (Eq. 4 of *caption* with weights of 1)."""

    members: tuple[Measure, ...]
    scales: tuple[float, ...]
    norm: Norm = "none"
    centres: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    name = "hybrid"
    paradigm = "hybrid"

    def __post_init__(self) -> None:
        """Only sample metrics add up sample by sample."""
        for member in self.members:
            if not isinstance(member.metric, Metric):
                raise SpecError(f"{member.label} scores whole sets; a hybrid takes sample metrics only")
        if self.norm == "range":
            self._from_ranges()
        if self.norm != "none" and not len(self.centres) == len(self.widths) == len(self.members):
            raise SpecError(f"norm={self.norm} needs a centre and a width for each part; see calibrated()")

    def _from_ranges(self) -> None:
        """0..1 by the parts' declared ranges."""
        centres, widths = [], []
        for member in self.members:
            low, high = member.metric.range
            if low is None or high is None:
                raise SpecError(
                    f"{member.label} has no bounded range; use calibrated() in place of norm=range"
                )
            centres.append(low)
            widths.append(high - low)
        object.__setattr__(self, "centres", tuple(centres))
        object.__setattr__(self, "widths", tuple(widths))

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]
        """Everything any part needs."""
        return frozenset().union(*(member.metric.needs for member in self.members))

    @property
    def signature(self) -> str:
        """Weights and the parts' own signatures."""
        terms = (
            f"{scale}*({member.metric.signature}|output:{member.output})"
            for scale, member in zip(self.scales, self.members, strict=True)
        )
        norm = f"|norm:{self.norm}:{self.centres}:{self.widths}" if self.norm != "none" else ""
        return "hybrid|" + "+".join(terms) + norm

    @property
    def parts(self) -> tuple[Measure, ...]:
        """Scored one by one by the scoring engine."""
        return self.members

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """Fit each part."""
        members = tuple(replace(m, metric=m.metric.fitted(references)) for m in self.members)
        return replace(self, members=members)

    def combine(self, parts: Floats) -> Floats:
        """The weighted sum, the parts first on one scale where asked for."""
        if self.norm != "none":
            parts = (parts - np.asarray(self.centres)) / np.asarray(self.widths)
        return np.asarray(parts @ np.asarray(self.scales))

    def score(self, samples: Sequence[Sample]) -> Answer:
        """Only for use outside the engine: scores the parts and combines them."""
        columns = []
        for member in self.members:
            answer = member.metric.score(samples)  # type: ignore[union-attr]
            values = np.asarray(getattr(answer, "values", answer), dtype=float).reshape(len(samples), -1)
            columns.append(values[:, member.column])
        return self.combine(np.stack(columns, axis=1))


def calibrated(hybrid: Hybrid, parts: Floats) -> Hybrid:
    """The hybrid with each part standardised by mean and deviation (ddof 1) of (n, parts) scores."""
    known = parts[np.isfinite(parts).all(axis=1)]
    widths = known.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(parts.shape[1])
    if not (widths > 0).all():
        raise SpecError("a part whose scores do not differ cannot be standardised; give more samples")
    centres = tuple(map(float, known.mean(axis=0)))
    return replace(hybrid, norm="standard", centres=centres, widths=tuple(map(float, widths)))
