"""A run as Markdown or LaTeX: answers by metric, the gravest findings, then a table of all findings.

`summary` is the first part alone, in Markdown: for a terminal, a notebook or the summary of a job.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.datasets.lexicon import toml_file
from assay.reading.answers import answers
from assay.reading.names import shown
from assay.reading.results import StoredRun
from assay.reading.text import ROUNDING, number, probability, sentence, shown_verdict
from assay.reading.verdicts import QUESTION_TITLES, rows_of, worst
from assay.vocabulary import QUESTIONS

Lines = Sequence[Sequence[str]]  # of a table, each with its cells
_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "95% CI", "n", "q", "verdict")
_WIDTH, _NARROWEST = 100, 10  # characters of a terminal that a summary fits, and of its cells
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def answer_rows(run: StoredRun) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head of the table of answers, and one line per metric: the answer to each question."""
    answered = answers(run)
    given = {metric: [answered[metric, question] for question in QUESTIONS] for metric in run.metrics}
    lines = [(name, *(f"{each.words}: {each.detail}" for each in listed)) for name, listed in given.items()]
    return ("metric", *QUESTION_TITLES.values()), lines


def short_rows(run: StoredRun) -> tuple[list[dict[str, str]], list[str]]:
    """One line per metric for a terminal, whom or what first and then counts; and what they mean."""
    answered, words = answers(run), toml_file("report", "words")["short"]
    asked = [question for question in QUESTIONS if any(answered[m, question].total for m in run.metrics)]
    rows = []
    for metric in run.metrics:
        row = {"metric": metric}
        for answer in (answered[metric, question] for question in asked):
            row |= zip(words[answer.question], (answer.subject, answer.tally), strict=True)
            if answer.question == "robustness":
                row[words["harmless"]] = f"{answer.count('steady')}/{answer.count('over-sensitive')}"
        rows.append(row)
    unasked = [title for question, title in QUESTION_TITLES.items() if question not in asked]
    legend = [words["legend"], *(f"not measured: {title}" for title in unasked)]
    return _fitted(rows, [words[question][0] for question in asked]), legend


def _fitted(rows: list[dict[str, str]], subjects: Sequence[str]) -> list[dict[str, str]]:
    """The rows with the cells of some columns cut so that a line fits, the widest columns most."""
    sizes = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    room = _WIDTH - 2 * (len(sizes) - 1) - sum(sizes[name] for name in sizes if name not in subjects)
    for place, name in enumerate(sorted(subjects, key=lambda name: sizes[name])):  # narrow ones first
        most = min(sizes[name], max(_NARROWEST, room // (len(subjects) - place)))
        room -= most
        rows = [row | {name: _cut(row[name], most)} for row in rows]
    return rows


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


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
    gravest = [f"- {_cell(sentence(row))}" for row in worst(rows_of(run))]
    return "\n".join([*markdown_table(*answer_rows(run)), "", *gravest, ""])


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
    answers = f"Each metric's answers, as numbers of slices ({made})."
    findings = f"All findings with 95% confidence intervals, items (n) and adjusted p-values (q) ({made})."
    first = _long_table("lp{4cm}p{6cm}p{3cm}", *answer_rows(run), answers, "answers")
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
        loader=PackageLoader("assay.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    templates.filters["plain"] = lambda text: _cell(str(text)).replace(">", "&gt;")
    return templates.get_template(template).render(values)
