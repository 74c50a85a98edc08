"""Association tests: definitions, enumeration, degenerate data, units, and the rate under the null."""

from itertools import combinations

import numpy as np
import pytest

from assay.statistics import association_test, average_units, partition_test, pulls, target_associations

SCORES = np.random.default_rng(2).normal(size=(10, 7))


def by_hand(scores, n_x, n_a):
    r = [row[:n_a].mean() - row[n_a:].mean() for row in scores]
    s = sum(r[:n_x]) - sum(r[n_x:])
    d = (np.mean(r[:n_x]) - np.mean(r[n_x:])) / np.std(r, ddof=1)
    null = [2 * sum(r[i] for i in chosen) - sum(r) for chosen in combinations(range(len(r)), n_x)]
    return s, d, np.mean(np.array(null) >= s - 1e-12), np.mean(np.abs(null) >= abs(s) - 1e-12)


def test_definition_and_enumeration():
    result = association_test(SCORES, 5, 3, seed=0)
    s, d, one, two = by_hand(SCORES, 5, 3)
    assert (result.statistic, result.effect_size) == (pytest.approx(s), pytest.approx(d))
    assert (result.one_sided.p_value, result.two_sided.p_value) == (pytest.approx(one), pytest.approx(two))
    assert (result.one_sided.n_arrangements, result.one_sided.exact) == (252, True)


def test_swapping_the_targets_turns_the_sign():
    there = association_test(SCORES, 5, 3, seed=0)
    back = association_test(np.roll(SCORES, 5, axis=0), 5, 3, seed=0)
    assert back.effect_size == pytest.approx(-there.effect_size)
    assert back.two_sided.p_value == pytest.approx(there.two_sided.p_value)
    # One-sided p-values of the two directions share only the ties with the observed value.
    assert back.one_sided.p_value + there.one_sided.p_value == pytest.approx(1 + 1 / 252)


def test_scores_all_alike_are_degenerate():
    rows = np.tile([0.1, 0.7, 0.30000000000000004], (8, 1)) * np.array([1, 1 + 1e-16] * 4)[:, None]
    result = association_test(rows, 4, 1, seed=0)
    assert result.degenerate
    assert (result.effect_size, result.one_sided.p_value, result.two_sided.p_value) == (0.0, 1.0, 1.0)
    assert result.one_sided.smallest_p == 1.0


def test_large_tests_draw_and_agree_with_the_normal_limit():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.25, 1, size=100), rng.normal(size=100)
    result = partition_test(first, second, seed=1)
    both = np.concatenate([first, second])
    z = (first.mean() - second.mean()) / (both.std(ddof=1) * np.sqrt(2 / 100))
    from scipy.stats import norm

    assert (result.one_sided.exact, result.one_sided.n_arrangements) == (False, 99_999)
    assert result.one_sided.p_value == pytest.approx(norm.sf(z), abs=0.005)


def test_templates_of_a_word_are_averaged():
    assert average_units([1.0, 3.0, 2.0, 8.0], ["a", "a", "b", "a"]).tolist() == [4.0, 2.0]
    units = ["u", "u", "v", "v", "w", "u", "u", "x", "x", "y"]  # a word of X may be a word of Y too
    ours = association_test(SCORES, 5, 3, units=units, seed=0)
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
        word.append(association_test(scores, 48, 1, units=units, seed=seed % 3).two_sided.p_value)
        sentence.append(association_test(scores, 48, 1, seed=seed % 3).two_sided.p_value)
    assert np.mean(np.array(word) <= 0.05) <= 0.10
    assert np.mean(np.array(sentence) <= 0.05) > 0.3


@pytest.mark.parametrize(("n_x", "n_a"), [(0, 3), (10, 3), (5, 0), (5, 7)])
def test_empty_sets_are_refused(n_x, n_a):
    with pytest.raises(ValueError, match="must have from 1"):
        association_test(SCORES, n_x, n_a, seed=0)
