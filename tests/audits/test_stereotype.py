"""The stereotype audit: planted penalties in crossed contexts, a user's own pairs, and the paper's figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay.audits.stereotype.audit import LOST, PAIR, Stereotype
from assay.audits.stereotype.bias import _eta_squared, across_metrics
from assay.core import Case, Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure
from assay.recipe import digest


def noise(text: str) -> float:
    """A fixed number in [-1, 1) of a text."""
    return int(digest(text)[:12], 16) / 8**16 - 1


@dataclass(frozen=True)
class Overlap(Metric):
    """How many words of the reference are there, and what some words of the text add or take."""

    name: ClassVar[str] = "overlap"
    worth: tuple[tuple[str, float], ...] = ()  # what a word adds, in words
    letter: float = 0.0  # what every letter of the text costs
    jitter: float = 0.0  # moved by any edit, whatever its words

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> float:
        words = sample.hypothesis.lower().replace(",", "").strip(".?!").split()
        told = dict(self.worth)
        score = 3 * noise(sample.references[0]) + sum(len(word) > 3 for word in words)
        score += sum(told.get(word, 0.0) for word in words)
        return score - self.letter * len(sample.hypothesis) + self.jitter * noise(sample.hypothesis)


@cache
def cases_of(**options: Any) -> tuple[Stereotype, list[Case]]:
    audit = Stereotype(**options)
    return audit, list(audit.cases())


def judged(metric: Metric, **options: Any) -> dict[tuple[str, str], Finding]:
    audit, cases = cases_of(**options)
    scored = score_cases(measure(metric), {"stereotype": cases}, Session())["stereotype"]
    return {(f.slice, f.statistic): f for f in settle(audit, audit.judge([scored]))}


def failed(findings: dict[tuple[str, str], Finding]) -> set[str]:
    return {slice_ for (slice_, _), finding in findings.items() if finding.verdict == "fail"}


ROMA = ("roma", "romani", "romany", "sinti")


def test_a_metric_that_minds_nobody_passes_everything() -> None:
    # Every word of more than three letters counts, and so do all terms but "fat" and "trans".
    found = judged(Overlap(jitter=0.2), only=("race",))
    rows = [finding for (_, name), finding in found.items() if name == "lost_words"]
    assert len(rows) == 7 + 28
    assert {finding.verdict for finding in rows} <= {"pass", "inconclusive"}
    assert {finding.verdict for finding in rows if "/group/" in finding.slice} == {"pass"}
    assert found["race", "stereotype_lost_words"].verdict == "pass"


def test_a_planted_penalty_is_found_at_its_size_and_named_with_its_words() -> None:
    penalty = tuple((word, -0.5) for word in ROMA)
    found = judged(Overlap(penalty, jitter=0.1), only=("race",))
    roma = found["race/group/roma", "lost_words"]
    assert roma.value == pytest.approx(-0.5, abs=0.08)
    assert roma.verdict == "fail"
    assert sorted(roma.named_by.lower().split(", ")) == sorted(ROMA)
    assert roma.because == "neither"
    assert roma.sentence.startswith("overlap scores texts about roma, as named by Roma, Romani, ")
    assert roma.sentence.endswith(" of a lost word below those about others.")
    assert len(roma.evidence) == 5
    assert failed(found) == {"race/group/roma", *(f"race/word/{word.title()}" for word in ROMA)}
    # The other six groups are compared with it, among others.
    assert found["race/group/black", "lost_words"].value == pytest.approx(0.5 / 6, abs=0.05)
    flipped = found["race/group/roma", "flipped_decisions"].value
    assert flipped == pytest.approx(0, abs=3)  # half a word flips few decisions
    more = judged(Overlap(tuple((word, -1.5) for word in ROMA)), only=("race",))
    assert more["race/group/roma", "flipped_decisions"].value == -100


def test_a_penalty_of_one_word_is_no_verdict_on_its_group() -> None:
    found = judged(Overlap((("romani", -0.6),), jitter=0.1), only=("race",))
    assert found["race/word/Romani", "lost_words"].verdict == "fail"
    group = found["race/group/roma", "lost_words"]
    assert group.value == pytest.approx(-0.15, abs=0.05)
    assert group.verdict == "pass"


def test_a_gain_of_stereotypes_is_told_from_the_effect_of_the_group() -> None:
    audit, cases = cases_of(only=("religion",))
    (crossing,) = audit.crossings
    told = {context.text: context.stereotype_of for context in crossing.contexts}
    texts = {context.id: context.text for context in crossing.contexts}

    def score(case: Case, role: str) -> float:
        kind, group, *_ = role.split("/")
        own = told[texts[case.meta["cluster"]]] == group
        return 0.6 * own + 0.3 * (group == "muslim") - (kind == "lost") + 0.2 * noise(case.id + role)

    found = planted(audit, cases, score)
    assert found["religion", "stereotype_lost_words"].value == pytest.approx(0.6, abs=0.15)
    assert found["religion", "stereotype_lost_words"].verdict == "fail"
    assert found["religion/group/muslim", "lost_words"].value == pytest.approx(0.35, abs=0.12)


def planted(
    audit: Stereotype, cases: list[Case], score: Callable[[Case, str], float]
) -> dict[tuple[str, str], Finding]:
    """What the audit finds where a text of a case scores so much, by its role."""
    roles = dict.fromkeys(role for case in cases for role in case.samples)
    values = {role: np.full(len(cases), np.nan) for role in roles}
    for row, case in enumerate(cases):
        for role in case.samples:
            values[role][row] = score(case, role)
    findings = settle(audit, audit.judge([Scored("m", cases, values)]))
    return {(f.slice, f.statistic): f for f in findings}


def test_an_interaction_is_what_two_parts_do_not_explain() -> None:
    name = "intersection-race-gender"
    audit, cases = cases_of(only=(name,))

    def score(case: Case, role: str) -> float:
        kind, group, *_ = role.split("/")
        parts = 0.4 * group.endswith("women") + 0.2 * group.startswith("black")
        return parts - 0.8 * (group == "black-women") - (kind == "lost") + 0.1 * noise(case.id + role)

    found = planted(audit, cases, score)
    row = found[f"{name}/interaction/black-women", "lost_words"]
    # Of four races and two genders: a cell of its own is (1 - 1/4)(1 - 1/2) of what it has beyond its parts.
    assert row.value == pytest.approx(-0.8 * 0.75 * 0.5, abs=0.05)
    assert row.sentence.endswith("below what their two parts explain.")
    other = found[f"{name}/interaction/asian-women", "lost_words"]
    assert other.value == pytest.approx(0.8 * 0.25 * 0.5, abs=0.05)


@pytest.mark.parametrize(("letter", "share"), [(0.1, 1.0), (0.0, 0.0)])
def test_letters_explain_what_neutral_words_of_the_same_length_do_as_well(
    letter: float, share: float
) -> None:
    """A metric that minds letters, or one that minds a group whose words happen to be long."""
    audit, cases = cases_of(only=("race",))

    def score(case: Case, role: str) -> float:
        kind, *_, word = role.split("/")
        known = 0.1 * len(word) if letter or "/indigenous/" in role else 0.0
        return -known - (kind == "lost") + 0.05 * noise(case.id + role)

    found = planted(audit, cases, score)
    failures = [finding for finding in found.values() if finding.verdict == "fail"]
    told = [finding.because == "letters" for finding in failures]
    assert len(failures) > 3
    assert np.mean(told) == share
    assert share == 0 or any("(explained by letters)" in finding.sentence for finding in failures)


@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e4)])
def test_the_scale_of_a_metric_changes_no_verdict(factor: float, shift: float) -> None:
    audit, cases = cases_of(only=("religion",))
    metric = Overlap(tuple((word, -0.3) for word in ("sikh", "sikhs", "singh")), jitter=0.5)
    scored = score_cases(measure(metric), {"stereotype": cases}, Session())["stereotype"]
    moved = {role: factor * column + shift for role, column in scored.values.items()}
    one, other = (
        settle(audit, audit.judge([Scored("m", cases, values)])) for values in (scored.values, moved)
    )
    assert [f.verdict for f in one] == [f.verdict for f in other]
    assert [f.because for f in one] == [f.because for f in other]
    values = ([f.value for f in found if f.statistic == "lost_words"] for found in (one, other))
    assert next(values) == pytest.approx(next(values), abs=1e-5)


@pytest.mark.parametrize("spec", ["bleu", "rougeL", "rouge1"])
def test_metrics_that_count_words_are_unfair_to_nobody(spec: str) -> None:
    audit, cases = cases_of(only=("race", "gender"))
    scored = score_cases(measure(spec), {"stereotype": cases}, Session())["stereotype"]
    findings = settle(audit, audit.judge([scored]))
    groups = [f for f in findings if "/group/" in f.slice]
    assert {f.verdict for f in groups if f.statistic == "lost_words"} == {"pass"}
    assert {f.value for f in groups if f.statistic == "flipped_decisions"} == {0.0}


def test_the_sentences_name_the_group_its_words_and_the_side() -> None:
    rows = {
        ("religion/group/sikh", -0.47, "neither", "Sikh, Sikhs"): "texts about sikh, as named by Sikh, Sikhs, "
        "0.47 of a lost word below those about others.",
        ("age/group/old", 0.3, "letters", "old, elderly"): "texts about old, as named by old, elderly, 0.30 of "
        "a lost word above those about others (explained by letters).",
        ("gender/word/they", 0.41, "", "they"): "texts about “they” 0.41 of a lost word above those about others.",
    }  # fmt: skip
    findings = [
        Finding.of("m", slice_, "lost_words", Estimate(value, 90, (value - 0.01, value + 0.01)),
                   because=because, named_by=named_by)
        for slice_, value, because, named_by in rows
    ]  # fmt: skip
    told = [finding.sentence for finding in settle(Stereotype(), Judgement(findings))]
    assert told == [f"m scores {words}" for words in rows.values()]


def test_the_quick_size_leaves_out_embedded_groups_and_none_of_a_users_own(tmp_path: Path) -> None:
    attributes = [crossing.attribute for crossing in Stereotype(**Stereotype.quick).crossings]
    assert {"gender", "race", "pronouns"} <= set(attributes)
    assert not [name for name in attributes if name.startswith(("intersection", "names"))]
    named = Stereotype(**Stereotype.quick, only=("intersection-age-gender",)).crossings
    assert [crossing.attribute for crossing in named] == ["intersection-age-gender"]
    own = Stereotype(**Stereotype.quick, data=(pairs_file(tmp_path),))
    assert {case.slice for case in own.cases()} == {"gender"}


def test_the_limit_is_the_beginning_of_what_is_read_in_full() -> None:
    few, all_cases = (list(Stereotype(only=("age",), limit=limit).cases()) for limit in (10, None))
    assert [case for case in few if case.id.endswith("/1")] == all_cases[:10]


def test_an_unknown_attribute_suggests(tmp_path: Path) -> None:
    for data in ((), (pairs_file(tmp_path),)):
        with pytest.raises(DataError, match="unknown attribute 'gendr'; did you mean gender"):
            list(Stereotype(only=("gendr",), data=data).cases())


def pairs_file(tmp_path: Path, n: int = 60, *, column: str = "") -> Path:
    """Pairs about occupations: the stereotype is always the man; lengths differ, so that scores spread."""
    path = tmp_path / "gender.jsonl"
    things = ("garden", "window", "letter", "bottle", "candle", "pillow", "basket")
    rows = []
    for number in range(n):
        tail = " ".join(things[: number % 7 + 1])
        texts = [f"On day {number} the clerk said {who} saw {tail}" for who in ("he", "she")]
        row = {"id": f"p{number}", "stereotype": texts[0], "anti_stereotype": texts[1]}
        row |= {"reference": f"On day {number} the clerk saw {tail}"}
        rows.append(row | ({column: f"template {number % 10}"} if column else {}))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_of_two_groups_that_change_sides_one_is_judged(tmp_path: Path) -> None:
    """Where either group is the stereotype in half of the pairs, only the group's own row shows a penalty."""
    data = pairs_file(tmp_path)
    named = {"attribute": "gender", "group": "he", "anti_group": "she"}
    rows = [json.loads(line) | named for line in data.read_text().splitlines()]
    same = judged(Overlap((("she", -0.6),), jitter=0.2), data=(write(data, rows),))
    assert [slice_ for slice_, statistic in same if statistic == "lost_words"] == ["gender"]
    sides = {
        "stereotype": "anti_stereotype",
        "anti_stereotype": "stereotype",
        "group": "anti_group",
        "anti_group": "group",
    }
    turned = [row | {side: row[other] for side, other in sides.items()} for row in rows[::2]]
    found = judged(
        Overlap((("she", -0.6),), jitter=0.2),
        data=(write(tmp_path / "turned.jsonl", [*turned, *rows[1::2]]),),
    )
    assert found["gender", "lost_words"].verdict == "pass"
    assert [slice_ for slice_, statistic in found if statistic == "lost_words"] == [
        "gender",
        "gender/group/she",
    ]
    assert found["gender/group/she", "lost_words"].value == pytest.approx(-0.6, abs=0.1)


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_users_pairs_are_judged_in_lost_words(tmp_path: Path) -> None:
    data = (pairs_file(tmp_path),)
    fair = judged(Overlap(jitter=0.2), data=data)["gender", "lost_words"]
    assert (fair.verdict, fair.n) == ("pass", 60)
    unfair = judged(Overlap((("he", 0.6),), jitter=0.2), data=data)["gender", "lost_words"]
    assert unfair.value == pytest.approx(0.6, abs=0.1)
    assert unfair.verdict == "fail"
    assert unfair.sentence.startswith("overlap scores stereotypes of gender higher, by 0.")


def test_pairs_of_one_template_count_as_one(tmp_path: Path) -> None:
    """Sixty pairs of ten templates say as much as ten pairs."""
    widths = []
    for n in (60, 10):
        audit = Stereotype(data=(pairs_file(tmp_path, n, column="template"),))
        cases = list(audit.cases())
        differences = np.array([noise(str(case.meta["template"])) for case in cases])
        values = {PAIR[0]: differences, PAIR[1]: np.zeros(n), LOST[0]: differences - 1, LOST[1]: -np.ones(n)}
        findings = settle(audit, audit.judge([Scored("m", cases, values)]))
        (ci,) = [finding.ci for finding in findings if finding.statistic == "lost_words"]
        assert ci is not None
        widths.append(ci[1] - ci[0])
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_the_papers_rule_is_exact_and_has_no_verdict(tmp_path: Path) -> None:
    """Eq. 1 puts the scores of all pairs on 0 to 100, Eq. 2 is the mean size of the differences."""
    path = pairs_file(tmp_path)
    metric = Overlap((("he", 0.6),))
    _, cases = cases_of(data=(path,), rule="paper")
    assert {role for case in cases for role in case.samples} == set(PAIR)
    scores = [metric.score([case.samples[role] for case in cases]) for role in PAIR]
    differences = 100 * np.subtract(*scores) / np.ptp(scores)
    found = judged(metric, data=(path,), rule="paper")
    assert found["gender", "bias"].value == pytest.approx(np.abs(differences).mean())
    assert found["gender", "signed_bias"].value == pytest.approx(differences.mean())
    assert found["gender", "stereotype_share"].value == 1
    assert {finding.verdict for finding in found.values()} == {"not judged"}
    assert ("gender", "lost_words") not in found


def test_exchanging_the_two_sides_turns_the_sign_and_leaves_the_size(tmp_path: Path) -> None:
    audit, cases = cases_of(data=(pairs_file(tmp_path),))
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, len(cases)))
    lost = {role: column - 1 for role, column in zip(LOST, (one, other), strict=True)}
    there = {PAIR[0]: one, PAIR[1]: other} | lost
    back = {PAIR[0]: other, PAIR[1]: one, LOST[0]: lost[LOST[1]], LOST[1]: lost[LOST[0]]}
    values = [
        {f.statistic: f.value for f in audit.judge([Scored("m", cases, scores)]).findings}
        for scores in (there, back)
    ]
    assert values[0]["bias"] == pytest.approx(values[1]["bias"])
    for name in ("signed_bias", "lost_words"):
        assert values[0][name] == pytest.approx(-values[1][name])


def test_absent_scores_are_dropped_in_pairs(tmp_path: Path) -> None:
    audit, cases = cases_of(data=(pairs_file(tmp_path),))
    values = {role: np.linspace(0, 1, len(cases)) for role in PAIR}
    values[PAIR[0]][3] = np.nan
    found = {f.statistic: f for f in audit.judge([Scored("m", cases, values)]).findings}
    assert found["bias"].n == 59


def test_scores_without_lost_words_have_figures_and_a_note(tmp_path: Path) -> None:
    """As imported scores have none."""
    audit, cases = cases_of(data=(pairs_file(tmp_path),))
    values = {role: np.random.default_rng(1).normal(size=len(cases)) for role in PAIR}
    judgement = audit.judge([Scored("m", cases, values)])
    found = {f.statistic for f in settle(audit, judgement)}
    assert "bias" in found
    assert "lost_words" not in found
    assert "not judged, no text with a word missing has a score: m (gender)" in judgement.notes


def test_an_attribute_without_a_name_is_the_files_stem_and_columns_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "caste.jsonl"
    row = {"stereotype": "a b", "anti_stereotype": "a c", "reference": "a", "anti_reference": "a d", "hue": 1}
    path.write_text(json.dumps(row), "utf-8")
    audit = Stereotype(data=(path,))
    assert [pair.attribute for pair in audit.pairs] == ["caste"]
    notes = audit.judge([]).notes
    assert "1 of 1 pairs do not share one reference" in notes
    assert "columns not used: hue" in notes


def test_two_pairs_may_not_share_an_id(tmp_path: Path) -> None:
    path = pairs_file(tmp_path, 2)
    path.write_text(path.read_text("utf-8").replace("p1", "p0"), "utf-8")
    with pytest.raises(DataError, match="own id"):
        _ = Stereotype(data=(path,)).pairs


def test_paradigms_explain_variance() -> None:
    assert _eta_squared(np.array([1.0, 1.0, 5.0, 5.0]), ["a", "a", "b", "b"]) == 1.0
    assert _eta_squared(np.array([1.0, 5.0, 1.0, 5.0]), ["a", "a", "b", "b"]) == 0.0
    kinds = ["n-gram", "n-gram", "matching", "matching", "matching"]
    sizes = [None, None, 10**7, 10**8, 10**9]
    scored = [
        Scored(f"m{n}", [], {}, about={"paradigm": kind, "backbone": kind, "parameters": size})
        for n, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
    ]
    biases = [0.0, 1.0, 10.0, 11.0, 12.0]
    found = [Finding(f"m{n}", "stereotype", "gender", "bias", b, 9) for n, b in enumerate(biases)]
    shares = {f.versus: f.value for f in across_metrics(scored, found) if f.statistic == "variance_explained"}
    assert shares["paradigm"] == pytest.approx(0.98, abs=0.01)
    assert shares["size"] == pytest.approx(1.0)
