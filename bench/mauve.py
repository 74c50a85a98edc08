"""MAUVE on the same features as mauve-text: seconds and the largest difference over seeds.

Run: python -m bench.mauve [texts]
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from assay.metrics.mauve import Mauve


def main(count: int = 600) -> dict[str, float]:
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(count, 64)), rng.normal(0.2, 1, size=(count, 64))
    metric = Mauve(seeds=3)
    began = time.perf_counter()
    ours = metric.between(p, q)
    mine = time.perf_counter() - began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mauve

        began = time.perf_counter()
        theirs = [
            mauve.compute_mauve(p_features=p, q_features=q, seed=s, verbose=False).mauve for s in range(3)
        ]
        package = time.perf_counter() - began
    return {
        "texts": float(count),
        "ours_seconds": mine,
        "package_seconds": package,
        "times": package / mine,
        "largest_difference": float(np.abs(ours - np.array(theirs)).max()),
        "spread_over_seeds": float(ours.std(ddof=1)),
    }


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:20} {value:,.6g}")
