"""MAUVE with its spread over seeds, from texts, against mauve-text on the same weights.

mauve-text is called in three ways: as its documentation has it (texts and a seed a call), carefully (features
made once with its own code, in batches), and on features that both are given. The clustering is the same
faiss k-means on both sides, so that the last shows no gain: what is saved is passes through the model.

Run: python -m bench.mauve [texts]
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bench.perturbed import references, versions

from assay.metrics.corpus import Mauve
from assay.models import encoder as _encoder
from assay.models.weights import resolve

SEEDS = 3
Floats = np.ndarray


def main(count: int = 200) -> dict[str, float]:
    p = references(count)
    q = [versions(text, 8)[-1] for text in p]
    metric = Mauve(pool="last", seeds=SEEDS)
    metric.prepare()
    metric.between(*np.random.default_rng(0).normal(size=(2, 40, 8)))  # loads faiss
    metric.features(["warm up"])
    _encoder.MEMORY.clear()
    ours, mine = _timed(lambda: metric.between(metric.features(p), metric.features(q)))
    features = metric.features(p), metric.features(q)
    _, given = _timed(lambda: metric.between(*features))
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model = Path(folder, "bert-minilm")  # mauve-text reads no other names
        model.symlink_to(resolve("minilm"))
        theirs, seconds = _package(p, q, features, str(model))
    return {
        "texts": float(2 * count),
        "ours_seconds": mine,
        "package_seconds": seconds["documented"],
        "times": seconds["documented"] / mine,
        "times_careful": seconds["careful"] / mine,
        "times_on_features": seconds["features"] / given,
        "largest_difference": float(np.abs(ours - theirs).max()),
        "spread_over_seeds": float(ours.std(ddof=1)),
        "package_spread_over_seeds": float(theirs.std(ddof=1)),
    }


def _package(
    p: list[str], q: list[str], features: tuple[Floats, Floats], model: str
) -> tuple[Floats, dict[str, float]]:
    from mauve import compute_mauve
    from mauve.compute_mauve import get_features_from_input

    def each(**given: object) -> Floats:
        known = {"verbose": False, "featurize_model_name": model, "max_text_length": 256}
        return np.array([compute_mauve(**given, **known, seed=seed).mauve for seed in range(SEEDS)])

    def careful() -> Floats:
        made = [get_features_from_input(None, None, side, model, 256, -1, "", 8) for side in (p, q)]
        return each(p_features=made[0], q_features=made[1])

    get_features_from_input(None, None, ["warm up"], model, 256, -1, "", 1)
    documented, first = _timed(lambda: each(p_text=p, q_text=q))
    _, second = _timed(careful)
    _, third = _timed(lambda: each(p_features=features[0], q_features=features[1]))
    return documented, {"documented": first, "careful": second, "features": third}


def _timed(call: Callable[[], Floats]) -> tuple[Floats, float]:
    began = time.perf_counter()
    found = call()
    return found, time.perf_counter() - began


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:26} {value:,.6g}")
