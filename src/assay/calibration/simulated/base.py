"""Simulated metrics: scores with a defect of known size, drawn for the cases of an audit.

An honest metric gives each item a level of its own, each text a little noise, and worthless texts 100 points
less than clean ones, so that sizes and noise are in percent of the gap. A simulated metric adds one defect in
one place and nothing else: what an audit says of that place is its power, what it says of the others a false
alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.audits.gap import CLEAN, WORTHLESS
from assay.core import Audit, Case, Finding, Floats, Grid, Scored

METRIC = "simulated"
PERCENT = "% of the gap"
GAP = 100.0  # points between clean and worthless texts
_LEVELS = 20.0  # SD of the clean texts' scores
_WORTHLESS = 5.0  # how much more noise worthless texts have than others
_OWN_ROLES = (CLEAN, WORTHLESS)


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
        """The clean text's score of each case."""
        return _LEVELS * self.normal(len(self.cases))

    def worthless(self, levels: Floats) -> Floats:
        """The worthless text's score of each case."""
        return levels - GAP + _WORTHLESS * self.noise * self.normal(len(levels))


def failed(finding: Finding) -> bool:
    """Whether a finding has a failed verdict, which counts as finding the defect."""
    return finding.verdict == "fail"


Draw = Callable[[World, float], list[Scored]]


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
    draw: Draw
    counted: str = "items"  # what the data holds: pairs, texts, documents
    options: Mapping[str, Any] = field(default_factory=dict)  # of the audit: nothing that alters a verdict
    needs: Callable[[Sequence[Case | Grid]], bool] = lambda items: True
    missing: str = ""  # what to say where the data lacks it
    found: Callable[[Finding], bool] = failed
    noise_from_scores: bool = True  # whether a real metric's noise can take the place of `noise`


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


def changed(world: World, changes: Mapping[str, Floats | float], clean: str = CLEAN) -> list[Scored]:
    """A clean and a worthless text per item; other roles differ from the clean one by `changes` and noise."""
    level = world.levels()
    values = {clean: level, WORTHLESS: world.worthless(level)}
    for role, change in changes.items():
        values[role] = level + change + world.noise * world.normal(len(level))
    return [single(world.cases, values)]


def roles_of(cases: Sequence[Case]) -> list[str]:
    """Every role but those of the clean and the worthless text, in order."""
    return [
        role for role in dict.fromkeys(r for case in cases for r in case.samples) if role not in _OWN_ROLES
    ]


def standardised(ratings: Sequence[float]) -> Floats:
    """Ratings with mean 0 and SD 1; those that are missing are put in the middle."""
    values = np.array(ratings, dtype=np.float64)
    return np.nan_to_num((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))
