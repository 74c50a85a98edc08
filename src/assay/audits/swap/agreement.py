"""Scores and ratings of texts, as written and swapped, to changes of their correlation (assoc sec. 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.audits.effects import interval_estimate
from assay.audits.swap.preference import VERSIONS
from assay.core import Estimate, Finding, Floats, Scored
from assay.grouping import rows_by_label
from assay.statistics.correlation import Coefficient, correlate, system_means
from assay.statistics.intervals import Interval, interval_of
from assay.statistics.resampled import Draws, pooled_draws, system_draws
from assay.vocabulary import Rule

_FEWEST_TEXTS = 10  # a correlation over fewer says nothing
_FEWEST_SYSTEMS = 4
_RESAMPLES = 2000


def agreement_findings(scored: Scored, *, kind: Coefficient, rule: Rule, seed: int) -> Iterator[Finding]:
    """Every criterion that people rated, at example level and, where there are systems, at system level."""
    if not set(VERSIONS) <= set(scored.values):
        return
    written, swapped = (np.isfinite(scored.values[role]) for role in VERSIONS)
    finite = written & swapped
    # Datasets and language pairs are kept apart: systems of one name are other systems there.
    rows_by_part = rows_by_label([case.meta["part"] for case in scored.cases])
    for part, rows in rows_by_part.items():
        where = f"/{part}" if part else ""
        for criterion, rated in _rated(scored, rows).items():
            scored_rows = [row for row in rated if finite[row]]
            agreement = _SwapAgreement(scored, criterion, scored_rows, where, kind, rule, seed)
            yield from agreement.example_level()
            yield from agreement.system_level()


def _rated(scored: Scored, rows: Sequence[int]) -> dict[str, list[int]]:
    """The rows that people rated, by criterion."""
    rated: dict[str, list[int]] = {}
    for row in rows:
        for criterion in scored.cases[row].meta["human"]:
            rated.setdefault(criterion, []).append(row)
    return rated


@dataclass(frozen=True)
class _SwapAgreement:
    """One metric's scores of the texts of one part that people rated by one criterion."""

    scored: Scored
    criterion: str
    rows: Sequence[int]
    part: str
    kind: Coefficient
    rule: Rule
    seed: int

    def example_level(self) -> Iterator[Finding]:
        """The change over all texts, over texts about men, and over texts that lose no distinction."""
        cases = self.scored.cases
        subsets = {
            "": self.rows,
            # Table 6: the original hypothesis is about men only.
            "/male": [row for row in self.rows if cases[row].meta["content"] == "male"],
            # No two words become one (his, him: her), so a change is not due to lost distinctions.
            "/one-to-one": [row for row in self.rows if cases[row].meta["one_to_one"]],
        }
        for name, rows in subsets.items():
            if len(rows) < _FEWEST_TEXTS:
                continue
            human = np.array([cases[row].meta["human"][self.criterion] for row in rows])
            clusters = [cases[row].meta["cluster"] for row in rows]
            sides = np.stack([self.scored.values[role][rows] for role in VERSIONS[::-1]])
            draws = pooled_draws(
                sides, human, self.kind, clusters=clusters, resamples=_RESAMPLES, seed=self.seed
            )
            values = draws.values[::-1].tolist()
            yield from self._changes(
                f"example{self.part}/{self.criterion}{name}", values, draws, len(rows), len(rows)
            )

    def _changes(
        self, slice_: str, values: Sequence[float | None], draws: Draws, n: int, texts: int
    ) -> Iterator[Finding]:
        """Both correlations and their difference; nothing for a constant metric, which has no correlation."""
        change = float(draws.values[0] - draws.values[1])
        if not np.isfinite(change) or None in values:
            return
        x, y = draws.draws
        after, before, apart = (interval_of(side, n_clusters=draws.clusters) for side in (x, y, x - y))
        for role, value, interval in zip(VERSIONS, values, (before, after), strict=True):
            estimate = interval_estimate(value or 0.0, n, interval)
            yield Finding.of(self.scored, slice_, self.kind, estimate, versus=role)
        yield Finding.of(
            self.scored,
            slice_,
            "correlation_change",
            Estimate(change, n, self._ends(change, apart, texts)),
            versus="original",
        )

    def _ends(self, change: float, interval: Interval | None, texts: int) -> tuple[float, float] | None:
        """The interval of a change; none by the paper's rule, which reports the change and has no criterion.

        Texts that all keep their score do not prove that the next one will: it is never narrower than what
        one more text adds to a mean.
        """
        if interval is None or self.rule == "paper":
            return None
        reach = 1 / (texts + 1)
        return min(interval.low, change - reach), max(interval.high, change + reach)

    def system_level(self) -> Iterator[Finding]:
        """Correlations of system means, for all systems and for the k systems that people rate highest."""
        names = sorted({self.scored.cases[row].meta["system"] for row in self.rows} - {None})
        if len(names) < _FEWEST_SYSTEMS:
            return
        matrices = self._by_system(names)
        order = np.argsort(-system_means(matrices[2]), kind="stable")
        slice_ = f"system{self.part}/{self.criterion}"
        for k in range(_FEWEST_SYSTEMS, len(names) + 1):
            before, after, human = (matrix[order[:k]] for matrix in matrices)
            values = [
                correlate(system_means(side), system_means(human), self.kind) for side in (before, after)
            ]
            if k == len(names):
                sides = np.stack([after, before])
                draws = system_draws(
                    sides, human, self.kind, over="both", resamples=_RESAMPLES, seed=self.seed
                )
                if draws.clusters > 1:
                    yield from self._changes(slice_, values, draws, k, len(self.rows))
            elif values[0] is not None and values[1] is not None:
                yield from self._best_systems(f"{slice_}/top-{k}", values[0], values[1], k)

    def _best_systems(self, slice_: str, before: float, after: float, k: int) -> Iterator[Finding]:
        """Both correlations among the k systems that people rate highest, and their difference."""
        for role, value in zip(VERSIONS, (before, after), strict=True):
            yield Finding.of(self.scored, slice_, self.kind, value, n=k, versus=role)
        yield Finding.of(self.scored, slice_, "correlation_change", after - before, n=k, versus="original")

    def _by_system(self, names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
        """Original, swapped and human scores as systems x documents; nan where a system lacks a document."""
        cases = self.scored.cases
        documents = dict.fromkeys(case.meta["cluster"] for case in cases)
        places = {document: place for place, document in enumerate(documents)}
        before, after, human = (np.full((len(names), len(places)), np.nan) for _ in range(3))
        for row in self.rows:
            meta = cases[row].meta
            if meta["system"] is not None:
                cell = names.index(meta["system"]), places[meta["cluster"]]
                before[cell], after[cell] = (self.scored.values[role][row] for role in VERSIONS)
                human[cell] = meta["human"][self.criterion]
        return before, after, human
