"""The checklist audit finds planted blindness, stays silent on a metric that sees, and does Eq. 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.audits.checklist.audit import Checklist
from assay.core import Case, Finding, Scored
from assay.datasets.records import embedded_records
from assay.errors import DataError
from assay.names.spec import measure
from assay.run.scoring import score_cases
from assay.run.session import Session
from assay.run.settle import settle

SLICE = "data-to-text/fluency/jumble"


@pytest.fixture(scope="module")
def audit() -> Checklist:
    return Checklist(task=("data-to-text", "image-captioning"))


def planted(
    cases: list[Case], change: Callable[[Case], float], *, metric: str = "planted", seed: int = 1
) -> Scored:
    """A metric whose unperturbed scores have spread 1 by item, changed by this much and a little noise."""
    rng = np.random.default_rng(seed)
    level = {item: rng.normal() for item in dict.fromkeys(str(case.meta["item"]) for case in cases)}
    gold = np.array([level[str(case.meta["item"])] for case in cases])
    moved = np.array([change(case) for case in cases])
    return Scored(
        metric, cases, {"gold": gold, "perturbed": gold + moved + 0.05 * rng.normal(size=gold.size)}
    )


def judged(audit: Checklist, *scored: Scored) -> list[Finding]:
    return settle(audit, audit.judge(scored))


def of(findings: list[Finding], statistic: str) -> dict[str, Finding]:
    return {f.slice: f for f in findings if f.statistic == statistic}


def expected(case: Case) -> float:
    return 0.0 if case.meta["expect"] == "same" else -1.0


def test_a_metric_that_sees_is_never_failed(audit: Checklist) -> None:
    findings = judged(audit, planted(list(audit.cases()), expected))
    changes = of(findings, "score_change")
    assert len(changes) > 40
    assert not [f.slice for f in findings if f.passed is False]
    enough = [f for f in changes.values() if f.n >= 10]
    assert all(f.passed for f in enough)
    assert 0.7 < np.mean([abs(f.value) for f in enough if f.slice.split("/")[1] != "invariance"]) < 1.4


def test_planted_blindness_is_found_and_nothing_else(audit: Checklist) -> None:
    def deaf_to_jumbling(case: Case) -> float:
        return 0.0 if case.meta["template"] == "jumble" else expected(case)

    findings = judged(audit, planted(list(audit.cases()), deaf_to_jumbling))
    failed = {f.slice for f in findings if f.statistic == "score_change" and f.passed is False}
    assert failed == {SLICE, "image-captioning/fluency/jumble"}


def test_a_score_that_rises_is_said_to_rise(audit: Checklist) -> None:
    findings = judged(audit, planted(list(audit.cases()), lambda case: 1.5))
    changes, rates = of(findings, "score_change"), of(findings, "pass_rate")
    assert changes[SLICE].sentence.startswith(
        "planted hardly notices “jumble” in data-to-text: its score rises by 1."
    )
    harmless = changes["data-to-text/invariance/rewording"]
    assert (
        "changes nothing that matters in data-to-text, yet the score of planted rises by" in harmless.sentence
    )
    assert (
        rates[SLICE].sentence
        == "Under “jumble” in data-to-text, the score of planted falls on only 0% of items."
    )


def test_a_broken_invariance_is_found(audit: Checklist) -> None:
    def shy_of_rewording(case: Case) -> float:
        return -1.0 if case.meta["template"] == "rewording" else expected(case)

    findings = judged(audit, planted(list(audit.cases()), shy_of_rewording))
    for statistic in ("score_change", "pass_rate"):
        failed = {s for s, f in of(findings, statistic).items() if f.passed is False}
        assert failed == {"data-to-text/invariance/rewording", "image-captioning/invariance/rewording"}
    assert of(findings, "pass_rate")["data-to-text/invariance/rewording"].value < 0.1


def test_power_and_false_alarms() -> None:
    """Twenty planted metrics at three margins of fall: found each time; at none: failed each time."""
    audit = Checklist(task=("data-to-text",), only=("jumble", "rewording"))
    cases = list(audit.cases())
    seen, missed, alarms = 0, 0, 0
    for seed in range(20):
        sees = of(judged(audit, planted(cases, lambda c: 0.3 * expected(c), seed=seed)), "score_change")
        blind = of(judged(audit, planted(cases, lambda c: 0.0, seed=seed)), "score_change")
        seen += sees[SLICE].passed is True
        missed += blind[SLICE].passed is False
        alarms += blind["data-to-text/invariance/rewording"].passed is False
    assert seen >= 19
    assert missed >= 19
    assert alarms == 0


@pytest.mark.parametrize("spec", ["bleu-1", "embedding-average"])
def test_bags_of_words_do_not_notice_jumbling(spec: str) -> None:
    audit = Checklist(only=("jumble",), task=("data-to-text", "image-captioning"), limit=20)
    scored = score_cases(measure(spec), {"checklist": list(audit.cases())}, Session())["checklist"]
    findings = judged(audit, scored)
    for name in (SLICE, "image-captioning/fluency/jumble"):
        assert of(findings, "score_change")[name].value == pytest.approx(0.0, abs=1e-6)
        assert of(findings, "score_change")[name].passed is False
        assert of(findings, "pass_rate")[name].value == 0.0


def two_cases() -> tuple[Checklist, list[Case]]:
    audit = Checklist(only=("jumble",), task=("data-to-text",), limit=2)
    return audit, list(audit.cases())


def test_equation_one_by_hand() -> None:
    audit, cases = two_cases()
    # The scores reach from 0 to 4; the falls are 1/4 and 3/4 of that. Jumbling has our severity 8.
    scored = Scored("m", cases, {"gold": np.array([4.0, 3.0]), "perturbed": np.array([3.0, 0.0])})
    findings = judged(audit, scored)
    signed = of(findings, "human_deviation")[SLICE]
    assert signed.value == pytest.approx((-0.8 + 0.25 - 0.8 + 0.75) / 2)
    assert signed.passed is None
    assert of(findings, "absolute_human_deviation")[SLICE].value == pytest.approx((0.55 + 0.05) / 2)
    assert any("not on people's penalties" in note for note in audit.judge([scored]).notes)
    change = of(findings, "score_change")[SLICE]
    assert change.value == pytest.approx(-2.0 / np.std([4.0, 3.0], ddof=1))
    assert of(findings, "applied_share")[SLICE].value == 1.0


def test_penalties_of_people_by_item_and_by_template(tmp_path: Path) -> None:
    _, cases = two_cases()
    items = [case.meta["item"] for case in cases]
    file = tmp_path / "people.jsonl"
    file.write_text(
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[0]}", "penalty": [1, 3]}}\n'
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[1]}", "penalty": 8}}\n'
    )
    scored = Scored("m", cases, {"gold": np.array([4.0, 3.0]), "perturbed": np.array([3.0, 0.0])})
    careful = Checklist(only=("jumble",), task=("data-to-text",), limit=2, human=file)
    paper = Checklist(only=("jumble",), task=("data-to-text",), limit=2, human=file, rule="paper")
    by_item = of(judged(careful, scored), "absolute_human_deviation")[SLICE].value
    by_template = of(judged(paper, scored), "absolute_human_deviation")[SLICE].value
    assert by_item == pytest.approx((abs(-0.2 + 0.25) + abs(-0.8 + 0.75)) / 2)
    assert by_template == pytest.approx((abs(-0.4 + 0.25) + abs(-0.4 + 0.75)) / 2)
    assert careful.judge([scored]).notes == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"task": "data-to-text", "template": "jumbel", "penalty": 3}', "did you mean jumble"),
        ('{"task": "data-to-text", "template": "jumble", "penalty": 11}', "from 0 to 10"),
        ('{"task": "data-to-text", "template": "jumble", "penalty": ["x"]}', "line 1"),
        ('{"task": "data-to-text", "template": "jumble"}', "penalty"),
        ('{"template": "jumble", "penalty": 3}', "column 'task' is missing"),
    ],
)
def test_bad_penalties_say_where(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text(line + "\n")
    _, cases = two_cases()
    scored = Scored("m", cases, {"gold": np.zeros(2), "perturbed": np.zeros(2)})
    with pytest.raises(DataError, match=says):
        Checklist(only=("jumble",), task=("data-to-text",), limit=2, human=file).judge([scored])


def test_the_papers_rule_reads_the_sign_of_the_mean() -> None:
    audit = Checklist(only=("jumble", "rewording"), task=("data-to-text",), rule="paper")
    found = of(judged(audit, planted(list(audit.cases()), lambda _: -0.02)), "score_change")
    assert found[SLICE].passed is True
    assert found["data-to-text/invariance/rewording"].passed is False


def test_profile_and_complement() -> None:
    audit = Checklist(only=("jumble", "siblings"), task=("data-to-text",))
    cases = list(audit.cases())
    hears = planted(cases, lambda c: -2.0 * (c.meta["template"] == "jumble") + 1e-3, metric="ear", seed=2)
    reads = planted(cases, lambda c: -2.0 * (c.meta["template"] == "siblings") + 0.5, metric="eye", seed=3)
    findings = judged(audit, hears, reads)
    profile = {(f.metric, f.slice): f.value for f in findings if f.statistic == "criterion_pass_rate"}
    assert profile["ear", "fluency"] == 1.0
    assert profile["eye", "fluency"] == 0.0
    assert profile["eye", "correctness"] == 1.0
    gain = next(f for f in findings if f.statistic == "complement_gain")
    assert (gain.metric, gain.versus) == ("ear", "eye")
    jumbled = sum(case.meta["template"] == "jumble" for case in cases)
    assert 0 < gain.value <= 1 - jumbled / len(cases)
    assert gain.evidence


def test_sets_are_judged_by_their_resamples() -> None:
    audit = Checklist(only=("random-text", "jumble"), task=("data-to-text",))
    scored = score_cases(measure("bleu:level=corpus"), {"checklist": list(audit.cases())}, Session())[
        "checklist"
    ]
    found = of(judged(audit, scored), "score_change")
    replaced = found["data-to-text/relevance/random-text"]
    assert replaced.passed is True
    assert replaced.value < -1
    assert replaced.n == 101


def test_absent_scores_are_left_out() -> None:
    audit, cases = two_cases()
    scored = Scored("m", cases, {"gold": np.array([4.0, np.nan]), "perturbed": np.array([3.0, 0.0])})
    assert of(judged(audit, scored), "score_change")[SLICE].n == 1
    silent = Scored("m", cases, {"gold": np.full(2, np.nan), "perturbed": np.zeros(2)})
    assert judged(audit, silent) == []


def test_cases_are_deterministic_and_an_alternative_leaves_the_references() -> None:
    one = list(Checklist(task=("dialogue",), limit=10).cases())
    two = list(Checklist(task=("dialogue",), limit=10).cases())
    assert one == two
    records = {record.id: record for record in embedded_records("dialogue")}
    swapped = [case for case in one if case.meta["template"] == "alternative-reference"]
    assert len(swapped) >= 5
    for case in swapped:
        gold, other = case.samples["gold"], case.samples["perturbed"]
        known = records[case.meta["item"]].references
        assert other.hypothesis in known
        assert gold.hypothesis not in known
        assert gold.references == other.references == tuple(r for r in known if r != other.hypothesis)
        assert other.references
    assert len({case.id for case in one}) == len(one)


def test_your_own_data_and_wrong_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    rows = [
        '{"id": "same", "gold": "The old man is asleep.", "references": ["An old man sleeps."], "task": "translation"}'
    ] * 2
    file.write_text("\n".join(rows) + "\n")
    cases = list(Checklist(data=(file,), only=("negate",)).cases())
    assert [case.samples["perturbed"].hypothesis for case in cases] == ["The old man is not asleep."] * 2
    assert [case.id for case in cases] == [
        "translation/adequacy/negate/same",
        "translation/adequacy/negate/same#2",
    ]
    with pytest.raises(DataError, match="did you mean negate"):
        list(Checklist(only=("negat",)).cases())
    with pytest.raises(DataError, match="unknown criterion"):
        list(Checklist(criterion=("fluensy",)).cases())
