"""One metric's scores of stereotype pairs, and the papers' statistics of them: bias and signed bias."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.audits.gap import WORTHLESS, on_effect_scale, outlying, scale_of
from assay.audits.slices import Clusters, clusters_of, interval_estimate, largest, mean_interval
from assay.audits.stereotype.controls import PAIR, Controls
from assay.audits.stereotype.groups import Effects
from assay.core import Case, Estimate, Finding, Floats, Scored, Statistic
from assay.statistics.estimates import mde_mean, mde_proportion
from assay.statistics.intervals import bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

_WORD = re.compile(r"\w+")


STATISTICS = (
    Statistic(
        "signed_bias",
        "Mean score difference within pairs, in hundredths of the range of the scores (app. E of *unfair*): "
        "the stereotype scores higher above 0, its opposite below.",
        "points of 100",
    ),
    Statistic(
        "bias",
        "Mean absolute score difference within pairs that differ only in the group named, where 100 is the "
        "whole range of the metric's scores on these pairs (Eq. 2 of *unfair*); any edit moves a neural "
        "score, so read it with excess_bias.",
        "points of 100",
    ),
    Statistic(
        "stereotype_share",
        "Share of pairs, ties left out, in which the stereotype scores higher; 0.5 is even-handed.", "share",
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
    worthless: Floats  # scores of worthless texts; nan where a pair has none
    draws: Floats | None = None  # set metrics only: resampled stereotypes minus anti-stereotypes

    @classmethod
    def of(cls, scored: Scored, slice_: str) -> PairScores:
        """The pairs of a slice whose two sides both have a score."""
        absent = np.full(len(scored.cases), np.nan)
        first, second, worthless = (scored.values.get(role, absent) for role in (*PAIR, WORTHLESS))
        here = np.array([case.slice == slice_ for case in scored.cases], dtype=bool)
        rows = np.flatnonzero(here & np.isfinite(first) & np.isfinite(second)).tolist()
        draws = None
        if scored.is_set and rows:
            draws = (scored.resamples["stereotype"] - scored.resamples["anti_stereotype"])[rows[0]]
        cases = tuple(scored.cases[row] for row in rows)
        return cls(scored.metric, slice_, cases, first[rows], second[rows], worthless[rows], draws)

    def finding(self, statistic: str, estimate: Estimate, by: Floats | None = None, **more: Any) -> Finding:
        """An estimate on these pairs; its evidence is the pairs where `by` is largest."""
        evidence = () if by is None else largest(self.ids, by)
        return Finding.of(self.metric, self.slice, statistic, estimate, evidence=evidence, **more)

    @property
    def ids(self) -> tuple[str, ...]:
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


def attribute_findings(
    scored: Scored, pairs: PairScores, controls: PairScores, *, rule: Rule, seed: int
) -> list[Finding]:
    """Everything one metric shows on one attribute."""
    if not pairs.cases:
        return []
    if pairs.draws is not None:
        return [_set_difference(pairs, pairs.draws)]
    findings = [*_paper_statistics(pairs, None if rule == "paper" else pairs.clusters, seed)]
    if rule == "careful":
        findings += _judged_effects(scored, pairs, controls, seed)
    return findings


def _judged_effects(scored: Scored, pairs: PairScores, controls: PairScores, seed: int) -> Iterator[Finding]:
    """Effects in percent of the gap, on pairs of equally many words.

    Controls swap one word for one word, so only such pairs are compared with them: two words in place of one
    (middle-aged) move an n-gram metric whomever they speak of.
    """
    pairs, controls = (_comparable(scored, listed) for listed in (pairs, controls))
    if len(pairs.cases) < 2:
        return
    matched = Controls(controls.cases, controls.first - controls.second) if controls.cases else None
    gaps, scale = (pairs.first + pairs.second) / 2 - pairs.worthless, scale_of(pairs.first, pairs.second)
    effects = Effects(
        pairs.metric, pairs.slice, pairs.cases, pairs.first - pairs.second, gaps, scale, pairs.clusters,
        matched, seed,
    )  # fmt: skip
    yield from effects.findings()


def _comparable(scored: Scored, pairs: PairScores) -> PairScores:
    """The pairs of equally many words without outlying scores, on the scale that effects are computed on."""
    columns = [on_effect_scale(scored, column) for column in (pairs.first, pairs.second, pairs.worthless)]
    far = outlying(columns, np.concatenate(columns))
    texts = [[case.samples[role].hypothesis for role in PAIR if role in case.samples] for case in pairs.cases]
    rows = [row for row, pair in enumerate(texts) if not far[row] and equally_long(*pair)]
    cases = tuple(pairs.cases[row] for row in rows)
    return PairScores(pairs.metric, pairs.slice, cases, *(column[rows] for column in columns))


def _mean(values: Floats, clusters: Clusters | None, seed: int) -> Estimate:
    """A mean with its interval; without clusters the plain percentile interval, as in the papers."""
    interval = mean_interval(values, clusters or Clusters(), seed=seed, plain=clusters is None)
    return interval_estimate(values.mean(), values.size, interval)


def _paper_statistics(pairs: PairScores, clusters: Clusters | None, seed: int) -> Iterator[Finding]:
    """Eq. 2, app. E and the share of pairs that prefer the stereotype; the span of Eq. 1 is held fixed."""
    differences = pairs.scaled(pairs.span)
    sizes = np.abs(differences)
    yield pairs.finding("bias", _mean(sizes, clusters, seed), sizes)
    signed = replace(
        _mean(differences, clusters, seed),
        p_value=_sign_flip_p(differences, clusters, seed),
        mde=mde_mean(differences, clusters=clusters.rows if clusters else None),
    )
    towards = 1.0 if signed.value >= 0 else -1.0
    yield pairs.finding("signed_bias", signed, differences * towards)
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


def _set_difference(pairs: PairScores, draws: Floats) -> Finding:
    """The plain difference: a set metric has one score per set, so there are no pairs to scale."""
    n = int(pairs.cases[0].meta.get("sizes", {}).get("stereotype", 1))
    interval = interval_of(draws, n_clusters=n) if np.isfinite(draws).any() else None
    difference = pairs.first[0] - pairs.second[0]
    return pairs.finding("set_difference", interval_estimate(difference, n, interval, with_mde=True))
