"""Is system A better than system B under these metrics: scores, intervals, paired tests, clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from assay.api import user_data
from assay.api.scores import score_counted
from assay.core import Floats, Measure, Sample, SetMetric
from assay.datasets.columns import as_data, parse_map
from assay.datasets.ratings import Rated, read_samples
from assay.engine.session import Session
from assay.errors import DataError, MetricError, suggest
from assay.names.spec import Specifiable, measure
from assay.statistics.paired import DRAWS, SEED, Score, SystemPair, Test, compare_by_tests, middle
from assay.statistics.significance import metric_clusters

DEFAULT = ("bleu:level=corpus", "chrf:level=corpus")
_ALPHA = 0.05  # as the 95% intervals beside it
_FEWEST = 6  # texts; with fewer, even the rarest of 2**n swaps is no evidence at that level
_NORMAL = 1.96  # standard errors that are told apart at that level


@dataclass(frozen=True)
class Systems:
    """Systems compared: `scores`, `pairs`, `metrics` and `agreement` are tables, one row each."""

    scores: pl.DataFrame  # metric, system, score, low, high, cluster
    pairs: pl.DataFrame  # metric, first, second, difference, low, high, p, adjusted, wins
    metrics: pl.DataFrame  # metric, needed, signature
    agreement: pl.DataFrame  # first, second, alike: the share of pairs of systems that they order alike
    notes: tuple[str, ...] = field(default_factory=tuple)


def compare_systems(
    metrics: Specifiable | Sequence[Specifiable] = DEFAULT,
    *,
    data: Any,
    map: str | None = None,
    baseline: str | None = None,
    test: Test = "permutation",
    draws: int | None = None,
    seed: int = SEED,
    session: Session | None = None,
) -> Systems:
    """Compare systems on the texts that all of them have: rows with a column `system`, or one file for each.

    With a `baseline` only pairs with it are tested; else all pairs, with Holm's correction. The tests are
    sacreBLEU's --paired-ar (`permutation`) and --paired-bs (`bootstrap`).
    """
    chosen = [measure(given) for given in user_data.metric_list(metrics)]
    texts, notes = _texts(data, map, images=user_data.need_images(chosen))
    names = list(texts)
    if baseline is not None and baseline not in texts:
        raise DataError(f"no system is called {baseline!r}{suggest(baseline, names)}")
    names.sort(key=lambda name: name != baseline)
    scores, tested, about = [], [], []
    orders: dict[str, list[float]] = {}
    with session or Session.open() as session:
        for given in chosen:
            systems, score, remarks = _statistics(given, [texts[name] for name in names], session)
            values, resampled, pairs = compare_by_tests(
                systems, score, test=test, draws=draws, seed=seed, baseline=0 if baseline else None
            )
            notes += remarks
            orders[given.label] = list(values)
            clusters = metric_clusters(values, _differences(pairs, len(names)))
            for name, value, drawn, cluster in zip(names, values, resampled, clusters, strict=True):
                low, high = middle(drawn)
                row = {"score": float(value), "low": low, "high": high, "cluster": cluster}
                scores.append({"metric": given.label, "system": name} | row)
            tested += [_row(given.label, pair, names) for pair in pairs]
            needed = _NORMAL * float(np.median([pair.error for pair in pairs]))
            signature = _signature(given, test, draws, seed)
            about.append({"metric": given.label, "needed": needed, "signature": signature})
    tables = {"scores": scores, "pairs": tested, "metrics": about, "agreement": _agreement(orders)}
    return Systems(**{name: pl.DataFrame(rows) for name, rows in tables.items()}, notes=tuple(notes))


def _differences(pairs: Sequence[SystemPair], count: int) -> list[list[bool]]:
    """Whether each system surely differs from each other one."""
    apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.adjusted < _ALPHA}
    return [[{one, other} in apart for other in range(count)] for one in range(count)]


def _row(label: str, pair: SystemPair, names: Sequence[str]) -> dict[str, Any]:
    low, high = pair.interval
    return {
        "metric": label, "first": names[pair.first], "second": names[pair.second],
        "difference": pair.difference, "low": low, "high": high, "p": pair.p_value, "adjusted": pair.adjusted,
        "wins": pair.wins,
    }  # fmt: skip


def _signature(given: Measure, test: Test, draws: int | None, seed: int) -> str:
    return f"{given.metric.signature}|test:{test}|draws:{draws or DRAWS[test]}|seed:{seed}"


def _agreement(orders: dict[str, list[float]]) -> list[dict[str, Any]]:
    """For each two metrics, the share of pairs of systems that they put in the same order."""
    rows = []
    for (first, a), (second, b) in combinations(orders.items(), 2):
        places = list(combinations(range(len(a)), 2))
        alike = [np.sign(a[i] - a[j]) == np.sign(b[i] - b[j]) for i, j in places]
        rows.append({"first": first, "second": second, "alike": float(np.mean(alike))})
    return rows


def _texts(data: Any, columns: str | None, *, images: bool) -> tuple[dict[str, list[Sample]], list[str]]:
    """Each system's texts, in one order: texts of one reference and source belong together."""
    files = as_data(data, parse_map(columns or {}))
    by_system: dict[str, dict[tuple[Any, ...], Sample]] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for path in files:
        for item in read_samples(path, skip_missing=not images, rated=False):
            name = item.system or path.stem
            by_system.setdefault(name, {})[_key(item, name, seen)] = item.sample
    if len(by_system) < 2:
        raise DataError(
            f"{files[0]} holds the texts of one system; give a column system (--map system=COLUMN), or one "
            "file for each system"
        )
    shared = _in_all(by_system)
    if len(shared) < 2:
        raise DataError(
            "the systems have fewer than two references or sources in common: nothing can be paired"
        )
    longest = max(map(len, by_system.values()))
    notes = []
    if len(shared) < _FEWEST:
        notes.append(f"{len(shared)} texts are too few to tell systems apart: no swap of them is rare enough")
    if longest > len(shared):
        notes.append(f"compared on the {len(shared):,} of {longest:,} texts that every system has")
    return {name: [texts[key] for key in shared] for name, texts in by_system.items()}, notes


def _in_all(by_system: Mapping[str, Mapping[tuple[Any, ...], Sample]]) -> list[tuple[Any, ...]]:
    """The keys of the texts that every system has, in the order of the first one."""
    first, *others = by_system.values()
    return [key for key in first if all(key in texts for texts in others)]


def _key(item: Rated, system: str, seen: Counter[tuple[Any, ...]]) -> tuple[Any, ...]:
    """What the outputs of several systems for one input share; equal inputs are numbered."""
    content = (item.sample.references, item.sample.source, item.sample.image, item.doc)
    seen[system, content] += 1
    return (*content, seen[system, content])


def _statistics(
    given: Measure, systems: Sequence[Sequence[Sample]], session: Session
) -> tuple[list[Floats], Score, list[str]]:
    """Each system's statistics by text, and the score that follows from their sums."""
    if isinstance(given.metric, SetMetric):
        rows = [given.metric.statistics(samples) for samples in systems]
        if any(row is None for row in rows):
            raise MetricError(f"{given.label} has no statistics that add up over texts: leave it out here")
        return [np.asarray(row, dtype=np.float64) for row in rows], given.metric.from_statistics, []
    flat = [sample for samples in systems for sample in samples]
    columns, _ = score_counted([given], flat, session)
    values = columns[given.label].reshape(len(systems), -1)
    present = np.isfinite(values).all(axis=0)  # a text counts where every system has a score
    if not present.any():
        raise MetricError(
            f"{given.label} gives no score to any text of these systems; does the data have its fields?"
        )
    lost = int((~present).sum())
    notes = [f"{given.label}: {lost:,} texts have no score in some system and are left out"] if lost else []
    tables = [np.stack([row, np.ones(len(row))], axis=1) for row in values[:, present]]
    return tables, lambda totals: np.asarray(totals[:, 0] / totals[:, 1]), notes
