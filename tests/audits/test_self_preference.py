"""Self-preference against simulated evaluators: one that favours its own, one that only sees better."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.api.pipeline import run
from assay.audits.self_preference import Evaluator, SelfPreference, preference_findings
from assay.core import Judgement, Measure, Metric, Scored
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.recipe import digest

SYSTEMS = ("ash", "birch", "cedar")
QUALITY = {"ash": 0.0, "birch": 0.3, "cedar": 0.6}
WORTHLESS = -1.0
NOISE = 0.05


def _chance(*parts: str) -> float:
    """A number from 0 to 1 that belongs to these texts."""
    return int(digest(*parts)[:6], 16) / 0xFFFFFF


@dataclass(frozen=True)
class Panel(Metric):
    """Sees the quality a text is marked with, through noise of its own; adds `favour` for one system."""

    name = "panel"
    needs = frozenset()
    who: str = "neutral"
    own: str = ""
    favour: float = 0.0
    sharpness: float = 1.0

    def score(self, samples):
        found = []
        for sample in samples:
            system, *rest = sample.hypothesis.split()
            seen = self.sharpness * QUALITY.get(system, 0.0) if rest[:2] == ["wrote", "text"] else WORTHLESS
            value = seen + NOISE * _chance(self.who, sample.hypothesis)
            found.append(value + (self.favour if system == self.own and seen > WORTHLESS else 0.0))
        return found


def _measure(label: str, **fields: object) -> Measure:
    return Measure(label, Panel(who=label, **fields))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outputs") / "outputs.jsonl"
    rows = [
        {
            "id": f"{system}-{n}",
            "hypothesis": f"{system} wrote text {n} with great care today",
            "system": system,
            "doc": f"d{n}",
        }
        for n in range(40)
        for system in SYSTEMS
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _run(outputs: Path, *measures: object, **asked: object) -> dict[tuple[str, str], dict]:
    done = run(
        "self-preference", measures, session=Session.open(cache=None), data=(outputs,), limit=None, **asked
    )
    return {(row["metric"], row["statistic"]): row for row in done.findings.iter_rows(named=True)}


def test_a_known_favour_is_found_with_its_reversals(outputs: Path) -> None:
    found = _run(outputs, _measure("vain", own="ash", favour=1.0), _measure("judge"), self=("vain=ash",))
    row = found["vain", "diagonal_advantage"]
    assert row["verdict"] == "fail"
    assert row["p_value"] < 0.01
    assert row["versus"] == "judge"
    assert row["n"] == 40
    # ash minus the others: 1 - 0.45 of a gap of 0.3 + 1 + 1/3, against -0.45 of a gap of 1.3
    assert row["value"] == pytest.approx(100 * (0.55 / 1.63 + 0.45 / 1.3), abs=5)
    assert row["ci_low"] > 50
    # Neutral eyes put birch and cedar above ash; the vain evaluator puts both below.
    assert found["vain", "rank_reversals"]["value"] == 2.0


def test_an_even_handed_evaluator_passes(outputs: Path) -> None:
    found = _run(outputs, _measure("fair"), _measure("judge"), self=("fair=ash",))
    row = found["fair", "diagonal_advantage"]
    assert row["value"] == pytest.approx(0, abs=2)
    assert row["verdict"] == "pass"
    assert found["fair", "rank_reversals"]["value"] == 0.0


def test_sharper_eyes_are_not_called_vain(outputs: Path) -> None:
    """cedar is the best system: to like it more than a dull judge does is no proof of favour."""
    dull = _measure("dull", sharpness=0.15)
    found = _run(outputs, _measure("sharp", sharpness=3.0), dull, self=("sharp=cedar",))
    row = found["sharp", "diagonal_advantage"]
    assert row["ci_low"] > 20
    assert row["verdict"] == "inconclusive"


def test_an_evaluator_that_sees_nothing_is_insensitive_and_vouches_for_no_one(outputs: Path) -> None:
    @dataclass(frozen=True)
    class Blind(Metric):
        name = "blind"
        needs = frozenset()

        def score(self, samples):
            return [0.5 for _ in samples]

    flat = Measure("flat", Blind())
    found = _run(outputs, flat, _measure("judge"), self=("flat=ash",))
    assert found["flat", "diagonal_advantage"]["verdict"] == "insensitive"
    found = _run(outputs, _measure("vain", own="ash", favour=1.0), flat, self=("vain=ash",))
    assert found["vain", "diagonal_advantage"]["verdict"] == "not judged"


def test_the_paper_judges_by_ranks(outputs: Path) -> None:
    measures = (_measure("vain", own="ash", favour=1.0), _measure("judge"))
    found = _run(outputs, *measures, self=("vain=ash",), rule="paper")
    assert found["vain", "rank_reversals"]["verdict"] == "fail"
    assert found["vain", "diagonal_advantage"]["verdict"] == "not judged"


def test_without_neutral_evaluators_there_is_no_verdict(outputs: Path) -> None:
    found = _run(outputs, _measure("vain", own="ash", favour=1.0), self=("vain=ash",))
    assert found["vain", "diagonal_advantage"]["verdict"] == "not judged"
    assert ("vain", "rank_reversals") not in found


def test_the_matrix_holds_plain_means(outputs: Path) -> None:
    done = run(
        "self-preference", [_measure("judge")], session=Session.open(cache=None), data=(outputs,), limit=None
    )
    means = {row["slice"]: row["value"] for row in done.findings.iter_rows(named=True)}
    texts = [f"birch wrote text {n} with great care today" for n in range(40)]
    expected = np.mean([0.3 + NOISE * _chance("judge", text) for text in texts])
    assert means["system/birch"] == pytest.approx(expected)


def test_false_alarms_under_the_null() -> None:
    """Evaluators that differ by noise alone: the permutation p is uniform enough, no verdict of vanity."""
    rng, audit = np.random.default_rng(5), SelfPreference()
    small, failed, gaps = 0, 0, np.full(25, 100.0)
    for _ in range(200):
        tables = 10 * rng.normal(size=(2, 25, 3))  # percent of the gap
        ids = tuple(map(str, range(25)))
        one = Evaluator("e", SYSTEMS, ids, tables[0], gaps, "ash", True)
        other = Evaluator("n", SYSTEMS, ids, tables[1], gaps, None, True)
        finding = settle(audit, Judgement(preference_findings(one, [one, other], audit)))[0]
        small += finding.p_value < 0.05
        failed += finding.verdict == "fail"
    assert small <= 20  # 10 expected; 20 has a chance of 0.002
    assert failed <= 10


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (("judge=oak",), "no such system"),
        (("jugde=ash",), "no such evaluator"),
        (("judge",), "EVALUATOR=SYSTEM"),
    ],
)
def test_wrong_marks_say_what_is_wrong(outputs: Path, marks: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        _run(outputs, _measure("judge"), self=marks)


def test_rows_without_system_or_one_system_alone(tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text(json.dumps({"hypothesis": "a text", "doc": "d"}))
    with pytest.raises(DataError, match="names no system"):
        list(SelfPreference((path,)).cases())
    path.write_text(json.dumps({"hypothesis": "a text", "doc": "d", "system": "ash"}))
    with pytest.raises(DataError, match="two are needed"):
        list(SelfPreference((path,)).cases())
    row = {"hypothesis": "a text", "doc": "d", "system": "ash"}
    path.write_text("\n".join([json.dumps(row), json.dumps(row)]))
    with pytest.raises(DataError, match="two outputs"):
        list(SelfPreference((path,)).cases())


def test_quick_leaves_it_out() -> None:
    assert SelfPreference.quick() == {"skip": True}


def test_mean_scores_of_heavy_tailed_metrics_are_in_their_own_units(outputs: Path) -> None:
    audit = SelfPreference((outputs,), limit=None)
    cases = list(audit.cases())
    values = {system: np.full(len(cases), -100.0) for system in SYSTEMS}
    values["worthless"] = np.full(len(cases), -10_000.0)
    findings = audit.judge([Scored("ppl", cases, values, about={"heavy_tailed": True})]).findings
    assert {f.slice: f.value for f in findings} == {f"system/{system}": -100.0 for system in SYSTEMS}
