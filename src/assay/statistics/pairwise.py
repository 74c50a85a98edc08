"""Pairs of outputs or systems in, how often the metric orders them as people do out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.intervals import Floats, Labels, Seed, generator, label_codes, matched
from assay.statistics.permutation import TOLERANCE, sign_batches


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """The share of pairs ordered as people order them; None where there is no pair."""

    accuracy: float | None
    n_pairs: int
    epsilon: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    gaps: Floats  # |metric difference| of every pair
    tied: Floats  # 1 where people see a tie
    agree: Floats  # 1 where both differ, in the same direction
    weights: Floats  # sum to 1: a mean over pairs in a group, then over groups

    def accuracy_at(self, epsilon: float) -> PairwiseAccuracy:
        right = np.where(self.gaps <= epsilon, self.tied, self.agree)
        return PairwiseAccuracy(min(1.0, float(right @ self.weights)), right.size, epsilon)


def pairwise_accuracy(
    metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None, epsilon: float = 0.0
) -> PairwiseAccuracy:
    """Return acc_eq (Deutsch, Foster & Freitag, 2023): a tie is right where people see a tie.

    Scores within `epsilon` count as tied. Accuracy is averaged over the groups that have a pair.
    """
    pairs = _pairs(metric, human, groups)
    return PairwiseAccuracy(None, 0, epsilon) if pairs is None else pairs.accuracy_at(epsilon)


def calibrated_accuracy(
    metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None
) -> PairwiseAccuracy:
    """Return acc_eq at the epsilon that makes it largest, so that metrics which never tie compare fairly.

    As epsilon grows past a pair's gap the pair becomes a tie: right if people tie, wrong if it agreed.
    One sort and a running sum try every epsilon. All pairs of a group are in memory at once: 10,000 rows
    in one group are 50 million pairs.
    """
    pairs = _pairs(metric, human, groups)
    if pairs is None:
        return PairwiseAccuracy(None, 0)
    order = np.argsort(pairs.gaps, kind="stable")
    gaps = pairs.gaps[order]
    gain = np.cumsum(((pairs.tied - pairs.agree) * pairs.weights)[order])
    last = np.flatnonzero(np.append(np.diff(gaps) > 0, True))  # equal gaps become ties together
    epsilons, accuracies = gaps[last], float(pairs.agree @ pairs.weights) + gain[last]
    if epsilons[0] > 0.0:  # epsilon 0: nothing is tied
        epsilons = np.append(0.0, epsilons)
        accuracies = np.append(float(pairs.agree @ pairs.weights), accuracies)
    best = int(np.argmax(accuracies > accuracies.max() - TOLERANCE))
    return pairs.accuracy_at(float(epsilons[best]))


def better_p_values(scores: Floats, resamples: int, seed: Seed) -> Floats:
    """Return, for all pairs of systems, the one-sided p-value that row beats column.

    `scores` are systems x segments, complete. Null hypothesis: the scores of the two systems are
    exchangeable on every segment. As in Thompson et al. (2024), p is the plain share of random swaps of
    segments with a difference of means at least as large as the observed one.
    """
    n_systems, n_segments = scores.shape
    observed = scores.mean(axis=1)
    slack = TOLERANCE * max(float(np.abs(scores).max()), 1e-300)
    count, _, batches = sign_batches(n_segments, resamples, generator(seed))
    hits = np.zeros((n_systems, n_systems))
    for signs in batches:
        moved = signs @ scores.T / n_segments
        for system in range(n_systems):
            null = moved[:, system : system + 1] - moved
            hits[system] += (null >= observed[system] - observed - slack).sum(axis=0)
    return hits / count


def _pairs(metric: ArrayLike, human: ArrayLike, groups: Labels | None) -> _Pairs | None:
    """Return all pairs of rows within groups; without groups, of all rows. None where there is no pair."""
    first, second = matched(metric, human)
    codes, n_groups = label_codes([0] * first.size if groups is None else groups, first.size)
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
