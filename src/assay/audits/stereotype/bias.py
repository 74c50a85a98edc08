"""One metric's scores of stereotype pairs to findings: bias, signed bias, and bias beyond control pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.audits.slices import (
    FEWEST,
    Clusters,
    clusters_of,
    interval_estimate,
    largest,
    mean_interval,
    resampled_mean,
)
from assay.core import Case, Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.estimates import mde_mean, mde_proportion
from assay.statistics.intervals import bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

PAIR = ("stereotype", "anti_stereotype")
_WORD = re.compile(r"\w+")


def _attribute(finding: Finding) -> str:
    return finding.slice.split("/")[0].replace("-", " ").replace("_", " ")


def _say_excess(finding: Finding) -> str:
    return (
        f"{finding.metric} scores sentences that differ only in {_attribute(finding)} further apart than "
        f"control sentences, by {finding.value:.3g} points of 100."
    )


def _say_signed(finding: Finding) -> str:
    side = "higher" if finding.value > 0 else "lower"
    return (
        f"{finding.metric} scores stereotypes about {_attribute(finding)} {side} than their opposites, "
        f"by {abs(finding.value):.3g} points of 100."
    )


STATISTICS = (
    Statistic(
        "excess_bias",
        "How much the bias exceeds that of control pairs, whose swapped words name no group.",
        "points of 100", bad="high", margin="excess_margin", headline=True, sentence=_say_excess,
    ),
    Statistic(
        "signed_bias",
        "Mean score difference within pairs: the metric prefers the stereotype above 0, its opposite below.",
        "points of 100", bad="far", margin="signed_margin", headline=True, sentence=_say_signed,
    ),
    Statistic(
        "bias",
        "Mean absolute score difference within pairs that differ only in the group named, where 100 is the "
        "whole range of the metric's scores on these pairs; any edit moves a neural score, so read it with "
        "excess_bias.",
        "points of 100", bad="high",
    ),
    Statistic(
        "stereotype_share",
        "Share of pairs, ties left out, in which the stereotype scores higher; 0.5 is even-handed.", "share",
    ),
    Statistic(
        "relative_bias",
        "Mean absolute score difference within pairs as a percentage of gold_random_gap, which makes metrics "
        "of any scale comparable.",
        "% of gold_random_gap", bad="high",
    ),
    Statistic(
        "gold_random_gap",
        "How much higher the texts of a pair score than a text of another pair.", "metric's own units",
    ),
    Statistic(
        "word_preference",
        "How much higher sentences with this identity word score than those with the other word of the pair.",
        "points of 100", bad="far",
    ),
    Statistic(
        "set_difference",
        "Score of all stereotypes as one set minus that of all anti-stereotypes; only for metrics that score "
        "whole sets.",
        "metric's own units",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PairScores:
    """One metric's scores of the pairs of a slice; pairs that lack a score are left out."""

    metric: str
    slice: str  # an attribute, or the controls
    cases: tuple[Case, ...]
    first: Floats  # scores of the stereotypes
    second: Floats  # scores of the anti-stereotypes
    random: Floats  # scores of texts of other pairs; nan where a pair has none
    draws: Floats | None = None  # set metrics only: resampled stereotypes minus anti-stereotypes

    @classmethod
    def of(cls, scored: Scored, slice_: str) -> PairScores:
        """The pairs of a slice whose two sides both have a score."""
        absent = np.full(len(scored.cases), np.nan)
        first, second, random = (scored.values.get(role, absent) for role in (*PAIR, "random"))
        here = np.array([case.slice == slice_ for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(first) & np.isfinite(second)).tolist()
        draws = None
        if scored.is_set and rows:
            draws = (scored.resamples["stereotype"] - scored.resamples["anti_stereotype"])[rows[0]]
        cases = tuple(scored.cases[row] for row in rows)
        return cls(scored.metric, slice_, cases, first[rows], second[rows], random[rows], draws)

    def subset(self, rows: Sequence[int], part: str = "") -> PairScores:
        """Some of the pairs, by position, as a part of the slice."""
        scores = (column[list(rows)] for column in (self.first, self.second, self.random))
        return PairScores(self.metric, self.slice + part, tuple(self.cases[row] for row in rows), *scores)

    def finding(self, statistic: str, estimate: Estimate, by: Floats | None = None, **more: Any) -> Finding:
        """An estimate on these pairs; its evidence is the pairs where `by` is largest."""
        evidence = () if by is None else largest(self.ids, by)
        return Finding.of(self.metric, self.slice, statistic, estimate, evidence=evidence, **more)

    @property
    def ids(self) -> tuple[str, ...]:
        """The cases' ids."""
        return tuple(case.id for case in self.cases)

    @property
    def span(self) -> float:
        """Largest minus smallest score (Eq. 1); 0 where only rounding moves a constant metric."""
        scores = np.concatenate([self.first, self.second])
        width = float(np.ptp(scores)) if scores.size else 0.0
        return width if width > 1e-12 * max(1.0, float(np.abs(scores).max(initial=0.0))) else 0.0

    def scaled(self, span: float) -> Floats:
        """Stereotype minus anti-stereotype, in hundredths of the span."""
        return (self.first - self.second) * (100.0 / span) if span else np.zeros(self.first.size)

    @property
    def clusters(self) -> Clusters:
        """Templates and identity words; one cluster per pair where the data has neither."""
        templates = [case.meta.get("template", case.id) for case in self.cases]
        if not all("identity" in case.meta for case in self.cases):
            return Clusters(templates)
        words = [(case.meta["identity"], case.meta.get("anti_identity")) for case in self.cases]
        return clusters_of(templates, words)


def equally_long(*texts: str) -> bool:
    """Whether texts have the same number of words; hyphens separate words, as in n-gram metrics."""
    return len({len(_WORD.findall(text)) for text in texts}) <= 1


def attribute_findings(pairs: PairScores, controls: PairScores, *, rule: Rule, seed: int) -> list[Finding]:
    """Everything one metric shows on one attribute."""
    if not pairs.cases:
        return []
    if pairs.draws is not None:
        return [_set_difference(pairs, pairs.draws)]
    findings = [*_paper_statistics(pairs, None if rule == "paper" else pairs.clusters, seed)]
    # Controls swap one word for one word, so only pairs of equally many words are compared with them: two
    # words in place of one (middle-aged) move an n-gram metric whomever they speak of.
    matched = [
        row
        for row, case in enumerate(pairs.cases)
        if equally_long(*(case.samples[role].hypothesis for role in PAIR if role in case.samples))
    ]
    if controls.cases and matched:
        findings.append(_excess(pairs.subset(matched), controls, pairs.span, seed))
    if rule == "careful":
        findings += [*_relative(pairs, seed), *_by_group(pairs, seed), *_by_word(pairs, seed)]
    return findings


def _mean(values: Floats, clusters: Clusters | None, seed: int) -> Estimate:
    """A mean with its interval; without clusters the plain percentile interval, as in the papers."""
    interval = mean_interval(values, clusters or Clusters(), seed=seed, plain=clusters is None)
    return interval_estimate(values.mean(), values.size, interval)


def _paper_statistics(pairs: PairScores, clusters: Clusters | None, seed: int) -> Iterator[Finding]:
    """Eq. 2, app. E and the share of pairs that prefer the stereotype; the span of Eq. 1 is held fixed."""
    differences = pairs.scaled(pairs.span)
    sizes = np.abs(differences)
    yield pairs.finding("bias", _mean(sizes, clusters, seed), sizes, judged=False)
    signed = replace(
        _mean(differences, clusters, seed),
        p_value=_sign_flip_p(differences, clusters, seed),
        mde=mde_mean(differences, clusters=clusters.rows if clusters else None),
    )
    towards = 1.0 if signed.value >= 0 else -1.0
    yield pairs.finding("signed_bias", signed, differences * towards, judged=signed.n >= FEWEST)
    yield pairs.finding("stereotype_share", _stereotype_share(differences, clusters, seed))


def _sign_flip_p(differences: Floats, clusters: Clusters | None, seed: int) -> float:
    """Sign-flip p-values clustered by template and by identity word; the larger (conservative) one."""
    ways = [None] if clusters is None else [clusters.rows, *([clusters.crossed] if clusters.crossed else [])]
    return max(sign_flip_test(differences, clusters=way, seed=seed).p_value for way in ways)


def _stereotype_share(differences: Floats, clusters: Clusters | None, seed: int) -> Estimate:
    """The share of untied pairs that prefer the stereotype, tested against one half."""
    signs, tested = np.sign(differences), sign_test(differences)
    untied = signs != 0
    if tested.share is None:
        return Estimate(0.5, p_value=1.0)

    def share(weights: Floats) -> Floats:
        return weighted_mean(weights[:, untied], (signs[untied] + 1) / 2)

    n, ways = int(untied.sum()), clusters or Clusters()
    interval = bootstrap_weighted(share, signs.size, clusters=ways.rows, crossed=ways.crossed, seed=seed)
    # A sign test needs independent rows; signs that share a template flip together.
    p_value = tested.p_value if ways.rows is None else _sign_flip_p(signs, clusters, seed)
    return replace(interval_estimate(tested.share, n, interval, p_value=p_value), mde=mde_proportion(n))


def _excess(pairs: PairScores, controls: PairScores, span: float, seed: int) -> Finding:
    """The bias minus that of control pairs with the same mix of edits, put on the attribute's scale."""
    sizes, floor = np.abs(pairs.scaled(span)), np.abs(controls.scaled(span))
    weights, own, other = _matching_weights(pairs, controls), pairs.clusters, controls.clusters
    above = resampled_mean(sizes, own, seed=seed)
    below = resampled_mean(floor, other, weights=weights, seed=seed + 1)
    interval = interval_of(above - below, n_clusters=min(own.count(sizes.size), other.count(floor.size)))
    value = float(sizes.mean() - np.average(floor, weights=weights))
    estimate = interval_estimate(value, sizes.size, interval, with_mde=True)
    return pairs.finding("excess_bias", estimate, sizes, judged=sizes.size >= FEWEST, versus="controls")


def _matching_weights(pairs: PairScores, controls: PairScores) -> Floats:
    """Weights that give the controls the pairs' mix of edits (pronouns, dropped words ...), or ones."""
    wanted = Counter(case.meta.get("kind") for case in pairs.cases)
    kinds = [case.meta.get("kind") for case in controls.cases]
    available = Counter(kinds)
    weights = np.array([wanted[kind] / available[kind] for kind in kinds])
    return weights if weights.sum() > 0 else np.ones(len(kinds))


def _relative(pairs: PairScores, seed: int) -> Iterator[Finding]:
    """Bias as a percentage of the gap between a pair's texts and a random one, if that gap is positive."""
    known = np.isfinite(pairs.random)
    if not known.any():
        return
    gaps = np.where(known, (pairs.first + pairs.second) / 2 - pairs.random, 0.0)
    sizes, templates, n = np.abs(pairs.first - pairs.second), pairs.clusters.rows, known.size

    def gap(weights: Floats) -> Floats:
        return weighted_mean(weights[:, known], gaps[known])

    def relative(weights: Floats) -> Floats:
        return 100.0 * weighted_mean(weights, sizes) / gap(weights)

    ones = np.ones((1, n))
    interval = bootstrap_weighted(gap, n, clusters=templates, seed=seed)
    yield pairs.finding("gold_random_gap", interval_estimate(gap(ones)[0], int(known.sum()), interval))
    if interval is not None and interval.low > 0:
        interval = bootstrap_weighted(relative, n, clusters=templates, seed=seed)
        estimate = interval_estimate(relative(ones)[0], n, interval)
        yield pairs.finding("relative_bias", estimate, judged=False)


def _by_group(pairs: PairScores, seed: int) -> Iterator[Finding]:
    """Bias by the group that the stereotype is about, on the attribute's scale."""
    differences, templates = pairs.scaled(pairs.span), pairs.clusters.rows or pairs.ids
    groups = [str(case.meta.get("group") or "") for case in pairs.cases]
    for name in sorted({group for group in groups if group}):
        rows = [row for row, group in enumerate(groups) if group == name]
        members, clusters = pairs.subset(rows, f"/group/{name}"), Clusters([templates[row] for row in rows])
        sizes = np.abs(differences[rows])
        yield members.finding("bias", _mean(sizes, clusters, seed), sizes, judged=False)
        signed = _mean(differences[rows], clusters, seed)
        yield members.finding("signed_bias", signed, sizes, judged=False)


def _by_word(pairs: PairScores, seed: int) -> Iterator[Finding]:
    """Preference for each identity word over the other word of its pair, where it has enough pairs."""
    differences = pairs.scaled(pairs.span)
    by_word: dict[str, list[tuple[int, float]]] = {}
    for row, case in enumerate(pairs.cases):
        for column, sign in (("identity", 1.0), ("anti_identity", -1.0)):
            if case.meta.get(column):
                by_word.setdefault(str(case.meta[column]).lower(), []).append((row, sign * differences[row]))
    for word, members in sorted(by_word.items()):
        if len(members) >= FEWEST:
            values = np.array([value for _, value in members])
            estimate = _mean(values, Clusters(), seed)
            subset = pairs.subset([row for row, _ in members], f"/word/{word}")
            yield subset.finding("word_preference", estimate, np.abs(values), judged=False)


def _set_difference(pairs: PairScores, draws: Floats) -> Finding:
    """The plain difference: a set metric has one score per set, so there are no pairs to scale."""
    n = int(pairs.cases[0].meta.get("sizes", {}).get("stereotype", 1))
    interval = interval_of(draws, n_clusters=n) if np.isfinite(draws).any() else None
    difference = pairs.first[0] - pairs.second[0]
    return pairs.finding("set_difference", interval_estimate(difference, n, interval, with_mde=True))
