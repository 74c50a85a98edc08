"""The panel is the exact minimum, against brute force; what is unfair or unnoticed is named."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Statistic
from assay.report.panel import (
    Candidate,
    _additive,
    _clean_deviations,
    _sum_passes,
    choose_panel,
    smallest_cover,
)
from assay.report.verdicts import checks
from assay.run.results import Run

SPOTS = [("audit", f"slice-{n}", "") for n in range(7)]


def _members(table: list[list[bool]], costs: list[float]) -> list[Candidate]:
    return [
        Candidate(f"m{n}", frozenset(s for s, noticed in zip(SPOTS, row, strict=True) if noticed), (), cost)
        for n, (row, cost) in enumerate(zip(table, costs, strict=True))
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=6),
    st.lists(st.integers(1, 50), min_size=6, max_size=6),
)
def test_cover_is_the_smallest_and_then_the_cheapest(table: list[list[bool]], costs: list[int]) -> None:
    members = _members(table, [float(c) for c in costs[: len(table)]])
    reachable = frozenset().union(*(one.notices for one in members))
    chosen = smallest_cover(members, reachable)
    covers = [
        subset
        for size in range(len(members) + 1)
        for subset in combinations(members, size)
        if frozenset().union(*(one.notices for one in subset)) >= reachable
    ]
    best = min((len(subset), sum(one.seconds or 0 for one in subset)) for subset in covers)
    assert (len(chosen), sum(one.seconds or 0 for one in chosen)) == pytest.approx(best)


def test_the_planted_panel(planted: Run) -> None:
    panel = choose_panel(planted)
    assert set(panel.members) == {"keen", "plain"}
    assert len(panel.covered) == 2
    assert panel.unnoticed == {("stress", "translation/jumble", "")}
    assert panel.curve[0][1] == 1
    assert panel.curve[1] == (("keen", "plain"), 2)
    assert {one.metric: one.is_fair for one in panel.candidates} == {
        "soft": False,
        "keen": True,
        "plain": True,
    }
    assert panel.candidates[1].seconds == pytest.approx(50.0)


def test_a_sum_needs_the_mean_of_intervals_within_the_margin() -> None:
    def row(low: float, high: float, verdict: str) -> dict[str, object]:
        return {"ci_low": low, "ci_high": high, "verdict": verdict}

    slope = Statistic("slope", "How it falls.", "SD", bad="low", margin=0.1)
    gain = Statistic("gain", "What it gains.", "SD", bad="high")
    strong = row(0.9, 1.1, "pass")
    assert _sum_passes(strong, row(-0.5, -0.3, "fail"), slope)
    assert not _sum_passes(strong, row(-0.8, -0.6, "fail"), slope)
    assert _sum_passes(row(-3, -2, "pass"), row(0, 1, "fail"), gain)
    assert not _sum_passes(row(-3, -2, "pass"), row(0, 1, "fail"), None)
    assert _sum_passes(row(-3, -2, "pass"), row(0, 1, "pass"), None)


def test_statistics_whose_verdicts_rest_on_more_than_their_interval_do_not_add_up(planted: Run) -> None:
    judged = checks(planted, "robustness")
    spot = ("stress", "translation/jumble", "")
    assert _additive(planted, judged)[spot, "sensitivity"].bad == "low"
    turned = planted.findings.with_columns(
        pl.when(pl.col("slice") == "translation/jumble")
        .then(pl.lit("pass"))
        .otherwise("verdict")
        .alias("verdict")
    )
    run = replace(planted, findings=turned)
    assert (spot, "sensitivity") not in _additive(run, checks(run, "robustness"))


def test_the_deviation_is_of_the_first_role(planted: Run) -> None:
    scores = pl.DataFrame(
        {
            "audit": "stress", "metric": "soft", "case": ["a", "a", "b", "b"], "role": ["gold", "1/1"] * 2,
            "score": [1.0, 50.0, 3.0, 70.0],
        }
    )  # fmt: skip
    cases = scores.select("audit", "case", "role")
    assert _clean_deviations(replace(planted, cases=cases, scores=scores)) == {"soft": pytest.approx(2**0.5)}


def test_the_command_prints_json(planted: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.runs import panel as command

    command(planted.folder, json=True)
    document = json.loads(capsys.readouterr().out)
    assert sorted(document["members"]) == ["keen", "plain"]
    assert document["noticed_by_none"] == ["stress translation/jumble"]
