"""The checklist audit finds planted blindness, stays silent on a metric that sees, and does Eq. 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.audits.checklist.audit import Checklist
from assay.core import Case, Finding, Scored
from assay.datasets.records import embedded_records
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure

SLICE = "data-to-text/fluency/jumble"
HARMLESS = "data-to-text/invariance/rewording"
GAP = 4.0


@pytest.fixture(scope="module")
def audit() -> Checklist:
    return Checklist(task=("data-to-text", "image-captioning"))


def planted(
    cases: list[Case], change: Callable[[Case], float], *, metric: str = "planted", seed: int = 1
) -> Scored:
    """A metric with a gap of 4 whose scores change by this many percent of it, give or take 1 per item."""
    rng = np.random.default_rng(seed)
    level = {item: rng.normal() for item in dict.fromkeys(str(case.meta["item"]) for case in cases)}
    gold = np.array([level[str(case.meta["item"])] for case in cases])
    moved = np.array([change(case) for case in cases]) + rng.normal(size=gold.size)
    return Scored(
        metric, cases, {"gold": gold, "perturbed": gold + GAP * moved / 100, "worthless": gold - GAP}
    )


def judged(audit: Checklist, *scored: Scored) -> list[Finding]:
    return settle(audit, audit.judge(scored))


def of(findings: list[Finding], statistic: str) -> dict[str, Finding]:
    return {f.slice: f for f in findings if f.statistic == statistic}


def expected(case: Case) -> float:
    return 0.0 if case.meta["expect"] == "same" else -10.0


def test_a_metric_that_sees_is_never_failed(audit: Checklist) -> None:
    findings = judged(audit, planted(list(audit.cases()), expected))
    changes = of(findings, "score_change")
    assert len(changes) > 40
    assert not [f.slice for f in findings if f.verdict == "fail"]
    enough = [f for f in changes.values() if f.n >= 10]
    assert {f.verdict for f in enough} == {"pass"}
    for finding in enough:
        assert finding.value == pytest.approx(0 if "invariance" in finding.slice else -10, abs=1.5)
    assert of(findings, "noticed")[SLICE].value > 0.99


def test_planted_blindness_is_found_and_nothing_else(audit: Checklist) -> None:
    def deaf_to_jumbling(case: Case) -> float:
        return 0.0 if case.meta["template"] == "jumble" else expected(case)

    findings = judged(audit, planted(list(audit.cases()), deaf_to_jumbling))
    failed = {f.slice for f in findings if f.verdict == "fail"}
    assert failed == {SLICE, "image-captioning/fluency/jumble"}


def test_a_score_that_rises_is_said_to_rise(audit: Checklist) -> None:
    findings = judged(audit, planted(list(audit.cases()), lambda case: 15.0))
    changes = of(findings, "score_change")
    value = changes[SLICE].value
    assert value == pytest.approx(15, abs=0.5)
    assert (
        changes[SLICE].sentence
        == f"planted rewards jumbled words in data-to-text: its score rises by {value:.3g}% of the gap."
    )
    assert (
        "should not matter in data-to-text, yet the score of planted rises by" in changes[HARMLESS].sentence
    )
    assert of(findings, "noticed")[SLICE].value == 0.0


def test_a_broken_invariance_is_found(audit: Checklist) -> None:
    def shy_of_rewording(case: Case) -> float:
        return -10.0 if case.meta["template"] == "rewording" else expected(case)

    findings = judged(audit, planted(list(audit.cases()), shy_of_rewording))
    failed = {f.slice for f in findings if f.verdict == "fail"}
    assert failed == {HARMLESS, "image-captioning/invariance/rewording"}
    assert of(findings, "score_change")[HARMLESS].value == pytest.approx(-10, abs=0.5)


def test_power_and_false_alarms() -> None:
    """Twenty planted metrics that fall by 3% of the gap are seen to; those that do not fall are failed."""
    audit = Checklist(task=("data-to-text",), only=("jumble", "rewording"))
    cases = list(audit.cases())
    seen, missed, alarms = 0, 0, 0
    for seed in range(20):
        sees = of(judged(audit, planted(cases, lambda c: 0.3 * expected(c), seed=seed)), "score_change")
        blind = of(judged(audit, planted(cases, lambda c: 0.0, seed=seed)), "score_change")
        seen += sees[SLICE].verdict == "pass"
        missed += blind[SLICE].verdict == "fail"
        alarms += blind[HARMLESS].verdict == "fail"
    assert seen >= 19
    assert missed >= 19
    assert alarms == 0


def test_a_perfect_metric_has_the_same_verdicts_on_any_scale(audit: Checklist) -> None:
    """Clean texts that all score alike leave no spread to divide by, but a gap."""
    cases = list(audit.cases())
    changed = np.array([1 + expected(case) / 20 for case in cases])
    values = {"gold": np.ones(len(cases)), "perturbed": changed, "worthless": np.zeros(len(cases))}
    verdicts = []
    for factor, shift in ((1.0, 0.0), (100.0, 0.0), (0.01, -5.0)):
        scores = {role: factor * column + shift for role, column in values.items()}
        changes = of(judged(audit, Scored("perfect", cases, scores)), "score_change")
        verdicts.append({slice_: finding.verdict for slice_, finding in changes.items()})
        assert changes[SLICE].value == pytest.approx(-50)
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert set(verdicts[0].values()) == {"pass", "not judged"}


def test_constants_and_random_numbers_are_insensitive(audit: Checklist) -> None:
    cases = list(audit.cases())
    rng = np.random.default_rng(4)
    roles = ("gold", "perturbed", "worthless")
    constant = Scored("constant", cases, {role: np.full(len(cases), 0.3) for role in roles})
    by_text = {s: rng.normal() for s in {s for case in cases for s in case.samples.values()}}
    noise = {role: np.array([by_text[case.samples[role]] for case in cases]) for role in roles}
    findings = judged(audit, constant, Scored("noise", cases, noise))
    for metric in ("constant", "noise"):
        verdicts = {f.verdict for f in findings if f.metric == metric}
        assert verdicts == {"insensitive", "not judged"}


@pytest.mark.parametrize("spec", ["bleu-1", "embedding-average"])
def test_bags_of_words_do_not_notice_jumbling(spec: str) -> None:
    audit = Checklist(only=("jumble",), task=("data-to-text", "image-captioning"), limit=20)
    scored = score_cases(measure(spec), {"checklist": list(audit.cases())}, Session())["checklist"]
    findings = judged(audit, scored)
    for name in (SLICE, "image-captioning/fluency/jumble"):
        assert of(findings, "score_change")[name].value == pytest.approx(0.0, abs=1e-4)
        assert of(findings, "score_change")[name].verdict == "fail"
        assert of(findings, "noticed")[name].value == pytest.approx(0.5, abs=0.1)


def two_cases() -> tuple[Checklist, list[Case]]:
    audit = Checklist(only=("jumble",), task=("data-to-text",), limit=2)
    return audit, list(audit.cases())


# Clean texts score 4 above worthless ones; the falls are 1/4 and 3/4 of that.
BY_HAND = {
    "gold": np.array([4.0, 3.0]),
    "perturbed": np.array([3.0, 0.0]),
    "worthless": np.array([0.0, -1.0]),
}


def test_equation_one_by_hand() -> None:
    audit, cases = two_cases()  # jumbling has our severity 8
    scored = Scored("m", cases, BY_HAND)
    findings = judged(audit, scored)
    signed = of(findings, "human_deviation")[SLICE]
    assert signed.value == pytest.approx((-0.8 + 0.25 - 0.8 + 0.75) / 2)
    assert signed.verdict == "not judged"
    assert of(findings, "absolute_human_deviation")[SLICE].value == pytest.approx((0.55 + 0.05) / 2)
    assert any("not on people's penalties" in note for note in audit.judge([scored]).notes)
    change = of(findings, "score_change")[SLICE]
    assert (change.value, change.verdict) == (pytest.approx(-50.0), "not judged")
    assert change.p_value is None  # two items allow none below .05
    assert of(findings, "applied_share")[SLICE].value == 1.0


def test_the_deviation_of_a_template_does_not_depend_on_the_others() -> None:
    """Eq. 1 divides by the gap, never by the range of whatever else was run."""
    alone = Checklist(task=("data-to-text",), only=("jumble",))
    beside = Checklist(task=("data-to-text",), only=("jumble", "rewording", "negate", "random-text"))
    values = []
    for audit in (alone, beside):
        scored = score_cases(measure("rougeL"), {"checklist": list(audit.cases())}, Session())["checklist"]
        findings = judged(audit, scored)
        values.append([of(findings, name)[SLICE].value for name in ("human_deviation", "score_change")])
    assert values[0] == values[1]


def test_penalties_of_people_by_item_and_by_template(tmp_path: Path) -> None:
    _, cases = two_cases()
    items = [case.meta["item"] for case in cases]
    file = tmp_path / "people.jsonl"
    file.write_text(
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[0]}", "penalty": [1, 3]}}\n'
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[1]}", "penalty": 8}}\n'
    )
    scored = Scored("m", cases, BY_HAND)
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
    found = of(judged(audit, planted(list(audit.cases()), lambda _: -0.5)), "score_change")
    assert found[SLICE].verdict == "pass"
    assert found[HARMLESS].verdict == "fail"


def test_profile() -> None:
    audit = Checklist(only=("jumble", "siblings"), task=("data-to-text",))
    cases = list(audit.cases())
    hears = planted(cases, lambda c: -20.0 * (c.meta["template"] == "jumble"), metric="ear", seed=2)
    reads = planted(cases, lambda c: -30.0 * (c.meta["template"] == "siblings") + 10, metric="eye", seed=3)
    findings = judged(audit, hears, reads)
    profile = {(f.metric, f.slice): f.value for f in findings if f.statistic == "criterion_noticed"}
    assert profile["ear", "fluency"] == 1.0
    assert profile["eye", "fluency"] == 0.0
    assert profile["eye", "correctness"] == 1.0


def test_sets_are_judged_by_their_resamples() -> None:
    audit = Checklist(only=("random-text", "jumble"), task=("data-to-text",))
    scored = score_cases(measure("bleu:level=corpus"), {"checklist": list(audit.cases())}, Session())[
        "checklist"
    ]
    found = of(judged(audit, scored), "score_change")
    replaced = found["data-to-text/relevance/random-text"]
    assert replaced.verdict == "pass"
    assert -110 < replaced.value < -50
    assert replaced.n == 101


def test_absent_scores_are_left_out() -> None:
    audit = Checklist(only=("jumble",), task=("data-to-text",), limit=3)
    cases = list(audit.cases())
    values = {"gold": np.array([4.0, np.nan, 2.0]), "perturbed": np.array([3.0, 0.0, 0.0])}
    assert of(judged(audit, Scored("m", cases, values)), "score_change")[SLICE].n == 2
    silent = Scored("m", cases, {"gold": np.full(3, np.nan), "perturbed": np.zeros(3)})
    assert judged(audit, silent) == []


def test_cases_are_deterministic_and_an_alternative_leaves_the_references() -> None:
    one = list(Checklist(task=("translation",), limit=10).cases())
    two = list(Checklist(task=("translation",), limit=10).cases())
    assert one == two
    records = {record.id: record for record in embedded_records("translation")}
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
