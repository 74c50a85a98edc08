"""Workers: plug-ins go to them, none outlives its parent, and a crash is told with its sample."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from assay.core import Sample
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.engine.workers import local
from assay.engine.workers.local import LocalEngine
from assay.errors import MetricError
from assay.names.spec import parse_spec

WORKERS = """
import os, time
from dataclasses import dataclass
from assay import Metric
BASE = 2.0
@dataclass(frozen=True)
class Tells(Metric):
    '''Says where it ran, and waits or crashes where it is told to.'''
    name = "tells"
    log: str = ""  # without its suffix: a file that a field names is input, and must not change in a run
    def score(self, samples):
        with open(self.log + ".txt", "a") as log:
            log.write(f"{os.getpid()}\\n")
        if any("wait" in s.hypothesis for s in samples):
            time.sleep(600)
        if any("crash" in s.hypothesis for s in samples):
            os._exit(7)
        return [BASE * len(s.hypothesis) for s in samples]
def doubled(hypotheses, references):
    return [2.0 * len(text) for text in hypotheses]
"""


def _wait_until(condition: object) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(local, "_POOL_FROM", 20)
    (tmp_path / "tells.py").write_text(WORKERS)
    return tmp_path / "tells.py"


@pytest.mark.parametrize("spec", ["Tells:log={log}", "doubled"])
def test_plug_ins_use_workers(spec: str, plugin: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    given = parse_spec(f"{plugin}:{spec.format(log=log.with_suffix(''))}")
    texts = [Sample("x" * (n + 1), ("r",), id=str(n)) for n in range(60)]
    values = score_samples(given, texts, Session(engine=LocalEngine(workers=2))).values.ravel()
    assert np.array_equal(values, [2.0 * (n + 1) for n in range(60)])
    if "log" in spec:
        assert str(os.getpid()) not in log.read_text().split()


def test_a_crash_names_its_sample(plugin: Path, tmp_path: Path) -> None:
    given = parse_spec(f"{plugin}:Tells:log={tmp_path / 'log'}")
    texts = [Sample(f"text {n}" if n != 33 else "crash", ("r",), id=f"id{n}") for n in range(60)]
    with pytest.raises(
        MetricError, match="ended its worker 3 times, with the sample id33 with hypothesis 'crash'"
    ):
        score_samples(given, texts, Session(engine=LocalEngine(workers=2)))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(number: int, plugin: Path, tmp_path: Path) -> None:
    rows = "".join('{"hypothesis": "please wait %d", "references": ["r"]}\n' % n for n in range(60))  # noqa: UP031
    (tmp_path / "rows.jsonl").write_text(rows)
    code = "import assay.engine.workers.local as l; l._POOL_FROM = 20; from assay.cli import main; main()"
    words = [
        "score",
        "-m",
        f"{plugin}:Tells:log=log",
        "--data",
        "rows.jsonl",
        "--workers",
        "2",
        "--cache",
        "none",
    ]
    process = subprocess.Popen([sys.executable, "-c", code, *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    log = tmp_path / "log.txt"
    _wait_until(lambda: log.exists() and len(set(log.read_text().split())) == 2)
    workers = [int(line) for line in set(log.read_text().split())]
    process.send_signal(number)
    process.wait()
    _wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
