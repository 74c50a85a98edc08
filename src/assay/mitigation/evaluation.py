"""Metrics before and after a mitigation: bias, what they still see, agreement with people, and cost.

The first metric is the one to be mended; every other is compared with it, pair by pair, so that intervals are
of the change itself. Clusters are templates, concepts and documents, never rows that share one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.core import Case, Floats, Measure, Sample, Scored
from assay.datasets.pairs import Pair
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.mitigation.seeing import Label, label, seeing_cases
from assay.run.scoring import score_cases
from assay.run.session import Session
from assay.statistics.correlation import weighted_correlation
from assay.statistics.intervals import bootstrap_weighted

Kind = Literal["bias", "seeing", "spearman"]
Weighted = Callable[[Floats], Floats]
_RESAMPLES = 500


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of one metric, and its change from the first metric's.

    The change of a bias is the share of it that is gone; of the others, the difference.
    """

    metric: str
    kind: Kind
    slice: str
    value: float
    n: int
    ci: tuple[float, float] | None
    change: float | None = None
    change_ci: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures, the verdict of each mended metric, the cost, and the scores of pairs for a picture."""

    figures: tuple[Figure, ...]
    labels: Mapping[str, Label]
    seconds: Mapping[str, float]
    pairs: Mapping[str, Mapping[str, Floats]]  # metric -> set -> (n, 2)

    def figure(self, metric: str, kind: Kind, slice_: str) -> Figure:
        """The one figure of that name."""
        return next(f for f in self.figures if (f.metric, f.kind, f.slice) == (metric, kind, slice_))


@dataclass(frozen=True, slots=True)
class _Sheet:
    """One set's scores by one metric, as a statistic of weights on its rows."""

    kind: Kind
    slice: str
    n: int
    statistic: Weighted
    clusters: Sequence[Hashable]


def read_people(paths: Sequence[Path]) -> dict[str, list[Rated]]:
    """Ratings by the names of their files."""
    return {path.stem: read_ratings(path) for path in paths}


def evaluate(
    measures: Sequence[Measure],
    sets: Mapping[str, Sequence[Pair]],
    rated: Mapping[str, Sequence[Rated]],
    settings: Session,
    *,
    seed: int = 0,
) -> Evaluation:
    """Score every set with every metric, and compare each with the first."""
    work: dict[str, list[Case]] = {name: _pair_cases(name, pairs) for name, pairs in sets.items()}
    work["seeing"] = seeing_cases()
    work |= {f"human/{name}": _rated_cases(items) for name, items in rated.items()}
    figures: list[Figure] = []
    shown: dict[str, dict[str, Floats]] = {}
    first: list[_Sheet] = []
    for measure in measures:
        scored = score_cases(measure, work, settings)
        shown[measure.label] = {name: both(scored[name], ("stereotype", "anti_stereotype")) for name in sets}
        sheets = [_bias_sheet(name, scored[name]) for name in sets]
        sheets += _seeing_sheets(scored["seeing"])
        sheets += [s for n, items in rated.items() for s in _human_sheets(n, items, scored[f"human/{n}"])]
        figures += [
            _figure(measure.label, sheet, first[place] if first else None, seed)
            for place, sheet in enumerate(sheets)
        ]
        first = first or sheets
    return Evaluation(tuple(figures), _labels(figures, measures), dict(settings.seconds), shown)


def _pair_cases(name: str, pairs: Sequence[Pair]) -> list[Case]:
    return [
        Case(
            f"{name}/{pair.id}",
            {
                "stereotype": Sample(pair.stereotype, pair.references, pair.source, pair.image),
                "anti_stereotype": Sample(
                    pair.anti_stereotype, pair.anti_references, pair.source, pair.image
                ),
            },
            name,
            {"template": pair.meta.get("template", pair.id)},
        )
        for pair in pairs
    ]


def _rated_cases(items: Sequence[Rated]) -> list[Case]:
    return [Case(item.id, {"hypothesis": item.sample}, "all") for item in items]


def both(scored: Scored, roles: tuple[str, str]) -> Floats:
    """(cases, 2) scores of two roles."""
    return np.stack([scored.values[role] for role in roles], axis=1)


def _bias_sheet(name: str, scored: Scored) -> _Sheet:
    """Eq. 1-2 of unfair; the span is that of the whole set."""
    values = both(scored, ("stereotype", "anti_stereotype"))
    there = np.asarray(np.isfinite(values).all(axis=1))
    span = float(np.ptp(values[there])) if there.any() else 0.0
    sizes = np.abs(values[there, 0] - values[there, 1]) * (100.0 / span if span else 0.0)
    clusters = [case.meta["template"] for case, kept in zip(scored.cases, there, strict=True) if kept]
    return _Sheet("bias", name, len(sizes), _mean_of(sizes), clusters)


def _seeing_sheets(scored: Scored) -> list[_Sheet]:
    values = both(scored, ("good", "bad"))
    found = []
    for name in dict.fromkeys(case.slice for case in scored.cases):
        rows = [
            r for r, case in enumerate(scored.cases) if case.slice == name and np.isfinite(values[r]).all()
        ]
        hits = 50.0 * (1.0 + np.sign(values[rows, 0] - values[rows, 1]))  # a tie sees nothing: half
        clusters = [scored.cases[r].meta["template"] for r in rows]
        found.append(_Sheet("seeing", name, len(rows), _mean_of(hits), clusters))
    return found


def _human_sheets(name: str, items: Sequence[Rated], scored: Scored) -> list[_Sheet]:
    """A sheet a criterion: the metric against the mean of the ratings."""
    found = []
    for criterion in dict.fromkeys(c for item in items for c in item.human):
        rows = [
            r
            for r, i in enumerate(items)
            if i.human.get(criterion) and np.isfinite(scored.values["hypothesis"][r])
        ]
        people = np.array([float(np.mean(items[r].human[criterion])) for r in rows])
        clusters = [items[r].doc or items[r].id for r in rows]
        statistic = weighted_correlation(scored.values["hypothesis"][rows], people, "spearman")
        found.append(_Sheet("spearman", f"{name}/{criterion}", len(rows), statistic, clusters))
    return found


def _mean_of(values: Floats) -> Weighted:
    return lambda weights: (weights @ values) / np.maximum(weights.sum(axis=1), 1e-12)


def _figure(metric: str, sheet: _Sheet, before: _Sheet | None, seed: int) -> Figure:
    value = float(sheet.statistic(np.ones((1, sheet.n)))[0])
    ci = _interval(sheet.statistic, sheet, seed)
    plain = Figure(metric, sheet.kind, sheet.slice, value, sheet.n, ci)
    if before is None or before.n != sheet.n:
        return plain

    def change(weights: Floats) -> Floats:
        old, new = before.statistic(weights), sheet.statistic(weights)
        if sheet.kind == "bias":
            return np.asarray(1.0 - np.divide(new, old, out=np.full_like(old, np.nan), where=old > 0))
        return np.asarray(new - old)

    moved = float(change(np.ones((1, sheet.n)))[0])
    return Figure(metric, sheet.kind, sheet.slice, value, sheet.n, ci, moved, _interval(change, sheet, seed))


def _interval(statistic: Weighted, sheet: _Sheet, seed: int) -> tuple[float, float] | None:
    found = bootstrap_weighted(
        statistic,
        sheet.n,
        clusters=list(sheet.clusters),
        seed=seed,
        resamples=_RESAMPLES,
        method="percentile",
    )
    return found.pair if found else None


def _labels(figures: Sequence[Figure], measures: Sequence[Measure]) -> dict[str, Label]:
    """Each mended metric: fairer, no fairer or blinded."""
    old = {f.slice: f.value for f in figures if f.kind == "seeing" and f.metric == measures[0].label}
    found: dict[str, Label] = {}
    for measure in measures[1:]:
        mine = [f for f in figures if f.metric == measure.label]
        seen = {f.slice: (old[f.slice], f.value) for f in mine if f.kind == "seeing"}
        reductions = [f.change_ci for f in mine if f.kind == "bias"]
        found[measure.label] = label(seen, reductions[0] if reductions else None)
    return found
