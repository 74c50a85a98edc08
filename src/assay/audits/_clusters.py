"""What rows were really sampled by: labels in, the clusters an interval needs out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core import Floats
from assay.statistics.bootstrap import Interval, bootstrap_weighted, draw_counts

# A population of words is not known from fewer than this many: they are then taken as fixed.
FEWEST_WORDS = 8
RESAMPLES = 2000


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
    rng = np.random.default_rng(seed)
    counts = np.ones((1, values.size)) if weights is None else weights[None, :]
    for way in (clusters.rows if clusters.rows is not None else range(values.size), clusters.crossed):
        if way is not None:
            numbers = {label: number for number, label in enumerate(dict.fromkeys(way))}
            codes = [numbers[label] for label in way]
            counts = counts * draw_counts(len(numbers), RESAMPLES, rng)[:, codes]
    return weighted_mean(counts, values)


def weighted_mean(weights: Floats, values: Floats) -> Floats:
    """A mean a resample, nan where a resample caught no row."""
    total = weights.sum(axis=1)
    answer = np.full(total.shape, np.nan)
    np.divide(weights @ values, total, out=answer, where=total > 0)
    return answer
