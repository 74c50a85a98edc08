"""Biases of many metrics to what explains them: direction, paradigm, backbone, size (unfair sec. 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10

import numpy as np

from assay.audits.slices import mean_interval
from assay.audits.stereotype.bias import AUDIT, Judged
from assay.core import Finding, Floats, Scored
from assay.statistics.intervals import bootstrap_mean

ALL = "all metrics"
FEWEST_METRICS = 4  # below this a share of variance says nothing
KEEPS = 0.01  # a direction may tell apart this much less often than the best and still be recommended


def fairest_directions(scored: Sequence[Scored], found: Iterable[Finding]) -> list[Finding]:
    """Of the outputs of one metric (p, r, f), the least biased among those that still tell texts apart.

    The value is how much less bias it has than the most biased one. Agreement with people is another audit's
    matter; here a direction keeps its use if it ranks fitting texts over random ones as often as the best.
    """
    families: dict[str, list[Scored]] = {}
    for one in scored:
        if one.about.get("output"):
            families.setdefault(str(one.about.get("signature")), []).append(one)
    slices = dict.fromkeys(f.slice for f in found if f.statistic == "bias" and "/" not in f.slice)
    listed = [members for members in families.values() if len(members) > 1]
    return [finding for members in listed for name in slices for finding in _fairest(members, name)]


def _fairest(members: Sequence[Scored], name: str) -> Iterator[Finding]:
    judged = [one for one in (Judged.of(member, name) for member in members) if one.ids]
    if len(judged) < 2 or len({one.ids for one in judged}) > 1:
        return
    apart = [_told_apart(one) for one in judged]
    sizes = [np.abs(one.scaled(one.span)) for one in judged]
    kept = [place for place, share in enumerate(apart) if share >= max(apart) - KEEPS]
    best = min(kept, key=lambda place: float(sizes[place].mean()))
    worst = max(range(len(judged)), key=lambda place: float(sizes[place].mean()))
    if best == worst:
        return
    gained = sizes[worst] - sizes[best]
    ci = mean_interval(gained, judged[best].clusters, seed=0)
    yield Finding(
        judged[best].metric, AUDIT, name, "fairest_direction", float(gained.mean()), gained.size,
        versus=judged[worst].metric, ci=ci.pair if ci else None,
    )  # fmt: skip


def _told_apart(judged: Judged) -> float:
    """The share of pairs of which both texts outscore a random one; 1 where there is none."""
    told = np.isfinite(judged.random)
    if not told.any():
        return 1.0
    return float((np.minimum(judged.first, judged.second)[told] > judged.random[told]).mean())


def across_metrics(scored: Sequence[Scored], found: Sequence[Finding]) -> list[Finding]:
    """Bias by paradigm, and the share of its variance that paradigm, backbone and size explain (fig. 4)."""
    about = {one.metric: one.about for one in scored}
    answers: list[Finding] = []
    for name in dict.fromkeys(f.slice for f in found if f.statistic == "bias" and "/" not in f.slice):
        rows = [f for f in found if f.statistic == "bias" and f.slice == name and f.metric in about]
        if len(rows) < 2:
            continue
        biases = np.array([f.value for f in rows])
        paradigms = [str(about[f.metric].get("paradigm", "other")) for f in rows]
        if len(set(paradigms)) > 1:
            answers += _by_paradigm(name, biases, paradigms)
        if len(rows) < FEWEST_METRICS:
            continue
        answers += _explained(name, "paradigm", _eta_squared(biases, paradigms), len(rows))
        backbones = [about[f.metric].get("backbone") for f in rows]
        there = [place for place, backbone in enumerate(backbones) if backbone]
        share = _eta_squared(biases[there], [str(backbones[place]) for place in there])
        answers += _explained(name, "backbone", share, len(there))
        sizes = [about[f.metric].get("parameters") for f in rows]
        known = np.array([log10(size) if size else np.nan for size in sizes])
        answers += _explained(name, "size", _r_squared(biases, known), int(np.isfinite(known).sum()))
    return answers


def _by_paradigm(name: str, biases: Floats, paradigms: Sequence[str]) -> Iterator[Finding]:
    for paradigm in sorted(set(paradigms)):
        mine = biases[[one == paradigm for one in paradigms]]
        ci = bootstrap_mean(mine, seed=0)
        yield Finding(
            ALL, AUDIT, f"{name}/paradigm/{paradigm}", "bias", float(mine.mean()), mine.size,
            ci=ci.pair if ci else None,
        )  # fmt: skip


def _explained(name: str, by: str, share: float | None, n: int) -> Iterator[Finding]:
    if share is not None:
        yield Finding(ALL, AUDIT, name, "variance_explained", share, n, versus=by)


def _eta_squared(values: Floats, labels: Sequence[str]) -> float | None:
    """Variance between the groups over all variance; None where each or no value has its own group."""
    groups = sorted(set(labels))
    if len(groups) in (0, 1, len(labels)) or np.ptp(values) == 0.0:
        return None
    total = float(((values - values.mean()) ** 2).sum())
    rows = [values[[one == group for one in labels]] for group in groups]
    return float(sum(mine.size * (mine.mean() - values.mean()) ** 2 for mine in rows)) / total


def _r_squared(values: Floats, sizes: Floats) -> float | None:
    """Squared correlation of bias with the logarithm of the number of parameters."""
    known = np.isfinite(sizes)
    if known.sum() < FEWEST_METRICS - 1 or np.ptp(sizes[known]) == 0 or np.ptp(values[known]) == 0:
        return None
    return float(np.corrcoef(values[known], sizes[known])[0, 1] ** 2)
