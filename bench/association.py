"""The statistics of the association battery against Python loops over partitions. One core.

The loop as the paper defines it adds up r(t, A, B) anew for every partition; a kinder one keeps r. They do
some partitions of each drawn test and their time is scaled to all of them.

Run: python -m bench.association
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from assay.statistics.association import AssociationEffect, partition_test, target_associations
from assay.statistics.permutation import partitions

# Targets and attributes a side of the 46 published tests: words, unbleached sentences, sentences.
TARGETS = (
    *(25, 25, 32, 15, 16, 16, 15, 8, 8, 8, 8, 8, 8, 6, 8, 15, 4, 8, 8),
    *(8,) * 8,
    *(350, 330, 256, 195, 128, 128, 195, 64, 80, 72, 72, 56, 56, 18, 64, 120, 52, 64, 64),
)
ATTRIBUTES = (
    *(25, 25, 25, 25, 25, 8, 8, 8, 8, 8, 8, 8, 8, 7, 8, 18, 18, 10, 8),
    *(10, 10, 10, 10, 8, 8, 8, 8),
    *(232, 232, 232, 232, 232, 43, 43, 106, 106, 80, 64, 80, 64, 22, 43, 54, 54, 30, 24),
)
Rows = Sequence[Sequence[float]]


def main() -> dict[str, float]:
    """Seconds of each, ratios, and the largest difference of p where a loop did all partitions."""
    rng = np.random.default_rng(0)
    tests = [rng.normal(size=(2 * x, 2 * a)) for x, a in zip(TARGETS, ATTRIBUTES, strict=True)]
    partitions.cache_clear()
    began = time.perf_counter()
    ours = [_association(scores).one_sided for scores in tests]
    fast = time.perf_counter() - began
    defined = sum(_loop(scores, by_definition, 3)[0] for scores in tests)
    kept, apart = 0.0, 0.0
    for scores, result in zip(tests, ours, strict=True):
        seconds, p = _loop(scores, by_kept_r, None if result.exact else 300)
        kept += seconds
        apart = max(apart, abs(p - result.p_value)) if result.exact else apart
    return {
        "battery_seconds": fast,
        "loop_seconds": defined,
        "times_faster": defined / fast,
        "kept_r_loop_seconds": kept,
        "times_faster_than_kept_r": kept / fast,
        "largest_p_difference": apart,
        "exact_8_8_milliseconds": _exact_8_8(),
    }


def _association(scores: np.ndarray) -> AssociationEffect:
    r, n_x = target_associations(scores, scores.shape[1] // 2), len(scores) // 2
    return partition_test(r[:n_x], r[n_x:], scale=float(np.abs(scores).max()), seed=0)


def by_definition(rows: Rows, half: int, chosen: Sequence[Sequence[int]]) -> list[float]:
    """s of each partition: r(t, A, B) of every target is taken from the scores each time."""

    def r(row: Sequence[float]) -> float:
        return sum(row[:half]) / half - sum(row[half:]) / (len(row) - half)

    answers = []
    for members in chosen:
        inside = set(members)
        answers.append(sum(r(row) if i in inside else -r(row) for i, row in enumerate(rows)))
    return answers


def by_kept_r(rows: Rows, half: int, chosen: Sequence[Sequence[int]]) -> list[float]:
    """s of each partition, r computed once."""
    r = [sum(row[:half]) / half - sum(row[half:]) / (len(row) - half) for row in rows]
    answers = []
    for members in chosen:
        inside = set(members)
        answers.append(sum(value if i in inside else -value for i, value in enumerate(r)))
    return answers


def _loop(
    scores: np.ndarray, loop: Callable[[Rows, int, Sequence[Sequence[int]]], list[float]], limit: int | None
) -> tuple[float, float]:
    """Seconds for all partitions, and p over those done."""
    n = len(scores)
    choices = partitions(n, n // 2, 0)
    if choices.packed is None:
        raise ValueError("the draws of a test of this size are not stored")
    packed = np.ascontiguousarray(choices.packed[:, :limit].T)
    bits = np.unpackbits(packed, axis=1, count=n, bitorder="little")
    chosen = [np.flatnonzero(row).tolist() for row in bits]
    rows, half = scores.tolist(), scores.shape[1] // 2
    began = time.perf_counter()
    null = loop(rows, half, chosen)
    seconds = (time.perf_counter() - began) * choices.count / len(chosen)
    observed = loop(rows, half, [list(range(n // 2))])[0]
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
