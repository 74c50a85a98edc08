"""The attack audit against simulated metrics: one that sees every edit, one that is blind to articles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.api.pipeline import run
from assay.audits.attack.audit import Attack
from assay.core import Measure, Metric, Scored
from assay.engine.session import Session
from assay.errors import DataError
from assay.perturbations.ratio import edit_ratio

NAMES = ("clerk", "baker", "pilot", "nurse", "farmer", "singer", "teacher", "lawyer", "driver", "gardener")
PLACES = ("office", "bridge", "harbour", "library", "station", "market")


def _text(n: int) -> str:
    one, two = NAMES[n % 10], NAMES[(n // 10 + 3) % 10]
    here, there = PLACES[n % 6], PLACES[(n // 6 + 2) % 6]
    return f"The {one} left the {here} before the {two} had found the key to the {there} {n} days ago."


def _bare(text: str, blind: bool) -> str:
    words = text.lower().split()
    return " ".join(word for word in words if not (blind and word in ("a", "an", "the")))


@dataclass(frozen=True)
class Seeing(Metric):
    """One less the share of words changed; with `blind`, articles do not count."""

    name = "seeing"
    paradigm = "edit"
    blind: bool = False
    what: str = ""

    def score(self, samples):
        pairs = [(_bare(s.references[0], self.blind), _bare(s.hypothesis, self.blind)) for s in samples]
        return [1 - edit_ratio(gold, text) for gold, text in pairs]


@dataclass(frozen=True)
class Watchful(Seeing):
    """A judge of another paradigm that sees every edit."""

    name = "watchful"
    paradigm = "matching"


@dataclass(frozen=True)
class Careful(Seeing):
    """A judge of a third paradigm."""

    name = "careful"
    paradigm = "likelihood"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attack") / "texts.jsonl"
    rows = [{"id": f"t{n}", "gold": _text(n), "references": [_text(n)], "source": "s"} for n in range(40)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _run(texts: Path, *measures: Measure, **asked: object):
    options = {"limit": 12, "queries": 300, "judges": ()} | asked
    return run("attack", measures, session=Session.open(cache=None), data=(texts,), **options)


def _of(done, metric: str) -> dict[tuple[str, str], dict]:
    rows = done.findings.iter_rows(named=True)
    return {(row["slice"], row["statistic"]): row for row in rows if row["metric"] == metric}


@pytest.fixture(scope="module")
def done(texts: Path):
    judges = (Measure("watchful", Watchful()), Measure("careful", Careful()))
    return _run(texts, Measure("blind", Seeing(blind=True)), *judges)


def test_a_blind_metric_is_found(done) -> None:
    found = _of(done, "blind")
    row = found["texts", "attack_gain"]
    assert row["value"] == pytest.approx(1.0)  # articles cost it nothing
    assert row["passed"] is False
    assert row["p_value"] < 0.05
    assert found["texts", "hit_share"]["value"] == 1.0
    assert found["texts", "loss_share"]["value"] == pytest.approx(0.0)
    assert found["texts", "noise_ratio"]["value"] >= 0.15
    assert found["texts", "queries"]["value"] <= 300


def test_metrics_that_see_every_edit_pass(done) -> None:
    found = _of(done, "watchful")
    row = found["texts", "attack_gain"]
    assert found["texts", "loss_share"]["value"] == pytest.approx(1.0, abs=0.05)
    assert row["value"] < 0.05  # below 0: the blind metric, one of its judges, finds the edits milder
    assert row["passed"] is True


def test_examples_are_noted(done) -> None:
    examples = [note for note in done.notes if "random noise" in note and "blind:" in note]
    assert len(examples) == 3
    assert all("costs 0," in note for note in examples)
    assert any("The → ∅" in note or "the → " in note for note in examples)


def test_evidence_shows_gold_attack_and_noise(done) -> None:
    case = _of(done, "blind")["texts", "attack_gain"]["evidence"][0]
    rows = {row["role"]: row for row in done.cases.iter_rows(named=True) if row["case"] == case}
    assert edit_ratio(rows["gold"]["hypothesis"], rows["attack"]["hypothesis"]) >= 0.15
    assert {f"random/{draw}" for draw in range(5)} <= set(rows)


def test_every_found_text_has_the_noise_ratio_and_the_budget(done) -> None:
    for row in done.cases.filter(done.cases["role"] == "attack").iter_rows(named=True):
        meta = json.loads(row["meta"])
        if "queries" in meta:
            assert meta["noise_ratio"] >= 0.15
            assert meta["queries"] <= 300


def test_one_judge_alone_confirms_nothing(texts: Path) -> None:
    """Two metrics of one paradigm have one vote: without a second there is no verdict, and no gain counts."""
    same = (Measure("watchful", Watchful()), Measure("again", Watchful(what="again")))
    found = _of(_run(texts, Measure("blind", Seeing(blind=True)), *same), "blind")
    assert found["texts", "loss_share"]["value"] < 0.25
    assert found["texts", "attack_gain"]["value"] == pytest.approx(0.0)
    assert found["texts", "attack_gain"]["passed"] is None
    assert found["texts", "hit_share"]["value"] == 0.0


def test_judges_as_blind_as_the_metric_do_not_clear_it(texts: Path) -> None:
    """Damage that nobody sees is no proof of a blind spot, nor of sight."""
    blind = (Measure("watchful", Watchful(blind=True)), Measure("careful", Careful(blind=True)))
    found = _of(_run(texts, Measure("blind", Seeing(blind=True)), *blind), "blind")
    assert found["texts", "loss_share"]["value"] == pytest.approx(0.0)
    assert found["texts", "hit_share"]["value"] == 0.0
    assert found["texts", "attack_gain"]["passed"] is None


def test_the_paper_rule_takes_texts_as_they_are(texts: Path) -> None:
    found = _of(_run(texts, Measure("blind", Seeing(blind=True)), rule="paper"), "blind")
    assert found["texts", "attack_gain"]["passed"] is False
    assert ("texts", "hit_share") not in found


def test_equal_runs_and_resumed_runs_are_equal(texts: Path, tmp_path: Path) -> None:
    options = {"data": (texts,), "limit": 4, "queries": 60, "judges": ()}
    documents, computed = [], []
    for _ in range(2):
        done = run("attack", ["rougeL", "chrf"], session=Session.open(cache=tmp_path / "cache"), **options)
        documents.append(done.json())
        computed.append(done.about["computed"])
    assert documents[0] == documents[1]
    assert computed[0]["rougeL"] > 0
    assert computed[1]["rougeL"] == 0  # a search that was cut goes on from the cache


def test_a_round_is_one_call_over_all_items(texts: Path) -> None:
    audit = Attack((texts,), limit=5, queries=50, judges=(), beam=1)
    cases = list(audit.cases())
    values = {role: np.zeros(len(cases)) for role in cases[0].samples}
    first = audit.more(Scored("m", cases, values))
    assert {case.meta["item"] for case in first} == {case.id for case in cases}
    assert all(case.meta["round"] == 1 for case in first)
    assert len(first) <= 5 * 25  # half of the budget goes to the first round of a longer search


def test_a_metric_that_raises_on_some_texts_is_searched_around(texts: Path) -> None:
    @dataclass(frozen=True)
    class Fussy(Seeing):
        name = "fussy"

        def score(self, samples):
            if any(" not " in s.hypothesis for s in samples):
                raise ValueError("no negations, please")
            return super().score(samples)

    session = Session.open(cache=None, on_error="skip")
    done = run(
        "attack", [Measure("fussy", Fussy())], session=session, data=(texts,), limit=4, queries=40, judges=()
    )
    found = [json.loads(row["meta"]) for row in done.cases.iter_rows(named=True) if "/found/" in row["case"]]
    assert len({one["changed"] for one in found}) == 4
    assert not any("not" in one["changed"].split() for one in found)


def test_a_dataset_of_one_item(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"id": "a", "gold": _text(1), "references": [_text(1)], "source": "s"}))
    done = _run(path, Measure("blind", Seeing(blind=True)), queries=20)
    assert set(done.findings["verdict"]) == {"not judged"}


def test_random_noise_that_costs_nothing_is_noted(texts: Path) -> None:
    @dataclass(frozen=True)
    class Constant(Metric):
        name = "constant"

        def score(self, samples):
            return [0.5] * len(samples)

    done = _run(texts, Measure("constant", Constant()), queries=20)
    assert set(done.findings["verdict"]) == {"insensitive"}
    assert any("random noise does not surely cost any score" in note for note in done.notes)


def test_kinds_of_edits_can_be_chosen(texts: Path) -> None:
    found = {}
    for fields in ({"only": ("swap",)}, {"rule": "paper"}):
        audit = Attack((texts,), limit=2, judges=(), **fields)
        cases = list(audit.cases())
        values = {role: np.zeros(len(cases)) for role in cases[0].samples}
        first = audit.more(Scored("m", cases, values))
        found[str(fields)] = {move[1] for case in first for move in case.meta["moves"]}
    assert list(found.values()) == [{"swap"}, {"delete", "replace"}]
    with pytest.raises(DataError, match="did you mean swap"):
        Attack((texts,), only=("swop",)).more(Scored("m", [], {}))


def test_quick_leaves_it_out() -> None:
    assert Attack.quick() == {"skip": True}
