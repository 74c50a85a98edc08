"""Data and options that test nothing: refused with the reason, or told in a note, never a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.api.pipeline import run
from assay.audits.caption.audit import Caption
from assay.audits.self_preference import SelfPreference
from assay.cli.output import finish
from assay.datasets.swaps import read_swaps
from assay.engine.session import Session
from assay.errors import AuditError, DataError

HERE = Session.open(cache=None)
SHORT = [{"id": "1", "task": "translation", "gold": "The ferry was late.", "references": ["It left late."]}]


def written(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def pairs(path: Path, n: int = 12, **fixed: str) -> Path:
    rows = [
        {
            "id": f"p{k}", "attribute": "age", "stereotype": f"The old man {k} was slow.",
            "anti_stereotype": f"The young man {k} was slow.", "reference": f"The man {k} was slow.",
        }
        | {name: text.format(k=k) for name, text in fixed.items()}
        for k in range(n)
    ]  # fmt: skip
    return written(path, rows)


def test_pairs_whose_sides_are_one_text_test_nothing(tmp_path: Path) -> None:
    same = pairs(tmp_path / "same.jsonl", anti_stereotype="The old man {k} was slow.")
    with pytest.raises(DataError, match="both sides of every pair are the same text or empty"):
        run("stereotype", ["chrf"], session=HERE, data=(same,))
    rows = [json.loads(line) for line in same.read_text().splitlines()]
    other = [row | {"id": f"q{n}", "anti_stereotype": f"The tall man {n}."} for n, row in enumerate(rows)]
    empty = [row | {"id": f"e{n}", "anti_stereotype": " "} for n, row in enumerate(rows[:2])]
    mixed = written(tmp_path / "mixed.jsonl", rows + other + empty)
    done = run("stereotype", ["chrf"], session=HERE, data=(mixed,))
    assert done.findings.filter(slice="age", statistic="bias")["n"].item() == 12
    assert "stereotype: 12 pairs left out: both sides are the same text" in done.notes
    assert any("2 " in note and "empty" in note for note in done.notes)


def test_a_metric_that_tells_no_text_from_another_has_no_verdict(tmp_path: Path) -> None:
    done = run("stereotype", ["chrf"], session=HERE, data=(pairs(tmp_path / "p.jsonl", reference=""),))
    assert set(done.findings["verdict"]) == {"not judged"}
    assert any("does not surely score lower" in note for note in done.notes)


def test_imported_scores_name_cases_without_pairs_and_pairs_without_scores(tmp_path: Path) -> None:
    data, scores = pairs(tmp_path / "p.jsonl", 3), tmp_path / "s.csv"
    scores.write_text("case,role,metric,score\np0,stereotype,mine,0.9\npp1,anti_stereotype,mine,.7\n")
    done = run("stereotype", scores=str(scores), session=HERE, data=(data,))
    assert set(done.findings["verdict"]) <= {"not judged", "not covered"}
    notes = "; ".join(done.notes)
    assert "3 of 3 cases of age lack" in notes
    assert "1 cases of s.csv are not among those asked for ('pp1'; did you mean p1?)" in notes
    scores.write_text("case,role,metric,score\np0,stereotype,mine,0.9\np0,anti_stereotype,mine,.7\n")
    notes = run("stereotype", scores=str(scores), session=HERE, data=(data,)).notes
    assert "stereotype: mine: 2 of 3 cases of age lack a score" in notes


def test_a_list_of_swaps_without_a_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "swaps.txt"
    for text in ("", "\n\n", "male\tfemale\n"):
        path.write_text(text, "utf-8")
        with pytest.raises(DataError, match="has no pair of words; write two per line"):
            read_swaps(path)


def test_texts_that_name_nobody_have_nothing_to_swap(tmp_path: Path) -> None:
    rows = [
        {"hypothesis": f"The ferry was {n} hours late.", "references": ["It was late."]} for n in range(12)
    ]
    with pytest.raises(DataError, match=r"swap found nothing to score .* a text that names one gender"):
        run("swap", ["chrf"], session=HERE, data=(written(tmp_path / "nobody.jsonl", rows),))


def test_captions_that_are_the_same_text_tell_no_groups_apart(tmp_path: Path) -> None:
    rows = [
        {"group": group, "concept": f"c{n}", "good": f"A happy person {n}.", "bad": f"A happy person {n}.",
         "references": [f"A very happy person {n}."]}
        for n in range(20)
        for group in ("man", "woman")
    ]  # fmt: skip
    done = run("caption", ["chrf"], session=HERE, data=(written(tmp_path / "same.jsonl", rows),))
    orders = done.findings.filter(statistic="order_difference")
    assert set(orders["value"]) == {0.0}
    assert set(orders["verdict"]) == {"not judged"}


@pytest.mark.parametrize(
    ("audit", "needs"),
    [
        ("position", "three spans or more"),
        ("injection", "two or more different golds"),
        ("truncation-direction", "ten words or more"),
    ],
)
def test_an_audit_says_what_an_item_needs(tmp_path: Path, audit: str, needs: str) -> None:
    data = written(tmp_path / "short.jsonl", SHORT)
    with pytest.raises(
        DataError, match=f"{audit} found nothing to score in its data; an item needs .*{needs}"
    ):
        run(audit, ["chrf"], session=HERE, data=(data,))


@pytest.mark.parametrize("audit", ["repetition", "frequent-ngram", "identity-length"])
def test_one_item_settles_nothing(tmp_path: Path, audit: str) -> None:
    done = run(audit, ["chrf"], session=HERE, data=(written(tmp_path / "short.jsonl", SHORT),))
    assert set(done.findings["verdict"]) <= {"inconclusive", "not judged"}


def test_levels_that_change_no_text_are_told(tmp_path: Path) -> None:
    data = written(tmp_path / "short.jsonl", SHORT)
    done = run("stress", ["chrf"], session=HERE, data=(data,), seeds=1, only=("truncation",))
    expected = "no text is changed at 0.1, 0.2: too short for so little noise"
    assert f"stress: short/truncation: {expected}" in done.notes


def test_a_metric_without_a_model_has_no_attention(tmp_path: Path) -> None:
    done = run("attention", ["chrf"], session=HERE, data=(written(tmp_path / "short.jsonl", SHORT),))
    with pytest.raises(AuditError, match="nothing could be judged; attention: chrf reads with no model"):
        finish(done, form="html", fail_on=None, quiet=True)


def test_marks_are_read_before_texts_are_written() -> None:
    with pytest.raises(DataError, match="EVALUATOR=SYSTEM"):
        SelfPreference(self=("chrf",), model="no such model").cases()


def test_captions_are_chosen_before_their_images_are_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no images for 2 of 2 captions .*\*\.jpg$"):
        list(Caption(only=("doctor",), images=tmp_path, skip_missing=True).cases())
    with pytest.raises(DataError, match=r"no captions for 'doctr'; did you mean doctor\?"):
        list(Caption(only=("doctor", "doctr")).cases())


def test_captions_of_the_wrong_form_are_named(tmp_path: Path) -> None:
    wrong = written(tmp_path / "ok.jsonl", [{"id": "1", "hypothesis": "It rains.", "references": ["Rain."]}])
    with pytest.raises(DataError, match=r"ok\.jsonl: captioner ok: none of 1 captions names one gender"):
        list(Caption(captions=(wrong,)).cases())
    with pytest.raises(DataError, match="--only chooses among captions of --data"):
        list(Caption(captions=(wrong,), only=("doctor",)).cases())
