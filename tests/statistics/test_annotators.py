"""Agreement of raters and strengths from preferences: published examples, scikit-learn, maximum likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize

from assay.statistics import ratings
from assay.statistics.ratings import bradley_terry, cohen_kappa, krippendorff_alpha, split_half_kendall

NAN = float("nan")
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C.
FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(("steps", "published"), [(50, 0.815), (1, 0.849)])  # ordinal, interval
def test_alpha_of_the_published_example(steps, published, monkeypatch):
    monkeypatch.setattr(ratings, "_STEPS", steps)
    assert krippendorff_alpha(FOUR_OBSERVERS) == pytest.approx(published, abs=5e-4)


def test_alpha_at_the_ends():
    perfect = np.tile(np.arange(6.0), (3, 1))
    random = np.random.default_rng(0).integers(4, size=(3, 4000)).astype(float)
    assert krippendorff_alpha(perfect) == pytest.approx(1.0)
    assert krippendorff_alpha(random) == pytest.approx(0.0, abs=0.03)
    assert krippendorff_alpha(np.ones((2, 5))) is None
    assert krippendorff_alpha([[1.0, NAN], [NAN, 2.0]]) is None  # nobody shares an item


def test_kappa_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    first = rng.integers(1, 6, size=80)
    second = np.clip(first + rng.integers(-1, 2, size=80), 1, 5)
    expected = metrics.cohen_kappa_score(first, second, weights="quadratic")
    assert cohen_kappa(first, second) == pytest.approx(expected)


def test_kappa_by_hand_with_a_missing_rating():
    # Of 4 items both say yes on 2, both no on 1: p_o = .75, p_e = .5 * .75 + .5 * .25 = .5
    assert cohen_kappa([1, 1, 0, 0, NAN], [1, 1, 0, 1, 1]) == pytest.approx(0.5)
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([NAN], [1.0]) is None


def test_split_half():
    truth = np.arange(30.0)
    rng = np.random.default_rng(0)
    assert split_half_kendall(np.tile(truth, (4, 1)), seed=0) == pytest.approx(1.0)
    noisy = [split_half_kendall(truth + s * rng.normal(size=(6, 30)), seed=0) for s in (1.0, 30.0)]
    assert noisy[0] > 0.9 > noisy[1]
    assert split_half_kendall(truth[None, :], seed=0) is None
    assert split_half_kendall(np.ones((4, 5)), seed=0) is None


def test_strengths_are_the_maximum_of_the_likelihood():
    wins = np.array([[0, 7, 9], [3, 0, 6], [2, 4, 0]], dtype=float)
    assert bradley_terry([[0, 3], [1, 0]]) == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    one_win_and_one_tie = [[0, 1.5], [0.5, 0]]
    assert bradley_terry(one_win_and_one_tie) == pytest.approx([np.log(3) / 2, -np.log(3) / 2])

    def loss(free):
        s = np.append(free, -free.sum())
        return sum(wins[i, j] * np.log1p(np.exp(s[j] - s[i])) for i in range(3) for j in range(3) if i != j)

    best = minimize(loss, np.zeros(2), tol=1e-12).x
    assert bradley_terry(wins) == pytest.approx(np.append(best, -best.sum()), abs=1e-5)


def test_someone_who_never_loses_needs_a_prior():
    with pytest.raises(ValueError, match="prior"):
        bradley_terry([[0, 5], [0, 0]])
    assert bradley_terry([[0, 5], [0, 0]], prior=0.5) == pytest.approx([np.log(11) / 2, -np.log(11) / 2])
    with pytest.raises(ValueError, match="square"):
        bradley_terry([[0, 1, 2]])
