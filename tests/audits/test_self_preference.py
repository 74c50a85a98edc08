"""Self-preference against simulated evaluators: one that favours its own, one that only sees better."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from assay.audits.self_preference import SelfPreference
from assay.core import Case, Finding, Measure, Metric, Sample, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.recipe import digest

SYSTEMS = ("ash", "birch", "cedar")
QUALITY = {"ash": 0.0, "birch": 0.3, "cedar": 0.6}
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
        return [self._of(sample.hypothesis) for sample in samples]

    def _of(self, text: str) -> float:
        system = text.split()[0]
        favour = self.favour if system == self.own else 0.0
        return self.sharpness * QUALITY[system] + NOISE * _chance(self.who, text) + favour


def _measure(label: str, **fields: object) -> Measure:
    return Measure(label, Panel(who=label, **fields))


def _rows(documents: int = 40) -> list[dict]:
    return [
        {
            "id": f"{system}-{n}",
            "hypothesis": f"{system} wrote text {n} with great care today",
            "system": system,
            "doc": f"d{n}",
        }
        for n in range(documents)
        for system in SYSTEMS
    ]


def _written(path: Path, rows: list[dict]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("outputs") / "outputs.jsonl", _rows())


def _findings(outputs: Path, *measures: Measure, **asked: object) -> dict[tuple[str, str], Finding]:
    audit = SelfPreference((outputs,), limit=None, **asked)  # type: ignore[arg-type]
    work = {"self-preference": list(audit.cases())}
    scored, *_ = score_all({"self-preference": audit}, work, measures, Session())
    found = settle(audit, audit.judge(scored["self-preference"]))
    return {(finding.metric, finding.statistic): finding for finding in found}


def test_a_known_favour_is_found(outputs: Path) -> None:
    found = _findings(outputs, _measure("vain", own="ash", favour=1.0), _measure("judge"), self=("vain=ash",))
    favour = found["vain", "own_wins"]
    assert (favour.value, favour.verdict, favour.versus, favour.n) == (100.0, "fail", "judge", 80)
    assert found["vain", "neutral_wins"].value == 0.0  # the others are better
    assert favour.sentence == (
        "vain prefers the outputs of its own model (ash) in 100 of 100 cases to those of systems that judge do not "
        "rank below it."
    )
    assert len(favour.evidence) == 5


def test_an_even_handed_evaluator_passes(outputs: Path) -> None:
    found = _findings(outputs, _measure("fair"), _measure("judge"), self=("fair=ash",))
    assert (found["fair", "own_wins"].value, found["fair", "own_wins"].verdict) == (0.0, "pass")


def test_an_increasing_transform_changes_nothing(outputs: Path) -> None:
    @dataclass(frozen=True)
    class Curved(Panel):
        name = "curved"

        def score(self, samples):
            return [float(np.exp(3 * value) * 1e6) for value in super().score(samples)]

    for system in SYSTEMS:
        plain = _findings(outputs, _measure("one"), _measure("judge"), self=(f"one={system}",))
        curved = _findings(
            outputs, Measure("one", Curved(who="one")), _measure("judge"), self=(f"one={system}",)
        )
        for statistic in ("own_wins", "neutral_wins"):
            same = [replace(found["one", statistic], evidence=()) for found in (plain, curved)]
            assert same[0] == same[1]


def test_sharper_eyes_are_not_called_vain(outputs: Path) -> None:
    """cedar is the best system: to like it more than a dull judge does is no proof of favour."""
    dull = _measure("dull", sharpness=0.06)
    found = _findings(outputs, _measure("sharp", sharpness=3.0), dull, self=("sharp=cedar",))
    assert found["sharp", "own_wins"].value == 100.0
    assert 50 < found["sharp", "neutral_wins"].value < 100
    assert found["sharp", "own_wins"].verdict == "not judged"


def test_people_vouch_where_they_rated_the_outputs(tmp_path: Path) -> None:
    """To all metrics the systems are alike; people put ash above birch and below cedar."""
    ratings = {"ash": 3, "birch": 1, "cedar": 5}
    rows = [
        row | {"hypothesis": f"ash wrote {row['id']} today", "human": {"overall": ratings[row["system"]]}}
        for row in _rows()
    ]
    path = _written(tmp_path / "rated.jsonl", rows)
    found = _findings(path, _measure("even"), _measure("judge"), self=("even=ash",))
    favour = found["even", "own_wins"]
    assert (favour.versus, favour.n) == ("people", 40)  # cedar alone: birch is surely worse
    assert found["even", "neutral_wins"].value == 0.0
    assert favour.verdict == "pass"


def test_an_evaluator_that_sees_nothing_favours_nobody_and_vouches_for_no_one(outputs: Path) -> None:
    @dataclass(frozen=True)
    class Blind(Metric):
        name = "blind"
        needs = frozenset()

        def score(self, samples):
            return [0.5 for _ in samples]

    flat = Measure("flat", Blind())
    found = _findings(outputs, flat, _measure("judge"), self=("flat=ash",))
    assert (found["flat", "own_wins"].value, found["flat", "own_wins"].verdict) == (50.0, "pass")
    found = _findings(outputs, _measure("vain", own="ash", favour=1.0), flat, self=("vain=ash",))
    assert found["vain", "own_wins"].verdict == "not judged"


def test_the_paper_judges_by_ranks(outputs: Path) -> None:
    vain, fair = _measure("vain", own="ash", favour=1.0), _measure("fair")
    found = _findings(outputs, vain, fair, _measure("judge"), self=("vain=ash", "fair=birch"), rule="paper")
    # Neutral eyes put birch and cedar above ash; the vain evaluator puts both below.
    assert (found["vain", "rank_reversals"].value, found["vain", "rank_reversals"].verdict) == (2.0, "fail")
    assert (found["fair", "rank_reversals"].value, found["fair", "rank_reversals"].verdict) == (0.0, "pass")
    assert ("vain", "own_wins") not in found


def test_without_neutral_evaluators_there_is_no_verdict(outputs: Path) -> None:
    vain = _measure("vain", own="ash", favour=1.0)
    found = _findings(outputs, vain, self=("vain=ash",))
    assert (found["vain", "own_wins"].value, found["vain", "own_wins"].verdict) == (100.0, "not judged")
    assert ("vain", "neutral_wins") not in found
    assert ("vain", "rank_reversals") not in _findings(outputs, vain, self=("vain=ash",), rule="paper")


def test_the_means_of_systems_are_in_the_metrics_own_units(outputs: Path) -> None:
    audit = SelfPreference((outputs,), limit=None)
    cases = list(audit.cases())
    scored, *_ = score_all({"s": audit}, {"s": cases}, [_measure("judge")], Session())
    means = {finding.slice: finding.value for finding in audit.judge(scored["s"]).findings}
    texts = [f"birch wrote text {n} with great care today" for n in range(40)]
    expected = np.mean([0.3 + NOISE * _chance("judge", text) for text in texts])
    assert means["system/birch"] == pytest.approx(expected)


def _simulated(rng: np.random.Generator, favour: float) -> Finding:
    """An evaluator and a neutral one see the same texts, each with noise of its own."""
    audit = SelfPreference((Path("never read"),), self=("evaluator=ash",))
    cases = [Case(str(n), dict.fromkeys(SYSTEMS, Sample("a text")), "outputs") for n in range(25)]
    quality = rng.normal(size=(3, 25))
    answers = []
    for name, gain in (("evaluator", favour), ("neutral", 0.0)):
        values = dict(zip(SYSTEMS, quality + 0.5 * rng.normal(size=(3, 25)), strict=True))
        values["ash"] = values["ash"] + gain
        answers.append(Scored(name, cases, values, about={"name": name}))
    found = settle(audit, audit.judge(answers))
    return next(finding for finding in found if finding.statistic == "own_wins")


def test_favour_is_found_and_even_handed_evaluators_are_let_alone() -> None:
    rng = np.random.default_rng(5)
    assert sum(_simulated(rng, 0.0).verdict == "fail" for _ in range(200)) == 0
    # Systems differ from text to text by an SD of 1.6: a favour of 4 wins nearly every decision.
    assert sum(_simulated(rng, 4.0).verdict == "fail" for _ in range(100)) >= 95


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
        _findings(outputs, _measure("judge"), self=marks)


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
