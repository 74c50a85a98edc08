"""Simulated metrics in, the coverage of the intervals that verdicts rest on out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core import Audit, Case, Grid
from assay.papers.curve import judged
from assay.papers.simulated import Simulated, World


def coverage(
    simulated: Simulated, audit: Audit, items: Sequence[Case | Grid], *, size: float, draws: int
) -> float:
    """The share of intervals that hold the mean of the same row's estimates over all draws.

    The mean over draws stands for the true value, so this checks intervals and not bias.
    """
    rows: dict[tuple[str, str | None], list[tuple[float, tuple[float, float]]]] = {}
    for seed in range(draws):
        world = World(audit, items, simulated.noise, np.random.default_rng([seed, 19]))
        for finding in judged(simulated, world, size):
            if finding.statistic == simulated.statistic and finding.ci and finding.verdict != "not judged":
                rows.setdefault((finding.slice, finding.versus), []).append((finding.value, finding.ci))
    held = []
    for estimates in rows.values():
        if len(estimates) == draws:  # not one that is chosen by its value
            truth = np.mean([value for value, _ in estimates])
            held += [low <= truth <= high for _, (low, high) in estimates]
    return float(np.mean(held)) if held else float("nan")
