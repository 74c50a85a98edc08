"""Run folders from elsewhere: nothing outside is read or written, nothing waits, nothing fills the memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import CacheError
from assay.report import write_report
from assay.run.pipeline import run
from assay.run.results import check_writable, load_about, load_run, write_text
from assay.run.session import Session

MAIN = "from assay.cli import main; main()"
# A process of its own with 3 GB at most, so that a bomb that went off would show as a crash.
LIMITED = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, resource.RLIM_INFINITY)); {MAIN}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n}", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(12)
    ]
    run("stereotype", ["bleu"], data=rows, session=Session.open(folder / "run", cache=None))
    return folder / "run"


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "evil")
    return tmp_path / "evil"


def _linked(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        outside = folder.parent / f"outside-{name}"
        (folder / name).rename(outside)
        (folder / name).symlink_to(outside)

    return change


def _fifo(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def _device(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")

    return change


def _folder(folder: Path) -> None:
    (folder / "cases.parquet").unlink()
    (folder / "cases.parquet").mkdir()


def _socket(folder: Path) -> None:
    (folder / "scores.parquet").unlink()
    before = Path.cwd()
    os.chdir(folder)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("scores.parquet")
    os.chdir(before)


def _without_digests(folder: Path) -> None:
    about = load_about(folder)
    del about["files"]
    (folder / "run.json").write_text(json.dumps(about))


def _bomb(folder: Path, *, rows: int = 200_000, nested: bool = False) -> None:
    """One long text that is repeated: a few kilobytes on the disk, gigabytes in memory."""
    _without_digests(folder)
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 20_000]))
    table = pq.read_table(folder / "cases.parquet")
    columns = {name: pa.nulls(rows, table.schema.field(name).type) for name in table.column_names}
    lists = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), column)
    columns |= {"references": lists} if nested else {"hypothesis": column}
    pq.write_table(pa.table(columns), folder / "cases.parquet", compression="zstd")


def _many_rows(folder: Path) -> None:
    _without_digests(folder)
    pq.write_table(pa.table({"audit": pa.nulls(300_000_000, pa.int32())}), folder / "scores.parquet")


def _deep(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        _without_digests(folder)
        (folder / name).write_text("[" * 100_000 + "]" * 100_000)

    return change


def _large(folder: Path) -> None:
    with (folder / "explanations.jsonl").open("wb") as file:
        file.truncate(5_000_000_000)  # no room is taken


def _other_run(folder: Path) -> None:
    table = pq.read_table(folder / "findings.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), folder / "findings.parquet")


def _about(key: str, value: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "run.json").write_text(json.dumps(load_about(folder) | {key: value}))

    return change


HOSTILE: dict[str, Callable[[Path], None]] = {
    **{f"link {name}": _linked(name) for name in ("run.json", "findings.parquet", "explanations.jsonl")},
    **{f"pipe {name}": _fifo(name) for name in ("run.json", "cases.parquet", "explanations.jsonl")},
    **{f"device {name}": _device(name) for name in ("run.json", "scores.parquet", "explanations.jsonl")},
    "a folder as a table": _folder,
    "a socket as a table": _socket,
    "a text repeated to 4 GB": _bomb,
    "a list repeated to 4 GB": lambda folder: _bomb(folder, nested=True),
    "300 million rows": _many_rows,
    "deep run.json": _deep("run.json"),
    "deep explanations": _deep("explanations.jsonl"),
    "an explanation of 5 GB": _large,
    "a table of another run": _other_run,
    "digests that are no table": _about("files", [1]),
    "a digest of a file outside": _about("files", {"../outside.txt": "0"}),
    "notes that are no texts": _about("notes", [{"a": 1}]),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_folder_is_refused_with_a_message(kind: str, folder: Path) -> None:
    HOSTILE[kind](folder)
    with pytest.raises(CacheError) as caught:
        load_run(folder)
    assert str(folder) in str(caught.value)


def test_a_bomb_does_not_go_off(folder: Path) -> None:
    _bomb(folder, rows=2_000_000)
    command = [sys.executable, "-c", LIMITED, "report", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "unpacks to more than" in done.stderr


@pytest.mark.parametrize("kind", ["file", "pipe", "folder"])
def test_a_report_replaces_a_link_and_writes_nothing_through_it(kind: str, folder: Path) -> None:
    victim = folder.parent / "victim"
    {"file": lambda: victim.write_text("mine"), "pipe": lambda: os.mkfifo(victim), "folder": victim.mkdir}[
        kind
    ]()
    (folder / "report.html").unlink(missing_ok=True)
    (folder / "report.html").symlink_to(victim)
    page = write_report(load_run(folder))
    assert not page.is_symlink()
    assert page.read_text().startswith("<!doctype html>")
    assert kind != "file" or victim.read_text() == "mine"


def test_a_probe_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".assay-probe").symlink_to(victim)
    with pytest.raises(CacheError, match=r"no run\.json of ours"):
        check_writable(out)
    assert victim.read_text() == "mine"


def test_half_a_page_never_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("the last whole page")
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(CacheError, match="cannot write"):
            write_text(page, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "the last whole page"


@pytest.mark.parametrize("name", ["run.json", "notes.txt", ".bashrc"])
def test_a_folder_of_the_users_is_refused_whatever_it_holds(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(CacheError, match="files of yours could be written over"):
        check_writable(tmp_path)


def test_an_earlier_run_may_be_written_over(folder: Path) -> None:
    check_writable(folder)


SAVES = """
import os, sys
from pathlib import Path
from assay.run import results
kill = int(sys.argv[3])
count = 0
def replace(self, target, real=Path.replace):
    global count
    count += 1
    if count == kill:
        os.kill(os.getpid(), 9)
    return real(self, target)
run = results.load_run(Path(sys.argv[1]))
Path.replace = replace
run.save(Path(sys.argv[2]))
"""


@pytest.mark.parametrize("kill", range(1, 7))
def test_a_save_that_was_cut_off_is_never_a_mixture(kill: int, folder: Path, whole: Path) -> None:
    """The new run has other findings than the old one; killed before each of the five renames, or not."""
    run = load_run(whole)
    old = run.findings.head(2)
    type(run)(old, run.cases.head(0), run.scores.head(0), (), run.about).save(folder)
    command = [sys.executable, "-c", SAVES, str(whole), str(folder), str(kill)]
    done = subprocess.run(command, check=False)
    assert done.returncode == (-9 if kill <= 5 else 0)
    try:
        read = load_run(folder)
    except CacheError as error:
        assert "another save was cut off" in str(error)
        assert 1 < kill <= 5
    else:
        assert read.findings.equals(old if kill == 1 else run.findings)
        assert read.cases.height == (0 if kill == 1 else run.cases.height)
    check_writable(folder)  # run again: nothing is in the way
    run.save(folder)
    assert load_run(folder).findings.equals(run.findings)
    assert not list(folder.glob(".saving-*")), "what the kill left is gone"


def test_a_first_save_that_was_cut_off_can_be_repeated(tmp_path: Path, whole: Path) -> None:
    command = [sys.executable, "-c", SAVES, str(whole), str(tmp_path / "new"), "3"]
    assert subprocess.run(command, check=False).returncode == -9
    check_writable(tmp_path / "new")
    load_run(whole).save(tmp_path / "new")
    assert load_run(tmp_path / "new").findings.equals(load_run(whole).findings)


def test_the_report_of_a_run_that_was_written_over_is_not_written(folder: Path, whole: Path) -> None:
    first = load_run(folder)
    (folder / "report.html").write_text("of the second")
    type(first)(first.findings.head(1), first.cases, first.scores, (), first.about).save(folder)
    write_report(first)
    assert (folder / "report.html").read_text() == "of the second"
