"""The association audit on planted metrics, bad input and the published tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay.audits.association import Association, GridLayout, measure_test
from assay.core import Estimate, Finding, Grid, Judgement, Metric, Sample
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure
from assay.recipe import digest
from assay.statistics.association import effect_interval

MALE = [f"male{n}" for n in range(8)]
FEMALE = [f"female{n}" for n in range(8)]
CAREER = [f"career{n}" for n in range(8)]
FAMILY = [f"family{n}" for n in range(8)]


def noise(*texts: str) -> float:
    """A fixed number in [-.5, .5) of texts in any order."""
    return int(digest(*sorted(texts))[:12], 16) / 16**12 - 0.5


@dataclass(frozen=True)
class Planted(Metric):
    """Finds male texts closer to careers by `bias`; knows no word that starts with `unknown`."""

    name: ClassVar[str] = "planted"
    bias: float = 0.0
    spread: float = 0.1
    unknown: str = "?"
    lean: float = 0.0  # added where a target is the hypothesis, taken where it is the reference

    def score(self, samples: Sequence[Sample]) -> list[float | None]:
        return [self._one(s.hypothesis, s.references[0]) for s in samples]

    def _one(self, one: str, two: str) -> float | None:
        if any(self.unknown in text for text in (one, two)):
            return None
        if one == two:
            return 3.0
        both = f"{one} {two}"
        close = ("career" in both) != ("female" in both)
        lean = self.lean if "male" in one else -self.lean
        return 0.5 + self.bias * close + self.spread * noise(one, two) + lean


def write(folder: Path, name: str, sets: Sequence[Sequence[str]]) -> Path:
    keys = ("targ1", "targ2", "attr1", "attr2")
    document = {key: {"category": key, "examples": list(s)} for key, s in zip(keys, sets, strict=True)}
    (folder / f"{name}.json").write_text(json.dumps(document), "utf-8")
    return folder


def examine(audit: Association, *metrics: Any) -> Judgement:
    """Settled findings, and notes."""
    work = {"association": list(audit.cases())}
    scored, *_ = score_all({"association": audit}, work, list(map(measure, metrics)), Session())
    judgement = audit.judge(scored["association"])
    return Judgement(settle(audit, judgement), judgement.notes)


def found(metric: Metric, data: Path, **asked: Any) -> dict[tuple[str, str], Finding]:
    """Findings of one metric by slice and statistic, and side where there are two."""
    findings = examine(Association(data=(data,), **asked), metric).findings
    return {(f.slice, f.versus or "" if f.statistic == "p_value" else f.statistic): f for f in findings}


@pytest.fixture
def career(tmp_path: Path) -> Path:
    return write(tmp_path, "career", [MALE, FEMALE, CAREER, FAMILY])


def test_a_planted_association_fails_and_names_its_pairs(career: Path) -> None:
    row = found(Planted(bias=0.2), career)["career", "effect_size"]
    assert row.value > 1.8
    assert row.p_value is None  # that of one test would not agree with the interval of the family
    assert row.verdict == "fail"
    assert all(" ~ " in pair for pair in row.evidence)
    assert len(row.evidence) == 5


def test_the_opposite_association_fails_too(career: Path) -> None:
    rows = found(Planted(bias=-0.2), career)
    assert rows["career", "effect_size"].value < -1.8
    assert rows["career", "effect_size"].verdict == "fail"
    assert rows["career", "one-sided"].value == 1.0
    assert rows["career", "two-sided"].value == pytest.approx(2 / 12870)


def test_the_sentence_follows_the_sign() -> None:
    versus = "C6-N: Men, Women | Career, Family"
    effects = [Estimate(value, 16, (value - 0.1, value + 0.1)) for value in (1.2, -1.2)]
    findings = [Finding.of("m", "weat6", "effect_size", effect, versus=versus) for effect in effects]
    assert [finding.sentence for finding in settle(Association(), Judgement(findings))] == [
        "m finds Men closer to Career, and Women closer to Family (test C6-N, d = 1.2).",
        "m finds Women closer to Career, and Men closer to Family (test C6-N, d = 1.2).",
    ]


def test_a_fair_metric_rarely_fails(tmp_path: Path) -> None:
    for number in range(40):
        sets = [[f"{word}t{number}" for word in words] for words in (MALE, FEMALE, CAREER, FAMILY)]
        write(tmp_path, f"test{number}", sets)
    rows = found(Planted(spread=2.0), tmp_path)
    verdicts = [row.verdict for key, row in rows.items() if key[1] == "effect_size"]
    assert verdicts.count("fail") <= 2
    # Eight words a side cannot show that there is no association.
    assert set(verdicts) <= {"fail", "not judged"}
    p_values = [row.value for key, row in rows.items() if key[1].endswith("-sided")]
    assert 0.3 < np.mean(p_values) < 0.7


def test_a_test_can_be_passed_where_it_has_the_words(tmp_path: Path) -> None:
    """The smallest test whose interval of no effect lies within half a standard deviation, and one below."""
    enough = next(n for n in range(8, 99) if (effect_interval(0.0, n, n) or (0, 9))[1] <= 0.5)
    verdicts = {}
    for words in (enough, enough - 1):
        sets = [[f"{name}{n}" for n in range(words)] for name in ("male", "female", "career", "family")]
        folder = tmp_path / str(words)
        folder.mkdir()
        audit = Association(data=(write(folder, f"t{words}", sets),))
        judgement = examine(audit, Planted(spread=2.0))
        (effect,) = (f for f in judgement.findings if f.statistic == "effect_size")
        verdicts[words] = effect.verdict
        noted = any("too few words to show that there is no association" in note for note in judgement.notes)
        assert noted == (words < enough)
    assert verdicts[enough] in ("pass", "inconclusive")
    assert verdicts[enough - 1] == "not judged"


def test_a_test_of_ties_is_not_judged_and_says_so(career: Path) -> None:
    judgement = examine(Association(data=(career,)), Planted(spread=0.0))
    (row,) = (f for f in judgement.findings if f.statistic == "effect_size")
    assert (row.value, row.p_value, row.verdict) == (0.0, None, "not judged")
    assert any("all words score alike" in note and "career" in note for note in judgement.notes)


def test_the_paper_judges_by_its_p_value(career: Path) -> None:
    rows = {bias: found(Planted(bias=bias), career, rule="paper") for bias in (0.2, -0.2)}
    verdicts = {bias: rows[bias]["career", "paper_p_value"].verdict for bias in rows}
    assert verdicts == {0.2: "fail", -0.2: "pass"}  # one-sided: only the association that it is about
    assert rows[0.2]["career", "paper_p_value"].value == rows[0.2]["career", "one-sided"].value
    assert rows[0.2]["career", "effect_size"].verdict == "not judged"
    assert rows[0.2]["career", "effect_size"].p_value == pytest.approx(1 / 12870)


def test_a_verdict_does_not_depend_on_which_tests_were_asked_for(tmp_path: Path) -> None:
    for number in range(12):
        sets = [[f"{word}t{number}" for word in words] for words in (MALE, FEMALE, CAREER, FAMILY)]
        write(tmp_path, f"test{number}", sets)
    together, alone = (found(Planted(bias=0.1), tmp_path, **asked) for asked in ({}, {"only": ("test3",)}))
    key = ("test3", "effect_size")
    assert together[key] == alone[key]
    assert together[key].ci is not None


def test_both_directions_are_averaged(career: Path) -> None:
    plain, leaning = (found(Planted(bias=0.02, lean=x), career) for x in (0.0, 0.3))
    key = ("career", "effect_size")
    assert plain[key].value == pytest.approx(leaning[key].value)


def test_sentences_of_a_word_are_one_unit(tmp_path: Path) -> None:
    write(tmp_path, "x", [MALE, FEMALE, CAREER, FAMILY])
    frames = ("This is {}.", "There is {}.", "That is {}.")
    sentences = [
        [frame.format(word) for word in words for frame in frames] for words in (MALE, FEMALE, CAREER, FAMILY)
    ]
    write(tmp_path, "sent-x", sentences)
    assert found(Planted(), tmp_path)["sent-x", "effect_size"].n == 16
    assert found(Planted(), tmp_path, unit="sentence")["sent-x", "effect_size"].n == 48
    assert found(Planted(), tmp_path, rule="paper")["sent-x", "effect_size"].n == 48


def test_unknown_words_are_dropped_in_balance(career: Path) -> None:
    judgement = examine(Association(data=(career,)), Planted(bias=0.2, unknown="female3"))
    (row,) = (f for f in judgement.findings if f.statistic == "effect_size")
    assert row.n == 14
    assert any("dropped in balance" in note for note in judgement.notes)


def test_too_many_unknown_words_make_a_test_not_applicable(career: Path) -> None:
    folder = write(career, "y", [MALE, FEMALE, FAMILY[:4], FAMILY[4:]])
    judgement = examine(Association(data=(folder,)), Planted(unknown="career"))
    statistics = {f.slice: f.statistic for f in judgement.findings if f.statistic != "p_value"}
    assert statistics == {"career": "out_of_vocabulary", "y": "effect_size"}
    assert any("not applicable" in note for note in judgement.notes)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([MALE, FEMALE[:6], CAREER, FAMILY], "--balance"),
        ([MALE, [*FEMALE[:7], "male0"], CAREER, FAMILY], "in both target sets"),
        ([MALE, FEMALE, CAREER[:1], FAMILY], "at least two"),
        ([MALE[:1], FEMALE[:1], CAREER, FAMILY], "at least two"),
        ([MALE, [*FEMALE[:-1], FEMALE[0]], CAREER, FAMILY], f"'targ2.examples' has '{FEMALE[0]}' twice"),
    ],
)
def test_bad_sets_are_refused(tmp_path: Path, sets: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(Association(data=(write(tmp_path, "bad", sets),)).cases())


def test_unequal_sets_can_be_balanced(tmp_path: Path) -> None:
    folder = write(tmp_path, "bad", [MALE, FEMALE[:6], CAREER, FAMILY])
    assert found(Planted(), folder, balance=True)["bad", "effect_size"].n == 12


def test_a_test_is_chosen_by_name_or_label() -> None:
    assert [test.name for test in Association(only=("C6-N",)).tests] == ["weat6", "sent-weat6"]
    with pytest.raises(DataError, match="did you mean"):
        _ = Association(only=("weat66",)).tests


def test_the_battery_has_three_levels_and_both_directions() -> None:
    audit = Association(**Association.quick)
    grids = list(audit.cases())
    assert len(audit.tests) == 40
    assert len(grids) == 80
    assert {test.level for test in audit.tests} == {"word", "sentence", "unbleached"}
    assert grids[0] == Grid("weat1", grids[0].rows, grids[0].columns, "weat1")
    assert grids[1].rows == grids[0].columns


@dataclass(frozen=True)
class Cliquish(Planted):
    """Finds the words of one list closer to each other."""

    name: ClassVar[str] = "cliquish"
    clique: tuple[str, ...] = ()

    def _one(self, one: str, two: str) -> float | None:
        return 0.2 * ({one, two} <= set(self.clique)) + self.spread * noise(one, two)


def test_innocuous_tests_have_no_verdict() -> None:
    audit = Association(only=("weat1", "weat6"))
    for name, verdict in (("weat1", "not judged"), ("weat6", "fail")):
        (test,) = (test for test in audit.tests if test.name == name)
        clique = tuple(word for word, _ in (*test.targ1.items, *test.attr1.items))
        judgement = examine(audit, Cliquish(clique=clique))
        (effect,) = (f for f in judgement.findings if (f.slice, f.statistic) == (name, "effect_size"))
        assert effect.value > 1.5
        assert effect.verdict == verdict


def test_the_p_value_equals_a_loop_over_partitions() -> None:
    rng = np.random.default_rng(3)
    forward, backward = rng.normal(size=(10, 6)), rng.normal(size=(6, 10))
    layout = GridLayout(tuple("abcdefghij"), tuple("uvwxyz"), tuple("abcdefghij"), 5, 3)
    got = measure_test(forward, backward, layout, by_word=True, seed=0)
    scores = (forward + backward.T) / 2
    r = scores[:, :3].mean(axis=1) - scores[:, 3:].mean(axis=1)
    observed = r[:5].sum() - r[5:].sum()
    null = [2 * r[list(chosen)].sum() - r.sum() for chosen in combinations(range(10), 5)]
    assert got.outcome is not None
    assert got.outcome.one_sided.p_value == pytest.approx(np.mean(np.array(null) >= observed - 1e-9))
    assert got.outcome.effect_size == pytest.approx((r[:5].mean() - r[5:].mean()) / r.std(ddof=1))


def test_rouge_rows_of_table_8(shared: Path) -> None:
    folder = shared / "association"
    only = ("sent-weat3b", "sent-weat6", "sent-weat7", "sent-angry_black_woman_stereotype", "sent-weat10")
    judgement = examine(Association(data=(folder,), rule="paper", only=only), "rouge1")
    values = {f.slice: f.value for f in judgement.findings if f.statistic == "effect_size"}
    assert values["sent-weat3b"] == pytest.approx(0.07, abs=0.015)
    for name in only[1:]:
        assert values[name] == pytest.approx(0.0, abs=0.005)
