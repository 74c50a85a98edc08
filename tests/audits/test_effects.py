"""Decisions in right order and effects in lost words: what cannot change them, and how sure they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from assay.audits.effects import (
    AlignedScores,
    crossed_effects,
    in_lost_words,
    lost_words,
    outcome,
    percent_estimate,
    read_slices,
    right_order,
    right_order_difference,
)
from assay.core import Case, Floats, Scored

SIZES = (12, 40, 150)  # items: a small set, the quick size, the full size


def aligned(
    columns: Mapping[str, Sequence[float] | Floats],
    *,
    clusters: Sequence[str] = (),
    resamples: Mapping[str, Floats] | None = None,
    **about: object,
) -> AlignedScores:
    """One metric's scores of one slice, by role; a set metric if it has resamples, or says so."""
    n = len(next(iter(columns.values())))
    meta: list[dict[str, object]] = [{"cluster": name} for name in clusters] or [{} for _ in range(n)]
    if resamples is not None or about.get("set"):
        meta = [{"sizes": dict.fromkeys(columns, 40)}]
        about["set"] = True
    cases = [Case(f"item-{number}", {}, "slice", more) for number, more in enumerate(meta)]
    values = {role: np.asarray(column, dtype=np.float64) for role, column in columns.items()}
    scored = Scored("m", cases, values, resamples=resamples or {}, about=about)
    (scores,) = read_slices([scored])
    return scores


def binary(n_right: int, n: int) -> tuple[Floats, list[int]]:
    """So many right decisions among n, each of an item of its own."""
    return (np.arange(n) < n_right).astype(np.float64), list(range(n))


INCREASING: dict[str, Callable[[Floats], Floats]] = {
    "times a million": lambda scores: 1e6 * scores,
    "plus ten thousand": lambda scores: scores + 1e4,
    "exp": np.exp,
    "cube root": np.cbrt,
    "ranks": lambda scores: ss.rankdata(scores).reshape(scores.shape),
}


@pytest.mark.parametrize("transform", INCREASING.values(), ids=INCREASING)
def test_an_increasing_transform_changes_no_decision(transform: Callable[[Floats], Floats]) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 60)).round(1)  # rounded, so that there are ties
    clusters = [f"document {number // 2}" for number in range(60)]
    estimates = [
        aligned(
            dict(zip(("gold", "0.5/1", "0.5/2"), table, strict=True)), clusters=clusters
        ).right_order(["gold"], ["0.5/1", "0.5/2"])
        for table in (scores, transform(scores))
    ]  # fmt: skip
    assert estimates[0] == estimates[1]


def test_a_constant_and_a_random_number_are_coins() -> None:
    rng = np.random.default_rng(1)
    constant = aligned({"gold": np.full(60, 0.3), "worse": np.full(60, 0.1 + 0.2)})
    order = constant.right_order(["gold"], ["worse"])
    assert order.value == 50  # though rounding tells the sums apart
    assert order.ci is not None
    assert order.ci[1] < 75 - 10  # blind, not unknown
    chance = [
        aligned({"gold": rng.normal(size=60), "worse": rng.normal(size=60)}).right_order(["gold"], ["worse"])
        for _ in range(200)
    ]
    assert np.mean([estimate.value for estimate in chance]) == pytest.approx(50, abs=2)


def test_a_tie_is_half_right() -> None:
    scores = aligned({"gold": [2, 1, 0, 5], "worse": [1, 1, 1, np.nan]})
    order = scores.right_order(["gold"], ["worse"])
    assert (order.value, order.n) == (50, 3)
    several = aligned({"gold": [2, 2], "a": [1, 1], "b": [3, 2]})
    assert several.decisions(["gold"], ["a", "b"]).tolist() == [0.5, 0.75]


@pytest.mark.parametrize("further", [0.0, 1e4])
def test_scores_tie_within_single_precision(further: float) -> None:
    """What batches of a model round differently is small beside the range of its scores, wherever 0 is."""
    better, worse = np.array([0.9 + 3e-7, 0.9 + 3e-5, 0.5]), np.array([0.9, 0.9, 0.9])
    assert outcome(better + further, worse + further, is_of_model=True).tolist() == [0.5, 1.0, 0.0]


def test_scores_far_apart_do_not_make_others_tie() -> None:
    first, second = np.exp([100.0, 20.0]), np.exp([90.0, 10.0])
    assert outcome(first, second, is_of_model=True).tolist() == [1.0, 1.0]
    assert outcome(first, first * (1 + 1e-8)).tolist() == [0.0, 0.0]  # only models round so coarsely
    assert outcome(np.array([-1.0]), np.array([-2.0])).tolist() == [1.0]  # below 0 as above


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0.2, 1000))
def test_an_interval_of_a_share_is_bounded_and_never_of_width_0(n: int, share: float, many: float) -> None:
    estimate = percent_estimate(share, n, many)
    assert estimate.ci is not None
    low, high = estimate.ci
    assert 0 <= low <= estimate.value <= high <= 100
    assert high - low > 0.1


@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_shares_hold_the_truth(n: int) -> None:
    """Exact, by the binomial distribution: on average 95 of 100, and at no share of the grid below 91."""
    intervals = [right_order([binary(k, n)]).ci or (0.0, 0.0) for k in range(n + 1)]
    lows, highs = np.array(intervals).T
    shares = np.linspace(0.02, 0.98, 97)
    held = (lows <= 100 * shares[:, None]) & (100 * shares[:, None] <= highs)
    coverage = (ss.binom.pmf(np.arange(n + 1), n, shares[:, None]) * held).sum(axis=1)
    assert coverage.mean() >= 0.95
    assert coverage.min() >= (0.91 if n == 12 else 0.93)


@pytest.mark.parametrize("n", SIZES)
def test_intervals_over_kinds_of_error_on_the_same_items_hold_the_truth(n: int) -> None:
    """Some items are easy under every kind: their decisions are not independent."""
    rng = np.random.default_rng(n)
    chances = 0.3 + 0.05 * np.arange(6)
    held = []
    for _ in range(400):
        easy = rng.random(n)
        kinds = [((rng.random(n) < 0.5 * easy + chance).astype(float), range(n)) for chance in chances]
        low, high = right_order(kinds).ci or (0.0, 0.0)
        held.append(low <= 100 * (0.25 + chances.mean()) <= high)
    assert np.mean(held) >= 0.92  # .93 less the error of 400 draws


def test_kinds_weigh_the_same_however_many_items_they_have() -> None:
    order = right_order([binary(100, 100), binary(0, 10)])
    assert (order.value, order.n) == (50, 110)


def test_asking_an_item_twice_teaches_nothing() -> None:
    once, twice = right_order([binary(24, 40)]), right_order([binary(24, 40)] * 2)
    assert once.ci == pytest.approx(twice.ci, abs=0.5)
    decisions, _ = binary(24, 40)
    in_pairs = right_order([(np.repeat(decisions, 2), [number // 2 for number in range(80)])])
    assert in_pairs.ci == pytest.approx(once.ci, abs=0.5)


def test_one_item_shows_next_to_nothing() -> None:
    estimate = right_order([(np.ones(50), ["the same document"] * 50)])
    assert estimate.ci is not None
    assert estimate.ci[0] < 25


def test_sets_are_decided_by_their_resamples() -> None:
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(1, 1000))
    resamples = {"gold": draws + 0.5, "worse": draws + rng.normal(size=(1, 1000))}
    scores = aligned({"gold": [0.5], "worse": [0.0]}, resamples=resamples)
    order = scores.right_order(["gold"], ["worse"])
    assert order.value == pytest.approx(100 * ss.norm.cdf(0.5), abs=5)
    assert order.n == 40
    assert order.ci is not None
    without = aligned({"gold": [0.5], "worse": [0.0]}, set=True).right_order(["gold"], ["worse"])
    assert (without.value, without.ci) == (100, None)


def test_a_difference_of_orders_is_paired_and_bounded() -> None:
    decisions, items = binary(30, 40)
    same = right_order_difference([(decisions, items)], [(decisions, items)])
    assert same.value == 0
    assert same.ci is not None
    assert same.ci[0] < 0 < same.ci[1]
    always = right_order_difference([(np.ones(40), items)], [(np.zeros(40), items)])
    assert always.value == 100
    assert always.ci is not None
    assert 90 < always.ci[0] < always.ci[1] == 100


def test_a_role_or_an_item_without_scores_is_not_there() -> None:
    scores = aligned({"gold": [1, np.nan, 1], "worse": [0, np.nan, np.nan], "absent": [np.nan] * 3})
    assert list(scores.columns) == ["gold", "worse"]
    assert [case.id for case in scores.cases] == ["item-0", "item-2"]
    assert scores.right_order(["gold"], ["worse"]).n == 1
    nothing = scores.right_order(["gold"], ["absent"])
    assert np.isnan(nothing.value)
    assert nothing.ci is None


@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e4), (37.0, -5.0)])
def test_lost_words_do_not_change_with_the_scale_of_a_metric(factor: float, shift: float) -> None:
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(80, 3))
    lost = whole.mean(axis=1) - rng.gamma(4, 1, size=80)

    def estimates(table: Floats, without: Floats) -> np.ndarray:
        effects = table - table.mean(axis=1, keepdims=True)
        found = lost_words(effects, table.mean(axis=1) - without)
        return np.array([(estimate.value, *(estimate.ci or ())) for estimate in found])

    moved = estimates(factor * whole + shift, factor * lost + shift)
    assert moved == pytest.approx(estimates(whole, lost), rel=1e-6, abs=1e-9)


def test_the_unit_is_what_a_lost_word_costs() -> None:
    costs = np.random.default_rng(4).gamma(4, 1, size=50)
    effects = np.stack([costs, -0.25 * costs, np.zeros(50)], axis=1)
    one, quarter, none = lost_words(effects, costs)
    assert (one.value, quarter.value, none.value) == pytest.approx((1, -0.25, 0))
    # One more text with an effect of a whole lost word would move the mean of 50 so far.
    assert none.ci == pytest.approx((-1 / 51, 1 / 51))


@pytest.mark.parametrize("n", SIZES)
def test_intervals_of_lost_words_hold_the_truth(n: int) -> None:
    rng = np.random.default_rng(n)
    held = []
    for _ in range(60):
        costs = rng.gamma(4, 1, size=n)  # 4 on average
        effects = rng.normal(-1.2, 1.5, size=(n, 30)) + 0.3 * (costs - 4)[:, None]
        estimates = lost_words(effects, costs)
        held += [each.ci[0] <= -0.3 <= each.ci[1] for each in estimates if each.ci]
    assert len(held) >= 0.99 * 60 * 30
    assert np.mean(held) >= 0.93


@pytest.mark.parametrize("costs", [0.0, np.nan, "noise", "below"])
def test_where_a_lost_word_costs_nothing_there_is_no_interval(costs: object) -> None:
    rng = np.random.default_rng(5)
    columns = {"noise": rng.normal(size=40), "below": -rng.gamma(4, 1, size=40)}
    column = columns[costs] if isinstance(costs, str) else np.full(40, costs)
    (estimate,) = lost_words(rng.normal(size=(40, 1)), column)
    assert estimate.ci is None


def test_noise_is_hardly_ever_taken_for_a_price() -> None:
    """One in 120 columns of noise at most would be divided by, so that its effects could fail."""
    rng = np.random.default_rng(6)
    priced = [lost_words(np.ones((40, 1)), rng.normal(size=40))[0].ci is not None for _ in range(3000)]
    assert sum(priced) <= 25


def test_texts_of_one_cluster_count_once() -> None:
    rng = np.random.default_rng(7)
    effects, costs = rng.normal(size=(40, 1)), rng.gamma(4, 1, size=40)
    (once,) = lost_words(effects, costs)
    clusters = [number // 3 for number in range(120)]
    (thrice,) = lost_words(np.repeat(effects, 3, axis=0), np.repeat(costs, 3), clusters=clusters)
    assert once.ci is not None
    assert thrice.ci is not None
    assert np.diff(thrice.ci)[0] == pytest.approx(np.diff(once.ci)[0], rel=0.05)


def test_terms_are_compared_within_their_contexts() -> None:
    """Where every term fills every context, its effect is its mean minus that of all terms."""
    rng = np.random.default_rng(8)
    table = rng.normal(size=(30, 4)) + 10 * rng.normal(size=(30, 1))
    effects, influences = crossed_effects(table)
    assert effects == pytest.approx(table.mean(axis=0) - table.mean())
    errors = np.sqrt((influences**2).sum(axis=0))
    centred = table - table.mean(axis=1, keepdims=True)
    jackknife = np.sqrt(30 / 29) * centred.std(axis=0, ddof=1) / np.sqrt(30)
    assert errors == pytest.approx(jackknife)


def test_terms_that_fill_some_contexts_are_not_judged_by_which_ones() -> None:
    """Contexts of very different levels, each with two terms of four: the effects come out exactly."""
    rng = np.random.default_rng(9)
    truth = np.array([0.3, -0.1, -0.2, 0.0])
    table = truth + 100 * rng.normal(size=(60, 1))
    for row in range(60):
        absent = {row % 4, (row % 4 + 1 + row // 4 % 3) % 4}
        table[row, sorted(absent)] = np.nan
    effects, _ = crossed_effects(table)
    assert effects == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("n", [12, 40, 120])
def test_intervals_of_crossed_groups_hold_the_truth(n: int) -> None:
    """A context meets one term of each group, as the embedded contexts do in their first round."""
    rng = np.random.default_rng(n)
    truth = np.array([-0.6, -0.2, 0.0, 0.2, 0.6, 0.0])  # two groups of three terms
    weights = np.array([[1, 1, 1, -1, -1, -1]]) / 3
    held = []
    for _ in range(300):
        table = truth + rng.normal(size=(n, 1)) + rng.normal(scale=0.5, size=(n, 6))
        for row in range(n):
            table[row, [term for term in range(6) if term % 3 != row % 3]] = np.nan
        costs = rng.gamma(4, 0.25, size=n)
        effects, influences = crossed_effects(table)
        (estimate,) = in_lost_words(weights @ effects, influences @ weights.T, [n], costs)
        assert estimate.ci is not None
        held.append(estimate.ci[0] <= (weights @ truth)[0] <= estimate.ci[1])
    assert np.mean(held) >= 0.92  # .93 less the error of 300 draws
