"""Scores under rising noise to findings: the curve, its steps and its slope (*blind* sec. 5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from assay.audits.corpora import NOTICED_SHARE, noticed_finding
from assay.audits.gap import CLEAN, UNIT
from assay.audits.slices import SliceScores, difference, moves
from assay.core import Estimate, Finding, Statistic


def _damage(finding: Finding) -> str:
    dataset, noise, *_ = finding.slice.split("/")
    return f"as {noise.replace('-', ' ')} damages {dataset} texts"


def _fall_sentence(finding: Finding) -> str:
    change = moves(-finding.value, falls="falls by only")
    return f"The score of {finding.metric} {change} {_damage(finding)}."


def _rise_sentence(finding: Finding) -> str:
    before = "the clean text" if finding.versus == CLEAN else f"level {finding.versus}"
    return f"The score of {finding.metric} {moves(finding.value)} above {before} {_damage(finding)} further."


STATISTICS = (
    Statistic(
        "sensitivity",
        "How far the score falls from the clean text to the strongest level of the noise. Against another "
        "metric: how much less it falls than the one that falls most.",
        unit=UNIT, bad="low", margin="margin", headline=True, sentence=_fall_sentence,
    ),
    Statistic(
        "largest_rise",
        "The largest change from one level of noise to the next; above 0 a worse text scores higher. The "
        "intervals of all steps of a noise hold together. It has a verdict only where the score surely "
        "rises: not to rise is no merit of its own.",
        unit=UNIT, bad="high", margin="margin", sentence=_rise_sentence,
    ),
    Statistic("step_change", "Change from one level of noise to the next.", unit=UNIT),
    NOTICED_SHARE,
    Statistic("score", "The mean score, as the metric gives it.", unit="score"),
    Statistic(
        "noise_ratio", "How much of the text was changed: edit distance divided by length.", unit="ratio"
    ),
    Statistic("seed_std", "Standard deviation of the mean score over seeds of the noise.", unit="score"),
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """One metric under one noise: roles by level (one per seed) and the mean noise ratio of each level."""

    scores: SliceScores
    roles: Mapping[str, Sequence[str]]
    ratios: Mapping[str, float]

    @property
    def fall_weights(self) -> dict[str, float]:
        """The clean score minus that under the strongest noise, as weights of roles."""
        return {role: -weight for role, weight in difference(self._strongest).items()}

    @property
    def _strongest(self) -> Sequence[str]:
        return list(self.roles.values())[-1]

    @cached_property
    def fall(self) -> Estimate:
        """How far the score falls; the paper asks only that the mean fall from level to level."""
        change = self.scores.contrast(self._strongest)
        ci = None if change.ci is None else (-change.ci[1], -change.ci[0])
        means = [self.scores.mean_score(roles).value for roles in ([CLEAN], *self.roles.values())]
        paper = all(later < earlier for earlier, later in pairwise(means))
        return replace(change, value=-change.value, ci=ci, paper=paper)

    def findings(self, *, judged: bool, rise: float, seed: int) -> Iterator[Finding]:
        """Points of the curve, its steps, and the fall from end to end."""
        scored, slice_ = self.scores.scored, self.scores.slice
        yield Finding.of(scored, f"{slice_}/{CLEAN}", "score", self.scores.mean_score([CLEAN]))
        for level, roles in self.roles.items():
            where = f"{slice_}/{level}"
            seeds = np.array([self.scores.mean(role) for role in roles])
            yield Finding.of(scored, where, "score", self.scores.mean_score(roles))
            yield Finding.of(scored, where, "noise_ratio", self.ratios[level], n=self.scores.n)
            yield Finding.of(scored, where, "seed_std", float(seeds.std()), n=len(seeds))
        yield from self._steps(judged=judged, rise=rise)
        least = self.scores.top_items(difference(self._strongest))
        yield Finding.of(scored, slice_, "sensitivity", self.fall, evidence=least, judged=judged)
        yield from noticed_finding(self.scores, slice_, self._strongest, seed)

    def _steps(self, *, judged: bool, rise: float) -> Iterator[Finding]:
        """The change from each level to the next, and the largest of them."""
        scored, slice_ = self.scores.scored, self.scores.slice
        levels = [CLEAN, *self.roles]
        named: dict[str, Sequence[str]] = {CLEAN: [CLEAN], **self.roles}
        changes = [difference(named[level], named[before]) for before, level in pairwise(levels)]
        steps = list(zip(levels, self.roles, changes, self.scores.family(changes), strict=False))
        for before, level, _, estimate in steps:
            yield Finding.of(scored, f"{slice_}/{level}", "step_change", estimate, versus=before)
        before, _, change, largest = max(steps, key=lambda step: step[3].value)
        rises = largest.ci is not None and largest.ci[0] > rise
        yield Finding.of(
            scored, slice_, "largest_rise", largest, versus=before,
            evidence=self.scores.top_items(change), judged=judged and rises,
        )  # fmt: skip
