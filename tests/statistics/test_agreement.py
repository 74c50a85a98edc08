"""Intervals of correlations, differences and averages: against formulas, and for coverage by simulation."""

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics.intervals import Interval
from assay.statistics.resampled import (
    average_interval,
    bounded_interval,
    correlation_interval,
    difference_interval,
    draws_correlation,
    pooled_draws,
    system_draws,
)

KINDS = ["pearson", "spearman", "kendall_b", "somers_d"]


def true_correlation(rho, kind):
    """What Pearson's rho of a normal pair is as another correlation."""
    if kind == "spearman":
        return 6 / np.pi * np.arcsin(rho / 2)
    return rho if kind == "pearson" else 2 / np.pi * np.arcsin(rho)


def of_rows(draws, kind, n):
    return [
        correlation_interval(value, row, kind, n_clusters=draws.clusters, n_rows=n)
        for value, row in zip(draws.values, draws.draws, strict=True)
    ]


def difference_of(draws, kind, n):
    sides = of_rows(draws, kind, n)
    return difference_interval(tuple(draws.values), tuple(sides), draws_correlation(*draws.draws))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 20, 40])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_intervals_of_a_correlation_cover(kind, n, rho):
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=n)
        metric = rho * human + np.sqrt(1 - rho**2) * rng.normal(size=n)
        draws = pooled_draws(metric, human, kind, resamples=200, seed=seed)
        inside += true_correlation(rho, kind) in of_rows(draws, kind, n)[0]
    assert inside / 200 >= 0.93


@pytest.mark.parametrize("systems", [5, 8, 12, 20])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_intervals_between_systems_cover(systems, rho):
    inside, noise, documents = 0, 1.0, 20
    for seed in range(150):
        rng = np.random.default_rng(seed)
        quality = rng.normal(size=systems)
        own = rho * quality + np.sqrt(1 - rho**2) * rng.normal(size=systems)
        human, metric = (
            level[:, None] + noise * rng.normal(size=(systems, documents)) for level in (quality, own)
        )
        draws = system_draws(metric[None], human, "pearson", over="both", resamples=200, seed=seed)
        inside += rho / (1 + noise**2 / documents) in of_rows(draws, "pearson", systems)[0]
    assert inside / 150 >= 0.93


@pytest.mark.parametrize(("n", "rho"), [(20, 0.0), (20, 0.5), (120, 0.5), (120, 0.9)])
def test_equally_good_metrics_are_rarely_told_apart(n, rho):
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=n)
        metrics = rho * human + np.sqrt(1 - rho**2) * rng.normal(size=(2, n))
        draws = pooled_draws(metrics, human, "spearman", resamples=200, seed=seed)
        alarms += 0.0 not in difference_of(draws, "spearman", n)
    assert alarms / 300 <= 0.05


@pytest.mark.parametrize("systems", [8, 16])
def test_effects_on_systems_are_no_difference_between_metrics(systems):
    """Swapping the two metrics' scores of each text tells 4 in 10 such pairs apart."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        quality = rng.normal(size=systems)
        levels = np.stack([quality, *(0.8 * quality + 0.6 * rng.normal(size=(2, systems)))])
        human, *metrics = levels[:, :, None] + rng.normal(size=(3, systems, 30))
        draws = system_draws(metrics, human, "spearman", over="both", resamples=200, seed=seed)
        alarms += 0.0 not in difference_of(draws, "spearman", systems)
    assert alarms / 200 <= 0.06


def test_a_real_difference_is_found():
    found = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        human = rng.normal(size=100)
        metrics = human + np.array([[0.5], [3.0]]) * rng.normal(size=(2, 100))
        draws = pooled_draws(metrics, human, "spearman", resamples=200, seed=seed)
        found += difference_of(draws, "spearman", 100).low > 0
    assert found >= 49


@pytest.mark.parametrize("kind", KINDS)
def test_a_perfect_correlation_is_not_certain(kind):
    lows = []
    for n in (4, 10, 40):
        draws = pooled_draws(np.arange(n), np.arange(n) ** 1.0, kind, resamples=200, seed=0)
        (interval,) = of_rows(draws, kind, n)
        assert interval.low < interval.high == pytest.approx(1.0)
        lows.append(interval.low)
    assert lows == sorted(lows)
    if kind != "pearson":
        assert lows[0] < 0.5


def test_independent_rows_have_fishers_interval():
    """Resamples that hardly vary do not make an interval narrower than that of independent rows."""
    interval = correlation_interval(0.5, np.full(100, 0.5), "pearson", n_clusters=40, n_rows=40)
    reach = ss.t.ppf(0.975, 39) / np.sqrt(37)
    assert interval.pair == pytest.approx(
        (np.tanh(np.arctanh(0.5) - reach), np.tanh(np.arctanh(0.5) + reach))
    )
    fixed = correlation_interval(0.5, np.full(100, 0.5), "pearson", n_clusters=40, n_rows=None)
    assert fixed.pair == pytest.approx((0.5, 0.5))
    assert correlation_interval(0.5, np.full(100, np.nan), "pearson", n_clusters=40, n_rows=40) is None
    assert correlation_interval(0.5, np.full(100, 0.5), "pearson", n_clusters=1, n_rows=40) is None


def test_shares_without_width_have_wilsons_interval():
    wilson = ss.binomtest(10, 10).proportion_ci(method="wilson")
    share = bounded_interval(1.0, np.ones(50), lowest=0.0, n_clusters=10)
    assert share.pair == pytest.approx((wilson.low, 1.0))
    mean = bounded_interval(1.0, np.ones(50), lowest=-1.0, n_clusters=10)
    assert mean.pair == pytest.approx((2 * wilson.low - 1, 1.0))
    assert bounded_interval(1.0, np.ones(50), lowest=0.0, n_clusters=1) is None


def test_averages_of_parts_cover():
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values, intervals = [], []
        for rho in (0.2, 0.8):
            human = rng.normal(size=25)
            metric = rho * human + np.sqrt(1 - rho**2) * rng.normal(size=25)
            draws = pooled_draws(metric, human, "pearson", resamples=200, seed=seed)
            values.append(float(draws.values[0]))
            intervals += of_rows(draws, "pearson", 25)
        inside += 0.5 in average_interval(values, intervals)
    assert inside / 200 >= 0.93


def test_a_difference_takes_account_of_what_two_estimates_share():
    side = Interval(0.3, 0.7, 0.95)
    assert difference_interval((0.5, 0.5), (side, side), 1.0).pair == (0.0, 0.0)
    assert difference_interval((0.5, 0.5), (side, None), 1.0) is None
    assert draws_correlation(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0, 1.0])) == pytest.approx(1.0)
    assert draws_correlation(np.ones(5), np.arange(5.0)) == 0.0
