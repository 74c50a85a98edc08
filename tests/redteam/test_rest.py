"""The smaller things that were tried: folders of the system, tables, settings, weights that are no weights."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.api.pipeline import run
from assay.api.scores import score_chunks
from assay.core import Sample
from assay.datasets.rows import read_rows
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import AuditError, CacheError, DataError, SpecError, WeightsError
from assay.names.spec import parse_spec
from assay.reading.results import check_writable

PAIRS = [
    {"id": f"p{n}", "stereotype": f"old {n}", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
    for n in range(4)
]


@pytest.mark.parametrize("folder", ["/usr", "/var", "/etc", "/usr/lib"])
def test_folders_of_the_system_are_no_place_for_a_run(folder: str) -> None:
    with pytest.raises(CacheError):
        check_writable(Path(folder))


def test_a_table_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,hypothesis,hypothesis\na,one,two\n")
    with pytest.raises(DataError, match="hypothesis"):
        read_rows(tmp_path / "rows.csv")


@pytest.mark.parametrize("name", ["findings.parquet", "run.json"])
def test_a_server_reads_nothing_of_a_run_through_a_link(name: str, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from assay.server.app import Shelf

    run("stereotype", ["bleu"], data=PAIRS, session=Session.open(tmp_path / "root" / "mine", cache=None))
    shelf = Shelf(tmp_path / "root")
    assert shelf.listed()[0]["verdicts"]
    file = tmp_path / "root" / "mine" / name
    file.rename(tmp_path / "outside")
    file.symlink_to(tmp_path / "outside")
    assert shelf.listed()[0]["size"] == "damaged"
    assert not shelf.listed()[0]["metrics"]
    assert not shelf.listed()[0]["verdicts"]
    with pytest.raises(CacheError, match=name):
        shelf.open("mine")


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_data_that_never_ends_is_refused(kind: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{ending}"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"rows\.\w+ is a pipe or a device; save what it gives"):
        list(read_rows(path))


def test_data_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """One text of 20,000 letters, referred to 200,000 times: a few kilobytes on the disk."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 20_000]))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"hypothesis": texts, "references": texts}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"rows\.parquet unpacks to more than"):
        list(read_rows(path))


@pytest.mark.parametrize("given", ["abc", "-5", "1.5"])
def test_a_wrong_setting_is_not_blamed_on_the_metric(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.models.torch import batches

    monkeypatch.setenv("ASSAY_BATCH_TOKENS", given)
    with pytest.raises(SpecError, match="ASSAY_BATCH_TOKENS"):
        list(batches([1, 2]))


def test_vectors_with_code_in_them_are_a_message(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    pl.DataFrame({"index": ["cat"]}).write_parquet(tmp_path / "words.parquet")
    with pytest.raises(AuditError, match="embedding-average"):
        score_samples(parse_spec(f"embedding-average:model={tmp_path}"), [Sample("cat", ("cat",))], Session())


ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


@pytest.mark.parametrize("text", [ALIASES, "- 1\n", "a: [1", "!!python/object/apply:os.system [ls]"])
def test_settings_of_a_checkpoint_that_are_none_are_a_message(text: str, tmp_path: Path) -> None:
    (tmp_path / "hparams.yaml").write_text(text)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises((AuditError, WeightsError)) as caught:
        score_samples(parse_spec(f"regression:model={tmp_path}"), [Sample("a", ("b",), "c")], Session())
    assert len(str(caught.value)) < 2000


def test_chunks_of_samples_give_the_scores_and_notes_of_all() -> None:
    """A metric that is fitted to the references sees them all, whatever the chunks."""
    samples = [
        Sample(f"the cat {n} sat" if n % 5 else "", (f"the cat {n % 7} sat on it",)) for n in range(60)
    ]
    whole, notes = score_chunks(["bleu", "cider"], [samples], session=Session())
    chunks = (samples[start : start + 17] for start in range(0, 60, 17))
    frame, again = score_chunks(["bleu", "cider"], chunks, session=Session())
    assert frame.equals(whole)
    assert again == notes


def test_a_large_file_is_scored_chunk_by_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.datasets import ratings

    rows = "".join(f'{{"id": "r{n}", "output": "cat {n}", "references": ["the cat"]}}\n' for n in range(50))
    (tmp_path / "rows.jsonl").write_text(rows)
    whole = ratings.read_samples(tmp_path / "rows.jsonl", rated=False)
    monkeypatch.setattr(ratings, "CHUNK", 20)
    chunks = list(ratings.stream_samples(tmp_path / "rows.jsonl", skip_missing=True))
    assert [len(chunk) for chunk in chunks] == [20, 20, 10]
    assert [item for chunk in chunks for item in chunk] == whole
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write('{"id": "r3", "output": "again", "references": ["x"]}\n')
    with pytest.raises(DataError, match="'r3' is in more than one row"):
        list(ratings.stream_samples(tmp_path / "rows.jsonl", skip_missing=True))
