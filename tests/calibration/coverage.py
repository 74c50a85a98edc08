"""Simulated metrics in, the coverage of the intervals that verdicts rest on out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core import Audit, Case, Finding, Grid
from assay.papers.curve import judged
from assay.papers.simulated import Simulated

BOUNDS = {"of 100": (0.0, 100.0)}  # by unit: where a value can lie


def coverage(
    simulated: Simulated, audit: Audit, items: Sequence[Case | Grid], *, size: float, draws: int
) -> float:
    """The share of intervals that hold the true value of their row.

    The truth is the planted size where decisions are counted, else the mean of the row over all draws.
    """
    rows: dict[tuple[str, str | None], list[Finding]] = {}
    for seed in range(draws):
        findings, _ = judged(simulated, audit, items, size, seed)
        for finding in findings:
            if finding.statistic == simulated.statistic and finding.ci:
                rows.setdefault((finding.slice, finding.versus), []).append(finding)
    held = []
    for findings in rows.values():
        truth = size if simulated.unit in BOUNDS else np.mean([finding.value for finding in findings])
        held += [low <= truth <= high for low, high in map(interval, findings)]
    return float(np.mean(held)) if held else float("nan")


def interval(finding: Finding) -> tuple[float, float]:
    """The interval of a judged finding: it has a width, holds the value and lies within the bounds of its unit."""
    low, high = finding.ci or (float("nan"), float("nan"))
    assert low < high
    assert low <= finding.value <= high
    return low, high
