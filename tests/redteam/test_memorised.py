"""Metrics that know the embedded texts are named by fresh ones, from a seed, a file or a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from assay.cli import app
from assay.datasets.contexts import embedded_crossings, read_crossing
from assay.datasets.fresh import fresh_files, made_contexts, made_files, made_records
from assay.datasets.published.corpora import read_records
from assay.datasets.records import embedded_records
from assay.errors import DataError, SpecError
from assay.reading.results import load_run

CHEATS = Path(__file__).with_name("cheats.py")


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def compared(tmp_path: Path, metric: str, *words: str | Path) -> tuple[Result, pl.DataFrame]:
    """A quick run of the audit with its gate, and what was judged of the metric."""
    out = tmp_path / "run"
    options = ["--size", "quick", "--quiet", "--cache", "none", "--out", out]
    done = command("run", "memorised", "-m", metric, *options, *words)
    assert done.exit_code == 0, done.output
    judged = load_run(out).findings.filter(pl.col("statistic") == "embedded_gain")
    return command("gate", out), judged.filter(pl.col("metric") == metric)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clean texts of an earlier run, embedded and fresh, as its cases.parquet has them."""
    folder = tmp_path_factory.mktemp("earlier")
    command("run", "memorised", "-m", "chrf", "--size", "quick", "--quiet", "--out", folder / "run")
    cases = load_run(folder / "run").cases.filter(pl.col("role") == "gold")
    path = folder / "known.json"
    path.write_text(json.dumps(cases["hypothesis"].unique().to_list()))
    return path


def test_an_honest_metric_passes(tmp_path: Path) -> None:
    gate, judged = compared(tmp_path, f"{CHEATS}:Honest")
    assert judged["verdict"].to_list() == ["pass"]
    assert gate.exit_code == 0, gate.stderr


@pytest.mark.parametrize(("name", "least"), [("Lookup", 20), ("HalfLookup", 20), ("GoodLookup", 10)])
def test_a_metric_that_knows_the_texts_is_named(tmp_path: Path, table: Path, name: str, least: float) -> None:
    metric = f"{CHEATS}:{name}:table={table}"
    gate, judged = compared(tmp_path, metric, "--fresh", "7")
    assert judged["verdict"].to_list() == ["fail"]
    assert judged["value"][0] > least
    assert gate.exit_code == 1
    assert "embedded_gain" in gate.stderr
    assert "seems to know the embedded texts" in judged["sentence"][0]


def test_bias_on_unknown_contexts_is_found_with_fresh_ones(tmp_path: Path, table: Path) -> None:
    known = tmp_path / "contexts.json"
    contexts = [context.reference for crossing in embedded_crossings() for context in crossing.contexts]
    known.write_text(json.dumps(contexts))
    metric = f"{CHEATS}:FairOnKnown:table={known}"
    verdicts = []
    for words in ([], ["--fresh", "3"]):
        options = [
            "-m",
            metric,
            "--only",
            "religion",
            "--size",
            "quick",
            "--quiet",
            "--out",
            tmp_path / "run",
        ]
        command("run", "stereotype", *options, *words)
        groups = load_run(tmp_path / "run").findings.filter(pl.col("slice") == "religion/group/muslim")
        verdicts.append(groups.filter(pl.col("statistic") == "lost_words")["verdict"].item())
    assert verdicts[0] != "fail"
    assert verdicts[1] == "fail"


def test_a_seed_makes_the_same_texts_again_and_another_makes_others() -> None:
    assert made_records(4) == made_records(4)
    assert made_contexts(4, "religion") == made_contexts(4, "religion")
    golds = [{row["gold"] for row in made_records(seed)} for seed in (4, 5)]
    assert len(golds[0]) == 120
    assert not golds[0] & golds[1]
    known = {record.gold for task in ("translation", "data-to-text") for record in embedded_records(task)}
    assert not known & golds[0]


def test_made_texts_are_whole(tmp_path: Path) -> None:
    files = made_files(2)
    assert files == made_files(2)
    (records,) = [path for path in files if path.stem == "fresh-2"]
    for record in read_records(records):
        assert "{" not in record.gold + record.wrong.text + "".join(record.references + record.reworded)
        assert len({record.gold, record.wrong.text, *record.references, *record.reworded}) == 6
    for path in set(files) - {records}:
        crossing = read_crossing(path)
        assert len(crossing.contexts) >= 40
        assert len(crossing.groups) >= 2


def test_a_changed_file_of_made_texts_is_not_read() -> None:
    (records,) = [path for path in made_files(9) if path.stem == "fresh-9"]
    whole = records.read_bytes()
    records.write_bytes(whole.replace(b"on Monday", b"on Sunday"))
    try:
        with pytest.raises(Exception, match=r"fresh-9\.jsonl"):
            made_files(9)
    finally:
        shutil.rmtree(records.parent)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda home: home / "mine.jsonl", ["mine.jsonl"]),
        (lambda home: home, ["contexts.jsonl", "mine.jsonl"]),
    ],
)
def test_fresh_texts_of_ones_own(tmp_path: Path, make, names: Sequence[str]) -> None:
    for name in ("mine.jsonl", "contexts.jsonl", "notes.txt"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in fresh_files(str(make(tmp_path)))] == names


def test_what_is_no_source_of_fresh_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give a seed"):
        fresh_files("seven")
    with pytest.raises(DataError, match=r"no \.jsonl"):
        fresh_files(str(tmp_path))
    done = command("audit", "-m", "chrf", "--fresh", "1", "--data", tmp_path / "x.jsonl")
    assert isinstance(done.exception, SpecError)
