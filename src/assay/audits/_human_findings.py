"""Agreement to findings: each with its interval, and against the best sentinel with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from assay.audits._human_levels import Agreement, Choices
from assay.audits._human_sentinels import SENTINELS
from assay.core import Finding, Floats
from assay.statistics.bootstrap import Interval, bootstrap_p_value, interval_of
from assay.statistics.multiple import benjamini_hochberg
from assay.statistics.power import mde_interval
from assay.statistics.verdict import verdict

AUDIT = "human"
OVER_SENTINEL = "over_sentinel"
ALPHA = 0.05
_ACCURACIES = ("pairwise_accuracy", "soft_pairwise_accuracy")  # where 0 is not "no agreement"


def interval(draws: Floats, clusters: int, choices: Choices) -> Interval | None:
    """A percentile interval, widened for few clusters unless the paper's rule is asked for."""
    if clusters < 2 or not np.isfinite(draws).any():
        return None
    correction: Literal["t", "none"] = "none" if choices.rule == "paper" else "t"
    return interval_of(draws, n_clusters=clusters, correction=correction)


def agreement_findings(
    agreement: Agreement, choices: Choices, evidence: Mapping[str, tuple[str, ...]]
) -> list[Finding]:
    """A finding a metric; undefined agreement gives none (the audit says why in its notes)."""
    found = []
    for index, metric in enumerate(agreement.metrics):
        value = float(agreement.draws.values[index])
        if not np.isfinite(value):
            continue
        ci = interval(agreement.draws.draws[index], agreement.draws.clusters, choices)
        null = ci is not None and 0.0 in ci and agreement.statistic not in _ACCURACIES
        found.append(
            Finding(
                metric,
                AUDIT,
                agreement.slice,
                agreement.statistic,
                value,
                int(agreement.draws.sizes[index]),
                ci=ci.pair if ci else None,
                mde=mde_interval(ci) if null else None,
                evidence=evidence.get(metric, ()) if agreement.statistic == choices.headline else (),
            )
        )
    return found


def sentinel_findings(
    agreement: Agreement, compared: Sequence[Finding], choices: Choices, margin: float
) -> list[Finding]:
    """Each metric's agreement less the best sentinel's, on the same resamples.

    A metric fails where the interval lies wholly below the margin: a baseline that compares nothing agrees
    with people better. It passes where the interval lies wholly above. Either stands only if the p-value
    does too (see `settled`); `compared` are the differences whose permutation tests it heeds.
    """
    values = dict(zip(agreement.metrics, agreement.draws.values, strict=True))
    standing = {name: value for name, value in values.items() if name in SENTINELS and np.isfinite(value)}
    if not standing:
        return []
    best = max(standing, key=lambda name: standing[name])
    judged = [name for name, value in values.items() if name not in SENTINELS and np.isfinite(value)]
    permuted = {f.metric: f.p_value for f in compared if f.versus == best and f.p_value is not None}
    return [_over(agreement, metric, best, choices, margin, permuted.get(metric, 0.0)) for metric in judged]


def _over(
    agreement: Agreement, metric: str, best: str, choices: Choices, margin: float, permuted: float
) -> Finding:
    draws, (own, other) = agreement.draws, map(agreement.metrics.index, (metric, best))
    apart = draws.draws[own] - draws.draws[other]
    ci = interval(apart, draws.clusters, choices)
    value = float(draws.values[own] - draws.values[other])
    # Beyond the margin means apart from the sentinel too, which permutation tells: both tests must say so.
    # Short of a margin above 0 a metric may well equal the sentinel.
    also = permuted if value >= margin or margin == 0 else 0.0
    return Finding(
        metric,
        AUDIT,
        agreement.slice,
        OVER_SENTINEL,
        value,
        int(draws.sizes[own]),
        versus=best,
        ci=ci.pair if ci else None,
        p_value=max(bootstrap_p_value(apart, null=margin), also) if ci else None,
        mde=mde_interval(ci),
        passed=None if choices.rule == "paper" else verdict(ci, margin, "below"),
    )


def settled(found: Sequence[Finding]) -> list[Finding]:
    """Findings with verdicts only where q < .05 (Benjamini-Hochberg over a metric's `over_sentinel`)."""
    answer = list(found)
    tested: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        if one.statistic == OVER_SENTINEL and one.p_value is not None:
            tested.setdefault(one.metric, []).append(place)
    for places in tested.values():
        for place, q in zip(places, benjamini_hochberg([found[at].p_value for at in places]), strict=True):
            kept = found[place].passed if q < ALPHA else None
            answer[place] = replace(found[place], q_value=float(q), passed=kept)
    return answer


def disagreements(scores: Floats, human: Floats, ids: Sequence[str], most: int = 5) -> tuple[str, ...]:
    """The texts that the metric and people place furthest apart, by rank."""
    both = np.flatnonzero(np.isfinite(scores) & np.isfinite(human))
    if both.size < 2:
        return ()
    apart = np.abs(_ranks(scores[both]) - _ranks(human[both]))
    return tuple(ids[both[place]] for place in np.argsort(-apart, kind="stable")[:most].tolist())


def _ranks(values: Floats) -> Floats:
    order = np.sort(values)
    low, high = np.searchsorted(order, values), np.searchsorted(order, values, side="right")
    middle: Floats = (low + high) / 2.0
    return middle
