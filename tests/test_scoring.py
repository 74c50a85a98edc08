"""Scoring: dedupe, cache, resume, errors that name the sample, hybrids that share their parts' scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.core import Case, Explanation, Grid, Metric, Sample, Scores
from assay.engine.cache import ScoreCache
from assay.engine.scoring import explain_samples, project, score_cases, score_grid, score_samples
from assay.engine.session import Session
from assay.engine.workers.local import LocalEngine
from assay.errors import MetricError
from assay.names.spec import measure, parse_spec

CALLS: list[int] = []


@dataclass(frozen=True)
class Counting(Metric):
    name = "counting"
    broken: str = ""

    def score(self, samples: Sequence[Sample]):
        CALLS.append(len(samples))
        values = [float(len(s.hypothesis)) for s in samples]
        if self.broken == "short":
            return values[:-1]
        if self.broken == "nan":
            return [float("nan")] * len(values)
        if self.broken == "raise" and any("bad" in s.hypothesis for s in samples):
            raise ValueError("cannot read this")
        if self.broken == "absent":
            return [None if "bad" in s.hypothesis else v for s, v in zip(samples, values, strict=True)]
        return Scores(values, {"truncated": [1 if len(s.hypothesis) > 5 else 0 for s in samples]})


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()


def _samples(*texts: str) -> list[Sample]:
    return [Sample(text, ("reference",)) for text in texts]


def test_equal_samples_are_scored_once_and_remembered(tmp_path: Path) -> None:
    settings = Session(ScoreCache(tmp_path))
    texts = _samples("one", "two", "one", "longer one", "two")
    first = score_samples(measure(Counting()), texts, settings)
    assert first.values.ravel().tolist() == [3, 3, 3, 10, 3]
    assert sum(CALLS) == 3
    again = score_samples(measure(Counting()), texts, Session(ScoreCache(tmp_path)))
    assert sum(CALLS) == 3
    assert np.array_equal(first.values, again.values)
    assert again.notes["truncated"].tolist() == first.notes["truncated"].tolist() == [0, 0, 0, 1, 0]


def test_samples_are_projected_onto_needs() -> None:
    assert project(Counting(), Sample("a", ("b",), source="c")) == Sample("a", ("b",))
    assert project(Counting(), Sample("a", source="c")) is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("short", "returned 1 scores for 2 samples"),
        ("nan", "return None where there is no score"),
        ("raise", "ValueError: cannot read this on the sample .* with hypothesis 'bad one'"),
    ],
)
def test_broken_metrics_are_named(broken: str, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        score_samples(measure(Counting(broken)), _samples("good", "bad one"), Session())


def test_skipping_leaves_out_the_culprit_alone() -> None:
    settings = Session(on_error="skip")
    table = score_samples(measure(Counting("raise")), _samples("good", "bad one", "fine"), settings)
    assert np.isnan(table.values.ravel()).tolist() == [False, True, False]
    assert len(settings.failures) == 1
    assert "bad one" in settings.failures[0]


def test_absence_is_explicit_and_counted() -> None:
    cases = [Case("1", {"gold": _samples("fine")[0], "worse": _samples("bad")[0]}, "x")]
    scored = score_cases(measure(Counting("absent")), {"audit": cases}, Session())["audit"]
    assert scored.values["gold"].tolist() == [4.0]
    assert np.isnan(scored.values["worse"][0])
    assert scored.notes["absent"] == 1


def test_hybrid_parts_share_the_cache(tmp_path: Path) -> None:
    settings = Session(ScoreCache(tmp_path))
    texts = _samples("a reference here", "reference")
    parts = [score_samples(parse_spec(name), texts, settings).values[:, 0] for name in ("bleu", "chrf")]
    computed = dict(settings.computed)
    mixed = score_samples(parse_spec("0.5*chrf+bleu"), texts, settings)
    assert np.allclose(mixed.values[:, 0], 0.5 * parts[1] + parts[0])
    assert settings.computed == computed | {"0.5*chrf+bleu": 0} or settings.computed == computed


def test_a_grid_equals_pair_by_pair_and_is_transposed_for_symmetric_metrics() -> None:
    grid = Grid("g", ("the cat sat", "a dog"), ("the cat", "dog ran", "a"), "g")
    rouge = parse_spec("rougeL")
    values = score_grid(rouge, grid, Session(), {})
    pairs = [Sample(row, (column,)) for row in grid.rows for column in grid.columns]
    assert np.allclose(values.ravel(), score_samples(rouge, pairs, Session()).values[:, 0])


def test_workers_change_nothing() -> None:
    texts = _samples(*(f"the number {n} of many words" for n in range(2500)))
    alone, pooled = (
        score_samples(parse_spec("chrf"), texts, Session(engine=LocalEngine(workers))).values
        for workers in (1, 2)
    )
    assert np.array_equal(alone, pooled)


def test_damaged_rows_are_dropped_and_scored_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = _samples("one", "two", "three")
    score_samples(measure(Counting()), texts, Session(ScoreCache(tmp_path)))
    cache = ScoreCache(tmp_path)
    with cache._connection as connection:
        connection.execute(
            "UPDATE scores SET value = zeroblob(8) WHERE key = ?", (bytes.fromhex(texts[0].key),)
        )
    table = score_samples(measure(Counting()), texts, Session(ScoreCache(tmp_path)))
    assert table.values.ravel().tolist() == [3, 3, 5]
    assert CALLS == [3, 1]
    assert "damaged" in caplog.text


def test_a_cache_that_is_no_database_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "scores.sqlite").write_bytes(b"this is not a database at all" * 100)
    table = score_samples(measure(Counting()), _samples("one"), Session(ScoreCache(tmp_path)))
    assert table.values.ravel().tolist() == [3]
    assert (tmp_path / "scores.damaged").exists()


def test_score_reports_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.audit import score_command

    (tmp_path / "broken.py").write_text(
        "def fussy(hypotheses, references):\n"
        "    if any('bad' in text for text in hypotheses):\n"
        "        raise ValueError('cannot read this')\n"
        "    return [float(len(set(h) & set(r[0]))) for h, r in zip(hypotheses, references)]\n"
    )
    rows = [f'{{"hypothesis": "{text}", "references": ["a"]}}' for text in ("good", "bad one", "bad two")]
    (tmp_path / "texts.jsonl").write_text("\n".join(rows))
    spec = f"{tmp_path / 'broken.py'}:fussy"
    score_command(data=[tmp_path / "texts.jsonl"], metric=[spec], cache="none", on_error="skip")
    printed = capsys.readouterr()
    assert [line.rpartition(",")[2] for line in printed.out.splitlines()[1:]] == ["0.0", "", ""]
    assert "note: " in printed.err
    assert "2 of 3 samples" in printed.err
    assert "'bad one': ValueError: cannot read this" in printed.err


@dataclass(frozen=True)
class Explaining(Counting):
    def explain(self, sample: Sample) -> Explanation | None:
        CALLS.append(1)
        return Explanation("tokens", ("a",), ("p",), ((0.5,),)) if "cat" in sample.hypothesis else None


def test_an_explanation_is_made_once_ever(tmp_path: Path) -> None:
    samples = _samples("the cat", "a dog")
    for calls in (2, 3):  # what has no explanation is asked again
        cache = ScoreCache(tmp_path)
        made = explain_samples(measure(Explaining()), samples, cache)
        assert made == [Explanation("tokens", ("a",), ("p",), ((0.5,),)), None]
        assert len(CALLS) == calls
        cache.close()
