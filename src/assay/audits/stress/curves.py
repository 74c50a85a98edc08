"""Scores under rising noise to findings: the curve, its steps and its slope (*blind* sec. 5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from assay.audits.slices import CLEAN, SD, SliceScores, difference, moves
from assay.core import Estimate, Finding, Floats, Statistic

_ALPHA = 0.05


def _damage(finding: Finding) -> str:
    dataset, noise, *_ = finding.slice.split("/")
    return f"as {noise.replace('-', ' ')} damages {dataset} texts"


def _slope_sentence(finding: Finding) -> str:
    change = moves(-finding.value, "SD per unit of noise", falls="falls by only")
    return f"The score of {finding.metric} {change} {_damage(finding)}."


def _step_sentence(finding: Finding) -> str:
    before = "the clean text" if finding.versus == CLEAN else f"level {finding.versus}"
    step = f"from {before} to level {finding.slice.rpartition('/')[2]}"
    return f"The score of {finding.metric} {moves(finding.value)} {step} {_damage(finding)}."


STATISTICS = (
    Statistic(
        "sensitivity",
        "How far the score falls as the noise ratio goes from 0 to 1; at or below 0 the metric does not mind "
        "the error. Against another metric: how much less it falls than the one that falls most.",
        unit=f"{SD} per unit of noise", bad="low", margin="flat_margin", headline=True,
        sentence=_slope_sentence,
    ),
    Statistic(
        "step_change",
        "Change from one level of noise to the next; above 0 a worse text scores higher. The intervals of "
        "all steps of a noise hold together (Bonferroni).",
        unit=SD, bad="high", margin="step_margin", sentence=_step_sentence,
    ),
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
    def slope_weights(self) -> dict[str, float]:
        """Least squares of score on noise ratio as weights of roles; positive where a score falls."""
        steps: list[Sequence[str]] = [[CLEAN], *self.roles.values()]
        x = np.array([0.0, *(self.ratios[level] for level in self.roles)])
        centred = x - x.mean()
        slopes = zip(steps, -centred / float((centred**2).sum()), strict=True)
        return {role: float(slope) * (1 / len(roles)) for roles, slope in slopes for role in roles}

    @property
    def item_slopes(self) -> Floats:
        """The fall of each item per unit of noise, in SDs of clean scores."""
        return self.scores.item_values(self.slope_weights)

    @cached_property
    def slope(self) -> Estimate:
        """How steeply the score falls; the paper asks only that the mean fall from level to level."""
        if self.scores.only_seeds_vary:
            seeds = range(min(len(roles) for roles in self.roles.values()))
            slope = self.scores.over_seeds([self._single(seed).slope_weights for seed in seeds])
        else:
            slope = self.scores.combine(self.slope_weights)
        means = [self.scores.mean_score(roles).value for roles in ([CLEAN], *self.roles.values())]
        return replace(slope, paper=all(later < earlier for earlier, later in pairwise(means)))

    def _single(self, seed: int) -> Curve:
        roles = {level: [by_seed[seed]] for level, by_seed in self.roles.items()}
        return Curve(self.scores, roles, self.ratios)

    def findings(self, *, judged: bool) -> Iterator[Finding]:
        """Points of the curve, its steps and its slope."""
        scored, slice_ = self.scores.scored, self.scores.slice
        yield Finding.of(scored, f"{slice_}/{CLEAN}", "score", self.scores.mean_score([CLEAN]))
        sure = 1 - _ALPHA / len(self.roles)
        before, roles_before = CLEAN, [CLEAN]
        for level, roles in self.roles.items():
            where = f"{slice_}/{level}"
            seeds = np.array([self.scores.mean(role) for role in roles])
            change = difference(roles, roles_before)
            yield Finding.of(scored, where, "score", self.scores.mean_score(roles))
            yield Finding.of(scored, where, "noise_ratio", self.ratios[level], n=self.scores.n)
            yield Finding.of(scored, where, "seed_std", float(seeds.std()), n=len(seeds))
            yield Finding.of(
                scored, where, "step_change", self.scores.combine(change, sure), versus=before,
                evidence=self.scores.top_items(change), judged=judged,
            )  # fmt: skip
            before, roles_before = level, list(roles)
        least = self.scores.top_items(difference(roles_before))  # under the strongest noise
        yield Finding.of(scored, slice_, "sensitivity", self.slope, evidence=least, judged=judged)
