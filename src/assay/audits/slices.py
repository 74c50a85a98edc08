"""What one metric said to one slice: aligned rows of scores, or a set's score with its resamples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.core import Finding, Floats, Scored
from assay.statistics.estimates import detectable_effect, verdict
from assay.statistics.intervals import (
    Interval,
    bootstrap_p_value,
    bootstrap_weighted,
    cluster_codes,
    draw_rows,
    interval_of,
    resampled_means,
    weighted_mean,
)
from assay.vocabulary import Rule

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


EVIDENCE = 5


def contrast(scores: SliceScores, treated: Sequence[str], base: Sequence[str] = ("gold",)) -> Estimate:
    """The mean of the treated roles less that of the base roles; over seeds where nothing else varies."""
    if scores.is_set and scores.draws is None and len(treated) > 1:
        return over_seeds([combine(scores, weights([role], base)).value for role in treated])
    return combine(scores, weights(treated, base))


def weights(treated: Sequence[str], base: Sequence[str]) -> dict[str, float]:
    """Means of roles as weights."""
    found = {role: 1 / len(treated) for role in treated}
    for role in base:
        found[role] = found.get(role, 0.0) - 1 / len(base)
    return found


def gain_verdict(scores: SliceScores, gain: Estimate, rule: Rule, margin: float = 0.0) -> bool | None:
    """Fail where the gain is surely at or above the margin; the paper asks only whether the mean is lower.

    A score that does not move at all has not been lowered: an interval of width 0 on the margin fails.
    """
    if rule == "paper":
        return gain.value < margin
    if gain.ci is None or not scores.judged:
        return None
    return False if gain.ci[0] >= margin else verdict(gain.ci, margin)


def gain_evidence(
    scores: SliceScores, treated: Sequence[str], base: Sequence[str] = ("gold",)
) -> tuple[str, ...]:
    """The items that gained most."""
    if scores.is_set:
        return scores.ids
    parts = [weight * scores.columns[role] for role, weight in weights(treated, base).items()]
    gains = np.sum(parts, axis=0)
    return tuple(scores.ids[place] for place in np.argsort(-gains, kind="stable")[:EVIDENCE])


def finding(
    metric: str,
    audit: str,
    slice_: str,
    statistic: str,
    estimate: Estimate,
    n: int,
    versus: str | None = None,
) -> Finding:
    """An estimate as a finding, without a verdict yet."""
    return Finding(
        metric,
        audit,
        slice_,
        statistic,
        estimate.value,
        n,
        versus,
        estimate.ci,
        estimate.p_value,
        None,
        estimate.mde,
    )


def judged_gain(
    metric: str,
    audit: str,
    slice_: str,
    statistic: str,
    scores: SliceScores,
    treated: Sequence[str],
    rule: Rule,
    *,
    base: Sequence[str] = ("gold",),
    versus: str | None = "gold",
    margin: float = 0.0,
) -> Finding:
    """The gain of the treated roles over the base, judged, with its evidence where it fails."""
    gain = contrast(scores, treated, base)
    passed = gain_verdict(scores, gain, rule, margin)
    found = finding(metric, audit, slice_, statistic, gain, scores.n, versus)
    evidence = gain_evidence(scores, treated, base) if passed is False else ()
    return replace(found, passed=passed, evidence=evidence)


# A population of words is not known from fewer than this many: they are then taken as fixed.
FEWEST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Clusters:
    """One or two crossed ways in which rows were sampled; None means a cluster a row."""

    rows: Sequence[Hashable] | None = None
    crossed: Sequence[Hashable] | None = None

    def count(self, n: int) -> int:
        """How many clusters the n rows have, by the coarser way."""
        ways = [way for way in (self.rows, self.crossed) if way is not None]
        return min((len(set(way)) for way in ways), default=n)


def clusters_of(templates: Sequence[Hashable], words: Sequence[Hashable]) -> Clusters:
    """Templates crossed with identity words; where one is nested in the other the coarser alone."""
    if len(set(words)) < FEWEST_WORDS:
        return Clusters(templates)
    both = set(zip(templates, words, strict=True))
    if len(both) == len(set(templates)):  # a template has one word: words hold whole templates
        return Clusters(words)
    if len(both) == len(set(words)):
        return Clusters(templates)
    return Clusters(templates, words)


def mean_interval(values: Floats, clusters: Clusters, *, seed: int, plain: bool = False) -> Interval | None:
    """The interval of a mean; `plain` is the percentile one of rows, as papers do it."""

    def mean(weights: Floats) -> Floats:
        return weighted_mean(weights, values)

    if plain:
        return bootstrap_weighted(mean, values.size, seed=seed, method="percentile", correction="none")
    return bootstrap_weighted(mean, values.size, clusters=clusters.rows, crossed=clusters.crossed, seed=seed)


def resampled_mean(values: Floats, clusters: Clusters, *, weights: Floats | None = None, seed: int) -> Floats:
    """Means of resampled clusters, nan where a resample caught no row."""
    codes = cluster_codes(values.size, clusters.rows, clusters.crossed)
    counts = draw_rows(codes, RESAMPLES, np.random.default_rng(seed))
    return weighted_mean(counts if weights is None else counts * weights, values)


Item = TypeVar("Item")


def spread_out(items: Sequence[Item], limit: int | None) -> list[Item]:
    """At most `limit` items at even distances.

    >>> spread_out(range(10), 4)
    [0, 2, 5, 7]
    """
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]
