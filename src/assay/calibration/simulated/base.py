"""Planted metrics: scores with a defect of known size, drawn for the cases of an audit.

An honest metric gives each item a level of its own and each text a little noise. A plant adds one defect to
one place of it, and nothing else: what an audit then says of that place is its power, what it says of the
others a false alarm. Sizes are in the unit of the statistic that should show the defect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from assay.core import Audit, Case, Finding, Floats, Grid, Scored

METRIC = "planted"


@dataclass(frozen=True, slots=True)
class World:
    """What a plant is drawn for: an audit's items, how noisy the metric is, and chance."""

    audit: Audit
    items: Sequence[Case | Grid]
    noise: float
    rng: np.random.Generator

    @property
    def cases(self) -> list[Case]:
        """The items that are no grids."""
        return [item for item in self.items if isinstance(item, Case)]

    def normal(self, *shape: int) -> Floats:
        """Noise of unit size."""
        return self.rng.normal(size=shape)

    def by_label(self, labels: Sequence[object]) -> Floats:
        """Noise of unit size that rows of one label share."""
        codes = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        drawn = self.normal(len(codes))
        return drawn[[codes[label] for label in labels]]

    def levels(self, slices: Sequence[str]) -> Floats:
        """An item's own level, of spread 1 in its slice: sizes are in spreads of the very items judged."""
        drawn = self.normal(len(slices))
        for name in dict.fromkeys(slices):
            rows = [place for place, slice_ in enumerate(slices) if slice_ == name]
            if len(rows) > 1:
                drawn[rows] = (drawn[rows] - drawn[rows].mean()) / drawn[rows].std(ddof=1)
        return drawn


Draw = Callable[[World, float], list[Scored]]


def failed(finding: Finding) -> bool:
    """What counts as found: a verdict."""
    return finding.passed is False


@dataclass(frozen=True, slots=True)
class Plant:
    """A defect: how it is drawn, which statistic must show it, and from which size on."""

    audit: str
    defect: str  # "prefers the stereotype"
    statistic: str
    unit: str
    sizes: tuple[float, ...]  # the axis of the operating curve, the clean metric first
    harmless: float  # the largest size that is no defect: whatever is found up to it is a false alarm
    stated: float  # found in 95 of 100 draws of the standard data
    noise: float  # the metric's own noise, in the unit of `noise_unit`
    noise_unit: str
    draw: Draw
    counted: str = "items"  # what the data holds: pairs, texts, documents
    options: Mapping[str, Any] = field(default_factory=dict)  # of the audit: nothing that alters a verdict
    needs: Callable[[Sequence[Case | Grid]], bool] = lambda items: True
    missing: str = ""  # what to say where the data lacks it
    found: Callable[[Finding], bool] = failed
    noise_from: Literal["spread", "span"] | None = (
        "spread"  # the unit of a real metric's noise, if it has one
    )


def single(cases: Sequence[Case], values: Mapping[str, Floats], metric: str = METRIC, **about: Any) -> Scored:
    """Scores of one planted metric; a role that a case lacks stays absent."""
    there = {
        role: np.where([role in case.samples for case in cases], column, np.nan)
        for role, column in values.items()
    }
    return Scored(metric, cases, there, about={"signature": METRIC, "name": metric, **about})


def first_slice(cases: Sequence[Case], *, without: tuple[str, ...] = ()) -> np.ndarray:
    """The rows that get the defect: those of the first slice."""
    names = [case.slice for case in cases if not case.slice.endswith(without or ("\0",))]
    return np.array([case.slice == names[0] for case in cases], dtype=bool)


def ladder(world: World, roles: Sequence[str], changes: Mapping[str, Floats], seen: Floats) -> Scored:
    """An item's level for the gold; other roles change by `changes`, and noise where the change is seen.

    `seen` scales the noise: a metric that does not see a change at all gives the very same score.
    """
    cases = world.cases
    level = world.levels([case.slice for case in cases])
    values = {"gold": level}
    for role in roles:
        moved = changes[role] + world.noise * seen * world.normal(len(cases))
        values[role] = level + moved
    return single(cases, values)


def roles_of(cases: Sequence[Case]) -> list[str]:
    """Every role but the gold, in order."""
    return [role for role in dict.fromkeys(r for case in cases for r in case.samples) if role != "gold"]
