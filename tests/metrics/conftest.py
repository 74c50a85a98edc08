"""Samples that every parity test uses: the embedded corpora, and small texts with everything awkward in them."""

import json
import random
from importlib.resources import files

import pytest

from assay.core import Sample

AWKWARD = [
    "the",
    "a",
    "cat",
    "sat",
    "mat",
    "running",
    "runs.",
    "Dog!",
    "(dogs)",
    "on,",
    "happily",
    "it's",
    "3.5",
    "naïve",
    "1,000",
    "don't",
    '"quoted"',
    "--",
    "A&B",
]


@pytest.fixture(scope="session")
def corpus_samples():
    samples = []
    for name in ("translation", "captions", "question_generation", "data_to_text"):
        lines = files("assay.data").joinpath(f"corpora/{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines[:40]]
        for row, other in zip(rows, rows[1:] + rows[:1], strict=True):
            references = tuple(row["references"])
            words = row["gold"].split()
            samples.append(Sample(row["gold"], references))
            samples.append(
                Sample(" ".join(words[len(words) // 2 :] + words[: len(words) // 2]), references[:1])
            )
            samples.append(Sample(other["gold"], references))
    return samples


@pytest.fixture(scope="session")
def small_samples():
    rng = random.Random(0)

    def text():
        return " ".join(rng.choices(AWKWARD, k=rng.choice([0, 1, 2, 3, 5, 8, 15])))

    return [Sample(text(), tuple(text() for _ in range(rng.choice([1, 1, 3])))) for _ in range(250)]
