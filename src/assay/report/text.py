"""A run as Markdown or LaTeX, and how every page writes a number, an interval and a finding."""

from __future__ import annotations

from assay.core import Statistic
from assay.report.verdicts import QUESTION_TITLES, AuditInfo, Row, answers, audits_of, rows_of, worst
from assay.run.results import Run
from assay.vocabulary import QUESTIONS

_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "verdict")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def number(value: float | None) -> str:
    """Three significant digits, no exponents for common sizes.

    >>> number(14.5278), number(-0.01234), number(None)
    ('14.5', '-0.0123', '')
    """
    return "" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


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
    unit = f" {audit.statistic(row).unit}".rstrip()
    what = f"{in_words(row['statistic'])} is {number(row['value'])}{unit}"
    return f"{row['metric']}, {audit.title} ({row['slice']}): {what}."


def shown_verdict(row: Row) -> str:
    """The verdict in a table: a failure in capitals, a dash where nothing was judged."""
    verdict = str(row["verdict"])
    return {"fail": "FAIL", "not judged": "-"}.get(verdict, verdict)


def _table(run: Run) -> list[tuple[str, ...]]:
    names = _COLUMNS[:4]
    return [
        (*(row[name] for name in names), f"{row['value']:.4g}", shown_verdict(row)) for row in rows_of(run)
    ]


def _cell(text: str) -> str:
    """Names from data cannot break a table or make markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def markdown(run: Run) -> str:
    """Answers by metric, the gravest findings, then a table of all findings."""
    audits, answered = audits_of(run), answers(run)
    lines = ["| metric | " + " | ".join(QUESTION_TITLES.values()) + " |", "|---|---|---|---|"]
    for metric in run.metrics:
        by_question = [answered[metric, question] for question in QUESTIONS]
        cells = [f"**{answer.words}**: {answer.detail}" for answer in by_question]
        lines.append("| " + " | ".join([_cell(metric), *cells]) + " |")
    lines += [
        "",
        *(f"- {_cell(sentence(audits[row['audit']], row))}" for row in worst(run, rows_of(run))),
        "",
    ]
    lines += ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in _table(run)]
    return "\n".join(lines)


def latex(run: Run) -> str:
    """A tabular of all findings."""
    lines = [r"\begin{tabular}{llllrl}", " & ".join(_COLUMNS) + r" \\"]
    lines += [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in _table(run)]
    return "\n".join([*lines, r"\end{tabular}"])
