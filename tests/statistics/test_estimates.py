"""Standard errors, intervals of shares, q-values and prediction-powered means."""

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics.estimates import (
    benjamini_hochberg,
    share_interval,
    smallest_p,
    standard_error,
)
from assay.statistics.permutation import sign_flip_test
from assay.statistics.ratings import prediction_powered_mean

RNG = np.random.default_rng(0)


def test_standard_error_is_the_usual_one_and_robust_to_clusters():
    values = RNG.normal(size=50)
    assert standard_error(values) == pytest.approx(ss.sem(values))
    copied = standard_error(np.repeat(values, 3), clusters=np.repeat(np.arange(50), 3))
    assert copied == pytest.approx(ss.sem(values))
    assert standard_error(values, clusters=["one"] * 50) is None


@pytest.mark.parametrize("n", [1, 2, 4, 9])
def test_no_p_value_is_smaller_than_its_items_allow(n):
    assert smallest_p(n) == sign_flip_test(np.ones(n), seed=0).p_value
    assert smallest_p(0) == 1.0


@pytest.mark.parametrize(("successes", "n"), [(0, 12), (7, 12), (12, 12), (1, 300)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_interval_of_a_share_is_wilsons(successes, n, level):
    z, share = ss.norm.ppf((1 + level) / 2), successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    interval = share_interval(share, n, level=level)
    assert interval.pair == pytest.approx((middle - half, middle + half), abs=1e-12)
    theirs = tuple(ss.binomtest(successes, n).proportion_ci(level, method="wilson"))
    assert interval.pair == pytest.approx(theirs, abs=1e-12)
    assert interval.low <= share <= interval.high


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=40))
@settings(deadline=None, max_examples=100)
def test_q_values_are_the_smallest_levels_that_reject(p_values):
    q = benjamini_hochberg(p_values)
    given = [p for p in p_values if p is not None]
    assert q[~np.isnan(q)].tolist() == (ss.false_discovery_control(given).tolist() if given else [])
    present = sorted(given)
    for p, q_value in zip(p_values, q, strict=True):
        if p is None:
            assert np.isnan(q_value)
        else:
            steps = [min(1.0, x * len(present) / rank) for rank, x in enumerate(present, 1) if x >= p]
            assert q_value == pytest.approx(min(steps), abs=1e-12)


def test_q_values_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([0.5, 1.5])


def population(seed, n=40, extra=1000, noise=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.normal(2.0, 1.0, size=n + extra)
    return truth[:n], *np.split(truth - 0.7 + noise * rng.normal(size=n + extra), [n])


def test_predictions_correct_a_biased_metric_and_cover():
    inside, widths = [], []
    for seed in range(300):
        labels, *scores = population(seed)
        result = prediction_powered_mean(labels, *scores)
        inside.append(2.0 in result.interval)
        alone = 2 * ss.t.ppf(0.975, 38) * ss.sem(labels)
        widths.append((result.interval.high - result.interval.low) / alone)
    assert 0.90 <= np.mean(inside) <= 0.98
    assert np.mean(widths) < 0.5


@pytest.mark.parametrize("n", [10, 20])
def test_prediction_powered_means_cover_with_few_labels(n):
    draws = (population(seed, n=n, extra=5 * n, noise=2.0) for seed in range(1000))
    assert np.mean([2.0 in prediction_powered_mean(*data).interval for data in draws]) >= 0.93


@pytest.mark.parametrize("scale", [0.01, -1.0, 100.0])
def test_the_unit_of_a_metric_changes_no_prediction_powered_mean(scale):
    labels, scored, rest = population(1)
    plain, scaled = (prediction_powered_mean(labels, k * scored, k * rest) for k in (1.0, scale))
    assert scaled.interval.pair == pytest.approx(plain.interval.pair)
    assert scaled.effective_labels == pytest.approx(plain.effective_labels)


def test_prediction_powered_identities():
    labels, scored, rest = population(1)
    variance = np.concatenate([scored, rest]).var(ddof=1)
    power = np.cov(labels, scored, ddof=1)[0, 1] / (1 + 40 / 1000) / variance
    tuned, rectifier = prediction_powered_mean(labels, scored, rest), labels - power * scored
    assert tuned.value == pytest.approx(power * rest.mean() + rectifier.mean())
    error = np.sqrt(rectifier.var(ddof=1) / 40 + power**2 * rest.var(ddof=1) / 1000)
    assert tuned.interval.high - tuned.value == pytest.approx(ss.t.ppf(0.975, 38) * error, rel=1e-6)
    assert tuned.effective_labels == pytest.approx(40 * (ss.sem(labels) / error) ** 2)
    assert tuned.effective_labels > 200
    useless = prediction_powered_mean(labels, np.ones(40), np.ones(1000))
    assert (useless.value, useless.effective_labels) == (pytest.approx(labels.mean()), pytest.approx(40))
    assert prediction_powered_mean([1.0], [1.0], [2.0, 3.0]) is None
