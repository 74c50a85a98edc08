"""Only what is new fails: a baseline for gates, a summary for jobs, expected failures and strictness in pytest."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
import typer

from assay.api.runs import Run
from assay.cli.runs import gate_command as command
from assay.reading.gate import Bounds, only_new, outcomes
from assay.report.gates import job_summary, junit

FAIL = Bounds(("fail",), (), ())
TESTS = """
import pytest
from dataclasses import dataclass
from assay import Metric
from assay.testing import assert_metric_passes

@dataclass(frozen=True)
class Recall(Metric):
    name = "recall"
    def score(self, samples):
        pairs = [(set(s.hypothesis.split()), set(s.references[0].split())) for s in samples]
        return [len(words & wanted) / len(wanted) for words, wanted in pairs]

options = {"audit": "repetition", "task": ("translation",), "limit": 12}

def test_fails():
    assert_metric_passes(Recall(), **options)

def test_is_known():
    assert_metric_passes(Recall(), xfail=["translation/*"], **options)

def test_other_slices_still_fail():
    assert_metric_passes(Recall(), xfail=["translation/rep-10"], **options)

def test_passes():
    assert_metric_passes("chrf", **options)

def test_is_fixed():
    assert_metric_passes("chrf", xfail=["translation/*"], **options)

def test_is_fixed_strictly():
    assert_metric_passes("chrf", xfail=["translation/*"], strict=True, **options)

def test_is_allowed():
    assert_metric_passes(Recall(), allow=["translation/*"], **options)

def test_is_too_small_to_say():
    assert_metric_passes("chrf", audit="stereotype", attribute="gender", limit=12, margin=0.3)

def test_is_too_small_to_say_strictly():
    assert_metric_passes("chrf", audit="stereotype", attribute="gender", limit=12, margin=0.3, strict=True)
"""


def without_failures(run: Run, metric: str) -> Run:
    """The run as it was before a metric failed anything."""
    failed = (pl.col("metric") == metric) & (pl.col("verdict") == "fail")
    verdict = pl.when(failed).then(pl.lit("pass")).otherwise(pl.col("verdict"))
    return replace(run, findings=run.findings.with_columns(verdict.alias("verdict")))


def test_a_baseline_leaves_what_is_new(planted: Run) -> None:
    checked = outcomes(planted, FAIL)
    broken = [outcome for outcome in checked if outcome.is_broken]
    assert len({outcome.row["metric"] for outcome in broken}) > 1
    same = only_new(checked, planted, FAIL)
    assert [outcome.known for outcome in same] == [outcome.problem is not None for outcome in checked]
    assert not any(outcome.is_broken for outcome in same)
    new = only_new(checked, without_failures(planted, "soft"), FAIL)
    assert {outcome.row["metric"] for outcome in new if outcome.is_broken} == {"soft"}
    root = ElementTree.fromstring(junit(new))
    assert len(list(root.iter("failure"))) == sum(outcome.is_broken for outcome in new)
    assert len(list(root.iter("skipped"))) == sum(outcome.known for outcome in new) > 0


def test_a_baseline_without_such_findings_knows_nothing(planted: Run) -> None:
    asked = Bounds((), ({"audit": "stereotype", "statistic": "bias", "at-most": 10},), ())
    other = replace(planted, findings=planted.findings.filter(pl.col("audit") == "stress"))
    assert any(outcome.is_broken for outcome in only_new(outcomes(planted, asked), other, asked))


def test_the_command_counts_known_failures(
    planted: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now, before = tmp_path / "run", tmp_path / "before"
    summary = tmp_path / "summary.md"
    planted.save(before)
    summary.write_text("# Build\n")
    command(now, baseline=before, summary=summary)
    assert "failures are known, since the baseline has them too" in capsys.readouterr().err
    text = summary.read_text()
    assert text.startswith("# Build\n## assay: 0 of ")
    assert "more are known" in text
    without_failures(planted, "soft").save(before)
    with pytest.raises(typer.Exit) as ended:
        command(now, baseline=before)
    assert ended.value.exit_code == 1
    failed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("failed: ")]
    assert failed
    assert all(" soft " in line for line in failed)


def test_a_baseline_of_another_size_is_told(
    planted: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(planted, about={**planted.about, "size": "full"}).save(tmp_path / "before")
    command(tmp_path / "run", baseline=tmp_path / "before")
    assert "note: the baseline differs in stress (size full and quick)" in capsys.readouterr().err


def test_a_job_summary_names_what_failed(planted: Run) -> None:
    text = job_summary(planted, outcomes(planted, FAIL))
    assert "| soft | gender 20 points of 100 and " in text
    assert (
        "| stereotype | soft gender excess_bias against controls | failed with 20 (95% CI 19 to 21) |" in text
    )


def test_bounds_know_a_metric_by_both_names(planted: Run) -> None:
    metrics = {"a/zoo.py:Soft": {"name": "soft"}}
    findings = planted.findings.filter(pl.col("metric") == "soft").with_columns(
        metric=pl.lit("a/zoo.py:Soft")
    )
    run = replace(planted, findings=findings, about={**planted.about, "metrics": metrics})
    for name in ("soft", "a/zoo.py:Soft"):
        asked = Bounds((), ({"metric": name, "statistic": "bias", "at-most": 10},), ())
        (outcome,) = outcomes(run, asked)
        assert outcome.name == "soft gender bias"


def test_pytest_shows_words_and_no_lines_of_assay(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--no-header", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    states = {
        line.split("::")[1].split()[0]: line.split()[0]
        for line in done.stdout.splitlines()
        if line.startswith(("PASSED", "FAILED", "XFAIL")) and "::" in line
    }
    assert states == {
        "test_fails": "FAILED", "test_is_known": "XFAIL", "test_other_slices_still_fail": "FAILED",
        "test_passes": "PASSED", "test_is_fixed": "PASSED", "test_is_fixed_strictly": "FAILED",
        "test_is_allowed": "PASSED", "test_is_too_small_to_say": "PASSED",
        "test_is_too_small_to_say_strictly": "FAILED",
    }, done.stdout  # fmt: skip
    assert "assay/testing.py" not in done.stdout
    assert "failed checks of repetition:" in done.stdout
    assert "- inconclusive: " in done.stdout
    assert "no longer failing, take it out of xfail: translation/*" in done.stdout
