"""The n-gram suite against the libraries it equals: BLEU, ROUGE, chrF and TER on 10,000 pairs, one core.

Ten hypotheses share a reference, as systems of a campaign and versions of a text do.

Run: python -m bench.ngrams [pairs]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from assay.core import Metric, Sample
from assay.metrics.edit import Ter
from assay.metrics.ngram import Bleu, Chrf
from assay.metrics.rouge import Rouge1, Rouge2, RougeL
from assay.names.spec import parse_spec

PAIRS, _SHARED = 10_000, 10  # hypotheses in all, and per reference
OURS: dict[str, Metric] = {
    "bleu": Bleu(),
    "sacrebleu": parse_spec("sacrebleu").metric,  # type: ignore[dict-item]
    "rouge1": Rouge1(stemmer=True),
    "rouge2": Rouge2(stemmer=True),
    "rougeL": RougeL(stemmer=True),
    "chrf": Chrf(),
    "ter": Ter(),
}


def made_pairs(count: int, seed: int = 0) -> list[Sample]:
    """Sentences of 8 to 30 words on a Zipf vocabulary; hypotheses with words lost, changed and moved."""
    rng = random.Random(seed)
    ends = ["", "s", "ing", "ed", "ly", "er", "ness", "al"]
    heads = ["".join(rng.choices("abcdefghilmnoprstuvw", k=rng.randint(2, 7))) for _ in range(600)]
    words = [head + end for head in heads for end in ends]
    rng.shuffle(words)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    pairs: list[Sample] = []
    reference: list[str] = []
    for number in range(count):
        if number % _SHARED == 0:
            reference = rng.choices(words, weights, k=rng.randint(8, 30))
        hypothesis = [word for word in reference if rng.random() > 0.1]
        hypothesis = [rng.choices(words, weights)[0] if rng.random() < 0.15 else word for word in hypothesis]
        cut = rng.randrange(len(hypothesis) + 1)
        if rng.random() < 0.4:
            hypothesis = hypothesis[cut:] + hypothesis[:cut]
        pairs.append(Sample(" ".join(hypothesis) + ".", (" ".join(reference) + ".",)))
    return pairs


def library_suite() -> dict[str, Callable[[Sample], float]]:
    """Each library as its users call it, a pair at a time."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU, CHRF, TER

    smooth, bleu, chrf, ter = SmoothingFunction().method1, BLEU(effective_order=True), CHRF(), TER()
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    known: dict[Sample, dict[str, float]] = {}

    def rouge_of(kind: str) -> Callable[[Sample], float]:
        def score(sample: Sample) -> float:
            if sample not in known:  # one call scores all three
                found = rouge.score(sample.references[0], sample.hypothesis)
                known[sample] = {name: value.fmeasure for name, value in found.items()}
            return known[sample][kind]

        return score

    return {
        "bleu": lambda s: sentence_bleu(
            [s.references[0].split()], s.hypothesis.split(), smoothing_function=smooth
        ),
        "sacrebleu": lambda s: bleu.sentence_score(s.hypothesis, list(s.references)).score,
        "rouge1": rouge_of("rouge1"),
        "rouge2": rouge_of("rouge2"),
        "rougeL": rouge_of("rougeL"),
        "chrf": lambda s: chrf.sentence_score(s.hypothesis, list(s.references)).score,
        "ter": lambda s: -ter.sentence_score(s.hypothesis, list(s.references)).score,
    }


def main(pairs: int = PAIRS) -> dict[str, float]:
    """Seconds of both, the ratio of the whole suite, and the largest difference of any score."""
    samples = made_pairs(pairs)
    theirs = library_suite()
    warm = made_pairs(5, seed=1)
    for name, metric in OURS.items():
        metric.score(warm)
        [theirs[name](sample) for sample in warm]
    figures: dict[str, float] = {"pairs": pairs}
    taken: dict[str, tuple[float, float]] = {}  # family -> our seconds, the library's
    worst = 0.0
    print(f"{'metric':<8} {'assay s':>9} {'library s':>10} {'ratio':>7} {'max |diff|':>11}")
    for name, metric in OURS.items():
        began = time.process_time()
        mine = metric.score(samples)
        between = time.process_time()
        expected = [theirs[name](sample) for sample in samples]
        ours, library = between - began, time.process_time() - between
        gap = max(abs(one - other) for one, other in zip(mine, expected, strict=True))
        print(f"{name:<8} {ours:9.2f} {library:10.2f} {library / ours:7.1f} {gap:11.1e}")
        family = name.rstrip("12L")  # one call of the library scores all three of rouge
        before = taken.get(family, (0.0, 0.0))
        taken[family], worst = (before[0] + ours, before[1] + library), max(worst, gap)
    figures |= {f"ratio_{family}": library / ours for family, (ours, library) in taken.items()}
    total_ours, total_theirs = (sum(seconds) for seconds in zip(*taken.values(), strict=True))
    figures |= {"ratio": total_theirs / total_ours, "max_difference": worst}
    print(f"{'suite':<8} {total_ours:9.2f} {total_theirs:10.2f} {figures['ratio']:7.1f} {worst:11.1e}")
    return figures


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
