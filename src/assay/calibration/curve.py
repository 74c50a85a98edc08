"""Data and planted metrics in, operating curves out: what an audit finds on it, and how often it errs.

`assay calibrate` says this of a user's own data: the smallest defect that 95 draws of 100 show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.calibration.simulated.base import METRIC, Plant, World
from assay.calibration.simulated.blind import PLANTS as BLIND
from assay.calibration.simulated.fair import PLANTS as FAIR
from assay.calibration.simulated.judge import PLANTS as JUDGES
from assay.core import Audit, Case, Finding, Grid, Judgement
from assay.errors import DataError, SpecError, suggest
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, measure
from assay.run.pipeline import make_audit
from assay.run.scoring import score_cases
from assay.run.session import Session
from assay.run.settle import settle
from assay.statistics.estimates import proportion_interval

PLANTS: tuple[Plant, ...] = (*FAIR, *BLIND, *JUDGES)
POWER = 0.95
SEEDS = 100


@dataclass(frozen=True, slots=True)
class Point:
    """A size of the defect, and how often it was found."""

    size: float
    found: int
    draws: int

    @property
    def share(self) -> float:
        """Found of drawn."""
        return self.found / self.draws

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share."""
        made = proportion_interval(self.found, self.draws)
        return (0.0, 1.0) if made is None else made.pair


@dataclass(frozen=True, slots=True)
class Curve:
    """An operating curve; `alarms` counts draws of the clean metric in which anything at all was found."""

    plant: Plant
    n: int
    noise: float
    points: tuple[Point, ...]
    alarms: Point

    def detectable(self, power: float = POWER) -> float | None:
        """The smallest size found with that power, between sizes by a straight line; None beyond the last."""
        shares = [point.share for point in self.points]
        for place, point in enumerate(self.points):
            if shares[place] < power or point.size <= self.plant.harmless:
                continue
            before = self.points[place - 1]
            if shares[place - 1] >= power:
                return point.size
            step = (power - shares[place - 1]) / (shares[place] - shares[place - 1])
            return before.size + step * (point.size - before.size)
        return None

    def sentence(self) -> str:
        """What the curve says, for people."""
        plant, size = self.plant, self.detectable()
        data = f"with {self.n} {plant.counted}"
        if size is None:
            reached = self.points[-1]
            return (
                f"{data}, a metric that {plant.defect} is not found reliably: at {reached.size:g} "
                f"{plant.unit} in {reached.share:.0%} of draws; more data is needed"
            )
        return f"{data}, a metric that {plant.defect} is found from {size:.2g} {plant.unit} on"

    def document(self) -> dict[str, Any]:
        """The curve as JSON."""
        plant = self.plant
        return {
            "audit": plant.audit,
            "defect": plant.defect,
            "statistic": plant.statistic,
            "unit": plant.unit,
            "n": self.n,
            "noise": self.noise,
            "harmless": plant.harmless,
            "detectable": self.detectable(),
            "false_alarms": self.alarms.share,
            "draws": self.alarms.draws,
            "curve": [{"size": point.size, "found": point.share} for point in self.points],
        }


def plants_of(audit: str) -> list[Plant]:
    """The planted defects an audit must find."""
    found = [plant for plant in PLANTS if plant.audit == audit]
    if not found:
        audit_class(audit)  # a wrong name suggests
        known = dict.fromkeys(plant.audit for plant in PLANTS)
        raise SpecError(f"{audit} has no verdict that could be calibrated{suggest(audit, known)}")
    return found


def calibrate(
    audit: str,
    asked: Mapping[str, Any],
    *,
    seeds: int = SEEDS,
    noise: float | None = None,
    metric: Specifiable | None = None,
    session: Session | None = None,
    size: str = "full",
) -> tuple[list[Curve], list[str]]:
    """A curve a planted defect on this data; and notes on defects that the data has no room for.

    With `metric`, plants are as noisy as that metric is on the data.
    """
    curves, notes = [], []
    for plant in plants_of(audit):
        quick = dict(audit_class(audit).quick()) if size == "quick" else {}
        quick.pop("skip", None)
        made = make_audit(audit, quick | dict(plant.options) | dict(asked))
        items = list(made.cases())
        if not items:
            raise DataError(f"{audit} found nothing to score in its data; check --data, --only and --limit")
        if not plant.needs(items):
            notes.append(f"{audit}: {plant.defect}: not calibrated, {plant.missing}")
            continue
        moving = noise
        if metric is not None:
            moving = metric_noise(plant, items, metric, session or Session.open())
            if moving is None:
                notes.append(f"{audit}: {plant.defect}: the metric's noise cannot be told from these scores")
        curves.append(operating_curve(plant, made, items, seeds=seeds, noise=moving))
    return curves, notes


def metric_noise(
    plant: Plant, items: Sequence[Case | Grid], metric: Specifiable, session: Session
) -> float | None:
    """How much a real metric moves from role to role of a case, about its mean move, in the plant's unit."""
    cases = [item for item in items if isinstance(item, Case)]
    if not cases or plant.noise_from is None:
        return None
    one = measure(metric)
    fitted = replace(one, metric=one.metric.fitted([s.references for c in cases for s in c.samples.values()]))
    with session:
        scored = score_cases(fitted, {plant.audit: cases}, session)[plant.audit]
    # Where an audit names its roles, the first two are what it compares; else every role meets the gold.
    named = audit_class(plant.audit).roles[:2]
    base, *others = named or tuple(dict.fromkeys(role for case in cases for role in case.samples))
    moves = [scored.values[role] - scored.values[base] for role in others]
    spreads = [float(np.nanstd(move, ddof=1)) for move in moves if np.isfinite(move).sum() > 1]
    known = scored.values[base][np.isfinite(scored.values[base])]
    unit = (
        float(known.std(ddof=1) if plant.noise_from == "spread" else np.ptp(known) / 100)
        if len(known) > 1
        else 0.0
    )
    return float(np.median(spreads)) / unit if spreads and unit else None


def operating_curve(
    plant: Plant,
    audit: Audit,
    items: Sequence[Case | Grid],
    *,
    seeds: int = SEEDS,
    noise: float | None = None,
    sizes: Sequence[float] | None = None,
) -> Curve:
    """How often each size of the defect is found, in draws that sizes share."""
    moving = plant.noise if noise is None else noise
    axis = tuple(sizes or plant.sizes)
    counts = dict.fromkeys(axis, 0)
    alarms = 0
    for seed in range(seeds):
        for size in axis:
            world = World(audit, items, moving, np.random.default_rng([seed, 13]))
            counts[size] += any(map(plant.found, _shown(plant, judged(plant, world, size))))
        world = World(audit, items, moving, np.random.default_rng([seed, 17]))
        alarms += any(map(plant.found, judged(plant, world, plant.sizes[0])))
    points = tuple(Point(size, count, seeds) for size, count in counts.items())
    return Curve(plant, _count(plant, items), moving, points, Point(plant.sizes[0], alarms, seeds))


def judged(plant: Plant, world: World, size: float) -> list[Finding]:
    """The audit's findings on one draw, of the planted metric alone."""
    judgement = world.audit.judge(plant.draw(world, size))
    found = settle(world.audit, judgement) if isinstance(judgement, Judgement) else judgement
    return [finding for finding in found if METRIC in (finding.metric, finding.versus)]


def _shown(plant: Plant, found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.statistic == plant.statistic]


def _count(plant: Plant, items: Sequence[Case | Grid]) -> int:
    """How many items the defect stands on: those of the first slice that has it."""
    if any(isinstance(item, Grid) for item in items):
        return len(items) // 2  # each test both ways
    cases = [item for item in items if isinstance(item, Case)]
    if plant.audit in ("swap", "human", "caption"):
        return len(cases)
    named = [case.slice for case in cases if not case.slice.endswith(("/gold", "control"))]
    return named.count(named[0])


def uncalibrated() -> list[str]:
    """Audits without a planted defect: those that give no verdict."""
    return [name for name in names("audits") if name not in {plant.audit for plant in PLANTS}]
