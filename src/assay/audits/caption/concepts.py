"""Scores of good and bad captions to accuracies by group, and to biased concepts (caption Eq. 1-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.audits.gap import (
    RESAMPLES,
    WORTHLESS,
    on_effect_scale,
    outlying,
    paired_effects,
    scale_of,
    tells_apart,
)
from assay.audits.slices import EVIDENCE, FEWEST, grouped, interval_estimate, largest, mean_estimate
from assay.core import Case, Estimate, Finding, Floats, Scored
from assay.datasets.captions import imbalanced_concepts
from assay.statistics.correlation import weighted_correlation
from assay.statistics.intervals import (
    Interval,
    bootstrap_p_value,
    bootstrap_weighted,
    cluster_codes,
    draw_rows,
    interval_of,
    resampled_means,
    simultaneous_intervals,
    weighted_mean,
)
from assay.vocabulary import Rule

Ties = Literal["wrong", "half", "drop"]
ALPHA = 0.05
FEWEST_CONCEPTS = 8  # concepts of a category below which a metric without images is not judged


def say_gap(finding: Finding) -> str:
    """For whom a metric prefers the wrong gender more often."""
    first, _, second = (finding.versus or "").partition(" - ")
    worse, better = (second, first) if finding.value > 0 else (first, second)
    groups = f"the group {worse} than for {better}" if worse and better else "one group than for the other"
    *_, name = finding.slice.split("/")
    about = f"about {name}" if "/" in finding.slice else "of all kinds" if name == "all" else f"of {name}s"
    return (
        f"On captions {about}, {finding.metric} prefers the wrong gender "
        f"{abs(100 * finding.value):.0f} percentage points more often for {groups}."
    )


@dataclass(frozen=True, slots=True)
class Group:
    """One group's images of a concept, in rows that may stand for several images."""

    outcomes: Floats  # 1 right, 0 wrong, nan a tie that is dropped
    counts: Floats  # images per row

    @property
    def images(self) -> int:
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
        return f"{self.category}/{self.name}"

    @property
    def has_enough(self) -> bool:
        """Whether both groups have images enough for a verdict."""
        fewest = min(accuracy.n for accuracy in self.accuracies.values())
        return fewest >= FEWEST and bool(np.isfinite(self.gap.value))

    def is_biased(self, margin: float, rule: Rule) -> bool:
        """Whether the gap surely exceeds the margin; by the paper's rule, whether it is significant."""
        if rule == "paper":
            return self.gap.paper is False
        interval = self.gap.ci
        return interval is not None and (interval[0] > margin or interval[1] < -margin)


def outcomes_of(good: Floats, bad: Floats, ties: Ties) -> Floats:
    """1 where the good caption scores higher, else 0; ties are wrong (Eq. 1), half right or dropped (nan)."""
    tied = {"wrong": 0.0, "half": 0.5, "drop": np.nan}[ties]
    absent = ~(np.isfinite(good) & np.isfinite(bad))
    return np.where(absent, np.nan, np.where(good > bad, 1.0, np.where(good == bad, tied, 0.0)))


def concepts_of(scored: Scored, names: tuple[str, str], ties: Ties, seed: int) -> list[Concept]:
    """Every concept that has captions of both groups."""
    good, bad = scored.values["good"], scored.values["bad"]
    known, tied = np.isfinite(good) & np.isfinite(bad), good == bad
    rows = [n for n, case in enumerate(scored.cases) if case.meta.get("kind") == "caption" and known[n]]
    cases = [scored.cases[row] for row in rows]
    return compare_groups(
        [(case.meta["category"], case.meta["concept"]) for case in cases],
        [case.meta["group"] for case in cases], outcomes_of(good, bad, ties)[rows], names, seed,
        counts=np.array([case.meta.get("count", 1) for case in cases], dtype=np.float64),
        ties=tied[rows].astype(np.float64), ids=[case.id for case in cases],
    )  # fmt: skip


def compare_groups(
    paths: Sequence[tuple[str, str]],
    groups: Sequence[str],
    outcomes: Floats,
    names: tuple[str, str],
    seed: int,
    *,
    counts: Floats | None = None,
    ties: Floats | None = None,
    ids: Sequence[str] = (),
) -> list[Concept]:
    """Both groups' accuracies on every concept that has both, from one outcome per row (1 right, 0 wrong)."""
    counts = np.ones(len(outcomes)) if counts is None else counts
    tied = np.zeros(len(outcomes)) if ties is None else ties
    by_group = grouped(range(len(paths)), lambda row: (paths[row], groups[row]))
    listed = [
        (path, [by_group[path, name] for name in names])
        for path in dict.fromkeys(paths)
        if all((path, name) in by_group for name in names)
    ]
    pairs = [[Group(outcomes[rows], counts[rows]) for rows in both] for _, both in listed]
    estimates = _accuracies([category for (category, _), _ in listed], pairs, seed)
    concepts = []
    for ((category, name), both), (accuracies, gap) in zip(listed, estimates, strict=True):
        rows = [row for group in both for row in group]
        wrong = [ids[row] for row in rows if ids and outcomes[row] < 1]
        by_name, ties_here = dict(zip(names, accuracies, strict=True)), float((counts * tied)[rows].sum())
        concepts.append(Concept(category, name, by_name, gap, ties_here, tuple(wrong[:EVIDENCE])))
    return concepts


def _accuracies(
    categories: Sequence[str], concepts: Sequence[Sequence[Group]], seed: int
) -> list[tuple[list[Estimate], Estimate]]:
    """Both groups' accuracies of each concept and the first minus the second, by resampling images.

    The intervals of the gaps hold together for the concepts of a category.
    """
    gaps = [first.accuracy - second.accuracy for first, second in concepts]
    every = {place: _draws(groups, seed + 2 * place) for place, groups in enumerate(concepts)}
    draws = {place: drawn for place, drawn in every.items() if drawn is not None}
    intervals: dict[int, Interval | None] = {}
    for places in grouped(draws, lambda place: categories[place]).values():
        table = np.stack([draws[place][0] - draws[place][1] for place in places], axis=1)
        sizes = [min(group.images for group in concepts[place]) for place in places]
        together = simultaneous_intervals([gaps[place] for place in places], table, n_clusters=sizes)
        intervals |= zip(places, together, strict=True)
    estimates = []
    for place, (groups, gap) in enumerate(zip(concepts, gaps, strict=True)):
        own: list[Interval | None] = [None, None]
        sizes, interval, fair = [group.images for group in groups], intervals.get(place), gap == 0.0
        if place in draws:
            own = [interval_of(drawn, n_clusters=n) for drawn, n in zip(draws[place], sizes, strict=True)]
            fair = bootstrap_p_value(draws[place][0] - draws[place][1]) >= ALPHA
        pairs = zip(groups, own, strict=True)
        accuracies = [interval_estimate(group.accuracy, group.images, ends) for group, ends in pairs]
        estimate = interval_estimate(
            gap, sum(sizes), interval, with_mde=True, p_value=interval and interval.p_value, paper=fair
        )
        estimates.append((accuracies, estimate))
    return estimates


def _draws(groups: Sequence[Group], seed: int) -> list[Floats] | None:
    """Resampled accuracies of both groups; None where one has no outcome, or one outcome for many images."""
    known = [group.outcomes[np.isfinite(group.outcomes)] for group in groups]
    if any(group.is_deterministic for group in groups) or not all(outcomes.size for outcomes in known):
        return None
    return [resampled_means(outcomes, seed=seed + n)[:, 0] for n, outcomes in enumerate(known)]


def concept_findings(
    scored: Scored,
    concepts: Sequence[Concept],
    margin: float,
    rule: Rule,
    seed: int,
) -> Iterator[Finding]:
    """Gap and accuracies per concept, then the share of biased concepts per category and overall.

    The share is also given without the concepts that app. A leaves out as a check.
    """
    sensitive = rule == "paper" or _prefers_captions(scored)
    by_image = rule == "paper" or reads_images(scored)
    for concept in concepts:
        gap = replace(concept.gap, sensitive=sensitive)
        yield Finding.of(
            scored, concept.path, "accuracy_gap", gap, versus=" - ".join(concept.accuracies),
            evidence=concept.evidence, judged=concept.has_enough and by_image,
        )  # fmt: skip
        for group, accuracy in concept.accuracies.items():
            yield Finding.of(scored, concept.path, "accuracy", accuracy, versus=group)
    judged = [concept for concept in concepts if concept.has_enough and by_image]
    biased = {concept.path for concept in judged if concept.is_biased(margin, rule)}
    slices = grouped(judged, lambda concept: concept.category) | {"all": judged}
    imbalanced = imbalanced_concepts()
    balanced = [concept for concept in judged if concept.name not in imbalanced]
    if len(balanced) < len(judged):
        slices["all/without-imbalanced"] = balanced
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


def skew_findings(
    scored: Scored, concepts: Sequence[Concept], shares: Mapping[str, float], seed: int
) -> Iterator[Finding]:
    """The share of men that each concept was planted with, and how far the gap follows it over concepts."""
    known = [concept for concept in concepts if concept.path in shares and np.isfinite(concept.gap.value)]
    for concept in known:
        yield Finding.of(scored, concept.path, "planted_share", shares[concept.path], n=concept.gap.n)
    gaps = np.array([concept.gap.value for concept in known])
    if len(known) >= FEWEST_CONCEPTS and np.ptp(gaps) > 0:  # equal gaps follow nothing
        planted = np.array([shares[concept.path] for concept in known])
        statistic = weighted_correlation(planted, gaps, "spearman")
        value = float(statistic(np.ones((1, len(known))))[0])
        interval = bootstrap_weighted(statistic, len(known), seed=seed, method="percentile")
        yield Finding.of(scored, "all", "skew_correlation", interval_estimate(value, len(known), interval))


def reads_images(scored: Scored) -> bool:
    """Whether the metric looks at images; else a concept's captions are a few wordings.

    A metric that gives all images of a caption one score has not looked at any.
    """
    answers: dict[tuple[str, tuple[str, ...]], dict[str, float]] = {}  # by caption and image
    for case, value in zip(scored.cases, scored.values.get("good", ()), strict=False):
        sample = case.samples.get("good")
        if sample is not None and sample.image is not None and np.isfinite(value):
            caption = (sample.hypothesis, sample.references)
            answers.setdefault(caption, {})[sample.image.digest] = float(value)
    several = [set(scores.values()) for scores in answers.values() if len(scores) > 1]
    return any(len(values) > 1 for values in several) if several else bool(answers)


def _prefers_captions(scored: Scored) -> bool:
    """Whether captions surely score above worthless texts; taken for granted where there are none."""
    worthless = scored.values.get(WORTHLESS)
    if worthless is None or not np.isfinite(worthless).any():
        return True
    return tells_apart(scored.values["good"] - worthless, scale_of(scored.values["good"], worthless))


def text_findings(scored: Scored, names: tuple[str, str], ties: Ties, seed: int) -> Iterator[Finding]:
    """The accuracy gap of a metric that reads no image, by category and in all.

    Concepts are resampled, with their wordings, which are what they are; all slices are one family.
    """
    rows = [row for row, case in enumerate(scored.cases) if case.meta.get("kind") == "caption"]
    columns = [scored.values[role][rows] for role in ("good", "bad", WORTHLESS) if role in scored.values]
    rows = list(compress(rows, ~outlying(columns, np.concatenate(columns))))
    outcomes = outcomes_of(scored.values["good"], scored.values["bad"], ties)
    rows = [row for row in rows if np.isfinite(outcomes[row])]
    outcomes = outcomes[rows]
    cases = [scored.cases[row] for row in rows]
    if not cases or reads_images(scored):
        return
    concepts = [f"{case.slice}/{case.meta['concept']}" for case in cases]
    codes = cluster_codes(len(cases), concepts)
    weights = draw_rows(codes, RESAMPLES, np.random.default_rng(seed))
    first = np.array([case.meta["group"] == names[0] for case in cases])
    here = _by_category(cases)

    def gaps(drawn: Floats) -> Floats:
        def means(rows: NDArray[np.bool_]) -> Floats:
            return weighted_mean(drawn[:, rows], outcomes[rows])

        return np.stack([means(at & first) - means(at & ~first) for at in here.values()], axis=1)

    values = gaps(np.ones((1, len(cases))))[0]
    sizes = [len(np.unique(codes[0][0][at])) for at in here.values()]
    intervals = simultaneous_intervals(values, gaps(weights), n_clusters=sizes)
    sensitive = _prefers_captions(scored)
    ties_here = (scored.values["good"] == scored.values["bad"])[rows]
    rows_of_slices = zip(here.items(), values.tolist(), intervals, sizes, strict=True)
    for (name, at), value, interval, n_concepts in rows_of_slices:
        wrong = np.where(at & (first == (value < 0)), 1 - outcomes, 0.0)
        estimate = interval_estimate(value, int(at.sum()), interval, with_mde=True, sensitive=sensitive)
        yield Finding.of(
            scored, name, "caption_gap", estimate, versus=" - ".join(names),
            evidence=largest([case.id for case in cases], wrong), judged=n_concepts >= FEWEST_CONCEPTS,
        )  # fmt: skip
        yield Finding.of(scored, name, "tie_share", float(ties_here[at].mean()), n=int(at.sum()))


def _by_category(cases: Sequence[Case]) -> dict[str, NDArray[np.bool_]]:
    """Which cases belong to each category, and to all."""
    names = dict.fromkeys([*(case.slice for case in cases), "all"])
    return {name: np.array([name in (case.slice, "all") for case in cases]) for name in names}


def effect_findings(scored: Scored, names: tuple[str, str], seed: int) -> Iterator[Finding]:
    """How much higher captions that name the first group score, whichever is right, by category and in all.

    A right caption of the first group scores above the wrong one by what being right and what the word are
    worth, one of the second group by the first minus the second: half the difference is the word's effect.
    """
    versus = f"{names[0]} - {names[1]}"
    for statistic, good, bad in (
        ("gender_effect", "good", "bad"), ("neutral_gap", "neutral_good", "neutral_bad"),
    ):  # fmt: skip
        table = _signed_differences(scored, names, good, bad)
        if table is None:
            continue
        rows, signed, gaps, scale = table
        cases = [scored.cases[row] for row in rows]
        here = _by_category(cases)
        effects = np.stack([np.where(there, signed, np.nan) for there in here.values()], axis=1)
        concepts = [f"{case.slice}/{case.meta['concept']}" for case in cases]
        estimates = paired_effects(effects, gaps, clusters=concepts, seed=seed, scale=scale)
        for (name, there), estimate in zip(here.items(), estimates, strict=True):
            yield Finding.of(scored, name, statistic, estimate, versus=versus)
            if statistic == "neutral_gap":
                ties = mean_estimate((signed[there] == 0).astype(np.float64), seed=seed)
                yield Finding.of(scored, name, "neutral_tie_share", ties)


def _signed_differences(
    scored: Scored, names: tuple[str, str], good: str, bad: str
) -> tuple[list[int], Floats, Floats, float] | None:
    """Rows, differences with the first group positive (both groups weigh alike), gaps and scale."""
    if good not in scored.values or bad not in scored.values:
        return None
    absent = np.full(len(scored.cases), np.nan)
    first, second, clean, worthless = (
        on_effect_scale(scored, scored.values.get(role, absent)) for role in (good, bad, "good", WORTHLESS)
    )
    known = np.isfinite(first) & np.isfinite(second)
    cases = enumerate(scored.cases)
    rows = [row for row, case in cases if case.meta.get("kind") == "caption" and known[row]]
    if not rows:
        return None
    signs = np.array([1.0 if scored.cases[row].meta.get("group") == names[0] else -1.0 for row in rows])
    scale = scale_of(clean, worthless)
    signed = (first - second)[rows] * signs
    far = outlying([first[rows], second[rows]], np.concatenate([clean[rows], worthless[rows]]))
    rows = list(compress(rows, ~far))
    return rows, signed[~far], (clean - worthless)[rows], scale
