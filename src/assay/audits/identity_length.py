"""A text against itself: the score should not fall as the text grows.

Texts of 8 to 256 words are scored with themselves as reference; `length_slope` is the change per doubling. A
metric that gives the clean text the same score against an unrelated reference does not look at references
and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path

import numpy as np

from assay.audits.corpora import BlindSpot, Corpus
from assay.audits.slices import CLEAN, SD, SliceScores, moves
from assay.core import Case, Finding, Sample, Statistic
from assay.vocabulary import NonNegative, Rule

_UNRELATED = "stranger"  # the role of the clean text against an unrelated reference


def _sentence(finding: Finding) -> str:
    dataset = finding.slice.split("/")[0]
    return (
        f"The score that {finding.metric} gives a text against itself {moves(finding.value)} each time the "
        f"text doubles in length ({dataset})."
    )


@dataclass(frozen=True)
class IdentityLength(BlindSpot):
    """Growing texts, each its own reference."""

    name = "identity-length"
    title = "A text against itself"
    advice = "Compare only texts of similar length."
    statistics = (
        Statistic(
            "length_slope", "Change of a text's score against itself each time it doubles in length.",
            unit=f"{SD} per doubling", bad="low", margin="-slope_margin", headline=True, sentence=_sentence,
        ),
        Statistic("score", "The mean score of texts of this length against themselves.", unit="score"),
    )  # fmt: skip
    quick_options = {"limit": 12, "lengths": (8, 32, 128)}

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = 60
    task: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    slope_margin: float = 0.05  # SDs of clean scores that a doubling may cost

    def cases(self) -> Iterable[Case]:
        """One case per item; roles are the clean text, the same with an unrelated reference, and lengths."""
        for corpus in self.corpora:
            slice_ = f"{corpus.name}/identity"
            for number, record in enumerate(corpus.records):
                clean = record.sample()
                unrelated = Sample(record.gold, (corpus.records[number - 1].gold,), clean.source)
                samples = {CLEAN: clean, _UNRELATED: unrelated}
                for length in self.lengths:
                    text = _text(corpus, number, length)
                    samples[str(length)] = Sample(text, (text,), record.source)
                yield Case(f"{slice_}:{record.id}", samples, slice_)

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """Scores by length and their slope; none for a metric that ignores references."""
        lengths = [str(length) for length in self.lengths if str(length) in scores.columns]
        unrelated = scores.columns.get(_UNRELATED)
        ignores = unrelated is not None and np.allclose(scores.columns[CLEAN], unrelated)
        if len(lengths) < 2 or ignores:
            return
        for length in lengths:
            slice_ = f"{scores.slice}/{length}"
            yield Finding.of(scores.scored, slice_, "score", scores.mean(length), n=scores.n)
        x = np.array([log2(int(length)) for length in lengths])
        centred = x - x.mean()
        weights = dict(zip(lengths, (centred / (centred**2).sum()).tolist(), strict=True))
        slope = scores.combine(weights)
        steepest = scores.top_items({length: -weight for length, weight in weights.items()})
        yield Finding.of(
            scores.scored, scores.slice, "length_slope", replace(slope, paper=slope.value >= 0),
            evidence=steepest, judged=self.judges(scores),
        )  # fmt: skip


def _text(corpus: Corpus, number: int, length: int) -> str:
    """The first words of a clean text, followed by the next texts where it is too short."""
    words: list[str] = []
    for step in range(len(corpus.records)):
        words += corpus.records[(number + step) % len(corpus.records)].gold.split()
        if len(words) >= length:
            break
    return " ".join(words[:length])
