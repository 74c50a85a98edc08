"""Scores of good and bad captions to accuracies by group, and to biased concepts (caption Eq. 1-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.audits.slices import EVIDENCE, FEWEST, interval_estimate, mean_estimate
from assay.core import Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.intervals import Interval, bootstrap_p_value, interval_of, resampled_means
from assay.vocabulary import Rule

Ties = Literal["wrong", "half", "drop"]
ALPHA = 0.05


def _say_gap(finding: Finding) -> str:
    first, _, second = (finding.versus or "").partition(" - ")
    worse, better = (second, first) if finding.value > 0 else (first, second)
    groups = f"the group {worse} than for {better}" if worse and better else "one group than for the other"
    return (
        f"On captions about {finding.slice.split('/')[-1]}, {finding.metric} prefers the wrong gender "
        f"{abs(100 * finding.value):.0f} percentage points more often for {groups}."
    )


def _say_share(finding: Finding) -> str:
    kind, _, subset = finding.slice.partition("/")
    which = "all concepts" if kind == "all" else f"concepts of the kind {kind}"
    details = f" ({subset.replace('-', ' ')})" if subset else ""
    return (
        f"{finding.metric} is more accurate for one group than for the other on {finding.value:.0%} of "
        f"{which}{details}."
    )


STATISTICS = (
    Statistic(
        "accuracy_gap",
        "Accuracy on captions of the first group minus accuracy on captions of the second, by concept.",
        "share", bad="far", margin="margin", sentence=_say_gap,
    ),
    Statistic(
        "accuracy",
        "Share of a group's images whose caption with the right gender scores higher than the wrong one.",
        "share",
    ),
    Statistic(
        "biased_share",
        "Share of concepts on which the accuracy for the two groups differs by more than the margin, in all "
        "or in favour of one group.",
        "share", bad="high", margin="share_margin", headline=True, sentence=_say_share,
    ),
    Statistic("tie_share", "Share of images whose right and wrong captions score the same.", "share"),
    Statistic(
        "neutral_gap",
        "How much higher captions of the first group score than those of the second when the references "
        "name no gender; an even-handed metric gives 0.",
        "SD of scores", bad="far", headline=True,
    ),
    Statistic(
        "neutral_tie_share",
        "Share of captions whose two versions score the same when the references name no gender.", "share",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """One group's images of a concept, in rows that may stand for several images."""

    outcomes: Floats  # 1 right, 0 wrong, nan a tie that is dropped
    counts: Floats  # images per row

    @property
    def images(self) -> int:
        """How many images the outcomes stand for."""
        return int(self.counts[np.isfinite(self.outcomes)].sum())

    @property
    def accuracy(self) -> float:
        """Eq. 1, weighted by images; nan where every row is a dropped tie."""
        used = np.isfinite(self.outcomes)
        return float(np.average(self.outcomes[used], weights=self.counts[used])) if used.any() else np.nan

    @property
    def is_deterministic(self) -> bool:
        """Whether one row stands for many images: a text metric gives each the same score."""
        return bool(self.counts.max(initial=0.0) > 1 or self.outcomes.size == 1)


@dataclass(frozen=True, slots=True)
class Concept:
    """Two groups' accuracies on a concept, and the gap between them."""

    category: str
    name: str
    accuracies: Mapping[str, Estimate]  # by group
    gap: Estimate
    ties: float  # images whose two captions score the same
    evidence: tuple[str, ...]  # cases that are wrong

    @property
    def path(self) -> str:
        """The slice of its findings."""
        return f"{self.category}/{self.name}"

    @property
    def images(self) -> list[int]:
        """The number of images of each group."""
        return [accuracy.n for accuracy in self.accuracies.values()]

    @property
    def has_enough(self) -> bool:
        """Whether both groups have images enough for a verdict."""
        return min(self.images) >= FEWEST and bool(np.isfinite(self.gap.value))

    def is_biased(self, margin: float, rule: Rule) -> bool:
        """Whether the gap surely exceeds the margin; by the paper's rule, whether it is significant."""
        if rule == "paper":
            return self.gap.paper is False
        interval = self.gap.decisive or self.gap.ci
        return interval is not None and (interval[0] > margin or interval[1] < -margin)


def outcomes_of(good: Floats, bad: Floats, ties: Ties) -> Floats:
    """1 where the good caption scores higher, else 0; ties are wrong (Eq. 1), half right or dropped (nan)."""
    tied = {"wrong": 0.0, "half": 0.5, "drop": np.nan}[ties]
    absent = ~(np.isfinite(good) & np.isfinite(bad))
    return np.where(absent, np.nan, np.where(good > bad, 1.0, np.where(good == bad, tied, 0.0)))


def concepts_of(scored: Scored, names: tuple[str, str], ties: Ties, seed: int) -> list[Concept]:
    """Every concept that has captions of both groups."""
    good, bad = scored.values["good"], scored.values["bad"]
    known, tied, outcomes = np.isfinite(good) & np.isfinite(bad), good == bad, outcomes_of(good, bad, ties)
    by_concept: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row, case in enumerate(scored.cases):
        if case.meta.get("kind") == "caption" and known[row]:
            by_group = by_concept.setdefault((case.meta["category"], case.meta["concept"]), {})
            by_group.setdefault(case.meta["group"], []).append(row)
    counts = np.array([case.meta.get("count", 1) for case in scored.cases], dtype=np.float64)
    concepts = []
    for (category, name), by_group in by_concept.items():
        if all(group in by_group for group in names):
            groups = [Group(outcomes[by_group[group]], counts[by_group[group]]) for group in names]
            accuracies, gap = _accuracies(groups, seed)
            rows = [row for group in names for row in by_group[group]]
            wrong = [scored.cases[row].id for row in rows if outcomes[row] < 1]
            by_name, ties_here = dict(zip(names, accuracies, strict=True)), float((counts * tied)[rows].sum())
            concepts.append(Concept(category, name, by_name, gap, ties_here, tuple(wrong[:EVIDENCE])))
    return concepts


def _accuracies(groups: Sequence[Group], seed: int) -> tuple[list[Estimate], Estimate]:
    """Both groups' accuracies and the first minus the second; images are resampled, if there are several."""
    gap, sizes = groups[0].accuracy - groups[1].accuracy, [group.images for group in groups]
    intervals: list[Interval | None] = [None, None, None]
    p_value = decisive = None
    if all(group.is_deterministic for group in groups):
        decisive = (gap, gap)  # nothing was sampled, so the gap is exact
    elif np.isfinite(gap):
        first, second = (
            resampled_means(group.outcomes[np.isfinite(group.outcomes)], seed=seed + place)[:, 0]
            for place, group in enumerate(groups)
        )
        draws = zip((first, second, first - second), (*sizes, min(sizes)), strict=True)
        intervals = [interval_of(values, n_clusters=size) for values, size in draws]
        p_value = bootstrap_p_value(first - second)
    accuracies = [
        interval_estimate(group.accuracy, group.images, interval)
        for group, interval in zip(groups, intervals[:2], strict=True)
    ]
    estimate = interval_estimate(gap, sum(sizes), intervals[2], p_value=p_value, with_mde=True)
    paper = gap == 0.0 if p_value is None else p_value >= ALPHA
    return accuracies, replace(estimate, decisive=decisive, paper=paper)


def concept_findings(
    scored: Scored,
    concepts: Sequence[Concept],
    left_out: Mapping[str, frozenset[str]],
    margin: float,
    rule: Rule,
    seed: int,
) -> Iterator[Finding]:
    """Gap and accuracies per concept, then the share of biased concepts per category and overall.

    `left_out` maps the name of a robustness check to the paths of the concepts that it leaves out.
    """
    for concept in concepts:
        yield Finding.of(
            scored, concept.path, "accuracy_gap", concept.gap, versus=" - ".join(concept.accuracies),
            evidence=concept.evidence, judged=concept.has_enough,
        )  # fmt: skip
        for group, accuracy in concept.accuracies.items():
            yield Finding.of(scored, concept.path, "accuracy", accuracy, versus=group)
    judged = [concept for concept in concepts if concept.has_enough]
    biased = {concept.path for concept in judged if concept.is_biased(margin, rule)}
    slices: dict[str, list[Concept]] = {}
    for concept in judged:
        slices.setdefault(concept.category, []).append(concept)
    slices["all"] = judged
    for name, paths in left_out.items():
        members = [concept for concept in judged if concept.path not in paths]
        if len(members) < len(judged):
            slices[f"all/{name}"] = members
    for slice_, members in slices.items():
        if members:
            yield from _shares(scored, slice_, members, biased, seed)


def _shares(
    scored: Scored, slice_: str, concepts: Sequence[Concept], biased: set[str], seed: int
) -> Iterator[Finding]:
    """The share of biased concepts, in all and in favour of either group, and of tied images."""
    flags = np.array([concept.path in biased for concept in concepts], dtype=np.float64)
    share = mean_estimate(flags, seed=seed, with_mde=True)
    evidence = [concept.path for concept in concepts if concept.path in biased][:EVIDENCE]
    yield Finding.of(scored, slice_, "biased_share", share, evidence=evidence)
    gaps = np.array([concept.gap.value for concept in concepts])
    for group, favoured in zip(concepts[0].accuracies, (gaps > 0, gaps < 0), strict=True):
        share = mean_estimate(flags * favoured, seed=seed)
        yield Finding.of(scored, slice_, "biased_share", share, versus=group, judged=False)
    images, ties = sum(concept.gap.n for concept in concepts), sum(concept.ties for concept in concepts)
    yield Finding.of(scored, slice_, "tie_share", ties / max(1, images), n=images)


def neutral_findings(scored: Scored, names: tuple[str, str], seed: int) -> Iterator[Finding]:
    """The first group's caption minus the second's, against references that name no gender."""
    good, bad = scored.values.get("neutral_good"), scored.values.get("neutral_bad")
    if good is None or bad is None:
        return
    signs = np.array([1.0 if case.meta.get("group") == names[0] else -1.0 for case in scored.cases])
    gaps = (good - bad) * signs
    scores = np.concatenate([scored.values["good"], scored.values["bad"]])
    known = scores[np.isfinite(scores)]
    unit = (float(known.std(ddof=1)) if known.size > 1 else 0.0) or 1.0
    for category in dict.fromkeys(c.slice for c in scored.cases if c.meta.get("kind") == "caption"):
        rows = [r for r, case in enumerate(scored.cases) if case.slice == category and np.isfinite(gaps[r])]
        if rows:
            concepts = [scored.cases[row].meta["concept"] for row in rows]
            gap = mean_estimate(gaps[rows] / unit, clusters=concepts, seed=seed)
            versus = f"{names[0]} - {names[1]}"
            yield Finding.of(scored, category, "neutral_gap", gap, versus=versus, judged=False)
            ties = mean_estimate((gaps[rows] == 0).astype(np.float64), clusters=concepts, seed=seed)
            yield Finding.of(scored, category, "neutral_tie_share", ties)
