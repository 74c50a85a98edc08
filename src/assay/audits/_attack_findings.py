"""Attacked texts of one metric to findings: gain over random noise, hits that others confirm, examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from assay.audits._attack_judge import (
    VOTES,
    Flags,
    Gain,
    Losses,
    confirmed,
    entails,
    gain,
    held_out,
    losses,
)
from assay.audits._scores import FEWEST
from assay.core import Case, Finding, Scored
from assay.perturbations.ratio import alignment
from assay.statistics.bootstrap import bootstrap_mean
from assay.statistics.proportion import proportion_interval
from assay.statistics.verdict import verdict
from assay.vocabulary import Rule

EVIDENCE = 5
_EXAMPLES = 3


class Options(Protocol):
    """What of the audit decides a verdict."""

    @property
    def rule(self) -> Rule: ...
    @property
    def seed(self) -> int: ...
    @property
    def fall(self) -> float: ...
    @property
    def margin(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Group:
    """Final cases of one metric: what its searches found in a dataset, or one rule."""

    slice: str
    answer: Scored
    cases: Sequence[Case]

    @property
    def is_search(self) -> bool:
        """Whether these texts were searched for, rather than made by a rule."""
        return "queries" in self.cases[0].meta


@dataclass(frozen=True, slots=True)
class Judged:
    """Findings and the texts that show them best."""

    findings: list[Finding] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)


def group_findings(options: Options, group: Group, scored: Sequence[Scored]) -> Judged:
    """The findings of a group; none where random noise costs the metric nothing."""
    metric = group.answer.metric
    every = losses(group.answer, [case.id for case in group.cases])
    found = every.only(every.whole)
    raw = gain(found, options.margin, options.seed)
    if raw is None:
        return Judged([], [f"{metric}: {group.slice}: random noise costs no score: nothing to avoid"])
    judges = [] if options.rule == "paper" else held_out(group.answer, scored)
    seen = confirmed(judges, found.ids, options.fall)
    best = _best(found, seen if judges else np.ones(len(found.ids), dtype=np.bool_), options.margin)
    headline = _headline(options, group, found, judges, seen, best)
    if headline.passed and verdict(raw.ci, options.margin) is not True:
        headline = replace(headline, passed=None)  # judges that see no damage do not clear the metric
    if not group.is_search:
        return Judged([headline])
    beside = [_loss_share(group, found, raw), *_hits(options, group, found, seen, judges), *_effort(group)]
    return Judged([headline, *beside], _told(group, found, best))


def _headline(
    options: Options, group: Group, found: Losses, judges: Sequence[Scored], seen: Flags, best: list[int]
) -> Finding:
    """The gain that carries the verdict: a text whose damage nobody else sees counts as no gain."""
    careful = options.rule == "careful" and bool(judges)
    attack = np.where(seen, found.attack, np.maximum(found.attack, found.random)) if careful else found.attack
    value = gain(Losses(found.ids, attack, found.random), options.margin, options.seed)
    n = len(found.ids)
    judged = n >= FEWEST and (options.rule == "paper" or _able(judges))
    passed = verdict(value.ci, options.margin) if value and judged else None
    evidence = tuple(found.ids[place] for place in best)
    statistic = "attack_gain" if group.is_search else "rule_gain"
    return _finding(group, statistic, value, n, passed, evidence if passed is not True else ())


def _able(judges: Sequence[Scored]) -> bool:
    """Whether the judges could confirm anything at all."""
    return len({judge.about.get("paradigm") for judge in judges}) >= VOTES or any(map(entails, judges))


def _finding(
    group: Group, statistic: str, value: Gain | None, n: int, passed: bool | None, evidence: tuple[str, ...]
) -> Finding:
    where = (group.answer.metric, "attack", group.slice, statistic)
    if value is None:
        return Finding(*where, 0.0, n, "random noise")
    return Finding(
        *where, value.value, n, "random noise", value.ci, value.p_value, None, value.mde, passed, evidence
    )


def _loss_share(group: Group, found: Losses, raw: Gain) -> Finding:
    """What the texts lose, as a share of random noise's cost, whether or not anyone confirms them."""
    ci = None if raw.ci is None else (1 - raw.ci[1], 1 - raw.ci[0])
    where = (group.answer.metric, "attack", group.slice, "loss_share")
    return Finding(*where, 1 - raw.value, len(found.ids), "random noise", ci, mde=raw.mde)


def _hits(
    options: Options, group: Group, found: Losses, seen: Flags, judges: Sequence[Scored]
) -> list[Finding]:
    """The share of texts that fool the metric and that the judges see through."""
    if not judges:
        return []
    hits = int((_fooled(found, options.margin) & seen).sum())
    interval = proportion_interval(hits, len(found.ids))
    ci = None if interval is None else interval.pair
    names = ", ".join(judge.metric for judge in judges)
    where = (group.answer.metric, "attack", group.slice, "hit_share")
    return [Finding(*where, hits / len(found.ids), len(found.ids), names, ci)]


def _effort(group: Group) -> list[Finding]:
    """The noise-ratio reached and the texts tried, means over items."""
    out = []
    for statistic, key in (("noise_ratio", "noise_ratio"), ("queries", "queries")):
        values = np.array([float(case.meta[key]) for case in group.cases])
        ci = bootstrap_mean(values, seed=0)
        where = (group.answer.metric, "attack", group.slice, statistic)
        out.append(Finding(*where, float(values.mean()), values.size, ci=None if ci is None else ci.pair))
    return out


def _fooled(found: Losses, margin: float) -> Flags:
    return np.asarray(found.attack < (1 - margin) * found.random)


def _best(found: Losses, seen: Flags, margin: float) -> list[int]:
    """The most convincing texts: fooled and confirmed, least lost first."""
    hits = np.flatnonzero(_fooled(found, margin) & seen)
    share = found.attack[hits] / found.random[hits]
    return [int(place) for place in hits[np.argsort(share, kind="stable")][:EVIDENCE]]


def _told(group: Group, found: Losses, best: Sequence[int]) -> list[str]:
    """Examples as a reader takes them in: what changed, and what it cost."""
    changed = {case.id: case.meta["changed"] for case in group.cases}
    return [
        f"{group.answer.metric}: {changed[found.ids[place]]} costs {found.attack[place]:.3g}, "
        f"random noise {found.random[place]:.3g} ({found.ids[place]})"
        for place in best[:_EXAMPLES]
    ]


def shown(gold: str, text: str) -> str:
    """What changed between two texts, in words.

    >>> shown("he went to the office", "they went to office")
    'he → they; the → ∅'
    """
    edits = alignment(gold, text)
    return "; ".join(f"{edit.before or '∅'} → {edit.after or '∅'}" for edit in edits)
