"""Pairs: tie calibration against brute force, soft accuracy against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest

from assay.statistics import (
    agreement_curve,
    calibrated_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
    system_accuracy,
)


def brute_accuracy(metric, human, groups, epsilon):
    accuracies = []
    for group in sorted(set(groups)):
        rows = [i for i, g in enumerate(groups) if g == group]
        right = []
        for i, j in combinations(rows, 2):
            gap, judged = metric[i] - metric[j], human[i] - human[j]
            said = 0 if abs(gap) <= epsilon else np.sign(gap)
            right.append(said == np.sign(judged))
        if right:
            accuracies.append(np.mean(right))
    return np.mean(accuracies)


@pytest.mark.parametrize("seed", range(6))
def test_calibration_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(4, size=24).tolist()
    human = rng.integers(3, size=24).astype(float)
    metric = np.round(human + rng.normal(size=24), 1 + seed % 2)
    gaps = {abs(a - b) for a, b in combinations(metric, 2)} | {0.0}
    best = max(brute_accuracy(metric, human, groups, gap) for gap in gaps)
    ours = calibrated_accuracy(metric, human, groups=groups)
    assert ours.accuracy == pytest.approx(best)
    at_epsilon = pairwise_accuracy(metric, human, groups=groups, epsilon=ours.epsilon)
    assert at_epsilon.accuracy == pytest.approx(best)
    plain = pairwise_accuracy(metric, human, groups=groups)
    assert plain.accuracy == pytest.approx(brute_accuracy(metric, human, groups, 0.0))


def test_a_metric_that_never_ties_gains_by_calibration():
    human = np.repeat([0.0, 1.0], 10)
    metric = human + np.linspace(0, 0.1, 20)
    assert pairwise_accuracy(metric, human).accuracy == pytest.approx(100 / 190)
    calibrated = calibrated_accuracy(metric, human)
    assert calibrated.accuracy == 1.0
    assert calibrated.n_pairs == 190
    assert 0.04 < calibrated.epsilon < 0.99


def test_no_pair_has_no_accuracy():
    assert pairwise_accuracy([1.0, 2.0], [1.0, 2.0], groups=["a", "b"]).accuracy is None
    assert calibrated_accuracy([1.0], [1.0]).n_pairs == 0
    assert system_accuracy([[1.0], [2.0]], [[3.0], [3.0]]).accuracy is None


def test_system_accuracy_counts_a_metric_tie_as_wrong():
    human = np.array([[1.0, 3.0], [3.0, 5.0], [2.0, 2.0]])  # means 2, 4, 2
    metric = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    result = system_accuracy(metric, human)
    assert (result.accuracy, result.n_pairs) == (0.5, 2)


def enumerated_p(first, second):
    gap = first - second
    null = [np.dot(signs, gap) for signs in product([1, -1], repeat=gap.size)]
    return np.mean(np.array(null) >= gap.sum() - 1e-10)


def test_soft_accuracy_equals_enumeration():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 7)) + np.arange(4)[:, None] / 3
    metric = human + rng.normal(size=(4, 7))
    expected = np.mean(
        [
            1 - abs(enumerated_p(metric[i], metric[j]) - enumerated_p(human[i], human[j]))
            for i, j in combinations(range(4), 2)
        ]
    )
    assert soft_pairwise_accuracy(metric, human, resamples=200, seed=0) == pytest.approx(expected)
    assert soft_pairwise_accuracy(human, human, resamples=200, seed=0) == 1.0
    assert soft_pairwise_accuracy(human[:1], human[:1], seed=0) is None
    with pytest.raises(ValueError, match="complete"):
        soft_pairwise_accuracy(metric, np.where(human > 1, np.nan, human), seed=0)


def test_drawn_soft_accuracy_is_near_and_repeatable():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(5, 200)) + np.arange(5)[:, None] / 10
    first = soft_pairwise_accuracy(human + 0.1, human, seed=3)
    assert first == soft_pairwise_accuracy(human + 0.1, human, seed=3)
    assert first > 0.98
    assert soft_pairwise_accuracy(-human, human, seed=3) < 0.6


def test_curve_of_differences():
    points = agreement_curve([0.1, -0.2, 0.9, 1.5, 0.0], [1.0, 1.0, 2.0, 3.0, 1.0], edges=[0, 0.5, 1, 2, 4])
    assert [(p.share, p.n_pairs) for p in points] == [(0.5, 2), (1.0, 1), (1.0, 1)]
