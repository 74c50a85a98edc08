"""Nothing is lost silently: every sample without a score is counted with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.api.scores import score_chunks
from assay.cli.audit import score_command
from assay.core import Case, Image, Metric, Sample, Scores
from assay.engine.scoring import score_cases, score_samples
from assay.engine.session import Session
from assay.engine.unfold import count_notes, note_sentences, unusual_reasons
from assay.errors import DataError, MetricError, SpecError
from assay.names.spec import measure


@dataclass(frozen=True)
class Fussy(Metric):
    """Knows short words only, needs an image, and raises on 'boom'."""

    name = "fussy"
    needs = frozenset({"references", "image"})

    def score(self, samples):
        if any("boom" in sample.hypothesis for sample in samples):
            raise ValueError("boom")
        known = [any(len(word) < 4 for word in s.hypothesis.split()) for s in samples]
        unknown = [sum(len(word) > 3 for word in s.hypothesis.split()) for s in samples]
        return Scores([1.0 if is_known else None for is_known in known], {"out_of_vocabulary": unknown})


PICTURE = Image("a.png", "0" * 64)


def pictured(text: str, *references: str) -> Sample:
    return Sample(text, references, None, PICTURE)


def test_every_reason_is_reported_with_its_count() -> None:
    samples = [
        pictured("a cat slept soundly", "x"),
        pictured("a cat"),
        Sample("a cat", ("x",)),
        pictured(" ", "x"),
        pictured("elephants", "x"),
        pictured("boom", "x"),
        pictured("?!", ""),
    ]
    settings = Session(on_error="skip")
    fussy = measure(Fussy())
    table = score_samples(fussy, samples, settings)
    counts = count_notes(fussy, samples, table)
    assert counts["absent"] == 5
    assert note_sentences(counts, len(samples)) == [
        "3 words in 2 of 7 samples are not in the vocabulary",
        "no score for 1 of 7 samples: no reference",
        "no score for 1 of 7 samples: no image",
        "no score for 1 of 7 samples: empty text",
        "no score for 1 of 7 samples: no word in the vocabulary",
        "no score for 1 of 7 samples: the metric raised an error",
    ]


def test_reasons_come_from_the_cache_as_well(tmp_path: Path) -> None:
    samples = [pictured("elephants", "x"), pictured("a cat", "x")]
    first, second = (
        score_chunks([Fussy()], [samples], session=Session.open(cache=tmp_path))[1] for _ in range(2)
    )
    assert first == second
    assert first[1] == "fussy: no score for 1 of 2 samples: no word in the vocabulary"


def test_a_text_too_short_for_an_ngram_is_reported() -> None:
    notes = score_chunks(
        ["distinct-n"], [[Sample("cat"), Sample("a cat")]], session=Session.open(cache=None)
    )[1]
    assert notes == ["distinct-n: no score for 1 of 2 samples: fewer than 2 words"]


def test_an_audit_counts_the_same_reasons() -> None:
    cases = [Case("1", {"gold": Sample("a", ("a",)), "worse": Sample("b")}, "x")]
    scored = score_cases(measure("chrf"), {"audit": cases}, Session())["audit"]
    assert note_sentences(scored.notes, 2) == ["no score for 1 of 2 samples: no reference"]


def test_no_score_at_all_is_a_misfit_only_for_want_of_a_field() -> None:
    assert unusual_reasons({"absent": 2, "absent: no reference": 2}) == ""
    assert (
        unusual_reasons({"absent": 2, "absent: the metric raised an error": 2})
        == "the metric raised an error"
    )


def test_errors_name_the_metric_and_the_sample() -> None:
    samples = [Sample("a cat", ("a cat",), id="first"), Sample("แมวนั่งบนเสื่อ", ("a cat",), id="row-7")]
    with pytest.raises(
        MetricError, match=r"^bleu: in the sample row-7, the tokeniser 'split'.*tokenize=char"
    ):
        score_samples(measure("bleu"), samples, Session())
    with pytest.raises(MetricError, match="ValueError: boom on the sample row-8"):
        score_samples(measure(Fussy()), [Sample("boom", ("x",), None, PICTURE, id="row-8")], Session())


def test_an_id_changes_neither_key_nor_equality() -> None:
    first, second = Sample("a", ("b",), id="1"), Sample("a", ("b",), id="2")
    assert first == second
    assert first.key == second.key
    assert len({first, second}) == 1


def written(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ROW = {"id": "1", "hypothesis": "a cat"}
REFUSED = {
    "typo": ("bleu", {"refrences": ["a"]}, "bleu needs references; .*rows.jsonl has columns id, hypothesis, "
             "refrences; did you mean references"),
    "empty": ("bleu", {"references": []}, "bleu needs references, which no row of .*the column is empty"),
    "source": ("parent", {"references": ["a"]}, "parent needs source; .*add a column source"),
    "image": ("clipscore", {"references": ["a"]}, "clipscore needs image; .*add a column image"),
    "file": ("clipscore", {"image": "none.png"}, "image 'none.png' is missing.*--skip-missing"),
    "set": ("mauve", {"references": ["a"]}, "assay run stress -m mauve"),
}  # fmt: skip


@pytest.mark.parametrize(("metric", "more", "message"), REFUSED.values(), ids=REFUSED)
def test_score_refuses_what_no_row_can_give(
    metric: str, more: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises((DataError, MetricError), match=message):
        score_command(data=[written(tmp_path, ROW | more)], metric=[metric], cache="none", quiet=True)


@pytest.mark.parametrize("order", [0, -1])
def test_an_ngram_has_a_word(order: int) -> None:
    with pytest.raises(SpecError, match="at least 1"):
        measure(f"distinct-n:n={order}")


def test_score_prints_notes_on_stderr_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [ROW | {"references": ["a cat"]}, ROW | {"id": "2", "references": []}]
    note = "chrf: no score for 1 of 2 samples: no reference"
    score_command(data=[written(tmp_path, *rows)], metric=["chrf"], cache="none", json=True)
    printed = capsys.readouterr()
    assert json.loads(printed.out)["notes"] == [note]
    assert f"note: {note}" in printed.err


def test_a_metric_that_reads_no_image_does_not_miss_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, ROW | {"references": ["a cat"], "image": "none.png"})
    score_command(data=[path], metric=["chrf"], cache="none")
    assert capsys.readouterr().out == "id,chrf\n1,100.0\n"
