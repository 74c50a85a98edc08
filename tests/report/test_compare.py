"""Comparing runs: the declared side decides, items are paired, and only like is compared with like."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

import assay
from assay.api.runs import Run
from assay.cli.runs import compare_command as compare_command
from assay.core import Case, Finding, Sample, Scored
from assay.errors import SpecError
from assay.reading.compare import Comparison, compare
from assay.reading.results import cases_frame, scores_frame

from .conftest import Checklist, Groups, effect, judged_run


def changed(run: Run, metric: str, statistic: str, column: str, value: pl.Expr) -> Run:
    """The run with another value in a column of one statistic of one metric."""
    chosen = (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
    frame = run.findings.with_columns(pl.when(chosen).then(value).otherwise(pl.col(column)).alias(column))
    return replace(run, findings=frame)


def test_compare_tells_better_from_worse(planted: Run) -> None:
    same = compare(planted, planted)
    assert {change.direction for change in same.shared} == {"unchanged"}
    later = changed(planted, "soft", "excess_bias", "verdict", pl.lit("pass"))
    later = changed(later, "keen", "sensitivity", "value", pl.col("value") - 1)
    comparison = compare(planted, later)
    assert [change.key[:2] for change in comparison.of("better")] == [("soft", "stereotype")]
    assert {change.key[0] for change in comparison.of("worse")} == {"keen"}
    assert len(comparison.of("worse")) == 3  # one SD lower, with standard errors of about 0.1 each
    worst = comparison.of("worse")[0]
    assert worst.p_value == pytest.approx(4.2e-12, rel=0.2)  # z = 1 / (0.2 / 1.96 * sqrt 2) = 6.93


@pytest.mark.parametrize(
    ("statistic", "step", "direction"),
    [
        ("excess_bias", 9.0, "worse"),  # high is bad
        ("excess_bias", -9.0, "better"),
        ("sensitivity", 9.0, "better"),  # low is bad
        ("effect_size", -9.0, "worse"),  # far from 0 is bad
        ("bias", 9.0, "unchanged"),  # no side is bad
    ],
)
def test_the_declared_side_says_what_is_better(
    planted: Run, statistic: str, step: float, direction: str
) -> None:
    later = changed(planted, "keen", statistic, "value", pl.col("value") + step)
    moved = [change for change in compare(planted, later).shared if change.before != change.after]
    assert {change.direction for change in moved} == {direction}


def test_compare_of_the_package_is_that_of_the_command(
    planted: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert assay.compare is compare
    compare_command(planted.folder, planted.folder, json=True)
    printed = json.loads(capsys.readouterr().out)
    frame = assay.compare(planted, planted).frame
    assert frame.rows(named=True) == printed["changes"]
    assert frame.height == 63
    assert frame.filter(pl.col("verdict_after") == "fail")["passed_after"].to_list() == [False] * 9


def test_compare_metrics_of_different_names(planted: Run) -> None:
    comparison = compare(planted, planted, {"soft": "keen"})
    gender = next(c for c in comparison.shared if c.key[:4] == ("keen", "stereotype", "gender", "bias"))
    assert (gender.before, gender.after) == (23.0, 4.0)


def test_runs_that_share_nothing_are_told_what_each_has(planted: Run, tmp_path: Path) -> None:
    def saved(name: str, **columns: str) -> Path:
        frame = planted.findings
        for column, value in columns.items():
            frame = frame.filter(pl.col(column) == value)
        replace(planted, findings=frame).save(tmp_path / name)
        return tmp_path / name

    first = saved("a", audit="stress", metric="soft")
    with pytest.raises(SpecError, match="share no audit: stress and stereotype; run one audit twice"):
        compare_command(first, saved("b", audit="stereotype"))
    with pytest.raises(SpecError, match="share no metric: soft and keen; name a pair with -m OLD=NEW"):
        compare_command(first, saved("c", audit="stress", metric="keen"))


def with_option(run: Run, audit: str, **options: str) -> Run:
    """The run with other options of an audit."""
    described = dict(run.about["audits"])
    described[audit] = described[audit] | {"options": described[audit]["options"] | options}
    return replace(run, about=run.about | {"audits": described})


def one(value: float, *, n: int = 40, half: float = 0.5, statistic: str = "excess_bias") -> Run:
    """A run with one finding of fairness."""
    return judged_run({Groups(): [effect("m", "gender", statistic, value, half=half, n=n)]})


def test_an_inconclusive_bias_that_falls_far_is_better() -> None:
    comparison = compare(one(3.79, half=4.0), one(-17.34, half=4.0))
    assert [change.verdicts for change in comparison.of("better")] == [("inconclusive", "pass")]
    assert comparison.of("worse") == []


@pytest.mark.parametrize("half", [0.0, 1e-15])
def test_rounding_is_no_change(half: float) -> None:
    comparison = compare(one(2.8e-14, half=half), one(-1.9e-14, half=half))
    assert [change.direction for change in comparison.shared] == ["unchanged"]
    assert comparison.shared[0].p_value == 1.0


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_items_and_intervals_without_width_have_no_test(n: int) -> None:
    change = compare(one(0.1, n=n, half=0.1), one(-90.0, n=n, half=0.1)).shared[0]
    assert (change.p_value, change.q_value, change.direction) == (None, None, "unchanged")
    flat = compare(one(0.1, half=0.0), one(-90.0, half=0.0)).shared[0]
    assert (flat.p_value, flat.direction) == (None, "unchanged")


@pytest.mark.parametrize(
    ("option", "note"),
    [("seed", "seed None and 1"), ("limit", "limit None and 1"), ("margin", "margin 5.0 and 1")],
)
def test_other_options_are_not_compared(
    planted: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, note: str
) -> None:
    later = changed(planted, "keen", "excess_bias", "value", pl.col("value") + 50)
    other = with_option(later, "stereotype", **{option: "1"})
    comparison = compare(planted, other)
    assert comparison.of("worse") == []
    assert {change.key[1] for change in comparison.of("not compared")} == {"stereotype"}
    assert comparison.notes[0] == f"stereotype is not compared: the runs differ in it ({note})"
    other.save(tmp_path / "other")
    with pytest.raises(SpecError, match="whether stereotype became worse cannot be told"):
        compare_command(planted.folder, tmp_path / "other", fail_on_worse=True)
    assert note in capsys.readouterr().err
    later.save(tmp_path / "later")
    with pytest.raises(typer.Exit):
        compare_command(planted.folder, tmp_path / "later", fail_on_worse=True)


def test_another_choice_of_slices_is_compared(planted: Run) -> None:
    later = changed(planted, "keen", "excess_bias", "value", pl.col("value") + 50)
    assert len(compare(planted, with_option(later, "stereotype", only="gender")).of("worse")) == 1


def test_other_sizes_and_other_texts_are_not_compared(planted: Run) -> None:
    later = changed(planted, "keen", "excess_bias", "value", pl.col("value") + 50)
    full = replace(later, about=later.about | {"size": "full"})
    assert compare(planted, full).of("worse") == []
    assert "size quick and full" in compare(planted, full).notes[0]
    for cases in (
        later.cases.with_columns(pl.col("hypothesis") + "!"),
        later.cases.filter(pl.col("case") != "pair-2"),
    ):
        comparison = compare(planted, replace(later, cases=cases))
        assert comparison.of("worse") == []
        assert "other texts" in comparison.notes[0]


def scored_run(value: float, effects: np.ndarray) -> Run:
    """A run whose items move by these effects."""
    ids = [f"c{n}" for n in range(len(effects))]
    cases = [Case(name, {"gold": Sample("a"), "perturbed": Sample("b")}, "t/negate") for name in ids]
    finding: Finding = effect("m", "t/negate", "change", value, half=2.0)
    run = judged_run({Checklist(): [finding]})
    scored = Scored("m", cases, {"gold": np.zeros(len(effects)), "perturbed": effects})
    tables = {"cases": cases_frame({"checklist": cases}), "scores": scores_frame({"checklist": [scored]})}
    return replace(run, **tables)


def test_items_are_paired() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=60)
    alike, apart = first + 0.1 * rng.normal(size=60), rng.normal(size=60)

    def compared(later: np.ndarray) -> Comparison:
        return compare(scored_run(-10.0, first), scored_run(-9.0, later))

    assert [change.direction for change in compared(alike).shared] == ["worse"]
    assert compared(alike).shared[0].is_paired
    assert compared(alike).notes == ()
    assert [change.direction for change in compared(apart).shared] == ["unchanged"]
    unpaired = compare(judged_run({Checklist(): [effect("m", "t/a", "change", -10)]}),
                       judged_run({Checklist(): [effect("m", "t/a", "change", -9)]}))  # fmt: skip
    assert unpaired.notes[0].startswith("1 of 1 differences are tested as if the runs had other items")
