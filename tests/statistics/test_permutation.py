"""Permutation tests: parity with scipy and enumeration, and honesty under the null."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats as ss

from assay.statistics.permutation import (
    PERMUTATIONS,
    draw_choices,
    packed_sums,
    partitions,
    sign_flip_test,
    sign_test,
)

NORMAL = np.random.default_rng(3).normal(0.4, 1.0, size=11)


def test_sign_flip_is_exact_and_agrees_with_scipy():
    ours = sign_flip_test(NORMAL, seed=0)
    theirs = ss.permutation_test(
        (NORMAL,),
        lambda x, axis: x.mean(axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert (ours.exact, ours.n_arrangements) == (True, 2**11)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.smallest_p == 2 / 2**11


def test_drawn_signs_agree_with_the_t_test():
    values = np.random.default_rng(1).normal(0.15, 1.0, size=200)
    ours = sign_flip_test(values, seed=0)
    assert (ours.exact, ours.n_arrangements, ours.smallest_p) == (False, PERMUTATIONS, 1e-5)
    assert ours.p_value == pytest.approx(ss.ttest_1samp(values, 0.0).pvalue, abs=0.005)


def test_zeros_do_not_pass_for_arrangements():
    result = sign_flip_test([0.0, 0.0, 1.0, 2.0], seed=0)
    assert (result.n_arrangements, result.p_value, result.smallest_p) == (4, 0.5, 0.5)
    assert sign_flip_test([0.0, 0.0], seed=0).p_value == 1.0


def test_rounding_does_not_break_ties():
    result = sign_flip_test([0.1, 0.2, 0.3, -0.6], seed=0)  # sums to 5.6e-17 one way, to 0 another
    assert result.p_value == 1.0


@pytest.mark.parametrize(("n", "k"), [(8, 4), (18, 3), (30, 2), (25, 4)])
def test_partitions_are_all_the_choices(n, k):
    packed, exact = partitions(n, k, 0)
    sums = packed_sums(np.arange(n, dtype=float), packed, packed.shape[1])
    assert exact
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
    packed, exact = partitions(60, 30, 5)
    assert (packed_sums(np.ones(60), packed, PERMUTATIONS) == 30).all()
    assert not exact


def test_sign_test_agrees_with_scipy_and_leaves_ties_out():
    assert sign_test([1.0, 2.0, 3.0, -1.0, 0.0, 4.0, 2.0, 0.0]) == pytest.approx(ss.binomtest(5, 6).pvalue)
    assert sign_test([0.0]) == 1.0
    for positive in range(12):
        signs = [1.0] * positive + [-1.0] * (11 - positive)
        assert sign_test(signs) == pytest.approx(ss.binomtest(positive, 11).pvalue)


def test_false_positive_rate_under_the_null():
    rng = np.random.default_rng(0)
    p_values = [sign_flip_test(rng.standard_t(3, size=10), seed=seed).p_value for seed in range(400)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.08
