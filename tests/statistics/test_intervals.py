"""Intervals: parity with scipy, coverage, clusters, and what they do with too little."""

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics.intervals import (
    bootstrap_mean,
    bootstrap_p_value,
    bootstrap_weighted,
    cluster_codes,
    draw_counts,
    draw_rows,
    interval_of,
    resampled_means,
    weighted_mean,
)

SKEWED = np.random.default_rng(5).exponential(size=40)


def test_mean_agrees_with_scipy():
    ours = bootstrap_mean(SKEWED, corrected=False, resamples=40_000, seed=1)
    theirs = ss.bootstrap((SKEWED,), np.mean, method="percentile", n_resamples=40_000, rng=2)
    low, high = theirs.confidence_interval
    assert ours.pair == pytest.approx((low, high), abs=0.01)


def test_the_weighted_form_agrees_with_the_mean():
    def mean(weights):
        return weighted_mean(weights, SKEWED)

    options = {"resamples": 500, "seed": 3}
    expected = bootstrap_mean(SKEWED, **options)
    assert bootstrap_weighted(mean, 40, **options).pair == pytest.approx(expected.pair)


def test_copied_rows_do_not_narrow_a_clustered_interval():
    once = bootstrap_mean(SKEWED, seed=7)
    copied = bootstrap_mean(np.repeat(SKEWED, 5), clusters=np.repeat(np.arange(40), 5), seed=7)
    ignored = bootstrap_mean(np.repeat(SKEWED, 5), seed=7)
    assert copied.pair == pytest.approx(once.pair)
    assert ignored.high - ignored.low < 0.6 * (once.high - once.low)


def test_too_few_clusters_give_no_interval():
    assert bootstrap_mean([1.0, 2.0, 3.0], clusters=["a", "a", "a"], seed=0) is None
    assert bootstrap_mean([1.0], seed=0) is None
    assert bootstrap_weighted(np.sum, 3, clusters=["a", "b", "c"], crossed=["x", "x", "x"], seed=0) is None
    assert interval_of([1.0, 2.0], n_clusters=1) is None


def test_missing_values_are_refused_by_name():
    with pytest.raises(ValueError, match="missing"):
        bootstrap_mean([1.0, float("nan")], seed=0)


def test_undefined_statistic_has_no_interval():
    assert bootstrap_weighted(lambda w: np.full(len(w), np.nan), 10, seed=0) is None


def test_same_seed_same_interval():
    assert bootstrap_mean(SKEWED, seed=11) == bootstrap_mean(SKEWED, seed=11)
    generator = np.random.default_rng(11)
    assert bootstrap_mean(SKEWED, seed=generator) == bootstrap_mean(SKEWED, seed=11)


def test_resampled_columns_are_drawn_together():
    columns = np.column_stack([SKEWED, 2.0 * SKEWED + 1.0])
    draws = resampled_means(columns, clusters=np.arange(40) // 2, resamples=300, seed=1)
    np.testing.assert_allclose(draws[:, 1], 2.0 * draws[:, 0] + 1.0)
    assert interval_of(draws[:, 0], n_clusters=20, corrected=False).pair == pytest.approx(
        np.quantile(draws[:, 0], [0.025, 0.975])
    )


def test_crossed_clusters_multiply_their_counts():
    rows, columns = ["a", "a", "b", "b", "b"], [0, 1, 2, 0, 1]
    weights = draw_rows(cluster_codes(5, rows, columns), 50, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    by_row, by_column = draw_counts(2, 50, rng), draw_counts(3, 50, rng)
    np.testing.assert_array_equal(weights, by_row[:, [0, 0, 1, 1, 1]] * by_column[:, columns])
    assert (by_row.sum(axis=1) == 2).all()


def test_a_mean_without_weight_is_undefined():
    means = weighted_mean(np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([2.0, 4.0]))
    assert means[0] == 3.5
    assert np.isnan(means[1])


def test_bootstrap_p_value():
    assert bootstrap_p_value(np.arange(1.0, 100.0)) == pytest.approx(0.02)
    assert bootstrap_p_value(np.zeros(99)) == 1.0


def coverage(draw, interval, truth, trials=400):
    return np.mean([truth in interval(draw(seed), seed) for seed in range(trials)])


@pytest.mark.parametrize("n", [8, 30])
def test_coverage_of_a_mean(n):
    share = coverage(
        lambda seed: np.random.default_rng(seed).normal(size=n),
        lambda values, seed: bootstrap_mean(values, resamples=600, seed=seed),
        0.0,
    )
    assert 0.92 <= share <= 0.98


def test_coverage_with_clusters_and_with_crossed_clusters():
    rows, columns = np.repeat(np.arange(15), 15), np.tile(np.arange(15), 15)

    def draw(seed):
        rng = np.random.default_rng(seed)
        return rng.normal(size=15)[rows] + rng.normal(size=15)[columns] + rng.normal(size=225)

    def crossed(values, seed):
        return bootstrap_weighted(
            lambda weights: weighted_mean(weights, values),
            values.size,
            clusters=rows,
            crossed=columns,
            resamples=300,
            seed=seed,
        )

    def one_way(values, seed):
        return bootstrap_mean(values, clusters=rows, resamples=300, seed=seed)

    assert coverage(draw, crossed, 0.0, 200) >= 0.92
    assert coverage(draw, one_way, 0.0, 200) < 0.92


def test_coverage_of_a_clustered_mean():
    labels = np.repeat(np.arange(20), 6)

    def draw(seed):
        rng = np.random.default_rng(seed)
        return rng.normal(size=20)[labels] + 0.5 * rng.normal(size=120)

    def clustered(values, seed):
        return bootstrap_mean(values, clusters=labels, resamples=400, seed=seed)

    assert 0.92 <= coverage(draw, clustered, 0.0) <= 0.98
    assert coverage(draw, lambda values, seed: bootstrap_mean(values, resamples=400, seed=seed), 0.0) < 0.75
