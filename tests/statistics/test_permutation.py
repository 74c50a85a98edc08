"""Permutation tests: parity with scipy and enumeration, and honesty under the null."""

from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import (
    benjamini_hochberg,
    sign_flip_test,
    sign_test,
    smallest_sign_flip_p,
    two_sample_test,
)
from assay.statistics.permutation import DRAWS, draw_choices, partitions

ALTERNATIVES = ["two-sided", "greater", "less"]
NORMAL = np.random.default_rng(3).normal(0.4, 1.0, size=11)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sign_flip_is_exact_and_agrees_with_scipy(alternative):
    ours = sign_flip_test(NORMAL, alternative=alternative, seed=0)
    theirs = ss.permutation_test(
        (NORMAL,),
        lambda x, axis: x.mean(axis),
        permutation_type="samples",
        alternative=alternative,
        vectorized=True,
        n_resamples=np.inf,
    )
    assert (ours.exact, ours.n_arrangements) == (True, 2**11)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.smallest_p == smallest_sign_flip_p(11, alternative)


def test_drawn_signs_agree_with_the_t_test():
    values = np.random.default_rng(1).normal(0.15, 1.0, size=200)
    ours = sign_flip_test(values, seed=0)
    assert (ours.exact, ours.n_arrangements, ours.smallest_p) == (False, DRAWS, 1e-5)
    assert ours.p_value == pytest.approx(ss.ttest_1samp(values, 0.0).pvalue, abs=0.005)


def test_clusters_turn_as_one():
    values, labels = np.array([1.0, 2.0, -4.0, 3.0, 0.5, 0.5]), ["a", "a", "b", "b", "c", "c"]
    sums = np.array([3.0, -1.0, 1.0])
    null = [abs(np.dot(signs, sums)) for signs in product([1, -1], repeat=3)]
    expected = np.mean([value >= abs(sums.sum()) - 1e-12 for value in null])
    assert sign_flip_test(values, clusters=labels, seed=0).p_value == pytest.approx(expected)


def test_zeros_do_not_pass_for_arrangements():
    result = sign_flip_test([0.0, 0.0, 1.0, 2.0], seed=0)
    assert (result.n_arrangements, result.p_value, result.smallest_p) == (4, 0.5, 0.5)
    assert sign_flip_test([0.0, 0.0], seed=0).p_value == 1.0


def test_rounding_does_not_break_ties():
    result = sign_flip_test([0.1, 0.2, 0.3, -0.6], seed=0)  # sums to 5.6e-17 one way, to 0 another
    assert result.p_value == 1.0


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_two_samples_by_enumeration(alternative):
    first, second = NORMAL[:4], NORMAL[4:]
    observed, null = first.mean() - second.mean(), []
    for chosen in combinations(range(11), 4):
        mask = np.isin(np.arange(11), chosen)
        null.append(NORMAL[mask].mean() - NORMAL[~mask].mean())
    turn = {"two-sided": np.abs, "greater": np.asarray, "less": np.negative}[alternative]
    expected = np.mean(turn(np.array(null)) >= turn(observed) - 1e-12)
    result = two_sample_test(first, second, alternative=alternative, seed=0)
    assert (result.p_value, result.n_arrangements) == (pytest.approx(expected), 330)


def test_clustered_two_samples_move_whole_clusters():
    first, second = [1.0, 2.0, 5.0], [0.0, 1.0, 1.0, 2.0]
    result = two_sample_test(
        first, second, first_clusters=["a", "a", "b"], second_clusters=[1, 1, 2, 3], seed=0
    )
    sums, sizes = np.array([3.0, 5.0, 1.0, 1.0, 2.0]), np.array([2, 1, 2, 1, 1])
    null = []
    for chosen in combinations(range(5), 2):
        mask = np.isin(np.arange(5), chosen)
        null.append(sums[mask].sum() / sizes[mask].sum() - sums[~mask].sum() / sizes[~mask].sum())
    observed = np.mean(first) - np.mean(second)
    assert result.p_value == pytest.approx(np.mean(np.abs(null) >= abs(observed) - 1e-12))


def test_seventy_partitions_cannot_reach_one_percent():
    result = two_sample_test([9.0, 8.0, 7.0, 6.0], [1.0, 2.0, 3.0, 4.0], alternative="greater", seed=0)
    assert (result.p_value, result.smallest_p) == (1 / 70, 1 / 70)


@pytest.mark.parametrize(("n", "k"), [(8, 4), (18, 3), (30, 2), (25, 4)])
def test_partitions_are_all_the_choices(n, k):
    listed = partitions(n, k, 0)
    sums = listed.sums(np.arange(n, dtype=float))
    assert listed.exact
    assert sorted(sums) == sorted(float(sum(c)) for c in combinations(range(n), k))


@pytest.mark.parametrize(("n", "k"), [(7, 3), (9, 1), (10, 8)])
def test_drawn_partitions_are_uniform(n, k):
    packed = draw_choices(n, k, 60_000, np.random.default_rng(0))
    codes = packed.astype(int).T @ (256 ** np.arange(len(packed)))
    _, counts = np.unique(codes, return_counts=True)
    assert counts.size == len(list(combinations(range(n), k)))
    assert ss.chisquare(counts).pvalue > 0.001


def test_draws_are_shared_by_tests_of_equal_size():
    assert partitions(60, 30, 5) is partitions(60, 30, 5)
    assert (partitions(60, 30, 5).sums(np.ones(60)) == 30).all()


def test_large_samples_are_not_kept_but_drawn_alike():
    large = partitions(1200, 500, 3)
    assert large.kept is None
    values = np.random.default_rng(0).normal(size=1200)
    np.testing.assert_array_equal(large.sums(np.ones(1200)), np.full(DRAWS, 500.0))
    np.testing.assert_array_equal(large.sums(values), large.sums(values))


def test_large_unequal_samples_agree_with_the_t_test():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.12, 1.0, size=300), rng.normal(size=900)
    result = two_sample_test(first, second, seed=0)
    assert result.p_value == pytest.approx(ss.ttest_ind(first, second).pvalue, abs=0.005)


def test_sign_test_agrees_with_scipy_and_counts_ties():
    values = [1.0, 2.0, 3.0, -1.0, 0.0, 4.0, 2.0, 0.0]
    for alternative in ALTERNATIVES:
        result = sign_test(values, alternative=alternative)
        assert (result.positive, result.negative, result.ties) == (5, 1, 2)
        assert result.p_value == pytest.approx(ss.binomtest(5, 6, alternative=alternative).pvalue)
    assert result.share == pytest.approx(5 / 6)
    assert (sign_test([0.0]).p_value, sign_test([0.0]).share) == (1.0, None)


def test_false_positive_rate_under_the_null():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 4)
    flat, clustered, rows, two = [], [], [], []
    for seed in range(400):
        effects = rng.normal(size=12)[labels] + rng.normal(size=48)
        flat.append(sign_flip_test(rng.standard_t(3, size=10), seed=seed).p_value)
        clustered.append(sign_flip_test(effects, clusters=labels, seed=seed).p_value)
        rows.append(sign_flip_test(effects[:16], seed=seed).p_value)
        two.append(two_sample_test(rng.normal(size=7), rng.normal(size=8), seed=seed).p_value)
    assert max(np.mean(np.array(p) <= 0.05) for p in (flat, clustered, two)) <= 0.08
    assert np.mean(np.array(rows) <= 0.05) > 0.15  # rows that share a cluster are no evidence of their own


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=40))
@settings(deadline=None, max_examples=100)
def test_q_values_agree_with_scipy(p_values):
    q = benjamini_hochberg(p_values)
    present = [p for p in p_values if p is not None]
    assert np.isnan(q).tolist() == [p is None for p in p_values]
    if present:
        np.testing.assert_allclose(q[~np.isnan(q)], ss.false_discovery_control(present), atol=1e-12)


def test_q_values_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([0.5, 1.5])
