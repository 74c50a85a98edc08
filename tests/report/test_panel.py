"""The panel is the exact minimum, against brute force; fairness and residue are told."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.report.panel import Candidate, _sum_passes, choose_panel, smallest_cover
from assay.run.results import Run

SPOTS = [("audit", f"slice-{n}", "") for n in range(7)]


def _members(table: list[list[bool]], costs: list[float]) -> list[Candidate]:
    return [
        Candidate(f"m{n}", frozenset(s for s, seen in zip(SPOTS, row, strict=True) if seen), (), cost)
        for n, (row, cost) in enumerate(zip(table, costs, strict=True))
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=6),
    st.lists(st.integers(1, 50), min_size=6, max_size=6),
)
def test_cover_is_the_smallest_and_then_the_cheapest(table: list[list[bool]], costs: list[int]) -> None:
    members = _members(table, [float(c) for c in costs[: len(table)]])
    reachable = frozenset().union(*(one.sees for one in members))
    chosen = smallest_cover(members, reachable)
    covers = [
        subset
        for size in range(len(members) + 1)
        for subset in combinations(members, size)
        if frozenset().union(*(one.sees for one in subset)) >= reachable
    ]
    best = min((len(subset), sum(one.seconds or 0 for one in subset)) for subset in covers)
    assert (len(chosen), sum(one.seconds or 0 for one in chosen)) == pytest.approx(best)


def test_the_planted_panel(planted: Run) -> None:
    panel = choose_panel(planted)
    assert set(panel.members) == {"keen", "plain"}
    assert len(panel.covered) == 2
    assert panel.residue == {("stress", "translation/jumble", "")}
    assert panel.curve[0][1] == 1
    assert panel.curve[1] == (("keen", "plain"), 2)
    assert {one.metric: one.fair for one in panel.candidates} == {"soft": False, "keen": True, "plain": True}
    assert panel.candidates[1].seconds == pytest.approx(50.0)


def test_a_sum_needs_the_sum_of_intervals_on_the_good_side() -> None:
    def row(low: float, high: float, passed: bool | None, statistic: str) -> dict[str, object]:
        return {"ci_low": low, "ci_high": high, "passed": passed, "statistic": statistic}

    strong = row(0.9, 1.1, True, "sensitivity")
    assert _sum_passes(strong, row(-0.5, -0.3, False, "sensitivity"))
    assert not _sum_passes(strong, row(-0.8, -0.6, False, "sensitivity"))
    assert _sum_passes(row(-3, -2, True, "copy_gain"), row(0, 1, False, "copy_gain"))
    assert not _sum_passes(row(-3, -2, True, "position_change"), row(0, 1, False, "position_change"))


def test_the_command_prints_json(planted: Run, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.panel import command

    command(planted.folder, json=True)
    document = json.loads(capsys.readouterr().out)
    assert sorted(document["members"]) == ["keen", "plain"]
    assert document["residue"] == ["stress translation/jumble"]
