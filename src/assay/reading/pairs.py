"""Which two metrics decide best together: their scores added, each in units of its own differences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from assay.core import Estimate, Floats
from assay.errors import AuditError
from assay.reading.decisions import Decisions, differences, mean_order
from assay.reading.lines import EVERYTHING, Ranking
from assay.reading.results import StoredRun

_KEYS = ["audit", "slice", "aspect", "against", "cluster", "case", "role"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two metrics added, and how many decisions about errors of meaning the sum gets right."""

    first: str
    second: str
    spec: str  # what to run: `bleu+0.31*chrf`
    order: Estimate  # the mean of decisions against clean and reworded texts, of 100
    gain: Estimate  # over the better of the two alone


def best_pairs(run: StoredRun, ranking: Ranking, most: int = 5) -> list[Pair]:
    """The pairs of ranked metrics that surely decide better than either part, the best first."""
    metrics = [line.metric for line in ranking.lines if line.rank is not None]
    if len(metrics) < 2:
        raise AuditError(f"no two metrics of this run can be compared on {ranking.task}; run assay audit")
    table = _table(run, metrics, ranking.task)
    gaps = table.select(metrics).to_numpy().astype(np.float64)
    scales = np.nanstd(gaps, axis=0)
    pairs = []
    for one, two in combinations(np.flatnonzero(scales > 0).tolist(), 2):
        pair = _pair(run, table, (metrics[one], metrics[two]), gaps[:, [one, two]], scales[[one, two]])
        if pair.gain.ci is not None and pair.gain.ci[0] > 0:
            pairs.append(pair)
    return sorted(pairs, key=lambda pair: -pair.order.value)[:most]


def _table(run: StoredRun, metrics: list[str], task: str) -> pl.DataFrame:
    """How much higher the sound text scores than the damaged one, a column per metric."""
    known = differences(run).filter(pl.col("aspect") == "meaning", pl.col("metric").is_in(metrics))
    if task != EVERYTHING:
        known = known.filter(pl.col("slice").str.starts_with(f"{task}/"))
    gains = known.with_columns(gain=pl.col("high") - pl.col("low"))
    return gains.pivot("metric", index=_KEYS, values="gain").drop_nulls(metrics)


def _pair(run: StoredRun, table: pl.DataFrame, names: tuple[str, str], gaps: Floats, scales: Floats) -> Pair:
    total = (gaps / scales).sum(axis=1)
    columns = {name: _right(column) for name, column in zip((*names, "sum"), (*gaps.T, total), strict=True)}
    decided = table.select(_KEYS[:-1]).with_columns(pl.Series(name, right) for name, right in columns.items())
    decisions = Decisions(decided, (*names, "sum"))
    order = mean_order(decisions.about("meaning", against).order() for against in ("clean", "reworded"))
    gains, reach = order.gains()
    better = int(np.argmax(order.shares[:2]))
    gain, half = float(gains[2, better]), float(reach[2, better])
    specs = [str(run.about["metrics"][name].get("spec") or name) for name in names]
    return Pair(
        *names, f"{specs[0]}+{scales[0] / scales[1]:.3g}*{specs[1]}",
        order.estimates()["sum"], Estimate(gain, order.n, (gain - half, gain + half)),
    )  # fmt: skip


def _right(gains: Floats) -> Floats:
    return np.where(gains > 0, 1.0, np.where(gains == 0, 0.5, 0.0))
