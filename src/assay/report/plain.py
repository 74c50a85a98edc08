"""A run as Markdown or LaTeX: answers by metric, the gravest findings, then a table of all findings.

`summary` is the first part alone, in Markdown: for a terminal, a notebook or the summary of a job.
"""

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


def answer_rows(run: Run) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head of the table of answers, and one line per metric: the answer to each question."""
    answered = answers(run)
    given = {metric: [answered[metric, question] for question in QUESTIONS] for metric in run.metrics}
    lines = [(name, *(f"{each.words}: {each.detail}" for each in listed)) for name, listed in given.items()]
    return ("metric", *QUESTION_TITLES.values()), lines


def _table(run: Run) -> list[tuple[str, ...]]:
    lines = []
    for row in rows_of(run):
        ends = [number(row[end]) for end in ("ci_low", "ci_high")]
        around = f"{ends[0]} to {ends[1]}" if all(ends) else ""
        numbers = (f"{row['value']:.4g}", around, str(row["n"]), probability(row["q_value"]))
        lines.append((*(row[name] for name in _COLUMNS[:4]), *numbers, shown_verdict(row)))
    return lines


def summary(run: Run) -> str:
    """The answers of each metric in a table, and the gravest findings in words, in Markdown."""
    run = shown(run)
    audits = audits_of(run)
    gravest = [f"- {_cell(sentence(audits[row['audit']], row))}" for row in worst(run, rows_of(run))]
    return "\n".join([*markdown_table(*answer_rows(run)), "", *gravest, ""])


def markdown(run: Run) -> str:
    """Tables and a list."""
    return "\n".join([summary(run), *markdown_table(_COLUMNS, _table(shown(run)))])


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]


def _cell(text: str) -> str:
    """Names from data cannot break a table or make markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def latex(run: Run) -> str:
    """Two tables with captions and labels, for the packages booktabs and longtable."""
    run = shown(run)
    made = f"assay {run.about.get('assay', '')}, size {run.about.get('size', 'full')}, "
    made += f"audits: {', '.join(run.about['audits'])}"
    answers = f"Each metric's answers, as numbers of slices ({made})."
    findings = f"All findings with 95% confidence intervals, items (n) and adjusted p-values (q) ({made})."
    first = _long_table("lp{4cm}p{6cm}p{3cm}", *answer_rows(run), answers, "answers")
    second = _long_table("llllrrrrl", _COLUMNS, _table(run), findings, "findings")
    return f"% needs \\usepackage{{booktabs,longtable}}\n{first}\n\n{second}"


def _long_table(
    columns: str, head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str
) -> str:
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
        loader=PackageLoader("assay.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    templates.filters["plain"] = lambda text: _cell(str(text)).replace(">", "&gt;")
    return templates.get_template(template).render(values)
