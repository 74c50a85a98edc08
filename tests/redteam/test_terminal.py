"""No text steers a terminal, from any command; results come out in any encoding, alone on stdout."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = [sys.executable, "-c", "from assay.cli import main; main()"]
ESCAPE = "\x1b]0;OWNED\x07\x9b2J"


def on_terminal(words: list[str], folder: Path) -> bytes:
    """What a command writes to a terminal, stdout and stderr together."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([*MAIN, *words], cwd=folder, stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    said = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    process.wait()
    os.close(leader)
    return said


def _rows(folder: Path) -> None:
    rows = [{"id": f"{ESCAPE}{n}", "hypothesis": f"a {ESCAPE}", "references": [f"the a {n}"], "gold": f"the cat {ESCAPE} sat",
             "source": "x", "task": "translation"} for n in range(3)]  # fmt: skip
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "bad.jsonl").write_text(json.dumps({f"{ESCAPE}": 1}) + "\n")


@pytest.mark.parametrize(
    "words",
    [
        ["score", "-m", "bleu", "--data", "rows.jsonl", "--cache", "none"],
        ["score", "-m", "bleu", "--data", "bad.jsonl", "--cache", "none"],
        ["perturb", "word-drop", "--data", "rows.jsonl"],
        ["score", "-m", f"bleu{ESCAPE}", "--data", "rows.jsonl"],
    ],
    ids=["score", "error", "perturb", "spec"],
)
def test_escapes_in_data_and_names_never_reach_a_terminal(words: list[str], tmp_path: Path) -> None:
    _rows(tmp_path)
    said = on_terminal(words, tmp_path)
    assert said
    assert b"\x1b]0;" not in said
    assert b"\x07" not in said
    assert "\x9b".encode() not in said


def test_an_encoding_without_the_letters_is_no_bug(tmp_path: Path) -> None:
    row = {"id": "日本", "hypothesis": "a b", "references": ["a b"]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    command = [*MAIN, "score", "-m", "bleu", "--data", "rows.jsonl", "--cache", "none"]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"\\u65e5\\u672c" in done.stdout


def test_cells_that_a_spreadsheet_would_run_are_quoted_in_csv_and_not_in_json(tmp_path: Path) -> None:
    names = ["=1", "+1", "-1", "@x", "\tx", "\rx", "plain"]
    rows = [{"id": name, "hypothesis": "a b", "references": ["a b"]} for name in names]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [*MAIN, "score", "-m", "bleu", "--data", "rows.jsonl", "--cache", "none", "-q"]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [row["id"] for row in json.loads(done.stdout)["scores"]] == names
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    for name in names[:-1]:
        assert f"'{name}".encode() in done.stdout
    assert b"'plain" not in done.stdout


def test_no_command_on_a_run_lets_an_escape_through(tmp_path: Path) -> None:
    names = {"stereotype": f"old {ESCAPE}", "anti_stereotype": "young", "reference": f"one {ESCAPE}"}
    rows = [{"id": f"{ESCAPE}{n}", "attribute": f"{ESCAPE}age", **names} for n in range(12)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ["run", "stereotype", "-m", "bleu", "--data", "pairs.jsonl", "--cache", "none", "--out", "run"]
    for words in (
        [*run, "--rule", "paper"],
        ["report", "run", "--format", "md"],
        ["compare", "run", "run"],
        ["panel", "run"],
        ["report", "run", "--format", "card"],
        ["gate", "run", "--fail-on", "fail"],
    ):
        said = on_terminal(words, tmp_path)
        assert said, words
        for sign in (b"\x1b]0;", b"\x07", "\x9b".encode()):
            assert sign not in said, words
    assert b"OWNED" in (tmp_path / "run" / "cases.parquet").read_bytes(), "the run holds it"
