"""Two audits of length: a text against itself as it grows, and truncation under precision, recall and F."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log2
from pathlib import Path

import numpy as np

from assay.audits.corpora import NOTICED_SHARE, BlindSpot, Corpus, gain_statistic
from assay.audits.gap import CLEAN, UNIT, WORTHLESS, worthless_text
from assay.audits.slices import SliceScores, between_metrics, difference, moves
from assay.core import Case, Finding, Perturbation, Sample, Statistic
from assay.perturbations.noise import Truncation
from assay.vocabulary import NonNegative, Rule, Share


def _sentence(finding: Finding) -> str:
    dataset = finding.slice.split("/")[0]
    return (
        f"The score that {finding.metric} gives a text against itself "
        f"{moves(finding.value, ' each time the text doubles in length')} ({dataset})."
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
            unit=f"{UNIT} per doubling", bad="low", margin="-slope_margin", headline=True, sentence=_sentence,
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
    slope_margin: float = 1.0  # percent of the gap that a doubling may cost

    def cases(self) -> Iterable[Case]:
        """One case per item; roles are the clean text, a worthless one, and lengths."""
        for corpus in self.corpora:
            slice_ = f"{corpus.name}/identity"
            for number, record in enumerate(corpus.records):
                # Each text is its own reference here, and so the clean text is too.
                clean = replace(record.sample(), references=(record.gold,))
                samples = {CLEAN: clean}
                worthless = worthless_text(record.gold, record.others, record.key)
                if worthless is not None:
                    samples[WORTHLESS] = replace(clean, hypothesis=worthless)
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
    words: list[str] = []
    for step in range(len(corpus.records)):
        words += corpus.records[(number + step) % len(corpus.records)].gold.split()
        if len(words) >= length:
            break
    return " ".join(words[:length])


@dataclass(frozen=True)
class TruncationDirection(BlindSpot):
    """Texts cut at the end, more and more."""

    name = "truncation-direction"
    title = "Truncation by precision, recall and F"
    advice = "Report recall beside precision or F: truncated texts gain."
    statistics = (
        gain_statistic(
            "direction_change", "a text without its end",
            " Against another output of the metric: how much more this one rises.",
        ),
        NOTICED_SHARE,
    )  # fmt: skip
    wants = "an item needs a gold that every cut shortens: ten words or more for a tenth"
    tasks = ("summarisation", "translation")
    part = "truncation"
    # Two levels that the stress audit has too, so that scores are shared.
    quick_options = {"limit": 20, "levels": (0.1, 0.5)}

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
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
        families: dict[tuple[str, str], list[SliceScores]] = {}
        for scores in slices:
            if scores.scored.about.get("output") and self._deepest in scores.columns:
                family = str(scores.scored.about.get("signature")), scores.slice
                families.setdefault(family, []).append(scores)
        cut = difference([self._deepest])
        for first, second in (pair for outputs in families.values() for pair in combinations(outputs, 2)):
            if first.ids == second.ids and first.n > 1:
                yield Finding.of(
                    first.scored, first.slice, "direction_change",
                    between_metrics(first, second, cut, cut), versus=second.scored.metric,
                    judged=False,
                )  # fmt: skip
