"""Whom captions name: where a metric prefers the wrong group more often, and whose captions it scores higher.

Decisions between a right caption and one that names the wrong group are compared between the groups; the
effect of whom a caption names is given in lost words. Concepts are resampled with all their wordings and
images; a single concept is judged over its images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.audits.caption.concepts import reads_images
from assay.audits.effects import (
    SURE,
    balanced_mean,
    in_lost_words,
    largest,
    lost_words,
    mean_and_influence,
    outcome,
)
from assay.core import Case, Estimate, Finding, Floats, Scored
from assay.statistics.estimates import share_interval
from assay.statistics.intervals import Integers, cluster_sums, label_codes

Mask = NDArray[np.bool_]
_COIN = 0.5


def group_findings(scored: Scored, names: tuple[str, str]) -> Iterator[Finding]:
    """What one metric shows of both groups, by category, in all, and by concept where it sees images."""
    groups = Groups(scored, names)
    if not groups.slices:
        return
    if np.isfinite(groups.costs).any():
        yield from groups.effects("lost_words", "good", "bad")
        yield from groups.effects("neutral_lost_words", "neutral_good", "neutral_bad")
        yield from groups.costs_of_errors()
        yield from groups.flipped_decisions()
    yield from groups.order_differences()


@dataclass(frozen=True)
class Groups:
    """One metric's scores of right and wrong captions of two groups."""

    scored: Scored
    names: tuple[str, str]

    @cached_property
    def rows(self) -> list[int]:
        """The rows of captions that have both scores."""
        finite = np.isfinite(self.scored.values["good"]) & np.isfinite(self.scored.values["bad"])
        is_caption = [case.meta.get("kind") == "caption" for case in self.scored.cases]
        return np.flatnonzero(finite & np.array(is_caption)).tolist()

    @cached_property
    def cases(self) -> list[Case]:
        return [self.scored.cases[row] for row in self.rows]

    def column(self, role: str) -> Floats:
        """The scores of a role; nan where there is none."""
        if role not in self.scored.values:
            return np.full(len(self.rows), np.nan)
        return self.scored.values[role][self.rows]

    @cached_property
    def is_first(self) -> Mask:
        """Which captions are of the first group."""
        return np.array([case.meta["group"] == self.names[0] for case in self.cases], dtype=np.bool_)

    @cached_property
    def concepts(self) -> list[str]:
        return [f"{case.meta['category']}/{case.meta['concept']}" for case in self.cases]

    @cached_property
    def slices(self) -> dict[str, Mask]:
        """The captions of each category and of all; only where there are some of both groups."""
        categories = np.array([case.meta["category"] for case in self.cases])
        masks = {name: categories == name for name in dict.fromkeys(categories.tolist())}
        return self._with_both_groups(masks | {"all": np.ones(len(self.cases), dtype=np.bool_)})

    @cached_property
    def concept_slices(self) -> dict[str, Mask]:
        """The images of each concept; none for a metric that has not looked at any."""
        if not reads_images(self.scored):
            return {}
        concepts = np.array(self.concepts)
        return self._with_both_groups({name: concepts == name for name in dict.fromkeys(self.concepts)})

    def _with_both_groups(self, masks: dict[str, Mask]) -> dict[str, Mask]:
        sizes = {name: [(here & own).sum() for own in self._members] for name, here in masks.items()}
        return {name: here for name, here in masks.items() if min(sizes[name])}

    @property
    def _members(self) -> tuple[Mask, Mask]:
        return self.is_first, ~self.is_first

    @cached_property
    def costs(self) -> Floats:
        """What a lost word costs a right caption; nan where none was lost."""
        return self.column("good") - self.column("lost")

    def effects(self, statistic: str, good: str, bad: str) -> Iterator[Finding]:
        """How much higher captions score that name the first group, whichever is right, in lost words.

        A right caption of the first group scores above the wrong one by what being right and what the group
        are worth, one of the second group by the first less the second: their mean is that of the group.
        """
        signed = (self.column(good) - self.column(bad)) * np.where(self.is_first, 1.0, -1.0)
        if not np.isfinite(signed).any():
            return
        finite = np.isfinite(signed)
        for slices, clusters in self._families():
            masks = self._with_both_groups({name: here & finite for name, here in slices.items()})
            for name, here in masks.items():
                estimate = self._in_lost_words(np.where(here, signed, np.nan), clusters)
                values = np.where(here, signed, np.nan)
                yield self._finding(name, statistic, estimate, values, towards=estimate.value)

    def _families(self) -> Iterator[tuple[dict[str, Mask], Integers]]:
        """The slices with what their captions are a sample of: concepts, or images of one concept."""
        yield self.slices, label_codes(self.concepts, len(self.concepts))[0]
        yield self.concept_slices, np.arange(len(self.cases))

    def _in_lost_words(self, values: Floats, clusters: Integers) -> Estimate:
        """The mean of values in lost words, in which captions of both groups weigh the same."""
        mean, influence = balanced_mean(values, self.is_first)
        n = np.unique(clusters[np.isfinite(values)]).size
        (estimate,) = in_lost_words(
            np.array([mean]), influence[:, None], [n], self.costs, clusters=clusters.tolist()
        )
        # One concept alone says nothing of how much concepts differ.
        return estimate if n > 1 else Estimate(estimate.value, n)

    def _finding(
        self, name: str, statistic: str, estimate: Estimate, values: Floats, towards: float = 1.0
    ) -> Finding:
        evidence = largest([case.id for case in self.cases], values, towards)
        versus = " - ".join(self.names)
        return Finding.of(self.scored, name, statistic, estimate, versus=versus, evidence=evidence)

    @cached_property
    def decisions(self) -> Floats:
        """For each caption whether the right one wins: 1, or one half for a tie."""
        return outcome(self.column("good"), self.column("bad"), self.scored.is_of_model)

    def order_differences(self) -> Iterator[Finding]:
        """How much more often decisions are right on captions of the first group than of the second."""
        sees = self._sees_groups()
        for slices, clusters in self._families():
            for name, here in slices.items():
                estimate = self._difference(here, clusters)
                if not sees:
                    estimate = Estimate(estimate.value, estimate.n)
                worse = self.is_first == (estimate.value < 0)
                yield self._finding(
                    name, "order_difference", estimate, np.where(here & worse, 1 - self.decisions, np.nan)
                )

    def _sees_groups(self) -> bool:
        """Whether decisions about either group are surely other than a coin's.

        A metric that tosses a coin for both errs alike on both, which says nothing of how it treats them.
        """
        for own in self._members:
            share, influence = mean_and_influence(np.where(own, self.decisions, np.nan))
            if abs(share - _COIN) > SURE * sqrt(float((influence**2).sum())):
                return True
        return False

    def _difference(self, here: Mask, clusters: Integers) -> Estimate:
        """The right order of the first group less that of the second, in points of 100.

        Concepts have captions of both groups, so that what they share is not taken for chance. The interval
        is never narrower than what as many clusters without a single difference leave open.
        """
        columns = [np.where(here & own, self.decisions, np.nan) for own in self._members]
        (first, first_influence), (second, second_influence) = map(mean_and_influence, columns)
        difference, n = first - second, int(np.isfinite(columns).sum())
        fewest = min(np.unique(clusters[here & own]).size for own in self._members)
        if fewest < 2:
            return Estimate(100 * difference, n)
        by_cluster = cluster_sums(first_influence - second_influence, clusters, int(clusters.max()) + 1)
        error = sqrt(float((by_cluster**2).sum()))
        reach = max(float(stdtrit(fewest - 1, 0.975)) * error, none_of(fewest))
        return Estimate(
            100 * difference, n, (100 * max(-1.0, difference - reach), 100 * min(1.0, difference + reach))
        )

    def costs_of_errors(self) -> Iterator[Finding]:
        """What naming the wrong group costs, in lost words, on captions of either group."""
        losses = self.column("good") - self.column("bad")
        for name, here in self.slices.items():
            columns = [np.where(here & own, losses, np.nan) for own in self._members]
            estimates = lost_words(np.stack(columns, axis=1), self.costs, clusters=self.concepts)
            for group, estimate in zip(self.names, estimates, strict=True):
                yield Finding.of(self.scored, name, "wrong_group_cost", estimate, versus=group)

    def flipped_decisions(self) -> Iterator[Finding]:
        """Right captions with a word lost against whole wrong ones: by how much one group wins more often."""
        decisions = outcome(self.column("lost"), self.column("bad"), self.scored.is_of_model)
        for name, here in self.slices.items():
            sides = [decisions[here & own & np.isfinite(decisions)] for own in self._members]
            if all(side.size for side in sides):
                flips = 100 * float(sides[0].mean() - sides[1].mean())
                n = sum(side.size for side in sides)
                yield Finding.of(
                    self.scored, name, "flipped_decisions", flips, n=n, versus=" - ".join(self.names)
                )


def none_of(n: int) -> float:
    """The largest share that none of n leaves possible: the upper end of Wilson's interval.

    >>> round(none_of(40), 3)
    0.088
    """
    return share_interval(0.0, n).high if n else 1.0
