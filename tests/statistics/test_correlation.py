"""Correlations: parity with scipy in every form, undefined cases, and coverage of intervals."""

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import (
    bootstrap_correlation,
    bootstrap_correlation_difference,
    bootstrap_grouped_correlation,
    bootstrap_system_correlation,
    bootstrap_system_difference,
    correlate,
    correlate_columns,
    correlate_many,
    correlate_rows,
    grouped_correlation,
    grouped_correlations,
    kendall,
    pearson,
    resampled_system_correlations,
    spearman,
    system_correlation,
    system_means,
    top_systems,
)
from assay.statistics.correlation import weighted_correlation

KINDS = ["pearson", "spearman", "kendall_b", "kendall_c"]
THEIRS = {
    "pearson": lambda x, y: ss.pearsonr(x, y).statistic,
    "spearman": lambda x, y: ss.spearmanr(x, y).statistic,
    "kendall_b": lambda x, y: ss.kendalltau(x, y).statistic,
    "kendall_c": lambda x, y: ss.kendalltau(x, y, variant="c").statistic,
}


def pair(n, values, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(values, size=n).astype(float)
    return x, (x + rng.integers(values, size=n)) // 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "values"), [(5, 4), (60, 3), (300, 50), (3000, 10**6)])
def test_agrees_with_scipy(kind, n, values):
    x, y = pair(n, values)
    assert correlate(x, y, kind) == pytest.approx(THEIRS[kind](x, y), abs=1e-12)
    assert correlate_rows(x[None, :600], y[None, :600], kind)[0] == pytest.approx(
        THEIRS[kind](x[:600], y[:600]), abs=1e-12
    )


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=30))
@settings(deadline=None, max_examples=150)
def test_kendall_agrees_with_scipy_whatever_the_ties(points):
    x, y = np.array(points, dtype=float).T
    for variant in ("b", "c"):
        ours, theirs = kendall(x, y, variant), ss.kendalltau(x, y, variant=variant).statistic
        if ours is None:
            assert np.ptp(x) == 0 or np.ptp(y) == 0
        else:
            assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [4, 10**6])
def test_a_weighting_is_a_resample(kind, values):
    x, y = pair(120, values, seed=1)
    weights = np.random.default_rng(2).multinomial(120, np.full(120, 1 / 120), size=6).astype(float)
    by_weight = weighted_correlation(x, y, kind)(weights)
    by_row = correlate_rows(np.tile(x, (6, 1)), np.tile(y, (6, 1)), kind, weights=weights)
    rows = [np.repeat(np.arange(120), w.astype(int)) for w in weights]
    expected = [THEIRS[kind](x[r], y[r]) for r in rows]
    np.testing.assert_allclose(by_weight, expected, atol=1e-12)
    np.testing.assert_allclose(by_row, expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_has_no_correlation(kind):
    assert correlate([1.0, 2.0, 3.0], [0.1 + 0.2] * 3, kind) is None
    assert correlate([1.0], [2.0], kind) is None
    assert np.isnan(correlate_rows([[0.3, 0.3, 0.3]], [[1.0, 2.0, 3.0]], kind)[0])
    assert bootstrap_correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], kind, seed=0) is None


def test_named_forms():
    x, y = pair(40, 9)
    assert (pearson(x, y), spearman(x, y)) == (correlate(x, y, "pearson"), correlate(x, y, "spearman"))
    many = correlate_many([x, -x, np.ones(40)], y, "spearman")
    assert many[:2] == pytest.approx([spearman(x, y), -spearman(x, y)])
    assert np.isnan(many[2])


def test_columns_use_the_rows_both_have():
    x, y = pair(40, 9)
    z = np.where(np.arange(40) < 10, np.nan, x - y)
    matrix = correlate_columns(np.column_stack([x, y, z]), "kendall_b")
    assert matrix[0, 1] == pytest.approx(THEIRS["kendall_b"](x, y))
    assert matrix[2, 1] == matrix[1, 2] == pytest.approx(THEIRS["kendall_b"](y[10:], z[10:]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [6, 250])  # either side of the switch from blocks to a loop
def test_groups_are_averaged_and_flat_ones_counted(kind, size):
    x, y = pair(5 * size, 7, seed=3)
    groups = np.random.default_rng(0).permutation(np.repeat(list("abcde"), size))
    y[groups == "c"] = 2.0
    result = grouped_correlation(x, y, groups, kind)
    expected = [THEIRS[kind](x[groups == g], y[groups == g]) for g in "abde"]
    assert result.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert (result.n_groups, result.n_undefined) == (5, 1)
    x[0] = np.nan
    assert grouped_correlations([x], y, groups, kind).shape == (1, 5)


def test_groups_that_all_are_flat_have_no_value():
    result = grouped_correlation([1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1], "pearson")
    assert (result.value, result.n_undefined) == (None, 2)
    assert bootstrap_grouped_correlation([1.0, 1.0], [1.0, 2.0], [0, 0], "pearson", seed=0) is None


def systems(seed, n_systems=8, n_documents=30, noise=0.5):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n_systems)[:, None]
    human = quality + rng.normal(size=(n_systems, n_documents))
    return quality + noise * rng.normal(size=(n_systems, n_documents)), human


def test_system_level():
    metric, human = systems(0)
    human[2, :5] = np.nan
    expected = ss.spearmanr(metric.mean(axis=1), np.nanmean(human, axis=1)).statistic
    assert system_correlation(metric, human, "spearman") == pytest.approx(expected)
    assert system_correlation(metric[:2], human[:2], "pearson") is None
    human[3] = np.nan
    assert np.isnan(system_means(human)[3])
    curve = top_systems(metric, human, "pearson")
    assert list(curve) == [7, 6, 5, 4, 3]
    best = np.argsort(-np.nan_to_num(system_means(human), nan=-np.inf))[:4]
    expected = ss.pearsonr(metric.mean(axis=1)[best], system_means(human)[best]).statistic
    assert curve[4] == pytest.approx(expected)


def test_resampled_systems_and_documents():
    metric, human = systems(1)
    for over in ("documents", "systems", "both"):
        draws = resampled_system_correlations(metric, human, "pearson", over=over, resamples=3000, seed=0)
        rng = np.random.default_rng(9)
        plain = []
        for _ in range(1500):
            rows = rng.integers(8, size=8) if over != "documents" else np.arange(8)
            columns = rng.integers(30, size=30) if over != "systems" else np.arange(30)
            picked = np.ix_(rows, columns)
            plain.append(ss.pearsonr(metric[picked].mean(1), human[picked].mean(1)).statistic)
        assert np.quantile(draws, [0.1, 0.5]) == pytest.approx(np.quantile(plain, [0.1, 0.5]), abs=0.02)


def test_system_intervals_and_differences():
    metric, human = systems(2)
    worse = metric + 3.0 * np.random.default_rng(1).normal(size=(8, 1))
    interval = bootstrap_system_correlation(metric, human, "kendall_b", seed=0)
    assert system_correlation(metric, human, "kendall_b") in interval
    gap = bootstrap_system_difference(metric, worse, human, "pearson", over="documents", seed=0)
    expected = system_correlation(metric, human, "pearson") - system_correlation(worse, human, "pearson")
    assert gap.value == pytest.approx(expected)
    assert gap.interval.low > 0
    assert gap.p_value < 0.01
    same = bootstrap_system_difference(metric, metric, human, "pearson", seed=0)
    assert (same.value, same.p_value) == (0.0, 1.0)
    with pytest.raises(ValueError, match="systems x documents"):
        bootstrap_system_correlation(metric, human[:, 1:], "pearson", seed=0)


@pytest.mark.parametrize(("kind", "truth"), [("pearson", 0.6), ("kendall_b", 2 / np.pi * np.arcsin(0.6))])
def test_coverage_of_a_correlation(kind, truth):
    inside = []
    for seed in range(150):
        x, z = np.random.default_rng(seed).normal(size=(2, 60))
        interval = bootstrap_correlation(x, 0.6 * x + 0.8 * z, kind, resamples=500, seed=seed)
        inside.append(truth in interval)
    assert 0.90 <= np.mean(inside) <= 0.99


def test_differences_of_two_metrics_under_the_null_and_not():
    p_values = []
    for seed in range(100):
        human, one, two = np.random.default_rng(seed).normal(size=(3, 80))
        gap = bootstrap_correlation_difference(
            human + one, human + two, human, "spearman", resamples=300, seed=seed
        )
        p_values.append(gap.p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.1
    better = bootstrap_correlation_difference(human + 0.2 * one, human + 2 * two, human, "pearson", seed=0)
    assert better.p_value < 0.01
    for side, noise in zip(better.sides, (0.2 * one, 2 * two), strict=True):
        assert np.corrcoef(human + noise, human)[0, 1] in side
    flat = bootstrap_correlation_difference(human, np.ones(80), human, "pearson", seed=0)
    assert (flat.value, flat.interval, flat.p_value) == (None, None, None)


def test_clusters_widen_the_interval():
    x, y = pair(30, 10**6, seed=4)
    once = bootstrap_correlation(x, y, "kendall_b", seed=0)
    labels = np.repeat(np.arange(30), 4)
    copied = bootstrap_correlation(np.repeat(x, 4), np.repeat(y, 4), "pearson", clusters=labels, seed=0)
    plain = bootstrap_correlation(x, y, "pearson", seed=0)
    assert copied.pair == pytest.approx(plain.pair)
    assert once.high - once.low > 0.1
