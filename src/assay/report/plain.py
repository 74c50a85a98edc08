"""A run as Markdown or LaTeX: answers by metric, the gravest findings, then a table of all findings.

`summary` is the first part alone, in Markdown: for a terminal, a notebook or the summary of a job.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.reading.answers import answers
from assay.reading.lines import caption, sources, table_rows
from assay.reading.names import shown
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun
from assay.reading.text import ROUNDING, number, probability, sentence_of_all, shown_verdict
from assay.reading.verdicts import QUESTION_TITLES, rows_of, worst
from assay.vocabulary import QUESTIONS

Lines = Sequence[Sequence[str]]  # of a table, each with its cells
_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "95% CI", "n", "q", "verdict")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def answer_rows(run: StoredRun) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the lines of the one table: of the first ranking, or of verdicts where there is none."""
    rows = short_rows(run)
    return tuple(rows[0]), [tuple(row.values()) for row in rows]


def short_rows(run: StoredRun) -> list[dict[str, str]]:
    """One line per metric, the best first: of the first ranking, or of verdicts where there is none."""
    listed = rankings(run)
    return table_rows(listed[0]) if listed else _verdict_rows(run)


def _verdict_rows(run: StoredRun) -> list[dict[str, str]]:
    """One line per metric with its answer to each question that was asked."""
    answered = answers(run)
    asked = [name for name in QUESTIONS if any(answered[metric, name].total for metric in run.metrics)]
    rows = []
    for metric in run.metrics:
        row = {"metric": metric}
        for question in asked:
            answer = answered[metric, question]
            named = f" {answer.named()}" if answer.failures else ""
            row[QUESTION_TITLES[question]] = f"{answer.words}{named} ({answer.detail})"
        rows.append(row)
    return rows


def headlines(run: StoredRun) -> list[str]:
    """What stands around the table: of what its numbers are, what is recommended, and why."""
    first = rankings(run)[0]
    return [caption(first), f"{first.advice}.", first.reason]


def _document(run: StoredRun) -> dict[str, Any]:
    """The run as `--json` prints it: the one table of every task, then findings and notes."""
    answered = [
        {
            "task": ranking.task, "about": caption(ranking), "best": ranking.best, "advice": ranking.advice,
            "reason": ranking.reason, "metrics": table_rows(ranking),
        }
        for ranking in rankings(shown(run))
    ]  # fmt: skip
    return {"answers": answered, **run.document()}


def as_json(run: StoredRun) -> str:
    """The document as text."""
    return json.dumps(_document(run), ensure_ascii=False, indent=1, allow_nan=False)


def _table(run: StoredRun) -> list[tuple[str, ...]]:
    lines = []
    for row in rows_of(run):
        ends = [number(row[end]) for end in ("ci_low", "ci_high")]
        around = f"{ends[0]} to {ends[1]}" if all(ends) else ""
        value = f"{row['value']:.4g}" if abs(row["value"]) > ROUNDING else "0"
        numbers = (value, around, str(row["n"]), probability(row["q_value"]))
        lines.append((*(row[name] for name in _COLUMNS[:4]), *numbers, shown_verdict(row["verdict"])))
    return lines


def summary(run: StoredRun) -> str:
    """The answers of each metric in a table, and the gravest findings in words, in Markdown."""
    run = shown(run)
    rows = rows_of(run)
    gravest = [f"- {_cell(sentence_of_all(row, rows))}" for row in worst(rows)]
    ranked = rankings(run)
    about = [f"{_cell(line)}\n" for line in (headlines(run) if ranked else [])]
    rated = [f"{sources(ranking)}\n" for ranking in ranked[:1] if sources(ranking)]
    table = markdown_table(*answer_rows(run))
    return "\n".join([*about[:1], *table, "", *rated, *about[1:], *gravest, ""])


def markdown(run: StoredRun) -> str:
    """Tables and a list."""
    return "\n".join([summary(run), *markdown_table(_COLUMNS, _table(shown(run)))])


def markdown_table(head: Sequence[str], rows: Lines) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]


def _cell(text: str) -> str:
    """Names from data cannot break a table or make markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def latex(run: StoredRun) -> str:
    """Two tables with captions and labels, for the packages booktabs and longtable."""
    run = shown(run)
    made = f"assay {run.about.get('assay', '')}, size {run.about.get('size', 'full')}, "
    made += f"audits: {', '.join(run.about['audits'])}"
    answers = f"{headlines(run)[0] if rankings(run) else 'Each metric by question'} ({made})."
    findings = f"All findings with 95% confidence intervals, items (n) and adjusted p-values (q) ({made})."
    head, rows = answer_rows(run)
    first = _long_table("l" + "p{2.5cm}" * (len(head) - 1), head, rows, answers, "answers")
    second = _long_table("llllrrrrl", _COLUMNS, _table(run), findings, "findings")
    return f"% needs \\usepackage{{booktabs,longtable}}\n{first}\n\n{second}"


def _long_table(columns: str, head: Sequence[str], rows: Lines, caption: str, label: str) -> str:
    lines = [" & ".join(map(as_latex, row)) + r" \\" for row in (head, *rows)]
    title = rf"\caption{{{as_latex(caption)}}}\label{{tab:assay-{label}}} \\"
    start = [rf"\begin{{longtable}}{{{columns}}}", title, r"\toprule", lines[0], r"\midrule", r"\endhead"]
    return "\n".join([*start, *lines[1:], r"\bottomrule", r"\end{longtable}"])


def as_latex(text: str) -> str:
    """The text with what LaTeX would read as commands escaped."""
    return text.translate(_LATEX)


def filled(template: str, **values: object) -> str:
    """A template of plain text or Markdown; the filter `plain` keeps names from data from making markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(  # nothing here is HTML
        loader=PackageLoader(__package__), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    templates.filters["plain"] = lambda text: _cell(str(text)).replace(">", "&gt;")
    return templates.get_template(template).render(values)
