"""Gates that cannot be passed by saying nothing: silence, muteness, rows that disappear, options that hide."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from assay.cli import app
from assay.core import Case, Sample, Scored
from assay.engine.coverage import Coverage, coverage_of
from assay.errors import SpecError
from assay.reading.results import load_run
from assay.testing import assert_metric_passes

CHEATS = Path(__file__).with_name("cheats.py")
QUICK = ["--size", "quick", "--task", "translation", "--quiet"]


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of the audit of repetition on every cheat."""
    home = tmp_path_factory.mktemp("cheats")
    folders = {}
    for name in ("Honest", "Silent", "Mute", "Wordless"):
        folders[name] = home / name
        spec, other = f"{CHEATS}:{name}", ["-m", "chrf"] if name == "Wordless" else []
        command(
            "run", "repetition", "-m", spec, *other, *QUICK, "--out", folders[name], "--cache", home / "c"
        )
    return folders


def test_an_honest_metric_is_covered(runs: dict[str, Path]) -> None:
    findings = load_run(runs["Honest"]).findings
    assert "not covered" not in findings["verdict"].to_list()
    assert "coverage" not in findings["statistic"].to_list()


@pytest.mark.parametrize(
    ("name", "words"), [("Silent", "silent on texts by their role"), ("Mute", "gave too few scores")]
)
def test_what_a_metric_is_silent_on_is_not_covered(runs: dict[str, Path], name: str, words: str) -> None:
    findings = load_run(runs[name]).findings
    judged = findings.filter(pl.col("statistic") == "right_order")
    assert set(judged["verdict"]) <= {"not covered"}
    gaps = findings.filter(pl.col("statistic") == "coverage")
    assert gaps.height
    assert words in gaps["sentence"][0]
    done = command("gate", runs[name])
    assert done.exit_code == 1
    assert "not covered" in done.stderr
    allowed = runs[name].with_suffix(".toml")
    allowed.write_text('[[bound]]\nstatistic = "*"\nat-least = 0\n')
    assert command("gate", runs[name], "--bounds", allowed).exit_code == 1


def test_a_metric_without_any_score_fails_the_gate_of_a_run_that_others_pass(runs: dict[str, Path]) -> None:
    findings = load_run(runs["Wordless"]).findings.filter(pl.col("metric") != "chrf")
    assert set(findings["statistic"]) == {"coverage"}
    assert set(findings["value"]) == {0.0}
    done = command("gate", runs["Wordless"])
    assert done.exit_code == 1
    assert "Wordless" in done.stderr or "wordless" in done.stderr


def test_every_entry_point_refuses_the_same(runs: dict[str, Path], tmp_path: Path) -> None:
    spec = f"{CHEATS}:Silent"
    out = ["--out", tmp_path / "run", "--cache", "none"]
    asked = command("run", "repetition", "-m", spec, *QUICK, *out, "--fail-on", "blind")
    assert asked.exit_code == 1
    with pytest.raises(AssertionError, match="not covered"):
        assert_metric_passes(spec, audit="repetition", task=("translation",))
    wrong = command("run", "repetition", "-m", f"{CHEATS}:Honest", *QUICK, *out, "--coverage", "1.5")
    assert isinstance(wrong.exception, SpecError)


def test_a_judged_row_that_disappears_fails(runs: dict[str, Path], tmp_path: Path) -> None:
    before = load_run(runs["Honest"])
    kept = before.findings.filter(pl.col("slice") != "translation/rep-10")
    lost = before.findings.height - kept.height
    assert lost
    after = type(before)(**vars(before) | {"findings": kept}).save(tmp_path / "after")
    gate = command("gate", after.folder, "--baseline", runs["Honest"])
    assert gate.exit_code == 1
    assert "judged in the baseline, and gone here" in gate.stderr
    compare = command("compare", runs["Honest"], after.folder, "--fail-on-worse")
    assert compare.exit_code == 1
    assert "judged in the first run and gone in the second: 1" in compare.stdout
    listed = json.loads(command("compare", runs["Honest"], after.folder, "--json").stdout)
    assert len(listed["lost"]) == 1
    assert command("compare", runs["Honest"], runs["Honest"], "--fail-on-worse").exit_code == 0


def test_a_verdict_that_is_no_longer_covered_is_worse(runs: dict[str, Path], tmp_path: Path) -> None:
    before = load_run(runs["Honest"])
    hidden = before.findings.with_columns(
        pl.when(pl.col("verdict") == "pass")
        .then(pl.lit("not covered"))
        .otherwise(pl.col("verdict"))
        .alias("verdict")
    )
    after = type(before)(**vars(before) | {"findings": hidden}).save(tmp_path / "after")
    assert command("compare", runs["Honest"], after.folder, "--fail-on-worse").exit_code == 1


def answered(absent: dict[str, int], n: int = 60) -> Scored:
    """A metric's scores of one slice, without the first ones of a role."""
    cases = [
        Case(f"c{place}", {role: Sample(f"{role} {place}", ("r",)) for role in ("gold", "worse")}, "t/kind")
        for place in range(n)
    ]
    values = {role: np.where(np.arange(n) < absent.get(role, 0), np.nan, 1.0) for role in ("gold", "worse")}
    return Scored("m", cases, values, about={"needs": ["references"]})


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ({}, ""),
        ({"gold": 3, "worse": 3}, ""),  # one in twenty
        ({"gold": 4, "worse": 4}, "gave too few scores"),
        ({"worse": 3}, ""),  # as often by chance, one time in eight
        ({"worse": 15}, "silent on texts by their role"),
    ],
)
def test_one_text_in_twenty_may_lack_a_score(absent: dict[str, int], words: str) -> None:
    problem = coverage_of(answered(absent), ()).problem("t/kind")
    assert words in problem if words else not problem
    assert not coverage_of(answered(absent), (), least=0.0).problem("t/kind") or "role" in words


def test_texts_without_what_a_metric_needs_are_not_counted() -> None:
    cases = [Case(f"c{n}", {"gold": Sample("a", ("r",) if n else ())}, "s") for n in range(2)]
    scored = Scored("m", cases, {"gold": np.array([np.nan, 1.0])}, about={"needs": ["references"]})
    assert not coverage_of(scored, ()).problem("s")


def test_silence_on_few_texts_of_every_kind_is_seen_over_all_of_them() -> None:
    whole = Coverage(Counter(gold=600, worse=600), Counter(gold=600, worse=580))
    assert whole.share > 0.95
    assert whole.silent_role() == "worse"
    assert Coverage(Counter(gold=60, worse=60), Counter(gold=60, worse=58)).silent_role() is None
