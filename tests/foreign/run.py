"""Ours and other packages on thousands of made and real texts, each case counted as equal or not: `make foreign`.

The packages are those of the extras `bench` and `coco`. `python tests/foreign/run.py 200` makes 200 texts of each kind.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, get_args

import numpy as np

from assay.core import Sample
from assay.datasets.records import embedded_records
from assay.errors import TextError
from assay.names.spec import parse_spec
from assay.vocabulary import Task

CASES = 1000  # texts of each kind
WORDS = [
    "the",
    "cat",
    "cats",
    "ran",
    "running",
    "a",
    ".",
    ",",
    "!",
    "it's",
    "3.5",
    "1,000",
    "Über",
    "naïve",
    "&amp;",
]
WORDS += ["U.S.", "well-known", '"no"', "(so)", "-", "--", "…", "%", "don't", "re-do", "A", "B2B", "x" * 30]
LETTERS = "abc ABC 0123 .,;:!?'\"-()&% äöüß éñ \t"
Scorer = Callable[[Sample], float]


def samples(count: int) -> Iterator[Sample]:
    """Texts made of words, of letters, and real ones with words dropped, moved or doubled."""
    draw = Random(0)
    real = [record.gold for task in get_args(Task) for record in embedded_records(task)]

    def made(alphabet: Sequence[str], joint: str, most: int) -> str:
        return joint.join(draw.choices(alphabet, k=draw.randint(1, most)))

    def changed(text: str) -> str:
        words = [word for word in text.split() if draw.random() > 0.2]
        at = draw.randint(0, len(words))
        return " ".join([*words[at:], *words[:at], *words[:2]]) or "a"

    for _ in range(count):
        yield Sample(made(WORDS, " ", 25), tuple(made(WORDS, " ", 25) for _ in range(draw.randint(1, 3))))
        letters = Sample(made(LETTERS, "", 60), (made(LETTERS, "", 60),))
        if all(any(map(str.isalpha, text)) for text in (letters.hypothesis, *letters.references)):
            yield letters
        text = draw.choice(real)
        yield Sample(changed(text), (text, changed(text)))


def sacrebleu_pairs() -> Iterator[tuple[str, Scorer]]:
    from sacrebleu.metrics import BLEU, CHRF, TER

    made: dict[str, Any] = {
        "sacrebleu": BLEU(effective_order=True),
        "sacrebleu:tokenize=intl": BLEU(effective_order=True, tokenize="intl"),
        "sacrebleu:smooth=add-k,smooth_value=2": BLEU(
            effective_order=True, smooth_method="add-k", smooth_value=2
        ),
        "sacrebleu:smooth=floor,smooth_value=0.01": BLEU(
            effective_order=True, smooth_method="floor", smooth_value=0.01
        ),
        "chrf": CHRF(),
        "chrf++": CHRF(word_order=2),
        "chrf:lowercase=true": CHRF(lowercase=True),
        "ter": TER(),
        "ter:normalized=true": TER(normalized=True),
        "ter:no_punct=true,case_sensitive=true": TER(no_punct=True, case_sensitive=True),
    }
    for spec, metric in made.items():
        sign = -1 if spec.startswith("ter") else 1
        yield (
            spec,
            lambda s, m=metric, sign=sign: sign * m.sentence_score(s.hypothesis, list(s.references)).score,
        )


def rouge_pairs() -> Iterator[tuple[str, Scorer]]:
    from rouge_score.rouge_scorer import RougeScorer

    parts = {"": "fmeasure", "-p": "precision", "-r": "recall"}
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        for stemmer in (False, True):
            scorer = RougeScorer([name], use_stemmer=stemmer)
            for part, attribute in parts.items():

                def score(
                    s: Sample, scorer: Any = scorer, name: str = name, attribute: str = attribute
                ) -> float:
                    return float(getattr(scorer.score_multi(s.references, s.hypothesis)[name], attribute))

                yield f"{name}{part}:stemmer={str(stemmer).lower()}", score


def nltk_pairs() -> Iterator[tuple[str, Scorer]]:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.chrf_score import sentence_chrf

    for method in ("method1", "method2", "method3", "method4"):
        smooth = getattr(SmoothingFunction(), method)

        def bleu(s: Sample, smooth: Any = smooth) -> float:
            references = [text.split() for text in s.references]
            return float(sentence_bleu(references, s.hypothesis.split(), smoothing_function=smooth))

        yield f"bleu:smooth={method}", bleu
    yield (
        "chrf:backend=nltk",
        lambda s: max(float(sentence_chrf(text, s.hypothesis)) for text in s.references),
    )


def coco_pairs() -> Iterator[tuple[str, Scorer]]:
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer

    for order in range(1, 5):

        def bleu(s: Sample, order: int = order) -> float:
            scorer = BleuScorer(test=s.hypothesis, refs=list(s.references), n=4)
            return float(scorer.compute_score(option="closest", verbose=0)[1][order - 1][0])

        yield f"bleu-{order}:tokenize=split", bleu


PACKAGES = {
    "sacrebleu": sacrebleu_pairs, "rouge-score": rouge_pairs, "nltk": nltk_pairs, "pycocoevalcap": coco_pairs,
}  # fmt: skip


def compared(spec: str, theirs: Scorer, cases: Sequence[Sample]) -> tuple[int, list[Sample]]:
    """How many cases are equal, and those that are not; cases that either refuses are left out."""
    measure = parse_spec(spec)
    equal, different = 0, []
    for sample in cases:
        try:
            expected = theirs(sample)
            (answer,) = measure.metric.score([sample])  # type: ignore[union-attr, misc]
        except (ZeroDivisionError, IndexError, KeyError, TextError):
            continue
        ours = float(np.atleast_1d(answer)[measure.column])
        if abs(ours - expected) <= 1e-9 * max(1, abs(expected)):
            equal += 1
        else:
            different.append(sample)
    return equal, different


def main() -> None:
    """Print the counts; exit 1 where a case differs."""
    cases = list(samples(int(sys.argv[1]) if len(sys.argv) > 1 else CASES))
    wrong = 0
    warnings.simplefilter("ignore")  # NLTK warns of every order without a match
    for package, pairs in PACKAGES.items():
        for spec, theirs in pairs():
            equal, different = compared(spec, theirs, cases)
            wrong += len(different)
            example = f", such as {different[0].hypothesis[:60]!r}" if different else ""
            print(f"{package:14} {spec:45} {equal:6} equal {len(different):4} different{example}", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
