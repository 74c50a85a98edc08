"""Comparisons of metrics: equal to enumeration, honest under the null, and able to find a difference."""

from itertools import product

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics.correlation import correlate, grouped_correlations
from assay.statistics.significance import (
    metric_clusters,
    permutation_both,
    permutation_both_systems,
    swap_groups,
)

RNG = np.random.default_rng(7)
HUMAN = RNG.normal(size=8)
METRICS = HUMAN + np.array([[0.5], [2.0], [1.0]]) * RNG.normal(size=(3, 8))


def enumerated(first, second, statistic, units=None):
    """Swap standardised scores in every possible way."""
    first, second = ss.zscore(first.ravel()), ss.zscore(second.ravel())
    units = np.arange(first.size) if units is None else np.asarray(units)
    observed, deltas = statistic(first) - statistic(second), []
    for bits in product([False, True], repeat=units.max() + 1):
        swap = np.array(bits)[units]
        deltas.append(statistic(np.where(swap, second, first)) - statistic(np.where(swap, first, second)))
    deltas = np.array(deltas)
    return np.mean(np.abs(deltas) >= abs(observed) - 1e-10)


@pytest.mark.parametrize("units", [None, [0, 0, 1, 2, 3, 3, 4, 5]])
def test_pooled_pearson_equals_enumeration(units):
    ours = permutation_both(METRICS, HUMAN, units=units, resamples=300, seed=0)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 0)):
        expected = enumerated(METRICS[i], METRICS[j], lambda v: np.corrcoef(v, HUMAN)[0, 1], units)
        assert ours[i, j] == pytest.approx(expected)


def test_spearman_swaps_ranks():
    ranks = np.stack([ss.rankdata(m) for m in METRICS])
    ours = permutation_both(METRICS, HUMAN, kind="spearman", resamples=300, seed=0)
    expected = enumerated(ranks[0], ranks[1], lambda v: np.corrcoef(v, ss.rankdata(HUMAN))[0, 1])
    assert ours[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall_b"])
def test_systems_equal_enumeration(kind):
    human = np.random.default_rng(1).normal(size=(4, 2))
    metrics = human + np.random.default_rng(2).normal(size=(2, 4, 2))

    def level(values):
        return correlate(values.reshape(4, 2).mean(axis=1), human.mean(axis=1), kind)

    ours = permutation_both_systems(metrics, human, kind, resamples=300, seed=0)
    expected = enumerated(metrics[0], metrics[1], level)
    assert ours[0, 1] == pytest.approx(expected)


def test_drawn_swaps_agree_with_scipy():
    human = RNG.normal(size=60)
    metrics = human + np.array([[1.0], [1.6]]) * RNG.normal(size=(2, 60))
    ours = permutation_both(metrics, human, resamples=4000, seed=0)

    def gap(first, second, axis):
        return correlation(first, axis) - correlation(second, axis)

    def correlation(scores, axis):
        return ss.pearsonr(scores, np.broadcast_to(human, scores.shape), axis=axis).statistic

    theirs = ss.permutation_test(
        (ss.zscore(metrics[0]), ss.zscore(metrics[1])), gap, permutation_type="samples",
        vectorized=True, n_resamples=4000, rng=1,
    )  # fmt: skip
    assert ours[0, 1] == pytest.approx(theirs.pvalue, abs=0.03)


def test_swapping_whole_groups_flips_signs():
    groups = np.repeat(np.arange(7), 6)
    human = RNG.normal(size=42)
    metrics = human + np.array([[1.0], [2.0]]) * RNG.normal(size=(2, 42))
    by_group = grouped_correlations(metrics, human, groups, "kendall_b")
    gap = by_group[0] - by_group[1]
    null = [abs(np.dot(signs, gap)) for signs in product([1, -1], repeat=7)]
    ours = swap_groups(by_group, resamples=200, seed=0)
    assert ours[0, 1] == pytest.approx(np.mean(np.array(null) >= abs(gap.sum()) - 1e-10))


def test_a_scale_does_not_matter_and_a_constant_metric_is_undefined():
    scaled = METRICS * np.array([[1e-6], [1e5], [1.0]]) + np.array([[3.0], [-8.0], [0.0]])
    plain = permutation_both(METRICS, 1e-7 * HUMAN, resamples=300, seed=0)
    rescaled = permutation_both(np.vstack([scaled, np.full(8, 0.3)]), HUMAN, resamples=300, seed=0)
    np.testing.assert_allclose(plain, rescaled[:3, :3])
    assert np.isnan(rescaled[3, :3]).all()


def test_false_positive_rate_under_the_null_and_power():
    null, real = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=60)
        metrics = human + np.array([[1.0], [1.0], [3.0]]) * rng.normal(size=(3, 60))
        result = permutation_both(metrics, human, resamples=199, seed=seed)
        null.append(result[0, 1])
        real.append(result[0, 2])
    assert np.mean(np.array(null) <= 0.05) <= 0.09
    assert np.mean(np.array(real) <= 0.05) > 0.8


def test_clusters():
    p = np.ones((4, 4))
    p[1, 2] = p[2, 1] = p[1, 0] = p[0, 1] = 0.001
    assert metric_clusters([0.1, 0.9, 0.3, 0.5], p < 0.05) == (2, 1, 2, 1)
    assert metric_clusters([0.1, float("nan")], np.zeros((2, 2))) == (1, 0)


def test_no_draws_are_surer_than_all_arrangements():
    """Nine segments have 512 arrangements: 300 draws of them may all be less extreme, and p is 2 of 512."""
    human = np.arange(9.0) ** 2
    metrics = np.stack([human, -human])
    exact = permutation_both(metrics, human, resamples=600, seed=0)
    drawn = permutation_both(metrics, human, resamples=300, seed=0)
    assert exact[0, 1] == pytest.approx(2 / 512)
    assert drawn[0, 1] >= 2 / 512
    two = swap_groups([[0.9, 0.8], [0.1, 0.2]], resamples=1, seed=0)
    assert two[0, 1] >= 0.5
