"""Bulk scoring: many files in blocks, equal to scoring in memory, resumable, in this process and on Ray."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from assay.api import bulk
from assay.api.scores import score_chunks
from assay.cli import main
from assay.datasets.columns import as_data
from assay.datasets.ratings import read_samples
from assay.engine.session import Session
from assay.names.spec import measure

METRICS = ("bleu", "chrf")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three parts, one per file format, with column names of another tool; one row has no reference."""
    rows = [
        {"prediction": f"the cat sat on mat {n}", "reference": f"the cat sits on the mat {n % 5}"}
        for n in range(60)
    ]
    pl.DataFrame(rows[:25]).write_parquet(tmp_path / "part-0.parquet")
    pl.DataFrame(rows[25:40]).write_csv(tmp_path / "part-1.csv")
    rows[45]["reference"] = ""
    (tmp_path / "part-2.jsonl").write_text("\n".join(map(json.dumps, rows[40:])), "utf-8")
    return tmp_path


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["assay", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def parts(folder: Path) -> list[bulk.Part]:
    template = bulk.Part(folder, folder, {})
    return bulk.parts_of(sorted(folder.glob("part-*")), folder / "scores", template)


@pytest.mark.parametrize("size", [7, 20_000])
def test_scores_equal_those_in_memory_whatever_the_blocks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(bulk, "BLOCK", size)
    counts = bulk.score_parts([measure(name) for name in METRICS], parts(folder), Session())
    assert counts.rows == 60
    assert "bleu: no score for 1 of 60 samples: no reference" in counts.sentences()
    for part in parts(folder):
        (file,) = as_data(part.source)
        items = read_samples(file, rated=False)
        expected, _ = score_chunks(METRICS, [[item.sample for item in items]], session=Session())
        expected.insert_column(0, pl.Series("id", [item.id for item in items]))
        assert pl.read_parquet(part.target).equals(expected)


def test_a_stopped_run_goes_on_with_the_parts_that_are_missing(folder: Path) -> None:
    whole = (folder / "part-2.jsonl").read_text("utf-8")
    (folder / "part-2.jsonl").write_text(f"{whole}\nnot JSON\nnor this\n{{", "utf-8")
    with pytest.raises(bulk.DataError, match=r"part-2.jsonl: 3 of 23 rows cannot be used.*line 21: not JSON"):
        bulk.score_parts([measure("bleu")], parts(folder), Session())
    assert sorted(path.name for path in (folder / "scores").iterdir()) == ["part-0.parquet", "part-1.parquet"]
    before = (folder / "scores/part-0.parquet").stat().st_mtime_ns
    (folder / "part-2.jsonl").write_text(whole, "utf-8")
    counts = bulk.score_parts([measure("bleu")], parts(folder), Session())
    assert (counts.rows, counts.kept) == (60, 2)
    assert (folder / "scores/part-0.parquet").stat().st_mtime_ns == before


def test_other_metrics_or_other_data_are_scored_anew(folder: Path) -> None:
    bulk.score_parts([measure("bleu")], parts(folder), Session())
    assert bulk.score_parts([measure("chrf")], parts(folder), Session()).kept == 0
    text = (folder / "part-1.csv").read_text("utf-8")
    (folder / "part-1.csv").write_text(text.replace("cat", "dog"), "utf-8")
    assert bulk.score_parts([measure("chrf")], parts(folder), Session()).kept == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "cider", "--data", "part-*", "--out", "scores"), "leave out --out"),
        (("-m", "bleu", "--data", "none-*", "--out", "scores"), "there is no file none-*"),
        (("-m", "bleu", "--data", "part-*"), "--out FOLDER scores many"),
        (
            ("-m", "bleu", "--data", "part-0.parquet", "--out", "."),
            "holds no scores and would be overwritten",
        ),
        (("-m", "bleu", "--data", "part-0.parquet", "--data", "b/part-0.parquet", "--out", "s"), "two files"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_lost(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    (folder / "b").mkdir()
    (folder / "b/part-0.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert command(monkeypatch, "score", *words) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning:ray.*")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_tasks_of_a_cluster_write_the_same_files(folder: Path) -> None:
    ray = pytest.importorskip("ray")
    plugin = folder / "own.py"
    plugin.write_text("def score(hypotheses, references):\n    return [len(text) for text in hypotheses]\n")
    measures = [measure("bleu"), measure(f"own={plugin}:score")]
    bulk.score_parts(measures, parts(folder), Session())
    files = {part.target: part.target.read_bytes() for part in parts(folder)}
    for target in files:
        target.unlink()
    try:
        session = Session.open(cache=None, ray="local", workers=2)
        assert bulk.score_parts(measures, parts(folder), session).rows == 60
    finally:
        ray.shutdown()
    assert {part.target: part.target.read_bytes() for part in parts(folder)} == files
