"""Metrics that misbehave are told by name and sample, or left out; stdout has results and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import misbehaving
import numpy as np
import pytest

from assay.core import Case, Grid, Sample
from assay.engine.scoring import explain_samples, score_cases, score_samples
from assay.engine.session import Session
from assay.engine.workers.local import LocalEngine
from assay.errors import AuditError, MetricError
from assay.names.spec import parse_spec

FILE = Path(misbehaving.__file__)
MAIN = [sys.executable, "-c", "from assay.cli import main; main()"]
SAMPLES = [
    Sample(f"text {n}" if n != 7 else misbehaving.BAD, ("a reference",), id=f"id{n}") for n in range(20)
]
ROWS = "".join(
    json.dumps({"id": s.id, "hypothesis": s.hypothesis, "references": list(s.references)}) + "\n"
    for s in SAMPLES
)


def _session(on_error: str) -> Session:
    return Session(engine=LocalEngine(timeout=0.1), on_error=on_error)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", misbehaving.EXPECTED)
def test_the_metric_and_its_sample_are_named_or_left_out(name: str) -> None:
    given, words = parse_spec(f"{FILE}:{name}"), misbehaving.EXPECTED[name]
    if words is None:
        score_samples(given, SAMPLES, _session("stop"))
        return
    with pytest.raises(MetricError) as caught:
        score_samples(given, SAMPLES, _session("stop"))
    assert words in str(caught.value)
    assert name.lower() in str(caught.value)
    if name in misbehaving.RAISED:
        assert "the sample id7 with hypothesis 'bad text'" in str(caught.value)
    session = _session("skip")
    values = score_samples(given, SAMPLES, session).values.ravel()
    assert np.flatnonzero(np.isnan(values)).tolist() == [7]
    assert len(session.failures) == 1


@pytest.mark.parametrize("name", misbehaving.SETS)
def test_sets_have_the_same_checks_and_can_be_skipped(name: str) -> None:
    given = parse_spec(f"{FILE}:{name}")
    work = {"audit": [Case(f"c{n}", {"a": sample}, "slice") for n, sample in enumerate(SAMPLES)]}
    with pytest.raises(MetricError, match=misbehaving.SETS[name][1]) as caught:
        score_cases(given, work, _session("stop"))
    assert name.lower() in str(caught.value)
    session = _session("skip")
    scored = score_cases(given, work, session)["audit"]
    assert np.isnan(scored.values["a"]).all()
    assert misbehaving.SETS[name][1] in session.failures[0]
    assert scored.notes == {"absent: the metric raised an error": 1}


@pytest.mark.parametrize("name", misbehaving.GRIDS)
def test_grids_have_the_same_checks_and_fall_back_to_pairs(name: str) -> None:
    given = parse_spec(f"{FILE}:{name}")
    work = {"audit": [Grid("grid", ("one", "three"), ("four", "fifty", "six"), "slice")]}
    with pytest.raises(MetricError, match=misbehaving.GRIDS[name][1]):
        score_cases(given, work, _session("stop"))
    scored = score_cases(given, work, _session("skip"))["audit"]
    assert scored.grids["grid"].tolist() == [[7, 8, 6], [9, 10, 8]]


def test_a_grid_with_failures_is_told_and_not_cached(tmp_path: Path) -> None:
    given = parse_spec(f"{FILE}:Name")
    work = {"audit": [Grid("grid", ("one", misbehaving.BAD), ("four", "fifty"), "slice")]}
    session = Session.open(cache=tmp_path, on_error="skip")
    for _ in range(2):  # the second time it is tried again
        with session:
            scored = score_cases(given, work, session)["audit"]
            assert len(session.failures) == 2
        assert scored.notes["failed"] == 2
        assert np.isnan(scored.grids["grid"]).tolist() == [[False, False], [True, True]]


def test_a_metric_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(AuditError, match="prepares raised NameError: weights while it loaded"):
        score_samples(parse_spec(f"{FILE}:Prepares"), SAMPLES, _session("stop"))


@pytest.mark.parametrize("name", ["ExitZero", "EndOfFile"])
def test_no_gate_passes_or_fails_by_an_exit_of_the_metric(name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(ROWS)
    words = ["score", "-m", f"{FILE}:{name}", "--data", "rows.jsonl", "--cache", "none"]
    done = subprocess.run([*MAIN, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "id7" in done.stderr
    done = subprocess.run(
        [*MAIN, *words, "--on-error", "skip"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 21


def test_stdout_has_the_result_alone(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(ROWS)
    words = ["score", "-m", f"{FILE}:Prints", "--data", "rows.jsonl", "--cache", "none", "--json"]
    done = subprocess.run([*MAIN, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert len(json.loads(done.stdout)["scores"]) == 20
    for words in ("printed by the metric", "written to the descriptor", "echoed by a child"):
        assert words in done.stderr


def test_a_metric_that_changes_the_folder_moves_no_output(tmp_path: Path) -> None:
    """Neither as it is loaded nor as it scores: `--out run` is where the command was started."""
    (tmp_path / "plugin").mkdir()
    code = FILE.read_text() + "\nos.chdir('/')\n"
    (tmp_path / "plugin" / "wandering.py").write_text(code)
    (tmp_path / "rows.jsonl").write_text(ROWS)
    words = "score -m plugin/wandering.py:Wanders --data rows.jsonl --cache kept --out run"
    done = subprocess.run([*MAIN, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run").exists()
    assert (tmp_path / "kept" / "scores.sqlite").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_metric_that_writes_over_its_samples_reaches_no_other(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.engine.workers.local._POOL_FROM", 10)
    samples = [Sample(f"text {n}", (f"reference {n}",), id=f"id{n}") for n in range(20)]
    session = Session(engine=LocalEngine(workers))
    expected = score_samples(parse_spec("bleu"), samples, session).values
    score_samples(parse_spec(f"{FILE}:Rewrites"), samples, session)
    work = {"audit": [Case(f"c{n}", {"a": sample}, "slice") for n, sample in enumerate(samples)]}
    score_cases(parse_spec(f"{FILE}:RewritesSets"), work, session)
    explain_samples(parse_spec(f"{FILE}:Rewrites"), samples)
    assert [sample.hypothesis for sample in samples] == [f"text {n}" for n in range(20)]
    assert np.array_equal(score_samples(parse_spec("bleu"), samples, session).values, expected)
