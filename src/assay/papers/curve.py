"""Data and simulated metrics in, operating curves out: what an audit finds on it, and how often it errs.

`assay calibrate` says for a user's own data how small a defect is found in 95 of 100 simulations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.api.pipeline import make_audit
from assay.audits.gap import WORTHLESS, on_effect_scale
from assay.core import Audit, Case, Finding, Grid
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError, SpecError, suggest
from assay.names.registry import audit_class
from assay.names.spec import Specifiable, measure
from assay.papers.simulated import METRIC, SIMULATED, Simulated, World
from assay.statistics.estimates import proportion_interval

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
        return self.found / self.draws

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share."""
        interval = proportion_interval(self.found, self.draws)
        return (0.0, 1.0) if interval is None else interval.pair


@dataclass(frozen=True, slots=True)
class Curve:
    """An operating curve; `alarms` counts simulations without a defect in which anything at all was found."""

    simulated: Simulated
    n: int
    noise: float
    points: tuple[Point, ...]
    alarms: Point

    def detectable(self, power: float = POWER) -> float | None:
        """The smallest size found with this power, interpolated between sizes; None beyond the last size."""
        for before, point in zip(self.points, self.points[1:], strict=False):
            if point.share < power or point.size <= self.simulated.harmless:
                continue
            if before.share >= power:
                return point.size
            step = (power - before.share) / (point.share - before.share)
            return before.size + step * (point.size - before.size)
        return None

    def sentence(self) -> str:
        metric, size, last = self.simulated, self.detectable(), self.points[-1]
        start = f"with {self.n} {metric.counted}, a metric that {metric.defect} is"
        if size is not None:
            return f"{start} found from {size:.2g} {metric.unit} on"
        return (
            f"{start} not found reliably: at {last.size:g} {metric.unit} in {last.share:.0%} of simulations; "
            "more data is needed"
        )

    def document(self) -> dict[str, Any]:
        copied = ("audit", "defect", "statistic", "unit")
        return {name: getattr(self.simulated, name) for name in copied} | {
            "n": self.n,
            "noise": self.noise,
            "harmless": self.simulated.harmless,
            "detectable": self.detectable(),
            "false_alarms": self.alarms.share,
            "draws": self.alarms.draws,
            "curve": [{"size": point.size, "found": point.share} for point in self.points],
        }


def simulated_for(audit: str) -> list[Simulated]:
    """The simulated metrics whose defects an audit must find."""
    metrics = [metric for metric in SIMULATED if metric.audit == audit]
    if not metrics:
        audit_class(audit)  # raises for a wrong name, and suggests one
        known = dict.fromkeys(metric.audit for metric in SIMULATED)
        raise SpecError(f"{audit} has no verdict that could be calibrated{suggest(audit, known)}")
    return metrics


def calibrate(
    audit: str,
    asked: Mapping[str, Any],
    *,
    seeds: int = SEEDS,
    noise: float | None = None,
    metric: Specifiable | None = None,  # simulated metrics are as noisy as it is on the data
    session: Session | None = None,
    size: str = "full",
) -> tuple[list[Curve], list[str]]:
    """One curve per defect on this data, and notes on defects for which the data does not suffice."""
    curves, notes = [], []
    for simulated in simulated_for(audit):
        quick = dict(audit_class(audit).quick()) if size == "quick" else {}
        quick.pop("skip", None)
        made = make_audit(audit, quick | dict(simulated.options) | dict(asked))
        items = list(made.cases())
        if not items:
            raise DataError(f"{audit} found nothing to score in its data; check --data, --only and --limit")
        if not simulated.needs(items):
            notes.append(f"{audit}: {simulated.defect}: not calibrated, {simulated.missing}")
            continue
        level = noise if metric is None else metric_noise(simulated, items, metric, session or Session.open())
        if metric is not None and level is None:
            notes.append(f"{audit}: {simulated.defect}: these scores do not show how noisy the metric is")
        curves.append(operating_curve(simulated, made, items, seeds=seeds, noise=level))
    return curves, notes


def metric_noise(
    simulated: Simulated, items: Sequence[Case | Grid], metric: Specifiable, session: Session
) -> float | None:
    """Noise of a real metric from item to item: the SD of score differences in percent of its gap.

    None where the metric has no gap, or the simulated metric's noise is not a score's.
    """
    cases = [item for item in items if isinstance(item, Case) and WORTHLESS in item.samples]
    if not cases or not simulated.noise_from_scores:
        return None
    real = measure(metric)
    references = [sample.references for case in cases for sample in case.samples.values()]
    with session:
        fitted = replace(real, metric=real.metric.fitted(references))
        scored = score_cases(fitted, {simulated.audit: cases}, session)[simulated.audit]
    # Where an audit names its roles, it compares the first two; else every role with the clean text.
    values = {role: on_effect_scale(scored, column) for role, column in scored.values.items()}
    gaps = values.pop(WORTHLESS)
    clean, *others = (values[role] for role in audit_class(simulated.audit).roles[:2] or tuple(values))
    gaps = clean - gaps
    changes = [changed - clean for changed in others]
    deviations = [float(np.nanstd(change, ddof=1)) for change in changes if np.isfinite(change).sum() > 1]
    gap = float(np.nanmean(gaps)) if np.isfinite(gaps).any() else 0.0
    return 100 * float(np.median(deviations)) / gap if deviations and gap > 0 else None


def operating_curve(
    simulated: Simulated,
    audit: Audit,
    items: Sequence[Case | Grid],
    *,
    seeds: int = SEEDS,
    noise: float | None = None,
    sizes: Sequence[float] | None = None,
) -> Curve:
    """How often each size of the defect is found, in simulations that sizes share."""
    level = simulated.noise if noise is None else noise

    def findings(seed: int, stream: int, size: float) -> list[Finding]:
        world = World(audit, items, level, np.random.default_rng([seed, stream]))
        return [finding for finding in judged(simulated, world, size) if simulated.found(finding)]

    counts = dict.fromkeys(sizes or simulated.sizes, 0)
    alarms = 0
    for seed in range(seeds):
        for size in counts:
            counts[size] += simulated.statistic in [finding.statistic for finding in findings(seed, 13, size)]
        alarms += bool(findings(seed, 17, simulated.sizes[0]))
    points = tuple(Point(size, count, seeds) for size, count in counts.items())
    return Curve(simulated, _count(simulated, items), level, points, Point(simulated.sizes[0], alarms, seeds))


def judged(simulated: Simulated, world: World, size: float) -> list[Finding]:
    """The audit's settled findings on one simulation, of the metric with the defect alone."""
    findings = settle(world.audit, world.audit.judge(simulated.draw(world, size)))
    return [finding for finding in findings if METRIC in (finding.metric, finding.versus)]


def _count(simulated: Simulated, items: Sequence[Case | Grid]) -> int:
    """How many items the defect is in: those of the first slice that has it."""
    if any(isinstance(item, Grid) for item in items):
        return len(items) // 2  # each test both ways
    slices = [item.slice for item in items if isinstance(item, Case)]
    if simulated.audit in ("swap", "human", "caption"):
        return len(slices)
    named = [slice_ for slice_ in slices if not slice_.endswith(("/gold", "control"))]
    return named.count(named[0])
