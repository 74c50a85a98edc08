"""The attack audit against simulated metrics: one that sees every edit, one that is blind to articles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.audits.attack.audit import FOUND, Attack
from assay.core import Case, Finding, Measure, Metric, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure
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
    power: float = 1.0  # an increasing transform of its scores

    def score(self, samples):
        pairs = [(_bare(s.references[0], self.blind), _bare(s.hypothesis, self.blind)) for s in samples]
        return [max(0.0, 1 - edit_ratio(gold, text)) ** self.power for gold, text in pairs]


@dataclass(frozen=True)
class Constant(Metric):
    """Gives every text the same score."""

    name = "constant"

    def score(self, samples):
        return [0.5] * len(samples)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attack") / "texts.jsonl"
    rows = [
        {"id": f"t{n}", "gold": _text(n), "references": [_text(n) + " That was all."], "source": "s"}
        for n in range(40)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def _search(texts: Path, metric: Metric, **asked: object) -> tuple[Attack, list[Finding], Scored]:
    """The audit, its settled findings, and the scores of a search against one metric."""
    audit = Attack((texts,), **{"limit": 12, "queries": 300} | asked)
    scored, *_ = score_all(
        {"attack": audit}, {"attack": list(audit.cases())}, [Measure(metric.name, metric)], Session()
    )
    return audit, settle(audit, audit.judge(scored["attack"])), scored["attack"][0]


def _found(scored: Scored) -> list[Case]:
    return [case for case in scored.cases if case.slice.endswith(FOUND)]


def test_a_metric_that_is_blind_to_articles_is_found(texts: Path) -> None:
    _, findings, scored = _search(texts, Seeing(blind=True), limit=20)
    found = {finding.statistic: finding for finding in findings}
    assert {finding.slice for finding in findings} == {"texts"}
    assert (found["right_order"].value, found["right_order"].n) == (
        50.0,
        20,
    )  # articles cost it nothing: a tie
    assert found["right_order"].verdict == "fail"
    assert "damaged by search in only 50 of 100" in found["right_order"].sentence
    assert found["right_order_random"].value > 95  # random edits are noticed
    assert found["right_order_random"].verdict == "not judged"
    assert found["noise_ratio"].value >= 0.15
    assert found["queries"].value <= 300
    assert set(found["right_order"].evidence) <= {case.id for case in _found(scored)}
    for case in _found(scored):
        clean, attacked = (case.samples[role].hypothesis for role in ("gold", "attack"))
        assert edit_ratio(clean, attacked) == case.meta["noise_ratio"] >= 0.15
        assert _bare(clean, blind=True) == _bare(attacked, blind=True)
        assert {f"random/{draw}" for draw in range(5)} <= set(case.samples)


def test_a_metric_that_sees_every_edit_passes(texts: Path) -> None:
    _, findings, _ = _search(texts, Seeing(), limit=20)
    (order,) = [finding for finding in findings if finding.statistic == "right_order"]
    assert (order.value, order.verdict, order.evidence) == (100.0, "pass", ())


def test_a_constant_metric_is_a_coin(texts: Path) -> None:
    _, findings, _ = _search(texts, Constant(), queries=20, limit=20)
    (order,) = [finding for finding in findings if finding.statistic == "right_order"]
    assert (order.value, order.verdict) == (50.0, "fail")


def test_an_increasing_transform_changes_nothing(texts: Path) -> None:
    plain, curved = (_search(texts, Seeing(blind=True, power=power), limit=4) for power in (1.0, 3.0))
    assert [case.id for case in _found(plain[2])] == [case.id for case in _found(curved[2])]
    assert plain[1] == curved[1]


def test_the_search_sees_no_reference_and_the_decision_rests_on_it(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    rows = [{"id": f"t{n}", "gold": _text(n), "references": [_text(n + 7)], "source": "s"} for n in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    _, _, scored = _search(path, Seeing(), queries=40)
    for case in scored.cases:
        golds = {_text(n) for n in range(4)}
        seen = {reference for sample in case.samples.values() for reference in sample.references}
        assert seen.isdisjoint(golds) if case.slice.endswith(FOUND) else seen <= golds


def test_the_texts_that_fool_a_metric_are_noted(texts: Path) -> None:
    @dataclass(frozen=True)
    class Brief(Seeing):
        """Prefers short texts, so that it rewards what the search leaves out."""

        name = "brief"

        def score(self, samples):
            return [-len(s.hypothesis.split()) for s in samples]

    audit, findings, scored = _search(texts, Brief(), queries=100)
    (order,) = [finding for finding in findings if finding.statistic == "right_order"]
    assert order.value == 0.0
    assert "prefers one that was damaged by search to a clean text (texts) in 100 of 100" in order.sentence
    notes = audit.judge([scored]).notes
    assert len(notes) == 3
    assert all(note.startswith("brief is fooled by") and "→ ∅" in note for note in notes)


def test_by_the_papers_rule_the_clean_text_is_the_reference_and_the_mean_must_fall(texts: Path) -> None:
    for blind, verdict in ((True, "fail"), (False, "pass")):
        _, findings, scored = _search(texts, Seeing(blind=blind), rule="paper", limit=4)
        (change,) = [finding for finding in findings if finding.statistic == "mean_change"]
        assert change.verdict == verdict
        assert "right_order" not in {finding.statistic for finding in findings}
        for case in _found(scored):
            assert case.samples["attack"].references == (case.samples["gold"].hypothesis,)


def test_a_search_that_was_cut_goes_on_from_the_cache(texts: Path, tmp_path: Path) -> None:
    findings, computed = [], []
    for _ in range(2):
        audit = Attack((texts,), limit=4, queries=60)
        with Session.open(cache=tmp_path / "cache") as session:
            work = {"attack": list(audit.cases())}
            scored, *_ = score_all({"attack": audit}, work, [measure("rougeL")], session)
            computed.append(session.computed["rougeL"])
        findings.append(settle(audit, audit.judge(scored["attack"])))
    assert findings[0] == findings[1]
    assert computed[0] > 0
    assert computed[1] == 0


def test_a_round_is_one_call_over_all_items(texts: Path) -> None:
    audit = Attack((texts,), limit=5, queries=50, beam=1)
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

    audit = Attack((texts,), limit=4, queries=40)
    session = Session(on_error="skip")
    scored, *_ = score_all(
        {"attack": audit}, {"attack": list(audit.cases())}, [Measure("fussy", Fussy())], session
    )
    found = _found(scored["attack"][0])
    assert len(found) == 4
    assert not any("not" in case.meta["changed"].split() for case in found)


def test_one_item_is_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(
        json.dumps({"id": "a", "gold": _text(1), "references": [_text(1) + " That was all."], "source": "s"})
    )
    _, findings, _ = _search(path, Seeing(blind=True), queries=20)
    assert {finding.verdict for finding in findings} == {"inconclusive", "not judged"}


def test_kinds_of_edits_can_be_chosen(texts: Path) -> None:
    found = {}
    for fields in ({"only": ("swap",)}, {"rule": "paper"}):
        audit = Attack((texts,), limit=2, **fields)
        cases = list(audit.cases())
        values = {role: np.zeros(len(cases)) for role in cases[0].samples}
        first = audit.more(Scored("m", cases, values))
        found[str(fields)] = {move[1] for case in first for move in case.meta["moves"]}
    assert list(found.values()) == [{"swap"}, {"delete", "replace"}]
    with pytest.raises(DataError, match="did you mean swap"):
        Attack((texts,), only=("swop",)).more(Scored("m", [], {}))
