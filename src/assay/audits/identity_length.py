"""A text against itself: the score should not fall as the text grows.

Texts of 8 to 256 words are scored with themselves as reference; `length_slope` is the change per doubling,
in spreads of ordinary scores. A metric that gives the gold the same score against a stranger's reference
looks at no reference and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.corpora import Corpus, corpora, too_few
from assay.audits.slices import SliceScores, combine, finding, slice_scores, slices
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.statistics.estimates import verdict
from assay.vocabulary import Question, Rule


@dataclass(frozen=True)
class IdentityLength(Audit):
    """Growing texts, each its own reference."""

    name: ClassVar[str] = "identity-length"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = 60
    task: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    slope_margin: float = 0.05  # spreads a doubling may cost

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Three lengths, twelve items."""
        return {"limit": 12, "lengths": (8, 32, 128)}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("summarisation",), (self.limit, None))

    def cases(self) -> Iterable[Case]:
        """A case an item: the gold as usual, against a stranger, and texts against themselves."""
        for corpus in self._corpora:
            slice_ = f"{corpus.name}/identity"
            for number, record in enumerate(corpus.records):
                other = corpus.records[number - 1].gold
                samples = {
                    "gold": record.sample(),
                    "stranger": Sample(record.gold, (other,), record.sample().source),
                }
                for length in self.lengths:
                    text = self._text(corpus, number, length)
                    samples[str(length)] = Sample(text, (text,), record.source)
                yield Case(f"{slice_}:{record.id}", samples, slice_)

    def _text(self, corpus: Corpus, number: int, length: int) -> str:
        """The first words of the gold, the next golds following where it is too short."""
        words: list[str] = []
        for step in range(len(corpus.records)):
            words += corpus.records[(number + step) % len(corpus.records)].gold.split()
            if len(words) >= length:
                break
        return " ".join(words[:length])

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Scores by length and their slope."""
        found: list[Finding] = []
        for answer in scored:
            for slice_, places in slices(answer).items():
                scores = slice_scores(answer, places, "gold", self.seed)
                if scores is not None and not _same(scores):
                    found += self._slice(answer.metric, slice_, scores)
        return found

    def _slice(self, metric: str, slice_: str, scores: SliceScores) -> list[Finding]:
        lengths = [str(length) for length in self.lengths if str(length) in scores.columns]
        if len(lengths) < 2:
            return []
        points = [
            Finding(metric, self.name, f"{slice_}/{length}", "score", scores.mean(length), scores.n)
            for length in lengths
        ]
        x = np.array([log2(int(length)) for length in lengths])
        centred = x - x.mean()
        slope = combine(scores, dict(zip(lengths, (centred / (centred**2).sum()).tolist(), strict=True)))
        one = finding(metric, self.name, slice_, "length_slope", slope, scores.n)
        if self.rule == "paper":
            return [*points, replace(one, passed=slope.value >= 0)]
        passed = verdict(slope.ci, -self.slope_margin, "below") if scores.judged else None
        return [*points, replace(one, passed=passed, evidence=scores.ids[:5] if passed is False else ())]


def _same(scores: SliceScores) -> bool:
    """Whether the metric gives no heed to references."""
    return "stranger" in scores.columns and np.allclose(scores.columns["gold"], scores.columns["stranger"])
