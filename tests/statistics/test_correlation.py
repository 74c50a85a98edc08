"""Correlations: parity with scipy in every form, and undefined cases."""

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics.correlation import (
    average_ranks,
    correlate,
    correlate_rows,
    grouped_correlations,
    system_means,
    weighted_correlation,
    weighted_system_means,
)

KINDS = ["pearson", "spearman", "kendall_b", "kendall_c", "somers_d"]


def somers_d(x, y):
    """Right less wrong pairs over those that y tells apart."""
    first, second = (np.sign(np.subtract.outer(side, side)) for side in (x, y))
    return (first * second).sum() / np.abs(second).sum()


THEIRS = {
    "somers_d": somers_d,
    "pearson": lambda x, y: ss.pearsonr(x, y).statistic,
    "spearman": lambda x, y: ss.spearmanr(x, y).statistic,
    "kendall_b": lambda x, y: ss.kendalltau(x, y).statistic,
    "kendall_c": lambda x, y: ss.kendalltau(x, y, variant="c").statistic,
}


@given(st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1e300]) | st.floats(-9, 9), max_size=30))
def test_ranks_are_those_of_scipy(values):
    assert average_ranks(np.array(values)).tolist() == ss.rankdata(values).tolist()


def pair(n, values, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(values, size=n).astype(float)
    return x, (x + rng.integers(values, size=n)) // 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "values"), [(5, 4), (60, 3), (300, 50), (3000, 10**6), (3500, 40)])
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
    for kind in ("kendall_b", "kendall_c"):
        ours = correlate(x, y, kind)
        if ours is None:
            assert np.ptp(x) == 0 or np.ptp(y) == 0
        else:
            assert ours == pytest.approx(THEIRS[kind](x, y), abs=1e-12)
    if ours is not None:  # scipy tells apart by its first variable
        assert correlate(x, y, "somers_d") == pytest.approx(ss.somersd(y, x).statistic, abs=1e-12)


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
    """But it orders pairs as often right as wrong."""
    assert correlate([1.0, 2.0, 3.0], [0.1 + 0.2] * 3, kind) is None
    assert correlate([1.0], [2.0], kind) is None
    of_rows = correlate_rows([[0.3, 0.3, 0.3]], [[1.0, 2.0, 3.0]], kind)[0]
    of_many = weighted_correlation(np.ones(4000), np.arange(4000.0), kind)(np.ones((1, 4000)))[0]
    resampled = weighted_correlation(np.ones(3), np.arange(3.0), kind)(np.ones((2, 3)))
    values = [of_rows, of_many, *resampled]
    assert values == [0.0] * 4 if kind == "somers_d" else np.isnan(values).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [6, 250])  # either side of the switch from blocks to a loop
def test_groups_agree_with_scipy_and_flat_ones_are_undefined(kind, size):
    x, y = pair(5 * size, 7, seed=3)
    groups = np.random.default_rng(0).permutation(np.repeat(list("abcde"), size))
    y[groups == "c"] = 2.0
    names = list(dict.fromkeys(groups))
    x[0] = np.nan
    (ours,) = grouped_correlations([x], y, groups, kind)
    for name, value in zip(names, ours, strict=True):
        rows = (groups == name) & np.isfinite(x)
        if name == "c":
            assert np.isnan(value)
        else:
            assert value == pytest.approx(THEIRS[kind](x[rows], y[rows]), abs=1e-12)


def test_means_of_systems_leave_missing_documents_out():
    scores = np.array([[1.0, 3.0, np.nan], [2.0, 4.0, 9.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_allclose(system_means(scores), [2.0, 5.0, np.nan])
    weights = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    expected = [[2.0, 5.0, np.nan], [1.0, 13 / 3, np.nan], [np.nan, 9.0, np.nan]]
    np.testing.assert_allclose(weighted_system_means(scores, weights), expected)
