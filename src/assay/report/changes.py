"""Two runs to what became better, worse or stayed: by verdict, and by a test of the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from scipy.special import ndtr

from assay.report.verdicts import Row
from assay.run.results import Run
from assay.statistics.estimates import benjamini_hochberg

Direction = Literal["better", "worse", "unchanged"]
Better = Literal["small", "low", "high"]
Key = tuple[str, str, str, str, str]
ALPHA = 0.05
_Z = 1.959964  # half the width of a 95% interval, in standard errors
# Which way is better. A statistic that is not listed is reported, never called better or worse.
BETTER: dict[str, Better] = {
    **dict.fromkeys(
        ("bias", "excess_bias", "signed_bias", "relative_bias", "effect_size", "accuracy_gap", "biased_share",
         "correlation_change", "human_deviation", "judge_effect", "neutral_gap", "word_preference"),
        "small",
    ),
    **dict.fromkeys(
        ("injection_gain", "frequent_gain", "repetition_gain", "copy_gain", "attack_gain", "position_change",
         "direction_change", "step_change"),
        "low",
    ),
    **dict.fromkeys(
        ("sensitivity", "pass_rate", "pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy",
         "over_sentinel", "criterion_pass_rate"),
        "high",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """One finding in two runs."""

    key: Key  # metric, audit, slice, statistic, versus
    before: float
    after: float
    p_value: float | None
    q_value: float | None
    verdicts: tuple[bool | None, bool | None]
    direction: Direction

    @property
    def document(self) -> dict[str, Any]:
        """As JSON."""
        metric, audit, slice_, statistic, versus = self.key
        return {
            "metric": metric, "audit": audit, "slice": slice_, "statistic": statistic,
            "versus": versus or None,
            "before": self.before, "after": self.after, "p_value": self.p_value, "q_value": self.q_value,
            "passed_before": self.verdicts[0], "passed_after": self.verdicts[1], "direction": self.direction,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Changes:
    """All findings that two runs share, and how many only one of them has."""

    shared: tuple[Change, ...]
    only_before: int
    only_after: int

    def of(self, direction: Direction) -> list[Change]:
        """Those of a direction, largest change first."""
        mine = [one for one in self.shared if one.direction == direction]
        return sorted(mine, key=lambda one: -abs(one.after - one.before))


def changes(before: Run, after: Run, renamed: Mapping[str, str] | None = None) -> Changes:
    """Compare findings of the same name; `renamed` maps a metric of the first run to one of the second."""
    names = dict(renamed or {})
    # A renamed metric takes the place of the first run's own metric of that name.
    hidden = set(names.values()) - names.keys()
    rows = [row for row in before.findings.iter_rows(named=True) if row["metric"] not in hidden]
    old = {_key(row, names): row for row in rows}
    new = {_key(row, {}): row for row in after.findings.iter_rows(named=True)}
    shared = [key for key in old if key in new]
    plain = [_change(key, old[key], new[key]) for key in shared]
    q_values = benjamini_hochberg([one.p_value for one in plain])
    judged = [_judged(one, float(q)) for one, q in zip(plain, q_values, strict=True)]
    return Changes(tuple(judged), len(old.keys() - new.keys()), len(new.keys() - old.keys()))


def _key(row: Row, names: Mapping[str, str]) -> Key:
    metric, versus = row["metric"], row["versus"] or ""
    return names.get(metric, metric), row["audit"], row["slice"], row["statistic"], names.get(versus, versus)


def _change(key: Key, old: Row, new: Row) -> Change:
    p_value = _difference_p(old, new)
    return Change(key, old["value"], new["value"], p_value, None, (old["passed"], new["passed"]), "unchanged")


def _difference_p(old: Row, new: Row) -> float | None:
    """A normal test from the two intervals, as if the runs were independent."""
    if old["ci_low"] is None or new["ci_low"] is None:
        return None
    widths = [(row["ci_high"] - row["ci_low"]) / (2 * _Z) for row in (old, new)]
    error = math.hypot(*widths)
    gap = abs(new["value"] - old["value"])
    if error == 0 or not math.isfinite(error):
        return 1.0 if gap == 0 else 0.0
    return float(2 * ndtr(-gap / error))


def _judged(one: Change, q_value: float) -> Change:
    """Better or worse by a verdict that turned, or by a significant change in a known direction."""
    known = replace(one, q_value=None if one.p_value is None else q_value)
    turned = _turn(*one.verdicts)
    if turned != "unchanged":
        return replace(known, direction=turned)
    way = BETTER.get(one.key[3])
    if way is None or known.q_value is None or known.q_value >= ALPHA:
        return known
    gained = {
        "small": abs(one.before) - abs(one.after),
        "low": one.before - one.after,
        "high": one.after - one.before,
    }[way]
    return replace(known, direction="better" if gained > 0 else "worse" if gained < 0 else "unchanged")


def _turn(before: bool | None, after: bool | None) -> Direction:
    if before is False and after is True:
        return "better"
    return "worse" if before is True and after is False else "unchanged"
