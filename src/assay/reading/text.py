"""How every page and table writes a number, an interval and a finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assay.core import Statistic
from assay.reading.verdicts import JudgedRow, is_check, rows_with

ROUNDING = 1e-9


def number(value: float | None) -> str:
    """Three significant digits, no exponents for common sizes; what rounding left of 0 is 0.

    >>> number(14.5278), number(-0.01234), number(-2.8e-14), number(None)
    ('14.5', '-0.0123', '0', '')
    """
    if value is None or abs(value) < 1e-6:  # float32 leaves more of 0 than ROUNDING
        return "" if value is None else "0"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def probability(value: float | None) -> str:
    """A p- or q-value in three decimals.

    >>> probability(0.0321), probability(6.9e-5), probability(None)
    ('0.032', '<0.001', '')
    """
    return "" if value is None else f"{value:.3f}" if value >= 0.0005 else "<0.001"


def amount(value: float, statistic: Statistic) -> str:
    """A value with its unit, and with its sign where either side is bad.

    >>> amount(0.47, Statistic("lost_words", "", "of a lost word", bad="far"))
    '+0.47 of a lost word'
    >>> amount(0.5, Statistic("gain", "", "SD", bad="high"))
    '0.5 SD'
    """
    sign = "+" if statistic.bad == "far" and value > ROUNDING else ""
    blank = " " if statistic.unit and not statistic.unit.startswith("%") else ""
    return f"{sign}{number(value)}{blank}{statistic.unit}"


def interval(row: JudgedRow) -> str:
    """The 95% interval of a finding; empty where it has none."""
    low, high = number(row["ci_low"]), number(row["ci_high"])
    return f"95% CI {low} to {high}" if low else ""


def statistic_in_words(name: str) -> str:
    """A statistic's name as words."""
    return name.replace("_", " ")


def heading(statistic: Statistic) -> str:
    """A statistic's name with its unit."""
    name = statistic_in_words(statistic.name)
    says_its_unit = statistic.unit in name or statistic.unit.removeprefix("of a ") in name
    return name if says_its_unit else f"{name} ({statistic.unit})"


def sentence(row: JudgedRow) -> str:
    """The sentence stored with a failed finding; of another finding, its value in plain words."""
    if row["sentence"]:
        return str(row["sentence"])
    what = f"{statistic_in_words(row['statistic'])} is {amount(row['value'], row.declared)}"
    return f"{row['metric']}, {row.info.title} ({row['slice']}): {what}."


def sentence_of_all(row: JudgedRow, rows: Iterable[JudgedRow]) -> str:
    """The sentence of a finding; said once of all metrics where every one that was asked fails there."""
    asked = [other for other in rows if is_check(other) and _subject(other) == _subject(row)]
    told, metric = sentence(row), str(row["metric"])
    if len(asked) < 2 or len(rows_with(asked, verdict="fail")) < len(asked) or not told.startswith(metric):
        return told
    shared = told.removeprefix(metric).removesuffix(".")
    return f"Every metric that was asked{shared} (the figure is that of {metric})."


def _subject(row: JudgedRow) -> tuple[object, ...]:
    """What a finding is about, whatever the metric."""
    return row.place, row["statistic"], row["versus"]


def expectation(row: JudgedRow) -> str:
    """What should have happened where a check failed, in the unit of the check.

    >>> from assay.reading.verdicts import AuditInfo
    >>> order = Statistic("right_order", "", "of 100", bad="low", bar=75.0)
    >>> audit = AuditInfo("a", "A", "robustness", {}, (order,), (), "")
    >>> expectation(JudgedRow({"slice": "x", "statistic": "right_order"}, audit))
    'The right order should be at least 75 of 100.'
    """
    statistic = row.declared
    bar, name = float(statistic.bar or 0.0), statistic_in_words(statistic.name)
    if statistic.bad == "far":
        limit = amount(abs(bar), replace(statistic, bad=None))
        return f"The {name} should lie within {limit} of {number(statistic.centre)}."
    side = "at least" if statistic.bad == "low" else "at most"
    return f"The {name} should be {side} {amount(bar, replace(statistic, bad=None))}."


def shown_verdict(verdict: str) -> str:
    """The verdict in a table: a failure in capitals, a dash where nothing was judged."""
    return {"fail": "FAIL", "not judged": "-"}.get(verdict, verdict)
