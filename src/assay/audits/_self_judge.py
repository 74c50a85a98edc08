"""Evaluators with and without a system of their own: contrasts a document, their difference, reversals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.audits._scores import FEWEST
from assay.core import Finding, Floats, Scored
from assay.statistics.bootstrap import bootstrap_mean, interval_of, resampled_means
from assay.statistics.permutation import sign_flip_test
from assay.statistics.power import mde_mean
from assay.statistics.verdict import verdict
from assay.vocabulary import Rule

AUDIT = "self-preference"
EVIDENCE = 5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Evaluator:
    """One metric's scores (documents x systems) in spreads, and the system it is made of."""

    metric: str
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    scores: Floats
    own: str | None
    spread: float

    def contrast(self, system: str) -> Floats:
        """A system against the mean of the others, a value a document."""
        place = self.systems.index(system)
        others = np.delete(self.scores, place, axis=1)
        return np.asarray(self.scores[:, place] - others.mean(axis=1))


def evaluator(answer: Scored, systems: Sequence[str], marks: Mapping[str, str]) -> Evaluator | None:
    """A metric as an evaluator, on the documents where it scores every system; None on fewer than two."""
    table = np.stack([answer.values.get(s, np.full(len(answer.cases), np.nan)) for s in systems], axis=1)
    whole = np.isfinite(table).all(axis=1)
    if whole.sum() < 2:
        return None
    table = table[whole]
    spread = float(table.std(ddof=1))
    ids = tuple(case.id for case, kept in zip(answer.cases, whole, strict=True) if kept)
    scaled = table / spread if spread > 0 else table
    return Evaluator(answer.metric, tuple(systems), ids, scaled, _own(answer, systems, marks), spread)


def _own(answer: Scored, systems: Sequence[str], marks: Mapping[str, str]) -> str | None:
    """The system marked, or the one that is named like the backbone."""
    if answer.metric in marks:
        return marks[answer.metric]
    backbone = answer.about.get("backbone")
    named = Path(str(backbone)).name if backbone else None
    return named if named in systems else None


def matrix(one: Evaluator, seed: int) -> list[Finding]:
    """The evaluator's row of the matrix: a mean a system, in the metric's own unit."""
    found = []
    unit = one.spread if one.spread > 0 else 1.0
    for place, system in enumerate(one.systems):
        values = one.scores[:, place] * unit
        interval = bootstrap_mean(values, seed=seed)
        ci = None if interval is None else interval.pair
        where = (one.metric, AUDIT, f"system/{system}", "score")
        found.append(Finding(*where, float(values.mean()), values.size, ci=ci))
    return found


def judged(one: Evaluator, every: Sequence[Evaluator], rule: Rule, margin: float, seed: int) -> list[Finding]:
    """The diagonal advantage and the reversals of an evaluator with a system of its own."""
    neutral = [other for other in every if other.own is None]
    shared = [doc for doc in one.documents if all(doc in other.documents for other in neutral)]
    if one.own is None or len(shared) < 2:
        return []
    mine = _on(one, shared)
    others = [_on(other, shared) for other in neutral]
    names = ", ".join(other.metric for other in neutral) or None
    return [
        _advantage(mine, others, names, rule, margin, seed),
        *([_reversals(mine, others, names, rule, seed)] if others else []),
    ]


def _on(one: Evaluator, documents: Sequence[str]) -> Evaluator:
    rows = [one.documents.index(doc) for doc in documents]
    return Evaluator(one.metric, one.systems, tuple(documents), one.scores[rows], one.own, one.spread)


def _advantage(
    one: Evaluator, neutral: Sequence[Evaluator], names: str | None, rule: Rule, margin: float, seed: int
) -> Finding:
    """The preference for the own system beyond that of neutral evaluators, tested by swapping them.

    An evaluator with sharper eyes than the neutral ones also prefers a better system more. So it fails only
    where neutral evaluators do not surely prefer its system themselves; neutral ones that see nothing cannot
    vouch for it, so take several.
    """
    own = str(one.own)
    base = np.mean([other.contrast(own) for other in neutral], axis=0) if neutral else 0.0
    advantage = one.contrast(own) - base
    interval = bootstrap_mean(advantage, seed=seed)
    passed = verdict(interval, margin) if neutral and len(advantage) >= FEWEST else None
    if passed is False and _surely_above(np.asarray(base), seed):
        passed = None
    if rule == "paper":
        passed = None  # the paper judges by ranks alone
    best = np.argsort(-advantage, kind="stable")[:EVIDENCE]
    return Finding(
        one.metric, AUDIT, own, "diagonal_advantage", float(advantage.mean()), advantage.size, names,
        None if interval is None else interval.pair, sign_flip_test(advantage, seed=seed).p_value, None,
        mde_mean(advantage), passed, tuple(one.documents[place] for place in best),
    )  # fmt: skip


def _surely_above(values: Floats, seed: int) -> bool:
    interval = bootstrap_mean(values, seed=seed) if values.ndim else None
    return interval is not None and interval.low > 0


def _reversals(
    one: Evaluator, neutral: Sequence[Evaluator], names: str | None, rule: Rule, seed: int
) -> Finding:
    """Systems that the neutral evaluators put above the evaluator's own, and it puts below."""
    mean = np.mean([other.scores for other in neutral], axis=0)
    count = len(one.systems)
    draws = resampled_means(np.concatenate([one.scores, mean], axis=1), resamples=RESAMPLES, seed=seed)
    place = one.systems.index(str(one.own))
    value = int(_reversed(one.scores.mean(axis=0)[None], mean.mean(axis=0)[None], place)[0])
    interval = interval_of(_reversed(draws[:, :count], draws[:, count:], place), n_clusters=len(mean))
    ci = None if interval is None else interval.pair
    passed = value == 0 if rule == "paper" else None
    where = (one.metric, AUDIT, str(one.own), "rank_reversals")
    return Finding(*where, float(value), len(mean), names, ci, passed=passed)


def _reversed(mine: Floats, neutral: Floats, place: int) -> Floats:
    above = mine[:, [place]] > mine
    below = neutral[:, [place]] < neutral
    return np.asarray((above & below).sum(axis=1), dtype=np.float64)
