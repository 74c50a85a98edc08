"""How a command ends: 3 for a bug of ours, 130 for Ctrl-C, and never a status that means something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUG = """
import assay.cli.inspect as inspect
def doctor_command(): raise KeyError("planted")
inspect.doctor_command = doctor_command
from assay.cli import main
main()
"""
SLOW = "import time\ndef slow(hypotheses, references):\n    open('began', 'w').close()\n    time.sleep(60)\n"
LIST = [sys.executable, "-c", "from assay.cli import main; main()", "list", "perturbations"]
ROW = '{"id": "a", "hypothesis": "a b", "references": ["a b"]}\n'


def test_a_bug_is_3_with_a_traceback_and_a_request() -> None:
    done = subprocess.run([sys.executable, "-c", BUG, "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "KeyError: 'planted'" in done.stderr
    assert "this is a bug" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_output_that_finds_no_room_is_2_and_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(LIST, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("assay: cannot write the output: No space left on device; ")
    assert done.stderr.count("\n") == 1


def test_output_that_goes_nowhere_is_2_and_one_line() -> None:
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *LIST], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("assay: stdout is closed")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_is_no_error() -> None:
    piped = ["sh", "-c", '"$@" | head -1', "sh", *LIST]
    done = subprocess.run(piped, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("name")
    assert done.stderr == ""


def test_a_reader_that_has_left_is_141_not_a_failed_requirement() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(LIST, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("cache", "message"), [("cache", "scores so far are kept"), ("none", "no score is kept, without a cache")]
)
def test_ctrl_c_is_130_and_says_whether_scores_are_kept(cache: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "a.jsonl").write_text(ROW)
    words = ["score", "-m", "slow.py:slow", "--data", "a.jsonl", "--cache", cache]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ)
    deadline = time.monotonic() + 60
    while not (tmp_path / "began").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert message in errors
    assert "Traceback" not in errors


def test_a_timeout_is_2_and_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "a.jsonl").write_text(ROW)
    words = ["score", "-m", "slow.py:slow", "--data", "a.jsonl", "--cache", "none", "--timeout", "0.5"]
    command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode == 2, done.stderr
    assert "no answer within 0.5 s" in done.stderr


CLI = [sys.executable, "-c", "from assay.cli import main; main()"]
NOBODY = """
import os, pwd
def nobody(uid): raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = nobody
for name in ("HOME", "XDG_CACHE_HOME", "ASSAY_CACHE"): os.environ.pop(name, None)
from assay.cli import main
main()
"""


def _rows(folder: Path) -> str:
    (folder / "rows.jsonl").write_text(ROW)
    return str(folder / "rows.jsonl")


@pytest.mark.parametrize(("words", "status"), [(["list", "perturbations"], 0), (["no-such-command"], 2)])
@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_a_closed_stderr_changes_no_status(words: list[str], status: int, closed: str) -> None:
    """A gate would read 1 as a failed verdict."""
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *CLI, *words], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == status
    assert done.stdout.startswith("name") is (status == 0)


def test_scores_with_a_closed_stderr_are_whole(tmp_path: Path) -> None:
    """The first file that is opened would otherwise get the number of stderr, and its messages."""
    score = [*CLI, "score", "-m", "bleu", "--data", _rows(tmp_path), "--cache", str(tmp_path / "cache")]
    first = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *score], stdout=subprocess.PIPE, text=True, check=False
    )
    again = subprocess.run(score, capture_output=True, text=True, check=False)
    assert first.returncode == again.returncode == 0
    assert first.stdout == again.stdout
    assert "damaged" not in again.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["score", "-m", "bleu", "--cache", "none"], 0, ""),
        (["score", "-m", "bleu"], 2, "no home folder"),
        (["doctor"], 2, "no home folder"),
        (["score", "-m", "bleu", "--cache", "none", "--data", "~no-such-user/rows.jsonl"], 2, "home"),
    ],
)
def test_a_user_without_a_home_is_told(words: list[str], status: int, said: str, tmp_path: Path) -> None:
    data = [] if words == ["doctor"] or "--data" in words else ["--data", _rows(tmp_path)]
    command = [sys.executable, "-c", NOBODY, *words, *data]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


def test_a_folder_that_has_been_removed_is_2(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = f"cd {gone} && rmdir {gone} && exec {sys.executable} -c 'from assay.cli import main; main()' list metrics"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "assay: the working folder has been removed; change to another, and start again\n"


@pytest.mark.parametrize("out", ["loop", "loop/inside"])
@pytest.mark.parametrize("command", [["score"], ["run", "human"]])
def test_an_output_on_a_loop_of_links_is_2(command: list[str], out: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    words = [*CLI, *command, "-m", "bleu", "--data", _rows(tmp_path), "--cache", "none", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "loop" in done.stderr
    assert "bug" not in done.stderr
