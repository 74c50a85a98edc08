"""The single decisions of a stored run: which metric prefers which sound text to its damaged version.

Audits of robustness say of their cases what the damage changes (`aspect`: meaning or form). The first text
of a case is the sound one and the last level of damage the worse one. Two other texts must win as well: a
sound rewording of about as many words (`reworded`), and one that is right in quite other words (`far`).
Metrics are compared on decisions that all of them made, so that nobody is ranked on easier items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import numpy as np
import polars as pl
from scipy.special import stdtrit

from assay.audits.effects import RESOLUTION, REWORDED, ROUNDED, share_estimate
from assay.core import Estimate, Floats
from assay.reading.results import StoredRun
from assay.reading.verdicts import Slice
from assay.vocabulary import COVERAGE, Aspect

Against = Literal["clean", "reworded", "far"]  # which sound text the damaged one is compared with
FAR = "far"  # the role of a text that is right in quite other words
_HARMLESS = "/invariance/"  # in slices of edits that harm neither meaning nor form: nothing to get right
KEYS = ("audit", "slice", "aspect", "against", "cluster", "case")


@dataclass(frozen=True, slots=True)
class Decisions:
    """A line per item, kind of error and sound text; a column per metric: 1 is right, one half is a tie."""

    frame: pl.DataFrame  # the columns of KEYS, then one per metric, null where a metric did not decide
    metrics: tuple[str, ...]

    def about(self, aspect: Aspect, against: Against = "clean", task: str | None = None) -> Self:
        """The decisions of one aspect and one kind of sound text; of one task where it is named."""
        chosen = (pl.col("aspect") == aspect) & (pl.col("against") == against)
        chosen &= ~pl.col("slice").str.contains(_HARMLESS, literal=True)
        if task is not None:
            chosen &= pl.col("slice").str.starts_with(f"{task}/")
        return replace(self, frame=self.frame.filter(chosen))

    def of(self, metrics: Sequence[str]) -> Self:
        """The decisions of these metrics."""
        return replace(self, frame=self.frame.select(*KEYS, *metrics), metrics=tuple(metrics))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The decisions with some metrics under other names."""
        metrics = tuple(names.get(metric, metric) for metric in self.metrics)
        return replace(self, frame=self.frame.rename(dict(names), strict=False), metrics=metrics)

    def shared(self) -> Self:
        """The decisions that every metric made."""
        return replace(self, frame=self.frame.drop_nulls(list(self.metrics)))

    def joined(self, others: Self) -> Self:
        """These decisions and those of other metrics, on the cases that either has."""
        frame = self.frame.join(
            others.frame, on=list(KEYS), how="full", coalesce=True, maintain_order="left_right"
        )
        return replace(self, frame=frame, metrics=(*self.metrics, *others.metrics))

    def places(self) -> set[Slice]:
        """The audits and slices that the decisions belong to."""
        return set(self.frame.select("audit", "slice").unique().iter_rows())

    def kinds(self) -> dict[str, int]:
        """How many kinds of error each metric decided about."""
        counts = self.frame.select(
            pl.struct("audit", "slice").filter(pl.col(metric).is_not_null()).n_unique().alias(metric)
            for metric in self.metrics
        )
        return dict(zip(self.metrics, counts.row(0), strict=True)) if counts.height else {}

    def order(self) -> Order:
        """Right order of every metric over kinds of error that weigh the same, on decisions all made."""
        frame = self.shared().frame
        if not frame.height:
            empty = np.zeros(len(self.metrics))
            return Order(
                self.metrics, np.full(len(self.metrics), np.nan), np.zeros((0, empty.size)), (), 0, 0
            )
        table = frame.select(self.metrics).to_numpy().astype(np.float64)
        kinds = frame.select(pl.struct("audit", "slice").rank("dense") - 1).to_series().to_numpy()
        sizes = np.bincount(kinds)
        weights = 1 / len(sizes) / sizes[kinds]
        means = np.stack([np.bincount(kinds, column) for column in table.T], axis=1) / sizes[:, None]
        names, codes = np.unique(frame["cluster"].to_numpy().astype(str), return_inverse=True)
        influences = np.zeros((len(names), len(self.metrics)))
        np.add.at(influences, codes, weights[:, None] * (table - means[kinds]))
        cells = len(set(zip(kinds.tolist(), codes.tolist(), strict=True)))
        return Order(self.metrics, means.mean(axis=0), influences, tuple(names), frame.height, cells)


@dataclass(frozen=True, slots=True)
class Order:
    """Right order of metrics on the same decisions, with what each item adds to its error."""

    metrics: tuple[str, ...]
    shares: Floats  # one per metric
    influences: Floats  # (items, metrics): the sum of their squares is the variance of a share
    items: tuple[str, ...]
    n: int  # decisions
    cells: int  # items by kind of error: independent decisions at most

    def estimates(self) -> dict[str, Estimate]:
        """Right order in percent, with Wilson's interval for as many decisions as are independent."""
        if not self.n:
            return {}
        variances = (self.influences**2).sum(axis=0) * self._correction
        estimates = {}
        for metric, share, variance in zip(self.metrics, self.shares.tolist(), variances, strict=True):
            estimates[metric] = share_estimate(
                share, variance, n=self.n, n_cells=self.cells, n_clusters=len(self.items)
            )
        return estimates

    def gains(self) -> tuple[Floats, Floats]:
        """How much more often each metric (row) is right than each other, in percent, and half the width of
        the paired 95% interval."""
        products = self.influences.T @ self.influences * self._correction
        own = np.diag(products)
        variances = np.maximum(own[:, None] + own[None, :] - 2 * products, 0.0)
        n = len(self.items)
        gains = 100 * (self.shares[:, None] - self.shares[None, :])
        if n < 2:
            return gains, np.full_like(gains, 100.0)
        reach = np.maximum(stdtrit(n - 1, 0.975) * np.sqrt(variances), 1 / (n + 1))
        return gains, 100 * reach

    @property
    def _correction(self) -> float:
        n = len(self.items)
        return n / max(1, n - 1)


def mean_order(orders: Iterable[Order]) -> Order:
    """The mean of several right orders of the same metrics; an item counts once in all of them."""
    asked = [order for order in orders if order.n]
    items = tuple(sorted({item for order in asked for item in order.items}))
    places = {item: place for place, item in enumerate(items)}
    influences = np.zeros((len(items), len(asked[0].metrics)))
    for order in asked:
        np.add.at(influences, [places[item] for item in order.items], order.influences / len(asked))
    shares = np.mean([order.shares for order in asked], axis=0)
    n, cells = (sum(getattr(order, name) for order in asked) for name in ("n", "cells"))
    return Order(asked[0].metrics, shares, influences, items, n, cells)


def decisions_of(run: StoredRun) -> Decisions:
    """The decisions of a run, which remembers them; those of an atlas are stored with it."""
    decisions = remembered_decisions(run) or remember(run, _decided(run))
    return decisions.of([metric for metric in run.metrics if metric in decisions.metrics])


def remembered_decisions(run: StoredRun) -> Decisions | None:
    """The decisions that a run remembers."""
    return vars(run).get("decisions")


def remember(run: StoredRun, decisions: Decisions) -> Decisions:
    """Let a run remember its decisions: an atlas has no scores from which they could be made again."""
    vars(run)["decisions"] = decisions
    return decisions


def differences(run: StoredRun) -> pl.DataFrame:
    """For every metric, case and sound text how much higher the sound text scores than the damaged one.

    Several damaged texts of one case are several lines.
    """
    texts = _texts(run.cases)
    keys = ["audit", "case"]
    scores = run.scores.drop_nulls("score").join(texts, on=[*keys, "role"])
    worse = scores.filter(pl.col("part") == "worse").rename({"score": "low"})
    parts = []
    for against in get_args(Against):
        sound = scores.filter(pl.col("part") == against).select(*keys, "metric", high="score")
        both = worse.join(sound, on=[*keys, "metric"], maintain_order="left")
        parts.append(both.with_columns(against=pl.lit(against)))
    return pl.concat(parts)


def _decided(run: StoredRun) -> Decisions:
    if not run.scores.height:
        empty = pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String))
        return Decisions(empty, ())
    keys = ["metric", "audit", "case"]
    pairs = differences(run).join(_uncovered_cases(run), on=keys, how="anti", maintain_order="left")
    gain = pl.col("high") - pl.col("low")
    size = pl.max_horizontal(pl.col("high").abs(), pl.col("low").abs())
    top, bottom = pl.max_horizontal("high", "low").max(), pl.min_horizontal("high", "low").min()
    spread = (top - bottom).over("metric", "audit", "slice")
    models = [name for name, about in run.about["metrics"].items() if about.get("backbone")]
    resolution = pl.when(pl.col("metric").is_in(models)).then(RESOLUTION).otherwise(0.0)
    same = pl.max_horizontal(ROUNDED * size, resolution * pl.min_horizontal(size, spread))
    right = pl.when(gain.abs() <= same).then(0.5).otherwise((gain > 0).cast(pl.Float64))
    decided = pairs.with_columns(right=right).group_by(*KEYS, "metric", maintain_order=True)
    table = decided.agg(pl.col("right").mean()).pivot("metric", index=list(KEYS), values="right")
    metrics = tuple(metric for metric in run.metrics if metric in table.columns)
    return Decisions(table.select(*KEYS, *metrics), metrics)


def _uncovered_cases(run: StoredRun) -> pl.DataFrame:
    """The cases of slices that a metric did not cover: what it scored there it chose itself."""
    gaps = run.findings.filter(pl.col("verdict") == "not covered", pl.col("statistic") == COVERAGE)
    cases = run.cases.select("audit", "slice", "case").unique()
    return gaps.select("metric", "audit", "slice").join(cases, on=["audit", "slice"])


def _texts(cases: pl.DataFrame) -> pl.DataFrame:
    """The texts of cases that have an aspect, and what each is: clean, reworded, far or worse."""
    meta = pl.col("meta").str
    kind = pl.concat_str("slice", pl.lit("/"), meta.json_path_match("$.kind"))
    known = cases.select(
        "audit", "case", "role", slice=pl.coalesce(kind, pl.col("slice")),
        aspect=meta.json_path_match("$.aspect"), cluster=meta.json_path_match("$.cluster"),
        level=pl.col("role").str.split("/").list.first(),
    ).filter(pl.col("aspect").is_not_null())  # fmt: skip
    here = ["audit", "case"]
    damaged = pl.col("level").filter(~pl.col("role").is_in([REWORDED, FAR]))
    marked = known.with_columns(
        first=pl.col("role").first().over(here), strongest=damaged.last().over(here), cluster=_cluster()
    )
    part = (
        pl.when(pl.col("role") == pl.col("first")).then(pl.lit("clean"))
        .when(pl.col("role").is_in([REWORDED, FAR])).then(pl.col("role"))
        .when(pl.col("level") == pl.col("strongest")).then(pl.lit("worse"))
    )  # fmt: skip
    return marked.select(*here, "slice", "aspect", "cluster", "role", part=part).drop_nulls("part")


def _cluster() -> pl.Expr:
    """The item of a case; items of two tasks are never the same."""
    own = pl.coalesce(pl.col("cluster"), pl.col("case"))
    return pl.col("slice").str.split("/").list.first() + "/" + own
