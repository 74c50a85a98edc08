"""People among themselves: do annotators agree, and do criteria move together?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.audits._human_findings import AUDIT, interval
from assay.audits._human_items import Items, pairs_within_groups
from assay.audits._human_levels import Choices
from assay.core import Finding, Floats
from assay.statistics.agreement import cohen_kappa, krippendorff_alpha, split_half_kendall
from assay.statistics.agreement_draws import Clusters, pooled_draws
from assay.statistics.bootstrap import Interval, bootstrap_callable
from assay.statistics.correlation import Kind

PEOPLE = "people"
Statistic = Callable[[Floats, int], float | None]
APART = 0.5  # criteria whose tau-b lies wholly below it are not one thing
_RESAMPLES = 200  # each evaluates agreement anew
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
            ci = _resampled(statistic, table, documents, choices.seed)
            slice_ = f"annotators/{criterion}"
            found.append(
                Finding(PEOPLE, AUDIT, slice_, name, value, table.shape[1], ci=ci.pair if ci else None)
            )
    return found


def _resampled(statistic: Statistic, table: Floats, documents: list[str], seed: int) -> Interval | None:
    def defined(rows: NDArray[np.intp]) -> float:
        value = statistic(table[:, rows], seed)
        return np.nan if value is None else value

    return bootstrap_callable(
        defined, table.shape[1], clusters=documents, seed=seed, resamples=_RESAMPLES, method="percentile"
    )


def _alpha(table: Floats, seed: int) -> float | None:
    return krippendorff_alpha(table, "ordinal")


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
    clusters = Clusters.of(len(items), items.documents)
    for one, other in pairs_within_groups(criteria):
        first, second = items.human(one), items.human(other)
        for kind in _CRITERIA:
            draws = pooled_draws(
                first, second, kind, clusters=clusters, resamples=choices.resamples, seed=choices.seed
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
