"""The panel is the exact minimum, against brute force; what is unfair or unnoticed is named."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import polars as pl
import pytest
from assay.reading.panel import (
    Candidate,
    _gaps,
    _sum_passes,
    choose_panel,
    smallest_cover,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.api.runs import Run
from assay.cli.runs import _print_panel
from assay.core import Estimate, Finding, Statistic
from assay.reading.names import shown_names

from .conftest import Checklist, effect, judged_run

SPOTS = [("audit", f"slice-{n}") for n in range(7)]


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
    assert panel.unnoticed == {("stress", "translation/jumble")}
    assert panel.curve[0][1] == 1
    assert panel.curve[1] == (("keen", "plain"), 2)
    fairness = {"soft": "fail", "keen": "pass", "plain": "pass"}
    assert {one.metric: one.fairness for one in panel.candidates} == fairness
    assert panel.is_fair
    assert panel.candidates[1].seconds == pytest.approx(50.0)


def test_a_sum_needs_the_mean_of_intervals_within_the_margin() -> None:
    def row(low: float | None, high: float | None, verdict: str) -> dict[str, object]:
        return {"ci_low": low, "ci_high": high, "verdict": verdict}

    slope = Statistic("slope", "How it falls.", "SD", bad="low", margin=0.1)
    gain = Statistic("gain", "What it gains.", "SD", bad="high")
    strong = row(0.9, 1.1, "pass")
    assert _sum_passes(strong, row(-0.5, -0.3, "fail"), slope)
    assert not _sum_passes(strong, row(-0.8, -0.6, "fail"), slope)
    assert _sum_passes(row(-3, -2, "pass"), row(0.5, 1, "fail"), gain)
    assert not _sum_passes(strong, row(0.9, 1.1, "insensitive"), slope)
    # A verdict that rests on more than its interval does not add up, unless both parts pass.
    assert not _sum_passes(strong, row(-0.5, -0.3, "inconclusive"), slope)
    assert _sum_passes(row(None, None, "pass"), row(0, 1, "pass"), gain)
    assert not _sum_passes(row(-3, -2, "pass"), row(None, None, "fail"), gain)


def test_the_gap_is_between_the_first_role_and_worthless_texts(planted: Run) -> None:
    scores = pl.DataFrame(
        {
            "audit": "stress", "metric": "soft", "case": ["a", "a", "a", "b", "b", "b", "c"],
            "role": ["gold", "1/1", "worthless"] * 2 + ["gold"], "score": [1.0, 50.0, 0.5, 3.0, 70.0, 0.5, 99.0],
        }
    )  # fmt: skip
    cases = scores.select("audit", "case", "role")
    run = replace(planted, cases=cases, scores=scores)
    assert _gaps(run) == {"soft": pytest.approx(1.5)}
    about = planted.about | {"metrics": {"soft": {"heavy_tailed": True}}}
    assert _gaps(replace(run, about=about)) == {}


def test_steady_scores_companions_and_empty_metrics_notice_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    steady = [
        effect("real", "t/invariance/x", "change", 0.1),
        effect("flat", "t/invariance/x", "change", 0.0),
    ]
    caught = Finding.of("real", "t/negate", "caught", Estimate(-40.0, 20, (-41.0, -39.0)))
    seen = [effect("real", "t/jumble", "change", -20.0), caught]
    empty = [
        effect("flat", where, "change", 0.0, sensitive=False) for where in ("t/jumble", "t/negate", "t/typo")
    ]
    run = judged_run({Checklist(): steady + seen + empty})
    panel = choose_panel(run)
    assert panel.spots == panel.covered == {("checklist", "t/jumble")}
    assert panel.members == ("real",)
    assert [one.metric for one in panel.candidates] == ["real"]
    assert (panel.empty, panel.is_fair) == (1, False)
    _print_panel(panel, shown_names(run), allow_unfair=False)
    printed = capsys.readouterr().out
    assert printed.startswith("panel: real\n")
    assert "not measured" in printed
    assert "flat" not in printed


def test_all_checks_of_a_spot_must_pass() -> None:
    rows = [effect("m", "t/a", "change", -20.0), effect("m", "t/a", "rise", 1.0)]  # inconclusive
    rows += [effect("m", "t/b", "change", -20.0), effect("m", "t/b", "rise", 0.0)]
    assert choose_panel(judged_run({Checklist(): rows})).covered == {("checklist", "t/b")}


def test_the_command_prints_json(planted: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.runs import panel as command

    command(planted.folder, json=True)
    document = json.loads(capsys.readouterr().out)
    assert sorted(document["members"]) == ["keen", "plain"]
    assert document["noticed_by_none"] == ["stress translation/jumble"]
