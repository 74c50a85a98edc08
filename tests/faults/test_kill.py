"""kill -9 at random moments, then resume: equal findings, nothing rescored but what had not been put.

Three kills by default, fifty with ASSAY_SOAK=1.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

KILLS = 50 if os.environ.get("ASSAY_SOAK") else 3
SLOW = """import os, time
from dataclasses import dataclass
from assay import Metric
@dataclass(frozen=True)
class Slow(Metric):
    name = "slow"
    def score(self, samples):
        time.sleep(0.0005 * len(samples))
        with open(os.environ["ASSAY_TEST_LOG"], "a") as log:
            log.write("".join(s.key + "\\n" for s in samples))
        return [float(len(s.hypothesis) % 7) for s in samples]
"""
# Rows are put ten times as often as in a real run, so that a short run has many moments to be killed at.
MAIN = "import assay.engine.scoring as s; s.PUT_SECONDS = 0.2; from assay.cli import main; main()"


def _stored(cache: Path) -> set[str]:
    path = cache / "scores.sqlite"
    if not path.exists():
        return set()
    connection = sqlite3.connect(path)
    try:
        return {key.hex() for (key,) in connection.execute("SELECT key FROM scores")}
    except sqlite3.OperationalError:  # killed before the tables were made
        return set()
    finally:
        connection.close()


def _logged(path: Path) -> list[str]:
    """Keys scored; the last line may be torn by the kill."""
    return [line for line in path.read_text().split("\n") if len(line) == 32] if path.exists() else []


def test_a_run_killed_again_and_again_ends_as_if_it_never_was(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n} x", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(900)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-c", MAIN, "run", "stereotype", "-m", "slow.py:Slow", "--data", "pairs.jsonl",
               "--cache", "cache", "--json", "-q"]  # fmt: skip
    rng = Random(8)
    log = tmp_path / "log"
    environment = os.environ | {"ASSAY_TEST_LOG": str(log)}
    landed = 0
    for _ in range(KILLS):
        if (
            len(_stored(tmp_path / "cache")) > 800
        ):  # from the start again, so that a kill finds work under way
            for path in (tmp_path / "cache").iterdir():
                path.unlink()
        before = _stored(tmp_path / "cache")
        log.unlink(missing_ok=True)
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wanted = rng.randint(1, 1000)  # samples scored when the kill comes
        deadline = time.monotonic() + 60
        while process.poll() is None and len(_logged(log)) < wanted and time.monotonic() < deadline:
            time.sleep(rng.uniform(0.01, 0.05))
        landed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not before & set(_logged(log)), "a stored score was computed again"
        assert _stored(tmp_path / "cache") >= before, "a stored score was lost"
    assert landed >= KILLS * 0.6, "the run ended before most kills"
    resumed = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    anew = [word if word != "cache" else "none" for word in command]
    whole = subprocess.run(anew, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert resumed.stdout == whole.stdout
