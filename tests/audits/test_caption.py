"""The caption audit: planted biases by concept, ties, images, captioners, and the published table."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image as Pillow

from assay.audits.caption.audit import Caption
from assay.audits.caption.captioners import captioner_outcome, image_genders, read_captioners
from assay.audits.caption.concepts import outcomes_of
from assay.core import Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.datasets import scenes
from assay.datasets.captions import embedded_captions, imbalanced_concepts, read_captions
from assay.datasets.ratings import Rated
from assay.engine.plan import beginning, score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.names.spec import measure
from assay.recipe import digest
from assay.vocabulary import Need

JOBS = ("baker", "miner", "nurse", "pilot")
JOBS_OF_40 = (*(f"job{number}name" for number in range(39)), "nurse")
MORE_JOBS = (*JOBS, "clerk", "judge", "tailor", "sailor", "farmer", "banker", "driver", "singer")


def noise(text: str) -> float:
    """A fixed number in [0, 1) of a text."""
    return int(digest(text)[:12], 16) / 16**12


@dataclass(frozen=True)
class Overlap(Metric):
    """Shared words, and a bonus for "man"; `blind` concepts are always given to the man."""

    name: ClassVar[str] = "overlap"
    blind: str = "?"
    bonus: float = 0.0

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(s.hypothesis.split(), s.references[0]) for s in samples]

    def _one(self, words: list[str], reference: str) -> float:
        if self.blind in reference:
            shared = set(words) & set(reference.split()) - {"man", "woman"}
            return len(shared) + 0.5 * ("man" in words)
        return len(set(words) & set(reference.split())) + self.bonus * ("man" in words)


@dataclass(frozen=True)
class Picture(Metric):
    """Looks at the image alone: right on most, but on `hard` concepts wrong for women six times in ten."""

    name: ClassVar[str] = "picture"
    needs: ClassVar[frozenset[Need]] = frozenset({"image"})
    hard: str = "?"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> float:
        assert sample.image is not None
        _, concept, group, name = Path(sample.image.path).parts[-4:]
        errs = 0.6 if concept == self.hard and group == "woman" else 0.1
        seen = group if noise(concept + group + name) >= errs else {"man": "woman", "woman": "man"}[group]
        return float(seen in sample.hypothesis.split())


def table(tmp_path: Path, jobs: Sequence[str] = JOBS, **more: Any) -> Path:
    rows = [
        {
            "group": group, "category": "profession", "concept": job, "count": 50,
            "good": f"a {group} who is a {job}", "bad": f"a {other} who is a {job}",
            "references": [f"a photo of a {group} who is a {job}"],
        } | more
        for job in jobs
        for group, other in (("man", "woman"), ("woman", "man"))
    ]  # fmt: skip
    path = tmp_path / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def pictures(tmp_path: Path, n: int = 80) -> Path:
    for job in JOBS:
        for group in ("man", "woman"):
            folder = tmp_path / "images" / "profession" / job / group
            folder.mkdir(parents=True)
            for number in range(n):
                colour = tuple(digest(f"{job}{group}{number}").encode()[:3])
                Pillow.new("RGB", (2, 2), colour).save(folder / f"{number}.png")
    return tmp_path / "images"


Rows = dict[tuple[str, str, str | None], Finding]
MEN_WOMEN = "man - woman"


def settled(metric: Any, audit: Caption) -> list[Finding]:
    """The settled findings of one metric."""
    with Session.open(cache=None) as session:
        work = {"caption": list(audit.cases())}
        scored, *_ = score_all({"caption": audit}, work, [measure(metric)], session)
    return settle(audit, audit.judge(scored["caption"]))


def found(metric: Any, path: Path | None, **options: Any) -> Rows:
    """The settled findings of one metric by slice, statistic and versus."""
    audit = Caption(**options) if path is None else Caption(data=(path,), **options)
    return {(row.slice, row.statistic, row.versus): row for row in settled(metric, audit)}


def test_a_text_metric_is_judged_over_concepts(tmp_path: Path) -> None:
    rows = found(Overlap(), table(tmp_path, JOBS_OF_40))
    gap = rows["profession/nurse", "accuracy_gap", MEN_WOMEN]
    assert (gap.value, gap.verdict) == (0.0, "not judged")
    assert ("profession/nurse", "order_difference", MEN_WOMEN) not in rows
    for statistic in ("lost_words", "neutral_lost_words"):
        whole = rows["profession", statistic, MEN_WOMEN]
        assert (whole.value, whole.n, whole.verdict) == (0.0, 40, "pass")
    order = rows["profession", "order_difference", MEN_WOMEN]
    assert (order.value, order.n, order.verdict) == (0.0, 80, "pass")
    assert rows["all", "wrong_group_cost", "man"].value == pytest.approx(1.0)
    assert rows["all", "tie_share", None].value == 0.0


def test_few_concepts_rule_nothing_out(tmp_path: Path) -> None:
    """No error in 14 concepts leaves 21 errors in 100 possible: the rule of three."""
    rows = found(Overlap(), table(tmp_path, JOBS_OF_40[:14]))
    order = rows["all", "order_difference", MEN_WOMEN]
    assert order.verdict == "inconclusive"
    assert order.ci == (pytest.approx(-21.5, abs=0.1), pytest.approx(21.5, abs=0.1))


def test_a_planted_bias_is_found_over_concepts_never_from_one_pair_of_sentences(tmp_path: Path) -> None:
    path = table(tmp_path, MORE_JOBS)
    one = found(Overlap(blind="miner"), path)
    assert one["profession/miner", "accuracy_gap", MEN_WOMEN].value == 1.0
    assert one["all", "order_difference", MEN_WOMEN].value == pytest.approx(100 / 12)
    assert "fail" not in {row.verdict for row in one.values()}
    half = found(Overlap(blind="er"), path)  # seven of the twelve names hold these letters
    order = half["all", "order_difference", MEN_WOMEN]
    assert (order.value, order.verdict) == (pytest.approx(700 / 12), "fail")
    assert len(order.evidence) == 5
    assert all("/woman" in case for case in order.evidence)


@pytest.mark.parametrize(("size", "verdict"), [(0.6, "fail"), (0.1, "pass"), (-0.6, "fail")])
def test_a_word_that_scores_higher_is_found_at_its_size(tmp_path: Path, size: float, verdict: str) -> None:
    """One shared word is worth 1, which is what a lost word costs."""
    rows = found(Overlap(bonus=size), table(tmp_path, JOBS_OF_40))
    for statistic in ("lost_words", "neutral_lost_words"):
        effect = rows["all", statistic, MEN_WOMEN]
        assert (effect.value, effect.verdict) == (pytest.approx(size), verdict)
    costs = {group: rows["all", "wrong_group_cost", group].value for group in ("man", "woman")}
    assert costs == {"man": pytest.approx(1 + size), "woman": pytest.approx(1 - size)}
    assert rows["all", "order_difference", MEN_WOMEN].value == 0.0  # the right one still wins


def test_the_papers_rule_counts_one_answer_for_all_images(tmp_path: Path) -> None:
    rows = found(Overlap(blind="miner"), table(tmp_path), rule="paper")
    failed = [key[:2] for key, row in rows.items() if row.verdict == "fail"]
    assert failed == [("profession/miner", "gap_p_value")]
    assert rows["profession/miner", "accuracy_gap", MEN_WOMEN].n == 100
    assert rows["all", "biased_share", None].value == 0.25
    assert rows["all", "biased_share", "man"].value == 0.25
    assert rows["all", "biased_share", "woman"].value == 0.0
    assert rows["all", "biased_share", None].verdict == "not judged"


def test_random_numbers_and_constants_are_not_judged() -> None:
    audit = Caption()
    cases = list(audit.cases())
    rng = np.random.default_rng(2)
    roles = dict.fromkeys(role for case in cases for role in case.samples)
    scored = [
        Scored(f"random-{number}", cases, {role: rng.normal(size=len(cases)) for role in roles})
        for number in range(4)
    ]
    scored.append(Scored("constant", cases, {role: np.full(len(cases), 0.5) for role in roles}))
    for answer in scored:
        judgement = audit.judge([answer])
        assert {finding.verdict for finding in settle(audit, judgement)} == {"not judged"}
        assert any("does not surely score lower" in note for note in judgement.notes)


def test_whoever_always_takes_the_man_fails(tmp_path: Path) -> None:
    """Right in half of all cases, like a coin, but never for a woman."""
    rows = found(Overlap(blind="photo"), table(tmp_path, JOBS_OF_40))
    order = rows["all", "order_difference", MEN_WOMEN]
    assert (order.value, order.verdict) == (100.0, "fail")


def test_any_beginning_of_the_cases_holds_many_concepts_with_both_groups() -> None:
    work = {"caption": list(Caption().cases())}
    read = beginning(measure("bertscore-f"), {"caption": Caption()}, work)["caption"]
    for category, concepts in (("profession", 40), ("activity", 40), ("object", 39)):
        cases = [case for case in read if case.slice == category]
        groups = [case.meta["group"] for case in cases]
        assert len({case.meta["concept"] for case in cases}) == concepts
        assert groups.count("man") == groups.count("woman") == 40
        assert len({case.meta["frame"] for case in cases}) == 8


def test_a_difference_is_told_in_words(tmp_path: Path) -> None:
    audit = Caption(data=(table(tmp_path),))
    estimate = Estimate(-40.0, 100, (-50.0, -30.0))
    places = ("profession/nurse", "profession", "all")
    orders = [Finding.of("m", slice_, "order_difference", estimate, versus=MEN_WOMEN) for slice_ in places]
    wrong = "m prefers the wrong group in 40 more of 100 cases for the group man than for woman."
    assert [finding.sentence for finding in settle(audit, Judgement(orders))] == [
        f"On captions about nurse, {wrong}",
        f"On captions of professions, {wrong}",
        f"On captions of all kinds, {wrong}",
    ]
    effect = Finding.of("m", "all", "neutral_lost_words", Estimate(0.5, 9, (0.4, 0.6)), versus=MEN_WOMEN)
    assert settle(audit, Judgement([effect]))[0].sentence == (
        "On captions of all kinds, m scores those that name the group man 0.50 of a lost word above those that "
        "name woman although the references name neither."
    )


def test_images_are_resampled(tmp_path: Path) -> None:
    rows = found(Picture(hard="nurse"), table(tmp_path), images=pictures(tmp_path))
    nurse = rows["profession/nurse", "order_difference", MEN_WOMEN]
    assert nurse.value == pytest.approx(50, abs=15)
    assert (nurse.n, nurse.verdict) == (160, "fail")
    men, women = (rows["profession/nurse", "accuracy", group] for group in ("man", "woman"))
    gap = rows["profession/nurse", "accuracy_gap", MEN_WOMEN]
    assert men.value - women.value == pytest.approx(gap.value) == pytest.approx(nurse.value / 100)
    for estimate in (men, women, gap):
        assert estimate.ci is not None
        assert estimate.ci[0] < estimate.value < estimate.ci[1]
        assert estimate.verdict == "not judged"
    assert rows["all", "biased_share", None].value == 0.25
    others = [rows[f"profession/{job}", "order_difference", MEN_WOMEN] for job in JOBS if job != "nurse"]
    assert "fail" not in {row.verdict for row in others}


def test_the_papers_rule_tests_each_concept_over_its_images(tmp_path: Path) -> None:
    options: dict[str, Any] = {"images": pictures(tmp_path), "rule": "paper"}
    rows = found(Picture(hard="nurse"), table(tmp_path), **options)
    tests = {job: rows[f"profession/{job}", "gap_p_value", MEN_WOMEN] for job in JOBS}
    assert [job for job in JOBS if tests[job].verdict == "fail"] == ["nurse"]
    assert tests["nurse"].value < 0.05


def test_ties_may_be_wrong_half_or_dropped() -> None:
    good, bad = np.array([1.0, 1.0, 0.0, np.nan]), np.array([0.0, 1.0, 1.0, 1.0])
    expected = {"wrong": [1, 0, 0, np.nan], "half": [1, 0.5, 0, np.nan], "drop": [1, np.nan, 0, np.nan]}
    for ties, answer in expected.items():
        np.testing.assert_array_equal(outcomes_of(good, bad, ties), answer)


def test_ties_are_counted(tmp_path: Path) -> None:
    rows = found(Overlap(blind="who"), table(tmp_path, good="a b", bad="a c"))
    assert rows["all", "tie_share", None].value == 1.0


def test_few_images_pass_nobody(tmp_path: Path) -> None:
    path, folder = table(tmp_path), pictures(tmp_path, 9)
    rows = found(Picture(), path, images=folder)
    assert "pass" not in {row.verdict for row in rows.values() if row.statistic == "order_difference"}
    assert ("all", "biased_share", None) not in rows
    notes = Caption(data=(path,), images=folder).judge([]).notes
    assert any("not counted among biased concepts" in note for note in notes)


def test_missing_images_are_listed_and_skipped_only_when_asked(tmp_path: Path) -> None:
    path = table(tmp_path, image="nowhere.png")
    with pytest.raises(DataError, match="8 of 8 images are missing"):
        read_captions(path)
    folder = pictures(tmp_path, 2)
    for picture in (folder / "profession" / "baker" / "man").iterdir():
        picture.unlink()
    plain = table(tmp_path)
    with pytest.raises(DataError, match="profession/baker/man"):
        list(Caption(data=(plain,), images=folder).cases())
    audit = Caption(data=(plain,), images=folder, skip_missing=True)
    assert len(list(audit.cases())) == 14
    assert any("1 captions left out" in note for note in audit.judge([]).notes)


def test_one_group_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(
        json.dumps({"group": "man", "concept": "x", "good": "a", "bad": "b", "references": ["a"]})
    )
    with pytest.raises(DataError, match="two groups"):
        list(Caption(data=(path,)).cases())


def test_robustness_checks_leave_concepts_out() -> None:
    assert len(imbalanced_concepts()) == 15
    rows = found(Overlap(), None, rule="paper")
    whole = rows["all", "biased_share", None].n
    assert rows["all/without-imbalanced", "biased_share", None].n < whole
    concepts = {(one.category, one.concept) for one in embedded_captions()}
    assert len(concepts) == 179


def captions(tmp_path: Path, name: str, texts: Sequence[tuple[str, str]]) -> Path:
    path = tmp_path / f"{name}.jsonl"
    rows = [
        {"id": str(n), "hypothesis": text, "references": [f"a {who} walks", "someone walks outside"]}
        for n, (who, text) in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


OUTPUTS = [
    ("woman", "a man walks"),
    ("woman", "a woman walks"),
    ("man", "a woman walks"),
    ("man", "a person walks"),
    ("woman", "a man and a woman walk"),
]


def test_gender_errors_are_counted_and_corrected_by_rule(tmp_path: Path) -> None:
    both = read_captioners([captions(tmp_path, "fiber", OUTPUTS)])
    assert both.names == ("fiber", "fiber-corrected")
    results = [
        captioner_outcome(image, gender) for image, gender in zip(both.images, both.genders[0], strict=True)
    ]
    assert results == ["wrong", "right", "wrong", "neutral", "both"]
    assert [one.sample.hypothesis for one in both.second][:3] == [
        "a woman walks",
        "a woman walks",
        "a man walks",
    ]
    assert both.second[4] == both.first[4]


def test_images_with_both_genders_have_none() -> None:
    items = [
        Rated("a", Sample("x", ("a man and a dog", "a woman and a dog"))),
        Rated("b", Sample("x", ("a dog", "a boy and a dog"))),
        Rated("c", Sample("x", ("a dog",))),
        Rated("d", Sample("x", ("a dog",)), meta={"group": "woman"}),
    ]
    assert image_genders(items) == ["both", "male", "neutral", "female"]


def test_a_metric_favours_the_better_captioner(tmp_path: Path) -> None:
    rows = found(Overlap(), None, captions=(captions(tmp_path, "fiber", OUTPUTS),))
    assert rows["favour", "win_share", "fiber"].value == 0.0
    assert rows["favour", "win_share", "fiber"].n == 2
    assert rows["favour", "mean_score", "fiber-corrected"].value == 3.0


def test_gender_errors_are_reported_for_either_captioner(tmp_path: Path) -> None:
    path = captions(tmp_path, "fiber", OUTPUTS)
    rows = settled(Overlap(), Caption(captions=(path,)))
    errors = {
        row.metric: row.value for row in rows if (row.slice, row.statistic) == ("gender/all", "gender_error")
    }
    assert errors == {
        "captioner:fiber": pytest.approx(0.4),
        "captioner:fiber-corrected": 0.0,
    }


def test_opposite_biases_of_a_captioner_are_seen_by_concept(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"{concept}-{group}-{n}", "group": group, "category": "profession", "concept": concept,
            "hypothesis": f"a {other if group == erring and n % 5 < 3 else group} works", "references": ["work"],
        }
        for concept, erring in (("nurse", "man"), ("chef", "woman"), ("baker", "nobody"))
        for group, other in (("man", "woman"), ("woman", "man"))
        for n in range(30)
    ]  # fmt: skip
    path = tmp_path / "fiber.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    findings = [f for f in settled(Overlap(), Caption(captions=(path,))) if f.metric == "captioner:fiber"]
    assert {f.slice: f.value for f in findings if f.statistic == "error_gap"} == {
        "gender/profession/nurse": pytest.approx(0.6),
        "gender/profession/chef": pytest.approx(-0.6),
        "gender/profession/baker": 0.0,
    }
    place = ("gender/profession", "biased_share")
    assert [f.value for f in findings if (f.slice, f.statistic) == place] == [pytest.approx(2 / 3)]


def test_captions_without_gender_words_are_refused_and_named(tmp_path: Path) -> None:
    path = captions(tmp_path, "mute", [("man", "a person walks")] * 12)
    with pytest.raises(DataError, match="captioner mute: none of 12 captions names one gender"):
        list(Caption(captions=(path,)).cases())


def test_a_captioner_of_the_rendered_world_is_judged_by_concept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    course = scenes.captioner_course() | {"pictures": 60, "steps": 2}
    monkeypatch.setattr(scenes, "captioner_course", lambda: course)
    monkeypatch.setattr("assay.models.captioner.Captioner.best", lambda self, inputs: ["a man"] * len(inputs))
    audit = Caption(scenes=10, captioner=True)
    assert len([case for case in audit.cases() if case.meta["kind"] == "favour"]) == 52 * 10  # every woman
    findings = {(f.metric, f.slice, f.statistic): f.value for f in audit.judge([]).findings}
    assert findings["captioner:scenes", "gender/female", "gender_error"] == 1.0
    assert findings["captioner:scenes-corrected", "gender/all", "gender_error"] == 0.0
    assert findings["captioner:scenes", "gender/profession/nurse", "error_gap"] == -1.0
    assert findings["captioner:scenes", "gender/object", "biased_share"] == 1.0
    with pytest.raises(DataError, match="--captioner describes the pictures of --scenes"):
        list(Caption(captioner=True).cases())


def png_of(size: int) -> bytes:
    """A small file that says it holds `size` times `size` pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", size, size, 1, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0" * 99)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_unreadable_images_are_named_and_left_out_only_when_asked(tmp_path: Path) -> None:
    folder = pictures(tmp_path, 2)
    (folder / "profession" / "baker" / "man" / "0.png").write_bytes(b"no picture")
    bomb = folder / "profession" / "baker" / "woman" / "0.png"
    bomb.write_bytes(png_of(20_000))
    plain = table(tmp_path)
    with pytest.raises(DataError, match=r"2 images cannot be read .*is not an image.*too large an image"):
        list(Caption(data=(plain,), images=folder).cases())
    audit = Caption(data=(plain,), images=folder, skip_missing=True)
    assert len(list(audit.cases())) == 14
    assert any("2 images left out, cannot be read" in note for note in audit.judge([]).notes)


def test_a_note_on_small_groups_names_a_few(tmp_path: Path) -> None:
    [note] = [
        n
        for n in Caption(data=(table(tmp_path),), images=pictures(tmp_path, 2)).judge([]).notes
        if "fewer" in n
    ]
    assert note.startswith("fewer than 10 images, not counted among biased concepts: profession/")
    assert note.count("(2)") == 5
    assert note.endswith(" and 3 more")


def test_an_image_outside_the_data_folder_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    Pillow.new("RGB", (2, 2)).save(tmp_path / "outside.png")
    path = table(inner, image="../outside.png")
    with pytest.raises(DataError, match="lies outside the data folder"):
        read_captions(path)


def test_a_text_metric_on_images_is_not_judged_by_image(tmp_path: Path) -> None:
    rows = found(Overlap(blind="miner"), table(tmp_path), images=pictures(tmp_path, 20))
    assert rows["profession/miner", "accuracy_gap", MEN_WOMEN].value == 1.0
    assert ("profession/miner", "order_difference", MEN_WOMEN) not in rows
    assert ("profession", "order_difference", MEN_WOMEN) in rows


def test_two_captioners_are_matched_by_id(tmp_path: Path) -> None:
    one, two = captions(tmp_path, "a", OUTPUTS), captions(tmp_path, "b", OUTPUTS[:3])
    with pytest.raises(DataError, match="no caption for 2 ids"):
        read_captioners([one, two])


def test_ngram_metrics_are_unbiased_on_the_release(shared: Path) -> None:
    path = shared / "published" / "pao_captions.tsv"
    rows = found("bleu", path, rule="paper")
    for category in ("profession", "activity", "object", "all"):
        assert rows[category, "biased_share", None].value == 0.0
    assert sum(key[1] == "accuracy_gap" for key in rows) == 178
