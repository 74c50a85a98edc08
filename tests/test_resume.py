"""kill -9 in mid-run: what was put is not scored again, and the findings are those of an unbroken run."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

SLOW = """import os, time
from dataclasses import dataclass
from assay import Metric
@dataclass(frozen=True)
class Slow(Metric):
    name = "slow"
    def score(self, samples):
        with open(os.environ["ASSAY_TEST_LOG"], "a") as log:
            log.write("".join(s.key + "\\n" for s in samples))
            written = log.tell()
        if "ASSAY_TEST_KILLED" in os.environ:  # slow enough to be put into the cache, then until the end
            time.sleep(0.002 * len(samples) if written <= 2200 * 33 else 600)
        return [float(len(s.hypothesis) % 7) for s in samples]
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n} x", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(2000)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-c", "from assay.cli import main; main()", "run", "stereotype", "-m",
               "slow.py:Slow", "--data", "pairs.jsonl", "--cache", "cache", "--json"]  # fmt: skip
    logged = os.environ | {"ASSAY_TEST_LOG": str(tmp_path / "log1"), "ASSAY_TEST_KILLED": "yes"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=logged, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if (tmp_path / "log1").exists() and len((tmp_path / "log1").read_text().split()) > 2200:
            break
        time.sleep(0.05)
    assert process.poll() is None, "the run ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = (tmp_path / "log1").read_text().split()
    stored = (
        sqlite3.connect(tmp_path / "cache" / "scores.sqlite").execute("SELECT key FROM scores").fetchall()
    )
    cached = {key.hex() for (key,) in stored}
    assert cached, "nothing was put before the kill"
    logged = os.environ | {"ASSAY_TEST_LOG": str(tmp_path / "log2")}
    resumed = subprocess.run(command, cwd=tmp_path, env=logged, capture_output=True, text=True, check=True)
    after = (tmp_path / "log2").read_text().split()
    assert not cached & set(after), "a stored score was computed again"
    assert set(before) | set(after) >= cached
    anew = [word if word != "cache" else "none" for word in command]
    whole = subprocess.run(anew, cwd=tmp_path, env=logged, capture_output=True, text=True, check=True)
    assert json.loads(whole.stdout)["findings"] == json.loads(resumed.stdout)["findings"]
