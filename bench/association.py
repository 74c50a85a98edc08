"""The statistics of the association battery against a Python loop over partitions. One core.

Run: python -m bench.association
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from assay.statistics._arrangements import partitions
from assay.statistics.association import partition_test

# Targets a side of the 46 published tests: words, unbleached sentences, sentences.
SIZES = (
    *(25, 25, 32, 15, 16, 16, 15, 8, 8, 8, 8, 8, 8, 6, 8, 15, 4, 8, 8),
    *(8,) * 8,
    *(350, 330, 256, 195, 128, 128, 195, 64, 80, 72, 72, 56, 56, 18, 64, 120, 52, 64, 64),
)
LOOPED = 1000  # partitions of a drawn test that the loop does; its time is scaled to all of them


def looped(r: Sequence[float], chosen: Sequence[Sequence[int]]) -> list[float]:
    """s of each partition, as one writes it down: the sum over X less the sum over Y."""
    answers = []
    for members in chosen:
        inside = set(members)
        answers.append(sum(r[i] for i in members) - sum(r[i] for i in range(len(r)) if i not in inside))
    return answers


def main() -> dict[str, float]:
    """Seconds of either, their ratio, and the largest difference of p where the loop did all partitions."""
    rng = np.random.default_rng(0)
    tests = [rng.normal(size=2 * size) for size in SIZES]
    partitions.cache_clear()
    began = time.perf_counter()
    ours = [partition_test(r[: r.size // 2], r[r.size // 2 :], seed=0).one_sided for r in tests]
    fast = time.perf_counter() - began
    slow, apart = 0.0, 0.0
    for r, result in zip(tests, ours, strict=True):
        seconds, p = _loop(r, exact=result.exact)
        slow += seconds
        apart = max(apart, abs(p - result.p_value) if result.exact else 0.0)
    return {
        "battery_seconds": fast,
        "loop_seconds": slow,
        "times_faster": slow / fast,
        "largest_p_difference": apart,
        "exact_8_8_milliseconds": _exact_8_8(),
    }


def _loop(r: np.ndarray, *, exact: bool) -> tuple[float, float]:
    """Seconds for all partitions, and p."""
    half = r.size // 2
    choices = partitions(r.size, half, 0)
    if choices.kept is None:
        raise ValueError("the draws of a test of this size are not kept")
    packed = choices.kept if exact else choices.kept[:, :LOOPED]
    bits = np.unpackbits(np.ascontiguousarray(packed.T), axis=1, count=r.size, bitorder="little")
    chosen = [np.flatnonzero(row).tolist() for row in bits]
    values = r.tolist()
    began = time.perf_counter()
    null = looped(values, chosen)
    seconds = (time.perf_counter() - began) * choices.count / len(chosen)
    observed = sum(values[:half]) - sum(values[half:])
    return seconds, sum(s >= observed - 1e-9 for s in null) / len(null)


def _exact_8_8() -> float:
    r = np.random.default_rng(1).normal(size=16)
    partition_test(r[:8], r[8:], seed=0)
    began = time.perf_counter()
    for _ in range(10):
        partition_test(r[:8], r[8:], seed=0)
    return (time.perf_counter() - began) * 100


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}\t{value:.6g}")
