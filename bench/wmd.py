"""Word Mover's Distance against one `ot.emd2` at a time, as gensim calls it. One core.

Run: python -m bench.wmd [pairs]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np
import ot
from scipy.spatial.distance import cdist

from assay.core import Sample
from assay.metrics.static import WordMovers
from assay.metrics.text import tokens
from assay.models.vectors import Embeddings, embeddings

PAIRS = 2_000


def made_pairs(count: int) -> list[Sample]:
    """Texts of 8 to 30 words among the 4,000 most frequent of the vocabulary; half the words are shared."""
    rng = np.random.default_rng(0)
    vocabulary = [word for word in list(embeddings("glove").rows)[:6000] if word.isalpha()][:4000]
    weights = 1 / np.arange(5, len(vocabulary) + 5)
    weights /= weights.sum()
    pairs = []
    for _ in range(count):
        reference = rng.choice(vocabulary, size=int(rng.integers(8, 31)), p=weights)
        changed = rng.choice(vocabulary, size=len(reference), p=weights)
        hypothesis = np.where(rng.random(len(reference)) < 0.5, reference, changed)
        pairs.append(Sample(" ".join(hypothesis), (" ".join(reference),)))
    return pairs


def one_at_a_time(sample: Sample, table: Embeddings) -> float:
    """Union vocabulary, all its distances, one call: gensim's KeyedVectors.wmdistance with POT."""
    texts = [
        [word for word in tokens(text, "ptb", True) if word in table.rows]
        for text in (sample.hypothesis, sample.references[0])
    ]
    union = sorted(set(texts[0]) | set(texts[1]))
    counts = [Counter(words) for words in texts]
    weights = [np.array([count[word] / count.total() for word in union]) for count in counts]
    vectors = table.vectors(table.known(union))
    return -float(ot.emd2(*weights, cdist(vectors, vectors)))


def main(pairs: int = PAIRS) -> dict[str, float]:
    """Seconds of both, their ratio, and the largest difference of any score."""
    metric, samples, table = WordMovers(), made_pairs(pairs), embeddings("glove")
    for sample in samples:  # gensim is handed tokens: both sides find the texts tokenised
        tokens(sample.hypothesis, "ptb", True), tokens(sample.references[0], "ptb", True)
    metric.score(samples[:2])
    one_at_a_time(samples[0], table)
    began = time.process_time()
    mine = metric.score(samples).values
    between = time.process_time()
    expected = [one_at_a_time(sample, table) for sample in samples]
    ours, naive = between - began, time.process_time() - between
    gap = max(abs(one - other) for one, other in zip(mine, expected, strict=True))
    figures = {"pairs": pairs, "ratio": naive / ours, "max_difference": gap}
    print(
        f"{'':<22} {'seconds':>8}\n{'assay wmd':<22} {ours:8.2f}\n{'ot.emd2 one at a time':<22} {naive:8.2f}"
    )
    print(f"ratio {figures['ratio']:.1f}, max |diff| {gap:.1e}")
    return figures


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
