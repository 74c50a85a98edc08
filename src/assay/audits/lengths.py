"""Two audits of length: a text against itself as it grows, and truncation under precision, recall and F."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import log2

import numpy as np

from assay.audits.base import DataAudit, declared
from assay.audits.corpora import BlindSpot, Corpus
from assay.audits.gap import CLEAN, with_worthless
from assay.audits.slices import SliceScores, between_metrics, difference, grouped
from assay.core import Case, Finding, Perturbation, Sample
from assay.perturbations.noise import Truncation
from assay.vocabulary import Share


@declared()
@dataclass(frozen=True)
class IdentityLength(BlindSpot, DataAudit):
    """Growing texts, each its own reference."""

    name = "identity-length"
    compares = True

    limit: int | None = 60
    task: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    slope_margin: float = 1.0  # percent of the gap that a doubling may cost

    def cases(self) -> Iterable[Case]:
        """One case per item; roles are the clean text, a worthless one, and lengths."""
        for corpus in self.corpora:
            slice_ = f"{corpus.name}/identity"
            for number, record in enumerate(corpus.records):
                # Each text is its own reference here, and so the clean text is too.
                clean = replace(record.sample(), references=(record.gold,))
                samples = with_worthless({CLEAN: clean}, record.others, record.key)
                for length in self.lengths:
                    text = _text(corpus, number, length)
                    samples[str(length)] = Sample(text, (text,), record.source)
                yield Case(f"{slice_}:{record.id}", samples, slice_)

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """Scores by length and their slope; none for a metric that ignores references."""
        lengths = [str(length) for length in self.lengths if str(length) in scores.columns]
        if len(lengths) < 2 or not scores.scored.about.get("reads_references", True):
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
    records = [*corpus.records[number:], *corpus.records[:number]]
    return " ".join(islice(chain.from_iterable(record.gold.split() for record in records), length))


@declared()
@dataclass(frozen=True)
class TruncationDirection(BlindSpot, DataAudit):
    """Texts cut at the end, more and more."""

    name = "truncation-direction"
    tasks = ("summarisation", "translation")
    part = "truncation"

    task: tuple[str, ...] = ()
    levels: tuple[Share, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)

    @property
    def noises(self) -> Mapping[str, Perturbation]:
        return {f"{level:g}": Truncation(level) for level in self.levels}

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """The change at each level, and the deepest cut against the clean text, which carries the verdict."""
        for level in self.noises:
            if level in scores.columns:
                change, slice_ = scores.contrast([level]), f"{scores.slice}/{level}"
                yield Finding.of(scores.scored, slice_, "direction_change", change, judged=False)
        if self._deepest in scores.columns:
            yield from self.gain(scores, scores.slice, self._deepest)

    @property
    def _deepest(self) -> str:
        return f"{self.levels[-1]:g}"

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """How much more each output of a metric rises than each of its siblings at the deepest cut."""
        several = (s for s in slices if s.scored.about.get("output") and self._deepest in s.columns)
        families = grouped(several, lambda s: (str(s.scored.about.get("signature")), s.slice))
        cut = difference([self._deepest])
        for first, second in (pair for outputs in families.values() for pair in combinations(outputs, 2)):
            if first.ids == second.ids and first.n > 1:
                yield Finding.of(
                    first.scored, first.slice, "direction_change",
                    between_metrics(first, second, cut, cut), versus=second.scored.metric,
                    judged=False,
                )  # fmt: skip
