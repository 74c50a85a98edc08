"""Scores of one metric on one slice, and the estimates that audits make from them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.core import Estimate, Floats, Scored
from assay.core import Interval as Ends
from assay.statistics.estimates import detectable_effect, mde_interval
from assay.statistics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_p_value,
    bootstrap_weighted,
    cluster_codes,
    draw_rows,
    interval_of,
    resampled_means,
    weighted_mean,
)

FEWEST = 10  # items below which there is no verdict
EVIDENCE = 5  # case ids given as evidence of a finding
RESAMPLES = 2000
CLEAN = "gold"  # the role of the unperturbed text
SD = "SD of clean scores"  # the unit of changes
_ROUNDING = 1e-12
_UNMOVED = (1e-9, 1e-9)

Weights = Mapping[str, float]  # of roles, in a weighted sum of their mean scores


@dataclass(frozen=True, slots=True)
class SliceScores:
    """Aligned scores of one metric on one slice.

    `columns` maps a role to one score per item (a single score for a set metric). `draws` maps a role to
    resampled means over the same items in every role, so that differences stay paired; it is None where
    nothing can be resampled. Estimates are in SDs of clean scores.
    """

    scored: Scored
    slice: str
    ids: tuple[str, ...]
    columns: Mapping[str, Floats]
    draws: Mapping[str, Floats] | None
    n: int
    sd: float  # of the clean scores (ddof 1)

    @property
    def unit(self) -> float:
        """What changes are divided by: the SD of the clean scores, or 1 where they are all equal."""
        return self.sd or 1.0

    @property
    def dataset(self) -> str:
        """The slice without its last part."""
        return self.slice.rpartition("/")[0]

    @property
    def only_seeds_vary(self) -> bool:
        """Whether repeats under several seeds are all that shows uncertainty: a set without resamples."""
        return self.scored.is_set and self.draws is None

    def roles(self, prefix: str) -> list[str]:
        """The roles whose names begin like this."""
        return [role for role in self.columns if role.startswith(prefix)]

    def mean(self, role: str) -> float:
        """The mean score of a role, in the metric's own units."""
        return float(self.columns[role].mean())

    def mean_score(self, roles: Sequence[str]) -> Estimate:
        """The mean score over roles, in the metric's own units."""
        weights = {role: 1 / len(roles) for role in roles}
        ci = self.combine(weights).ci
        value = sum(weight * self.mean(role) for role, weight in weights.items())
        return Estimate(value, self.n, None if ci is None else (ci[0] * self.unit, ci[1] * self.unit))

    def combine(self, weights: Weights, level: float = 0.95) -> Estimate:
        """A weighted sum of role means, with an interval of this level."""
        value = sum(weight * self.mean(role) for role, weight in weights.items()) / self.unit
        if self.draws is None:
            return Estimate(value, self.n)
        draws = np.sum([weight * self.draws[role] for role, weight in weights.items()], axis=0) / self.unit
        draws = np.where(np.abs(draws) < _ROUNDING, 0.0, draws)  # equal scores must not look like a trend
        ci = ends(interval_of(draws, n_clusters=self.n, level=level))
        mde = detectable_effect(float(draws.std(ddof=1)))
        return Estimate(value, self.n, ci, bootstrap_p_value(draws), mde)

    def over_seeds(self, repeats: Sequence[Weights]) -> Estimate:
        """The mean over repeats under different seeds, with a t interval over the seeds."""
        values = np.array([self.combine(weights).value for weights in repeats])
        mean = float(values.mean())
        if values.size < 2:
            return Estimate(mean, self.n)
        error = float(values.std(ddof=1)) / sqrt(values.size)
        reach = -float(stdtrit(values.size - 1, 0.025)) * error
        return Estimate(mean, self.n, (mean - reach, mean + reach), mde=detectable_effect(error))

    def contrast(self, treated: Sequence[str], base: Sequence[str] = (CLEAN,)) -> Estimate:
        """The mean of the treated roles (one per seed) minus that of the base roles."""
        if self.only_seeds_vary and len(treated) > 1:
            return self.over_seeds([difference([role], base) for role in treated])
        return self.combine(difference(treated, base))

    def item_values(self, weights: Weights) -> Floats:
        """A weighted sum of roles for each item."""
        total = np.sum([weight * self.columns[role] for role, weight in weights.items()], axis=0)
        return np.asarray(total / self.unit, dtype=np.float64)

    def top_items(self, weights: Weights) -> tuple[str, ...]:
        """Ids of the items with the highest weighted sums, highest first; a set has one id."""
        order = np.argsort(-self.item_values(weights), kind="stable")
        return tuple(self.ids[position] for position in order[:EVIDENCE])


def difference(treated: Sequence[str], base: Sequence[str] = (CLEAN,)) -> dict[str, float]:
    """The mean of the treated roles minus that of the base roles, as weights."""
    weights = {role: 1 / len(treated) for role in treated}
    for role in base:
        weights[role] = weights.get(role, 0.0) - 1 / len(base)
    return weights


def slices(scored: Scored) -> dict[str, list[int]]:
    """Positions of the cases by slice, in order."""
    positions: dict[str, list[int]] = {}
    for position, case in enumerate(scored.cases):
        positions.setdefault(case.slice, []).append(position)
    return positions


def read_slices(scored: Sequence[Scored], seed: int) -> Iterator[SliceScores]:
    """The scores of every metric, slice by slice; slices with too few scores to be read are left out."""
    for answer in scored:
        for slice_, positions in slices(answer).items():
            if answer.is_set:
                scores = _set_scores(answer, slice_, positions[0])
            else:
                scores = _item_scores(answer, slice_, positions, seed)
            if scores is not None:
                yield scores


def _item_scores(scored: Scored, slice_: str, positions: Sequence[int], seed: int) -> SliceScores | None:
    """The items that have a score in every role; None for no item, or for one of several."""
    roles = [role for role, values in scored.values.items() if np.isfinite(values[positions]).any()]
    if CLEAN not in roles:
        return None
    table = np.stack([scored.values[role][positions] for role in roles], axis=1)
    complete: NDArray[np.bool_] = np.asarray(np.isfinite(table).all(axis=1))
    n = int(complete.sum())
    if not n or (n == 1 and len(positions) > 1):
        return None
    table = table[complete]
    ids = tuple(scored.cases[position].id for position in np.asarray(positions)[complete])
    columns = dict(zip(roles, table.T, strict=True))
    if n == 1:
        return SliceScores(scored, slice_, ids, columns, None, n, 0.0)
    draws = dict(zip(roles, resampled_means(table, resamples=RESAMPLES, seed=seed).T, strict=True))
    return SliceScores(scored, slice_, ids, columns, draws, n, float(columns[CLEAN].std(ddof=1)))


def _set_scores(scored: Scored, slice_: str, position: int) -> SliceScores | None:
    """A set's scores; the SD is that of the resampled scores, scaled from a mean of n items to one item."""
    case = scored.cases[position]
    values = {role: row[position] for role, row in scored.values.items() if np.isfinite(row[position])}
    if CLEAN not in values:
        return None
    n = int(case.meta["sizes"][CLEAN])
    columns = {role: np.array([value]) for role, value in values.items()}
    draws = {role: scored.resamples[role][position] for role in values}
    if not all(np.isfinite(row).all() for row in draws.values()):
        # Without resamples the unit is the clean score: changes are shares of it, as in *blind* table 2.
        return SliceScores(scored, slice_, (case.id,), columns, None, n, abs(values[CLEAN]))
    sd = float(draws[CLEAN].std(ddof=1)) * sqrt(n)
    return SliceScores(scored, slice_, (case.id,), columns, draws, n, sd)


def must_fall(ci: Ends | None) -> Ends | None:
    """The interval a verdict rests on where a score must fall.

    A score that does not move at all has not fallen: its interval is taken to lie just above 0.
    """
    return _UNMOVED if ci == (0.0, 0.0) else ci


def ends(interval: Interval | None) -> Ends | None:
    """The two ends of an interval, as findings hold them."""
    return None if interval is None else interval.pair


def moves(change: float, unit: str = "SD", *, falls: str = "falls by") -> str:
    """A change of score in words.

    >>> moves(-0.523), moves(0.0)
    ('falls by 0.523 SD', 'does not change')
    """
    if abs(change) < 1e-9:
        return "does not change"
    return f"{'rises by' if change > 0 else falls} {abs(change):.3g} {unit}"


# A population of words is not known from fewer than this many: they are then taken as fixed.
FEWEST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Clusters:
    """One or two crossed ways in which rows were sampled; None means one cluster per row."""

    rows: Sequence[Hashable] | None = None
    crossed: Sequence[Hashable] | None = None

    def count(self, n: int) -> int:
        """How many clusters the n rows have, in the way that has fewer."""
        ways = [way for way in (self.rows, self.crossed) if way is not None]
        return min((len(set(way)) for way in ways), default=n)


def clusters_of(templates: Sequence[Hashable], words: Sequence[Hashable]) -> Clusters:
    """Templates crossed with identity words; where one is nested in the other, the coarser alone."""
    if len(set(words)) < FEWEST_WORDS:
        return Clusters(templates)
    both = set(zip(templates, words, strict=True))
    if len(both) == len(set(templates)):  # a template has one word: words hold whole templates
        return Clusters(words)
    if len(both) == len(set(words)):
        return Clusters(templates)
    return Clusters(templates, words)


def mean_interval(values: Floats, clusters: Clusters, *, seed: int, plain: bool = False) -> Interval | None:
    """The interval of a mean; `plain` is the percentile interval over rows, as papers compute it."""

    def mean(weights: Floats) -> Floats:
        return weighted_mean(weights, values)

    if plain:
        return bootstrap_weighted(mean, values.size, seed=seed, method="percentile", correction="none")
    return bootstrap_weighted(mean, values.size, clusters=clusters.rows, crossed=clusters.crossed, seed=seed)


def resampled_mean(values: Floats, clusters: Clusters, *, weights: Floats | None = None, seed: int) -> Floats:
    """Means of resampled clusters, nan where a resample holds no row."""
    codes = cluster_codes(values.size, clusters.rows, clusters.crossed)
    counts = draw_rows(codes, RESAMPLES, np.random.default_rng(seed))
    return weighted_mean(counts if weights is None else counts * weights, values)


Element = TypeVar("Element")


def spread_out(items: Sequence[Element], limit: int | None) -> list[Element]:
    """At most `limit` items at even distances.

    >>> spread_out(range(10), 4)
    [0, 2, 5, 7]
    """
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]


def interval_estimate(
    value: float, n: int, interval: Interval | None, *, p_value: float | None = None, with_mde: bool = False
) -> Estimate:
    """A value with its interval (None where too little could be resampled) and, if asked for, its MDE."""
    ci = interval.pair if interval else None
    return Estimate(float(value), n, ci, p_value, mde_interval(interval) if with_mde else None)


def mean_estimate(
    values: Floats, *, clusters: Sequence[Hashable] | None = None, seed: int, with_mde: bool = False
) -> Estimate:
    """A mean with its bootstrap interval; rows of one cluster are resampled together."""
    interval = bootstrap_mean(values, clusters=clusters, seed=seed)
    return interval_estimate(values.mean(), values.size, interval, with_mde=with_mde)


def largest(ids: Sequence[str], sizes: Floats) -> tuple[str, ...]:
    """The cases with the largest sizes above 0, largest first."""
    order = np.argsort(-sizes, kind="stable")[:EVIDENCE]
    return tuple(ids[place] for place in order if sizes[place] > 0)
