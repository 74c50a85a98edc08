"""The checklist audit finds planted blindness, stays silent on a metric that sees, and does Eq. 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

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


@pytest.fixture(scope="module")
def audit() -> Checklist:
    return Checklist(task=("data-to-text", "image-captioning"), limit=60)


def planted(
    cases: list[Case], fall: Callable[[Case], float], *, metric: str = "planted", seed: int = 1
) -> Scored:
    """A metric whose scores fall by so many standard deviations of its noise."""
    rng = np.random.default_rng(seed)
    level = {item: 5 * rng.normal() for item in dict.fromkeys(str(case.meta["item"]) for case in cases)}
    gold = np.array([level[str(case.meta["item"])] for case in cases])
    falls = np.array([fall(case) for case in cases])
    noise = rng.normal(size=(2, gold.size))
    is_reworded = np.array(["reworded" in case.samples for case in cases])
    sound = np.where(is_reworded, gold + noise[1] - 1, np.nan)
    return Scored(metric, cases, {"gold": gold, "perturbed": gold - falls + noise[0], "reworded": sound})


def judged(audit: Checklist, *scored: Scored) -> list[Finding]:
    return settle(audit, audit.judge(scored))


def of(findings: list[Finding], statistic: str) -> dict[str, Finding]:
    return {f.slice: f for f in findings if f.statistic == statistic}


def expected(case: Case) -> float:
    return 0.0 if case.meta["expect"] == "same" else 4.0


def test_a_metric_that_sees_is_never_failed(audit: Checklist) -> None:
    findings = judged(audit, planted(list(audit.cases()), expected))
    orders = of(findings, "right_order")
    assert len(orders) > 30
    assert not [f.slice for f in findings if f.verdict == "fail"]
    assert {f.verdict for f in orders.values() if f.n >= 15} == {"pass"}
    assert all(finding.value > 90 for finding in orders.values() if finding.n >= 15)
    assert not [slice_ for slice_ in orders if "invariance" in slice_]  # no text there is the better one
    assert of(findings, "mean_right_order")["all/meaning"].value > 95


def test_planted_blindness_is_found_and_nothing_else(audit: Checklist) -> None:
    def deaf_to_jumbling(case: Case) -> float:
        return 0.0 if case.meta["template"] == "jumble" else expected(case)

    findings = judged(audit, planted(list(audit.cases()), deaf_to_jumbling))
    failed = {f.slice for f in findings if f.verdict == "fail"}
    assert failed == {SLICE, "image-captioning/fluency/jumble"}
    row = of(findings, "right_order")[SLICE]
    assert row.value == pytest.approx(50, abs=12)
    assert row.sentence == (
        f"planted prefers a clean text (data-to-text) to one with jumbled words in only {row.value:.0f} of "
        "100 cases."
    )
    assert len(row.evidence) == 5
    means = of(findings, "mean_right_order")
    assert means["all/form"].value < means["all/meaning"].value - 2


def test_a_metric_that_rewards_an_error_is_said_to_prefer_it(audit: Checklist) -> None:
    row = of(judged(audit, planted(list(audit.cases()), lambda case: -4.0)), "right_order")[SLICE]
    assert row.value < 5
    assert row.sentence.startswith(
        "planted prefers one with jumbled words to a clean text (data-to-text) in "
    )


def test_power_and_false_alarms() -> None:
    """Of twenty metrics that see four falls in five, none is failed; of twenty that are blind, all are."""
    audit = Checklist(task=("data-to-text",), only=("jumble",))
    cases = list(audit.cases())

    def verdicts(fall: float) -> list[str]:
        scored = [planted(cases, lambda case: fall, seed=seed) for seed in range(20)]
        return [of(judged(audit, one), "right_order")[SLICE].verdict for one in scored]

    sees, blind = verdicts(1.2), verdicts(0.0)
    assert "fail" not in sees
    assert blind.count("fail") >= 19


@pytest.mark.parametrize("name", ["exp", "cube root", "times a million", "ranks"])
def test_an_increasing_transform_changes_nothing_but_scores(audit: Checklist, name: str) -> None:
    plain = planted(list(audit.cases()), lambda case: 1.0)
    columns = np.stack([column.round(6) for column in plain.values.values()])
    transforms: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "exp": np.exp,
        "cube root": np.cbrt,
        "times a million": lambda scores: 1e6 * scores,
        "ranks": lambda scores: rankdata(scores, axis=None, nan_policy="omit").reshape(scores.shape),
    }
    told = []
    for table in (columns, transforms[name](columns)):
        values = dict(zip(plain.values, table, strict=True))
        findings = judged(audit, Scored("planted", plain.cases, values))
        told.append([f for f in findings if "deviation" not in f.statistic])
    assert told[0] == told[1]


def test_constants_and_random_numbers_are_coins(audit: Checklist) -> None:
    cases = list(audit.cases())
    roles = ("gold", "perturbed", "reworded")
    constant = Scored("constant", cases, {role: np.full(len(cases), 0.3) for role in roles})
    rng = np.random.default_rng(4)
    noise = Scored("noise", cases, {role: rng.normal(size=len(cases)) for role in roles})
    findings = judged(audit, constant, noise)
    shares = {
        "right_order", "right_order_reworded", "mean_right_order", "mean_right_order_reworded",
        "criterion_order", "criteria_apart",
    }  # fmt: skip
    own = [f for f in findings if f.metric == "constant" and f.statistic in shares]
    assert len(own) > 60
    assert {f.value for f in own} == {50.0}
    verdicts = [f.verdict for f in findings if f.statistic == "right_order" and f.n >= 25]
    assert verdicts.count("fail") >= 0.9 * len(verdicts)
    assert "pass" not in verdicts


def test_a_rewording_must_beat_an_error_of_its_size(audit: Checklist) -> None:
    """The planted metric takes rewordings for something worse than jumbled words."""
    cases = list(audit.cases())
    scored = planted(cases, lambda case: 0.5 * expected(case))
    harsh = {**scored.values, "reworded": scored.values["reworded"] - 5}
    with_rewording = {case.slice for case in cases if "reworded" in case.samples}
    findings = judged(audit, Scored("planted", cases, harsh))
    reworded = of(findings, "right_order_reworded")
    assert with_rewording == reworded.keys()
    assert all(finding.value < 30 for finding in reworded.values() if finding.n > 10)
    assert {finding.verdict for finding in reworded.values()} == {"not judged"}
    assert of(findings, "mean_right_order_reworded")["all/meaning"].value < 25
    assert of(findings, "mean_right_order")["all/meaning"].value > 75


@pytest.mark.parametrize("spec", ["bleu-1", "embedding-average"])
def test_bags_of_words_do_not_notice_jumbling(spec: str) -> None:
    audit = Checklist(only=("jumble",), task=("data-to-text", "image-captioning"), limit=40)
    scored = score_cases(measure(spec), {"checklist": list(audit.cases())}, Session())["checklist"]
    for row in of(judged(audit, scored), "right_order").values():
        assert row.value == pytest.approx(50, abs=5)
        assert row.verdict == "fail"


def two_cases(**options: object) -> tuple[Checklist, list[Case]]:
    audit = Checklist(only=("jumble",), task=("data-to-text",), limit=2, **options)  # type: ignore[arg-type]
    return audit, list(audit.cases())


BY_HAND = {"gold": np.array([0.9, 0.7]), "perturbed": np.array([0.65, 0.0])}


def test_equation_one_by_hand() -> None:
    audit, cases = two_cases()  # jumbling has our severity 8
    scored = Scored("m", cases, BY_HAND)
    findings = judged(audit, scored)
    signed = of(findings, "human_deviation")[SLICE]
    assert signed.value == pytest.approx((-0.8 + 0.25 - 0.8 + 0.7) / 2)
    assert signed.verdict == "not judged"
    assert of(findings, "absolute_human_deviation")[SLICE].value == pytest.approx((0.55 + 0.1) / 2)
    assert any("not on people's penalties" in note for note in audit.judge([scored]).notes)
    assert of(findings, "applied_share")[SLICE].value == 1.0


def test_equation_one_is_for_scores_from_0_to_1() -> None:
    _, cases = two_cases()
    audit, _ = two_cases()
    percent = {role: 100 * column for role, column in BY_HAND.items()}
    assert not of(judged(audit, Scored("m", cases, percent)), "human_deviation")


def test_penalties_of_people_by_item_and_by_template(tmp_path: Path) -> None:
    _, cases = two_cases()
    items = [case.meta["item"] for case in cases]
    file = tmp_path / "people.jsonl"
    file.write_text(
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[0]}", "penalty": [1, 3]}}\n'
        f'{{"task": "data-to-text", "template": "jumble", "item": "{items[1]}", "penalty": 8}}\n'
    )
    scored = Scored("m", cases, BY_HAND)
    careful, _ = two_cases(human=file)
    paper, _ = two_cases(human=file, rule="paper")
    by_item = of(judged(careful, scored), "absolute_human_deviation")[SLICE].value
    by_template = of(judged(paper, scored), "absolute_human_deviation")[SLICE].value
    assert by_item == pytest.approx((abs(-0.2 + 0.25) + abs(-0.8 + 0.7)) / 2)
    assert by_template == pytest.approx((abs(-0.4 + 0.25) + abs(-0.4 + 0.7)) / 2)
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
    audit, cases = two_cases(human=file)
    with pytest.raises(DataError, match=says):
        audit.judge([Scored("m", cases, {"gold": np.zeros(2), "perturbed": np.zeros(2)})])


def test_the_papers_rule_reads_the_sign_of_the_mean() -> None:
    audit = Checklist(only=("jumble", "rewording"), task=("data-to-text",), rule="paper")
    cases = list(audit.cases())
    for fall, verdicts in ((0.5, ("pass", "fail")), (-0.5, ("fail", "pass")), (0.0, ("fail", "pass"))):
        values = {"gold": np.ones(len(cases)), "perturbed": np.full(len(cases), 1 - fall)}
        found = judged(audit, Scored("m", cases, values))
        rows = of(found, "mean_change")[SLICE], of(found, "mean_kept")[HARMLESS]
        assert tuple(row.verdict for row in rows) == verdicts
        assert [row.value for row in rows] == pytest.approx([-fall, -fall])


def test_what_a_metric_tells_apart() -> None:
    """One hears jumbled words and overlooks changed facts; the other the reverse."""
    audit = Checklist(only=("jumble", "negate", "siblings"), task=("data-to-text",))
    cases = list(audit.cases())
    hears = planted(cases, lambda case: 6.0 * (case.meta["aspect"] == "form"), metric="ear", seed=2)
    reads = planted(cases, lambda case: 6.0 * (case.meta["aspect"] == "meaning"), metric="eye", seed=3)
    findings = judged(audit, hears, reads)
    criteria = {(f.metric, f.slice): f.value for f in findings if f.statistic == "criterion_order"}
    assert criteria["ear", "fluency"] > 95
    assert criteria["eye", "fluency"] < 75
    apart = {f.metric: f for f in findings if f.statistic == "criteria_apart"}
    assert apart["ear"].value < 5
    assert apart["eye"].value > 95
    assert apart["eye"].ci is not None


def test_sets_are_judged_by_their_resamples() -> None:
    audit = Checklist(only=("random-text", "jumble"), task=("data-to-text",))
    scored = score_cases(measure("bleu:level=corpus"), {"checklist": list(audit.cases())}, Session())[
        "checklist"
    ]
    replaced = of(judged(audit, scored), "right_order")["data-to-text/relevance/random-text"]
    assert (replaced.value, replaced.verdict) == (100, "pass")
    assert replaced.n == 101


def test_absent_scores_are_left_out() -> None:
    audit = Checklist(only=("jumble",), task=("data-to-text",), limit=3)
    cases = list(audit.cases())
    values = {"gold": np.array([4.0, np.nan, 2.0]), "perturbed": np.array([3.0, 0.0, 0.0])}
    assert of(judged(audit, Scored("m", cases, values)), "right_order")[SLICE].n == 2
    silent = Scored("m", cases, {"gold": np.full(3, np.nan), "perturbed": np.zeros(3)})
    assert judged(audit, silent) == []


def test_one_reference_is_held_out_the_same_for_every_text_of_an_item() -> None:
    cases = list(Checklist(task=("translation",), limit=10).cases())
    assert cases == list(Checklist(task=("translation",), limit=10).cases())
    records = {record.id: record for record in embedded_records("translation")}
    several = [case for case in cases if len(records[case.meta["item"]].references) > 1]
    assert len(several) >= 10
    by_item: dict[str, set[tuple[str, ...]]] = {}
    for case in several:
        (references,) = {sample.references for sample in case.samples.values()}
        assert len(references) <= 1
        by_item.setdefault(case.meta["item"], set()).add(references)
    assert all(len(references - {()}) == 1 for references in by_item.values())
    assert len({case.id for case in cases}) == len(cases)


def test_by_the_papers_rule_an_alternative_leaves_the_references() -> None:
    cases = list(Checklist(task=("translation",), limit=10, rule="paper").cases())
    records = {record.id: record for record in embedded_records("translation")}
    swapped = [case for case in cases if case.meta["template"] == "alternative-reference"]
    assert len(swapped) >= 5
    for case in swapped:
        gold, other = case.samples["gold"], case.samples["perturbed"]
        known = records[case.meta["item"]].references
        assert other.hypothesis in known
        assert gold.references == other.references == tuple(r for r in known if r != other.hypothesis)
        assert other.references


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
