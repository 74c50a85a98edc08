"""How every page and table writes a number, an interval and a finding."""

from __future__ import annotations

from assay.core import Statistic
from assay.report.verdicts import AuditInfo, Row

ROUNDING = 1e-9


def number(value: float | None) -> str:
    """Three significant digits, no exponents for common sizes; what rounding left of 0 is 0.

    >>> number(14.5278), number(-0.01234), number(-2.8e-14), number(None)
    ('14.5', '-0.0123', '0', '')
    """
    if value is None or abs(value) < ROUNDING:
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

    >>> amount(4.81, Statistic("effect", "", "% of the gap", bad="far"))
    '+4.81% of the gap'
    >>> amount(0.5, Statistic("gain", "", "SD", bad="high"))
    '0.5 SD'
    """
    sign = "+" if statistic.bad == "far" and value > ROUNDING else ""
    blank = " " if statistic.unit and not statistic.unit.startswith("%") else ""
    return f"{sign}{number(value)}{blank}{statistic.unit}"


def interval(row: Row) -> str:
    """The 95% interval of a finding; empty where it has none."""
    if row["ci_low"] is None:
        return ""
    return f"95% CI {number(row['ci_low'])} to {number(row['ci_high'])}"


def in_words(name: str) -> str:
    """A statistic's name as words."""
    return name.replace("_", " ")


def heading(statistic: Statistic) -> str:
    """A statistic's name with its unit, and where it is declared for, if that is not everywhere."""
    name = in_words(statistic.name) + (f" in {statistic.within}" if statistic.within else "")
    return name if not statistic.unit or statistic.unit in name else f"{name} ({statistic.unit})"


def sentence(audit: AuditInfo, row: Row) -> str:
    """The sentence stored with a failed finding; of another finding, its value in plain words."""
    if row["sentence"]:
        return str(row["sentence"])
    what = f"{in_words(row['statistic'])} is {amount(row['value'], audit.statistic(row))}"
    return f"{row['metric']}, {audit.title} ({row['slice']}): {what}."


def shown_verdict(row: Row) -> str:
    """The verdict in a table: a failure in capitals, a dash where nothing was judged."""
    verdict = str(row["verdict"])
    return {"fail": "FAIL", "not judged": "-"}.get(verdict, verdict)
