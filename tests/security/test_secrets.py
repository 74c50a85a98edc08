"""Keys in the environment never reach a file, a report or a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KEY = "sk-planted-0123456789abcdef"
NAMES = ("ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "HF_TOKEN")


def test_no_key_in_a_run_folder_or_on_a_screen(tmp_path: Path) -> None:
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n}", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(12)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = os.environ | dict.fromkeys(NAMES, KEY)
    said = ""
    for words in (
        ["run", "stereotype", "-m", "bleu", "--data", "pairs.jsonl", "--cache", "cache"],
        ["run", "stereotype", "-m", "blue", "--data", "pairs.jsonl"],
    ):
        command = [sys.executable, "-c", "from assay.cli import main; main()", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        said += done.stdout + done.stderr
    assert KEY not in said
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in written)
    for path in written:
        assert KEY.encode() not in path.read_bytes(), path.name
