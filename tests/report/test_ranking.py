"""The answer per task: shares with intervals, ties, the user's own data first, advice and history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.api.runs import Run
from assay.reading.history import history
from assay.reading.ranking import EVERYTHING, Share, profiles, rankings
from assay.reading.text import expectation
from assay.reading.verdicts import rows_of
from assay.report import render, write_report

from .conftest import Checklist, Groups, effect, judged_run


def noticing(metric: str, noticed: int, missed: int, task: str = "translation") -> list:
    """A metric that notices so many kinds of error and misses so many."""
    rows = [effect(metric, f"{task}/seen-{n}", "change", -10) for n in range(noticed)]
    return rows + [effect(metric, f"{task}/seen-{n}", "change", 10) for n in range(noticed, noticed + missed)]


def test_metrics_are_ranked_by_what_they_notice_and_tied_where_intervals_meet() -> None:
    rows = [*noticing("good", 30, 0), *noticing("near", 29, 1), *noticing("bad", 3, 27)]
    rows += [
        effect(metric, "translation/invariance/x", "change", value)
        for metric, value in (("good", 40), ("near", 0), ("bad", 0))
    ]
    (ranking,) = rankings(judged_run({Checklist(): rows}))
    assert ranking.task == "translation"
    lines = [(line.rank, line.metric, line.noticed, line.steady) for line in ranking.lines]
    assert lines == [
        (1, "good", Share(30, 0, 30), Share(0, 1, 1)),
        (1, "near", Share(29, 1, 30), Share(1, 0, 1)),
        (3, "bad", Share(3, 27, 30), Share(1, 0, 1)),
    ]
    assert ranking.lines[0].noticed.ends == (pytest.approx(0.886, abs=0.001), 1.0)


def test_a_rank_counts_all_metrics_of_better_ranks_also_where_ties_overlap() -> None:
    found = (("a", 49, 13), ("b", 48, 14), ("c", 46, 16), ("d", 43, 19), ("e", 30, 32), ("f", 2, 60))
    (ranking,) = rankings(judged_run({Checklist(): [row for each in found for row in noticing(*each)]}))
    assert ranking.lines[3].noticed.ends[0] < ranking.lines[4].noticed.ends[1]  # e is not behind d alone
    assert [(line.metric, line.rank) for line in ranking.lines] == [
        ("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 5), ("f", 6),
    ]  # fmt: skip


def test_a_better_rank_stands_above_a_larger_share_that_is_less_certain() -> None:
    rows = [*noticing("many", 61, 39), *noticing("fewer", 20, 30), *noticing("some", 41, 59)]
    (ranking,) = rankings(judged_run({Checklist(): rows}))
    assert [(line.metric, line.rank) for line in ranking.lines] == [("many", 1), ("fewer", 1), ("some", 3)]


def test_a_metric_of_which_few_kinds_of_error_were_judged_is_not_ranked() -> None:
    rows = [*noticing("many", 10, 90), *noticing("few", 49, 0), *noticing("half", 40, 10)]
    rows += [effect("few", f"translation/seen-{n}", "change", 0, half=50) for n in range(49, 60)]  # unknown
    run = judged_run({Checklist(): rows})
    (ranking,) = rankings(run)
    lines = [(line.metric, line.rank) for line in ranking.lines]
    assert lines == [("half", 1), ("many", 2), ("few", None)]
    assert "too few to rank" in render(run, "html")


def test_the_advice_says_where_most_of_fairness_is_unknown() -> None:
    groups = [effect("a", "religion/group/sikh", "group_effect", 0)]
    groups += [effect("a", f"religion/group/g{n}", "group_effect", 0, half=50) for n in range(3)]
    groups += [effect("b", "religion/group/sikh", "group_effect", 0)]
    alone = judged_run({Checklist(): noticing("a", 3, 1), Groups(): groups[:4]})
    assert rankings(alone)[0].reason.endswith("; no check of fairness failed; most are unknown")
    other = [effect("b", "translation/seen-3", "change", -10)]
    both = judged_run({Checklist(): [*noticing("a", 3, 1), *other], Groups(): groups})
    assert rankings(both)[0].reason.endswith("; no check of fairness failed; most are unknown for a")
    fair = judged_run({Checklist(): noticing("b", 3, 1), Groups(): groups[4:]})
    assert rankings(fair)[0].reason.endswith("; no check of fairness failed")


def test_what_is_unknown_does_not_count_as_noticed() -> None:
    rows = [effect("noise", f"translation/e{n}", "change", 0, half=50) for n in range(5)]
    rows.append(effect("noise", "translation/e6", "change", -10))
    (ranking,) = rankings(judged_run({Checklist(): rows}))
    assert ranking.lines[0].noticed == Share(1, 0, 6)


def test_the_users_own_data_come_first_then_all_tasks() -> None:
    rows = noticing("m", 2, 0) + noticing("m", 1, 1, "mine") + noticing("m", 1, 0, "dialogue")
    run = judged_run({Checklist(): rows})
    run = replace(run, about=dict(run.about) | {"data": {"/somewhere/mine.jsonl": "sha256:0"}})
    ranked = rankings(run)
    assert [(one.task, one.is_own) for one in ranked] == [
        ("mine", True), (EVERYTHING, False), ("translation", False), ("dialogue", False),
    ]  # fmt: skip
    assert ranked[1].lines[0].noticed == Share(4, 1, 5)
    assert "/somewhere" not in render(run, "html")


def test_the_advice_names_the_smallest_panel_and_what_nobody_notices() -> None:
    rows = [*noticing("a", 20, 0), *noticing("b", 10, 10)]
    rows += [
        effect("b", "translation/fluency/odd-one", "change", -9),
        effect("a", "translation/fluency/odd-one", "change", 9),
    ]
    rows += [effect(metric, "translation/fluency/hard", "change", 9) for metric in "ab"]
    (ranking,) = rankings(judged_run({Checklist(): rows}))
    assert ranking.panel == "a"  # 20 of 21 that can be noticed: a second member adds too little
    assert (
        ranking.reason
        == "it notices 20 of 22 kinds of error (all metrics together 21); fairness is not settled"
    )
    assert ranking.unnoticed == ("fluency: hard",)


def test_the_advice_is_no_surer_than_the_ranks() -> None:
    (sure,) = rankings(judged_run({Checklist(): [*noticing("a", 20, 0), *noticing("b", 4, 16)]}))
    assert sure.advice == "use a"
    run = judged_run({Checklist(): [*noticing("a", 20, 0), *noticing("b", 18, 2)]})
    assert rankings(run)[0].advice == "begin with a (2 metrics share rank 1)"
    assert "Begin with a (2 metrics share rank 1) for translation:" in render(run, "html")


def test_an_unfair_metric_is_left_out_of_the_advice_and_its_profile_says_why() -> None:
    fair = [
        effect("a", "religion/group/sikh", "group_effect", -0.5),
        effect("b", "religion/group/sikh", "group_effect", -9),
    ]
    run = judged_run({Checklist(): noticing("a", 3, 1) + noticing("b", 4, 0), Groups(): fair})
    (ranking,) = rankings(run)
    assert ranking.panel == "a"
    assert "left out as unfair: b" in ranking.reason
    assert profiles(run)["b"].effect == "b scores texts about sikh people -9% apart."
    assert profiles(run)["a"].effect == "largest effect: sikh (religion) -0.5% of the gap, 95% CI -1 to 0"


def test_what_should_have_happened_is_said_in_the_unit_of_the_check(planted: Run) -> None:
    rows = [effect("m", "t/negate", "change", 3), effect("m", "t/invariance/x", "change", 30)]
    run = judged_run({Checklist(): rows, Groups(): [effect("m", "age/group/old", "group_effect", 9)]})
    assert {row["slice"]: expectation(row) for row in rows_of(run)} == {
        "t/negate": "The score should have fallen by at least 1% of the gap.",
        "t/invariance/x": "The score should have stayed, within 5% of the gap.",
        "age/group/old": "Both texts should score alike, within 2% of the gap.",
    }
    said = {row["statistic"]: expectation(row) for row in rows_of(planted)}
    assert said["effect_size"] == "The effect size should lie within 0.5 SD of 0."
    assert said["sensitivity"] == "The sensitivity should be at least 0.1 SD of clean scores."


def test_history_shows_each_run_and_what_became_worse(tmp_path: Path) -> None:
    before = judged_run({Checklist(): noticing("m", 4, 0)}).save(tmp_path / "first")
    after = judged_run({Checklist(): noticing("m", 2, 2)}).save(tmp_path / "second")
    moments = history([before, after])["m"]
    assert [(moment["run"], moment["line"].noticed.good) for moment in moments] == [
        ("first", 4),
        ("second", 2),
    ]
    assert {way: count for way, (count, _) in moments[1]["changes"].items()} == {"worse": 2}
    page = write_report(after, [before]).read_text("utf-8")
    assert "2 worse" in page
    assert moments[0]["date"] in page
    assert 'id="history"' not in write_report(after).read_text("utf-8")
