"""Agreement with many ratings: time per text and the largest memory of `assay run human`.

Run: python -m bench.ratings [texts]. The command runs in a process of its own on a Parquet file made here.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

TEXTS = 1_000_000
SYSTEMS = 20  # texts per document


def write_ratings(path: Path, count: int) -> None:
    """Twelve words of which a share is that of the reference; people rate the share, with noise."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(3000)])
    frames = []
    for start in range(0, count, 50_000):
        number = np.arange(start, min(count, start + 50_000))
        reference, other = (rng.integers(len(words), size=(len(number), 12)) for _ in range(2))
        share = rng.random(len(number))
        hypothesis = np.where(rng.random(reference.shape) < share[:, None], reference, other)
        texts = {"hypothesis": hypothesis, "reference": reference}
        frame = {name: [" ".join(row) for row in words[ids]] for name, ids in texts.items()}
        labels = {"system": [f"s{n % SYSTEMS}" for n in number], "doc": [f"d{n // SYSTEMS}" for n in number]}
        rating = np.rint(100 * share + rng.normal(0, 15, len(number)))
        frames.append(pl.DataFrame(frame | labels | {"rating": rating}))
    pl.concat(frames).write_parquet(path)


def main(count: int = TEXTS) -> dict[str, float]:
    figures: dict[str, float] = {"texts": float(count)}
    with tempfile.TemporaryDirectory() as folder:
        for name, size in (("tenth", count // 10), ("whole", count)):
            file = Path(folder, f"{name}.parquet")
            write_ratings(file, size)
            command = ["assay", "run", "human", "-m", "bleu", "--cache", "none", "--quiet"]
            began = time.perf_counter()
            # A child of its own, so that the peak is that of the command alone.
            words = [sys.executable, "-m", *command, "--data", str(file), "--out", str(Path(folder, name))]
            silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
            child = os.posix_spawn(sys.executable, words, os.environ, file_actions=silent)
            _, status, usage = os.wait4(child, 0)
            if status:
                raise RuntimeError(f"the command ended with {status}")
            figures[f"{name}_seconds"] = time.perf_counter() - began
            figures[f"{name}_cpu_microseconds_per_text"] = (usage.ru_utime + usage.ru_stime) / size * 1e6
            figures[f"{name}_peak_megabytes"] = usage.ru_maxrss / 1e3
    growth = figures["whole_cpu_microseconds_per_text"] / figures["tenth_cpu_microseconds_per_text"]
    return figures | {"growth": growth}


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:34} {value:,.6g}")
