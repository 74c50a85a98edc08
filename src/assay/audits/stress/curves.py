"""Scores under rising noise to findings: the curve, its steps, its slope, the verdict (*blind* sec. 5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from assay.audits.slices import Estimate, SliceScores, combine, over_seeds, score_interval
from assay.core import Finding, Floats
from assay.statistics.estimates import verdict
from assay.vocabulary import Rule

EVIDENCE = 5
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Margins:
    """The smallest differences that matter, in spreads of the gold scores."""

    flat: float  # drop per unit of noise-ratio below which a metric is insensitive
    step: float  # rise from one level to the next that is a failure


@dataclass(frozen=True)
class Curve:
    """One metric under one noise: roles by level (a role a seed) and the mean noise-ratio of each level."""

    metric: str
    slice: str
    scores: SliceScores
    roles: Mapping[str, Sequence[str]]  # level -> roles
    ratios: Mapping[str, float]
    rule: Rule
    margins: Margins
    slopes: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slopes", self._item_slopes())

    def level_weights(self, level: str) -> dict[str, float]:
        """The mean over seeds as weights of roles."""
        roles = self.roles[level]
        return {role: 1 / len(roles) for role in roles}

    def level_mean(self, level: str) -> float:
        """The mean score at a level."""
        return sum(weight * self.scores.mean(role) for role, weight in self.level_weights(level).items())

    @property
    def slope_weights(self) -> dict[str, float]:
        """Least squares of score on noise-ratio as weights of roles; positive where a score falls."""
        levels = ["gold", *self.roles]
        x = np.array([0.0, *(self.ratios[level] for level in self.roles)])
        centred = x - x.mean()
        total = float((centred**2).sum())
        if not total:
            return {}
        found: dict[str, float] = {}
        for level, weight in zip(levels, -centred / total, strict=True):
            shares = {"gold": 1.0} if level == "gold" else self.level_weights(level)
            for role, part in shares.items():
                found[role] = found.get(role, 0.0) + float(weight) * part
        return found

    def _item_slopes(self) -> Floats:
        """The drop per unit of noise-ratio an item, in spreads."""
        weights = self.slope_weights
        total = np.sum([w * self.scores.columns[role] for role, w in weights.items()], axis=0)
        return np.asarray(total / (self.scores.spread or 1.0), dtype=np.float64)

    def sensitivity(self) -> Estimate:
        """How steeply the score falls; over seeds where a set cannot be resampled."""
        if self.scores.draws is not None or not self.scores.is_set:
            return combine(self.scores, self.slope_weights)
        seeds = min(len(roles) for roles in self.roles.values())
        single = [self._one_seed(number) for number in range(seeds)]
        return over_seeds([combine(self.scores, one.slope_weights).value for one in single])

    def _one_seed(self, number: int) -> Curve:
        roles = {level: [found[number]] for level, found in self.roles.items()}
        return Curve(self.metric, self.slice, self.scores, roles, self.ratios, self.rule, self.margins)

    def steps(self) -> dict[str, tuple[str, Estimate]]:
        """Level to the level before it and the change between them, in spreads.

        One rise among many steps fails a metric, so the intervals hold together (Bonferroni).
        """
        sure = 1 - ALPHA / len(self.roles)
        found: dict[str, tuple[str, Estimate]] = {}
        before, weights_before = "gold", {"gold": 1.0}
        for level in self.roles:
            weights = self.level_weights(level)
            change = dict(weights) | {role: -weight for role, weight in weights_before.items()}
            found[level] = (before, combine(self.scores, change, sure))
            before, weights_before = level, weights
        return found

    def evidence(self) -> tuple[str, ...]:
        """Items whose score fell least, or rose most, under the strongest noise."""
        if self.scores.is_set:
            return self.scores.ids
        columns = self.scores.columns
        last = list(self.roles)[-1]
        change = (
            np.sum([w * columns[r] for r, w in self.level_weights(last).items()], axis=0) - columns["gold"]
        )
        return tuple(self.scores.ids[place] for place in np.argsort(-change, kind="stable")[:EVIDENCE])

    def findings(self, audit: str) -> list[Finding]:
        """Points of the curve, its steps and its verdict."""
        steps = self.steps()
        n, ci = self.scores.n, score_interval(self.scores, {"gold": 1.0})
        gold = self.scores.mean("gold")
        found = [Finding(self.metric, audit, f"{self.slice}/gold", "score", gold, n, ci=ci)]
        for level, (before, change) in steps.items():
            found += self._level(audit, level, before, change)
        slope = self.sensitivity()
        passed = self._passed(slope, [change for _, change in steps.values()])
        verdict_ = self._finding(audit, self.slice, "sensitivity", slope, passed=passed)
        flat = slope.ci is not None and verdict(slope.ci, self.margins.flat, "either")
        if flat and self.scores.judged:
            return [*found, verdict_, self._finding(audit, self.slice, "insensitive", slope, passed=False)]
        return [*found, verdict_]

    def _level(self, audit: str, level: str, before: str, change: Estimate) -> list[Finding]:
        where = f"{self.slice}/{level}"
        ci = score_interval(self.scores, self.level_weights(level))
        seeds = np.array([self.scores.mean(role) for role in self.roles[level]])
        n = self.scores.n
        return [
            Finding(self.metric, audit, where, "score", self.level_mean(level), n, ci=ci),
            Finding(self.metric, audit, where, "noise_ratio", self.ratios[level], n),
            Finding(self.metric, audit, where, "seed_std", float(seeds.std()), len(seeds)),
            self._finding(audit, where, "step_change", change, versus=before),
        ]

    def _finding(
        self,
        audit: str,
        where: str,
        statistic: str,
        estimate: Estimate,
        *,
        versus: str | None = None,
        passed: bool | None = None,
    ) -> Finding:
        return Finding(
            self.metric, audit, where, statistic, estimate.value, self.scores.n, versus, estimate.ci,
            estimate.p_value, None, estimate.mde, passed, self.evidence() if passed is False else (),
        )  # fmt: skip

    def _passed(self, slope: Estimate, steps: Sequence[Estimate]) -> bool | None:
        if self.rule == "paper":
            means = [self.scores.mean("gold"), *(self.level_mean(level) for level in self.roles)]
            return all(later < earlier for earlier, later in pairwise(means))
        if not self.scores.judged:
            return None
        if any(verdict(step.ci, self.margins.step) is False for step in steps):
            return False
        return verdict(slope.ci, self.margins.flat, "below")
