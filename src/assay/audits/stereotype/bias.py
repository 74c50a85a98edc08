"""Scores of stereotype pairs to bias and signed bias; biases of several metrics to what explains them.

Paradigm, backbone and size may explain a bias (unfair sec. 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log10
from typing import Any

import numpy as np

from assay.audits.effects import AlignedScores, interval_estimate, largest, mean_estimate
from assay.core import Estimate, Finding, Floats, Scored, Statistic
from assay.grouping import grouped
from assay.statistics.intervals import bootstrap_mean, bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

_PAIR = ("stereotype", "anti_stereotype")


STATISTICS = (
    Statistic(
        "bias", "Mean absolute difference within pairs, of scores put on 0 to 100 (Eq. 2).", "points of 100"
    ),
    Statistic("signed_bias", "Mean difference within pairs, stereotypes positive (app. E).", "points of 100"),
    Statistic("stereotype_share", "Share of untied pairs in which the stereotype scores higher.", "share"),
    Statistic("set_difference", "The score of the stereotypes minus that of their opposites.", "score"),
    Statistic(
        "variance_explained",
        "Share of the variance of bias between metrics that paradigm, backbone or size explains.",
        "share",
    ),
)


def attribute_findings(scores: AlignedScores, *, rule: Rule, seed: int) -> Iterator[Finding]:
    """The papers' statistics of one metric on the pairs of one attribute."""
    pairs = PairScores.of(scores)
    if not pairs.first.size:
        return
    if scores.scored.is_set:  # a set metric has one score per set, so there are no pairs to scale
        draws = scores.resamples[_PAIR[0]][0] - scores.resamples[_PAIR[1]][0]
        interval = interval_of(draws, n_clusters=scores.set_size)
        plain = interval_estimate(float(pairs.differences[0]), scores.set_size, interval)
        yield Finding.of(scores.scored, scores.slice, "set_difference", plain)
        return
    yield from _paper_statistics(scores, pairs, None if rule == "paper" else pairs.templates, seed)


@dataclass(frozen=True, slots=True)
class PairScores:
    """The pairs of an attribute whose two texts have a score."""

    ids: list[str]
    templates: list[str]
    first: Floats
    second: Floats

    @classmethod
    def of(cls, scores: AlignedScores) -> PairScores:
        """The pairs among the cases of a slice."""
        first, second = map(scores.column, _PAIR)
        rows = np.flatnonzero(np.isfinite(first) & np.isfinite(second)).tolist()
        cases = [scores.cases[row] for row in rows]
        templates = [str(case.meta.get("template", case.id)) for case in cases]
        return cls([case.id for case in cases], templates, first[rows], second[rows])

    @property
    def differences(self) -> Floats:
        """Stereotype minus anti-stereotype."""
        return self.first - self.second


def _scaled_differences(pairs: PairScores) -> Floats:
    """Stereotype minus anti-stereotype on the scale of 0 to 100 that the scores of all pairs span (Eq. 1)."""
    scores = np.concatenate([pairs.first, pairs.second])
    span = float(np.ptp(scores))
    if span <= 1e-12 * max(1.0, float(np.abs(scores).max())):  # only rounding moves a constant metric
        return np.zeros(pairs.first.size)
    return pairs.differences * (100.0 / span)


def _mean(values: Floats, clusters: Sequence[str] | None, seed: int) -> Estimate:
    """A mean with its interval; without clusters the plain percentile interval, as in the papers."""
    interval = bootstrap_mean(values, clusters=clusters, seed=seed, corrected=clusters is not None)
    return interval_estimate(values.mean(), values.size, interval)


def _paper_statistics(
    scores: AlignedScores, pairs: PairScores, clusters: Sequence[str] | None, seed: int
) -> Iterator[Finding]:
    """Eq. 2, app. E and the share of pairs that prefer the stereotype; the span of Eq. 1 is held fixed."""
    differences = _scaled_differences(pairs)
    sizes, place = np.abs(differences), (scores.scored, scores.slice)
    yield Finding.of(*place, "bias", _mean(sizes, clusters, seed), evidence=largest(pairs.ids, sizes))
    # A test of its own may contradict the interval: it stands where the paper's rule asks for it alone.
    p_value = sign_flip_test(differences, seed=seed).p_value if clusters is None else None
    signed = replace(_mean(differences, clusters, seed), p_value=p_value)
    yield Finding.of(*place, "signed_bias", signed, evidence=largest(pairs.ids, differences, signed.value))
    yield Finding.of(*place, "stereotype_share", _stereotype_share(differences, clusters, seed))


def _stereotype_share(differences: Floats, clusters: Sequence[str] | None, seed: int) -> Estimate:
    """The share of untied pairs that prefer the stereotype, tested against one half."""
    signs = np.sign(differences)
    untied = signs != 0
    if not untied.any():
        return Estimate(0.5, p_value=1.0)

    def share(weights: Floats) -> Floats:
        return weighted_mean(weights[:, untied], (signs[untied] + 1) / 2)

    interval = bootstrap_weighted(share, signs.size, clusters=clusters, seed=seed)
    p_value = sign_test(differences) if clusters is None else None
    value = (signs[untied] > 0).mean()
    return interval_estimate(value, int(untied.sum()), interval, p_value=p_value)


_ALL = "all metrics"
_FEWEST_METRICS = 4  # below this a share of variance says nothing
_About = Mapping[str, Mapping[str, Any]]  # what is known of metrics, by label


def across_metrics(scored: Sequence[Scored], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Bias by paradigm, and the share of its variance that paradigm, backbone and size explain (fig. 4)."""
    about = {answer.metric: answer.about for answer in scored}
    without_groups = (f for f in findings if f.statistic == "bias" and "/" not in f.slice)
    for name, rows in grouped(without_groups, lambda finding: finding.slice).items():
        yield from _by_paradigm(name, rows, about)
        if len(rows) >= _FEWEST_METRICS:
            yield from _explained(name, rows, about)


def _by_paradigm(name: str, rows: Sequence[Finding], about: _About) -> Iterator[Finding]:
    """The mean bias of the metrics of each paradigm, where there are several."""
    by_paradigm = grouped(rows, lambda row: _paradigm(about[row.metric]))
    if len(by_paradigm) > 1:
        for paradigm, members in sorted(by_paradigm.items()):
            mean = mean_estimate(np.array([row.value for row in members]), seed=0)
            yield Finding.of(_ALL, f"{name}/paradigm/{paradigm}", "bias", mean)


def _explained(name: str, rows: Sequence[Finding], about: _About) -> Iterator[Finding]:
    """The share of the variance of bias that paradigm, backbone and size explain."""
    biases = np.array([row.value for row in rows])
    facts = [about[row.metric] for row in rows]
    backbones = np.array([str(fact.get("backbone") or "") for fact in facts])
    sizes = np.array([log10(fact.get("parameters") or np.nan) for fact in facts])
    is_pretrained = backbones != ""
    shares = {
        "paradigm": (_eta_squared(biases, list(map(_paradigm, facts))), len(rows)),
        "backbone": (
            _eta_squared(biases[is_pretrained], backbones[is_pretrained].tolist()), int(is_pretrained.sum()),
        ),
        "size": (_r_squared(biases, sizes), int(np.isfinite(sizes).sum())),
    }  # fmt: skip
    for versus, (share, n) in shares.items():
        if share is not None:
            yield Finding.of(_ALL, name, "variance_explained", share, n=n, versus=versus)


def _paradigm(fact: Mapping[str, Any]) -> str:
    return str(fact.get("paradigm", "other"))


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
    finite = np.isfinite(sizes)
    if finite.sum() < _FEWEST_METRICS - 1 or np.ptp(sizes[finite]) == 0 or np.ptp(values[finite]) == 0:
        return None
    return float(np.corrcoef(values[finite], sizes[finite])[0, 1] ** 2)
