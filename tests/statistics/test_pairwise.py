"""Pairs: accuracy and tie calibration against brute force, p-values against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest

from assay.statistics.significance import better_p_values, pairwise_accuracy, tie_threshold


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
    epsilon = tie_threshold(metric, human, groups=groups)
    assert pairwise_accuracy(metric, human, groups=groups, epsilon=epsilon) == pytest.approx(best)
    plain = pairwise_accuracy(metric, human, groups=groups)
    assert plain == pytest.approx(brute_accuracy(metric, human, groups, 0.0))


def test_a_metric_that_never_ties_gains_by_calibration():
    human = np.repeat([0.0, 1.0], 10)
    metric = human + np.linspace(0, 0.1, 20)
    assert pairwise_accuracy(metric, human) == pytest.approx(100 / 190)
    epsilon = tie_threshold(metric, human)
    assert pairwise_accuracy(metric, human, epsilon=epsilon) == 1.0
    assert 0.04 < epsilon < 0.99


def test_no_pair_has_no_accuracy():
    assert pairwise_accuracy([1.0, 2.0], [1.0, 2.0], groups=["a", "b"]) is None
    assert tie_threshold([1.0], [1.0]) == 0.0


def test_p_values_of_better_systems_equal_enumeration():
    scores = np.random.default_rng(0).normal(size=(3, 7)) + np.arange(3)[:, None] / 3
    p_values = better_p_values(scores, 200, seed=0)
    for (i, j), p_value in zip(combinations(range(3), 2), p_values, strict=True):
        gap = scores[i] - scores[j]
        null = [np.dot(signs, gap) for signs in product([1, -1], repeat=7)]
        assert p_value == pytest.approx(np.mean(np.array(null) >= gap.sum() - 1e-10))
