"""Two runs to what became better, worse or stayed: by verdict, and by a test of the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl
from scipy.special import ndtr

from assay.core import Statistic
from assay.report.verdicts import Row, audits_of, rows_of
from assay.run.results import Run
from assay.statistics.estimates import benjamini_hochberg
from assay.vocabulary import Verdict

Direction = Literal["better", "worse", "unchanged"]
Key = tuple[str, str, str, str, str]  # metric, audit, slice, statistic, versus
ALPHA = 0.05
_Z = 1.959964  # half the width of a 95% interval, in standard errors


@dataclass(frozen=True, slots=True)
class Change:
    """One finding in two runs."""

    key: Key
    before: float
    after: float
    p_value: float | None
    q_value: float | None
    verdicts: tuple[Verdict, Verdict]
    direction: Direction

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        metric, audit, slice_, statistic, versus = self.key
        passed = [{"pass": True, "fail": False}.get(verdict) for verdict in self.verdicts]
        return {
            "metric": metric, "audit": audit, "slice": slice_, "statistic": statistic,
            "versus": versus or None, "before": self.before, "after": self.after, "p_value": self.p_value,
            "q_value": self.q_value, "verdict_before": self.verdicts[0], "verdict_after": self.verdicts[1],
            "passed_before": passed[0], "passed_after": passed[1], "direction": self.direction,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """All findings that two runs share, and how many only one of them has."""

    shared: tuple[Change, ...]
    only_before: int
    only_after: int

    def of(self, direction: Direction) -> list[Change]:
        """Changes in one direction, largest first."""
        chosen = [change for change in self.shared if change.direction == direction]
        return sorted(chosen, key=lambda change: -abs(change.after - change.before))

    @property
    def frame(self) -> pl.DataFrame:
        """One row per finding that both runs have."""
        return pl.DataFrame([change.document for change in self.shared], infer_schema_length=None)


def compare(before: Run, after: Run, renamed: Mapping[str, str] | None = None) -> Comparison:
    """Compare findings of the same name; `renamed` maps a metric of the first run to one of the second."""
    names = dict(renamed or {})
    # A renamed metric takes the place of the first run's own metric of that name.
    hidden = set(names.values()) - names.keys()
    old = {_key(row, names): row for row in rows_of(before) if row["metric"] not in hidden}
    new = {_key(row, {}): row for row in rows_of(after)}
    audits = audits_of(after)
    shared = [key for key in old if key in new]
    p_values = [_difference_p(old[key], new[key]) for key in shared]
    q_values = benjamini_hochberg(p_values)
    changes = [
        _change(
            key, old[key], new[key], audits[new[key]["audit"]].statistic(new[key]), p_value, float(q_value)
        )
        for key, p_value, q_value in zip(shared, p_values, q_values, strict=True)
    ]
    return Comparison(tuple(changes), len(old.keys() - new.keys()), len(new.keys() - old.keys()))


def _key(row: Row, names: Mapping[str, str]) -> Key:
    metric, versus = row["metric"], row["versus"] or ""
    return names.get(metric, metric), row["audit"], row["slice"], row["statistic"], names.get(versus, versus)


def _difference_p(old: Row, new: Row) -> float | None:
    """A normal test from the two intervals, as if the runs were independent; None without intervals."""
    if old["ci_low"] is None or new["ci_low"] is None:
        return None
    widths = [(row["ci_high"] - row["ci_low"]) / (2 * _Z) for row in (old, new)]
    error = math.hypot(*widths)
    gap = abs(new["value"] - old["value"])
    if error == 0 or not math.isfinite(error):
        return 1.0 if gap == 0 else 0.0
    return float(2 * ndtr(-gap / error))


def _change(
    key: Key, old: Row, new: Row, statistic: Statistic, p_value: float | None, q_value: float
) -> Change:
    """Better or worse by a verdict that turned, or by a significant change away from or to the bad side."""
    verdicts: tuple[Verdict, Verdict] = (old["verdict"], new["verdict"])
    known_q = None if p_value is None else q_value
    change = Change(key, old["value"], new["value"], p_value, known_q, verdicts, "unchanged")
    if verdicts in (("fail", "pass"), ("pass", "fail")):
        return replace(change, direction="better" if verdicts[1] == "pass" else "worse")
    if known_q is None or known_q >= ALPHA:
        return change
    gain = _badness(old["value"], statistic) - _badness(new["value"], statistic)
    return replace(change, direction="better" if gain > 0 else "worse" if gain < 0 else "unchanged")


def _badness(value: float, statistic: Statistic) -> float:
    """A value on a scale where more is worse; 0 for every value where no side is bad."""
    signed = {"high": value, "low": -value, "far": abs(value - statistic.centre)}
    return signed.get(statistic.bad or "", 0.0)
