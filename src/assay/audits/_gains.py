"""A worthless text against the gold: how much a metric gains by it, in spreads, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.audits._scores import Estimate, SliceScores, combine, over_seeds
from assay.core import Finding
from assay.statistics.verdict import verdict
from assay.vocabulary import Rule

EVIDENCE = 5


def contrast(scores: SliceScores, treated: Sequence[str], base: Sequence[str] = ("gold",)) -> Estimate:
    """The mean of the treated roles less that of the base roles; over seeds where nothing else varies."""
    if scores.is_set and scores.draws is None and len(treated) > 1:
        return over_seeds([combine(scores, weights([role], base)).value for role in treated])
    return combine(scores, weights(treated, base))


def weights(treated: Sequence[str], base: Sequence[str]) -> dict[str, float]:
    """Means of roles as weights."""
    found = {role: 1 / len(treated) for role in treated}
    for role in base:
        found[role] = found.get(role, 0.0) - 1 / len(base)
    return found


def gain_verdict(scores: SliceScores, gain: Estimate, rule: Rule, margin: float = 0.0) -> bool | None:
    """Fail where the gain is surely at or above the margin; the paper asks only whether the mean is lower.

    A score that does not move at all has not been lowered: an interval of width 0 on the margin fails.
    """
    if rule == "paper":
        return gain.value < margin
    if gain.ci is None or not scores.judged:
        return None
    return False if gain.ci[0] >= margin else verdict(gain.ci, margin)


def gain_evidence(
    scores: SliceScores, treated: Sequence[str], base: Sequence[str] = ("gold",)
) -> tuple[str, ...]:
    """The items that gained most."""
    if scores.is_set:
        return scores.ids
    parts = [weight * scores.columns[role] for role, weight in weights(treated, base).items()]
    gains = np.sum(parts, axis=0)
    return tuple(scores.ids[place] for place in np.argsort(-gains, kind="stable")[:EVIDENCE])


def finding(
    metric: str,
    audit: str,
    slice_: str,
    statistic: str,
    estimate: Estimate,
    n: int,
    versus: str | None = None,
) -> Finding:
    """An estimate as a finding, without a verdict yet."""
    return Finding(
        metric,
        audit,
        slice_,
        statistic,
        estimate.value,
        n,
        versus,
        estimate.ci,
        estimate.p_value,
        None,
        estimate.mde,
    )


def judged_gain(
    metric: str,
    audit: str,
    slice_: str,
    statistic: str,
    scores: SliceScores,
    treated: Sequence[str],
    rule: Rule,
    *,
    base: Sequence[str] = ("gold",),
    versus: str | None = "gold",
    margin: float = 0.0,
) -> Finding:
    """The gain of the treated roles over the base, judged, with its evidence where it fails."""
    gain = contrast(scores, treated, base)
    passed = gain_verdict(scores, gain, rule, margin)
    found = finding(metric, audit, slice_, statistic, gain, scores.n, versus)
    evidence = gain_evidence(scores, treated, base) if passed is False else ()
    return replace(found, passed=passed, evidence=evidence)
