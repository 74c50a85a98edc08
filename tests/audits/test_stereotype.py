"""The stereotype audit on planted metrics, and what it says of pairs that it is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from assay.api.pipeline import run
from assay.audits.slices import spread_out
from assay.audits.stereotype.audit import Stereotype
from assay.core import Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.recipe import digest

HERE = Session.open(cache=None)


def noise(text: str) -> float:
    """A fixed number in [0, 1) of a text."""
    return int(digest(text)[:12], 16) / 16**12


@dataclass(frozen=True)
class Fair(Metric):
    """Word overlap: every text of a pair has the same number of words in common with its reference."""

    name: ClassVar[str] = "fair"
    preference: float = 0.0  # added where a text speaks of a man
    jitter: float = 0.0  # moved by any edit, whatever its words

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> float:
        words, other = sample.hypothesis.split(), sample.references[0].split()
        overlap = len(set(words) & set(other)) / len(set(other))
        told = self.preference * ("he" in words) + self.jitter * noise(sample.hypothesis)
        return overlap + told


def pairs_file(tmp_path: Path, n: int = 60, *, swap: bool = False) -> Path:
    """Occupation pairs: the stereotype is always the man; lengths differ, so that scores spread."""
    path = tmp_path / "gender.jsonl"
    rows = []
    for number in range(n):
        tail = " ".join(f"word{number}x{k}" for k in range(number % 7 + 1))
        texts = [f"clerk{number} said {who} was late {tail}" for who in ("he", "she")]
        first, second = texts[::-1] if swap and number % 2 else texts
        row = {"id": f"p{number}", "stereotype": first, "anti_stereotype": second}
        rows.append(row | {"reference": f"clerk{number} said the clerk was late {tail}"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def findings(metric: Metric, **asked: object) -> dict[tuple[str, str], Finding]:
    frame = run("stereotype", [metric], session=HERE, **asked).findings
    rows = frame.iter_rows(named=True)
    return {(row["slice"], row["statistic"]): row for row in rows if row["metric"] != "all metrics"}


def test_a_fair_metric_passes(tmp_path: Path) -> None:
    found = findings(Fair(), data=(pairs_file(tmp_path),))
    assert found["gender", "bias"]["value"] == 0
    assert found["gender", "signed_bias"]["value"] == 0
    assert found["gender", "stereotype_effect"]["p_value"] == 1
    for slice_, statistic in (("gender", "stereotype_effect"), ("gender", "excess_bias")):
        assert found[slice_, statistic]["verdict"] == "pass"
    assert found["gender/word/he", "group_effect"]["verdict"] == "pass"
    assert found["gender", "ties"]["value"] == 1


def test_a_planted_bias_of_known_size_is_found(tmp_path: Path) -> None:
    path = pairs_file(tmp_path)
    plain = Fair().score([Sample(p.stereotype, p.references) for p in Stereotype(data=(path,)).pairs])
    span = max(plain) - min(plain) + 0.05
    found = findings(Fair(preference=0.05), data=(path,))
    assert found["gender", "bias"]["value"] == pytest.approx(100 * 0.05 / span)
    assert found["gender", "signed_bias"]["value"] == pytest.approx(100 * 0.05 / span)
    assert found["gender", "stereotype_share"]["value"] == 1
    gap = found["gender", "gap"]["value"]
    effect = found["gender", "stereotype_effect"]
    assert effect["value"] == pytest.approx(100 * 0.05 / gap, rel=1e-6)
    assert effect["ci_low"] <= effect["value"] <= effect["ci_high"]
    assert effect["verdict"] == found["gender", "excess_bias"]["verdict"] == "fail"
    assert found["gender/word/he", "group_effect"]["value"] == pytest.approx(effect["value"])
    assert found["gender/word/she", "group_effect"]["verdict"] == "fail"
    assert len(effect["evidence"]) == 5


def test_the_effect_is_in_percent_of_the_gap_whatever_the_scale(tmp_path: Path) -> None:
    audit = Stereotype(data=(pairs_file(tmp_path),))
    cases = list(audit.cases())
    rng = np.random.default_rng(3)
    level, moved = rng.normal(size=len(cases)), rng.normal(0.1, 0.05, size=len(cases))
    values = {"stereotype": level + moved, "anti_stereotype": level, "worthless": level - 2}

    def judged(factor: float, shift: float, outliers: int = 0) -> dict[tuple[str, str], Finding]:
        scores = {role: factor * column + shift for role, column in values.items()}
        scores["stereotype"][:outliers] += 50 * factor
        settled = settle(audit, audit.judge([Scored("m", cases, scores)]))
        return {(f.slice, f.statistic): f for f in settled if f.verdict != "not judged"}

    plain, scaled, outlying = judged(1, 0), judged(1000, -7), judged(1, 0, 1)
    assert {key: f.verdict for key, f in plain.items()} == {key: f.verdict for key, f in scaled.items()}
    assert {key: f.verdict for key, f in plain.items()} == {key: f.verdict for key, f in outlying.items()}
    assert plain["gender/word/he", "group_effect"].value == pytest.approx(
        scaled["gender/word/he", "group_effect"].value, rel=1e-6
    )


def test_a_preference_without_stereotype_fails_by_size_alone(tmp_path: Path) -> None:
    found = findings(Fair(preference=0.05), data=(pairs_file(tmp_path, swap=True),))
    assert found["gender", "signed_bias"]["value"] == pytest.approx(0, abs=1e-9)
    assert found["gender", "stereotype_effect"]["verdict"] != "fail"
    assert found["gender", "excess_bias"]["verdict"] == "fail"
    assert found["gender/word/she", "group_effect"]["verdict"] == "fail"  # whom it concerns


def test_the_sentences_name_the_attribute_and_the_side() -> None:
    estimates = {
        ("gender_identity", "excess_bias"): 12.3,
        ("gender_identity", "stereotype_effect"): -4.0,
        ("religion/group/muslim", "group_effect"): -17.2,
        ("gender/word/genderqueer", "group_effect"): -10.0,
    }
    findings = [
        Finding.of("m", slice_, name, Estimate(value, 40, (value - 0.1, value + 0.1)))
        for (slice_, name), value in estimates.items()
    ]
    assert [finding.sentence for finding in settle(Stereotype(), Judgement(findings))] == [
        "m scores texts that differ only in gender identity further apart than control texts, by 12.3% of the "
        "gap.",
        "m scores stereotypes about gender identity lower than their opposites, by 4% of the gap.",
        "m scores texts about muslim people 17.2% of the gap lower than the same texts about others "
        "(religion).",
        "m scores texts that say “genderqueer” 10% of the gap lower than the same texts about others (gender).",
    ]


def test_a_jumpy_metric_is_not_called_biased(tmp_path: Path) -> None:
    """Any edit moves it, as it moves on the controls: bias is large, its excess is not."""
    found = findings(Fair(jitter=0.2), data=(pairs_file(tmp_path, 200),))
    assert found["gender", "bias"]["value"] > 5
    low, high = found["gender", "excess_bias"]["ci_low"], found["gender", "excess_bias"]["ci_high"]
    assert low < 0 < high or abs(found["gender", "excess_bias"]["value"]) < 3
    assert found["gender", "excess_bias"]["passed"] is not False


def test_power_and_false_alarms_of_the_excess(tmp_path: Path) -> None:
    """Of 40 metrics 15% of the gap over the floor at least 38 fail; of 40 that are no worse none does."""
    audit = Stereotype(data=(pairs_file(tmp_path, 100),))
    cases = list(audit.cases())
    ours = np.array([case.slice != "control" for case in cases])
    rng = np.random.default_rng(2)
    scored = []
    for number in range(80):
        base, moved = rng.uniform(size=len(cases)), rng.normal(scale=0.03, size=len(cases))
        planted = np.where(ours & (number < 40), 0.17 * rng.choice([-1, 1], size=len(cases)), 0.0)
        values = {"stereotype": base + moved + planted, "anti_stereotype": base, "worthless": base - 1}
        scored.append(Scored(str(number), cases, values))
    settled = settle(audit, audit.judge(scored))
    failed = {f.metric for f in settled if f.statistic == "excess_bias" and f.verdict == "fail"}
    assert sum(int(name) < 40 for name in failed) >= 38
    assert not any(int(name) >= 40 for name in failed)


def test_pairs_of_unequal_length_are_not_held_against_the_controls(tmp_path: Path) -> None:
    """Two words in the place of one lower an n-gram score; that is no excess over swaps of one word."""
    path = tmp_path / "age.jsonl"
    rows = []
    for number in range(40):
        older = "elderly" if number % 2 else "middle-aged"
        texts = {
            "stereotype": f"the {older} clerk{number} slept",
            "anti_stereotype": f"the young clerk{number} slept",
        }
        rows.append({"id": str(number), "reference": f"the clerk{number} slept"} | texts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    frame = run("stereotype", ["rouge1"], session=HERE, data=(path,)).findings
    bias, excess = (
        frame.filter(statistic=name, slice="age").to_dicts()[0] for name in ("bias", "excess_bias")
    )
    assert bias["value"] == pytest.approx(50)
    assert (excess["value"], excess["n"], excess["verdict"]) == (0.0, 20, "pass")


def test_random_numbers_are_insensitive_and_never_called_biased(tmp_path: Path) -> None:
    audit = Stereotype(data=(pairs_file(tmp_path),))
    cases = list(audit.cases())
    rng = np.random.default_rng(1)
    roles = ("stereotype", "anti_stereotype", "worthless")
    scored = [
        Scored(f"random-{number}", cases, {role: rng.normal(size=len(cases)) for role in roles})
        for number in range(40)
    ]
    verdicts = [f.verdict for f in settle(audit, audit.judge(scored)) if f.verdict != "not judged"]
    assert verdicts.count("insensitive") >= 0.99 * len(verdicts)
    assert "fail" not in verdicts


def test_a_constant_metric_is_guarded(tmp_path: Path) -> None:
    audit = Stereotype(data=(pairs_file(tmp_path),))
    cases = list(audit.cases())
    roles = ("stereotype", "anti_stereotype", "worthless")
    flat = {role: np.full(len(cases), 0.1 + 0.2) for role in roles}
    findings = settle(audit, audit.judge([Scored("flat", cases, flat)]))
    found = {f.statistic: f for f in findings if f.slice == "gender"}
    assert found["bias"].value == 0
    assert found["excess_bias"].value == 0
    assert {f.verdict for f in findings} == {"insensitive", "not judged"}
    assert found["stereotype_share"].value == 0.5
    assert found["stereotype_share"].n == 0


def test_absent_scores_are_dropped_in_pairs(tmp_path: Path) -> None:
    audit = Stereotype(data=(pairs_file(tmp_path),))
    cases = list(audit.cases())
    values = {role: np.linspace(0, 1, len(cases)) for role in ("stereotype", "anti_stereotype")}
    values["stereotype"][3] = np.nan
    findings = audit.judge([Scored("m", cases, values)]).findings
    found = {f.statistic: f for f in findings if f.slice == "gender"}
    assert found["bias"].n == 59


def test_few_pairs_have_no_verdict(tmp_path: Path) -> None:
    found = findings(Fair(preference=0.05), data=(pairs_file(tmp_path, 8),))
    assert found["gender", "stereotype_effect"]["verdict"] == "not judged"
    assert found["gender", "excess_bias"]["verdict"] == "not judged"
    assert ("gender/word/he", "group_effect") not in found
    assert any("too few" in note for note in Stereotype(data=(pairs_file(tmp_path, 8),)).judge([]).notes)


def test_the_papers_rule_has_no_floor_and_no_verdict(tmp_path: Path) -> None:
    found = findings(Fair(preference=0.05), data=(pairs_file(tmp_path),), rule="paper")
    assert ("gender", "excess_bias") not in found
    assert found["gender", "bias"]["passed"] is None


def test_the_limit_is_spread_over_the_file() -> None:
    audit = Stereotype(limit=40, only=("race",))
    assert len(audit.pairs) == 40
    assert len(audit.controls) == 80
    assert {(int(pair.id[-3:]) - 1) // 50 for pair in audit.pairs} == {0, 1, 2}
    assert spread_out(range(5), 9) == [0, 1, 2, 3, 4]


def test_groups_and_words_are_reported_for_the_embedded_pairs() -> None:
    found = findings(Fair(preference=0.05), only=("gender",))
    assert found["gender/group/male", "group_effect"]["value"] > 0
    assert found["gender/word/he", "group_effect"]["value"] > 0
    assert found["gender/word/she", "group_effect"]["value"] < 0
    assert found["gender/word/she", "group_effect"]["verdict"] == "fail"


def test_an_unknown_attribute_suggests() -> None:
    with pytest.raises(DataError, match="did you mean gender"):
        _ = Stereotype(only=("gendr",)).pairs


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


def test_planted_values_keep_their_pairs(tmp_path: Path) -> None:
    """Renaming the roles turns the sign and leaves the size."""
    audit = Stereotype(data=(pairs_file(tmp_path),))
    cases = [case for case in audit.cases() if case.slice != "control"]
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, len(cases)))
    there = audit.judge([Scored("m", cases, {"stereotype": one, "anti_stereotype": two})])
    back = audit.judge([Scored("m", cases, {"stereotype": two, "anti_stereotype": one})])
    values = [
        {f.statistic: f.value for f in judgement.findings if f.slice == "gender"}
        for judgement in (there, back)
    ]
    assert values[0]["bias"] == pytest.approx(values[1]["bias"])
    assert values[0]["signed_bias"] == pytest.approx(-values[1]["signed_bias"])
