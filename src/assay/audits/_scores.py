"""What one metric said to one slice: aligned rows of scores, or a set's score with its resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.core import Floats, Scored
from assay.statistics.bootstrap import bootstrap_p_value, interval_of, resampled_means
from assay.statistics.power import detectable_effect

FEWEST = 10  # items below which there is no verdict
RESAMPLES = 2000
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SliceScores:
    """Scores of a slice. `columns` maps a role to a value an item (one item for a set metric).

    `draws` maps a role to resampled means, the same items in every role, so that differences stay paired.
    """

    ids: tuple[str, ...]
    columns: dict[str, Floats]
    draws: dict[str, Floats] | None
    n: int
    spread: float
    is_set: bool

    def mean(self, role: str) -> float:
        """The mean score of a role."""
        return float(self.columns[role].mean())

    @property
    def judged(self) -> bool:
        """Whether there are items enough for a verdict."""
        return self.n >= FEWEST


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, p-value and minimum detectable effect."""

    value: float
    ci: tuple[float, float] | None = None
    p_value: float | None = None
    mde: float | None = None


def slices(scored: Scored) -> dict[str, list[int]]:
    """Places of the cases by slice, in order."""
    found: dict[str, list[int]] = {}
    for place, case in enumerate(scored.cases):
        found.setdefault(case.slice, []).append(place)
    return found


def slice_scores(scored: Scored, places: Sequence[int], base: str, seed: int) -> SliceScores | None:
    """The rows of a slice that have every role; None where the metric says too little to be read.

    `base` is the unperturbed role: its standard deviation (ddof 1) is the spread.
    """
    if scored.about.get("set"):
        return _set_scores(scored, places[0], base)
    roles = [role for role, values in scored.values.items() if np.isfinite(values[places]).any()]
    if base not in roles:
        return None
    table = np.stack([scored.values[role][places] for role in roles], axis=1)
    whole: NDArray[np.bool_] = np.asarray(np.isfinite(table).all(axis=1))
    n = int(whole.sum())
    if not n or (n == 1 and len(places) > 1):
        return None
    table = table[whole]
    draws = resampled_means(table, resamples=RESAMPLES, seed=seed) if n > 1 else None
    ids = tuple(scored.cases[place].id for place, kept in zip(places, whole, strict=True) if kept)
    columns = {role: table[:, number] for number, role in enumerate(roles)}
    by_role = None if draws is None else {role: draws[:, number] for number, role in enumerate(roles)}
    spread = float(columns[base].std(ddof=1)) if n > 1 else 0.0
    return SliceScores(ids, columns, by_role, n, spread, False)


def _set_scores(scored: Scored, place: int, base: str) -> SliceScores | None:
    """A set's scores; its spread is that of its resamples, scaled from a mean back to an item."""
    values = {role: found[place] for role, found in scored.values.items() if np.isfinite(found[place])}
    if base not in values:
        return None
    n = int(scored.cases[place].meta["sizes"][base])
    columns = {role: np.array([value]) for role, value in values.items()}
    draws = {role: scored.resamples[role][place] for role in values}
    drawn = all(np.isfinite(found).all() for found in draws.values())
    # Without resamples the gold score itself is the unit: changes read as shares, as in *blind* table 2.
    spread = float(draws[base].std(ddof=1)) * sqrt(n) if drawn else abs(values[base])
    return SliceScores((scored.cases[place].id,), columns, draws if drawn else None, n, spread, True)


def combine(scores: SliceScores, weights: dict[str, float], level: float = 0.95) -> Estimate:
    """A weighted sum of roles, in units of the spread; `level` is that of its interval."""
    unit = scores.spread or 1.0
    value = sum(weight * scores.mean(role) for role, weight in weights.items()) / unit
    if scores.draws is None:
        return Estimate(value)
    draws = np.sum([weight * scores.draws[role] for role, weight in weights.items()], axis=0) / unit
    draws = np.where(np.abs(draws) < _ROUNDING, 0.0, draws)  # equal scores must not look like a trend
    interval = interval_of(draws, n_clusters=scores.n, level=level)
    error = float(draws.std(ddof=1))
    ci = None if interval is None else interval.pair
    return Estimate(value, ci, bootstrap_p_value(draws), detectable_effect(error))


def score_interval(scores: SliceScores, weights: dict[str, float]) -> tuple[float, float] | None:
    """The interval of a mean score, in the metric's own units."""
    ci, unit = combine(scores, weights).ci, scores.spread or 1.0
    return None if ci is None else (ci[0] * unit, ci[1] * unit)


def over_seeds(values: Sequence[float]) -> Estimate:
    """The mean of repeats under different seeds, for sets that cannot be resampled."""
    found = np.asarray(values)
    mean = float(found.mean())
    if found.size < 2:
        return Estimate(mean)
    error = float(found.std(ddof=1)) / sqrt(found.size)
    reach = -float(stdtrit(found.size - 1, 0.025)) * error
    return Estimate(mean, (mean - reach, mean + reach), None, detectable_effect(error))
