"""A run as Markdown or LaTeX: answers by metric, the gravest findings, then a table of all findings."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.answers import answers
from assay.report.names import shown
from assay.report.text import number, probability, sentence, shown_verdict
from assay.report.verdicts import QUESTION_TITLES, audits_of, rows_of, worst
from assay.run.results import Run
from assay.vocabulary import QUESTIONS

_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "95% CI", "n", "q", "verdict")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def _summary(run: Run) -> list[tuple[str, ...]]:
    """One line per metric: the answer to each question."""
    answered = answers(run)
    given = {metric: [answered[metric, question] for question in QUESTIONS] for metric in run.metrics}
    return [(name, *(f"{each.words}: {each.detail}" for each in listed)) for name, listed in given.items()]


def _table(run: Run) -> list[tuple[str, ...]]:
    lines = []
    for row in rows_of(run):
        ends = [number(row[end]) for end in ("ci_low", "ci_high")]
        around = f"{ends[0]} to {ends[1]}" if all(ends) else ""
        numbers = (f"{row['value']:.4g}", around, str(row["n"]), probability(row["q_value"]))
        lines.append((*(row[name] for name in _COLUMNS[:4]), *numbers, shown_verdict(row)))
    return lines


def markdown(run: Run) -> str:
    """Tables and a list."""
    run = shown(run)
    audits = audits_of(run)
    lines = _markdown_table(("metric", *QUESTION_TITLES.values()), _summary(run))
    gravest = worst(run, rows_of(run))
    lines += ["", *(f"- {_cell(sentence(audits[row['audit']], row))}" for row in gravest), ""]
    return "\n".join(lines + _markdown_table(_COLUMNS, _table(run)))


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]


def _cell(text: str) -> str:
    """Names from data cannot break a table or make markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def latex(run: Run) -> str:
    """Two tabulars, for the package booktabs."""
    run = shown(run)
    head = ("metric", *QUESTION_TITLES.values())
    summary = _tabular("lp{4cm}p{6cm}p{3cm}", head, _summary(run))
    return summary + "\n\n" + _tabular("llllrrrrl", _COLUMNS, _table(run))


def _tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [r"\begin{tabular}{" + columns + "}", r"\toprule"]
    lines += [" & ".join(cell.translate(_LATEX) for cell in head) + r" \\", r"\midrule"]
    lines += [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
