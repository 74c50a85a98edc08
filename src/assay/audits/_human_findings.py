"""Agreement to findings: each with its interval, and against the best sentinel with a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from assay.audits._human_levels import Agreement, Choices
from assay.audits._human_sentinels import SENTINELS
from assay.core import Finding, Floats
from assay.statistics.bootstrap import Interval, bootstrap_p_value, interval_of
from assay.statistics.power import mde_interval
from assay.statistics.verdict import verdict

AUDIT = "human"
OVER_SENTINEL = "over_sentinel"
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


def sentinel_findings(agreement: Agreement, choices: Choices, margin: float) -> list[Finding]:
    """Each metric's agreement less the best sentinel's, on the same resamples.

    A metric fails where the interval lies wholly below the margin: a baseline that compares nothing agrees
    with people better. It passes where the interval lies wholly above.
    """
    values = dict(zip(agreement.metrics, agreement.draws.values, strict=True))
    standing = {name: value for name, value in values.items() if name in SENTINELS and np.isfinite(value)}
    if not standing:
        return []
    best = max(standing, key=lambda name: standing[name])
    judged = [name for name, value in values.items() if name not in SENTINELS and np.isfinite(value)]
    return [_over(agreement, metric, best, choices, margin) for metric in judged]


def _over(agreement: Agreement, metric: str, best: str, choices: Choices, margin: float) -> Finding:
    draws, (own, other) = agreement.draws, map(agreement.metrics.index, (metric, best))
    apart = draws.draws[own] - draws.draws[other]
    ci = interval(apart, draws.clusters, choices)
    return Finding(
        metric,
        AUDIT,
        agreement.slice,
        OVER_SENTINEL,
        float(draws.values[own] - draws.values[other]),
        int(draws.sizes[own]),
        versus=best,
        ci=ci.pair if ci else None,
        p_value=bootstrap_p_value(apart, null=margin) if ci else None,
        mde=mde_interval(ci),
        passed=None if choices.rule == "paper" else verdict(ci, margin, "below"),
    )


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
