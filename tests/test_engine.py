"""The engine: pieces of the right size, lost ones tried again, culprits found by halves, grids by bands, costs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import Case, Grid, Metric, Sample
from assay.engine.cache import ScoreCache, ScoreTable
from assay.engine.plan import cost
from assay.engine.scoring import characters, pace_key, project, score_grid, score_samples
from assay.engine.session import Session
from assay.engine.workers import local
from assay.engine.workers.batch import Batch, Pieces, evaluate
from assay.engine.workers.local import LocalEngine
from assay.errors import MetricError
from assay.names.spec import measure, parse_spec

CALLS: list[int] = []


@dataclass(frozen=True)
class Sized(Metric):
    name = "sized"
    least: int = 1
    bad: str = "bad"

    @property
    def batch(self) -> int:
        return self.least

    def score(self, samples: Sequence[Sample]) -> list[float]:
        CALLS.append(len(samples))
        if any(s.hypothesis.startswith(self.bad) for s in samples):
            raise ValueError("cannot read this")
        return [float(len(s.hypothesis)) for s in samples]


@dataclass(frozen=True)
class Deadly(Metric):
    """Ends its process on some texts, once a file or always."""

    name = "deadly"
    marker: str = ""

    def score(self, samples: Sequence[Sample]) -> list[float]:
        if any("deadly" in s.hypothesis for s in samples):
            if not self.marker:
                os._exit(1)
            if not Path(self.marker).exists():
                Path(self.marker).touch()
                os._exit(1)
        return [float(len(s.hypothesis)) for s in samples]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()


def _samples(count: int, word: str = "text") -> list[Sample]:
    return [Sample(f"{word} {n}", (f"reference {n // 3}",)) for n in range(count)]


def _walk(pieces: Pieces, per_second: float) -> list[list[int]]:
    taken = []
    while pieces:
        piece = pieces.take()
        pieces.done(Batch(piece, np.zeros((len(piece), 1)), seconds=len(piece) / per_second))
        taken.append(piece)
    return taken


def test_pieces_grow_to_half_a_second_and_hold_every_sample_once() -> None:
    pieces = _walk(Pieces(Sized(), _samples(3000)), per_second=1000)
    assert [len(piece) for piece in pieces[:5]] == [16, 64, 256, 500, 500]
    assert sorted(index for piece in pieces for index in piece) == list(range(3000))


def test_a_metric_that_starts_a_program_a_call_gets_its_batch() -> None:
    pieces = _walk(Pieces(Sized(least=1024), _samples(3000)), per_second=10)
    assert [len(piece) for piece in pieces] == [1024, 1024, 952]
    assert parse_spec("bleu-4:backend=coco").metric.batch == 4096
    assert parse_spec("bleu-4").metric.batch == 1


def test_samples_that_share_references_stay_together_longest_first() -> None:
    samples = [Sample(f"h{n}", ("a long reference" if n % 2 else "short",)) for n in range(8)]
    assert Pieces(Sized(), samples).take() == [1, 3, 5, 7, 0, 2, 4, 6]


def test_a_lost_piece_is_cut_until_the_sample_is_known() -> None:
    pieces = Pieces(Sized(), _samples(20))
    piece = pieces.take()
    pieces.lost(piece)
    parts = [pieces.take() for _ in range(8)]
    assert sorted(index for part in parts for index in part) == sorted(piece)
    assert pieces.suspects(parts[:1])
    assert not pieces.suspects([[16, 17]])
    pieces.lost(parts[0])
    first = pieces.take()
    assert len(first) == 1
    with pytest.raises(MetricError, match="sized ended its worker 3 times, with the sample"):
        pieces.lost(first)


def test_culprits_are_found_by_halves() -> None:
    samples = _samples(512)
    samples[100], samples[300] = Sample("bad one", ("r",)), Sample("bad two", ("r",))
    batch = evaluate(Sized(), samples, range(512), skip=True)
    assert [index for index, _ in batch.failures] == [100, 300]
    assert np.flatnonzero(np.isnan(batch.values[:, 0])).tolist() == [100, 300]
    assert list(batch.indices) == list(range(512))
    assert len(CALLS) < 40, "not one by one"
    with pytest.raises(MetricError, match="'bad one'"):
        evaluate(Sized(), samples, range(512), skip=False)


def test_a_worker_that_dies_is_replaced_and_its_piece_scored(tmp_path: Path) -> None:
    texts = [*_samples(2500), Sample("deadly", ("reference",))]
    deadly = measure(Deadly(str(tmp_path / "died")))
    values = score_samples(deadly, texts, Session(engine=LocalEngine(2))).values[:, 0]
    assert (tmp_path / "died").exists()
    assert values.tolist() == [len(text.hypothesis) for text in texts]


def test_a_metric_that_always_kills_its_worker_is_named() -> None:
    texts = [*_samples(2500), Sample("deadly", ("the longest reference of them all",))]
    with pytest.raises(MetricError, match=r"deadly ended its worker 3 times.*'deadly'"):
        score_samples(measure(Deadly()), texts, Session(engine=LocalEngine(2)))


def test_a_pool_that_closes_while_it_starts_a_worker_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that died lets its pool close its pipes; starting another there raises an OSError."""
    real, closed = local._pool, []

    class Closing:
        def submit(self, job: object) -> None:
            closed.append(job)
            raise OSError("handle is closed")

    def pool(workers: int) -> object:
        return real(workers) if closed else Closing()

    pool.cache_clear = real.cache_clear  # type: ignore[attr-defined]
    monkeypatch.setattr(local, "_pool", pool)
    texts = _samples(2500)
    values = score_samples(measure(Deadly()), texts, Session(engine=LocalEngine(2))).values[:, 0]
    assert len(closed) == 1
    assert values.tolist() == [len(text.hypothesis) for text in texts]


def test_a_broken_grid_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = tuple(f"row {n:03}" for n in range(300))
    grid = Grid("g", rows, tuple(f"column {n}" for n in range(100)), "g")
    with pytest.raises(MetricError):
        score_grid(measure(Sized(bad="row 250")), grid, Session(ScoreCache(tmp_path)), {})
    before = sum(CALLS)
    assert before >= 20_000
    cache = ScoreCache(tmp_path)
    bands = cache._connection.execute("SELECT count(*) FROM scores").fetchone()[0]
    assert bands == 2, "two bands of 10,000 were kept"
    fine = measure(Sized(bad="none"))
    whole = score_grid(fine, grid, Session(cache), {})
    assert whole.tolist() == [[7.0] * 100] * 300
    CALLS.clear()
    assert np.array_equal(score_grid(fine, grid, Session(ScoreCache(tmp_path)), {}), whole)
    assert not CALLS


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=True), st.integers(0, 3), st.integers(0, 2)), max_size=40),
    st.integers(1, 3),
)
def test_the_cache_gives_back_what_was_put(rows: list[tuple[float, int, int]], outputs: int) -> None:
    cache = ScoreCache(None)
    keys = [Sample(str(n)).key for n in range(len(rows))]
    blobs = [bytes.fromhex(key) for key in keys]
    values = np.array([[row[0]] * outputs for row in rows]).reshape(len(rows), outputs)
    notes = {name: np.array([row[at] for row in rows], dtype=np.int64) for name, at in (("a", 1), ("b", 2))}
    cache.put("signature", blobs, ScoreTable(values, notes), np.arange(len(rows)))
    wanted = [bytes.fromhex(Sample("unknown").key), *blobs[::-1]]
    table = ScoreTable(np.full((len(wanted), outputs), np.nan))
    places = cache.get("signature", wanted, table)
    assert sorted(places.tolist()) == list(range(1, len(rows) + 1))
    assert np.array_equal(table.values[1:], values[::-1], equal_nan=True)
    for name, counts in notes.items():
        assert table.column(name)[1:].tolist() == counts[::-1].tolist()
    assert len(cache.get("another", wanted, table)) == 0


@given(st.sampled_from(["bleu", "gpt-ppl", "bartscore-faithful"]), st.text(), st.text(), st.integers(0, 2))
def test_projection_clears_what_is_not_used(name: str, reference: str, source: str, draw: int) -> None:
    metric = parse_spec(name).metric
    used = metric.needs | metric.optional
    sample = Sample("h", (reference,) if reference else (), source or None, rival="r", draw=draw)
    projected = project(metric, sample)
    if any(not getattr(sample, need) for need in metric.needs):
        assert projected is None
    else:
        expected = replace(sample, rival=None, draw=0)
        expected = expected if "references" in used else replace(expected, references=())
        assert projected == (expected if "source" in used else replace(expected, source=None))


def test_the_cost_model_learns_the_pace_of_this_machine(tmp_path: Path) -> None:
    cache, bleu = ScoreCache(tmp_path), parse_spec("bleu")
    work = {"audit": [Case(str(n), {"a": sample}, "s") for n, sample in enumerate(_samples(40))]}
    first = cost(bleu, work, cache)
    read = characters(bleu.metric, _samples(40))
    assert (first.samples, first.unique, first.cached, first.texts) == (40, 40, 0, 40 + 14)
    assert first.seconds == pytest.approx(read / 1_500_000)
    cache.book(pace_key(bleu.metric), 1000, 2.0)
    assert cost(bleu, work, cache).seconds == pytest.approx(read / 500)
    cache.book(pace_key(bleu.metric), 1500, 0.0)
    assert cost(bleu, work, cache).seconds == pytest.approx(read / 2000), "an older run counts half"
    score_samples(bleu, _samples(40), Session(cache))
    done = cost(bleu, work, cache)
    assert (done.cached, done.seconds) == (40, 0.0)


def test_a_model_reads_a_text_once() -> None:
    samples = [Sample("abc", ("de",)), Sample("abcd", ("de",))]
    assert characters(parse_spec("bleu").metric, samples) == 3 + 2 + 4 + 2
    assert characters(parse_spec("bertscore-f").metric, samples) == 3 + 4 + 2
