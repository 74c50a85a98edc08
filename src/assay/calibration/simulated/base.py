"""Simulated metrics: scores with a defect of known size, drawn for the cases of an audit.

An honest metric gives each item a level of its own and each text a little noise. A simulated metric adds one
defect in one place and nothing else: what an audit says of that place is its power, what it says of the
others a false alarm. Sizes are in the unit of the statistic that should show the defect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from assay.core import Audit, Case, Finding, Floats, Grid, Scored

METRIC = "simulated"


@dataclass(frozen=True, slots=True)
class World:
    """What scores are drawn for: an audit and its items, how noisy the metric is, and a random generator."""

    audit: Audit
    items: Sequence[Case | Grid]
    noise: float
    rng: np.random.Generator

    @property
    def cases(self) -> list[Case]:
        """The items that are not grids."""
        return [item for item in self.items if isinstance(item, Case)]

    def normal(self, *shape: int) -> Floats:
        """Noise with an SD of 1."""
        return self.rng.normal(size=shape)

    def by_label(self, labels: Sequence[object]) -> Floats:
        """Noise with an SD of 1 that rows with the same label share."""
        codes = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        drawn = self.normal(len(codes))
        return drawn[[codes[label] for label in labels]]

    def levels(self) -> Floats:
        """One level per case, with an SD of 1 in its slice: sizes are in SDs of the very items judged."""
        slices = np.array([case.slice for case in self.cases])
        drawn = self.normal(len(slices))
        for name in dict.fromkeys(slices.tolist()):
            rows = slices == name
            if rows.sum() > 1:
                drawn[rows] = (drawn[rows] - drawn[rows].mean()) / drawn[rows].std(ddof=1)
        return drawn


def failed(finding: Finding) -> bool:
    """Whether a finding has a failed verdict, which counts as finding the defect."""
    return finding.verdict == "fail"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A metric with one defect: how its scores are drawn, which statistic must show it, from what size on."""

    audit: str
    defect: str  # "prefers the stereotype"
    statistic: str
    unit: str
    sizes: tuple[float, ...]  # the axis of the operating curve, the metric without a defect first
    harmless: float  # the largest size that is no defect: whatever is found up to it is a false alarm
    stated: float  # found in 95 of 100 simulations on the standard data
    noise: float  # the metric's own noise, in the unit of `noise_unit`
    noise_unit: str
    draw: Callable[[World, float], list[Scored]]
    counted: str = "items"  # what the data holds: pairs, texts, documents
    options: Mapping[str, Any] = field(default_factory=dict)  # of the audit: nothing that alters a verdict
    needs: Callable[[Sequence[Case | Grid]], bool] = lambda items: True
    missing: str = ""  # what to say where the data lacks it
    found: Callable[[Finding], bool] = failed
    # What a real metric's noise is divided by: the SD of its scores, or a hundredth of their range.
    noise_from: Literal["sd", "range"] | None = "sd"


def single(cases: Sequence[Case], values: Mapping[str, Floats], metric: str = METRIC, **about: Any) -> Scored:
    """Scores of one simulated metric; nan for a role that a case does not have."""
    there = {
        role: np.where([role in case.samples for case in cases], column, np.nan)
        for role, column in values.items()
    }
    return Scored(metric, cases, there, about={"signature": METRIC, "name": metric, **about})


def first_slice(cases: Sequence[Case], *, without: str = "\0") -> np.ndarray:
    """The rows that get the defect: those of the first slice whose name does not end with `without`."""
    name = next(case.slice for case in cases if not case.slice.endswith(without))
    return np.array([case.slice == name for case in cases], dtype=bool)


def changed(world: World, changes: Mapping[str, Floats], seen: Floats | float = 1.0) -> list[Scored]:
    """One level per item for the clean text; other roles differ by `changes` and by noise.

    `seen` scales the noise: a metric that does not notice a change at all gives the very same score.
    """
    level = world.levels()
    values = {"gold": level}
    for role, change in changes.items():
        values[role] = level + (change + world.noise * seen * world.normal(len(level)))
    return [single(world.cases, values)]


def roles_of(cases: Sequence[Case]) -> list[str]:
    """Every role but the clean text's, in order."""
    return [role for role in dict.fromkeys(r for case in cases for r in case.samples) if role != "gold"]


def standardised(ratings: Sequence[float]) -> Floats:
    """Ratings with mean 0 and SD 1; those that are missing are put in the middle."""
    values = np.array(ratings, dtype=np.float64)
    return np.nan_to_num((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))
