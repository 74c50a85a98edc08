"""Is one metric better than another, and how often does it order pairs of outputs or systems as people do?

Permutation-both (Deutsch, Dror & Roth, 2021) tests the null hypothesis that two metrics are exchangeable.
Under it, swapping their standardised scores on any set of units gives a difference of correlations with
people that was as likely as the observed difference. All pairs of metrics are tested with the same swaps.
p-values are two-sided, metrics x metrics, nan where undefined.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics import intervals
from assay.statistics.correlation import Coefficient, average_ranks, correlate_rows, system_means
from assay.statistics.estimates import smallest_p
from assay.statistics.intervals import Floats, Integers, Labels, Seed
from assay.statistics.permutation import TOLERANCE, sign_batches


def permutation_both(
    metrics: ArrayLike,
    human: ArrayLike,
    *,
    kind: Literal["pearson", "spearman"] = "pearson",
    units: Labels | None = None,
    resamples: int = 1000,
    seed: Seed,
) -> Floats:
    """Return the p-values of metrics (metrics x segments, complete) at the segment level.

    Segments of one unit (their document, where they share one) are swapped together. Spearman swaps ranks
    in place of scores.
    """
    scores, judged = np.atleast_2d(np.asarray(metrics, dtype=np.float64)), intervals.vector(human, "human")
    if scores.ndim != 2 or judged.shape != scores.shape[1:]:
        raise ValueError(f"metrics x segments and segments needed, not {scores.shape} and {judged.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("metrics have missing entries; drop those segments first")
    if kind == "spearman":
        scores, judged = np.array([average_ranks(row) for row in scores]), average_ranks(judged)
    scores, judged = _standardised(scores), _standardised(judged[None, :])[0]
    codes, n_units = intervals.label_codes(units, judged.size)
    differences = partial(_swapped_differences, scores, judged, codes)
    return _swap_p_values(differences, len(scores), n_units, resamples, seed)


def permutation_both_systems(
    metrics: ArrayLike, human: ArrayLike, kind: Coefficient, *, resamples: int = 1000, seed: Seed
) -> Floats:
    """Return the p-values of metrics (metrics x systems x documents, complete) at the system level.

    `human` is systems x documents, nan for missing. Each (system, document) cell is swapped by itself.
    """
    scores = np.asarray(metrics, dtype=np.float64)
    if scores.ndim != 3 or not np.isfinite(scores).all():
        raise ValueError("metrics must be metrics x systems x documents without missing entries")
    n_metrics, n_systems, n_documents = scores.shape
    cells = _standardised(scores.reshape(n_metrics, -1)).reshape(scores.shape)
    means, judged = cells.mean(axis=2), system_means(human)[None, :]

    def differences(signs: Floats) -> Floats:
        by_system = np.split(signs, n_systems, axis=1)
        moved = np.stack([own @ cells[:, s].T / n_documents for s, own in enumerate(by_system)], axis=1)
        columns = []
        for i, j in combinations(range(n_metrics), 2):
            middle, half = (means[i] + means[j]) / 2.0, (moved[:, :, i] - moved[:, :, j]) / 2.0
            sides = [correlate_rows(side, judged, kind) for side in (middle + half, middle - half)]
            columns.append(sides[0] - sides[1])
        return np.stack(columns, axis=1)

    return _swap_p_values(differences, n_metrics, n_systems * n_documents, resamples, seed)


def swapped_soft_accuracies(
    metrics: ArrayLike, human: ArrayLike, *, resamples: int = 1000, patterns: int = 1000, seed: Seed
) -> Floats:
    """Return differences of soft pairwise accuracy (Thompson et al., 2024): arrangements x pairs of metrics.

    Metrics are metrics x systems x documents, people systems x documents, both complete. The first row is the
    observed difference; the others follow from swapping the standardised scores of random cells between two
    metrics, as the WMT metrics task does. All p-values behind the accuracies use the same `patterns` signs.
    """
    scores = np.asarray(metrics, dtype=np.float64)
    n_metrics, n_systems, n_documents = scores.shape
    cells = _standardised(scores.reshape(n_metrics, -1)).reshape(scores.shape)
    rng = np.random.default_rng(seed)
    _, _, batches = sign_batches(n_documents, patterns, rng)
    signs = np.concatenate(list(batches))
    people = _better_counts(np.asarray(human, dtype=np.float64)[None], signs) / len(signs)
    columns = []
    for i, j in combinations(range(n_metrics), 2):
        middle, half = (cells[i] + cells[j]) / 2.0, (cells[i] - cells[j]) / 2.0
        deltas = []
        for piece in intervals.block_sizes(resamples + 1, len(signs) * n_systems**2):
            count = piece.stop - piece.start
            swaps = rng.integers(2, size=(count, n_systems, n_documents)) * 2.0 - 1.0
            if piece.start == 0:
                swaps[0] = 1.0
            sides = (_better_counts(middle + turn * swaps * half, signs) for turn in (1.0, -1.0))
            first, second = (1.0 - np.abs(side / len(signs) - people).mean(axis=1) for side in sides)
            deltas.append(first - second)
        columns.append(np.concatenate(deltas))
    return np.stack(columns, axis=1)


def _better_counts(tables: Floats, signs: Floats) -> Integers:
    """Count, for tables x pairs of systems, the signs under which a difference reaches the observed one."""
    moved, observed = tables @ signs.T, tables.sum(axis=2)
    i, j = np.triu_indices(tables.shape[1], 1)
    slack = TOLERANCE * max(float(np.abs(tables).max()), 1e-300) * tables.shape[2]
    gaps = (observed[:, i] - observed[:, j])[:, :, None]
    return np.asarray((moved[:, i] - moved[:, j] >= gaps - slack).sum(axis=2))


def swap_groups(by_group: ArrayLike, *, resamples: int = 9999, seed: Seed) -> Floats:
    """Return the p-values of metrics whose correlation is a mean over groups (metrics x groups).

    Whole groups are swapped, which is valid for any correlation. A group that is undefined (nan) for some
    metric is left out for all.
    """
    values = np.asarray(by_group, dtype=np.float64)
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] == 0:
        raise ValueError("no group in which every metric has a correlation")
    n_groups, means = values.shape[1], values.mean(axis=1)
    i, j = np.triu_indices(len(values), 1)
    middle = (means[i] + means[j]) / 2.0

    def differences(signs: Floats) -> Floats:
        moved = signs @ values.T / n_groups
        half = (moved[:, i] - moved[:, j]) / 2.0
        return np.asarray((middle + half) - (middle - half))

    return _swap_p_values(differences, len(values), n_groups, resamples, seed)


def _swap_p_values(
    differences: Callable[[Floats], Floats], n_metrics: int, n_units: int, resamples: int, seed: Seed
) -> Floats:
    """Return p-values from differences of correlations (patterns x pairs) under patterns of signs x units.

    No p-value is smaller than the number of units allows, however patterns are drawn.
    """
    _, exact, batches = sign_batches(n_units, resamples, np.random.default_rng(seed))
    observed = np.ones((1, n_units))
    table = np.concatenate([differences(signs) for signs in chain([observed], batches)])
    p_values = np.ones((n_metrics, n_metrics))
    for (i, j), column in zip(combinations(range(n_metrics), 2), table.T, strict=True):
        p_values[i, j] = p_values[j, i] = np.maximum(_two_sided_p(column, exact), smallest_p(n_units))
    return p_values


def metric_clusters(values: ArrayLike, apart: ArrayLike) -> tuple[int, ...]:
    """Return each metric's cluster, 1 the best; metrics of one cluster are not told apart.

    `apart` (metrics x metrics) says which pairs are. From the best down, a metric opens a new cluster when it
    is told apart from any metric in the current one. A metric without a value (nan) gets 0.

    >>> metric_clusters([0.5, 0.9, 0.8], [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    (2, 1, 1)
    """
    value, differs = np.asarray(values, dtype=np.float64), np.asarray(apart, dtype=bool)
    numbers = [0] * value.size
    cluster: list[int] = []
    number = 1
    for index in (int(i) for i in np.argsort(-value, kind="stable") if np.isfinite(value[i])):
        if any(differs[index, other] for other in cluster):
            cluster, number = [], number + 1
        cluster.append(index)
        numbers[index] = number
    return tuple(numbers)


def _two_sided_p(deltas: Floats, exact: bool) -> float:
    """Return the p-value of the first difference among the others; nan where it is undefined."""
    if not np.isfinite(deltas[0]):
        return float("nan")
    null = np.abs(deltas[1:][np.isfinite(deltas[1:])])
    hits = int(np.count_nonzero(null >= abs(deltas[0]) - TOLERANCE))
    # All patterns include the observed one; among drawn ones it is added (Phipson & Smyth, 2010).
    return hits / null.size if exact else (1 + hits) / (1 + null.size)


def _standardised(scores: Floats) -> Floats:
    """Give every row mean 0 and standard deviation 1 (ddof 0); a constant row becomes 0."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = centred.std(axis=1, keepdims=True)
    flat = size <= 1e-12 * np.abs(scores).max(axis=1, keepdims=True)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, size))


def _swapped_differences(scores: Floats, judged: Floats, codes: Integers, signs: Floats) -> Floats:
    """Return the difference of correlations of all pairs of metrics (patterns of signs x pairs).

    Swapping x and y by a sign s turns them into (x + y) / 2 +- s (x - y) / 2, so the sums that a correlation
    needs are linear in the signs: one matrix product gives them for all patterns.
    """
    centred = judged - judged.mean()
    columns = np.concatenate([scores, scores**2, scores * centred]).T
    moved = signs @ intervals.cluster_sums(columns, codes, signs.shape[1])
    still = columns.sum(axis=0)
    i, j = np.triu_indices(len(scores), 1)
    middle = [(part[i] + part[j]) / 2.0 for part in np.split(still, 3)]
    half = [(part[:, i] - part[:, j]) / 2.0 for part in np.split(moved, 3, axis=1)]
    variance = float((centred**2).sum())

    def side(turn: Callable[[Floats, Floats], Floats]) -> Floats:
        total, square, product = (turn(still, moving) for still, moving in zip(middle, half, strict=True))
        total *= total
        square -= total / judged.size
        return _over_root(product, square, variance)

    return side(np.add) - side(np.subtract)


def _over_root(product: Floats, square: Floats, variance: float) -> Floats:
    """Divide by sqrt(square * variance); nan where either is 0. In place, as most of the time goes here."""
    if variance <= 1e-9:
        return np.full_like(product, np.nan)
    square *= variance
    if square.min() <= 1e-9 * variance:
        square[square <= 1e-9 * variance] = np.nan
    product /= np.sqrt(square, out=square)
    return product


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    gaps: Floats  # |metric difference| of every pair
    tied: Floats  # 1 where people see a tie
    agree: Floats  # 1 where both differ, in the same direction
    weights: Floats  # sum to 1: a mean over pairs in a group, then over groups


def pairwise_accuracy(
    metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None, epsilon: float = 0.0
) -> float | None:
    """Return acc_eq (Deutsch, Foster & Freitag, 2023): a tie is right where people see a tie.

    Scores within `epsilon` count as tied. Accuracy is averaged over the groups that have a pair; None where
    there is no pair.
    """
    pairs = _pairs(metric, human, groups)
    if pairs is None:
        return None
    right = np.where(pairs.gaps <= epsilon, pairs.tied, pairs.agree)
    return min(1.0, float(right @ pairs.weights))


def tie_threshold(metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None) -> float:
    """Return the epsilon that makes acc_eq largest, so that metrics which never tie compare fairly.

    As epsilon grows past a pair's gap the pair becomes a tie: right if people tie, wrong if it agreed.
    One sort and a running sum try every epsilon. All pairs of a group are in memory at once: 10,000 rows
    in one group are 50 million pairs.
    """
    pairs = _pairs(metric, human, groups)
    if pairs is None:
        return 0.0
    order = np.argsort(pairs.gaps, kind="stable")
    gaps = pairs.gaps[order]
    gain = np.cumsum(((pairs.tied - pairs.agree) * pairs.weights)[order])
    last = np.flatnonzero(np.append(np.diff(gaps) > 0, True))  # equal gaps become ties together
    epsilons, accuracies = gaps[last], float(pairs.agree @ pairs.weights) + gain[last]
    if epsilons[0] > 0.0:  # epsilon 0: nothing is tied
        epsilons = np.append(0.0, epsilons)
        accuracies = np.append(float(pairs.agree @ pairs.weights), accuracies)
    return float(epsilons[np.argmax(accuracies > accuracies.max() - TOLERANCE)])


def better_p_values(scores: Floats, resamples: int, seed: Seed) -> Floats:
    """Return, for all pairs of systems, the one-sided p-value that the first is better.

    `scores` are systems x segments, complete. Null hypothesis: the scores of the two systems are
    exchangeable on every segment. As in Thompson et al. (2024), p is the plain share of random swaps of
    segments with a difference of means at least as large as the observed one.
    """
    count, _, batches = sign_batches(scores.shape[1], resamples, np.random.default_rng(seed))
    return np.asarray(sum(_better_counts(scores[None], signs)[0] for signs in batches) / count)


def _pairs(metric: ArrayLike, human: ArrayLike, groups: Labels | None) -> _Pairs | None:
    """Return all pairs of rows within groups; without groups, of all rows. None where there is no pair."""
    first, second = intervals.matched(metric, human)
    codes, n_groups = intervals.label_codes([0] * first.size if groups is None else groups, first.size)
    sizes = np.bincount(codes, minlength=n_groups)
    members = [m for m in np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1]) if m.size > 1]
    if not members:
        return None

    def gaps(values: Floats) -> list[Floats]:
        pairs = [(values[m], *np.triu_indices(m.size, 1)) for m in members]
        return [group[i] - group[j] for group, i, j in pairs]

    by_group = gaps(first)
    weights = [np.full(group.size, 1.0 / group.size / len(members)) for group in by_group]
    metric_gaps, human_gaps = np.concatenate(by_group), np.concatenate(gaps(second))
    tied = human_gaps == 0
    agree = ~tied & (np.sign(metric_gaps) == np.sign(human_gaps))
    return _Pairs(
        np.abs(metric_gaps), tied.astype(np.float64), agree.astype(np.float64), np.concatenate(weights)
    )
