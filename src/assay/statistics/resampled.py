"""Scores of metrics and ratings of people in; agreement, resampled by what was sampled, and intervals out.

Rows (texts) are resampled by document, by system or by both; systems x documents matrices along either
axis or both. All metrics of one call, and calls with the same seed, share their resamples, so that
differences between metrics stay paired.

A percentile interval of a rank correlation has no width where every resample orders texts as people do.
Intervals here lie around Fisher's z of the correlation, with the resampled standard error, but never less
than that of independent rows. Those of differences and averages are put together from them (Zou, 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from assay.statistics import correlation, intervals
from assay.statistics.correlation import Coefficient, correlate_rows, system_means, weighted_system_means
from assay.statistics.estimates import share_interval
from assay.statistics.intervals import (
    Floats,
    Integers,
    Interval,
    Labels,
    block_sizes,
    draw_counts,
    interval_of,
)
from assay.statistics.significance import better_p_values

Over = Literal["documents", "systems", "both"]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """One value per metric and its resamples; nan where undefined."""

    values: Floats  # metrics
    draws: Floats  # metrics x resamples
    sizes: Integers  # rows, groups or systems behind each value
    clusters: int  # how many clusters an interval rests on


def pooled_draws(
    metrics: ArrayLike,
    human: ArrayLike,
    kind: Coefficient,
    *,
    clusters: Labels | None = None,
    crossed: Labels | None = None,
    resamples: int,
    seed: int,
) -> Draws:
    """Correlate every metric (metrics x rows) with people over all rows; missing cells (nan) are left out.

    Rows are resampled by `clusters` (documents) and, crossed with them, by `crossed` (systems).
    """
    matrix, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), np.asarray(human, dtype=np.float64)
    masks = np.isfinite(matrix) & np.isfinite(judged)
    values = np.array([correlation.correlate_present(row, judged, kind) for row in matrix])
    statistics = [
        correlation.weighted_correlation(row[mask], judged[mask], kind) if np.isfinite(value) else None
        for row, mask, value in zip(matrix, masks, values, strict=True)
    ]
    codes = intervals.cluster_codes(judged.size, clusters, crossed)
    draws, rng = np.full((len(matrix), resamples), np.nan), np.random.default_rng(seed)
    for piece in block_sizes(resamples, judged.size):
        weights = intervals.draw_rows(codes, piece.stop - piece.start, rng)
        for index, (statistic, mask) in enumerate(zip(statistics, masks, strict=True)):
            if statistic is not None:
                draws[index, piece] = statistic(weights if mask.all() else weights[:, mask])
    return Draws(values, draws, masks.sum(axis=1), min(size for _, size in codes))


def grouped_draws(by_group: ArrayLike, *, resamples: int, seed: int) -> Draws:
    """Average over groups (metrics x groups, nan where a group has no value), resampling groups."""
    matrix, rng = np.atleast_2d(np.asarray(by_group, dtype=np.float64)), np.random.default_rng(seed)
    draws = np.empty((len(matrix), resamples))
    for piece in block_sizes(resamples, matrix.shape[1]):
        counts = draw_counts(matrix.shape[1], piece.stop - piece.start, rng)
        draws[:, piece] = weighted_system_means(matrix, counts).T
    sizes = np.isfinite(matrix).sum(axis=1)
    return Draws(system_means(matrix), draws, sizes, int(sizes.max(initial=0)))


def with_systems(
    draws: Draws, metrics: ArrayLike, human: ArrayLike, kind: Coefficient, *, resamples: int, seed: int
) -> Draws:
    """Add what the choice of systems does to a mean of within-document correlations.

    `draws` resample documents. Metrics are metrics x systems x documents. The deviations of both resamplings
    are added: their variances add up, but for what is due to single texts, which counts twice.
    """
    cube, judged = _systems(metrics, human)
    n_systems, n_documents = judged.shape
    counts = draw_counts(n_systems, resamples, np.random.default_rng(seed))
    moved = np.full_like(draws.draws, np.nan)
    for index, scores in enumerate(cube):
        values = np.empty(resamples)
        for piece in block_sizes(resamples, n_documents * n_systems**2):
            count = piece.stop - piece.start
            weights = np.repeat(counts[piece], n_documents, axis=0)
            sides = [np.tile(side.T, (count, 1)) for side in (scores, judged)]
            by_document = correlate_rows(sides[0], sides[1], kind, weights=weights)
            values[piece] = system_means(by_document.reshape(count, n_documents))
        if np.isfinite(values).any():
            deviations = values - np.nanmean(values)
            moved[index] = draws.draws[index] + np.resize(deviations, draws.draws.shape[1])
    return Draws(draws.values, moved, draws.sizes, min(draws.clusters, n_systems))


def system_draws(
    metrics: ArrayLike, human: ArrayLike, kind: Coefficient, *, over: Over, resamples: int, seed: int
) -> Draws:
    """Correlate system means (metrics x systems x documents, and systems x documents; nan for missing).

    `over` says what was sampled: documents, systems or both (Deutsch, Dror & Roth, 2021).
    """
    cube, judged = _systems(metrics, human)
    people = system_means(judged)
    values, draws, sizes = [], [], []
    for scores in cube:
        scored, rated = _present_in_both(scores, judged)
        means = system_means(scored)
        values.append(correlate_rows(means[None, :], system_means(rated)[None, :], kind)[0])
        draws.append(_resampled_correlations(scored, rated, kind, over, resamples, seed))
        sizes.append(int(np.isfinite(means + people).sum()))
    return Draws(np.array(values), np.array(draws), np.array(sizes, dtype=np.intp), _sampled(judged, over))


def soft_accuracy_draws(metric: ArrayLike, human: ArrayLike, *, resamples: int, seed: int) -> Draws:
    """Return soft pairwise accuracy (Thompson et al., 2024) of complete systems x documents, resampled.

    For each pair of systems it is 1 less the distance of two p-values that the first is better, the metric's
    and people's, so a metric need not be sure where people are not. Systems are resampled.
    """
    ours, theirs = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("soft pairwise accuracy needs complete scores; drop documents with missing ones")
    rng = np.random.default_rng(seed)
    first, second = (better_p_values(scores, resamples, rng) for scores in (ours, theirs))
    closeness = 1.0 - np.abs(first - second)
    i, j = np.triu_indices(len(ours), 1)
    counts = draw_counts(len(ours), resamples, rng)
    weight = counts[:, i] * counts[:, j]
    draws = intervals.weighted_mean(weight, closeness)
    value = closeness.mean() if closeness.size else np.nan
    return Draws(np.array([value]), draws[None, :], np.array([closeness.size], dtype=np.intp), len(ours))


def set_draws(
    scores: ArrayLike, resampled: ArrayLike, human: ArrayLike, kind: Coefficient, *, seed: int
) -> Draws:
    """Correlate one score per system (a set metric's) with people's means, resampling systems and sets.

    `resampled` are the set metric's own resamples (systems x resamples). Undefined below three systems.
    """
    values, people = np.asarray(scores, dtype=np.float64), np.asarray(human, dtype=np.float64)
    own = np.asarray(resampled, dtype=np.float64)
    both = np.isfinite(values) & np.isfinite(people)
    n_systems = int(both.sum())
    value = correlation.correlate(values[both], people[both], kind) if n_systems >= 3 else None
    # A set metric without statistics to resample still varies with the systems that were chosen.
    moving = np.where(np.isfinite(own), own, values[:, None])[both].T
    weights = draw_counts(n_systems, len(moving), np.random.default_rng(seed)) if n_systems else None
    draws = correlate_rows(moving, people[both][None, :], kind, weights=weights)
    observed = np.array([np.nan if value is None else value])
    return Draws(observed, draws[None, :], np.array([n_systems], dtype=np.intp), n_systems)


def _systems(metrics: ArrayLike, human: ArrayLike) -> tuple[Floats, Floats]:
    """Return metrics x systems x documents and systems x documents of the same shape."""
    cube, judged = np.asarray(metrics, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if cube.ndim != 3 or cube.shape[1:] != judged.shape:
        raise ValueError(
            f"metrics and people need the same systems x documents, not {cube.shape[1:]} and {judged.shape}"
        )
    return cube, judged


def _present_in_both(scores: Floats, judged: Floats) -> tuple[Floats, Floats]:
    """Blank the cells that either side lacks: a text without a rating says nothing of a system."""
    present = np.isfinite(scores) & np.isfinite(judged)
    return np.where(present, scores, np.nan), np.where(present, judged, np.nan)


def _resampled_correlations(
    scores: Floats, judged: Floats, kind: Coefficient, over: Over, resamples: int, seed: int
) -> Floats:
    """Return one system-level correlation per resample."""
    n_systems, n_documents = scores.shape
    draws, rng = [], np.random.default_rng(seed)
    for piece in block_sizes(resamples, max(n_documents, n_systems**2)):
        systems, documents = _draw_systems(scores, over, piece.stop - piece.start, rng)
        means = [weighted_system_means(side, documents) for side in (scores, judged)]
        draws.append(correlate_rows(means[0], means[1], kind, weights=systems))
    return np.concatenate(draws)


def _draw_systems(
    judged: Floats, over: Over, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return how often each system and each document was drawn; ones along an axis that was not sampled."""
    n_systems, n_documents = judged.shape

    def draw(size: int, sampled: bool) -> Floats:
        return draw_counts(size, resamples, rng) if sampled else np.ones((resamples, size))

    return draw(n_systems, over != "documents"), draw(n_documents, over != "systems")


def _sampled(judged: Floats, over: Over) -> int:
    """Return how many clusters were sampled: systems, documents, or the fewer of the two."""
    n_systems, n_documents = len(judged), len(judged.T)
    return {"both": min(n_systems, n_documents), "systems": n_systems, "documents": n_documents}[over]


_LEVEL = 0.95
_NO_WIDTH = 1e-9


def correlation_interval(
    value: float,
    draws: Floats,
    kind: Coefficient,
    *,
    n_clusters: int,
    n_rows: int | None,
    level: float = _LEVEL,
) -> Interval | None:
    """Return the interval of a correlation from its resamples, which rest on `n_clusters` clusters.

    `n_rows` is how many rows were correlated; None where they are not a sample (the systems themselves, in a
    statement about these systems only). None below two clusters and where most resamples are undefined.
    """
    defined = draws[np.isfinite(draws)]
    if n_clusters < 2 or 2 * defined.size <= draws.size or not np.isfinite(value):
        return None
    most = _largest(kind, n_rows or n_clusters)
    middle = atanh(min(most, max(-most, value)))
    # A resample of few distinct rows is perfect by chance; beyond the largest value it is not told apart.
    most = max(_largest("spearman", n_rows or n_clusters), min(abs(value), most))
    error = float(np.arctanh(np.clip(defined, -most, most)).std(ddof=1)) * sqrt(n_clusters / (n_clusters - 1))
    if n_rows is not None:
        error = max(error, _independent_error(value, kind, n_rows))
    reach = float(stdtrit(n_clusters - 1, (1.0 + level) / 2.0)) * error
    return Interval(min(value, tanh(middle - reach)), max(value, tanh(middle + reach)), level)


def _largest(kind: Coefficient, n: int) -> float:
    """Return what a perfect correlation of n rows is taken for: half a step below 1, for ranks."""
    n = max(3, n)
    if kind == "pearson":
        return 1.0 - 1e-6
    return 1.0 - (6.0 / (n * (n * n - 1.0)) if kind == "spearman" else 2.0 / (n * (n - 1.0)))


def _independent_error(value: float, kind: Coefficient, n: int) -> float:
    """Return the standard error of Fisher's z for n independent rows."""
    if kind == "pearson":
        return 1.0 / sqrt(max(1, n - 3))  # Fisher (1921)
    if kind == "spearman":
        return sqrt((1.0 + value**2 / 2.0) / max(1, n - 3))  # Bonett & Wright (2000)
    return sqrt(0.437 / max(1, n - 4))  # Fieller et al. (1957)


def bounded_interval(
    value: float, draws: Floats, *, lowest: float, n_clusters: int, level: float = _LEVEL
) -> Interval | None:
    """Return the percentile interval of a mean of values from `lowest` to 1; Wilson's if it has no width."""
    if n_clusters < 2 or not np.isfinite(value):
        return None
    interval = interval_of(draws, n_clusters=n_clusters, level=level)
    if interval is None or interval.high - interval.low > _NO_WIDTH:
        return interval
    share = min(1.0, max(0.0, (value - lowest) / (1.0 - lowest)))
    wilson = share_interval(round(share * n_clusters) / n_clusters, n_clusters, level=level)
    low, high = (lowest + (1.0 - lowest) * end for end in wilson.pair)
    return Interval(min(low, value), max(high, value), level)


def difference_interval(
    values: tuple[float, float], sides: tuple[Interval | None, Interval | None], together: float
) -> Interval | None:
    """Return the interval of first - second from those of both sides and the estimates' correlation.

    The lower end lies sqrt(a^2 + b^2 - 2 r a b) below the difference, r the correlation, a the reach of the
    first interval downwards and b that of the second upwards; the upper end likewise.

    >>> same = Interval(0.3, 0.7, 0.95)
    >>> difference_interval((0.5, 0.5), (same, same), 0.0).pair
    (-0.282842712474619, 0.282842712474619)
    """
    first, second = sides
    if first is None or second is None:
        return None
    x, y = values
    below = _joined(x - first.low, second.high - y, together)
    above = _joined(first.high - x, y - second.low, together)
    return Interval(x - y - below, x - y + above, first.level)


def _joined(first: float, second: float, together: float) -> float:
    return sqrt(max(0.0, first**2 + second**2 - 2.0 * together * first * second))


def average_interval(values: Sequence[float], ends: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of independent estimates from their intervals (`ends`).

    >>> average = average_interval([0.5, 0.9], [Interval(0.2, 0.7, 0.95), Interval(0.5, 1.0, 0.95)])
    >>> round(average.low, 3), round(average.high, 3)
    (0.45, 0.812)
    """
    mean = float(np.mean(values))
    pairs = list(zip(values, ends, strict=True))
    below = sqrt(sum((value - interval.low) ** 2 for value, interval in pairs)) / len(pairs)
    above = sqrt(sum((interval.high - value) ** 2 for value, interval in pairs)) / len(pairs)
    return Interval(mean - below, mean + above, ends[0].level)


def draws_correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of two estimates over their common resamples; 0 where either does not vary."""
    both = np.isfinite(first) & np.isfinite(second)
    x, y = first[both], second[both]
    if both.sum() < 2 or np.ptp(x) < _NO_WIDTH or np.ptp(y) < _NO_WIDTH:
        return 0.0
    return float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
