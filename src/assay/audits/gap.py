"""The unit of effects: the gap between a metric's scores of clean and of worthless texts, on the same items.

A worthless text is an unrelated text of the same corpus with its words shuffled. An effect is given in
percent of the gap and resampled together with it, so that metrics of any scale, and all audits, are compared
alike. A metric whose gap is not surely positive is insensitive: nothing can be said of it on these items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.core import Estimate, Floats, Sample, Scored
from assay.recipe import generator
from assay.statistics import intervals
from assay.statistics.estimates import detectable_effect
from assay.statistics.intervals import Interval, interval_of, weighted_mean
from assay.statistics.permutation import signed_rank_p

UNIT = "% of the gap"
CLEAN = "gold"  # the role of the unperturbed text
WORTHLESS = "worthless"  # the role of an unrelated text with its words shuffled
NOTICED = 1.0  # percent of the gap that an edit must cost to count as noticed
UNFAIR = 2.5  # percent of the gap between two groups that matters
RESAMPLES = 2000
_SURE = 0.999  # one-sided confidence that there is a gap: a metric of random numbers rarely reaches it
_STABLE = 0.95  # the same for the mean of a slice, once its dataset shows a gap: effects are divided by it
_STILL = 0.8  # share of items that do not move, above which the few that do say little of the rest
_MOVE = 3.0  # percent of the gap by which an unseen item may move where (nearly) none does
_ROUNDING = 1e-9  # of the size of the scores: smaller changes come from the arithmetic
_FAR = 3.0  # ranges of clean and worthless scores beyond which a score is an outlier
_OUTLYING = 0.05  # at most this share of the scores may be called outliers


def with_worthless(samples: Mapping[str, Sample], others: Sequence[str], key: str) -> dict[str, Sample]:
    """Samples and the first of them with the shuffled words of another text, where there is another."""
    first = next(iter(samples.values()))
    unrelated = [other for other in others if other != first.hypothesis]
    if not unrelated:
        return dict(samples)
    rng = generator(0, WORTHLESS, key)
    words = rng.choice(unrelated).split()
    rng.shuffle(words)
    return {**samples, WORTHLESS: replace(first, hypothesis=" ".join(words))}


def on_effect_scale(scored: Scored, values: Floats) -> Floats:
    """Scores as effects are computed from them: the log scale for heavy-tailed scores, else as they are."""
    if not scored.about.get("heavy_tailed"):
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(values < 0, -np.log(-values), np.nan))


@dataclass(frozen=True)
class Gap:
    """Mean clean score minus mean worthless score: its value, resampled values and the number of clusters."""

    value: float
    draws: Floats | None
    n_clusters: int
    scale: float = 0.0  # the size of the scores, below which differences are rounding
    apart: bool | None = None  # whether the items of the whole dataset show a gap; None where unknown

    @cached_property
    def sensitive(self) -> bool:
        """Whether the gap is surely positive: on the dataset item by item, and on these items in the mean."""
        if self.apart is False or self.value <= _ROUNDING * self.scale or self.n_clusters < 2:
            return False
        if self.draws is None:
            return True
        error = float(np.nanstd(self.draws, ddof=1)) * (self.n_clusters / (self.n_clusters - 1)) ** 0.5
        sure = _STABLE if self.apart else _SURE
        return bool(self.value > float(stdtrit(self.n_clusters - 1, sure)) * error)

    @property
    def unit(self) -> float:
        """What an effect of 100 percent is; for an insensitive metric only a number to show."""
        return self.value if self.sensitive else max(abs(self.value), self.scale) or 1.0

    def percent(self, value: float) -> float:
        """A difference of scores in percent of the gap."""
        return 0.0 if abs(value) <= _ROUNDING * self.scale else 100 * value / self.unit

    def percents(self, draws: Floats) -> Floats:
        """Resampled differences, (draws,) or (draws, rows), each divided by the gap of its own resample."""
        units: Floats | float = self.unit
        if self.sensitive and self.draws is not None:
            units = self.draws if draws.ndim == 1 else self.draws[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample without a gap is left out
            shares = 100 * draws / units
        shares = np.where(np.isfinite(shares), shares, np.nan)
        return np.where(np.abs(draws) <= _ROUNDING * self.scale, 0.0, shares)

    def estimate(self, value: float, draws: Floats, n: int, *, still: bool, clusters: int) -> Estimate:
        """One effect; `still` says that (nearly) no item moves."""
        return self.family([value], draws[:, None], [n], still=[still], clusters=[clusters])[0]

    def family(
        self,
        values: Sequence[float],
        draws: Floats,
        counts: Sequence[int],
        *,
        still: Sequence[bool],
        clusters: Sequence[int],
    ) -> list[Estimate]:
        """Effects that answer one question: their intervals hold all together. `draws` is (draws, rows)."""
        shares, centre = self.percents(draws), np.array([self.percent(value) for value in values])
        for place, unmoved in enumerate(still):
            if unmoved:
                shares[:, place] += _loosening(len(shares), counts[place])
        ends: Sequence[Interval | None]
        if centre.size == 1:
            ends = [interval_of(shares[:, 0], n_clusters=clusters[0])]
        else:
            ends = intervals.simultaneous_intervals(centre, shares, n_clusters=clusters)
        estimates = []
        for place, interval in enumerate(ends):
            value, n = float(centre[place]), counts[place]
            estimate = Estimate(value, n, sensitive=self.sensitive)
            if interval is not None:
                error = float(np.nanstd(shares[:, place], ddof=1))
                mde = detectable_effect(error, n_clusters=clusters[place])
                estimate = replace(estimate, ci=interval.pair, p_value=interval.p_value, mde=mde)
            estimates.append(estimate)
        return estimates


def _loosening(draws: int, n: int) -> Floats:
    """What resampling would add if one more item had risen and one more had fallen by a fixed amount.

    Items that all stay put do not show that the next one will: the interval of n unmoved items must not have
    width 0 (the same idea as Agresti and Coull's two added successes and failures).
    """
    rng = np.random.default_rng(n)
    return np.asarray(_MOVE / n * (rng.poisson(1.0, draws) - rng.poisson(1.0, draws)), dtype=np.float64)


def tells_apart(differences: Floats, scale: float) -> bool:
    """Whether clean texts surely score above worthless ones, item by item (signed ranks, no ties, no nan)."""
    # Ranks hardly depend on how far a few skewed scores lie apart, and see more than signs do.
    return signed_rank_p(differences[np.abs(differences) > _ROUNDING * scale]) <= 1 - _SURE


def is_still(changes: Floats, scale: float) -> bool:
    """Whether (nearly) all items have the same score before and after."""
    return float(np.mean(np.abs(changes) <= _ROUNDING * scale)) >= _STILL


def outlying(columns: Sequence[Floats], base: Floats) -> NDArray[np.bool_]:
    """The items with a score far outside what clean and worthless texts get, where they are few.

    Far means beyond three whole ranges (5th to 95th percentile of `base`) on either side. If more than one
    score in twenty lies there, that is how the metric scores, and none is outlying.
    """
    known = base[np.isfinite(base)]
    table = np.stack(list(columns), axis=1)
    none = np.zeros(len(table), dtype=np.bool_)
    low, high = np.quantile(known, [0.05, 0.95]) if known.size > 1 else (0.0, 0.0)
    width = high - low
    if width <= 0:
        return none
    far = np.asarray((table < low - _FAR * width) | (table > high + _FAR * width))
    items = np.asarray(far.any(axis=1))
    few = items.sum() == 1 or far.mean() <= _OUTLYING
    return items if few and 2 * items.sum() < len(items) else none


def paired_effects(
    effects: Floats, gaps: Floats, *, clusters: Sequence[object] | None = None, seed: int, scale: float
) -> list[Estimate]:
    """The mean effect of each column in percent of the gap over all items, as one family.

    `effects` is (items, columns), nan where a column does not concern an item; `gaps` is clean minus
    worthless per item, nan where unknown. Both are resampled with the same draws.
    """
    codes = intervals.cluster_codes(len(gaps), clusters)
    weights = intervals.draw_rows(codes, RESAMPLES, np.random.default_rng(seed))
    gap = gap_of(gaps, weights, scale, codes[0][0])
    columns = [(column, np.isfinite(column)) for column in effects.T]
    values = [float(column[there].mean()) for column, there in columns]
    draws = np.stack([weighted_mean(weights[:, there], column[there]) for column, there in columns], axis=1)
    return gap.family(
        values, draws, [int(there.sum()) for _, there in columns],
        still=[is_still(column[there], scale) for column, there in columns],
        clusters=[len(np.unique(codes[0][0][there])) for _, there in columns],
    )  # fmt: skip


def gap_of(gaps: Floats, weights: Floats, scale: float, clusters: NDArray[np.intp]) -> Gap:
    """The gap of items, of which some may have none (nan), under resampled weights (resamples, items)."""
    known = np.isfinite(gaps)
    if not known.any():
        return Gap(0.0, None, 0, scale)
    draws = weighted_mean(weights[:, known], gaps[known])
    apart = tells_apart(gaps[known], scale)
    return Gap(float(gaps[known].mean()), draws, len(np.unique(clusters[known])), scale, apart)


def scale_of(*columns: Floats) -> float:
    """The largest size of the scores."""
    return max((float(np.nanmax(np.abs(column), initial=0.0)) for column in columns), default=0.0)
