"""Resampled agreement: parity with scipy and enumeration, coverage of intervals, and paired differences."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics.correlation import correlate_rows
from assay.statistics.intervals import interval_of
from assay.statistics.resampled import (
    grouped_draws,
    pooled_draws,
    soft_accuracy_draws,
    system_draws,
    with_systems,
)


def interval(draws):
    return interval_of(draws.draws[0], n_clusters=draws.clusters)


def difference(draws):
    """The interval of the first metric's agreement less the second's."""
    return interval_of(draws.draws[0] - draws.draws[1], n_clusters=draws.clusters)


def systems(seed, n_systems=8, n_documents=30, noise=0.5):
    """A metric's and people's scores, systems x documents."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n_systems)[:, None]
    human = quality + rng.normal(size=(n_systems, n_documents))
    return quality + noise * rng.normal(size=(n_systems, n_documents)), human


@pytest.mark.parametrize(("kind", "truth"), [("pearson", 0.6), ("kendall_b", 2 / np.pi * np.arcsin(0.6))])
def test_coverage_of_a_pooled_correlation(kind, truth):
    inside = []
    for seed in range(150):
        x, z = np.random.default_rng(seed).normal(size=(2, 60))
        inside.append(truth in interval(pooled_draws(x, 0.6 * x + 0.8 * z, kind, resamples=500, seed=seed)))
    assert 0.90 <= np.mean(inside) <= 0.99


def test_copied_rows_do_not_narrow_a_clustered_interval():
    x, z = np.random.default_rng(4).normal(size=(2, 30))
    once = pooled_draws(x, x + z, "pearson", resamples=400, seed=0)
    labels = np.repeat(np.arange(30), 4)
    copied = pooled_draws(
        np.repeat(x, 4), np.repeat(x + z, 4), "pearson", clusters=labels, resamples=400, seed=0
    )
    assert interval(copied).pair == pytest.approx(interval(once).pair)
    assert (once.clusters, copied.clusters) == (30, 30)


def test_clustered_intervals_cover_where_rows_mislead():
    """Texts of a document share their level: rows as clusters are too sure, documents are not."""
    covered = {"documents": 0, "rows": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(20), 10)
        shared, other = rng.normal(size=(2, 20))
        metric, human = shared[labels] + rng.normal(0, 0.1, 200), other[labels] + rng.normal(0, 0.1, 200)
        for name, documents in {"documents": labels, "rows": None}.items():
            draws = pooled_draws(metric, human, "pearson", clusters=documents, resamples=200, seed=seed)
            covered[name] += 0.0 in interval(draws)
    assert covered["documents"] >= 52  # of 60; nominal 57
    assert covered["rows"] < 40


def test_missing_rows_are_left_out_and_constant_metrics_undefined():
    x, z = np.random.default_rng(1).normal(size=(2, 40))
    missing = np.where(np.arange(40) < 10, np.nan, x)
    draws = pooled_draws([missing, np.ones(40)], x + z, "spearman", resamples=50, seed=0)
    assert draws.values[0] == pytest.approx(ss.spearmanr(x[10:], (x + z)[10:]).statistic)
    assert draws.sizes.tolist() == [30, 40]
    assert np.isnan(draws.values[1])
    assert np.isnan(draws.draws[1]).all()


def test_groups_without_a_value_are_left_out():
    draws = grouped_draws([[0.2, np.nan, 0.6], [np.nan, np.nan, np.nan]], resamples=100, seed=0)
    assert draws.values[0] == pytest.approx(0.4)
    assert np.isnan(draws.values[1])
    assert draws.sizes.tolist() == [2, 0]


def test_system_correlation_agrees_with_scipy():
    metric, human = systems(0)
    human[2, :5] = np.nan
    shared = np.where(np.isfinite(human), metric, np.nan)
    for kind, theirs in (("spearman", ss.spearmanr), ("kendall_b", ss.kendalltau)):
        draws = system_draws([metric], human, kind, over="both", resamples=200, seed=0)
        expected = theirs(np.nanmean(shared, axis=1), np.nanmean(human, axis=1)).statistic
        assert draws.values[0] == pytest.approx(expected)
        assert expected in interval(draws)
    human[3] = np.nan
    assert system_draws([metric], human, "pearson", over="both", resamples=10, seed=0).sizes.tolist() == [7]
    with pytest.raises(ValueError, match="systems x documents"):
        system_draws([metric], human[:, 1:], "pearson", over="both", resamples=10, seed=0)


@pytest.mark.parametrize("over", ["documents", "systems", "both"])
def test_resampled_systems_and_documents_agree_with_plain_resampling(over):
    metric, human = systems(1)
    draws = system_draws([metric], human, "pearson", over=over, resamples=3000, seed=0).draws[0]
    rng = np.random.default_rng(9)
    plain = []
    for _ in range(1500):
        rows = rng.integers(8, size=8) if over != "documents" else np.arange(8)
        columns = rng.integers(30, size=30) if over != "systems" else np.arange(30)
        picked = np.ix_(rows, columns)
        plain.append(ss.pearsonr(metric[picked].mean(1), human[picked].mean(1)).statistic)
    assert np.quantile(draws, [0.1, 0.5]) == pytest.approx(np.quantile(plain, [0.1, 0.5]), abs=0.02)


def test_differences_between_metrics_at_system_level():
    metric, human = systems(2)
    worse = metric + 3.0 * np.random.default_rng(1).normal(size=(8, 1))
    drawing = {"resamples": 2000, "seed": 0}
    draws = system_draws([metric, worse], human, "pearson", over="documents", **drawing)
    means = [scores.mean(axis=1) for scores in (metric, worse, human)]
    r = [ss.pearsonr(side, means[2]).statistic for side in means[:2]]
    assert draws.values == pytest.approx(r)
    gap = difference(draws)
    assert gap.low > 0
    same = difference(system_draws([metric, metric], human, "pearson", over="both", **drawing))
    assert same.pair == (0.0, 0.0)
    pair = [metric[:, :1], worse[:, :1]]
    assert difference(system_draws(pair, human[:, :1], "pearson", over="both", **drawing)) is None


def test_differences_of_two_metrics_under_the_null_and_not():
    apart = 0
    for seed in range(100):
        human, first, second = np.random.default_rng(seed).normal(size=(3, 80))
        pair = [human + first, human + second]
        apart += 0.0 not in difference(pooled_draws(pair, human, "spearman", resamples=300, seed=seed))
    assert apart <= 10
    metrics = human + 0.2 * first, human + 2 * second
    better = pooled_draws(metrics, human, "pearson", resamples=2000, seed=0)
    assert difference(better).low > 0
    for side, metric in zip(better.draws, metrics, strict=True):
        assert np.corrcoef(metric, human)[0, 1] in interval_of(side, n_clusters=80)
    assert difference(pooled_draws([human, np.ones(80)], human, "pearson", resamples=2000, seed=0)) is None


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
    assert soft_accuracy_draws(metric, human, resamples=200, seed=0).values[0] == pytest.approx(expected)
    assert soft_accuracy_draws(human, human, resamples=200, seed=0).values[0] == 1.0
    assert np.isnan(soft_accuracy_draws(human[:1], human[:1], resamples=200, seed=0).values[0])
    with pytest.raises(ValueError, match="complete"):
        soft_accuracy_draws(metric, np.where(human > 1, np.nan, human), resamples=200, seed=0)


def test_drawn_soft_accuracy_is_near_and_repeatable():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(5, 200)) + np.arange(5)[:, None] / 10
    first = soft_accuracy_draws(human + 0.1, human, resamples=1000, seed=3)
    again = soft_accuracy_draws(human + 0.1, human, resamples=1000, seed=3)
    np.testing.assert_array_equal(first.draws, again.draws)
    assert first.values[0] == again.values[0] > 0.98
    assert soft_accuracy_draws(-human, human, resamples=1000, seed=3).values[0] < 0.6


def test_the_choice_of_systems_widens_a_mean_over_documents():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(6, 1)) + 0.1 * rng.normal(size=(6, 40))
    metric = rng.normal(size=(6, 1)) + 0.1 * rng.normal(size=(6, 40))  # effects on systems alone
    by_document = correlate_rows(metric.T, human.T, "spearman")[None]
    documents = grouped_draws(by_document, resamples=200, seed=0)
    both = with_systems(documents, metric[None], human, "spearman", resamples=200, seed=1)
    assert both.values == pytest.approx(documents.values)
    assert both.draws.mean() == pytest.approx(documents.draws.mean(), abs=0.05)
    assert both.draws.std() > 5 * documents.draws.std()
    assert both.clusters == 6
