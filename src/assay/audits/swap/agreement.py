"""Scores before and after swapping, and people's, to changes of correlation (assoc tables 6, 7, 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core import Case, Finding, Floats, Scored
from assay.statistics.correlation import Kind, correlate, system_means
from assay.statistics.estimates import mde_interval, verdict
from assay.statistics.resampled import (
    Difference,
    bootstrap_correlation_difference,
    bootstrap_system_difference,
)

AUDIT = "swap"
FEWEST_SYSTEMS = 4  # a correlation over fewer says nothing


@dataclass(frozen=True, slots=True)
class Agreement:
    """How changes of correlation are judged."""

    kind: Kind
    margin: float
    fewest: int
    seed: int

    def findings(self, scored: Scored) -> Iterator[Finding]:
        """Every criterion at example level, and at system level where there are systems."""
        criteria = dict.fromkeys(name for case in scored.cases for name in case.meta.get("human", {}))
        for criterion in criteria:
            rows = _rated(scored, criterion)
            human = np.array([scored.cases[row].meta["human"][criterion] for row in rows])
            subsets: dict[str, list[int]] = {
                "": rows.tolist(),
                "/male": _male(scored.cases, rows),
                "/one-to-one": _clean(scored.cases, rows),
            }
            for name, kept in subsets.items():
                mask = np.isin(rows, kept)
                yield from self._example(scored, f"example/{criterion}{name}", rows[mask], human[mask])
            yield from self._system(scored, criterion, rows, human)

    def _example(self, scored: Scored, slice_: str, rows: np.ndarray, human: Floats) -> Iterator[Finding]:
        if rows.size < self.fewest:
            return
        before, after = scored.values["original"][rows], scored.values["swapped"][rows]
        docs = [scored.cases[row].meta["doc"] for row in rows.tolist()]
        change = bootstrap_correlation_difference(
            after, before, human, self.kind, clusters=docs, seed=self.seed
        )
        values = (correlate(before, human, self.kind), correlate(after, human, self.kind))
        yield from self._report(scored.metric, slice_, values, change, rows.size)

    def _report(
        self, metric: str, slice_: str, values: Sequence[float | None], change: Difference, n: int
    ) -> Iterator[Finding]:
        """Both correlations and the change; a constant metric has none."""
        if change.value is None or not np.isfinite(change.value) or None in values:
            return
        for name, value, own in zip(("original", "swapped"), values, change.sides[::-1], strict=True):
            pair = own.pair if own else None
            yield Finding(metric, AUDIT, slice_, self.kind, float(value or 0.0), n, versus=name, ci=pair)
        ci = change.interval
        yield Finding(
            metric, AUDIT, slice_, "correlation_change", change.value, n, versus="original",
            ci=ci.pair if ci else None, p_value=change.p_value, mde=mde_interval(ci),
            passed=verdict(ci, self.margin, "either"),
        )  # fmt: skip

    def _system(self, scored: Scored, criterion: str, rows: np.ndarray, human: Floats) -> Iterator[Finding]:
        """System means over documents, for all systems and for the best k by people."""
        systems = [scored.cases[row].meta.get("system") for row in rows.tolist()]
        names = sorted({name for name in systems if name is not None})
        if len(names) < FEWEST_SYSTEMS:
            return
        matrices = _matrices(scored, rows, human, systems, names)
        order = np.argsort(-system_means(matrices[2]), kind="stable")
        for k in range(FEWEST_SYSTEMS, len(names) + 1):
            best = order[:k]
            before, after, judged = (matrix[best] for matrix in matrices)
            slice_ = f"system/{criterion}" if k == len(names) else f"system/{criterion}/top-{k}"
            means = [system_means(matrix) for matrix in (before, after, judged)]
            values = [correlate(side, means[2], self.kind) for side in means[:2]]
            if k == len(names):
                change = bootstrap_system_difference(after, before, judged, self.kind, seed=self.seed)
                yield from self._report(scored.metric, slice_, values, change, k)
            elif values[0] is not None and values[1] is not None:
                yield Finding(
                    scored.metric,
                    AUDIT,
                    slice_,
                    "correlation_change",
                    values[1] - values[0],
                    k,
                    versus="original",
                )


def _rated(scored: Scored, criterion: str) -> np.ndarray:
    here = np.array([criterion in case.meta.get("human", {}) for case in scored.cases], dtype=bool)
    there = np.isfinite(scored.values["original"]) & np.isfinite(scored.values["swapped"])
    return np.flatnonzero(here & there)


def _male(cases: Sequence[Case], rows: np.ndarray) -> list[int]:
    """Rows whose original hypothesis is male-only (table 6)."""
    return [row for row in rows.tolist() if cases[row].meta["content"] == "male"]


def _clean(cases: Sequence[Case], rows: np.ndarray) -> list[int]:
    """Rows whose swapped words are one-to-one: what changes here is not two words becoming one."""
    return [row for row in rows.tolist() if cases[row].meta["one_to_one"]]


def _matrices(
    scored: Scored, rows: np.ndarray, human: Floats, systems: Sequence[str | None], names: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Original, swapped and human scores, systems x documents."""
    docs = {doc: place for place, doc in enumerate(dict.fromkeys(c.meta["doc"] for c in scored.cases))}
    place = {name: number for number, name in enumerate(names)}
    before, after, judged = (np.full((len(names), len(docs)), np.nan) for _ in range(3))
    for row, system, rating in zip(rows.tolist(), systems, human, strict=True):
        if system is not None:
            cell = place[system], docs[scored.cases[row].meta["doc"]]
            before[cell] = scored.values["original"][row]
            after[cell] = scored.values["swapped"][row]
            judged[cell] = rating
    return before, after, judged
