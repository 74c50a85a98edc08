"""Data and simulated metrics in, operating curves out: what an audit finds on it, and how often it errs.

`assay papers calibrate` says for a user's own data how small a defect is found in 95 of 100 simulations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from assay.api.pipeline import make_audit
from assay.core import Audit, Case, Finding, Grid
from assay.engine.settle import declared_statistics, settle
from assay.errors import DataError, SpecError
from assay.names.registry import audit_class
from assay.papers.simulated import METRIC, SIMULATED, Simulated, World

POWER = 0.95
SEEDS = 100


@dataclass(frozen=True, slots=True)
class Point:
    """A size of the defect, and how many of its findings in all simulations failed."""

    size: float
    found: int
    findings: int

    @property
    def share(self) -> float:
        """How often the defect was found."""
        return self.found / max(1, self.findings)


@dataclass(frozen=True, slots=True)
class Curve:
    """An operating curve; `alarms` counts all findings at the first size, wherever they are."""

    simulated: Simulated
    n: int
    points: tuple[Point, ...]
    alarms: Point

    def detectable(self, power: float = POWER) -> float | None:
        """The smallest size found with this power, interpolated between sizes; None beyond the last size."""
        for before, point in zip(self.points, self.points[1:], strict=False):
            if point.share >= power:
                step = (power - before.share) / (point.share - before.share)
                return before.size + step * (point.size - before.size)
        return None

    def sentence(self) -> str:
        """The curve in words."""
        metric, size, last = self.simulated, self.detectable(), self.points[-1]
        start = f"with {self.n} items, a metric that {metric.defect} is"
        if size is not None:
            return f"{start} found from {size:.2g} {metric.unit} on"
        found = f"at {last.size:g} {metric.unit} in {last.share:.0%} of simulations"
        return f"{start} not found reliably: {found}; more data is needed"

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        copied = ("audit", "defect", "statistic", "unit", "harmless")
        return {name: getattr(self.simulated, name) for name in copied} | {
            "n": self.n,
            "detectable": self.detectable(),
            "false_alarms": self.alarms.share,
            "curve": [{"size": point.size, "found": point.share} for point in self.points],
        }


def simulated_for(audit: str) -> list[Simulated]:
    """The simulated metrics whose defects an audit must find."""
    metrics = [metric for metric in SIMULATED if metric.audit == audit]
    if not metrics:
        audit_class(audit)  # raises for a wrong name, and suggests one
        known = dict.fromkeys(metric.audit for metric in SIMULATED)
        raise SpecError(f"no simulated metric has a defect that {audit} must find; choose {', '.join(known)}")
    return metrics


def calibrate(
    audit: str, options: Mapping[str, Any], *, seeds: int = SEEDS, size: str = "full"
) -> tuple[list[Curve], list[str]]:
    """One curve per defect on this data, and notes on defects that the data has no texts for."""
    simulated = simulated_for(audit)
    quick = audit_class(audit).quick if size == "quick" else {}
    usual = {name: value for name, value in quick.items() if name != "skip"}
    made = make_audit(audit, {**usual, **options})
    items = list(made.cases())
    if not items:
        raise DataError(f"{audit} found nothing to score in its data; check --data, --only and --limit")
    drawn = [(metric, operating_curve(metric, made, items, seeds=seeds)) for metric in simulated]
    notes = [
        f"{audit}: {metric.defect}: the data has no texts for it" for metric, curve in drawn if curve is None
    ]
    return [curve for _, curve in drawn if curve is not None], notes


def operating_curve(
    simulated: Simulated,
    audit: Audit,
    items: Sequence[Case | Grid],
    *,
    seeds: int = SEEDS,
    sizes: Sequence[float] | None = None,
) -> Curve | None:
    """How often each size of the defect is found, in simulations that sizes share.

    None where the data has no texts for it.
    """
    cases = [item for item in items if isinstance(item, Case)]
    if cases and not any(map(simulated.needs, cases)):
        return None
    asked = tuple(sizes or simulated.sizes)
    simulations = {
        size: [judged(simulated, audit, items, size, seed) for seed in range(seeds)] for size in asked
    }
    planted = {size: _planted(simulated, drawn) for size, drawn in simulations.items()}
    largest = planted[asked[-1]]
    if not largest:
        return None
    honest = [finding for findings, _ in simulations[asked[0]] for finding in findings]
    points = tuple(_point(size, findings) for size, findings in planted.items())
    return Curve(simulated, largest[0].n, points, _point(asked[0], honest))


def _planted(simulated: Simulated, drawn: Sequence[tuple[list[Finding], str]]) -> list[Finding]:
    """The findings of all simulations that are where the defect is."""
    return [
        finding for findings, place in drawn for finding in findings if is_planted(finding, simulated, place)
    ]


def is_planted(finding: Finding, simulated: Simulated, place: str) -> bool:
    """Whether a finding is where the defect is."""
    return finding.statistic == simulated.statistic and fnmatchcase(finding.slice, place)


def _point(size: float, findings: Sequence[Finding]) -> Point:
    return Point(size, sum(finding.verdict == "fail" for finding in findings), len(findings))


def judged(
    simulated: Simulated, audit: Audit, items: Sequence[Case | Grid], size: float, seed: int
) -> tuple[list[Finding], str]:
    """What is judged in one simulation, of the metric with the defect alone, and where the defect is."""
    drawn, place = simulated.draw(World(audit, items, np.random.default_rng(seed)), size)
    findings = settle(audit, audit.judge(drawn))
    own = [finding for finding in findings if METRIC in (finding.metric, finding.versus)]
    return [finding for finding in own if declared_statistics(audit, finding).bad is not None], place
