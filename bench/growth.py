"""Growth: 1,000 to 1,000,000 samples, scored and judged; time and memory per sample should stay flat.

Run: python -m bench.growth. Each size runs in a process of its own, on texts that no metric has seen.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from bench.engine import Trivial, apart, made

from assay.core import Sample
from assay.engine.cache import ScoreCache
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.names.spec import measure, parse_spec
from assay.statistics.intervals import bootstrap_mean
from assay.statistics.permutation import sign_flip_test

SIZES = (1_000, 10_000, 100_000, 1_000_000)
_TEXTS = 1_000_000  # scored at every size, in as many sets as that takes


def seconds(count: int) -> dict[str, float]:
    """Processor time a sample with an n-gram metric, over sets of so many samples."""
    one, texts = parse_spec("bleu"), made(_TEXTS)
    score_samples(one, [Sample("warm up", ("warm up",))], Session())
    spent = 0.0
    for start in range(0, _TEXTS, count):
        with tempfile.TemporaryDirectory() as folder:
            settings = Session(ScoreCache(Path(folder)))
            began = time.process_time()
            score_samples(one, texts[start : start + count], settings)
            spent += time.process_time() - began
    return {"microseconds": spent / _TEXTS * 1e6}


def judging(count: int) -> dict[str, float]:
    """Processor time per sample of an interval (bootstrap) and of a test (sign flips)."""
    values = np.random.default_rng(0).normal(size=count)
    began = time.process_time()
    bootstrap_mean(values, seed=0)
    sign_flip_test(values, seed=0)
    return {"judging_microseconds": (time.process_time() - began) / count * 1e6}


def memory(count: int) -> dict[str, float]:
    """The most bytes held at a time, samples included, a sample; what metrics remember is bounded anyhow."""
    score_samples(measure(Trivial()), made(10), Session())
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        score_samples(measure(Trivial()), made(count), Session(ScoreCache(Path(folder))))
    return {"bytes": tracemalloc.get_traced_memory()[1] / count}


def main() -> dict[str, float]:
    figures: dict[str, float] = {}
    for size in SIZES:
        found = apart(f"seconds({size})", "growth") | apart(f"memory({size})", "growth")
        found |= apart(f"judging({size})", "growth")
        figures |= {f"{name}_at_{size}": value for name, value in found.items()}
    for name in ("microseconds", "judging_microseconds", "bytes"):
        figures[f"{name}_growth"] = figures[f"{name}_at_{SIZES[-1]}"] / figures[f"{name}_at_{SIZES[0]}"]
    return figures


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:26} {value:,.6g}")
