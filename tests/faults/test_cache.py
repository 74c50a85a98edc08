"""The score cache under faults: full disk, read-only, damaged, removed, shared, and a clock that jumps."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assay.core import Sample
from assay.engine import cache
from assay.engine.cache import ScoreCache
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.names.spec import parse_spec

TEXTS = [Sample(f"the number {n} of many words", ("the number of words",)) for n in range(3000)]
EXPECTED = score_samples(parse_spec("chrf"), TEXTS, Session()).values


def scored(cache: Path | None) -> tuple[np.ndarray, int]:
    settings = Session(ScoreCache(cache))
    table = score_samples(parse_spec("chrf"), TEXTS, settings)
    settings.cache.close()
    return table.values, settings.computed["chrf"]


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 64 KB: what a full disk does to a cache."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_costs_the_cache_not_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    values, computed = scored(tmp_path)
    assert np.array_equal(values, EXPECTED)
    assert computed == 3000
    assert "stay in memory" in caplog.text


def test_a_full_disk_leaves_a_cache_that_can_be_used_again(tmp_path: Path, small_files: None) -> None:
    scored(tmp_path)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    )
    values, _ = scored(tmp_path)
    assert np.array_equal(values, EXPECTED)
    assert scored(tmp_path)[1] == 0


def test_a_cache_below_a_file_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    assert np.array_equal(scored(tmp_path / "file" / "cache")[0], EXPECTED)
    assert "cannot be used" in caplog.text


def test_a_read_only_cache_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so that SQLite itself is told to open read-only."""
    scored(tmp_path)
    connect = sqlite3.connect

    def read_only(where: str, **how: object) -> sqlite3.Connection:
        connection = connect(where, **how)  # type: ignore[arg-type]
        if where != ":memory:":
            connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(sqlite3, "connect", read_only)
    values, _ = scored(tmp_path)
    assert np.array_equal(values, EXPECTED)
    more = score_samples(parse_spec("bleu"), TEXTS[:50], Session(ScoreCache(tmp_path)))
    assert np.isfinite(more.values).all()


def test_any_damage_to_the_file_is_survived(tmp_path: Path) -> None:
    """Bytes overwritten at random, or the end cut off: right scores come out, whatever must be recomputed."""
    scored(tmp_path)
    path = tmp_path / "scores.sqlite"
    whole = path.read_bytes()
    rng = Random(1)
    for number in range(200 if os.environ.get("ASSAY_SOAK") else 8):
        for beside in tmp_path.glob("scores.*"):
            beside.unlink()
        damaged = bytearray(whole)
        if number % 4 == 0:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            for _ in range(rng.choice((1, 20, 400))):
                at = rng.randrange(len(damaged) - 64)
                damaged[at : at + rng.randint(1, 64)] = rng.randbytes(rng.randint(1, 64))
        path.write_bytes(bytes(damaged))
        values, _ = scored(tmp_path)
        assert np.array_equal(values, EXPECTED), f"damage {number} gave a wrong score"


def test_a_damage_that_sqlite_cannot_put_into_words(tmp_path: Path) -> None:
    """Its message quotes the damaged schema, which is no text: Python raises an error of decoding instead."""
    scored(tmp_path)
    path = tmp_path / "scores.sqlite"
    whole = path.read_bytes()
    damaged = whole.replace(b"tablesignatures", b"table\x81ignatures").replace(
        b"CREATE TABLE", b"CREATE-TABLE"
    )
    assert damaged != whole
    path.write_bytes(damaged)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(UnicodeDecodeError):
        connection.execute("PRAGMA journal_mode = WAL")
    assert np.array_equal(scored(tmp_path)[0], EXPECTED)


def test_a_cache_removed_during_the_run_is_done_without(tmp_path: Path) -> None:
    settings = Session(ScoreCache(tmp_path))
    score_samples(parse_spec("chrf"), TEXTS[:100], settings)
    for path in tmp_path.iterdir():
        path.unlink()
    assert np.array_equal(score_samples(parse_spec("chrf"), TEXTS, settings).values, EXPECTED)


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(2)
    monkeypatch.setattr(time, "time", lambda: rng.uniform(-1e9, 1e10))
    assert np.array_equal(scored(tmp_path)[0], EXPECTED)
    assert scored(tmp_path)[1] == 0


WRITER = """
import sys
from pathlib import Path
from assay.core import Sample
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.names.spec import parse_spec
from assay.engine.cache import ScoreCache
import assay.engine.scoring
assay.engine.scoring.PUT_ROWS = 100
start = int(sys.argv[2])
texts = [Sample(f"text {n} of a row", ("a row of text",)) for n in range(start, start + 3000)]
settings = Session(ScoreCache(Path(sys.argv[1])))
table = score_samples(parse_spec("chrf"), texts, settings)
print(float(table.values.sum()))
"""


def test_processes_share_a_cache_without_losing_rows(tmp_path: Path) -> None:
    """Three at once, with rows in common: all finish, and every row is there."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    starts = (0, 1500, 3000)
    running = [
        subprocess.Popen(
            [*command, str(start)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        for start in starts
    ]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], outputs
    assert not any("stay in memory" in errors for _, errors in outputs), outputs
    stored = sqlite3.connect(tmp_path / "scores.sqlite").execute("SELECT count(*) FROM scores").fetchone()
    assert stored == (6000,)


def test_of_two_processes_that_open_a_new_cache_the_second_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has seen an empty file; before it can begin, the first has made the tables and put rows."""
    scored(tmp_path)
    version = cache._version
    monkeypatch.setattr(cache, "_version", lambda c: version(c) if c.in_transaction else 0)
    assert scored(tmp_path)[1] == 0


def test_scores_under_another_metrics_number_are_not_taken_for_its_own(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One byte of damage in the table of signatures makes a metric read another's rows."""
    scored(tmp_path)
    chrf, bleu = parse_spec("chrf").metric.signature, parse_spec("bleu").metric.signature
    with closing(sqlite3.connect(tmp_path / "scores.sqlite")) as connection, connection:
        connection.execute("UPDATE signatures SET text = ? WHERE text = ?", (bleu, chrf))
    settings = Session(ScoreCache(tmp_path))
    values = score_samples(parse_spec("bleu"), TEXTS[:50], settings).values
    settings.cache.close()
    assert np.array_equal(values, score_samples(parse_spec("bleu"), TEXTS[:50], Session()).values)
    assert caplog.text.count("damaged row") == 1


def test_a_damaged_cache_that_cannot_be_moved_costs_the_cache_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "scores.sqlite").write_bytes(Random(0).randbytes(50_000))
    (tmp_path / "scores.damaged" / "full").mkdir(parents=True)
    values, computed = scored(tmp_path)
    assert np.array_equal(values, EXPECTED)
    assert computed == 3000
    assert "stay in memory" in caplog.text
    assert "begun anew" not in caplog.text


def test_a_cache_of_a_newer_version_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scored(tmp_path)
    with closing(sqlite3.connect(tmp_path / "scores.sqlite")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    before = (tmp_path / "scores.sqlite").read_bytes()
    assert scored(tmp_path)[1] == 3000
    assert "a newer version of assay" in caplog.text
    assert (tmp_path / "scores.sqlite").read_bytes() == before


def test_a_malformed_cache_is_begun_anew_by_the_next_run(tmp_path: Path) -> None:
    scored(tmp_path)
    raw = bytearray((tmp_path / "scores.sqlite").read_bytes())
    for page in range(
        16_384, len(raw), 16_384
    ):  # the first page, which is read when it is opened, stays whole
        raw[page : page + 16_000] = Random(page).randbytes(16_000)
    (tmp_path / "scores.sqlite").write_bytes(raw)
    assert np.array_equal(scored(tmp_path)[0], EXPECTED)
    assert np.array_equal(scored(tmp_path)[0], EXPECTED)
    assert scored(tmp_path)[1] == 0, "the scores are kept again"


# The file of version 0.1, as it made it: checksums did not cover the signature, and grids had a table.
_OF_0_1 = """
CREATE TABLE signatures (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE scores (
    signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, notes TEXT NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (signature, key)
) WITHOUT ROWID;
CREATE TABLE grids (
    signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (signature, key)
);
CREATE TABLE paces (metric TEXT PRIMARY KEY, characters REAL NOT NULL, seconds REAL NOT NULL);
PRAGMA user_version = 2;
"""
_JUDGE = "judge:endpoint=http://127.0.0.1:9/v1,model=x"


def test_scores_of_0_1_are_kept_and_a_judges_answers_with_them(tmp_path: Path) -> None:
    """Paid answers are never asked for again; a row that was damaged then is not blessed now."""
    samples = [Sample(f"a cat {n}", (f"a dog {n}",)) for n in range(20)]
    signatures = [parse_spec(spec).metric.signature for spec in ("bleu", _JUDGE)]
    # What 0.1 called them: while these hold, so do its scores.
    assert signatures[0] == "bleu|tokenize:split|smooth:method1|n:4|lowercase:false|v:1"
    assert signatures[1].startswith("judge|model:x|endpoint:http://127.0.0.1:9/v1|mode:pointwise|scale:1-5|")
    old = sqlite3.connect(tmp_path / "scores.sqlite")
    old.executescript(_OF_0_1)
    for number, signature in enumerate(signatures, start=1):
        old.execute("INSERT INTO signatures VALUES (?, ?)", (number, signature))
        for place, sample in enumerate(samples):
            key, value, notes = bytes.fromhex(sample.key), struct.pack("d", place / 20), '{"paid": 2}'
            checksum = zlib.crc32(key + value + notes.encode()) + (place == 7)
            old.execute("INSERT INTO scores VALUES (?, ?, ?, ?, ?)", (number, key, value, notes, checksum))
    old.execute("INSERT INTO grids VALUES (1, x'00', x'00', 0)")
    old.commit()
    old.close()
    whole = [sample for place, sample in enumerate(samples) if place != 7]
    for spec in ("bleu", _JUDGE):
        session = Session.open(cache=tmp_path)
        table = score_samples(parse_spec(spec), whole, session)
        assert not sum(session.computed.values())
        assert table.values.ravel().tolist() == [place / 20 for place in range(20) if place != 7]
        assert table.notes["paid"].tolist() == [2] * 19
    session = Session.open(cache=tmp_path)
    assert score_samples(parse_spec("bleu"), samples, session).values[7] != 7 / 20
    assert session.computed["bleu"] == 1
