"""judge-bias against simulated judges: every bias found at its stated size, silence on a fair judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assay.api.pipeline import run
from assay.audits.judge_bias.audit import JudgeBias
from assay.audits.judge_bias.pairs import biases, embedded_items, noun_pairs, wordings
from assay.core import Case, Finding, Measure
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError

sys.path.insert(0, str(Path(__file__).parent))
from planted import OWN, Planted

SIZE = 0.25  # of the scale; half of the 0.5 between right and wrong answers
SEEDS = 10
SLICES = [bias.slice for bias in biases()]


def _findings(judge: Planted, **asked: object) -> dict[tuple[str, str], Finding]:
    audit = JudgeBias(**asked)  # type: ignore[arg-type]
    scored, _ = score_all(
        {"judge-bias": audit}, {"judge-bias": list(audit.cases())}, [Measure("planted", judge)], Session()
    )
    return {(f.slice, f.statistic): f for f in settle(audit, audit.judge(scored["judge-bias"]))}


@pytest.mark.parametrize("mode", ["pointwise", "pairwise"])
@pytest.mark.parametrize("slice_", [*SLICES, "self-preference/name"])
def test_a_known_bias_is_found(slice_: str, mode: str) -> None:
    """Power: at least 19 of 20 over both modes and all seeds; one seed in ten may be missed here."""
    hits = 0
    for seed in range(SEEDS):
        judge = Planted(bias=slice_, size=SIZE, mode=mode, seed=seed)
        findings = _findings(judge, only=(slice_.replace("/name", ""),))
        found, gap = findings[slice_, "judge_effect"], findings["quality", "quality_gap"].value
        hits += found.verdict == "fail" and found.p_value < 0.01
        assert found.n == 20
        assert found.value == pytest.approx(100 * SIZE / gap, abs=20)
    assert hits >= SEEDS - 1


@pytest.mark.parametrize("mode", ["pointwise", "pairwise"])
def test_a_fair_judge_raises_no_alarm(mode: str) -> None:
    failed, judged = [], 0
    for seed in range(SEEDS):
        found = _findings(Planted(mode=mode, seed=seed))
        failed += [
            (seed, key) for key, f in found.items() if f.verdict == "fail" and key[1] != "swap_consistency"
        ]
        judged += sum(f.verdict != "not judged" for f in found.values())
        assert "insensitive" not in {f.verdict for f in found.values()}
        assert found["quality", "quality_gap"].value == pytest.approx(0.5, abs=0.1)
    assert judged >= SEEDS * 24
    assert len(failed) <= 0.01 * judged, failed


def test_one_bias_is_not_taken_for_another() -> None:
    found = _findings(Planted(bias="authority", size=SIZE))
    assert [key for key, f in found.items() if f.verdict == "fail"] == [("authority", "judge_effect")]
    assert all(id_.startswith("authority/") for id_ in found["authority", "judge_effect"].evidence)


def test_a_dislike_of_padding_is_no_fault_but_of_lists_is() -> None:
    padding = _findings(Planted(bias="verbosity", size=-SIZE), only=("verbosity",))
    assert padding["verbosity", "judge_effect"].verdict == "pass"
    found = _findings(Planted(bias="style/list", size=-SIZE), only=("style",))
    assert found["style/list", "judge_effect"].verdict == "fail"
    assert found["style/list", "judge_effect"].value == pytest.approx(-50, abs=20)
    assert found["style/markdown", "judge_effect"].verdict != "fail"


def test_place_is_found_and_its_direction() -> None:
    for primacy in (0.6, -0.6):
        found = _findings(Planted(mode="pairwise", primacy=primacy), only=("position",))
        pull = found["position", "judge_effect"]
        assert pull.verdict == "fail"
        assert pull.value == pytest.approx(100 * primacy / found["quality", "quality_gap"].value)
        assert pull.versus == "first - second"
        assert found["position", "swap_consistency"].value < 0.2
        assert found["position", "swap_consistency"].verdict == "fail"
    fair = _findings(Planted(mode="pairwise"), only=("position",))
    assert fair["position", "judge_effect"].verdict == "pass"
    assert fair["position", "swap_consistency"].value == 1.0
    swapped = _findings(Planted(mode="pairwise", primacy=0.6, swap=True), only=("position",))
    assert swapped["position", "judge_effect"].value == pytest.approx(0.0, abs=1e-9)


def test_a_judge_that_grades_has_no_place_to_favour() -> None:
    assert not any(slice_ == "position" for slice_, _ in _findings(Planted()))


def test_restless_judges_are_found() -> None:
    for mode in ("pointwise", "pairwise"):
        found = _findings(Planted(mode=mode, jitter=0.3), only=("repeats",))["repeats", "inconsistency"]
        assert found.verdict == "fail"
        assert found.n == 20
        calm = _findings(Planted(mode=mode), only=("repeats",))["repeats", "inconsistency"]
        assert (calm.value, calm.verdict) == (0.0, "pass")


def test_a_judge_that_uses_little_of_its_scale_is_found() -> None:
    narrow = _findings(Planted(squeeze=0.1), only=("scale",))["scale", "scale_use"]
    assert narrow.verdict == "fail"
    assert narrow.value < 0.1
    wide = _findings(Planted(), only=("scale",))["scale", "scale_use"]
    assert wide.verdict == "pass"
    assert wide.value == pytest.approx(10 * narrow.value)


@pytest.mark.parametrize("mode", ["pointwise", "pairwise"])
def test_a_judge_that_cannot_tell_right_from_wrong_is_insensitive(mode: str) -> None:
    for seed in range(5):
        found = _findings(Planted(sees=False, seed=seed, mode=mode), only=("scale", "authority", "position"))
        verdicts = {key[1]: f.verdict for key, f in found.items()}
        assert verdicts.pop("quality_gap") == "not judged"
        assert set(verdicts.values()) == {"insensitive"}


def test_a_judge_on_a_narrow_scale_has_the_same_effects() -> None:
    wide, narrow = (_findings(Planted(bias="authority", size=SIZE, squeeze=squeeze)) for squeeze in (1, 0.01))
    for key, finding in wide.items():
        if key[1] == "judge_effect":
            assert narrow[key].value == pytest.approx(finding.value, abs=1e-6)
            assert narrow[key].verdict == finding.verdict


def test_own_outputs_count_only_against_those_rated_the_same(tmp_path: Path) -> None:
    rows = []
    for n in range(30):
        for system, rating in ((OWN, 4), ("equal", 4), ("worse", 2)):
            rows.append({"id": f"{system}-{n}", "hypothesis": f"{system} text {n}", "system": system, "doc": f"d{n}",
                         "source": f"question {n}", "references": ["a text"], "human": {"overall": rating}})  # fmt: skip
    path = tmp_path / "outputs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = _findings(Vain(size=0.3), only=("self-preference",), outputs=path)[
        "self-preference/text", "judge_effect"
    ]
    assert found.n == 30  # a document has one rival of equal rating
    assert found.verdict == "fail"
    assert found.value == pytest.approx(60, abs=20)  # 0.3 of a gap of 0.5
    fair = _findings(Vain(), only=("self-preference",), outputs=path)["self-preference/text", "judge_effect"]
    assert fair.verdict != "fail"


class Vain(Planted):
    """Likes its own outputs, whoever they are shown with."""

    def _grade(self, text: str, draw: int) -> float:
        return super()._grade(text, draw) + (self.size if text.startswith(OWN) else 0.0)


def test_mitigations_are_measured() -> None:
    spec = f"{Path(__file__).parent / 'planted.py'}:Planted"
    biased = f"{spec}:bias=author/gender,size=0.4,primacy=0.5"
    done = run(
        "judge-bias", [biased], session=Session.open(cache=None), mitigate=biased, only=("author", "position")
    )
    rows = {r["slice"]: r for r in done.findings.iter_rows(named=True) if r["statistic"] == "effect_change"}
    assert set(rows) == {"mitigation/anchored", "mitigation/blind", "mitigation/swap"}
    gaps = {r["metric"]: r["value"] for r in done.findings.filter(statistic="quality_gap").to_dicts()}
    swap = rows["mitigation/swap"]
    assert swap["value"] == pytest.approx(-100 * 0.5 / gaps[swap["versus"]])
    assert {row["verdict"] for row in rows.values()} == {"pass"}  # each helped, its interval below 0
    assert rows["mitigation/blind"]["value"] < rows["mitigation/anchored"]["value"] < 0


def test_pairs_differ_in_one_thing_and_ids_are_unique() -> None:
    cases = [case for case in JudgeBias(limit=None).cases() if isinstance(case, Case)]
    assert len({case.id for case in cases}) == len(cases) == 100 * (len(SLICES) + 3)
    for case in cases:
        if case.slice.startswith(("author/", "people/")):
            one, other = (case.samples[role].hypothesis.split() for role in ("base", "changed"))
            assert len(one) == len(other), case.id
            assert sum(a != b for a, b in zip(one, other, strict=True)) <= 2, (
                case.id
            )  # a noun and its article
    assert list(JudgeBias().cases()) == list(JudgeBias().cases())


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
    assert any("too few" in note for note in audit.judge([]).notes)
    with pytest.raises(DataError, match="did you mean authority"):
        list(JudgeBias(only=("autority",)).cases())
    path.write_text('{"question": "Q?", "answer": "A one."}\n')
    with pytest.raises(DataError, match="equal"):
        list(JudgeBias(data=(path,)).cases())


def test_one_margin_judges_grades_and_preferences_alike() -> None:
    effects = {}
    for mode in ("pointwise", "pairwise"):
        judge = Planted(bias="authority", size=0.3, mode=mode)
        for margin, verdict in ((0.0, "fail"), (10.0, "fail"), (200.0, "pass")):
            found = _findings(judge, margin=margin, only=("authority",))["authority", "judge_effect"]
            assert found.verdict == verdict, (mode, margin)
            assert found.ci is not None
            assert found.ci[0] <= found.value <= found.ci[1] < 100
        effects[mode] = found.value
    assert effects["pointwise"] == pytest.approx(effects["pairwise"])
