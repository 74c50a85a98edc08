"""Bulk scoring: BLEU of two million rows in Parquet parts, in one process and by one and two workers of Ray.

Run: python -m bench.bulk [rows]. Every way scores the same parts in a process tree of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 2_000_000
PARTS = 20
WORDS = 12  # per text


def write_parts(folder: Path, rows: int) -> None:
    """Parts of different texts; five rows share a reference, and half of a hypothesis's words are in it."""
    rng, size = np.random.default_rng(0), rows // PARTS
    vocabulary = np.array([f"word{n}" for n in range(5_000)])
    for part in range(PARTS):
        references = np.repeat(rng.choice(vocabulary, size=(-(-size // 5), WORDS)), 5, axis=0)[:size]
        kept = rng.random(references.shape) < 0.5
        texts = np.where(kept, references, rng.choice(vocabulary, size=references.shape))
        columns = {
            "id": [f"{part}-{n}" for n in range(size)],
            "hypothesis": [" ".join(words) for words in texts],
            "references": [[" ".join(words)] for words in references],
        }
        pl.DataFrame(columns).write_parquet(folder / f"part-{part:02}.parquet")


def timed(data: Path, out: Path, *options: str) -> tuple[float, float]:
    """Seconds by the wall of `assay score`, and the most megabytes that its process held."""
    command = [sys.executable, "-m", "assay", "score", "-m", "bleu", "--data", str(data / "part-*.parquet")]
    began = time.perf_counter()
    process = subprocess.Popen([*command, "--out", str(out), "--cache", "none", "-q", *options])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise ValueError(f"assay score ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main(rows: int = ROWS) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "parts").mkdir()
        # In a process of its own: the peak of a child counts what its parent held when it began.
        with ProcessPoolExecutor(1) as pool:
            pool.submit(write_parts, folder / "parts", rows).result()
        alone, peak = timed(folder / "parts", folder / "one")
        figures = {"rows": float(rows), "seconds": alone, "peak_megabytes": peak}
        for workers in (1, 2):
            options = ("--ray", "local", "--workers", str(workers))
            figures[f"seconds_ray_{workers}"], _ = timed(folder / "parts", folder / f"ray{workers}", *options)
        ways = [pl.read_parquet(folder / way / "*.parquet").sort("id") for way in ("one", "ray1", "ray2")]
        if not all(table.equals(ways[0]) for table in ways) or ways[0].height != rows // PARTS * PARTS:
            raise ValueError("the ways do not give equal scores of every row")
    figures["times_two_workers"] = figures["seconds_ray_1"] / figures["seconds_ray_2"]
    return figures


if __name__ == "__main__":
    os.environ.setdefault("RAY_DEDUP_LOGS", "1")
    for name, value in main(*map(int, sys.argv[1:2])).items():
        print(f"{name:24} {value:,.4g}")
