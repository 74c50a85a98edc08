"""Truncation as precision, recall and F see it (*blind* fig. 5, fig. 8, app. I).

Cutting a text often raises precision: what is left is the safe part. `direction_change` is the change from
the clean text; the outputs of one metric are also compared with each other on the same items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from assay.audits.corpora import BlindSpot, gain_statistic
from assay.audits.slices import SliceScores, difference, ends
from assay.core import Estimate, Finding, Perturbation
from assay.perturbations.noise import Truncation
from assay.statistics.intervals import bootstrap_paired
from assay.vocabulary import NonNegative, Rule, Share


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
            yield self.gain(scores, scores.slice, self._deepest)

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
                changes = first.item_values(cut), second.item_values(cut)
                ci = ends(bootstrap_paired(*changes, seed=self.seed))
                gap = Estimate(float(changes[0].mean() - changes[1].mean()), first.n, ci)
                yield Finding.of(
                    first.scored, first.slice, "direction_change", gap,
                    versus=second.scored.metric, judged=False,
                )  # fmt: skip
