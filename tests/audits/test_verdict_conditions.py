"""When a row is judged at all: gaps on few texts, groups of one word, rare words, alternatives, mild attacks."""

from __future__ import annotations

import numpy as np
import pytest

from assay.audits.attack.audit import Attack, damage, group_judgement
from assay.audits.corpora import equally_near
from assay.audits.gap import tells_apart
from assay.audits.slices import PairScores, hardly_falls
from assay.audits.stereotype.audit import Stereotype
from assay.audits.stereotype.groups import Controls, Effects, is_known
from assay.core import Case, Estimate, Finding, Judgement, Sample, Scored
from assay.engine.settle import settle


def test_twenty_texts_show_a_gap_that_most_of_them_have() -> None:
    """Sixteen of twenty are above 0, by far more than the others are below: signs alone have p = .006."""
    differences = np.array(
        [0.2, 0.15, 0.12, 0.3, 0.25, 0.1, 0.11, 0.14, 0.18, 0.22, 0.09, 0.13, 0.16, 0.19, 0.21, 0.17]
    )
    assert tells_apart(np.concatenate([differences, [-0.01, -0.02, -0.03, -0.04]]), 1.0)


def test_random_numbers_hardly_ever_show_a_gap() -> None:
    rng = np.random.default_rng(0)
    assert sum(tells_apart(rng.normal(size=20), 1.0) for _ in range(2000)) <= 8
    assert not tells_apart(np.zeros(20), 1.0)


def _pair(number: int, word: str, other: str, group: str) -> Case:
    samples = {
        role: Sample(
            f"The {name} neighbour number {number} waved.", (f"The neighbour number {number} waved.",)
        )
        for role, name in (("stereotype", word), ("anti_stereotype", other))
    }
    meta = {"group": group, "anti_group": "others", "identity": word, "anti_identity": other}
    return Case(f"pair-{number}", samples, "appearance", meta)


def _families(cases: list[Case]) -> dict[str, Finding]:
    rng = np.random.default_rng(1)
    controls = Controls([_pair(100 + n, "green", "blue", "") for n in range(30)], rng.normal(size=30))
    differences, level = rng.normal(size=len(cases)), np.full(len(cases), 100.0)
    pairs = PairScores("m", "appearance", tuple(cases), level + differences, level, differences / 2)
    effects = Effects(pairs, controls, 0)
    return {finding.slice: finding for finding in effects.findings() if finding.statistic == "group_effect"}


def test_the_only_word_of_a_group_is_not_said_twice() -> None:
    cases = [_pair(n, "tall", "short" if n % 2 else "small", "tall") for n in range(24)]
    found = _families(cases)
    assert "appearance/group/tall" in found
    assert "appearance/word/tall" not in found
    assert "appearance/word/short" in found  # one of two words of its group


def test_a_sentence_names_whom_a_group_is_compared_with() -> None:
    found = _families([_pair(n, "tall", "short" if n % 2 else "small", "tall") for n in range(24)])
    assert found["appearance/group/tall"].versus == "others"  # the name of the one other group
    assert found["appearance/word/short"].versus == "small, tall"
    estimate = Estimate(-8.3, 20, (-13.1, -3.4))
    rows = {
        ("intersection/group/poor immigrants", "rich locals"): "about poor immigrants 8.3% of the gap lower than "
        "the same texts about rich locals (intersection).",
        ("disability/group/blind", "sighted"): "about blind people 8.3% of the gap lower than the same texts "
        "about sighted people (disability).",
        ("gender/word/she", "he, they"): "that say “she” 8.3% of the gap lower than the same texts that say "
        "“he” or “they” (gender).",
        ("religion/group/muslim", None): "about muslim people 8.3% of the gap lower than the same texts about "
        "others (religion).",
    }  # fmt: skip
    findings = [Finding.of("m", name, "group_effect", estimate, versus=versus) for name, versus in rows]
    said = [finding.sentence for finding in settle(Stereotype(), Judgement(findings))]
    assert said == [f"m scores texts {words}" for words in rows.values()]


def test_many_counterparts_are_others() -> None:
    words = ("short", "small", "old", "young")
    found = _families([_pair(n, "tall", words[n % 4], "tall") for n in range(48)])
    assert found["appearance/word/short"].versus is None


def test_a_word_of_unknown_frequency_has_no_verdict_of_its_own() -> None:
    assert is_known("thin")
    assert not is_known("scrawny")
    cases = [_pair(n, "scrawny" if n % 2 else "thin", "strong", "thin") for n in range(24)]
    found = _families(cases)
    assert not found["appearance/word/scrawny"].judged
    assert found["appearance/word/thin"].judged
    assert found["appearance/group/thin"].judged


def test_a_worthless_text_of_a_pair_is_of_its_own_attribute() -> None:
    audit = Stereotype(limit=10, only=("intersection",))
    own = {
        word
        for pair in audit._read[0]
        if pair.attribute == "intersection"
        for word in pair.stereotype.split()
    }
    for case in audit.cases():
        if "worthless" in case.samples:
            assert set(case.samples["worthless"].hypothesis.split()) <= own


def test_alternatives_count_where_both_texts_are_as_near_to_the_references() -> None:
    references = ["the cat sat on the mat", "a cat was on the mat"]
    assert equally_near(references, "the cat sat on a mat", "a cat sat on the mat")
    assert not equally_near(references, "the cat sat on the mat", "some animal rested there")


def _attacked(name: str, paradigm: str, loss: float) -> Scored:
    """Scores of 20 texts that lose 1 or so by random edits, and `loss` of it by those found against "m"."""
    rng = np.random.default_rng(2)
    meta = {"metric": "m", "group": "texts", "changed": "", "queries": 1, "noise_ratio": 0.15}
    cases = [Case(f"c{n}", {"gold": Sample("a text", ("a text",))}, "texts", meta) for n in range(20)]
    cost = 1 + 0.1 * rng.random(20)
    columns = {"gold": np.ones(20), "random/0": 1 - cost, "attack": 1 - loss * cost}
    return Scored(name, cases, columns, about={"name": name, "paradigm": paradigm})


@pytest.mark.parametrize(("loss", "share"), [(0.1, 0.25), (0.5, 0.5), (1.0, 1.0), (1.5, 1.0)])
def test_damage_is_what_the_other_metrics_lose(loss: float, share: float) -> None:
    judges = [_attacked("one", "edit", loss), _attacked("two", "matching", loss)]
    value, low = damage(judges, [case.id for case in judges[0].cases], 0.25, 0)
    assert low <= value == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("lost", "judged", "gain", "verdict"),
    [
        (0.1, 1.0, 0.9, "fail"),  # as damaging as random edits, and overlooked
        (0.1, 0.8, 0.875, "fail"),  # milder, yet overlooked by far more than it is milder
        (0.2, 0.5, 0.6, "inconclusive"),  # milder: too much to clear it, too little to blame it
        (0.5, 0.5, 0.0, "pass"),  # the metric sees what the others see
    ],
)
def test_a_milder_attack_is_compared_with_the_loss_that_is_due(
    lost: float, judged: float, gain: float, verdict: str
) -> None:
    scored = [
        _attacked("m", "ngram", lost), _attacked("one", "edit", judged), _attacked("two", "matching", judged)
    ]  # fmt: skip
    audit = Attack()
    findings = settle(audit, group_judgement(audit, scored[0], "texts", scored[0].cases, scored))
    row = next(finding for finding in findings if finding.statistic == "attack_gain")
    assert row.value == pytest.approx(gain, abs=0.01)
    assert row.verdict == verdict


@pytest.mark.parametrize(
    ("value", "ci", "words"),
    [
        (0.5, (-0.4, 2.0), "does not surely fall"),
        (-0.4, (-0.9, -0.1), "falls by only"),
        (3.0, (1.0, 5.0), "rises by"),
    ],
)
def test_a_score_is_said_to_rise_only_where_it_surely_does(
    value: float, ci: tuple[float, float], words: str
) -> None:
    assert hardly_falls(Finding.of("m", "s", "x", Estimate(value, 20, ci))).startswith(words)
