"""Power, trends, prediction-powered means and verdicts."""

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics import (
    Interval,
    bootstrap_mean,
    detectable_effect,
    item_slopes,
    level_steps,
    linear_trend,
    mde_difference,
    mde_interval,
    mde_mean,
    mde_paired,
    mde_proportion,
    page_test,
    power_at,
    prediction_powered_mean,
    proportion_interval,
    sample_size,
    sign_flip_test,
    standard_error,
    verdict,
)

RNG = np.random.default_rng(0)


def test_standard_error_is_the_usual_one_and_robust_to_clusters():
    values = RNG.normal(size=50)
    assert standard_error(values) == pytest.approx(ss.sem(values))
    copied = standard_error(np.repeat(values, 3), clusters=np.repeat(np.arange(50), 3))
    assert copied == pytest.approx(ss.sem(values))
    assert standard_error(values, clusters=["one"] * 50) is None


@pytest.mark.parametrize("power", [0.8, 0.95])
def test_an_effect_of_the_mde_is_found_with_that_power(power):
    effect = detectable_effect(1 / np.sqrt(80), power=power)
    found = [
        sign_flip_test(np.random.default_rng(seed).normal(effect, 1.0, size=80), seed=seed).p_value <= 0.05
        for seed in range(150)
    ]
    assert np.mean(found) == pytest.approx(power, abs=0.09)
    assert power_at(effect, 1 / np.sqrt(80)) == pytest.approx(power, abs=1e-3)
    assert sample_size(effect, 1.0, power=power) == pytest.approx(80, abs=1)


def test_forms_of_the_mde_agree():
    first, second = RNG.normal(size=400), RNG.normal(size=300)
    assert mde_mean(first) == pytest.approx(2.8016 * ss.sem(first), rel=1e-4)
    assert mde_paired(first, first - 1.0) == pytest.approx(0.0, abs=1e-12)
    both = np.hypot(ss.sem(first), ss.sem(second))
    assert mde_difference(first, second) == pytest.approx(2.8016 * both, rel=1e-4)
    assert mde_proportion(100) == pytest.approx(2.8016 * 0.05, rel=1e-4)
    assert mde_interval(bootstrap_mean(first, seed=0)) == pytest.approx(mde_mean(first), rel=0.07)
    assert (mde_interval(None), mde_mean([1.0]), mde_proportion(0)) == (None, None, None)
    assert (power_at(0.0, 1.0), power_at(1.0, 0.0)) == (pytest.approx(0.05), 1.0)
    with pytest.raises(ValueError, match="effect of 0"):
        sample_size(0.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(0, 12), (7, 12), (12, 12), (1, 300)])
def test_interval_of_a_share_agrees_with_scipy(successes, n):
    theirs = ss.binomtest(successes, n).proportion_ci(method="wilson")
    assert proportion_interval(successes, n).pair == pytest.approx((theirs.low, theirs.high))
    assert proportion_interval(0, 0) is None


def test_slopes_are_least_squares_over_the_levels_present():
    levels = np.array([0.1, 0.3, 0.4, 0.9])
    scores = RNG.normal(size=(5, 4))
    expected = [np.polyfit(levels, row, 1)[0] for row in scores]
    assert item_slopes(scores, levels) == pytest.approx(expected)
    scores[0, 1] = scores[1, 1:] = np.nan
    slopes = item_slopes(scores, levels)
    assert slopes[0] == pytest.approx(np.polyfit(levels[[0, 2, 3]], scores[0, [0, 2, 3]], 1)[0])
    assert np.isnan(slopes[1])


def test_trend_and_steps_find_a_fall_and_say_what_they_used():
    levels = np.array([1.0, 2.0, 3.0])
    scores = RNG.normal(size=(60, 1)) - 0.5 * levels + 0.3 * RNG.normal(size=(60, 3))
    scores[:, 2] = scores[:, 1] + 0.3 * RNG.normal(size=60)  # the last step is flat
    scores[0, 2] = np.nan
    trend = linear_trend(scores, levels, seed=0)
    assert trend.slope == pytest.approx(float(item_slopes(scores, levels).mean()))
    assert trend.interval.high < 0
    assert (trend.p_value, trend.n_items) == (pytest.approx(1e-5, abs=1e-3), 60)
    fall, flat = level_steps(scores, levels, seed=0)
    assert (fall.low, fall.high, fall.n_items, flat.n_items) == (1.0, 2.0, 60, 59)
    assert fall.change == pytest.approx(np.mean(scores[:, 1] - scores[:, 0]))
    assert fall.interval.high < 0
    assert 0.0 in flat.interval


def test_trend_without_data_and_with_unordered_levels():
    empty = np.full((3, 2), np.nan)
    assert linear_trend(empty, [1.0, 2.0], seed=0).slope is None
    assert level_steps(empty, [1.0, 2.0], seed=0)[0].change is None
    with pytest.raises(ValueError, match="levels that rise"):
        linear_trend([[1.0, 2.0]], [2.0, 1.0], seed=0)


def test_trend_under_the_null_keeps_clusters_together():
    labels, p_values = np.repeat(np.arange(15), 4), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        slopes = rng.normal(size=15)[labels]
        scores = slopes[:, None] * np.arange(3.0) + rng.normal(size=(60, 3))
        p_values.append(
            linear_trend(scores, [0.0, 1.0, 2.0], clusters=labels, resamples=10, seed=seed).p_value
        )
    assert np.mean(np.array(p_values) <= 0.05) <= 0.09


def test_page_agrees_with_scipy():
    scores = RNG.normal(size=(20, 4)) + 0.2 * np.arange(4)
    theirs = ss.page_trend_test(scores, method="asymptotic")
    ours = page_test(scores)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert page_test(np.ones((5, 3))).p_value == 1.0
    with pytest.raises(ValueError, match="3 levels"):
        page_test([[1.0, 2.0]])


def population(seed, n=40, extra=1000, noise=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.normal(2.0, 1.0, size=n + extra)
    return truth[:n], *np.split(truth - 0.7 + noise * rng.normal(size=n + extra), [n])


def test_predictions_correct_a_biased_metric_and_cover():
    inside, widths = [], []
    for seed in range(300):
        result = prediction_powered_mean(*population(seed))
        inside.append(2.0 in result.interval)
        widths.append(
            (result.interval.high - result.interval.low) / np.diff([*result.labels_interval.pair])[0]
        )
    assert 0.90 <= np.mean(inside) <= 0.98
    assert np.mean(widths) < 0.5


def test_prediction_powered_identities():
    labels, scored, rest = population(1)
    plain = prediction_powered_mean(labels, scored, rest, power=1.0)
    assert plain.value == pytest.approx(rest.mean() + (labels - scored).mean())
    error = np.sqrt((labels - scored).var(ddof=1) / 40 + rest.var(ddof=1) / 1000)
    assert plain.interval.high - plain.value == pytest.approx(1.959964 * error, rel=1e-6)
    classical = prediction_powered_mean(labels, scored, rest, power=0.0)
    assert (classical.value, classical.effective_labels) == (pytest.approx(labels.mean()), pytest.approx(40))
    tuned = prediction_powered_mean(labels, scored, rest)
    assert tuned.effective_labels > 200
    useless = prediction_powered_mean(labels, np.ones(40), np.ones(1000))
    assert (useless.power, useless.value) == (0.0, pytest.approx(labels.mean()))
    assert prediction_powered_mean([1.0], [1.0], [2.0, 3.0]) is None


@pytest.mark.parametrize(
    ("ci", "margin", "worse", "expected"),
    [
        ((0.2, 0.9), 0.1, "above", False),
        ((-0.5, 0.1), 0.1, "above", True),
        ((0.0, 0.9), 0.1, "above", None),
        ((0.1, 0.9), 0.1, "above", None),
        ((0.2, 0.4), 0.5, "below", False),
        ((0.5, 0.9), 0.5, "below", True),
        ((0.4, 0.9), 0.5, "below", None),
        ((-0.9, -0.2), 0.1, "either", False),
        ((0.2, 0.9), 0.1, "either", False),
        ((-0.1, 0.1), 0.1, "either", True),
        ((-0.2, 0.1), 0.1, "either", None),
        ((float("nan"), float("nan")), 0.1, "above", None),
        (None, 0.1, "above", None),
    ],
)
def test_verdicts(ci, margin, worse, expected):
    assert verdict(ci, margin, worse) is expected
    if ci is not None:
        assert verdict(Interval(*ci, 0.95), margin, worse) is expected
