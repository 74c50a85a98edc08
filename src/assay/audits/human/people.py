"""People among themselves: agreement of annotators, of criteria, and strengths from preferences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from assay.audits.effects import interval_estimate
from assay.audits.human.items import Items
from assay.audits.human.levels import LevelAgreement, labelled
from assay.core import Finding, Floats
from assay.datasets.ratings import RIVALS, Rated
from assay.errors import DataError
from assay.statistics.correlation import Coefficient
from assay.statistics.intervals import bootstrap_weighted
from assay.statistics.ratings import bradley_terry, cohen_kappa, krippendorff_alpha, split_half_kendall
from assay.statistics.resampled import pooled_draws

if TYPE_CHECKING:
    from assay.audits.human.audit import Human

_PEOPLE = "people"
_Agreement = Callable[[Floats, int], float | None]  # raters x texts and a seed, to agreement if defined
_APART = 0.5  # two criteria whose tau-b lies wholly below it do not measure one thing
_RESAMPLES = 200  # at most: each computes agreement anew
_CRITERIA: tuple[Coefficient, ...] = ("kendall_b", "pearson")  # checklist figures 1 and 6


def annotator_findings(audit: Human, items: Items, part: str, criterion: str) -> list[Finding]:
    """Krippendorff's alpha (ordinal), mean Cohen's kappa (quadratic) and split-half Kendall of the raters."""
    seed = audit.seed
    ratings = items.annotators(criterion)
    several = np.isfinite(ratings).sum(axis=0) > 1
    if not several.any():
        return []
    table = ratings[:, several]
    documents = [items.documents[place] for place in np.flatnonzero(several)]
    findings = []
    for name, agreement in _AGREEMENTS.items():

        def resampled(weights: Floats, agreement: _Agreement = agreement) -> Floats:
            tables = (np.repeat(table, counts.astype(np.intp), axis=1) for counts in weights)
            return np.array([agreement(drawn, seed) for drawn in tables], dtype=np.float64)

        value = agreement(table, seed)
        if value is not None:
            ci = bootstrap_weighted(
                resampled, table.shape[1], clusters=documents, seed=seed,
                resamples=min(_RESAMPLES, audit.resamples),
            )  # fmt: skip
            estimate = interval_estimate(value, table.shape[1], ci)
            findings.append(Finding.of(_PEOPLE, f"annotators/{labelled(part, criterion)}", name, estimate))
    return findings


def _mean_kappa(table: Floats, seed: int) -> float | None:
    """The mean over pairs of raters who share texts."""
    kappas = [cohen_kappa(one, other) for one, other in combinations(table, 2)]
    defined = [kappa for kappa in kappas if kappa is not None]
    return float(np.mean(defined)) if defined else None


_AGREEMENTS: dict[str, _Agreement] = {
    "krippendorff_alpha": lambda table, seed: krippendorff_alpha(table),
    "cohen_kappa": _mean_kappa,
    "split_half_kendall": lambda table, seed: split_half_kendall(table, splits=5, seed=seed),
}


def criteria_findings(audit: Human, items: Items, part: str) -> list[Finding]:
    """Criteria against criteria, over texts, within each group of annotators (checklist figures 1, 5)."""
    findings = []
    for first, second in combinations(audit.criteria, 2):
        if _group(first) != _group(second):
            continue
        ratings = items.human(first), items.human(second)
        for kind in _CRITERIA:
            draws = pooled_draws(*ratings, kind, clusters=items.documents, **audit.drawing)
            value, slice_ = float(draws.values[0]), f"criteria/{labelled(part, first)}"
            if np.isfinite(value):
                ci = LevelAgreement(slice_, kind, (_PEOPLE,), draws, audit.rule).interval(0)
                estimate = interval_estimate(value, int(draws.sizes[0]), ci)
                findings.append(Finding.of(_PEOPLE, slice_, kind, estimate, versus=second))
    return findings


def _group(criterion: str) -> str:
    """The annotators a criterion names: "crowd:fluency" is fluency as the group "crowd" rated it."""
    return criterion.partition(":")[0] if ":" in criterion else ""


def criteria_notes(findings: Sequence[Finding]) -> list[str]:
    """The note that some criteria do not measure one thing."""
    apart = [
        f"{finding.slice.removeprefix('criteria/')} and {finding.versus} (tau-b {finding.value:.2f})"
        for finding in findings
        if finding.statistic == "kendall_b" and finding.ci is not None and finding.ci[1] < _APART
    ]
    note = f"one score cannot stand for these criteria, on which people differ: {', '.join(apart)}"
    return [note] if apart else []


WINS = "wins:"
_PRIOR = 0.1  # keeps the strength of a system that never loses finite


def with_strengths(rated: Sequence[Rated]) -> list[Rated]:
    """Compared texts get their system's log strength as the rating; their own outcomes are `wins:CRITERION`.

    A strength belongs to a system, so it is meaningful between systems only. Other texts stay as they are.
    """
    compared = [item for item in rated if RIVALS in item.meta]
    if not compared:
        return list(rated)
    criteria = dict.fromkeys(name for item in compared for name in item.human)
    strengths = {name: _strengths(name, compared) for name in criteria}
    return [_rerated(item, strengths) if RIVALS in item.meta else item for item in rated]


def _strengths(criterion: str, compared: Sequence[Rated]) -> dict[str, float]:
    games: list[tuple[str, str, float]] = []
    for item in compared:
        outcomes = zip(item.meta[RIVALS].get(criterion, ()), item.human.get(criterion, ()), strict=True)
        own = item.system or ""
        games += [(own, rival, share) for rival, share in outcomes if rival != own]
    names = list(dict.fromkeys(name for winner, rival, _ in games for name in (winner, rival)))
    if len(names) < 2:
        raise DataError(f"{criterion}: preferences between at least two systems are needed")
    wins = np.zeros((len(names), len(names)))
    for winner, rival, share in games:  # listed with both of its texts; each counts its own side
        wins[names.index(winner), names.index(rival)] += share
    return dict(zip(names, bradley_terry(wins, prior=_PRIOR).tolist(), strict=True))


def _rerated(item: Rated, strengths: Mapping[str, Mapping[str, float]]) -> Rated:
    human: dict[str, tuple[float, ...]] = {}
    for criterion, wins in item.human.items():
        strength = strengths[criterion].get(item.system or "")
        if strength is not None:
            human[criterion] = (strength,)
        human[WINS + criterion] = wins
    meta = {key: value for key, value in item.meta.items() if key != RIVALS}
    return replace(item, human=human, meta=meta)
