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

from assay.api.pipeline import run
from assay.audits.caption.audit import Caption, image_genders, outcome, read_captioners
from assay.audits.caption.concepts import outcomes_of
from assay.core import Estimate, Finding, Judgement, Metric, Sample, Scored
from assay.datasets import scenes
from assay.datasets.captions import embedded_captions, imbalanced_concepts, read_captions
from assay.datasets.ratings import Rated
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.recipe import digest
from assay.vocabulary import Need

HERE = Session.open(cache=None)
JOBS = ("baker", "miner", "nurse", "pilot")
MORE_JOBS = (*JOBS, "clerk", "judge", "tailor", "sailor", "farmer", "banker", "driver", "singer")


def noise(text: str) -> float:
    """A fixed number in [0, 1) of a text."""
    return int(digest(text)[:12], 16) / 16**12


@dataclass(frozen=True)
class Overlap(Metric):
    """Shared words; `blind` concepts are always given to the man."""

    name: ClassVar[str] = "overlap"
    blind: str = "?"

    def score(self, samples: Sequence[Sample]) -> list[float]:
        return [self._one(s.hypothesis.split(), s.references[0]) for s in samples]

    def _one(self, words: list[str], reference: str) -> float:
        if self.blind in reference:
            shared = set(words) & set(reference.split()) - {"man", "woman"}
            return len(shared) + 0.5 * ("man" in words)
        return float(len(set(words) & set(reference.split())))


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


def found(metric: Any, path: Path | None, **asked: Any) -> dict[tuple[str, str, str | None], dict[str, Any]]:
    data = {} if path is None else {"data": (path,)}
    rows = run("caption", [metric], session=HERE, **data, **asked).findings.to_dicts()
    return {(row["slice"], row["statistic"], row["versus"]): row for row in rows}


def test_a_text_metric_is_judged_over_concepts(tmp_path: Path) -> None:
    rows = found(Overlap(), table(tmp_path, MORE_JOBS))
    gap = rows["profession/nurse", "accuracy_gap", "man - woman"]
    assert (gap["value"], gap["p_value"], gap["verdict"]) == (0.0, None, "not judged")
    whole = rows["profession", "caption_gap", "man - woman"]
    assert (whole["value"], whole["n"], whole["verdict"]) == (0.0, 2 * len(MORE_JOBS), "pass")
    assert rows["profession", "neutral_tie_share", None]["value"] == 1.0
    assert rows["all", "gender_effect", "man - woman"]["value"] == 0.0
    assert rows["all", "tie_share", None]["value"] == 0.0


def test_a_planted_bias_is_found_over_concepts_never_from_one_pair_of_sentences(tmp_path: Path) -> None:
    path = table(tmp_path, MORE_JOBS)
    one = found(Overlap(blind="miner"), path)
    assert one["profession/miner", "accuracy_gap", "man - woman"]["value"] == 1.0
    assert one["profession/miner", "accuracy_gap", "man - woman"]["verdict"] == "not judged"
    assert one["all", "caption_gap", "man - woman"]["value"] == pytest.approx(1 / 12)
    assert "fail" not in {row["verdict"] for row in one.values()}
    half = found(Overlap(blind="er"), path)  # seven of the twelve names hold these letters
    gap = half["all", "caption_gap", "man - woman"]
    assert (gap["value"], gap["verdict"]) == (pytest.approx(7 / 12), "fail")
    assert half["all", "gender_effect", "man - woman"]["value"] > 0


def test_the_papers_rule_counts_one_answer_for_all_images(tmp_path: Path) -> None:
    rows = found(Overlap(blind="miner"), table(tmp_path), rule="paper")
    failed = [key[0] for key, row in rows.items() if row["verdict"] == "fail"]
    assert failed == ["profession/miner"]
    assert rows["profession/miner", "accuracy_gap", "man - woman"]["n"] == 100
    assert rows["all", "biased_share", None]["value"] == 0.25
    assert rows["all", "biased_share", "man"]["value"] == 0.25
    assert rows["all", "biased_share", "woman"]["value"] == 0.0
    assert rows["all", "biased_share", None]["verdict"] == "not judged"


def test_random_numbers_and_constants_are_insensitive() -> None:
    audit = Caption()
    cases = list(audit.cases())
    rng = np.random.default_rng(2)
    roles = dict.fromkeys(role for case in cases for role in case.samples)
    scored = [
        Scored(f"random-{number}", cases, {role: rng.normal(size=len(cases)) for role in roles})
        for number in range(4)
    ]
    texts = [{role: sample.hypothesis for role, sample in case.samples.items()} for case in cases]
    lengths = {role: np.array([float(len(text.get(role, ""))) for text in texts]) for role in roles}
    scored.append(Scored("length", cases, lengths))  # worthless texts are as long as captions
    scored.append(Scored("constant", cases, {role: np.full(len(cases), 0.5) for role in roles}))
    for answer in scored:
        verdicts = {f.verdict for f in settle(audit, audit.judge([answer]))}
        assert verdicts == {"insensitive", "not judged"}


def test_a_gap_is_reported_in_percentage_points(tmp_path: Path) -> None:
    audit = Caption(data=(table(tmp_path),))
    estimate = Estimate(-1.0, 100, (-1.0, -1.0))
    gaps = [
        Finding.of("m", slice_, "accuracy_gap", estimate, versus="man - woman")
        for slice_ in ("profession/nurse", "profession", "all")
    ]
    wrong = "m prefers the wrong gender 100 percentage points more often for the group man than for woman."
    assert [finding.sentence for finding in settle(audit, Judgement(gaps))] == [
        f"On captions about nurse, {wrong}",
        f"On captions of professions, {wrong}",
        f"On captions of all kinds, {wrong}",
    ]


def test_images_are_resampled(tmp_path: Path) -> None:
    rows = found(Picture(hard="nurse"), table(tmp_path), images=pictures(tmp_path))
    nurse = rows["profession/nurse", "accuracy_gap", "man - woman"]
    assert nurse["value"] == pytest.approx(0.5, abs=0.15)
    assert nurse["n"] == 160
    men, women = (rows["profession/nurse", "accuracy", group] for group in ("man", "woman"))
    assert men["value"] - women["value"] == pytest.approx(nurse["value"])
    assert women["ci_low"] < women["value"] < women["ci_high"]
    assert nurse["ci_low"] > 0.2
    assert nurse["q_value"] < 0.05
    assert nurse["verdict"] == "fail"
    assert rows["all", "biased_share", None]["value"] == 0.25
    others = [rows[f"profession/{job}", "accuracy_gap", "man - woman"] for job in JOBS if job != "nurse"]
    assert "fail" not in {row["verdict"] for row in others}


def test_ties_may_be_wrong_half_or_dropped() -> None:
    good, bad = np.array([1.0, 1.0, 0.0, np.nan]), np.array([0.0, 1.0, 1.0, 1.0])
    expected = {"wrong": [1, 0, 0, np.nan], "half": [1, 0.5, 0, np.nan], "drop": [1, np.nan, 0, np.nan]}
    for ties, answer in expected.items():
        np.testing.assert_array_equal(outcomes_of(good, bad, ties), answer)


def test_ties_are_counted(tmp_path: Path) -> None:
    rows = found(Overlap(blind="who"), table(tmp_path, good="a b", bad="a c"))
    assert rows["all", "tie_share", None]["value"] == 1.0


def test_few_images_or_concepts_have_no_verdict(tmp_path: Path) -> None:
    path, folder = table(tmp_path), pictures(tmp_path, 9)
    rows = found(Picture(hard="nurse"), path, images=folder)
    assert {row["verdict"] for row in rows.values()} == {"not judged"}
    assert any("too few" in note for note in Caption(data=(path,), images=folder).judge([]).notes)
    rows = found(Overlap(blind="miner"), path)  # four concepts
    assert {row["verdict"] for row in rows.values()} == {"not judged"}


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
    whole = rows["all", "biased_share", None]["n"]
    assert rows["all/without-imbalanced", "biased_share", None]["n"] < whole
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
    results = [outcome(image, gender) for image, gender in zip(both.images, both.genders[0], strict=True)]
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
    assert rows["favour", "win_share", "fiber"]["value"] == 0.0
    assert rows["favour", "win_share", "fiber"]["n"] == 2
    assert rows["favour", "mean_score", "fiber-corrected"]["value"] == 3.0


def test_gender_errors_are_reported_for_either_captioner(tmp_path: Path) -> None:
    path = captions(tmp_path, "fiber", OUTPUTS)
    frame = run("caption", [Overlap()], session=HERE, captions=(path,)).findings
    errors = frame.filter(statistic="gender_error", slice="gender/all")
    assert dict(zip(errors["metric"], errors["value"], strict=True)) == {
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
    frame = run("caption", [Overlap()], session=HERE, captions=(path,)).findings
    frame = frame.filter(metric="captioner:fiber")
    gaps = frame.filter(statistic="error_gap")
    assert dict(zip(gaps["slice"], gaps["value"], strict=True)) == {
        "gender/profession/nurse": pytest.approx(0.6),
        "gender/profession/chef": pytest.approx(-0.6),
        "gender/profession/baker": 0.0,
    }
    share = frame.filter(statistic="biased_share", slice="gender/profession")
    assert share["value"].to_list() == [pytest.approx(2 / 3)]


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
        if "few" in n
    ]
    assert note.startswith("fewer than 10 images, too few for a verdict: profession/")
    assert note.count("(2)") == 5
    assert note.endswith(" and 3 more")


def test_an_image_outside_the_data_folder_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    Pillow.new("RGB", (2, 2)).save(tmp_path / "outside.png")
    path = table(inner, image="../outside.png")
    with pytest.raises(DataError, match=r"8 of 8 images are missing .*outside"):
        read_captions(path)


def test_a_text_metric_on_images_is_not_judged_by_image(tmp_path: Path) -> None:
    rows = found(Overlap(blind="miner"), table(tmp_path), images=pictures(tmp_path, 20))
    gap = rows["profession/miner", "accuracy_gap", "man - woman"]
    assert (gap["value"], gap["verdict"]) == (1.0, "not judged")


def test_two_captioners_are_matched_by_id(tmp_path: Path) -> None:
    one, two = captions(tmp_path, "a", OUTPUTS), captions(tmp_path, "b", OUTPUTS[:3])
    with pytest.raises(DataError, match="no caption for 2 ids"):
        read_captioners([one, two])


def test_ngram_metrics_are_unbiased_on_the_release(shared: Path) -> None:
    path = shared / "published" / "pao_captions.tsv"
    rows = found("bleu", path, rule="paper")
    for category in ("profession", "activity", "object", "all"):
        assert rows[category, "biased_share", None]["value"] == 0.0
    assert sum(key[1] == "accuracy_gap" for key in rows) == 178
