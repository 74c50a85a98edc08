"""Gender swapping: the lists, planted preferences, and the agreement with people before and after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay.audits.swap.audit import Swap
from assay.core import Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.datasets.swaps import embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure

MEN = ("he", "his", "him", "man", "boy", "son")


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
    letter: float = 0.0  # added for every letter
    written: float = 0.0  # added to the texts of `original`
    original: frozenset[str] = frozenset()
    scale: float = 1.0
    shift: float = 0.0

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self.scale * self._one(s.hypothesis.lower().strip("."), s) + self.shift for s in samples]

    def _one(self, text: str, sample: Sample) -> float:
        shared = len(set(text.split()) & set(sample.references[0].lower().strip(".").split()))
        told = self.male * any(word in MEN for word in text.split())
        return shared + told + self.letter * len(text) + self.written * (sample.hypothesis in self.original)


def rated(tmp_path: Path, *, men: int = 20, women: int = 20, systems: int = 0) -> Path:
    """Hypotheses of either gender with neutral references; people like those that share more words."""
    rows = []
    for number in range(men + women):
        who, verb = ("man", "flies") if number < men else ("woman", "lifts")
        shared = number % 4
        words = " ".join(["long", "kite", "hill"][:shared])
        row = {"id": f"r{number}", "hypothesis": f"The {who} {verb} {words} today.".replace("  ", " ")}
        row |= {
            "references": ["Today a person flies and lifts a long kite on the hill."],
            "doc": f"d{number // max(1, systems)}",
        }
        row |= {"human": {"overall": [shared, shared + 1]}}
        rows.append(row | ({"system": f"s{number % systems}"} if systems else {}))
    path = tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


Row = dict[tuple[str, str, str | None], Finding]


def found(metric: Any, path: Path | None, *, quick: bool = False, **options: Any) -> Row:
    """The settled findings of one metric, by slice, statistic and versus."""
    audit = Swap(**options) if path is None else Swap(data=(path,), **options)
    one = measure(metric)
    with Session.open(cache=None) as session:
        scored, *_ = score_all({"swap": audit}, {"swap": list(audit.cases())}, [one], session, quick=quick)
    settled = settle(audit, audit.judge(scored["swap"]))
    return {(finding.slice, finding.statistic, finding.versus): finding for finding in settled}


WHOLE = ("preference/both", "lost_words", None)


def test_a_fair_metric_prefers_no_one(tmp_path: Path) -> None:
    rows = found(Planted(), rated(tmp_path))
    effect = rows[WHOLE]
    assert (effect.value, effect.verdict, effect.n) == (0.0, "pass", 40)
    assert effect.ci is not None
    assert effect.ci[0] < 0 < effect.ci[1]  # forty texts that stay put do not prove the next will
    assert rows["preference/both", "flipped_decisions", None].value == 0.0
    equal = rows["preference/male", "preference_share", "="]
    assert equal.value == 1.0
    assert equal.ci is not None
    assert equal.ci[0] < 1.0
    change = rows["example/overall", "correlation_change", "original"]
    assert (change.value, change.verdict) == (0.0, "pass")
    assert change.ci is not None
    assert change.ci[0] < 0 < change.ci[1]
    assert rows["example/overall", "spearman", "original"].value == pytest.approx(1.0)


def test_a_male_preference_is_found_at_its_size(tmp_path: Path) -> None:
    """A lost word costs one shared word: the effect is what was planted, whatever the scale."""
    for size, verdict in ((0.6, "fail"), (0.25, "inconclusive"), (0.1, "pass")):
        for scale, shift in ((1.0, 0.0), (1e6, -1e4)):
            metric = Planted(male=size, scale=scale, shift=shift)
            effect = found(metric, rated(tmp_path))[WHOLE]
            assert effect.value == pytest.approx(size, rel=1e-6)
            assert effect.verdict == verdict
    rows = found(Planted(male=0.6), rated(tmp_path))
    assert len(rows[WHOLE].evidence) == 5
    assert rows["preference/word/man-woman", "lost_words", None].value == pytest.approx(0.6)
    assert rows["preference/both", "edit_lost_words", None].value == pytest.approx(0, abs=1e-9)
    men, women = (rows["preference/male", "mean_score", gender].value for gender in ("male", "female"))
    assert men - women == pytest.approx(0.6)


def test_a_tiny_preference_is_no_failure_however_regular(tmp_path: Path) -> None:
    """The share counts signs: all texts prefer men, by a hundred-millionth of a lost word."""
    rows = found(Planted(male=3e-8), rated(tmp_path))
    assert rows["preference/male", "preference_share", ">"].value == pytest.approx(1.0)
    assert rows[WHOLE].verdict == "pass"
    assert "fail" not in {row.verdict for row in rows.values()}


@pytest.mark.parametrize("noisy", [False, True])
def test_an_empty_metric_is_neither_fair_nor_unfair(tmp_path: Path, noisy: bool) -> None:
    audit = Swap(data=(rated(tmp_path),))
    cases = list(audit.cases())
    rng = np.random.default_rng(5)
    roles = ("original", "swapped", "neutral", "lost/original", "lost/swapped")
    values = {role: rng.normal(size=len(cases)) if noisy else np.full(len(cases), 0.7) for role in roles}
    judgement = audit.judge([Scored("empty", cases, values)])
    settled = settle(audit, judgement)
    assert {f.verdict for f in settled if f.slice.startswith("preference")} == {"not judged"}
    assert "not judged, a text with a word missing does not surely score lower: empty" in judgement.notes


def test_a_word_is_judged_apart_from_others(tmp_path: Path) -> None:
    """A metric that likes "he" and not "man" fails on that word alone."""
    rows = [
        {
            "id": f"{word}{number}", "hypothesis": f"{word} carries {number} heavy boxes upstairs.",
            "references": [f"Somebody carries {number} heavy boxes upstairs."],
        }
        for word in ("He", "She", "The man", "The woman")
        for number in range(15)
    ]  # fmt: skip
    path = tmp_path / "words.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settled = found(LikesHe(), path)
    verdicts = {
        name: settled[f"preference/word/{name}", "lost_words", None] for name in ("he-she", "man-woman")
    }
    assert [finding.verdict for finding in verdicts.values()] == ["fail", "pass"]
    assert verdicts["he-she"].value == pytest.approx(1.0)


@dataclass(frozen=True)
class LikesHe(Metric):
    """Shared words, and one more for "he"."""

    name: ClassVar[str] = "likes-he"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        words = [set(s.hypothesis.lower().strip(".").split()) for s in samples]
        shared = [
            len(w & set(s.references[0].lower().strip(".").split()))
            for w, s in zip(words, samples, strict=True)
        ]
        return [float(n + ("he" in w)) for n, w in zip(shared, words, strict=True)]


@pytest.mark.parametrize(("letters", "because"), [(0.0, "neither"), (-0.1, "letters")])
def test_a_preference_says_whether_letters_explain_it(tmp_path: Path, letters: float, because: str) -> None:
    """A metric that takes something for every letter prefers the shorter word, whoever it names."""
    pairs = (("He", "She"), ("The man", "The woman"), ("The son", "The daughter"), ("The boy", "The girl"))
    rows = [
        {
            "id": f"{word}{number}", "hypothesis": f"{word} carries {number} heavy boxes upstairs.",
            "references": [f"Somebody carries {number} heavy boxes upstairs."],
        }
        for pair in pairs
        for word in pair
        for number in range(12)
    ]  # fmt: skip
    path = tmp_path / "words.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settled = found(Planted(male=0.0 if letters else 0.6, letter=letters), path)
    effect = settled[WHOLE]
    assert (effect.verdict, effect.because) == ("fail", because)
    assert effect.value > 0.5
    assert effect.sentence.endswith("(explained by letters)." if letters else "the female one.")


def test_the_sentence_names_the_preferred_gender() -> None:
    sizes = [Estimate(size, 40, (size - 0.1, size + 0.1)) for size in (-0.5, 0.6)]
    whole = [Finding.of("m", "preference/both", "lost_words", size) for size in sizes]
    word = Finding.of("m", "preference/word/he-she", "lost_words", sizes[1])
    change = Finding.of("m", "example/overall", "correlation_change", Estimate(-0.2, 40, (-0.3, -0.1)))
    assert [finding.sentence for finding in settle(Swap(), Judgement([*whole, word, change]))] == [
        "m scores the female version of a text 0.50 of a lost word above the male one.",
        "m scores the male version of a text 0.60 of a lost word above the female one.",
        "m scores a text with “he” 0.60 of a lost word above the same text with “she”.",
        "The correlation of m with people (example/overall) falls by 0.2 when the genders in all texts are swapped.",
    ]


def test_the_effect_of_editing_is_not_taken_for_gender(tmp_path: Path) -> None:
    """A metric that likes texts as written looks male-biased on men's texts alone, and is not."""
    path = rated(tmp_path, men=12, women=30)
    written = frozenset(item.sample.hypothesis for item in Swap(data=(path,)).items)
    rows = found(Planted(written=0.5, original=written), path)
    assert rows["preference/male", "preference_share", ">"].value == 1.0
    assert rows["preference/female", "preference_share", ">"].value == 0.0
    assert rows[WHOLE].value == pytest.approx(0, abs=1e-9)
    assert rows[WHOLE].verdict == "pass"
    assert rows["preference/both", "edit_lost_words", None].value > 0.25


def test_one_direction_alone_has_no_verdict(tmp_path: Path) -> None:
    path = rated(tmp_path, women=0)
    assert WHOLE not in found(Planted(male=0.25), path)
    assert any("too few female texts" in note for note in Swap(data=(path,)).judge([]).notes)


def test_the_papers_rule_judges_one_direction_by_signs(tmp_path: Path) -> None:
    rows = found(Planted(male=0.25), rated(tmp_path), rule="paper")
    test = rows["preference/male", "preference_p_value", None]
    assert (test.value, test.verdict) == (pytest.approx(2 * 0.5**20), "fail")
    assert WHOLE not in rows
    assert rows["example/overall", "correlation_change", "original"].verdict == "not judged"
    fair = found(Planted(), rated(tmp_path), rule="paper")
    assert fair["preference/male", "preference_p_value", None].verdict == "pass"


def test_systems_are_correlated_with_a_curve_of_the_best(tmp_path: Path) -> None:
    rows = found(Planted(), rated(tmp_path, men=36, women=0, systems=6))
    assert rows["system/overall", "correlation_change", "original"].n == 6
    assert {key[0] for key in rows if "top-" in key[0]} == {"system/overall/top-4", "system/overall/top-5"}


def test_the_embedded_texts_tell_both_genders() -> None:
    audit = Swap(limit=80)
    cases = list(audit.cases())
    assert {case.slice for case in cases} == {"preference"}
    contents = [case.meta["content"] for case in cases]
    assert min(contents.count(gender) for gender in ("male", "female")) > 20
    assert any("preference only" in note for note in audit.judge([]).notes)


def test_both_versions_lose_the_same_word() -> None:
    for case in Swap(limit=40).cases():
        lost = []
        for role in ("original", "swapped"):
            whole = case.samples[role].hypothesis.split()
            kept = case.samples[f"lost/{role}"].hypothesis.split()
            lost.append(sum(map(len, whole)) - sum(map(len, kept)))
        assert lost[0] == lost[1] > 3


def test_word_overlap_moves_for_nobody_on_the_embedded_texts() -> None:
    rows = found("bleu", None)
    effects = [row for row in rows.values() if row.statistic == "lost_words"]
    assert {row.value for row in effects} == {0.0}
    assert {row.verdict for row in effects} == {"pass"}
    assert rows["preference/both", "flipped_decisions", None].value == 0.0


def test_pairs_are_texts_too(tmp_path: Path) -> None:
    """Of pairs that differ in gender the first text is swapped; he is judged against she."""
    rows = [
        {
            "id": f"p{n}-{who}", "stereotype": f"The clerk said {who} needed box {n} again.",
            "anti_stereotype": f"The clerk said {other} needed box {n} again.",
            "reference": f"The clerk said the clerk needed box {n} again.",
        }
        for n in range(12)
        for who, other in (("he", "she"), ("she", "he"))
    ]  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settled = found(LikesHe(), path)
    assert settled["preference/word/he-she", "lost_words", None].n == 24
    assert settled["preference/word/he-she", "lost_words", None].verdict == "fail"


def test_he_is_judged_against_she_on_the_published_pairs(shared: Path) -> None:
    rows = found("bleu", shared / "stereotype_pairs" / "gender.jsonl")
    effect = rows["preference/word/he-she", "lost_words", None]
    assert (effect.value, effect.n, effect.verdict) == (0.0, 343, "pass")


def test_bleu_does_not_move_on_flickr8k(shared: Path) -> None:
    rows = found("bleu", shared / "human" / "flickr8k_expert.jsonl", limit=250)
    assert rows["preference/male", "preference_share", "="].value == 1.0
    assert rows["example/overall/one-to-one", "correlation_change", "original"].value == 0.0
    assert rows["example/overall", "correlation_change", "original"].value == pytest.approx(0, abs=0.01)
