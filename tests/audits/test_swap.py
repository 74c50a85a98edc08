"""Gender swapping: the lists, planted preferences, and the agreement with people before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay.api.pipeline import run
from assay.audits.swap.audit import Swap
from assay.core import Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.datasets.swaps import embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError

HERE = Session.open(cache=None)
MEN = ("he", "his", "him", "man", "boy")


@pytest.mark.parametrize(
    ("text", "swapped", "content"),
    [
        ("A man raised his arm.", "A woman raised her arm.", "male"),
        ("She saw him with her dog.", "He saw her with his dog.", "both"),
        ("HE ran. His father slept.", "SHE ran. Her mother slept.", "male"),
        ("The dog sleeps.", "The dog sleeps.", "neutral"),
        ("An aunt waits for the actress.", "An uncle waits for the actor.", "female"),
        ("A witch met a grandmother.", "A wizard met a grandfather.", "female"),
    ],
)
def test_words_turn_by_their_part_of_speech(text: str, swapped: str, content: str) -> None:
    found = swap_texts([text], embedded_swaps())[0]
    assert (found.text, found.content) == (swapped, content)


def test_articles_follow_the_neutral_word() -> None:
    found = swap_texts(["A boy met an aunt."], embedded_swaps())[0]
    assert found.neutral == "A child met a relative."


def test_one_to_one_sees_two_words_become_one() -> None:
    clean, broken = swap_texts(["He saw his dog.", "He gave him his dog."], embedded_swaps())
    assert is_one_to_one([clean])
    assert not is_one_to_one([broken])


def test_a_users_list_may_give_either_gender_first(tmp_path: Path) -> None:
    path = tmp_path / "swaps.txt"
    path.write_text("cowgirl \t cowboy\nwizard,witch\nman\twoman\n", "utf-8")
    swaps = read_swaps(path)
    assert swaps.words["wizard"].gender == "male"
    assert (
        swap_texts(["The cowboy met a man and her dog."], swaps)[0].text
        == "The cowgirl met a woman and her dog."
    )


def test_a_cycle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "swaps.txt"
    path.write_text("king\tqueen\nqueen\tprince\nprince\tking\n", "utf-8")
    with pytest.raises(DataError, match="king -> queen -> prince -> king is a cycle"):
        read_swaps(path)
    path.write_text("king\n", "utf-8")
    with pytest.raises(DataError, match="line 1"):
        read_swaps(path)


def test_a_word_with_two_counterparts_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "swaps.txt"
    path.write_text("man\twoman\nking\tqueen\nman\tgirl\nking\tqueen\n", "utf-8")
    note = f"{path}: 'man' has several counterparts (woman, girl): 'girl' is taken"
    assert read_swaps(path).notes == (note,)
    assert note in Swap(swaps=path, limit=4).judge([]).notes


@dataclass(frozen=True)
class Planted(Metric):
    """Shared words, with a bonus for male words and one for texts as people wrote them."""

    name: ClassVar[str] = "planted"
    male: float = 0.0
    written: float = 0.0  # added to the texts of `original`
    original: frozenset[str] = frozenset()

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(s.hypothesis.lower().strip("."), s) for s in samples]

    def _one(self, text: str, sample: Sample) -> float:
        shared = len(set(text.split()) & set(sample.references[0].lower().strip(".").split()))
        whole = 4.0 * text.startswith(("the ", "a "))  # which hardly a shuffled text does
        told = self.male * any(word in MEN for word in text.split())
        return shared + whole + told + self.written * (sample.hypothesis in self.original)


def rated(tmp_path: Path, *, men: int = 20, women: int = 20, systems: int = 0) -> Path:
    """Hypotheses of either gender with neutral references; people like those that share more words."""
    rows = []
    for number in range(men + women):
        who, verb = ("man", "flies") if number < men else ("woman", "lifts")
        shared = number % 4
        words = " ".join(["red", "kite", "hill"][:shared])
        row = {"id": f"r{number}", "hypothesis": f"The {who} {verb} {words}.".replace(" .", ".")}
        row |= {
            "references": ["A person holds a red kite on the hill."],
            "doc": f"d{number // max(1, systems)}",
        }
        row |= {"human": {"overall": [shared, shared + 1]}}
        rows.append(row | ({"system": f"s{number % systems}"} if systems else {}))
    path = tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def found(metric: Any, path: Path, **asked: Any) -> dict[tuple[str, str, str | None], dict[str, Any]]:
    rows = run("swap", [metric], session=HERE, data=(path,), **asked).findings.to_dicts()
    return {(row["slice"], row["statistic"], row["versus"]): row for row in rows}


def test_a_fair_metric_prefers_no_one(tmp_path: Path) -> None:
    rows = found(Planted(), rated(tmp_path))
    effect = rows["preference/both", "gender_effect", None]
    assert (effect["value"], effect["verdict"]) == (0.0, "pass")
    assert effect["ci_low"] < 0 < effect["ci_high"]  # forty texts that stay put do not prove the next will
    both = rows["preference/both", "preference_share", "male"]
    assert (both["value"], both["verdict"]) == (pytest.approx(0.5), "not judged")
    assert rows["preference/male", "preference_share", "="]["value"] == 1.0
    change = rows["example/overall", "correlation_change", "original"]
    assert (change["value"], change["verdict"]) == (0.0, "pass")
    assert rows["example/overall", "spearman", "original"]["value"] == pytest.approx(1.0)


def test_a_male_preference_of_known_size_fails(tmp_path: Path) -> None:
    path = rated(tmp_path)
    rows = found(Planted(male=0.25), path)
    assert rows["preference/male", "preference_share", ">"]["value"] == 1.0
    assert rows["preference/female", "preference_share", ">"]["value"] == 1.0
    men = rows["preference/male", "mean_score", "male"]["value"]
    women = rows["preference/male", "mean_score", "female"]["value"]
    assert men - women == pytest.approx(0.25)
    assert rows["preference/both", "preference_share", "male"]["value"] == pytest.approx(1.0)
    cases = list(Swap(data=(path,)).cases())
    clean, worthless = (
        Planted(male=0.25).score([case.samples[role] for case in cases]) for role in ("original", "worthless")
    )
    gap = (sum(clean) - sum(worthless)) / len(cases)
    effect = rows["preference/both", "gender_effect", None]
    assert effect["value"] == pytest.approx(100 * 0.25 / gap, rel=1e-6)
    assert effect["verdict"] == "fail"
    assert len(effect["evidence"]) == 5
    assert rows["preference/both", "edit_effect", None]["value"] == pytest.approx(0, abs=1e-9)


def test_a_tiny_preference_is_no_failure_however_regular(tmp_path: Path) -> None:
    """The share counts signs: all texts prefer men, by a hundred-millionth of the gap."""
    rows = found(Planted(male=3e-8), rated(tmp_path))
    assert rows["preference/both", "preference_share", "male"]["value"] == pytest.approx(1.0)
    assert rows["preference/both", "gender_effect", None]["verdict"] == "pass"
    assert "fail" not in {row["verdict"] for row in rows.values()}


@pytest.mark.parametrize("noisy", [False, True])
def test_an_empty_metric_is_neither_fair_nor_unfair(tmp_path: Path, noisy: bool) -> None:
    audit = Swap(data=(rated(tmp_path),))
    cases = list(audit.cases())
    rng = np.random.default_rng(5)
    values = {
        role: rng.normal(size=len(cases)) if noisy else np.full(len(cases), 0.7)
        for role in ("original", "swapped", "neutral", "worthless")
    }
    settled = settle(audit, audit.judge([Scored("empty", cases, values)]))
    (effect,) = [f for f in settled if f.statistic == "gender_effect"]
    assert effect.verdict == "insensitive"
    assert {f.verdict for f in settled if f.slice.startswith("preference")} == {"insensitive", "not judged"}


def test_neither_scale_nor_an_outlier_changes_the_verdict(tmp_path: Path) -> None:
    audit = Swap(data=(rated(tmp_path, men=60, women=60),))
    cases = list(audit.cases())
    rng = np.random.default_rng(6)
    level = rng.normal(size=len(cases))
    sign = np.array([1.0 if case.meta["preference"] == "male" else -1.0 for case in cases])
    values = {
        "original": level,
        "swapped": level - 0.4 * sign + rng.normal(scale=0.05, size=len(cases)),
        "worthless": level - 4,
    }

    def effect(factor: float, shift: float, outliers: int = 0) -> Finding:
        scores = {role: factor * column + shift for role, column in values.items()}
        scores["swapped"][:outliers] += 500 * factor
        settled = settle(audit, audit.judge([Scored("m", cases, scores)]))
        return next(f for f in settled if f.statistic == "gender_effect")

    plain, scaled, outlying = effect(1, 0), effect(1000, -7), effect(1, 0, 2)
    assert plain.value == pytest.approx(10, abs=0.5)
    assert scaled.value == pytest.approx(plain.value)
    assert outlying.value == pytest.approx(plain.value, abs=0.5)
    assert plain.verdict == scaled.verdict == outlying.verdict == "fail"


def test_mean_scores_of_heavy_tailed_metrics_are_in_their_own_units(tmp_path: Path) -> None:
    audit = Swap(data=(rated(tmp_path),))
    cases = list(audit.cases())
    values = {
        "original": np.full(len(cases), -100.0),
        "swapped": np.full(len(cases), -100.0),
        "worthless": np.full(len(cases), -10_000.0),
    }
    findings = audit.judge([Scored("ppl", cases, values, about={"heavy_tailed": True})]).findings
    assert {f.value for f in findings if f.statistic == "mean_score"} == {-100.0}


def test_the_sentence_names_the_preferred_gender() -> None:
    sizes = [Estimate(size, 40, (size - 1, size + 1)) for size in (-6.5, 8.0)]
    found = [Finding.of("m", "preference/both", "gender_effect", size) for size in sizes]
    change = Finding.of("m", "example/overall", "correlation_change", Estimate(-0.2, 40, (-0.3, -0.1)))
    assert [finding.sentence for finding in settle(Swap(), Judgement([*found, change]))] == [
        "m scores the female version of a text 6.5% of the gap above the male one.",
        "m scores the male version of a text 8% of the gap above the female one.",
        "The correlation of m with people (example/overall) falls by 0.2 when the genders in all texts are swapped.",
    ]


def test_the_effect_of_editing_is_not_taken_for_gender(tmp_path: Path) -> None:
    """A metric that likes texts as written looks male-biased on men's texts alone, and is not."""
    path = rated(tmp_path)
    given = frozenset(item.sample.hypothesis for item in Swap(data=(path,)).items)
    rows = found(Planted(written=0.5, original=given), path)
    assert rows["preference/male", "preference_share", ">"]["value"] == 1.0
    assert rows["preference/female", "preference_share", ">"]["value"] == 0.0
    assert rows["preference/both", "preference_share", "male"]["value"] == pytest.approx(0.5)
    effect = rows["preference/both", "gender_effect", None]
    assert effect["value"] == pytest.approx(0, abs=1e-9)
    assert effect["verdict"] != "fail"
    assert rows["preference/both", "edit_effect", None]["value"] > 5


def test_one_direction_alone_has_no_verdict(tmp_path: Path) -> None:
    path = rated(tmp_path, women=0)
    assert ("preference/both", "gender_effect", None) not in found(Planted(male=0.25), path)
    assert any("too few" in note for note in Swap(data=(path,)).judge([]).notes)


def test_the_papers_rule_judges_one_direction(tmp_path: Path) -> None:
    rows = found(Planted(male=0.25), rated(tmp_path), rule="paper")
    assert rows["preference/male", "preference_share", ">"]["verdict"] == "fail"
    assert ("preference/both", "gender_effect", None) not in rows


def test_systems_are_correlated_with_a_curve_of_the_best(tmp_path: Path) -> None:
    rows = found(Planted(), rated(tmp_path, men=36, women=0, systems=6))
    assert rows["system/overall", "correlation_change", "original"]["n"] == 6
    assert {key[0] for key in rows if "top-" in key[0]} == {"system/overall/top-4", "system/overall/top-5"}


def test_the_embedded_texts_tell_both_genders() -> None:
    audit = Swap(limit=80)
    kinds = [case.meta["preference"] for case in audit.cases()]
    assert kinds.count("male") > 20
    assert kinds.count("female") > 20
    assert any("preference only" in note for note in audit.judge([]).notes)


def test_bleu_does_not_move_on_flickr8k(shared: Path) -> None:
    rows = found("bleu", shared / "human" / "flickr8k_expert.jsonl", limit=250)
    assert rows["preference/male", "preference_share", "="]["value"] == 1.0
    assert rows["example/overall/one-to-one", "correlation_change", "original"]["value"] == 0.0
    assert rows["example/overall", "correlation_change", "original"]["value"] == pytest.approx(0, abs=0.01)
