"""Scores of stereotype pairs to bias and signed bias; biases of several metrics to what explains them.

Paradigm, backbone and size may explain a bias (unfair sec. 2.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import log10, sqrt
from typing import Any

import numpy as np

from assay.audits.gap import on_effect_scale, outlying
from assay.audits.slices import PairScores, grouped, interval_estimate, mean_estimate
from assay.audits.stereotype.groups import PAIR, Clusters, Controls, Effects, clusters_of
from assay.core import Estimate, Finding, Floats, Scored
from assay.statistics.estimates import detectable_effect, mde_mean
from assay.statistics.intervals import bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_flip_test, sign_test
from assay.vocabulary import Rule

_WORD = re.compile(r"\w+")


def equally_long(*texts: str) -> bool:
    """Whether texts have the same number of words; hyphens separate words, as in n-gram metrics."""
    return len({len(_WORD.findall(text)) for text in texts}) <= 1


def attribute_findings(
    scored: Scored, pairs: PairScores, controls: PairScores, *, rule: Rule, seed: int
) -> Iterator[Finding]:
    """Everything one metric shows on one attribute."""
    if not pairs.cases:
        return
    if pairs.draws is not None:  # a set metric has one score per set, so there are no pairs to scale
        n = int(pairs.cases[0].meta.get("sizes", {}).get("stereotype", 1))
        interval = interval_of(pairs.draws, n_clusters=n)
        plain = interval_estimate(pairs.differences[0], n, interval, with_mde=True)
        yield pairs.finding("set_difference", plain)
        return
    yield from _paper_statistics(pairs, None if rule == "paper" else clusters_of(pairs.cases), seed)
    if rule == "careful":
        # Effects in percent of the gap, on pairs of equally many words. Controls swap one word for one word,
        # so only such pairs are compared with them: two words in place of one (middle-aged) move an n-gram
        # metric whomever they speak of.
        pairs, controls = (_comparable(scored, listed) for listed in (pairs, controls))
        if len(pairs.cases) > 1:
            yield from Effects(pairs, Controls(controls.cases, controls.differences), seed).findings()


def _comparable(scored: Scored, pairs: PairScores) -> PairScores:
    """The pairs of equally many words without outlying scores, on the scale that effects are computed on."""
    columns = [on_effect_scale(scored, column) for column in (pairs.first, pairs.second, pairs.worthless)]
    far = outlying(columns, np.concatenate(columns))
    texts = [[case.samples[role].hypothesis for role in PAIR if role in case.samples] for case in pairs.cases]
    rows = [row for row, pair in enumerate(texts) if not far[row] and equally_long(*pair)]
    cases = tuple(pairs.cases[row] for row in rows)
    return PairScores(pairs.metric, pairs.slice, cases, *(column[rows] for column in columns))


def _scaled_differences(pairs: PairScores) -> Floats:
    """Stereotype minus anti-stereotype on the scale of 0 to 100 that the scores of all pairs span (Eq. 1)."""
    scores = np.concatenate([pairs.first, pairs.second])
    span = float(np.ptp(scores))
    if span <= 1e-12 * max(1.0, float(np.abs(scores).max())):  # only rounding moves a constant metric
        return np.zeros(pairs.first.size)
    return pairs.differences * (100.0 / span)


def _mean(values: Floats, clusters: Clusters | None, seed: int) -> Estimate:
    """A mean with its interval; without clusters the plain percentile interval, as in the papers."""
    options: dict[str, Any] = {"method": "percentile", "correction": "none"}
    if clusters is not None:
        options = {"clusters": clusters.rows, "crossed": clusters.crossed}
    interval = bootstrap_weighted(partial(weighted_mean, values=values), values.size, seed=seed, **options)
    return interval_estimate(values.mean(), values.size, interval)


def _paper_statistics(pairs: PairScores, clusters: Clusters | None, seed: int) -> Iterator[Finding]:
    """Eq. 2, app. E and the share of pairs that prefer the stereotype; the span of Eq. 1 is held fixed."""
    differences = _scaled_differences(pairs)
    sizes = np.abs(differences)
    yield pairs.finding("bias", _mean(sizes, clusters, seed), sizes)
    # A test of its own may contradict the interval: it stands where the paper's rule asks for it alone.
    p_value = sign_flip_test(differences, seed=seed).p_value if clusters is None else None
    mde = mde_mean(differences, clusters=clusters.rows if clusters else None)
    signed = replace(_mean(differences, clusters, seed), p_value=p_value, mde=mde)
    towards = 1.0 if signed.value >= 0 else -1.0
    yield pairs.finding("signed_bias", signed, differences * towards)
    yield pairs.finding("stereotype_share", _stereotype_share(differences, clusters, seed))


def _stereotype_share(differences: Floats, clusters: Clusters | None, seed: int) -> Estimate:
    """The share of untied pairs that prefer the stereotype, tested against one half."""
    signs = np.sign(differences)
    untied = signs != 0
    if not untied.any():
        return Estimate(0.5, p_value=1.0)

    def share(weights: Floats) -> Floats:
        return weighted_mean(weights[:, untied], (signs[untied] + 1) / 2)

    n, ways = int(untied.sum()), clusters or Clusters()
    interval = bootstrap_weighted(share, signs.size, clusters=ways.rows, crossed=ways.crossed, seed=seed)
    p_value = sign_test(differences) if clusters is None else None
    value = (signs[untied] > 0).mean()
    mde = detectable_effect(sqrt(0.25 / n))  # one half, the null share, fixes the standard error
    return interval_estimate(value, n, interval, p_value=p_value, mde=mde)


ALL = "all metrics"
FEWEST_METRICS = 4  # below this a share of variance says nothing


def across_metrics(scored: Sequence[Scored], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Bias by paradigm, and the share of its variance that paradigm, backbone and size explain (fig. 4)."""
    about = {answer.metric: answer.about for answer in scored}
    without_groups = (f for f in findings if f.statistic == "bias" and "/" not in f.slice)
    for name, rows in grouped(without_groups, lambda finding: finding.slice).items():
        biases = np.array([row.value for row in rows])
        paradigms = [str(about[row.metric].get("paradigm", "other")) for row in rows]
        for paradigm in sorted(set(paradigms)) if len(set(paradigms)) > 1 else ():
            mean = mean_estimate(biases[[own == paradigm for own in paradigms]], seed=0)
            yield Finding.of(ALL, f"{name}/paradigm/{paradigm}", "bias", mean, judged=False)
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
                yield Finding.of(ALL, name, "variance_explained", share, n=n, versus=versus)


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
