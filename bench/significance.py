"""Permutation-both for all pairs of 30 metrics: ours at once, scipy's permutation_test pair by pair.

30 metrics x 1,000 segments x 1,000 resamples. scipy is given a vectorised statistic (its fastest use), and,
apart, a plain function of two vectors (its common use). It is timed on a few pairs and scaled to all 435.
"""

from __future__ import annotations

import json
import time

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, permutation_test

from assay.statistics.significance import permutation_both

METRICS, SEGMENTS, RESAMPLES = 30, 1000, 1000
TIMED_PAIRS = 6
Floats = NDArray[np.float64]


def planted(seed: int = 0) -> tuple[Floats, Floats]:
    """Metrics of rising agreement with people; neighbours differ little, so p-values spread over (0, 1)."""
    rng = np.random.default_rng(seed)
    human = rng.standard_normal(SEGMENTS)
    shares = np.linspace(0.30, 0.45, METRICS)[:, None]
    noise = rng.standard_normal((METRICS, SEGMENTS))
    return shares * human + np.sqrt(1 - shares**2) * noise, human


def scipy_p(first: Floats, second: Floats, human: Floats, *, vectorised: bool, seed: int = 1) -> float:
    """The two-sided p-value of one pair, swapping standardised scores segment by segment."""
    pair = tuple((side - side.mean()) / side.std() for side in (first, second))
    centred = (human - human.mean()) / human.std()

    def many(x: Floats, y: Floats, axis: int = -1) -> Floats:
        return _pearson(x, centred, axis) - _pearson(y, centred, axis)

    def one(x: Floats, y: Floats) -> float:
        return float(pearsonr(x, human).statistic - pearsonr(y, human).statistic)

    result = permutation_test(
        pair,
        many if vectorised else one,
        permutation_type="samples",
        vectorized=vectorised,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def _pearson(scores: Floats, standard: Floats, axis: int) -> Floats:
    centred = scores - scores.mean(axis=axis, keepdims=True)
    product: Floats = (centred * standard).mean(axis=axis) / scores.std(axis=axis)
    return product


def main() -> dict[str, float]:
    """Seconds, ratios and how far the p-values lie apart."""
    metrics, human = planted()
    permutation_both(metrics[:2], human, resamples=10, seed=0)  # first calls load BLAS
    began = time.perf_counter()
    ours = permutation_both(metrics, human, resamples=RESAMPLES, seed=0)
    seconds = time.perf_counter() - began
    wide = np.random.default_rng(2).standard_normal((METRICS, 10 * SEGMENTS))
    began = time.perf_counter()
    permutation_both(wide, wide.sum(axis=0), resamples=RESAMPLES, seed=0)
    wide_seconds = time.perf_counter() - began
    pairs = [(place, place + 5) for place in range(0, METRICS - 5, (METRICS - 5) // TIMED_PAIRS)][
        :TIMED_PAIRS
    ]
    apart: list[float] = []
    taken = {True: 0.0, False: 0.0}
    for vectorised in taken:
        began = time.perf_counter()
        p_values = [scipy_p(metrics[i], metrics[j], human, vectorised=vectorised) for i, j in pairs]
        taken[vectorised] = time.perf_counter() - began
        apart += [abs(p - float(ours[pair])) for p, pair in zip(p_values, pairs, strict=True)]
    scale = METRICS * (METRICS - 1) / 2 / len(pairs)
    return {
        "seconds": seconds,
        "seconds_with_10000_segments": wide_seconds,
        "scipy_vectorised_seconds": taken[True] * scale,
        "scipy_plain_seconds": taken[False] * scale,
        "times_faster_than_vectorised_scipy": taken[True] * scale / seconds,
        "times_faster_than_plain_scipy": taken[False] * scale / seconds,
        "largest_p_difference": max(apart),
        # Two Monte-Carlo estimates of one p differ by about 1.41 standard errors; 4 of those is the most.
        "monte_carlo_bound": 4 * float(np.sqrt(2 * 0.25 / RESAMPLES)),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
