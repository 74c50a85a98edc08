"""Pairs of outputs or systems: does the metric order them as people do?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.correlation import system_means
from assay.statistics.intervals import Floats, Integers, Labels, Seed, generator, label_codes, matched
from assay.statistics.permutation import TOLERANCE, sign_batches


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """The share of pairs ordered as people order them; None where there is no pair."""

    accuracy: float | None
    n_pairs: int
    n_groups: int
    epsilon: float = 0.0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Of the pairs whose metric scores differ by low to high, how many people order the same way."""

    low: float
    high: float
    share: float
    n_pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    gaps: Floats  # |metric difference| of every pair
    tied: Floats  # 1 where people see a tie
    agree: Floats  # 1 where both differ, in the same direction
    weights: Floats  # sum to 1: a mean over pairs in a group, then over groups
    n_groups: int


def pairwise_accuracy(
    metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None, epsilon: float = 0.0
) -> PairwiseAccuracy:
    """Return acc_eq (Deutsch, Foster & Freitag, 2023): a tie is right where people see a tie.

    Scores within `epsilon` count as tied. Accuracy is averaged over groups that have a pair.
    """
    pairs = _pairs(metric, human, groups)
    if pairs is None:
        return PairwiseAccuracy(None, 0, 0, epsilon)
    return _accuracy_at(pairs, epsilon)


def calibrated_accuracy(
    metric: ArrayLike, human: ArrayLike, *, groups: Labels | None = None
) -> PairwiseAccuracy:
    """Return acc_eq at the epsilon that makes it largest, so that metrics which never tie compare fairly.

    As epsilon grows past a pair's gap the pair becomes a tie: right if people tie, wrong if it agreed.
    One sort and a running sum try every epsilon. All pairs of a group are held at once: 10,000 rows
    in one group are 50 million pairs.
    """
    pairs = _pairs(metric, human, groups)
    if pairs is None:
        return PairwiseAccuracy(None, 0, 0)
    order = np.argsort(pairs.gaps, kind="stable")
    gaps = pairs.gaps[order]
    gain = np.cumsum(((pairs.tied - pairs.agree) * pairs.weights)[order])
    last = np.flatnonzero(np.append(np.diff(gaps) > 0, True))  # equal gaps become ties together
    epsilons, accuracies = gaps[last], float(pairs.agree @ pairs.weights) + gain[last]
    if epsilons[0] > 0.0:  # epsilon 0: nothing is tied
        epsilons = np.append(0.0, epsilons)
        accuracies = np.append(float(pairs.agree @ pairs.weights), accuracies)
    best = int(np.argmax(accuracies > accuracies.max() - TOLERANCE))
    return _accuracy_at(pairs, float(epsilons[best]))


def system_accuracy(metric: ArrayLike, human: ArrayLike) -> PairwiseAccuracy:
    """Return the share of pairs of systems ordered as people order them (Kocmi et al., 2021).

    Systems x documents in. Pairs that people leave tied are no pairs; a tie of the metric is wrong.
    """
    first, second = system_means(metric), system_means(human)
    present = np.isfinite(first) & np.isfinite(second)
    metric_gaps, human_gaps = _gaps(first[present]), _gaps(second[present])
    judged = human_gaps != 0
    if not judged.any():
        return PairwiseAccuracy(None, 0, 0)
    right = np.sign(metric_gaps[judged]) == np.sign(human_gaps[judged])
    return PairwiseAccuracy(float(right.mean()), right.size, 1)


def soft_pairwise_accuracy(
    metric: ArrayLike, human: ArrayLike, *, resamples: int = 1000, seed: Seed
) -> float | None:
    """Return soft pairwise accuracy (Thompson et al., 2024): systems x segments in, complete.

    For each pair of systems, 1 less the distance of two p-values that one is better, the metric's and
    people's; so a metric is not asked to be sure where people are not. None below two systems.
    """
    ours, theirs = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("soft pairwise accuracy needs complete scores; drop segments with missing ones")
    if len(ours) != len(theirs) or len(ours) < 2:
        return None
    rng = generator(seed)
    distance = np.abs(better_p_values(ours, resamples, rng) - better_p_values(theirs, resamples, rng))
    return float(1.0 - distance[np.triu_indices(len(ours), 1)].mean())


def better_p_values(scores: Floats, resamples: int, seed: Seed) -> Floats:
    """Return, for all pairs of systems, the one-sided p that row beats column, by swapping segments.

    As in the paper, p is the plain share of swaps with a difference at least as large.
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


def agreement_curve(metric: ArrayLike, human: ArrayLike, *, edges: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Return how often people agree with a metric difference, by its size ("is +0.8 real?").

    Differences of pairs in: metric's and people's. Pairs without a difference on either side are left
    out; `edges` are the bounds of the bins, each with its lower bound.
    """
    first, second = matched(metric, human)
    kept = (first != 0) & (second != 0)
    size, right = np.abs(first[kept]), np.sign(first[kept]) == np.sign(second[kept])
    points = []
    for low, high in pairwise(edges):
        inside = (size >= low) & (size < high)
        if inside.any():
            points.append(CurvePoint(low, high, float(right[inside].mean()), int(inside.sum())))
    return tuple(points)


def _accuracy_at(pairs: _Pairs, epsilon: float) -> PairwiseAccuracy:
    right = np.where(pairs.gaps <= epsilon, pairs.tied, pairs.agree)
    accuracy = min(1.0, float(right @ pairs.weights))
    return PairwiseAccuracy(accuracy, right.size, pairs.n_groups, epsilon)


def _gaps(values: Floats) -> Floats:
    i, j = np.triu_indices(values.size, 1)
    gaps: Floats = values[i] - values[j]
    return gaps


def _pairs(metric: ArrayLike, human: ArrayLike, groups: Labels | None) -> _Pairs | None:
    first, second = matched(metric, human)
    codes, n_groups = (
        (np.zeros(first.size, dtype=np.intp), 1) if groups is None else label_codes(groups, first.size)
    )
    sizes = np.bincount(codes, minlength=n_groups)
    members = [m for m in np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1]) if m.size > 1]
    if not members:
        return None
    return _joined(first, second, members)


def _joined(first: Floats, second: Floats, members: Sequence[Integers]) -> _Pairs:
    metric_gaps = [_gaps(first[m]) for m in members]
    weights = [np.full(gaps.size, 1.0 / gaps.size / len(members)) for gaps in metric_gaps]
    ours, theirs = np.concatenate(metric_gaps), np.concatenate([_gaps(second[m]) for m in members])
    tied = theirs == 0
    agree = ~tied & (np.sign(ours) == np.sign(theirs))
    return _Pairs(
        np.abs(ours), tied.astype(np.float64), agree.astype(np.float64), np.concatenate(weights), len(members)
    )
