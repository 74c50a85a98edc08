"""BERTScore: references x perturbed versions, against a reused BERTScorer called a set at a time.

Run: python -m bench.bertscore [references] [versions]
"""

from __future__ import annotations

import resource
import sys
import time
import warnings

import numpy as np
from bench.perturbed import references, versions

from assay.core import Sample
from assay.metrics.bertscore import BertScore
from assay.models import encoder as _encoder
from assay.models.torch import COUNTER
from assay.models.weights import resolve

PADDED = 1e-5  # a difference of more than this comes from the package's padding


def main(count: int = 200, each: int = 30) -> dict[str, float]:
    texts = references(count)
    sets = list(zip(*(versions(text, each) for text in texts), strict=True))
    folder = str(resolve("minilm"))
    metric = BertScore(model=folder, layer=6)
    metric.prepare()
    metric.score([Sample("warm up", ("warm up",))])
    _encoder.MEMORY.clear()
    before = COUNTER.forward_tokens
    began = time.perf_counter()
    samples = [Sample(h, (r,)) for versions_ in sets for h, r in zip(versions_, texts, strict=True)]
    ours = np.array(metric.score(samples).values)
    mine = time.perf_counter() - began
    tokens = COUNTER.forward_tokens - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        scorer = BERTScorer(model_type=folder, num_layers=6, device="cpu")
        scorer.score(["warm up"], ["warm up"])
        began = time.perf_counter()
        theirs = [np.stack([c.numpy() for c in scorer.score(list(v), texts)], axis=1) for v in sets]
        package = time.perf_counter() - began
        expected = np.concatenate(theirs)
        # Padding of a batch counts as a cosine of 0 in the package, which is more than a negative one: the
        # few pairs that this touches are scored once more, each alone.
        for place in np.flatnonzero(np.abs(ours - expected).max(axis=1) > PADDED):
            one = scorer.score([samples[place].hypothesis], list(samples[place].references))
            expected[place] = [float(part) for part in one]
    return {
        "pairs": float(len(samples)),
        "ours_seconds": mine,
        "package_seconds": package,
        "times": package / mine,
        "largest_difference": float(np.abs(ours - expected).max()),
        "forward_tokens": float(tokens),
        "tokens_a_second": tokens / mine,
        "peak_megabytes": memory,
    }


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:20} {value:,.6g}")
