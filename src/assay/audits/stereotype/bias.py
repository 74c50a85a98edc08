"""Scores of stereotype pairs to bias and signed bias; biases of several metrics to what explains them.

Paradigm, backbone and size may explain a bias (unfair sec. 2.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log10
from typing import Any

import numpy as np

from assay.audits import slices
from assay.audits.gap import WORTHLESS, on_effect_scale, outlying, scale_of
from assay.audits.stereotype.groups import PAIR, Controls, Effects
from assay.core import Case, Estimate, Finding, Floats, Scored
from assay.statistics.estimates import mde_mean, mde_proportion
from assay.statistics.intervals import bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

_WORD = re.compile(r"\w+")


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
        evidence = () if by is None else slices.largest(self.ids, by)
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
    def clusters(self) -> slices.Clusters:
        """Templates and identity words; one cluster per pair where the data has neither."""
        templates = [case.meta.get("template", case.id) for case in self.cases]
        if not all("identity" in case.meta for case in self.cases):
            return slices.Clusters(templates)
        words = [(case.meta["identity"], case.meta.get("anti_identity")) for case in self.cases]
        return slices.clusters_of(templates, words)


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


def _mean(values: Floats, clusters: slices.Clusters | None, seed: int) -> Estimate:
    """A mean with its interval; without clusters the plain percentile interval, as in the papers."""
    interval = slices.mean_interval(values, clusters or slices.Clusters(), seed=seed, plain=clusters is None)
    return slices.interval_estimate(values.mean(), values.size, interval)


def _paper_statistics(pairs: PairScores, clusters: slices.Clusters | None, seed: int) -> Iterator[Finding]:
    """Eq. 2, app. E and the share of pairs that prefer the stereotype; the span of Eq. 1 is held fixed."""
    differences = pairs.scaled(pairs.span)
    sizes = np.abs(differences)
    yield pairs.finding("bias", _mean(sizes, clusters, seed), sizes)
    # A test of its own may contradict the interval: it stands where the paper's rule asks for it alone.
    p_value = sign_flip_test(differences, seed=seed).p_value if clusters is None else None
    mde = mde_mean(differences, clusters=clusters.rows if clusters else None)
    signed = replace(_mean(differences, clusters, seed), p_value=p_value, mde=mde)
    towards = 1.0 if signed.value >= 0 else -1.0
    yield pairs.finding("signed_bias", signed, differences * towards)
    yield pairs.finding("stereotype_share", _stereotype_share(differences, clusters, seed))


def _stereotype_share(differences: Floats, clusters: slices.Clusters | None, seed: int) -> Estimate:
    """The share of untied pairs that prefer the stereotype, tested against one half."""
    signs = np.sign(differences)
    untied = signs != 0
    if not untied.any():
        return Estimate(0.5, p_value=1.0)

    def share(weights: Floats) -> Floats:
        return weighted_mean(weights[:, untied], (signs[untied] + 1) / 2)

    n, ways = int(untied.sum()), clusters or slices.Clusters()
    interval = bootstrap_weighted(share, signs.size, clusters=ways.rows, crossed=ways.crossed, seed=seed)
    p_value = sign_test(differences) if clusters is None else None
    value = (signs[untied] > 0).mean()
    return slices.interval_estimate(value, n, interval, p_value=p_value, mde=mde_proportion(n))


def _set_difference(pairs: PairScores, draws: Floats) -> Finding:
    """The plain difference: a set metric has one score per set, so there are no pairs to scale."""
    n = int(pairs.cases[0].meta.get("sizes", {}).get("stereotype", 1))
    interval = interval_of(draws, n_clusters=n) if np.isfinite(draws).any() else None
    difference = pairs.first[0] - pairs.second[0]
    return pairs.finding("set_difference", slices.interval_estimate(difference, n, interval, with_mde=True))


ALL = "all metrics"
FEWEST_METRICS = 4  # below this a share of variance says nothing


def across_metrics(scored: Sequence[Scored], findings: Iterable[Finding]) -> list[Finding]:
    """Bias by paradigm, and the share of its variance that paradigm, backbone and size explain (fig. 4)."""
    about = {answer.metric: answer.about for answer in scored}
    answers: list[Finding] = []
    without_groups = (f for f in findings if f.statistic == "bias" and "/" not in f.slice)
    for name, rows in slices.grouped(without_groups, lambda finding: finding.slice).items():
        biases = np.array([row.value for row in rows])
        paradigms = [str(about[row.metric].get("paradigm", "other")) for row in rows]
        for paradigm in sorted(set(paradigms)) if len(set(paradigms)) > 1 else ():
            mean = slices.mean_estimate(biases[[own == paradigm for own in paradigms]], seed=0)
            answers.append(Finding.of(ALL, f"{name}/paradigm/{paradigm}", "bias", mean, judged=False))
        if len(rows) < FEWEST_METRICS:
            continue
        backbones = [str(about[row.metric].get("backbone") or "") for row in rows]
        pretrained = [place for place, backbone in enumerate(backbones) if backbone]
        sizes = np.array([log10(about[row.metric].get("parameters") or np.nan) for row in rows])
        named = [backbones[place] for place in pretrained]
        shares = {
            "paradigm": (_eta_squared(biases, paradigms), len(rows)),
            "backbone": (_eta_squared(biases[pretrained], named), len(pretrained)),
            "size": (_r_squared(biases, sizes), int(np.isfinite(sizes).sum())),
        }
        for versus, (share, n) in shares.items():
            if share is not None:
                answers.append(Finding.of(ALL, name, "variance_explained", share, n=n, versus=versus))
    return answers


def _eta_squared(values: Floats, labels: Sequence[str]) -> float | None:
    """Variance between groups over all variance; None where there is one group or each value has its own."""
    groups = sorted(set(labels))
    if len(groups) in (0, 1, len(labels)) or np.ptp(values) == 0.0:
        return None
    total = float(((values - values.mean()) ** 2).sum())
    members = [values[[label == group for label in labels]] for group in groups]
    return float(sum(rows.size * (rows.mean() - values.mean()) ** 2 for rows in members)) / total


def _r_squared(values: Floats, sizes: Floats) -> float | None:
    """Squared correlation of bias with the logarithm of the number of parameters; None where undefined."""
    known = np.isfinite(sizes)
    if known.sum() < FEWEST_METRICS - 1 or np.ptp(sizes[known]) == 0 or np.ptp(values[known]) == 0:
        return None
    return float(np.corrcoef(values[known], sizes[known])[0, 1] ** 2)
