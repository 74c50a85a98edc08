"""MoverScore on perturbed versions of texts: all in one call, against a pair at a time.

Run: python -m bench.moverscore [references] [versions]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from bench.perturbed import references, versions

from assay.core import Sample
from assay.metrics.contextual import MoverScore
from assay.models import encoder as _encoder


def main(count: int = 10, each: int = 20) -> dict[str, float]:
    texts = references(count)
    samples = [Sample(version, (text,)) for text in texts for version in versions(text, each)]
    metric = MoverScore().fitted([(text,) for text in texts])
    metric.prepare()
    metric.score([Sample("warm up", ("warm up",))])
    _encoder.MEMORY.clear()
    began = time.perf_counter()
    ours = np.array(metric.score(samples).values, dtype=float)
    mine = time.perf_counter() - began
    theirs = []
    began = time.perf_counter()
    for sample in samples:
        _encoder.MEMORY.clear()
        theirs += list(metric.score([sample]).values)
    single = time.perf_counter() - began
    return {
        "pairs": float(len(samples)),
        "ours_seconds": mine,
        "one_at_a_time_seconds": single,
        "times": single / mine,
        "largest_difference": float(np.abs(ours - np.array(theirs, dtype=float)).max()),
    }


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:22} {value:,.6g}")
