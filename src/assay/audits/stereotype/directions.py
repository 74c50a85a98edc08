"""Biases of several metrics to what explains them: direction, paradigm, backbone, size (unfair sec. 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10

import numpy as np

from assay.audits.slices import interval_estimate, mean_estimate, mean_interval
from assay.audits.stereotype.bias import PairScores
from assay.core import Finding, Floats, Scored, Statistic

ALL = "all metrics"
FEWEST_METRICS = 4  # below this a share of variance says nothing
TOLERANCE = 0.01  # a direction may outscore worthless texts this much less often than the best one

STATISTICS = (
    Statistic(
        "fairest_direction",
        "How much less biased this output (precision, recall or F) is than the most biased one of the same "
        "metric, among outputs that still score a pair's texts above worthless ones.",
        "points of 100",
    ),
    Statistic(
        "variance_explained",
        "Share of the variance of bias between metrics that their paradigm, backbone or size explains.",
        "share",
    ),
)


def fairest_directions(scored: Sequence[Scored], findings: Iterable[Finding]) -> list[Finding]:
    """For each metric with several outputs (p, r, f), the least biased one that is still useful.

    An output is useful if it ranks fitting texts over worthless ones as often as the best output does;
    agreement with people is the matter of another audit.
    """
    families: dict[str, list[Scored]] = {}
    for answer in scored:
        if answer.about.get("output"):
            families.setdefault(str(answer.about.get("signature")), []).append(answer)
    attributes = _biases(findings)
    several = [outputs for outputs in families.values() if len(outputs) > 1]
    return [finding for outputs in several for name in attributes for finding in _fairest(outputs, name)]


def _biases(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The metrics' biases by attribute, without groups."""
    by_attribute: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.statistic == "bias" and "/" not in finding.slice:
            by_attribute.setdefault(finding.slice, []).append(finding)
    return by_attribute


def _fairest(outputs: Sequence[Scored], attribute: str) -> Iterator[Finding]:
    candidates = [pairs for pairs in (PairScores.of(output, attribute) for output in outputs) if pairs.cases]
    if len(candidates) < 2 or len({pairs.ids for pairs in candidates}) > 1:
        return
    useful = [_share_above_worthless(pairs) for pairs in candidates]
    sizes = [np.abs(pairs.scaled(pairs.span)) for pairs in candidates]
    biases = [float(size.mean()) for size in sizes]
    allowed = [place for place, share in enumerate(useful) if share >= max(useful) - TOLERANCE]
    best, worst = min(allowed, key=biases.__getitem__), int(np.argmax(biases))
    if best == worst:
        return
    saved = sizes[worst] - sizes[best]
    interval = mean_interval(saved, candidates[best].clusters, seed=0)
    estimate = interval_estimate(saved.mean(), saved.size, interval)
    fairest, versus = candidates[best].metric, candidates[worst].metric
    yield Finding.of(fairest, attribute, "fairest_direction", estimate, versus=versus)


def _share_above_worthless(pairs: PairScores) -> float:
    """The share of pairs of which both texts outscore a worthless one; 1 where there are no such texts."""
    known = np.isfinite(pairs.worthless)
    if not known.any():
        return 1.0
    return float((np.minimum(pairs.first, pairs.second)[known] > pairs.worthless[known]).mean())


def across_metrics(scored: Sequence[Scored], findings: Iterable[Finding]) -> list[Finding]:
    """Bias by paradigm, and the share of its variance that paradigm, backbone and size explain (fig. 4)."""
    about = {answer.metric: answer.about for answer in scored}
    answers: list[Finding] = []
    for name, rows in _biases(findings).items():
        biases = np.array([row.value for row in rows])
        paradigms = [str(about[row.metric].get("paradigm", "other")) for row in rows]
        if len(set(paradigms)) > 1:
            answers += _by_paradigm(name, biases, paradigms)
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


def _by_paradigm(attribute: str, biases: Floats, paradigms: Sequence[str]) -> Iterator[Finding]:
    for name in sorted(set(paradigms)):
        values = biases[[paradigm == name for paradigm in paradigms]]
        estimate = mean_estimate(values, seed=0)
        yield Finding.of(ALL, f"{attribute}/paradigm/{name}", "bias", estimate, judged=False)


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
