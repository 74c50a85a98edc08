"""Do graver errors cost more?

What an error costs is how many places its text falls below the right one in the ranking of all scores of a
slice, so that no increasing transformation of a metric changes it. Of two items whose errors differ in
severity, the graver one should cost more.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.audits.effects import AlignedScores, same_within, share_estimate
from assay.core import Estimate, Finding, Floats, Statistic
from assay.datasets.records import SEVERITIES
from assay.statistics.intervals import label_codes

_COIN = 50.0  # below it, lighter errors cost more than graver ones
# Pairs share their items: with sure costs, n graver and n lighter errors tell as much as 1.5 n of the pairs.
_WORTH = 3.0


def _sentence(finding: Finding) -> str:
    where = finding.slice.partition("/")[0]
    texts = "" if where == "all" else f" ({where})"
    return (
        f"{finding.metric} minds graver errors less than lighter ones{texts}: of two, the graver one costs "
        f"more in only {finding.value:.0f} of 100 cases."
    )


SEVERITY_ORDER = Statistic(
    "severity_order",
    "Of 100 pairs of errors that differ in severity, in how many the graver one costs more (ties count "
    "half): 50 is a coin.",
    "of 100", bad="low", bar=_COIN, sentence=_sentence,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Costs:
    """What errors of stated severity cost one metric on one slice; what belongs together has one cluster."""

    falls: Floats
    severities: Sequence[str]  # empty where it is not stated
    clusters: Sequence[Hashable]

    @property
    def pairs_won(self) -> tuple[Floats, Floats]:
        """For each error, in how many pairs the order is right, and how many pairs it is in."""
        won, asked = np.zeros(len(self.falls)), np.zeros(len(self.falls))
        levels = [self._of(severity) for severity in SEVERITIES]
        for lighter, graver in combinations(levels, 2):
            below = _beaten(self.falls[graver], self.falls[lighter])
            above = len(graver) - _beaten(self.falls[lighter], self.falls[graver])
            won[graver] += below
            won[lighter] += above
            asked[graver] += len(lighter)
            asked[lighter] += len(graver)
        return won, asked

    def _of(self, severity: str) -> list[int]:
        """The places of the errors of one severity whose cost is known."""
        return [
            place
            for place, (stated, fall) in enumerate(zip(self.severities, self.falls, strict=True))
            if stated == severity and np.isfinite(fall)
        ]


def costs_of(slices: Sequence[AlignedScores], better: str, worse: str) -> Costs:
    """How many places each worse text of one metric stands below its better one, among all texts of these
    slices."""
    first, second = (np.concatenate([scores.columns[role] for scores in slices]) for role in (better, worse))
    ranking = _places(np.concatenate([first, second]), slices[0].scored.is_of_model)
    severities = [str(case.meta["severity"]) for scores in slices for case in scores.cases]
    clusters = [(scores.slice.partition("/")[0], label) for scores in slices for label in scores.clusters]
    return Costs(ranking[: len(first)] - ranking[len(first) :], severities, clusters)


def severity_order(tables: Sequence[Costs]) -> Estimate | None:
    """In how many of 100 pairs of errors the graver one costs more; None where no two differ in severity.

    Pairs are made within tables. Errors of one cluster count as one observation.
    """
    pairs = [costs.pairs_won for costs in tables]
    most = sum(_WORTH * asked.sum() / 2 / np.count_nonzero(asked) for _, asked in pairs if asked.any())
    if not most:
        return None
    won, asked = (np.concatenate(column) for column in zip(*pairs, strict=True))
    labels = [label for costs in tables for label in costs.clusters]
    n_pairs = asked.sum() / 2
    share = float(won.sum() / 2 / n_pairs)
    compared = asked > 0
    codes, n_clusters = label_codes(
        [labels[place] for place in np.flatnonzero(compared)], int(compared.sum())
    )
    influences = np.bincount(codes, weights=((won - share * asked) / n_pairs)[compared])
    variance = float((influences**2).sum()) * n_clusters / max(1, n_clusters - 1)
    n_cells = min(float(most), n_clusters)
    return share_estimate(share, variance, n=int(compared.sum()), n_cells=n_cells, n_clusters=n_clusters)


def _places(values: Floats, is_of_model: bool = False) -> Floats:
    """The rank of each value, lowest first; equal values share the mean of their ranks, nan stays nan.

    >>> _places(np.array([0.5, 0.1, 0.5 + 1e-15, 0.9])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    steps = ~(np.diff(ordered) <= same_within(ordered[1:], ordered[:-1], is_of_model))
    groups = np.concatenate([[0], np.cumsum(steps)])
    sizes = np.bincount(groups)
    ranks = np.empty(len(values))
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[groups]
    return np.where(np.isnan(values), np.nan, ranks)


def _beaten(mine: Floats, theirs: Floats) -> Floats:
    """For each of mine, how many of theirs lie below; a tie counts half."""
    ordered = np.sort(theirs)
    return np.asarray((np.searchsorted(ordered, mine, "left") + np.searchsorted(ordered, mine, "right")) / 2)
