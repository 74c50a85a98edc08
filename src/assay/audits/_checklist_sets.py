"""Checklist rows for metrics of whole sets: one score a role, with paired resamples."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from assay.audits._checklist_rows import FEWEST
from assay.core import Finding, Floats, Scored
from assay.statistics.bootstrap import bootstrap_p_value, interval_of
from assay.statistics.verdict import verdict


def set_findings(
    scored: Scored, margin: float, tolerance: float, expectations: Mapping[str, str]
) -> list[Finding]:
    """The change of a set's score, in units of the spread that its resamples tell of an item."""
    found = []
    for place, case in enumerate(scored.cases):
        gold, perturbed = (float(scored.values[role][place]) for role in ("gold", "perturbed"))
        n = int(case.meta["sizes"]["gold"])
        if np.isfinite(gold) and np.isfinite(perturbed):
            draws = {role: scored.resamples[role][place] for role in ("gold", "perturbed")}
            worse = expectations.get(case.slice, "lower")
            found.append(
                _finding(scored.metric, case.slice, perturbed - gold, n, draws, (margin, tolerance), worse)
            )
    return found


def _finding(
    metric: str,
    name: str,
    change: float,
    n: int,
    draws: Mapping[str, Floats],
    margins: tuple[float, float],
    expect: str,
) -> Finding:
    resampled = bool(np.isfinite(draws["gold"]).all() and np.isfinite(draws["perturbed"]).all())
    # Resampled set scores vary like a mean of n items; times the root of n they vary like an item.
    spread = float(draws["gold"].std(ddof=1)) * sqrt(n) if resampled else 0.0
    unit = spread or 1.0
    difference = (draws["perturbed"] - draws["gold"]) / unit
    interval = interval_of(difference, n_clusters=n) if resampled and n > 1 else None
    if interval is None or n < FEWEST:
        passed = None
    elif expect == "lower":
        passed = verdict(interval, -margins[0], "above")
    else:
        passed = verdict(interval, margins[1], "either")
    return Finding(
        metric, "checklist", name, "score_change", change / unit, n,
        ci=None if interval is None else interval.pair,
        p_value=bootstrap_p_value(difference) if resampled else None, passed=passed,
    )  # fmt: skip
