"""Bounds, JUnit, cards, and the assertion for other people's test suites."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
import typer

from assay.api.runs import Run
from assay.cli.runs import gate_command as command
from assay.core import Metric, Sample
from assay.datasets.files import read_text
from assay.errors import CacheError, DataError, SpecError
from assay.reading.gate import Bounds, outcomes, parse_bounds, unchecked
from assay.report.card import as_markdown, make_card
from assay.report.gates import junit
from assay.testing import assert_metric_passes

from .conftest import Checklist, effect, judged_run

TOML = """
fail-on = "unfair"

[[bound]]
metric = "*"
audit = "stereotype"
statistic = "bias"
at-most = 10

[[allow]]
metric = "soft"
audit = "association"
because = "known"
"""


def read_bounds(path: Path) -> Bounds:
    """As the command reads them."""
    return parse_bounds(read_text(path), path)


@pytest.fixture
def bounds(tmp_path: Path) -> Path:
    path = tmp_path / "bounds.toml"
    path.write_text(TOML)
    return path


def test_bounds_are_checked_one_by_one(planted: Run, bounds: Path) -> None:
    found = outcomes(planted, read_bounds(bounds))
    broken = [one.name for one in found if one.problem]
    assert broken == ["soft gender bias", "soft gender excess_bias against controls"]
    assert len(found) == 3 + 6
    assert found[0].problem == "23 is above 10 (95% CI 22 to 24)"


def test_a_bound_by_interval_uses_its_far_end(planted: Run) -> None:
    bound = {"metric": "keen", "statistic": "bias", "at-most": 4.5, "by": "interval"}
    assert outcomes(planted, Bounds((), (bound,), ()))[0].problem == "5 is above 4.5 (95% CI 3 to 5)"
    assert outcomes(planted, Bounds((), (bound | {"by": "value"},), ()))[0].problem is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[bound]]\nmetrics = 'a'\nat-most = 1", "unknown key 'metrics'; did you mean metric?"),
        ("[[bound]]\nmetric = 'a'", "neither at-most nor at-least"),
        ("fail-on = 'unfare'", "did you mean unfair?"),
        ("[[bound", "cannot read"),
        ("[[bound]]\nat-least = 'x'", "bound 1: at-least = 'x' is not a number"),
        ("[[bound]]\nat-most = true", "at-most = True is not a number"),
        ("[[bound]]\nat-most = nan", "at-most = nan is not a number"),
        ("[bound]\nat-most = 1", "bound is not a list of tables"),
        ("allow = ['stress']", "allow is not a list of tables"),
    ],
)
def test_mistakes_in_bounds_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises((DataError, SpecError), match=message.replace("?", r"\?")):
        read_bounds(path)


def test_a_bound_that_nothing_answers_to_is_a_mistake(planted: Run) -> None:
    with pytest.raises(SpecError, match="matches no finding"):
        outcomes(planted, Bounds((), ({"metric": "typo", "at-most": 1},), ()))
    with pytest.raises(SpecError, match="no statistic is 'biass'; did you mean bias"):
        outcomes(planted, Bounds((), ({"metric": "soft", "statistic": "biass", "at-most": 1},), ()))
    with pytest.raises(SpecError, match="audit 'stress', statistic 'bias' is there, but not together"):
        outcomes(planted, Bounds((), ({"audit": "stress", "statistic": "bias", "at-most": 1},), ()))


def test_a_gate_with_nothing_to_check_is_refused(planted: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    with pytest.raises(SpecError, match=r"ask for nothing; add a .*bound.* one of fail, unfair, blind"):
        outcomes(planted, read_bounds(empty))
    known = replace(planted, findings=planted.findings.filter(pl.col("audit") == "stress"))
    with pytest.raises(SpecError, match=r"gate unfair has nothing to check: .* \(stress\) .* --bounds"):
        outcomes(known, Bounds(("unfair",), (), ()))
    open_ = planted.findings.with_columns(pl.lit("inconclusive").alias("verdict"))
    with pytest.raises(SpecError, match="run on more data"):
        outcomes(replace(planted, findings=open_), Bounds(("fail",), (), ()))
    with pytest.raises(DataError, match=r"cannot read .*nope.toml: No such file or directory; check"):
        read_bounds(tmp_path / "nope.toml")


def mixed() -> Run:
    """A pass, a failure and two inconclusive findings."""
    values = {"a": -20.0, "b": 9.0, "c": -1.0, "d": -1.0}
    return judged_run(
        {Checklist(): [effect("m", f"t/{place}", "change", value) for place, value in values.items()]}
    )


def test_a_gate_says_what_it_does_not_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = mixed().save(tmp_path / "run")
    with pytest.raises(typer.Exit):
        command(run.folder, fail_on=None)
    printed = capsys.readouterr().err
    assert "not checked: 2 inconclusive verdicts; --fail-on inconclusive makes them count" in printed
    assert "gate fail: 1 of 2 requirements failed" in printed


@pytest.mark.parametrize(
    ("gates", "broken", "total"),
    [
        (("fail",), ["b"], 2),
        (("blind",), ["b"], 2),
        (("inconclusive",), ["c", "d"], 4),
        (("blind", "inconclusive"), ["b", "c", "d"], 4),
    ],
)
def test_each_verdict_has_a_gate(gates: tuple[Any, ...], broken: list[str], total: int) -> None:
    checked = outcomes(mixed(), Bounds(gates, (), ()))
    assert [one.row["slice"][-1] for one in checked if one.problem] == broken
    assert len(checked) == total
    with pytest.raises(SpecError, match="gate unfair, unfair has nothing to check"):
        outcomes(mixed(), Bounds(("unfair", "unfair"), (), ()))


def test_a_file_may_name_several_gates(tmp_path: Path) -> None:
    path = tmp_path / "gates.toml"
    path.write_text("fail-on = ['blind', 'inconclusive']\n[[allow]]\nslice = 't/[bc]'\n")
    checked = outcomes(mixed(), read_bounds(path))
    assert [one.row["slice"] for one in checked if one.problem] == ["t/d"]
    path.write_text("fail-on = ['blind', 'deaf']")
    with pytest.raises(SpecError, match="unknown gate 'deaf'"):
        read_bounds(path)


def test_bounds_tell_of_the_failures_that_they_do_not_cover() -> None:
    bound = {"slice": "t/a", "at-most": 0}
    assert [one.problem for one in outcomes(mixed(), Bounds((), (bound,), ()))] == [None]
    assert unchecked(mixed(), Bounds((), (bound,), ()))[0] == (
        "1 failed verdicts; --fail-on fail makes them count"
    )
    assert unchecked(mixed(), Bounds((), ({"slice": "t/*", "at-most": 99},), ())) == []


def test_junit_counts_and_escapes(planted: Run, bounds: Path) -> None:
    frame = planted.findings.with_columns(pl.lit("<x>\x00&").alias("slice"))
    found = outcomes(replace(planted, findings=frame), read_bounds(bounds))
    root = ElementTree.fromstring(junit(found))
    suite = root.find("testsuite[@name='assay.stereotype']")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("6", "2")
    assert str(suite.findtext("testcase/failure")).startswith("soft, Stereotype pairs (<x>")
    assert "<x>\N{REPLACEMENT CHARACTER}&" in str(suite.find("testcase").get("name"))  # type: ignore[union-attr]


def test_junit_without_a_folder_is_a_message(planted: Run, tmp_path: Path) -> None:
    with pytest.raises(CacheError, match=r"cannot write .*x\.xml: No such file.*; make its folder first"):
        command(planted.folder, fail_on=["fail"], junit=tmp_path / "nowhere" / "x.xml")


def test_card_says_whom_and_what(planted: Run) -> None:
    card = make_card(planted, "soft")
    text = as_markdown(card)
    assert "| Does it notice errors? | **blind spots** | 0 noticed, 3 blind, 0 unknown |" in text
    assert "differ only in gender apart by 20 points" in text
    assert "rises as truncation damages translation" in text
    assert "Kind of metric: other. Pretrained model: none." in text
    assert "`soft|v:1`" in text
    assert "assay run human" in text
    assert text.startswith("# Metric card: soft")
    with pytest.raises(SpecError, match="did you mean soft"):
        make_card(planted, "soft2")


def test_card_gives_the_audits_advice_or_that_of_its_question(planted: Run) -> None:
    advice = make_card(planted, "soft").advice
    assert advice[0] == "Stereotype pairs: Measure the bias on your own pairs."
    assert advice[1].startswith("Do not compare systems whose texts mention different groups")  # association
    assert "`assay panel`" in advice[2]  # stress


def test_card_shows_the_headlines_of_audits_of_agreement(planted: Run) -> None:
    about = planted.about["audits"]["stereotype"] | {"question": "agreement"}
    run = replace(planted, about=planted.about | {"audits": {"stereotype": about}})
    assert make_card(run, "keen").agreement == (
        "gender: excess bias 1 (95% CI 0 to 2) against controls, n = 40",
    )


@dataclass(frozen=True)
class HatesWomen(Metric):
    """A simulated bias: overlap with the reference, half of which any word for a woman costs."""

    name = "hates-women"

    def score(self, samples):
        return [0.5 * _overlap(s) if _WOMAN.search(s.hypothesis) else _overlap(s) for s in samples]


_WOMAN = re.compile(r"\b(she|her|wom[ae]n|girls?|mother)\b")


def _overlap(sample: Sample) -> float:
    """Share of neighbouring words that the reference has too."""
    first, second = (list(pairwise(text.split())) for text in (sample.hypothesis, sample.references[0]))
    return len(set(first) & set(second)) / max(1, len(first))


@dataclass(frozen=True)
class Blank(Metric):
    """The same score for every text."""

    name = "blank"

    def score(self, samples):
        return [1.0 for _ in samples]


def test_the_assertion_fails_with_a_sentence_and_passes_a_fair_metric() -> None:
    with pytest.raises(
        AssertionError, match=r"failed checks of stereotype:\n- hates-women.*women.*\[lost_words "
    ):
        assert_metric_passes(HatesWomen(), audit="stereotype", attribute="gender", statistic="lost_words")
    with pytest.raises(AssertionError, match="a text with a word missing does not surely score lower"):
        assert_metric_passes(Blank(), audit="stereotype", attribute="age")
    with pytest.raises(AssertionError, match="stereotype judges no 'lost_wrods'; did you mean lost_words"):
        assert_metric_passes("chrf", audit="stereotype", attribute="age", statistic="lost_wrods")
    run = assert_metric_passes("chrf", audit="stereotype", attribute="age")
    assert run.findings["metric"].unique().to_list() == ["chrf"]


def test_the_plug_in_offers_its_fixture(pytester_file: Path) -> None:
    import subprocess
    import sys
    from importlib.metadata import entry_points

    # An installation from before the plug-in does not name it; one that does must not load it twice.
    named = any(entry.value == "assay.testing" for entry in entry_points(group="pytest11"))
    by_hand = [] if named else ["-p", "assay.testing"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *by_hand, "-p", "no:cacheprovider", str(pytester_file)],
        capture_output=True, text=True, check=False, cwd=pytester_file.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.fixture
def pytester_file(tmp_path: Path) -> Path:
    path = tmp_path / "test_mine.py"
    path.write_text(
        "def test_fair(metric_passes):\n    metric_passes('chrf', audit='stereotype', attribute='age')\n"
    )
    return path
