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

from assay.api.pipeline import run
from assay.api.runs import load_run
from assay.engine.session import Session
from assay.errors import CacheError
from assay.reading.results import check_writable, load_about, write_text
from assay.report import write_report

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


# Loads the run of the first folder and saves it to the second; killed at the nth step there, if there is one.
SAVES = """
import os, sys
from pathlib import Path
from assay.reading import results
source, target, kill = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
run = results.load_run(source)
steps = 0
def count(event, args):
    global steps
    if event in STEPS and any(isinstance(path, str | os.PathLike) and target in str(path) for path in args):
        steps += 1
        if steps == kill:
            os.kill(os.getpid(), 9)
STEPS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree")
sys.addaudithook(count)
write = results.pl.DataFrame.write_parquet
def write_in_two(frame, path):
    count("open", [str(path)])
    write(frame, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])
    count("open", [str(path)])
    path.write_bytes(whole)
results.pl.DataFrame.write_parquet = write_in_two
run.save(target)
print(steps)
"""


def save_killed(source: Path, target: Path, step: int) -> subprocess.CompletedProcess[str]:
    """Save a run over another in a process that is killed at one of its steps."""
    command = [sys.executable, "-c", SAVES, str(source), str(target), str(step)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("step", [1, 5, 12, 20, 25, 28, 30, 32, 34, 1000])
def test_a_kill_inside_saving_leaves_one_whole_run(step: int, folder: Path, whole: Path) -> None:
    run = load_run(whole)
    old = type(run)(run.findings.head(2), run.cases.head(0), run.scores.head(0), (), run.about)
    old.save(folder)
    done = save_killed(whole, folder, step)
    assert done.returncode == (-9 if step < 1000 else 0), done.stderr
    read = load_run(folder)
    is_new = read.findings.height == run.findings.height
    expected = run if is_new else old
    assert read.findings.equals(expected.findings)
    assert read.cases.equals(expected.cases)
    assert read.scores.equals(expected.scores)
    assert is_new or step < 1000
    check_writable(folder)  # run again: nothing is in the way
    old.save(folder)
    assert load_run(folder).findings.equals(old.findings)
    assert not (folder / ".saving").exists(), "what the kill left is gone"


def test_a_first_save_that_was_cut_off_can_be_repeated(tmp_path: Path, whole: Path) -> None:
    assert save_killed(whole, tmp_path / "new", 12).returncode == -9
    with pytest.raises(CacheError, match="not a run folder"):
        load_run(tmp_path / "new")
    check_writable(tmp_path / "new")
    load_run(whole).save(tmp_path / "new")
    assert load_run(tmp_path / "new").findings.equals(load_run(whole).findings)


@pytest.mark.parametrize("what", ["folder", "file"])
def test_files_that_wait_behind_a_link_are_not_read(what: str, folder: Path) -> None:
    """A link at the place where a save leaves its files, to a folder or file elsewhere that would fit."""
    outside, waiting = folder.parent / "outside", folder / ".saving"
    outside.mkdir()
    (folder / "findings.parquet").rename(outside / "findings.parquet")
    if what == "folder":
        waiting.symlink_to(outside)
    else:
        waiting.mkdir()
        (waiting / "findings.parquet").symlink_to(outside / "findings.parquet")
    with pytest.raises(CacheError, match=r"findings\.parquet is damaged"):
        load_run(folder)


def test_a_save_over_a_link_leaves_what_it_points_to(folder: Path, whole: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (folder / ".saving").symlink_to(outside)
    load_run(whole).save(folder)
    assert [path.name for path in outside.iterdir()] == ["mine"]
    assert load_run(folder).findings.equals(load_run(whole).findings)


def test_a_report_of_the_run_before_never_stays(folder: Path, whole: Path) -> None:
    """A kill between saving and the report must not leave the page of another run beside the tables."""
    write_report(load_run(folder))
    load_run(whole).save(folder)
    assert not (folder / "report.html").exists()


def test_the_report_of_a_run_that_was_written_over_is_not_written(folder: Path, whole: Path) -> None:
    first = load_run(folder)
    type(first)(first.findings.head(1), first.cases, first.scores, (), first.about).save(folder)
    (folder / "report.html").write_text("of the second")
    write_report(first)
    assert (folder / "report.html").read_text() == "of the second"
