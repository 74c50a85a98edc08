"""A finished run in, one figure of a table out: its value, interval, number of items and p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.reading.results import StoredRun

if TYPE_CHECKING:
    from assay.papers.propagate import Effect

# Figures read from scores rather than findings. `versus` is the role (or "role - role", a difference).
NORMALISED = "normalised_score"  # one case on the 0 to 100 of its attribute (*unfair* Eq. 1); slice: its id
SINGLE = "single_score"  # one case; slice: its id
MEAN = "mean_of_role"  # a mean over the cases of a slice; a role stands for its seeds, ROLE/1, ROLE/2
RELATIVE = "relative_change"  # one case: the difference in per cent of the second role; slice: its id
FROM_SCORES = (NORMALISED, SINGLE, MEAN, RELATIVE)
Key = tuple[str, str, str, str | None]  # metric, slice, statistic, and what it is compared with
_NORMAL_95 = 1.959964  # standard errors on either side of a mean


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one metric."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p_value: float | None = None
    verdict: str = "not judged"

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval; None where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return (self.interval[1] - self.interval[0]) / 2 if self.interval else None

    @property
    def reach(self) -> tuple[float, float]:
        """How far the interval reaches below and above the figure; 0 where it has none."""
        low, high = self.interval or (self.value, self.value)
        return max(self.value - low, 0.0), max(high - self.value, 0.0)

    def plus(self, shift: float) -> Reading:
        """The same figure, moved with its interval."""
        return self._with(lambda value: value + shift)

    def times(self, factor: float) -> Reading:
        """The same figure in another unit, such as points of 100."""
        return self._with(lambda value: value * factor)

    def absolute(self) -> Reading:
        """The size of the figure; an interval that includes 0 begins there."""
        figure = self._with(abs)
        includes_zero = self.interval is not None and self.interval[0] <= 0 <= self.interval[1]
        return replace(figure, low=0.0) if includes_zero else figure

    def _with(self, change: Callable[[float], float]) -> Reading:
        """The figure and the ends of its interval changed, the lower end first."""
        low, high = sorted(map(change, self.interval)) if self.interval else (None, None)
        return replace(self, value=change(self.value), low=low, high=high)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a run by metric, slice, statistic and what they are compared with."""

    metrics: tuple[str, ...]
    rows: Mapping[Key, Mapping[str, Any]]
    run: StoredRun | None = None  # for figures that are read from scores
    drawn: tuple[Mapping[str, Any], ...] = ()  # marks of a picture that shows more than figures

    @classmethod
    def of(cls, run: StoredRun) -> Findings:
        """Without `versus` a figure is the finding that stands first, as `assay run` prints it."""
        rows: dict[Key, Mapping[str, Any]] = {}
        for row in run.findings.iter_rows(named=True):
            for versus in (row["versus"], None):
                rows.setdefault((row["metric"], row["slice"], row["statistic"], versus), row)
        return cls(tuple(run.metrics), rows, run)

    @property
    def named(self) -> list[str]:
        """Whose findings there are: the metrics, and captioners under names of their own."""
        return [*dict.fromkeys(metric for metric, *_ in self.rows)]

    def read(self, metric: str, slice_: str, statistic: str, versus: str | None = None) -> Reading | None:
        """The figure of a metric, from a finding or from scores; None where there is none."""
        if self.run is not None and statistic in FROM_SCORES:
            scores = self.run.scores.filter(pl.col("metric") == metric)
            return score_runs(scores, slice_, statistic, str(versus))
        row = self.rows.get((metric, slice_, statistic, versus))
        if row is None or not math.isfinite(row["value"]):
            return None
        low, high = row["ci_low"], row["ci_high"]
        if low is not None and low == high == row["value"]:  # a rule that takes the mean as it is
            low = high = None
        return Reading(float(row["value"]), low, high, row["n"], row["p_value"], row["verdict"])


def score_runs(scores: pl.DataFrame, slice_: str, statistic: str, versus: str) -> Reading | None:
    """One metric's scores to a figure; None where a role has no score or all scores are equal."""
    first, minus, second = versus.partition(" - ")
    by_case = _by_case(scores, slice_, first, statistic)
    if minus:
        others = _by_case(scores, slice_, second, statistic).rename({"score": "other"})
        by_case = by_case.join(others, on="case").with_columns(pl.col("score") - pl.col("other"))
        base = others["other"].mean()
    else:
        base = 0.0
    figure = mean_reading(by_case["score"])
    if figure is None or not isinstance(base, float):
        return None
    if statistic == NORMALISED:
        return _normalised(figure, scores["score"], is_difference=bool(minus))
    if statistic == RELATIVE:
        return figure.times(100 / abs(base)) if base else None
    return figure


def _by_case(scores: pl.DataFrame, slice_: str, role: str, statistic: str) -> pl.DataFrame:
    """The score of a role per item of a slice, the mean over its seeds; a set's scores are one case.

    A noise has no gold of its own: its items are found again among those of its data, `DATA/gold`.
    """
    case, named = pl.col("case"), pl.col("role")
    own = scores.filter((named == role) | named.str.starts_with(f"{role}/"))
    listed = own.filter((case == slice_) | _begins(case, slice_, statistic))
    if listed.is_empty():
        listed = own.filter(_begins(case, f"{slice_.partition('/')[0]}/{role}", statistic))
    item = case.str.replace(r"^[^:]*:", "").alias("case")
    return listed.with_columns(item).group_by("case", maintain_order=True).agg(pl.col("score").mean())


def _begins(case: pl.Expr, slice_: str, statistic: str) -> pl.Expr:
    """Whether a case is an item of a slice; single cases have no items."""
    return case.str.starts_with(f"{slice_}:") if statistic == MEAN else pl.lit(False)


def mean_reading(values: pl.Series) -> Reading | None:
    """A mean with the interval of a mean of independent items; of equal items there is none."""
    mean = values.mean()
    if not isinstance(mean, float):
        return None
    n, spread = len(values), values.std()
    if not isinstance(spread, float) or not spread:
        return Reading(mean, n=n)
    half = _NORMAL_95 * spread / math.sqrt(n)
    return Reading(mean, mean - half, mean + half, n)


def _normalised(figure: Reading, scores: pl.Series, *, is_difference: bool) -> Reading | None:
    """On the 0 to 100 between the lowest and the highest score."""
    low, high = float(scores.min()), float(scores.max())  # type: ignore[arg-type]
    if high <= low:
        return None
    return Reading(100 * (figure.value - (0.0 if is_difference else low)) / (high - low), n=figure.n)


def figures_of(effect: Effect) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """What a reward did to a captioner: before, after and the change, of errors, gain and scores."""
    changes = {"errors": effect.errors, "gain": effect.gain, **effect.scores}
    shares = {"before": effect.biased_before, "after": effect.biased_after}
    for statistic, change in changes.items():
        low, high = change.ci or (None, None)
        yield (
            (effect.reward, effect.method, statistic, None),
            finding(Reading(change.change, low, high, effect.n)),
        )
        for when in ("before", "after"):
            share = Reading(getattr(change, when), n=effect.n)
            yield (effect.reward, effect.method, statistic, when), finding(share)
    for when, biased in shares.items():
        if biased is not None:
            yield (effect.reward, effect.method, "biased", when), finding(Reading(biased))


def finding(figure: Reading) -> dict[str, Any]:
    """A figure as a row of findings, for what no audit measures."""
    ends = {"ci_low": figure.low, "ci_high": figure.high}
    return {
        "value": figure.value,
        "n": figure.n,
        **ends,
        "p_value": figure.p_value,
        "verdict": figure.verdict,
    }
