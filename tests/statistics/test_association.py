"""Association tests: definitions, enumeration, degenerate data, units, and the rate under the null."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

from assay.statistics.association import average_units, partition_test, pulls, target_associations

SCORES = np.random.default_rng(2).normal(size=(10, 7))


def association(scores, n_x, n_a, *, units=None, seed=0):
    """Run the test in its steps, as the audit does; `units` names the word of each row."""
    r = target_associations(scores, n_a)
    first, second = r[:n_x], r[n_x:]
    if units is not None:
        first, second = average_units(first, units[:n_x]), average_units(second, units[n_x:])
    return partition_test(first, second, scale=float(np.abs(scores).max()), seed=seed)


def by_hand(scores, n_x, n_a):
    r = [row[:n_a].mean() - row[n_a:].mean() for row in scores]
    s = sum(r[:n_x]) - sum(r[n_x:])
    d = (np.mean(r[:n_x]) - np.mean(r[n_x:])) / np.std(r, ddof=1)
    null = [2 * sum(r[i] for i in chosen) - sum(r) for chosen in combinations(range(len(r)), n_x)]
    return s, d, np.mean(np.array(null) >= s - 1e-12), np.mean(np.abs(null) >= abs(s) - 1e-12)


def test_definition_and_enumeration():
    result = association(SCORES, 5, 3)
    s, d, one_sided, two_sided = by_hand(SCORES, 5, 3)
    assert (result.statistic, result.effect_size) == (pytest.approx(s), pytest.approx(d))
    p_values = result.one_sided.p_value, result.two_sided.p_value
    assert p_values == pytest.approx((one_sided, two_sided))
    assert (result.one_sided.n_arrangements, result.one_sided.exact) == (252, True)


def test_swapping_the_targets_turns_the_sign():
    there = association(SCORES, 5, 3)
    back = association(np.roll(SCORES, 5, axis=0), 5, 3)
    assert back.effect_size == pytest.approx(-there.effect_size)
    assert back.two_sided.p_value == pytest.approx(there.two_sided.p_value)
    # One-sided p-values of the two directions share only the ties with the observed value.
    assert back.one_sided.p_value + there.one_sided.p_value == pytest.approx(1 + 1 / 252)


def test_scores_all_alike_are_degenerate():
    rows = np.tile([0.1, 0.7, 0.30000000000000004], (8, 1)) * np.array([1, 1 + 1e-16] * 4)[:, None]
    result = association(rows, 4, 1)
    assert result.degenerate
    assert (result.effect_size, result.one_sided.p_value, result.two_sided.p_value) == (0.0, 1.0, 1.0)
    assert result.one_sided.smallest_p == 1.0


@pytest.mark.parametrize("n_x", [4, 7])
def test_sets_of_unequal_size_equal_enumeration(n_x):
    r = np.random.default_rng(3).normal(0.4, 1.0, size=11)
    observed, null = r[:n_x].mean() - r[n_x:].mean(), []
    for chosen in combinations(range(11), n_x):
        mask = np.isin(np.arange(11), chosen)
        null.append(r[mask].mean() - r[~mask].mean())
    result = partition_test(r[:n_x], r[n_x:], seed=0)
    assert result.one_sided.n_arrangements == 330
    assert result.one_sided.p_value == pytest.approx(np.mean(np.array(null) >= observed - 1e-12))
    assert result.two_sided.p_value == pytest.approx(np.mean(np.abs(null) >= abs(observed) - 1e-12))


def test_seventy_partitions_cannot_reach_one_percent():
    result = partition_test([9.0, 8.0, 7.0, 6.0], [1.0, 2.0, 3.0, 4.0], seed=0).one_sided
    assert (result.p_value, result.smallest_p) == (1 / 70, 1 / 70)


def test_large_unequal_sets_agree_with_the_t_test():
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.12, 1.0, size=300), rng.normal(size=900)
    result = partition_test(first, second, seed=0)
    assert result.two_sided.p_value == pytest.approx(ttest_ind(first, second).pvalue, abs=0.005)


def test_false_positive_rate_under_the_null():
    rng = np.random.default_rng(0)
    p_values = [
        partition_test(rng.normal(size=7), rng.normal(size=8), seed=seed).two_sided.p_value
        for seed in range(400)
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.08


def test_large_tests_draw_and_agree_with_the_normal_limit():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.25, 1, size=100), rng.normal(size=100)
    result = partition_test(first, second, seed=1)
    both = np.concatenate([first, second])
    z = (first.mean() - second.mean()) / (both.std(ddof=1) * np.sqrt(2 / 100))
    assert (result.one_sided.exact, result.one_sided.n_arrangements) == (False, 99_999)
    assert result.one_sided.p_value == pytest.approx(norm.sf(z), abs=0.005)


def test_templates_of_a_word_are_averaged():
    assert average_units([1.0, 3.0, 2.0, 8.0], ["a", "a", "b", "a"]).tolist() == [4.0, 2.0]
    units = ["u", "u", "v", "v", "w", "u", "u", "x", "x", "y"]  # a word of X may be a word of Y too
    ours = association(SCORES, 5, 3, units=units)
    r = target_associations(SCORES, 3)
    expected = partition_test(
        [r[:2].mean(), r[2:4].mean(), r[4]], [r[5:7].mean(), r[7:9].mean(), r[9]], seed=0
    )
    assert (ours.effect_size, ours.n_x) == (pytest.approx(expected.effect_size), 3)


def test_pulls_sum_to_the_difference():
    r = target_associations(SCORES, 3)
    assert pulls(SCORES, 5, 3).sum() == pytest.approx(r[:5].mean() - r[5:].mean())
    shifted = SCORES + 100 * np.arange(10)[:, None]  # a target's own level pulls nothing
    np.testing.assert_allclose(pulls(shifted, 5, 3), pulls(SCORES, 5, 3), atol=1e-10)


def test_words_not_sentences_are_the_units():
    rng, word, sentence = np.random.default_rng(0), [], []
    units = [f"{side}{i}" for side in "xy" for i in range(8) for _ in range(6)]
    for seed in range(150):
        effects = np.repeat(rng.normal(size=16), 6) + 0.5 * rng.normal(size=96)
        scores = np.column_stack([effects, np.zeros(96)])
        word.append(association(scores, 48, 1, units=units, seed=seed % 3).two_sided.p_value)
        sentence.append(association(scores, 48, 1, seed=seed % 3).two_sided.p_value)
    assert np.mean(np.array(word) <= 0.05) <= 0.10
    assert np.mean(np.array(sentence) <= 0.05) > 0.3


@pytest.mark.parametrize(
    ("n_x", "n_a", "message"),
    [(5, 0, "must have from 1"), (5, 7, "must have from 1"), (0, 3, "X must be"), (10, 3, "Y must be")],
)
def test_empty_sets_are_refused(n_x, n_a, message):
    with pytest.raises(ValueError, match=message):
        association(SCORES, n_x, n_a)
