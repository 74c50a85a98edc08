"""Verdicts: one rule by the interval and the margin, for every audit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from assay.core import Audit, Estimate, Finding, Judgement, Statistic
from assay.engine.settle import settle
from assay.errors import AuditError


@dataclass(frozen=True)
class Small(Audit):
    """An audit of statistics with every kind of bad side."""

    name = "small"
    question = "robustness"
    statistics = (
        Statistic("high", "bad above the margin", bad="high", margin="margin"),
        Statistic("low", "bad below the margin", bad="low", margin="margin"),
        Statistic("far", "bad far from 0", bad="far", margin="margin"),
        Statistic("even", "bad far from a half", bad="far", margin="margin", centre=0.5),
        Statistic("shown", "never bad"),
    )
    margin: float = 0.1
    rule: str = "careful"

    def cases(self):
        return []

    def judge(self, scored):
        return Judgement([])


def verdict(statistic: str, estimate: Estimate, *, judged: bool = True, **options: object) -> str:
    finding = Finding.of("m", "slice", statistic, estimate, judged=judged)
    return settle(Small(**options), Judgement([finding]))[0].verdict  # type: ignore[arg-type]


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
        ("high", (float("nan"), float("nan")), 0.1, "inconclusive"),
        ("high", None, 0.1, "not judged"),
        ("shown", (5.0, 6.0), 0.1, "not judged"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_margin(
    statistic: str, ci: tuple[float, float] | None, margin: float, expected: str
) -> None:
    assert verdict(statistic, Estimate(0.3, 20, ci), margin=margin) == expected


@pytest.mark.parametrize("ci", [(0.2, 0.9), (-0.5, 0.05), (0.0, 0.9), None])
def test_an_insensitive_metric_is_neither_praised_nor_blamed(ci: tuple[float, float] | None) -> None:
    assert verdict("high", Estimate(0.3, 20, ci, sensitive=False)) == "insensitive"
    assert verdict("high", Estimate(0.3, 20, ci, sensitive=False), judged=False) == "not judged"


def test_the_papers_criterion_takes_the_intervals_place() -> None:
    for paper, expected in ((True, "pass"), (False, "fail"), (None, "not judged")):
        assert verdict("high", Estimate(0.3, 20, (0.2, 0.9), paper=paper), rule="paper") == expected


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
        verdict("unknown", Estimate(0.0, 20))
