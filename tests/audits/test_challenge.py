"""Challenge sets: planted metrics, other tools' columns, and bad rows."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from planted_decisions import Constant, MeanReader, Reader, Stretched, asked, table, written

from assay.audits.challenge import Challenge
from assay.core import Metric
from assay.datasets.challenges import read_choices
from assay.datasets.kinds import describe_data
from assay.errors import DataError

KINDS = {"number": ("minor", "slightly"), "negation": ("critical", "fatally")}


def _row(number: int, kind: str) -> dict[str, object]:
    severity, flaw = KINDS[kind]
    text = " ".join(f"w{number}x{place}" for place in range(6))
    return {
        "id": number, "good": text, "bad": f"{text} {flaw}", "references": [f"{text} too"],
        "source": f"about {number}", "kind": kind, "severity": severity,
    }  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "set.jsonl", [_row(number, kind) for number in range(40) for kind in KINDS])


def test_right_order_is_told_by_kind_by_severity_and_overall(data: Path) -> None:
    found = asked(Challenge((data,)), Reader())
    order = table(found, "right_order")
    assert {slice_: (f.value, f.n, f.verdict) for slice_, f in order.items()} == {
        "set/negation": (100.0, 40, "pass"), "set/number": (100.0, 40, "pass"),
    }  # fmt: skip
    means = table(found, "mean_right_order")
    assert {slice_: f.n for slice_, f in means.items()} == {
        "set/all": 80, "set/severity/minor": 40, "set/severity/critical": 40,
    }  # fmt: skip
    assert table(found, "severity_order")["set/severity"].verdict == "pass"


def test_blindness_to_one_kind_is_found_there_alone(data: Path) -> None:
    @dataclass(frozen=True)
    class Prefers(Metric):
        """Minds negation, likes a wrong number."""

        name = "prefers"

        def score(self, samples):
            return [("slightly" in s.hypothesis) - ("fatally" in s.hypothesis) for s in samples]

    order = table(asked(Challenge((data,)), Prefers()), "right_order")
    assert {slice_: f.verdict for slice_, f in order.items()} == {
        "set/negation": "pass",
        "set/number": "fail",
    }
    number = order["set/number"]
    assert number.sentence == (
        "prefers prefers one with an error of the kind “number” to a good text (set) in 100 of 100 cases."
    )
    assert len(number.evidence) == 5


def test_a_constant_is_a_coin_and_a_transformation_changes_nothing(data: Path) -> None:
    audit = Challenge((data,))
    assert {f.value for f in asked(audit, Constant())} == {50.0}
    plain, stretched = (
        [(f.slice, f.statistic, f.value, f.ci, f.verdict) for f in asked(audit, metric)]
        for metric in (Reader(), Stretched())
    )
    assert plain == stretched
    sets = table(asked(audit, MeanReader()), "right_order")
    assert {f.verdict for f in sets.values()} == {"pass"}


def test_pairs_of_one_text_count_as_one_observation(tmp_path: Path) -> None:
    rows = [_row(0, "number") | {"id": number, "bad": f"slightly {number}"} for number in range(50)]
    found = asked(Challenge((written(tmp_path / "same.jsonl", rows),)), Reader())
    low, high = table(found, "right_order")["same/number"].ci
    assert high - low > 50


def test_columns_of_other_tools_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "aces.tsv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(
            ["source", "good-translation", "incorrect-translation", "reference", "phenomena", "langpair"]
        )
        writer.writerow(
            ["Er kam.", "He came.", "He did not come.", "He arrived.", "Addition / Negation", "de-en"]
        )
    (choice,) = read_choices(path)
    assert (choice.good.hypothesis, choice.bad.hypothesis) == ("He came.", "He did not come.")
    assert (choice.good.references, choice.good.source) == (("He arrived.",), "Er kam.")
    assert (choice.kind, choice.severity) == ("addition---negation", "")
    assert describe_data(path).kinds == {"challenge"}

    folder = tmp_path / "demetr"
    folder.mkdir()
    for kind in ("critical_id8_negation", "minor_id15_case"):
        entry = {
            "id": 7, "src_sent": "Er kam.", "eng_sent": "He arrived.", "mt_sent": "He came.",
            "pert_sent": "he came.", "severity": kind.partition("_")[0], "pert_name": kind,
        }  # fmt: skip
        (folder / f"{kind}.json").write_text(json.dumps([entry]))
    choices = read_choices(folder)
    assert [choice.kind for choice in choices] == ["critical_id8_negation", "minor_id15_case"]
    assert [choice.severity for choice in choices] == ["critical", "minor"]
    assert len({choice.cluster for choice in choices}) == 1


def test_captions_by_group_are_not_taken_for_a_challenge(tmp_path: Path) -> None:
    row = {"group": "female", "concept": "nurse", "good": "A nurse.", "bad": "A man."}
    assert describe_data(written(tmp_path / "captions.jsonl", [row])).kinds == {"captions"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"bad": None}, r"line 2: column 'bad' must be text"),
        ({"good": " "}, r"line 2: column 'good' is empty"),
        ({"severity": "grave"}, r"line 2: column 'severity': 'grave' is none of minor, major, critical"),
        ({"references": [1]}, r"line 2: column 'references' must be a list of texts"),
        ({"id": 0}, r"id '0' belongs to more than one pair of a kind"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    path = written(tmp_path / "bad.jsonl", [_row(0, "number"), _row(1, "number") | change])
    with pytest.raises(DataError, match=problem):
        list(Challenge((path,)).cases())


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="columns good and bad"):
        list(Challenge().cases())
    path = written(tmp_path / "set.jsonl", [{"good": "a", "worse": "b"}])
    with pytest.raises(DataError, match=r"column 'bad' is missing; its columns are good, worse"):
        list(Challenge((path,)).cases())
    rows = [_row(0, "number"), _row(1, "number") | {"bad": ""}, {"good": "same", "bad": "same"}]
    audit = Challenge((written(tmp_path / "few.jsonl", rows),))
    assert len(list(audit.cases())) == 1
    assert audit.judge([]).notes == ["few: 2 of 3 pairs left out: the bad text is empty, or is the good one"]
    with pytest.raises(DataError, match=r"unknown kind 'numbre'; did you mean number\?"):
        list(Challenge((path.with_name("few.jsonl"),), only=("numbre",)).cases())


def test_kinds_that_differ_in_one_letter_are_named(tmp_path: Path) -> None:
    rows = [
        _row(0, "number"),
        _row(1, "number"),
        _row(2, "number") | {"kind": "nubmer"},
        _row(3, "number") | {"kind": "omission"},
    ]
    rows += [_row(4, "number") | {"kind": f"level-{level}"} for level in (1, 2)]
    audit = Challenge((written(tmp_path / "own.jsonl", rows),))
    assert audit.judge([]).notes == ["own: kinds that differ in one letter, misspelt? nubmer and number"]
