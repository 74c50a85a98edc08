"""Ranks by decisions that all metrics made; the user's own data first; what should have happened, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core import Estimate, Finding
from assay.reading.history import history
from assay.reading.lines import sources
from assay.reading.ranking import EVERYTHING, rankings
from assay.reading.results import findings_frame
from assay.reading.text import expectation
from assay.reading.verdicts import rows_of
from assay.report import render, write_report

from .decided import ITEMS, alike, decided_run, share


def test_metrics_are_tied_unless_they_decide_surely_better_on_the_same_items() -> None:
    run = decided_run({"good": alike(0.95), "near": alike(0.93, seed=9), "bad": alike(0.6, seed=3)})
    (ranking,) = rankings(run)
    assert ranking.task == "translation"
    assert [(line.rank, line.metric) for line in ranking.lines] == [(1, "good"), (1, "near"), (3, "bad")]
    errors = {line.metric: line.errors.value for line in ranking.lines if line.errors}
    assert errors == pytest.approx({"good": 95, "near": 92.5, "bad": 60}, abs=3)
    assert (ranking.kinds, ranking.items) == (8, 8 * ITEMS)


def test_a_constant_has_half_of_its_decisions_and_the_last_rank() -> None:
    flat = {kind: np.zeros(ITEMS) for kind in alike(1)}
    (ranking,) = rankings(decided_run({"flat": flat, "good": alike(0.9)}))
    assert [(line.metric, line.rank) for line in ranking.lines] == [("good", 1), ("flat", 2)]
    assert ranking.lines[1].errors is not None
    assert ranking.lines[1].errors.value == 50


def test_all_ranked_metrics_are_compared_on_the_same_items() -> None:
    """A dear metric reads half of the items; the others are right on exactly that half in half of the cases."""
    read = np.arange(ITEMS) < ITEMS / 2
    dear = {kind: np.where(read, 1.0, np.nan) for kind in alike(1)}
    cheap = {kind: np.where(read, np.where(np.arange(ITEMS) % 2, 1.0, -1.0), 1.0) for kind in alike(1)}
    (ranking,) = rankings(decided_run({"dear": dear, "cheap": cheap}))
    numbers = {line.metric: line.errors.value for line in ranking.lines if line.errors}
    assert numbers == pytest.approx({"dear": 100, "cheap": 50})
    assert ranking.items == 8 * ITEMS / 2


def test_a_metric_that_decided_about_few_kinds_of_error_is_not_ranked() -> None:
    few = {"kind-0": share(1.0)}
    (ranking,) = rankings(decided_run({"a": alike(0.9), "b": alike(0.8, seed=5), "few": few}))
    assert {line.metric: line.rank for line in ranking.lines} == {"a": 1, "b": 2, "few": None}


def test_a_metric_made_for_one_task_is_ranked_in_that_task_alone() -> None:
    facts = {name: {"signature": name} for name in ("a", "b")}
    about = {"metrics": {**facts, "asks": {"signature": "asks", "made_for": ["question-generation"]}}}
    gains = {"asks": alike(0.95), "a": alike(0.9, seed=2), "b": alike(0.8, seed=5)}
    (of_translation,) = rankings(decided_run(gains, about))
    assert {line.metric: line.rank for line in of_translation.lines}["asks"] is None
    (of_questions,) = rankings(decided_run(gains, about, task="question-generation"))
    assert {line.metric: line.rank for line in of_questions.lines}["asks"] == 1


def test_the_users_own_data_come_first_then_all_tasks() -> None:
    kinds = {
        f"{start}/kind-{n}": share(0.9, n) for start in ("mine", "translation", "dialogue") for n in range(6)
    }
    run = decided_run({"m": kinds, "n": kinds}, {"data": {"/somewhere/mine.jsonl": "sha256:0"}})
    ranked = rankings(run)
    assert [(one.task, one.is_own) for one in ranked] == [
        ("mine", True), (EVERYTHING, False), ("translation", False), ("dialogue", False),
    ]  # fmt: skip
    assert "/somewhere" not in render(run, "html")


def test_a_task_that_was_asked_on_the_users_file_is_about_the_users_texts_and_ratings() -> None:
    run = decided_run({"m": alike(0.9), "n": alike(0.8, seed=9)})
    assert [(one.is_own, one.texts) for one in rankings(run)] == [
        (False, "the English texts that come with assay")
    ]
    ratings = [
        replace(
            Finding.of(metric, "example/quality/by-document", "agreement_order", Estimate(value, 40, (50.0, 95.0))),
            audit="human", verdict="not judged",
        )
        for metric, value in (("m", 81.0), ("n", 72.0))
    ]  # fmt: skip
    checklist = run.about["audits"]["checklist"]
    own = replace(
        run,
        findings=pl.concat([run.findings, findings_frame(ratings)]),
        about=dict(run.about) | {"audits": {"checklist": checklist | {"options": {"data": "(mine.jsonl)"}}}},
    )
    (ranking,) = rankings(own)
    assert (ranking.task, ranking.is_own, ranking.texts) == ("translation", True, "your texts")
    people = {line.metric: line.rated for line in ranking.lines}
    assert {metric: (rated.order.value, rated.is_public) for metric, rated in people.items()} == {
        "m": (81.0, False), "n": (72.0, False),
    }  # fmt: skip
    assert "of texts for the same document, how many the metric orders as your ratings do" in sources(ranking)


def test_what_nobody_notices_is_named() -> None:
    hard = {"hard": share(0.5)}
    (ranking,) = rankings(decided_run({"a": alike(0.9) | hard, "b": alike(0.9, seed=5) | hard}))
    assert [name.rpartition(": ")[2] for name in ranking.unnoticed] == ["hard"]


def test_what_should_have_happened_is_said_in_the_unit_of_the_check() -> None:
    run = decided_run({"m": {"negate": share(0.5)}})
    (row,) = rows_of(run)
    assert row["verdict"] == "fail"
    assert "75" in expectation(row)


def test_history_shows_each_run_and_what_became_worse(tmp_path: Path) -> None:
    before = decided_run({"m": alike(1.0, kinds=4)}).save(tmp_path / "first")
    worse = alike(1.0, kinds=2) | {f"kind-{n}": share(0.3, n) for n in (2, 3)}
    after = decided_run({"m": worse}).save(tmp_path / "second")
    moments = history([before, after])["m"]
    assert [moment["run"] for moment in moments] == ["first", "second"]
    assert {way: count for way, (count, _) in moments[1]["changes"].items()} == {"worse": 2}
    page = write_report(after, [before]).read_text("utf-8")
    assert "2 worse" in page
    assert 'id="history"' not in write_report(after).read_text("utf-8")
