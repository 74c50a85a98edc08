"""How the metrics of a run agree with people: on ratings of the user's own, else on public ones.

Metrics are compared on the ratings that all of them have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core import Estimate
from assay.grouping import grouped
from assay.reading.lines import EVERYTHING, People
from assay.reading.results import StoredRun
from assay.reading.shipped import AGREEMENT, identity, public_ratings
from assay.reading.verdicts import JudgedRow, metric_of, rows_of, rows_with
from assay.vocabulary import TASKS


@dataclass(frozen=True, slots=True)
class Ratings:
    """Findings about agreement with people by metric: on the user's ratings, and on public ones."""

    own: Mapping[str, Sequence[JudgedRow]]
    public: Mapping[str, Sequence[JudgedRow]]

    @classmethod
    def of(cls, run: StoredRun) -> Ratings:
        """Those of a run; the atlas has the figures of public ratings among its own findings."""
        alone = rows_with(rows_of(run), statistic=AGREEMENT, versus=None)
        texts = [row for row in alone if row.start == "example"]
        within = [row for row in texts if row.last == "by-document"]
        public = grouped((row for row in alone if row.start in TASKS), metric_of)
        return cls(grouped(within or texts, metric_of), public or _shipped(run))

    def on(self, task: str, compared: Collection[str], *, is_own: bool) -> dict[str, People]:
        """The agreement of every metric that has one on the texts of a task.

        Ratings of the user's own stand for tables about the user's texts, and for all tasks together.
        """
        if self.own and (is_own or task == EVERYTHING):
            return _on_shared(self.own, compared, is_public=False)
        rows = [row for rows in self.public.values() for row in rows if task in (EVERYTHING, row.start)]
        return _on_shared(grouped(rows, metric_of), compared, is_public=True)


def _shipped(run: StoredRun) -> dict[str, list[JudgedRow]]:
    """What the atlas knows of the metrics of a run, under their names in the run."""
    known = public_ratings()
    figures: dict[str, list[JudgedRow]] = {}
    for metric, about in run.about["metrics"].items():
        figures[metric] = [
            JudgedRow(row | {"metric": metric}, row.info) for row in known.get(identity(about), [])
        ]
    return figures


def _on_shared(
    rated: Mapping[str, Sequence[JudgedRow]], compared: Collection[str], *, is_public: bool
) -> dict[str, People]:
    """The mean agreement of each metric over the ratings that all metrics to be compared have."""
    sets = [{row["slice"] for row in rows} for metric, rows in rated.items() if metric in compared]
    shared = set.intersection(*sets) if sets else set()
    people = {}
    for metric, rows in rated.items():
        chosen = [row for row in rows if row["slice"] in shared] or rows
        names = tuple(row["slice"].partition("/")[2] for row in chosen)
        people[metric] = People(mean_of(chosen), names, is_public)
    return people


def mean_of(rows: Sequence[JudgedRow], lowest: float = 0.0) -> Estimate:
    """The mean of agreements, as sure as they are on average: sets may share texts or raters."""
    value, n = float(np.mean([row["value"] for row in rows])), sum(row["n"] for row in rows)
    ends = [(row["ci_low"], row["ci_high"]) for row in rows]
    if (None, None) in ends:
        return Estimate(value, n)
    half = float(np.diff(ends).mean()) / 2
    return Estimate(value, n, (max(lowest, value - half), min(100.0, value + half)))
