"""Verdicts: one rule by the interval, the bad side and the bar, for every audit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from assay.audits.effects import BAR, MARGIN, lost_words, right_order
from assay.core import Audit, Estimate, Finding, Judgement, Statistic
from assay.engine.settle import items_to_settle, settle, verdict_of
from assay.errors import AuditError


@dataclass(frozen=True)
class Small(Audit):
    """An audit of statistics with every kind of bad side."""

    name = "small"
    question = "robustness"
    statistics = (
        Statistic("high", "bad above the bar", bad="high", bar="margin"),
        Statistic("low", "bad below the bar", bad="low", bar="margin"),
        Statistic("far", "bad far from 0", bad="far", bar="margin"),
        Statistic("even", "bad far from a half", bad="far", bar="margin", centre=0.5),
        Statistic("fixed", "bad below a number", bad="low", bar=BAR),
        Statistic("shown", "never bad"),
    )
    margin: float = 0.1

    def cases(self):
        return []

    def judge(self, scored):
        return Judgement([])


def settled(statistic: str, estimate: Estimate, **options: float) -> Finding:
    finding = Finding.of("m", "slice", statistic, estimate, evidence=["a"])
    return settle(Small(**options), Judgement([finding]))[0]


@pytest.mark.parametrize(
    ("statistic", "ci", "margin", "expected"),
    [
        ("high", (0.2, 0.9), 0.1, "fail"),
        ("high", (-0.5, 0.1), 0.1, "pass"),
        ("high", (0.0, 0.9), 0.1, "inconclusive"),
        ("high", (0.1, 0.9), 0.1, "inconclusive"),
        ("low", (0.2, 0.4), 0.5, "fail"),
        ("low", (0.5, 0.9), 0.5, "pass"),
        ("low", (0.4, 0.9), 0.5, "inconclusive"),
        ("far", (-0.9, -0.2), 0.1, "fail"),
        ("far", (0.2, 0.9), 0.1, "fail"),
        ("far", (-0.1, 0.1), 0.1, "pass"),
        ("far", (-0.2, 0.1), 0.1, "inconclusive"),
        ("even", (0.45, 0.55), 0.1, "pass"),
        ("even", (0.65, 0.9), 0.1, "fail"),
        ("fixed", (40.0, 74.0), 0.1, "fail"),
        ("fixed", (76.0, 90.0), 0.1, "pass"),
        ("high", (float("nan"), float("nan")), 0.1, "inconclusive"),
        ("high", None, 0.1, "not judged"),
        ("shown", (5.0, 6.0), 0.1, "not judged"),
    ],
)
def test_a_verdict_follows_from_the_interval_the_side_and_the_bar(
    statistic: str, ci: tuple[float, float] | None, margin: float, expected: str
) -> None:
    assert settled(statistic, Estimate(0.3, 20, ci), margin=margin).verdict == expected


def test_only_a_failure_has_a_sentence_and_only_what_is_not_passed_has_examples() -> None:
    failed = settled("high", Estimate(0.3, 20, (0.2, 0.4)))
    assert failed.sentence == "m fails small (slice): high is 0.3."
    assert failed.evidence == ("a",)
    passed = settled("high", Estimate(0.0, 20, (-0.1, 0.05)))
    assert (passed.sentence, passed.evidence) == ("", ())


def test_what_has_no_value_is_no_finding() -> None:
    empty = Finding.of("m", "slice", "high", Estimate(math.nan))
    assert settle(Small(), Judgement([empty])) == []


def test_another_finding_changes_q_values_but_no_verdict() -> None:
    clear = Finding.of("m", "a", "high", Estimate(0.3, 20, (0.2, 0.4), 0.04))
    alone = settle(Small(), Judgement([clear]))[0]
    unclear = [Finding.of("m", f"b{n}", "high", Estimate(0.0, 20, (-0.2, 0.2), 0.9)) for n in range(9)]
    beside = settle(Small(), Judgement([clear, *unclear]))[0]
    assert alone.q_value == pytest.approx(0.04)
    assert beside.q_value == pytest.approx(0.4)
    assert alone.verdict == beside.verdict == "fail"


def test_an_undeclared_statistic_is_refused() -> None:
    with pytest.raises(AuditError, match="does not declare it"):
        settled("unknown", Estimate(0.0, 20))


ORDER, FAIR = (BAR, math.inf), (-MARGIN, MARGIN)


@pytest.mark.parametrize(("n_right", "n"), [(28, 40), (33, 40), (7, 10), (40, 60), (16, 20), (110, 150)])
def test_about_as_many_decisions_as_it_says_settle_an_unknown_order(n_right: int, n: int) -> None:
    """With the same share of right decisions a third more settle it, and half as many do not."""
    finding = Finding.of("m", "slice", "right_order", _order(n_right, n))
    needed = items_to_settle(finding, ORDER)
    assert needed is not None
    verdicts = {}
    for n_items in (n, needed // 2, needed * 4 // 3):
        estimate = _order(round(n_items * n_right / n), n_items)
        verdicts[n_items] = verdict_of(estimate.ci or (0, 0), ORDER)
    assert list(verdicts.values())[:-1] == ["inconclusive"] * (len(verdicts) - 1)
    assert verdicts[needed * 4 // 3] == ("fail" if n_right / n < 0.75 else "pass")


def _order(n_right: int, n: int) -> Estimate:
    return right_order([((np.arange(n) < n_right).astype(float), range(n))])


@pytest.mark.parametrize("mean", [0.1, 0.2, 0.4, -0.45])
def test_as_many_texts_as_it_says_settle_an_unknown_effect(mean: float) -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20, 1))
    effects = 1.5 * (noise - noise.mean()) / noise.std() + mean
    costs = np.ones(20)
    (estimate,) = lost_words(effects, costs)
    finding = Finding.of("m", "slice", "lost_words", estimate)
    needed = items_to_settle(finding, FAIR)
    assert needed is not None
    several = math.ceil(1.1 * needed / 20)
    (more,) = lost_words(np.repeat(effects, several, axis=0), np.repeat(costs, several))
    assert verdict_of(estimate.ci or (0, 0), FAIR) == "inconclusive"
    assert verdict_of(more.ci or (0, 0), FAIR) in ("pass", "fail")


def test_nothing_settles_a_value_on_the_bar() -> None:
    on_the_bar = settled("fixed", Estimate(75.0, 20, (60.0, 85.0)))
    assert (on_the_bar.verdict, on_the_bar.settles) == ("inconclusive", None)
    assert settled("fixed", Estimate(40.0, 20, (30.0, 50.0))).settles is None  # it is settled
