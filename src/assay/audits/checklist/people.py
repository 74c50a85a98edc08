"""How much people mind: penalties from a file, an item or a template, or the catalogue's defaults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from assay.audits.checklist.rows import Changes, mean_interval
from assay.core import Case, Finding, Floats
from assay.datasets.rows import Row, read_rows
from assay.errors import suggest
from assay.perturbations.checklist.catalogue import TASKS, catalogue
from assay.statistics.intervals import bootstrap_mean
from assay.vocabulary import Rule

Key = tuple[str, str]  # task, template
LIMIT = 10.0
OURS = (
    "human_deviation rests on assay's own severity defaults (docs/catalogue.md), not on people's penalties; "
    "give --human FILE to measure against people"
)


@dataclass(frozen=True, slots=True)
class Penalties:
    """Mean penalties on the scale of 0 to 10, by template and by item."""

    templates: Mapping[Key, float]
    items: Mapping[tuple[str, str, str], float]
    by_people: bool

    def of(self, case: Case, rule: Rule) -> float | None:
        """A case's penalty: its own, else its template's; the paper asked about templates only."""
        task, template, item = (str(case.meta[key]) for key in ("task", "template", "item"))
        own = self.items.get((task, template, item)) if rule == "careful" else None
        return own if own is not None else self.templates.get((task, template))


def default_penalties() -> Penalties:
    """The catalogue's severities."""
    return Penalties({(e.task, e.template): e.severity for e in catalogue()}, {}, False)


def read_penalties(path: Path) -> Penalties:
    """`task, template, penalty` with an optional `item`; a penalty is a number or a list, one a person."""
    own: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    whole: dict[Key, list[float]] = defaultdict(list)
    for row in read_rows(path):
        task, template = (
            _known(row, "task", TASKS),
            _known(row, "template", [e.template for e in catalogue()]),
        )
        given = _penalty(row)
        whole[task, template] += given
        if row.has("item"):
            own[task, template, row.text("item")] += given
    return Penalties(
        {key: float(np.mean(found)) for key, found in whole.items()},
        {key: float(np.mean(found)) for key, found in own.items()},
        True,
    )


def _known(row: Row, column: str, names: Sequence[str]) -> str:
    value = row.text(column)
    if value not in names:
        raise row.fail(f"unknown {column} {value!r}{suggest(value, set(names))}")
    return value


def _penalty(row: Row) -> list[float]:
    value = row.values.get("penalty")
    given = value if isinstance(value, list) else [row.number("penalty")]
    numbers = [float(one) for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != len(given) or not numbers or not all(0.0 <= one <= LIMIT for one in numbers):
        raise row.fail(f"column 'penalty' must be a number from 0 to {LIMIT:g}, or a list of them")
    return numbers


AUDIT = "checklist"


def criterion_profile(metric: str, rows: Sequence[Changes], tolerance: float, seed: int) -> list[Finding]:
    """The mean pass rate of a criterion's templates, each counted alike: what a metric hears, what not."""
    grouped: dict[str, list[Changes]] = {}
    for row in rows:
        grouped.setdefault(row.slice.split("/")[1], []).append(row)
    return [_profile(metric, name, found, tolerance, seed) for name, found in grouped.items()]


def _profile(metric: str, criterion: str, rows: Sequence[Changes], tolerance: float, seed: int) -> Finding:
    hits = np.concatenate([row.passes(tolerance) for row in rows]).astype(np.float64)
    weights = np.concatenate([np.full(row.n, 1.0 / row.n) for row in rows])
    clusters = [cluster for row in rows for cluster in row.clusters]
    interval = bootstrap_mean(hits, clusters=clusters, weights=weights, seed=seed)
    value = float(np.average(hits, weights=weights))
    ci = None if interval is None else interval.pair
    return Finding(metric, AUDIT, criterion, "criterion_pass_rate", value, hits.size, ci=ci)


def complements(rows: Sequence[tuple[str, Sequence[Changes]]], seed: int) -> list[Finding]:
    """Pairs of metrics: how many more changes for the worse one of two sees than the better alone."""
    noticed = [(metric, _noticed(found)) for metric, found in rows]
    return [
        finding
        for (first, one), (second, two) in combinations(noticed, 2)
        if (finding := _gain(first, one, second, two, seed)) is not None
    ]


def _noticed(rows: Sequence[Changes]) -> dict[str, tuple[float, str]]:
    """Cases that should lower the score: whether it fell, and the cluster."""
    table: dict[str, tuple[float, str]] = {}
    for row in rows:
        if row.expect == "lower":
            for case, change, cluster in zip(row.cases, row.change, row.clusters, strict=True):
                table[case.id] = (float(change < 0), cluster)
    return table


def _gain(
    first: str, one: dict[str, tuple[float, str]], second: str, two: dict[str, tuple[float, str]], seed: int
) -> Finding | None:
    shared = [case for case in one if case in two]
    if not shared:
        return None
    left, right = (_column(table, shared) for table in (one, two))
    better = left if left.mean() >= right.mean() else right
    gain = np.maximum(left, right) - better
    interval = mean_interval(gain, [one[case][1] for case in shared], seed)
    missed = [case for case, seen in zip(shared, gain, strict=True) if seen][:5]
    return Finding(
        first, AUDIT, "all", "complement_gain", float(gain.mean()), len(shared), versus=second,
        ci=None if interval is None else interval.pair, evidence=tuple(missed),
    )  # fmt: skip


def _column(table: dict[str, tuple[float, str]], cases: Sequence[str]) -> Floats:
    return np.array([table[case][0] for case in cases])
