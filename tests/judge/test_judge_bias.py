"""judge-bias against simulated judges: every bias found at its stated size, silence on a fair judge."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from planted import LOST, OWN, Planted

from assay.audits.judge_bias.audit import JudgeBias
from assay.audits.judge_bias.pairs import (
    CLAIMS,
    SIGNALS,
    biases,
    embedded_items,
    lost_texts,
    noun_pairs,
    wordings,
)
from assay.core import Case, Finding, Measure, Metric
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure

HALF = LOST / 2  # half of a lost word: the size at which every effect must be found
LARGE = 0.6  # more than the 0.5 between right and wrong answers
SEEDS = 5
SLICES = [bias.slice for bias in biases()]
MODES = pytest.mark.parametrize("mode", ["pointwise", "pairwise"])


def _judged(*measures: Measure, **asked: object) -> tuple[list[Finding], list[str]]:
    audit = JudgeBias(**asked)  # type: ignore[arg-type]
    scored, *_ = score_all({"judge-bias": audit}, {"judge-bias": list(audit.cases())}, measures, Session())
    judgement = audit.judge(scored["judge-bias"])
    return settle(audit, judgement), list(judgement.notes)


def _findings(judge: Metric, **asked: object) -> dict[tuple[str, str], Finding]:
    found, _ = _judged(Measure("planted", judge), **asked)
    return {(finding.slice, finding.statistic): finding for finding in found}


def _effect(slice_: str) -> tuple[str, str]:
    """The slice with the statistic that has its effect."""
    return slice_, "signal_gain" if slice_ in CLAIMS else "lost_words"


@MODES
@pytest.mark.parametrize("slice_", [*SLICES, "self-preference/name"])
def test_half_a_lost_word_is_found(slice_: str, mode: str) -> None:
    for seed in range(SEEDS):
        judge = Planted(bias=slice_, size=HALF, mode=mode, seed=seed)
        findings = _findings(judge, only=(slice_.replace("/name", ""),))
        found = findings[_effect(slice_)]
        assert (found.verdict, found.n) == ("fail", 20)
        assert found.value == pytest.approx(0.5, abs=0.15)
        # It is far too little for a wrong answer to win.
        assert {f.verdict for key, f in findings.items() if key[1] == "right_order"} == {"pass"}


@MODES
@pytest.mark.parametrize("slice_", SIGNALS)
def test_a_signal_that_makes_wrong_answers_win_is_found(slice_: str, mode: str) -> None:
    judge = Planted(bias=slice_, size=LARGE, mode=mode)
    findings = _findings(judge, only=(slice_.replace("/name", ""),))
    assert (findings["quality", "right_order"].value, findings["quality", "right_order"].verdict) == (
        100,
        "pass",
    )
    found = findings[slice_, "right_order"]
    assert (found.value, found.n, found.verdict) == (0.0, 20, "fail")
    assert found.sentence == (
        f"planted prefers a wrong one {SIGNALS[slice_]} to a right answer in 100 of 100 cases."
    )


def test_every_effect_is_told_in_a_sentence() -> None:
    """A name of a slice says nothing to whoever reads a headline."""
    for slice_ in [*SLICES, "self-preference/name", "position"]:
        judge = Planted(bias="" if slice_ == "position" else slice_, size=-0.3, primacy=0.6, mode="pairwise")
        found = _findings(judge, only=(slice_.replace("/name", ""),), limit=10)
        sentences = [finding.sentence for finding in found.values() if finding.sentence]
        assert not any(slice_ in sentence for sentence in sentences if "/" in slice_)
    pull = found["position", "lost_words"].sentence
    assert pull.startswith("planted scores the same answer 6.")
    assert pull.endswith(" lost words higher where it is shown first than where it is shown second.")


@MODES
def test_a_fair_judge_raises_no_alarm(mode: str) -> None:
    found = [f for seed in range(SEEDS) for f in _findings(Planted(mode=mode, seed=seed)).values()]
    judged = [finding for finding in found if finding.verdict != "not judged"]
    assert len(judged) >= SEEDS * 34
    assert {finding.verdict for finding in judged} == {"pass"}


def test_one_bias_is_not_taken_for_another() -> None:
    found = _findings(Planted(bias="authority", size=LARGE))
    failed = {key: finding for key, finding in found.items() if finding.verdict == "fail"}
    assert set(failed) == {("authority", "signal_gain"), ("authority", "right_order")}
    assert all(id_.startswith("authority/") for finding in failed.values() for id_ in finding.evidence)


def test_a_dislike_of_padding_is_no_fault_but_of_lists_is() -> None:
    padding = _findings(Planted(bias="verbosity", size=-LARGE), only=("verbosity",))
    assert {finding.verdict for finding in padding.values()} == {"pass", "not judged"}
    found = _findings(Planted(bias="style/list", size=-HALF), only=("style",))
    assert found["style/list", "lost_words"].verdict == "fail"
    assert found["style/list", "lost_words"].value == pytest.approx(-0.5, abs=0.15)
    assert found["style/list", "right_order"].verdict == "pass"
    assert found["style/markdown", "lost_words"].verdict == "pass"


@pytest.mark.parametrize(("primacy", "worse", "fine"), [(0.6, "first", "second"), (-0.6, "second", "first")])
def test_place_is_found_and_its_direction(primacy: float, worse: str, fine: str) -> None:
    found = _findings(Planted(mode="pairwise", primacy=primacy), only=("position",))
    pull = found["position", "lost_words"]
    assert (pull.verdict, pull.versus) == ("fail", "first - second")
    assert pull.value == pytest.approx(primacy / LOST, rel=0.1)
    assert found["position", "swap_consistency"].value == 0.0
    assert found["position", "swap_consistency"].verdict == "fail"
    lost, kept = (found[f"position/{place}", "right_order"] for place in (worse, fine))
    assert (lost.value, lost.verdict, kept.value, kept.verdict) == (0.0, "fail", 100.0, "pass")
    assert f"a wrong one that is shown {worse}" in lost.sentence


def test_a_judge_without_a_favourite_place_is_consistent() -> None:
    for judge in (Planted(mode="pairwise"), Planted(mode="pairwise", primacy=0.6, swap=True)):
        found = _findings(judge, only=("position",))
        assert found["position", "lost_words"].value == pytest.approx(0.0, abs=1e-9)
        assert found["position", "swap_consistency"].value == 100.0
        assert {finding.verdict for finding in found.values()} == {"pass"}
    assert not any(slice_.startswith("position") for slice_, _ in _findings(Planted()))


@MODES
def test_restless_judges_are_found(mode: str) -> None:
    judge = Planted(mode=mode, jitter=0.1)
    found = _findings(judge, only=("repeats",), limit=100)["repeats", "inconsistency"]
    assert (found.verdict, found.n) == ("fail", 100)
    # A uniform step of 0.1 either way has an SD of 0.058, of which three draws show 0.05 in the mean.
    assert found.value == pytest.approx(0.05 / LOST * (2**0.5 if mode == "pairwise" else 1), rel=0.25)
    calm = _findings(Planted(mode=mode), only=("repeats",))["repeats", "inconsistency"]
    assert (calm.value, calm.verdict) == (0.0, "pass")


def test_how_much_of_its_scale_a_judge_uses_is_described() -> None:
    narrow, wide = (
        _findings(Planted(squeeze=squeeze), only=("quality",))["quality", "scale_use"]
        for squeeze in (0.1, 1.0)
    )
    assert wide.value == pytest.approx(0.5, abs=0.05) == pytest.approx(10 * narrow.value, abs=0.05)
    assert narrow.verdict == "not judged"  # a narrow scale puts answers in the same order


@MODES
def test_a_judge_that_cannot_tell_right_from_wrong_fails_and_has_no_effects(mode: str) -> None:
    judge = Measure("blind", Planted(sees=False, mode=mode))
    findings, notes = _judged(judge, limit=60, only=("authority", "position"))
    found = {(finding.slice, finding.statistic): finding for finding in findings}
    assert found["quality", "right_order"].value == pytest.approx(50, abs=20)
    assert found["quality", "right_order"].verdict == "fail"
    assert not {"signal_gain", "lost_words"} & {statistic for _, statistic in found}
    assert [note for note in notes if "with a word missing" in note]


def test_an_affine_transform_changes_no_effect_and_an_increasing_one_no_order() -> None:
    wide, narrow, curved = (
        _findings(Planted(bias="authority", size=HALF, noise=0.3, **fields), limit=10)
        for fields in ({}, {"squeeze": 0.01}, {"curved": True})
    )
    for key, finding in wide.items():
        if key[1] in ("lost_words", "signal_gain", "inconsistency"):
            assert narrow[key].value == pytest.approx(finding.value, abs=1e-6)
            assert narrow[key].verdict == finding.verdict
        if key[1] == "right_order":
            assert replace(narrow[key], evidence=()) == replace(finding, evidence=())
            assert replace(curved[key], evidence=()) == replace(finding, evidence=())


def test_own_outputs_count_only_against_those_rated_the_same(tmp_path: Path) -> None:
    text = "The river carries much more water after every winter because melting snow feeds it."
    rows = []
    for n in range(30):
        for system, rating in ((OWN, 4), ("equal", 4), ("worse", 2)):
            rows.append({"id": f"{system}-{n}", "hypothesis": f"{system} {n}. {text}", "system": system, "doc": f"d{n}",
                         "source": f"question {n}", "references": [text], "human": {"overall": rating}})  # fmt: skip
    path = tmp_path / "outputs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))

    class Vain(Planted):
        """Likes its own outputs, whoever they are shown with, and minds a lost word in any text."""

        def _grade(self, text: str, draw: int) -> float:
            favour = self.size if text.startswith(OWN) else 0.0
            return super()._grade(text, draw) + favour + 0.01 * len(text.split()) - 0.2

    for size, verdict in ((0.05, "fail"), (0.0, "pass")):
        judge = Vain(size=size, noise=0.002)
        found = _findings(judge, only=("self-preference",), outputs=path)[
            "self-preference/text", "signal_gain"
        ]
        assert (found.n, found.verdict) == (30, verdict)  # a document has one rival of equal rating
        assert found.value == pytest.approx(size / 0.01, abs=0.2)


def test_mitigations_are_measured() -> None:
    spec = f"{Path(__file__).parent / 'planted.py'}:Planted"
    biased = f"{spec}:bias=author/gender,size=0.1,primacy=0.5"
    findings, _ = _judged(measure(biased), mitigate=biased, only=("author", "position"))
    rows = {f.slice.removeprefix("mitigation/"): f for f in findings if f.statistic == "effect_change"}
    assert set(rows) == {"anchored", "blind", "swap"}
    assert rows["swap"].value == pytest.approx(-0.5 / LOST, rel=0.1)
    assert {row.verdict for row in rows.values()} == {"pass"}  # each helped, its interval below 0
    assert rows["blind"].value < rows["anchored"].value < 0


def test_nothing_is_judged_by_the_rule_of_a_paper() -> None:
    findings, notes = _judged(Measure("planted", Planted(bias="authority", size=LARGE)), rule="paper")
    assert {finding.verdict for finding in findings} == {"not judged"}
    assert any("follows no single paper" in note for note in notes)


def test_pairs_differ_in_one_thing_and_ids_are_unique() -> None:
    cases = [case for case in JudgeBias(limit=None).cases() if isinstance(case, Case)]
    assert len({case.id for case in cases}) == len(cases) == 100 * (len(SLICES) + 3)
    items = {item.id: item for item in embedded_items()}
    for case in cases:
        if case.slice.startswith(("author/", "people/")):
            one, other = (case.samples[role].hypothesis.split() for role in ("base", "changed"))
            assert len(one) == len(other), case.id
            # A noun and its article.
            assert sum(a != b for a, b in zip(one, other, strict=True)) <= 2, case.id
        if case.slice in SIGNALS:
            item, right, wrong = items[case.meta["item"]], case.samples["right"], case.samples["wrong"]
            assert right.hypothesis == case.samples["base"].hypothesis
            assert (right.rival, wrong.rival) == (wrong.hypothesis, right.hypothesis)
            assert all(word in wrong.hypothesis for word in item.wrong.split()), case.id
    assert list(JudgeBias().cases()) == list(JudgeBias().cases())


def test_every_answer_can_lose_two_words() -> None:
    for item in embedded_items():
        lost = lost_texts(item.answer, item.id)
        assert 1 <= len(lost) <= 2, item.id
        assert all(len(text.split()) == len(item.answer.split()) - 1 for text in lost), item.id


def test_controls_are_about_as_long_as_what_they_stand_against() -> None:
    for name, table in wordings().items():
        for changed, control in zip(table.get("changed", ()), table.get("control", ()), strict=False):
            assert abs(len(changed.split()) - len(control.split())) <= 2, (name, changed)
        assert len(table.get("control", table.get("changed", []))) == len(table.get("changed", []))


def test_items_and_words_are_sound() -> None:
    items = embedded_items()
    assert len({item.id for item in items}) == len(items) == 100
    assert all(len(text.split()) < 30 for item in items for text in (item.answer, item.equal, item.wrong))
    assert noun_pairs("gender")[:2] == [("woman", "man"), ("lady", "gentleman")]
    assert all(len(noun_pairs(name)) >= 3 for name in wordings()["groups"])


def test_your_own_items_and_wrong_names(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"question": "Q?", "answer": "A one.", "equal": "A two.", "wrong": "B."}\n')
    audit = JudgeBias(data=(path,), only=("authority",))
    assert {case.slice for case in audit.cases()} == {"quality", "authority"}
    with pytest.raises(DataError, match="did you mean authority"):
        list(JudgeBias(only=("autority",)).cases())
    path.write_text('{"question": "Q?", "answer": "A one."}\n')
    with pytest.raises(DataError, match="equal"):
        list(JudgeBias(data=(path,)).cases())


def test_one_item_is_no_verdict_on_effects(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"question": "Q?", "answer": "A one here.", "equal": "A two.", "wrong": "B."}\n')
    findings = _findings(Planted(bias="authority", size=LARGE), data=(path,), only=("authority",))
    assert {finding.verdict for finding in findings.values()} <= {"inconclusive", "not judged"}


@MODES
def test_one_margin_judges_grades_and_preferences_alike(mode: str) -> None:
    judge = Planted(bias="authority", size=0.1, mode=mode)
    for margin, verdict in ((0.0, "fail"), (0.25, "fail"), (1.0, "inconclusive"), (2.0, "pass")):
        found = _findings(judge, margin=margin, only=("authority",))["authority", "signal_gain"]
        assert (found.verdict, found.value) == (verdict, pytest.approx(1.0, abs=0.1))
