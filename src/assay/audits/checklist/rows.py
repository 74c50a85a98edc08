"""What one metric said to one row of the checklist: changes, spread, clusters; or a set's two scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from assay.core import Case, Finding, Floats, Scored
from assay.statistics.estimates import proportion_interval, verdict
from assay.statistics.intervals import Interval, bootstrap_mean, bootstrap_p_value, interval_of

FEWEST = 10  # items below which there is no verdict
_ROUNDING = 1e-9  # of the scores' size: smaller changes are the arithmetic's, not the metric's


@dataclass(frozen=True, slots=True)
class Changes:
    """The items of a slice that have both scores."""

    slice: str
    cases: tuple[Case, ...]
    gold: Floats
    change: Floats  # perturbed less gold
    spread: float

    @property
    def n(self) -> int:
        """How many items were used."""
        return len(self.cases)

    @property
    def clusters(self) -> list[str]:
        """What was really sampled: documents, else items."""
        return [str(case.meta["cluster"]) for case in self.cases]

    @property
    def expect(self) -> str:
        """What the template should do to the score."""
        return str(self.cases[0].meta["expect"])

    def passes(self, tolerance: float) -> NDArray[np.bool_]:
        """Item by item: the score fell, or an invariance moved it by no more than the tolerance."""
        moved: NDArray[np.bool_] = np.abs(self.change) <= tolerance * self.spread + 1e-15
        return moved if self.expect == "same" else self.change < 0


def changes_by_slice(scored: Scored) -> list[Changes]:
    """Every slice that has at least one item with both scores, in order."""
    places: dict[str, list[int]] = {}
    for place, case in enumerate(scored.cases):
        places.setdefault(case.slice, []).append(place)
    spreads = _task_spreads(scored)
    found = [_changes(scored, name, spots, spreads) for name, spots in places.items()]
    return [one for one in found if one is not None]


def _changes(
    scored: Scored, name: str, places: Sequence[int], task_spreads: Mapping[str, float]
) -> Changes | None:
    gold, perturbed = (scored.values[role][places] for role in ("gold", "perturbed"))
    whole = np.isfinite(gold) & np.isfinite(perturbed)
    if not whole.any():
        return None
    kept = [scored.cases[place] for place, there in zip(places, whole, strict=True) if there]
    gold, perturbed = gold[whole], perturbed[whole]
    change = perturbed - gold
    change[np.abs(change) <= _ROUNDING * max(np.abs(gold).max(), np.abs(perturbed).max())] = 0.0
    # A few items tell little of the spread: the task's other items help out.
    own = _spread(gold) if len(kept) >= FEWEST else None
    return Changes(name, tuple(kept), gold, change, own or task_spreads[name.split("/")[0]])


def _task_spreads(scored: Scored) -> dict[str, float]:
    """The spread of each task's unperturbed scores, an item once; 1 where they are all alike."""
    seen: dict[str, dict[str, float]] = {}
    for case, value in zip(scored.cases, scored.values["gold"], strict=True):
        if np.isfinite(value):
            seen.setdefault(case.slice.split("/")[0], {}).setdefault(str(case.meta["item"]), float(value))
    return {task: _spread(np.array(list(items.values()))) or 1.0 for task, items in seen.items()}


def _spread(values: Floats) -> float | None:
    """The standard deviation (ddof 1); None where there is none to speak of."""
    if values.size < 2:
        return None
    spread = float(values.std(ddof=1))
    return spread if spread > _ROUNDING * np.abs(values).max() else None


def mean_interval(values: Floats, clusters: Sequence[str], seed: int) -> Interval | None:
    """The interval of a mean, by what was sampled."""
    return bootstrap_mean(values, clusters=clusters, seed=seed)


def share_interval(hits: NDArray[np.bool_], clusters: Sequence[str], seed: int) -> Interval | None:
    """The interval of a share: Wilson's where every item is its own cluster, else by resampling."""
    if len(set(clusters)) == hits.size:
        return proportion_interval(int(hits.sum()), hits.size)
    return mean_interval(hits.astype(np.float64), clusters, seed)


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
