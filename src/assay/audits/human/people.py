"""People among themselves: do annotators agree, and do criteria move together?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.audits.human.items import Items, pairs_within_groups
from assay.audits.human.levels import AUDIT, Choices, interval
from assay.core import Finding, Floats
from assay.datasets.preferences import RIVALS
from assay.datasets.ratings import Rated
from assay.errors import DataError
from assay.statistics.annotators import cohen_kappa, krippendorff_alpha, split_half_kendall
from assay.statistics.bradley_terry import bradley_terry
from assay.statistics.correlation import Kind
from assay.statistics.intervals import Interval, bootstrap_callable
from assay.statistics.resampled import pooled_draws

PEOPLE = "people"
Statistic = Callable[[Floats, int], float | None]
APART = 0.5  # criteria whose tau-b lies wholly below it are not one thing
_RESAMPLES = 200  # at most: each evaluates agreement anew
_STEPS = 50
_CRITERIA: tuple[Kind, ...] = ("kendall_b", "pearson")  # checklist figures 1 and 6


def annotator_findings(items: Items, criterion: str, choices: Choices) -> list[Finding]:
    """Krippendorff's alpha (ordinal), mean Cohen's kappa (quadratic) and split-half Kendall of the raters.

    Intervals resample documents. Nothing where texts have one rating.
    """
    ratings = items.annotators(criterion)
    several = np.isfinite(ratings).sum(axis=0) > 1
    if not several.any():
        return []
    table = ratings[:, several]
    documents = [document for document, kept in zip(items.documents, several, strict=True) if kept]
    found = []
    for name, statistic in _STATISTICS.items():
        value = statistic(table, choices.seed)
        if value is not None:
            ci = _resampled(statistic, table, documents, choices)
            slice_ = f"annotators/{criterion}"
            found.append(
                Finding(PEOPLE, AUDIT, slice_, name, value, table.shape[1], ci=ci.pair if ci else None)
            )
    return found


def _resampled(
    statistic: Statistic, table: Floats, documents: list[str], choices: Choices
) -> Interval | None:
    def defined(rows: NDArray[np.intp]) -> float:
        value = statistic(table[:, rows], choices.seed)
        return np.nan if value is None else value

    return bootstrap_callable(
        defined,
        table.shape[1],
        clusters=documents,
        seed=choices.seed,
        resamples=min(_RESAMPLES, choices.resamples),
        method="percentile",
    )


def _alpha(table: Floats, seed: int) -> float | None:
    """Ordinal alpha; of a scale with more steps than people tell apart, interval alpha."""
    if np.unique(table[np.isfinite(table)]).size <= _STEPS:
        return krippendorff_alpha(table, "ordinal")
    return interval_alpha(table)


def interval_alpha(table: Floats) -> float | None:
    """Krippendorff's alpha of raters x items for squared differences, from sums of squares: O(ratings)."""
    present = np.isfinite(table)
    counts = present.sum(axis=0).astype(np.float64)
    kept = counts > 1
    values, counts, present = np.where(present, table, 0.0)[:, kept], counts[kept], present[:, kept]
    means = values.sum(axis=0) / counts
    within = (np.where(present, values - means, 0.0) ** 2).sum(axis=0)
    ratings = values[present]
    expected = float(((ratings - ratings.mean()) ** 2).sum()) / (ratings.size - 1) if ratings.size else 0.0
    if expected == 0.0:
        return None
    return 1.0 - float((counts * within / (counts - 1)).sum()) / ratings.size / expected


def _split_half(table: Floats, seed: int) -> float | None:
    return split_half_kendall(table, splits=5, seed=seed)


def _mean_kappa(table: Floats, seed: int) -> float | None:
    """The mean over pairs of raters who share texts."""
    pairs = [(i, j) for i in range(len(table)) for j in range(i + 1, len(table))]
    found = [cohen_kappa(table[i], table[j], weights="quadratic") for i, j in pairs]
    defined = [value for value in found if value is not None]
    return float(np.mean(defined)) if defined else None


_STATISTICS: dict[str, Statistic] = {
    "krippendorff_alpha": _alpha,
    "cohen_kappa": _mean_kappa,
    "split_half_kendall": _split_half,
}


def criteria_findings(items: Items, criteria: list[str], choices: Choices) -> list[Finding]:
    """Criteria against criteria, over texts, within each group of annotators (checklist figures 1, 5)."""
    found = []
    for one, other in pairs_within_groups(criteria):
        first, second = items.human(one), items.human(other)
        for kind in _CRITERIA:
            draws = pooled_draws(
                first, second, kind, clusters=items.documents, resamples=choices.resamples, seed=choices.seed
            )
            value = float(draws.values[0])
            if np.isfinite(value):
                ci = interval(draws.draws[0], draws.clusters, choices)
                found.append(
                    Finding(
                        PEOPLE, AUDIT, f"criteria/{one}", kind, value, int(draws.sizes[0]),
                        versus=other, ci=ci.pair if ci else None,
                    )
                )  # fmt: skip
    return found


def apart_message(found: list[Finding]) -> str | None:
    """What to say where criteria are not one thing."""
    apart = [
        f"{f.slice.removeprefix('criteria/')} and {f.versus} (tau-b {f.value:.2f})"
        for f in found
        if f.statistic == "kendall_b" and f.ci is not None and f.ci[1] < APART
    ]
    if not apart:
        return None
    return f"one score cannot stand for these criteria, on which people differ: {', '.join(apart)}"


WINS = "wins:"
_PRIOR = 0.1  # keeps the strength of a system that never loses finite


def with_strengths(rated: Sequence[Rated]) -> list[Rated]:
    """Compared texts get their system's log strength as the rating; their own outcomes are `wins:CRITERION`.

    A strength is a system's, so only the level of systems means anything by it. Other texts stay as they are.
    """
    compared = [item for item in rated if RIVALS in item.meta]
    if not compared:
        return list(rated)
    criteria = dict.fromkeys(name for item in compared for name in item.human)
    strengths = {name: _strengths(name, compared) for name in criteria}
    return [_rerated(item, strengths) if RIVALS in item.meta else item for item in rated]


def _strengths(criterion: str, compared: Sequence[Rated]) -> dict[str, float]:
    games = [
        (item.system or "", rival, share)
        for item in compared
        for rival, share in zip(
            item.meta[RIVALS].get(criterion, ()), item.human.get(criterion, ()), strict=True
        )
        if rival != item.system
    ]
    names = list(dict.fromkeys(name for winner, rival, _ in games for name in (winner, rival)))
    if len(names) < 2:
        raise DataError(f"{criterion}: preferences between at least two systems are needed")
    wins = np.zeros((len(names), len(names)))
    for winner, rival, share in games:  # each comparison stands with both its texts: here with its own side
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
