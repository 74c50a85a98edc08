"""A run as Markdown or LaTeX."""

from __future__ import annotations

from assay.report.verdicts import QUESTIONS, answers, checks, worst
from assay.report.words import question_title, sentence
from assay.run.results import Run

_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "verdict")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def _rows(run: Run) -> list[tuple[str, ...]]:
    verdicts = {True: "pass", False: "FAIL", None: "-"}
    return [
        (r["metric"], r["audit"], r["slice"], r["statistic"], f"{r['value']:.4g}", verdicts[r["passed"]])
        for r in run.findings.iter_rows(named=True)
    ]


def _cell(text: str) -> str:
    """Names from data cannot break a table or make markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def markdown(run: Run) -> str:
    """Verdicts by metric, the gravest findings, then a table of all findings."""
    listed = checks(run)
    found = answers(run, listed)
    titles = [question_title(question) for question in QUESTIONS]
    lines = ["| metric | " + " | ".join(titles) + " |", "|---|---|---|---|"]
    for metric in run.metrics:
        mine = [found[metric, question] for question in QUESTIONS]
        cells = [f"**{one.words}**: {one.detail}" for one in mine]
        lines.append("| " + " | ".join([_cell(metric), *cells]) + " |")
    lines += ["", *(f"- {_cell(sentence(row))}" for row in worst(run, listed)), ""]
    lines += ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in _rows(run)]
    return "\n".join(lines)


def latex(run: Run) -> str:
    """A tabular of all findings."""
    lines = [r"\begin{tabular}{llllrl}", " & ".join(_COLUMNS) + r" \\"]
    lines += [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in _rows(run)]
    return "\n".join([*lines, r"\end{tabular}"])
