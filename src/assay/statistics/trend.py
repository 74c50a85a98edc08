"""Items by rising levels in: does the score follow the level?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from assay.statistics.correlation import average_ranks
from assay.statistics.intervals import (
    Booleans,
    Floats,
    Interval,
    Labels,
    Options,
    Seed,
    bootstrap_mean,
    generator,
    vector,
    whole_seed,
)
from assay.statistics.permutation import sign_flip_test


@dataclass(frozen=True, slots=True)
class Trend:
    """The mean slope over items, its interval, and a two-sided sign-flip p-value."""

    slope: float | None
    interval: Interval | None
    p_value: float | None
    n_items: int


@dataclass(frozen=True, slots=True)
class Step:
    """The mean change from one level to the next, paired by item; None without an item that has both."""

    low: float
    high: float
    change: float | None
    interval: Interval | None
    n_items: int


@dataclass(frozen=True, slots=True)
class PageTest:
    """Page's L and its one-sided p-value that scores rise with the level."""

    statistic: float
    p_value: float
    n_items: int


def item_slopes(scores: ArrayLike, levels: ArrayLike) -> Floats:
    """Return each item's least-squares slope over the levels it has; nan below two."""
    matrix, level = _matrix(scores, levels)
    present = np.isfinite(matrix)
    count = np.maximum(present.sum(axis=1, keepdims=True), 1)
    x = np.where(present, level, 0.0)
    x = np.where(present, x - x.sum(axis=1, keepdims=True) / count, 0.0)
    spread = (x**2).sum(axis=1)
    product = (x * np.where(present, matrix, 0.0)).sum(axis=1)
    slopes: Floats = np.where(spread > 0, product / np.where(spread > 0, spread, 1.0), np.nan)
    return slopes


def linear_trend(
    scores: ArrayLike,
    levels: ArrayLike,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> Trend:
    """Test for a linear trend over levels (items x levels, nan for missing), resampling items."""
    slopes = item_slopes(scores, levels)
    kept = np.isfinite(slopes)
    if not kept.any():
        return Trend(None, None, None, 0)
    labels = _kept(clusters, kept)
    seeds = _seeds(seed, 2)
    interval = bootstrap_mean(slopes[kept], clusters=labels, seed=seeds[0], **options)
    p = sign_flip_test(slopes[kept], clusters=labels, seed=seeds[1]).p_value
    return Trend(float(slopes[kept].mean()), interval, p, int(kept.sum()))


def level_steps(
    scores: ArrayLike,
    levels: ArrayLike,
    *,
    clusters: Labels | None = None,
    seed: Seed,
    **options: Unpack[Options],
) -> tuple[Step, ...]:
    """Return the change at every step from a level to the next, over the items that have both."""
    matrix, level = _matrix(scores, levels)
    steps = []
    for column, step_seed in enumerate(_seeds(seed, level.size - 1)):
        change = matrix[:, column + 1] - matrix[:, column]
        kept = np.isfinite(change)
        mean = float(change[kept].mean()) if kept.any() else None
        interval = (
            bootstrap_mean(change[kept], clusters=_kept(clusters, kept), seed=step_seed, **options)
            if kept.any()
            else None
        )
        steps.append(Step(float(level[column]), float(level[column + 1]), mean, interval, int(kept.sum())))
    return tuple(steps)


def page_test(scores: ArrayLike) -> PageTest:
    """Test that scores rise with the column (Page, 1963), complete items x levels, ties averaged.

    By the normal approximation, its variance corrected for ties. To test for a fall, negate.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 3 or not np.isfinite(matrix).all():
        raise ValueError("Page's test needs complete items by at least 3 levels")
    items, size = matrix.shape
    ranks = np.stack([average_ranks(row) for row in matrix])
    place = np.arange(1.0, size + 1)
    statistic = float((ranks @ place).sum())
    mean = items * size * (size + 1) ** 2 / 4
    # Permuting the ranks of an item: variance is (sum of squares of ranks) x (of places) / (size - 1).
    spread = ((ranks - (size + 1) / 2) ** 2).sum() * ((place - (size + 1) / 2) ** 2).sum() / (size - 1)
    p = float(ndtr(-(statistic - mean) / sqrt(float(spread)))) if spread > 0 else 1.0
    return PageTest(statistic, p, items)


def _matrix(scores: ArrayLike, levels: ArrayLike) -> tuple[Floats, Floats]:
    matrix, level = np.asarray(scores, dtype=np.float64), vector(levels, "levels")
    if matrix.ndim != 2 or matrix.shape[1] != level.size or (np.diff(level) <= 0).any():
        raise ValueError("scores must be items x levels, with levels that rise")
    return matrix, level


def _kept(clusters: Labels | None, kept: Booleans) -> Labels | None:
    return None if clusters is None else [label for label, keep in zip(clusters, kept, strict=True) if keep]


def _seeds(seed: Seed, count: int) -> Sequence[int]:
    """Return a seed of its own for each part, so that parts do not share draws."""
    rng = generator(whole_seed(seed))
    return [int(number) for number in rng.integers(2**62, size=count)]
