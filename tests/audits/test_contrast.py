"""Far right against near wrong: planted metrics, a user's rows, and bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted_decisions import Constant, MeanReader, Reader, Stretched, WordCount, asked, table, written

from assay.audits.contrast import KINDS, Contrast
from assay.core import Case
from assay.datasets.kinds import describe_data
from assay.engine.cache import ScoreCache
from assay.engine.kept import cases_of
from assay.errors import DataError

SEVERITIES = {"minor": "slightly", "major": "badly", "critical": "fatally"}


def _row(number: int) -> dict[str, object]:
    severity = list(SEVERITIES)[number % 3]
    words = [f"w{number}x{place}" for place in range(10)]
    return {
        "id": f"i{number}",
        "gold": " ".join(words),
        "references": [" ".join([*words, "too"])],
        "source": f"about {number}",
        "task": "translation",
        "reworded": [
            " ".join([*words[:9], "near"]),
            " ".join(f"other{number}x{place}" for place in range(10)),
        ],
        "wrong": {
            "text": " ".join([*words[:9], SEVERITIES[severity]]),
            "kind": ("number", "made up/added")[number % 2],
            "severity": severity,
        },
        "candidates": {"better": f"{words[0]} slightly", "worse": f"{words[0]} fatally"},
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "own.jsonl", [_row(number) for number in range(60)])


def test_a_metric_that_reads_is_right_and_one_that_counts_words_is_wrong(data: Path) -> None:
    audit = Contrast((data,))
    reader = asked(audit, Reader())
    order = table(reader, "right_order")
    assert set(order) == {"own/contrast", "own/candidates", "all/number", "all/made-up-added"}
    assert {finding.value for finding in order.values()} == {100.0}
    assert {finding.verdict for finding in order.values()} == {"pass"}
    assert order["own/contrast"].n == 60
    assert order["all/number"].n == 30

    words = asked(audit, WordCount())
    order = table(words, "right_order")
    assert order["own/contrast"].value == 0.0
    assert order["own/contrast"].verdict == "fail"
    sentence = order["all/number"].sentence
    assert sentence.startswith(
        "word-count prefers a false text in nearly the same words (number) to a right text"
    )
    assert set(order["own/contrast"].evidence) <= {case.id for case in audit.cases()}
    assert table(words, "right_order_clean")["own/contrast"].value == 100.0  # the error itself is noticed
    assert (
        table(words, "right_order_reworded")["own/contrast"].value == 50.0
    )  # one word of ten is unknown in both
    assert table(reader, "right_order_reworded")["own/contrast"].value == 100.0


def test_graver_errors_must_cost_more(data: Path) -> None:
    audit = Contrast((data,))
    found = {
        kind: table(asked(audit, Reader(kind)), "severity_order") for kind in ("reader", "light", "blind")
    }
    assert {kind: rows["own/severity"].verdict for kind, rows in found.items()} == {
        "reader": "pass", "light": "fail", "blind": "inconclusive",
    }  # fmt: skip
    assert found["reader"]["all/severity"].value == pytest.approx(100.0, abs=8)
    assert found["light"]["all/severity"].sentence.startswith(
        "reader minds graver errors less than lighter ones"
    )


def test_a_constant_is_a_coin_and_a_transformation_changes_nothing(data: Path) -> None:
    audit = Contrast((data,))
    found = asked(audit, Constant())
    assert {f.value for f in found} == {50.0}
    plain, stretched = (
        [(f.slice, f.statistic, f.value, f.ci, f.verdict) for f in asked(audit, metric)]
        for metric in (Reader(), Stretched())
    )
    assert plain == stretched


def test_the_example_is_the_wrong_text_nearest_to_a_reference(tmp_path: Path) -> None:
    rows = [_row(number) for number in range(20)]
    for row in rows[:19]:
        row["references"] = ["quite another reference"]
    order = table(asked(Contrast((written(tmp_path / "own.jsonl", rows),)), WordCount()), "right_order")
    assert "i19" in order["own/contrast"].evidence[0]


def test_a_set_metric_is_asked_by_task(data: Path) -> None:
    order = table(asked(Contrast((data,)), MeanReader()), "right_order")
    assert {slice_: finding.verdict for slice_, finding in order.items()} == {
        "own/contrast": "pass", "own/candidates": "pass",
    }  # fmt: skip


def test_one_reference_is_held_out_and_rows_without_texts_are_counted(tmp_path: Path) -> None:
    rows = [_row(number) for number in range(20)]
    for row in rows:
        row["references"] = [*row["references"], "another reference"]  # type: ignore[misc]
    for row in rows[:5]:
        del row["wrong"]
    rows[5]["wrong"] = {"text": rows[5]["gold"]}
    for row in rows[:3]:
        del row["candidates"]
    rows[3]["candidates"] = {"better": "same", "worse": "same"}
    audit = Contrast((written(tmp_path / "own.jsonl", rows),))
    cases = list(audit.cases())
    assert [len(_of(cases, part)) for part in ("contrast", "candidates")] == [14, 16]
    assert all(len(sample.references) == 1 for case in cases for sample in case.samples.values())
    notes = audit.judge([]).notes
    assert notes == [
        "own: 6 of 20 items left out: no reworded and wrong text, or the same text twice",
        "own: 4 of 20 items left out: no candidates, or the same text twice",
        "own: kinds of error of your own, with rows of their own: made-up-added; known: entity, hallucination, "
        "negation, number, omission, place, relation, role, time",
    ]


def test_a_rewording_that_is_the_text_itself_is_no_contrast(tmp_path: Path) -> None:
    rows = [_row(number) for number in range(20)]
    for row in rows[:7]:
        row["reworded"] = [f" {row['gold']} "]
    audit = Contrast((written(tmp_path / "own.jsonl", rows),))
    assert len(_of(list(audit.cases()), "contrast")) == 13
    assert (
        "own: 7 of 20 items left out: no reworded and wrong text, or the same text twice"
        in audit.judge([]).notes
    )


def test_a_misspelt_kind_is_named(tmp_path: Path) -> None:
    rows = [_row(number) for number in range(20)]
    for number, row in enumerate(rows):
        row["wrong"] = {"text": row["wrong"]["text"], "kind": "entty" if number == 3 else "entity"}  # type: ignore[index]
    notes = Contrast((written(tmp_path / "own.jsonl", rows),)).judge([]).notes
    assert notes == ["own: kinds of error of your own, with rows of their own: entty; did you mean entity?"]


def test_the_embedded_texts_have_the_known_kinds() -> None:
    cases = [case for case in Contrast().cases() if case.slice.endswith("/contrast")]
    assert {case.meta["kind"] for case in cases} == set(KINDS)


def _of(cases: list[Case], part: str) -> list[Case]:
    return [case for case in cases if case.slice.endswith(part)]


def test_files_without_such_texts_are_refused_with_what_they_need(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.jsonl", [{"gold": "a text", "references": ["a text too"]}])
    with pytest.raises(
        DataError, match=r"contrast found nothing to score.*`reworded` and `wrong`, or `candidates`"
    ):
        cases_of(Contrast((plain,)), ScoreCache(None))
    assert "contrasts" not in describe_data(plain).kinds
    rows = [_row(0), _row(1) | {"wrong": {"text": "w", "severity": "grave"}}]
    bad = written(tmp_path / "bad.jsonl", rows)
    assert {"contrasts", "records"} <= describe_data(bad).kinds
    with pytest.raises(
        DataError, match=r"bad.jsonl, line 2: severity 'grave' is none of minor, major, critical"
    ):
        list(Contrast((bad,)).cases())


def test_every_task_with_references_has_its_texts() -> None:
    slices = {case.slice for case in Contrast(limit=10).cases()}
    tasks = {
        "translation",
        "summarisation",
        "dialogue",
        "question-generation",
        "image-captioning",
        "data-to-text",
    }
    assert slices == {f"{task}/{part}" for task in tasks for part in ("contrast", "candidates")}
