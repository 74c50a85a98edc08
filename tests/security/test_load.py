"""The server under many clients at once: no error, memory that stays where it is.

Ten clients with 30 requests each by default; fifty with 300 with ASSAY_SOAK=1, which prints the 99th percentile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

SOAK = bool(os.environ.get("ASSAY_SOAK"))
CLIENTS, REQUESTS = (50, 300) if SOAK else (10, 30)
SERVE = """
import sys
from assay.server.app import Bucket
if sys.argv.pop(1) == "unlimited":
    Bucket.take = lambda self, now: True
else:  # so slow a refill that the slowest machine asks too much
    made = Bucket.__init__
    Bucket.__init__ = lambda self: made(self, 0.5, 40.0, 40.0)
from assay.cli import main
main()
"""
TYPED = {"hypothesis": "The old man sat down.", "references": ["The man sat down."]}


def _served(folder: Path, limits: str) -> Iterator[tuple[str, int]]:
    """`assay serve` as a process of its own, and its address."""
    command = [sys.executable, "-c", SERVE, limits, "serve", "-m", "bleu", "-m", "chrf", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://[\w.:]+", line)
    try:
        assert found, line
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@pytest.fixture
def generous(tmp_path: Path) -> Iterator[tuple[str, int]]:
    yield from _served(tmp_path, "unlimited")


@pytest.fixture
def usual(tmp_path: Path) -> Iterator[tuple[str, int]]:
    yield from _served(tmp_path, "limited")


def _memory(pid: int) -> int:
    """Resident kilobytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])  # type: ignore[index]


def test_many_clients_at_once(generous: tuple[str, int]) -> None:
    address, pid = generous
    times: list[float] = []
    wrong: list[str] = []
    with httpx.Client(base_url=address, timeout=None) as first:
        for _ in range(20):  # loads what is loaded once
            assert first.post("/api/stream", json=TYPED).status_code == 200
    before = _memory(pid)

    def client(number: int) -> None:
        with httpx.Client(base_url=address, timeout=None) as own:
            for _ in range(REQUESTS):
                began = time.monotonic()
                try:
                    answer = own.post("/api/stream", json=TYPED | {"hypothesis": f"The man {number} sat."})
                    if answer.status_code != 200 or answer.text.count('"score"') != 2:
                        wrong.append(f"{answer.status_code}: {answer.text[:200]}")
                except httpx.HTTPError as error:
                    wrong.append(repr(error))
                times.append(time.monotonic() - began)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = _memory(pid) - before
    times.sort()
    print(
        f"{len(times)} requests, p50 {times[len(times) // 2]:.3f} s, p99 {times[int(len(times) * 0.99)]:.3f} s, {grown} KB grown"
    )
    assert wrong == []
    assert len(times) == CLIENTS * REQUESTS
    assert grown < 150_000, f"memory grew by {grown} KB"


def test_too_many_requests_are_refused_and_then_served_again(usual: tuple[str, int]) -> None:
    address, _ = usual
    with httpx.Client(base_url=address, timeout=None) as client:
        statuses = [client.get("/runs").status_code for _ in range(120)]
        assert set(statuses) == {200, 429}
        assert statuses[:30] == [200] * 30
        deadline = time.monotonic() + 60
        while client.get("/runs").status_code != 200:
            assert time.monotonic() < deadline, "it never serves again"
            time.sleep(0.2)
