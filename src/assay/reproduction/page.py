"""Checked cells as pages: a matrix a table, in HTML for a report and in Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape

from assay.datasets.lexicon import toml_file
from assay.reproduction.cells import Checked, count
from assay.reproduction.recipes import Recipe, recipes

PAPER_TITLES = {
    "assoc": "Gao & Wan (2022), Social Biases in Automatic Evaluation Metrics for NLG",
    "unfair": "Sun et al. (2022), BERTScore is Unfair",
    "caption": "Qiu et al. (2023), Gender Biases in Automatic Evaluation Metrics for Image Captioning",
    "blind": "He et al. (2023), On the Blind Spots of Model-Based Evaluation Metrics",
    "checklist": "Sai et al. (2021), Perturbation CheckLists for Evaluating NLG Evaluation Metrics",
}
LEGEND = (
    "A plain figure equals the published one as printed. `ours ≈ published` is within the stated tolerance, "
    "`ours ≠ published` differs, and `·` was not run. A figure that is had both from text and from released "
    "scores counts as two cells."
)
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #ccc;padding:.2rem .5rem;"
    "text-align:left}.equal{background:#e6f4ea}.within{background:#fff8e1}.differs{background:#fde7e7}"
)


@cache
def slips() -> tuple[dict[str, str], ...]:
    """The known slips of the papers: paper, where, what, and our evidence."""
    return tuple(toml_file("recipes", "slips")["slip"])


def shown(one: Checked) -> str:
    """A cell of a matrix."""
    if one.ours is None:
        return "·"
    if one.verdict == "equal":
        return one.shown
    sign = "≈" if one.verdict == "within tolerance" else "≠"
    return f"{one.shown} {sign} {one.cell.published}"


def matrix(checked: Sequence[Checked]) -> tuple[list[str], list[tuple[str, list[Checked | None]]]]:
    """Columns, and rows with a cell a column; a row from text and one from released scores stand apart."""
    columns = list(dict.fromkeys(one.cell.column for one in checked))
    twice = {one.cell.source for one in checked}
    rows: dict[str, dict[str, Checked]] = {}
    for one in checked:
        label = f"{one.cell.row} ({one.cell.source})" if len(twice) > 1 else one.cell.row
        rows.setdefault(label, {})[one.cell.column] = one
    return columns, [(label, [cells.get(name) for name in columns]) for label, cells in rows.items()]


def summary(checked: Iterable[Checked]) -> str:
    """`70 equal (12 of them zeros), 2 different, 116 not run`.

    Zeros, and settings that were sought until they fitted, say less than other equal cells: they are counted.
    """
    every = list(checked)
    counts = count(every)
    equal = [one for one in every if one.verdict == "equal"]
    zeros = sum(not one.cell.number for one in equal)
    sought = sum(bool(one.cell.number and one.cell.searched) for one in equal)
    weaker = [f"{zeros} of them zeros"] * bool(zeros) + [f"{sought} after a search of settings"] * bool(
        sought
    )
    words = {"equal": "equal" + (f" ({', '.join(weaker)})" if weaker else ""), "differs": "different"}
    return ", ".join(
        f"{number} {words.get(verdict, verdict)}" for verdict, number in counts.items() if number
    )


def reasons(checked: Iterable[Checked]) -> list[str]:
    """Why cells differ or were not run, each reason once with the cells it explains."""
    groups: dict[tuple[str, str], list[Checked]] = {}
    for one in checked:
        if one.reason:
            groups.setdefault((one.verdict, one.reason), []).append(one)
    return [
        f"{_places(found)}: {verdict}" + (f" - {reason}" if reason else "")
        for (verdict, reason), found in groups.items()
    ]


def _places(found: Sequence[Checked], most: int = 4) -> str:
    """Whole rows or columns by name, else the first few cells."""
    rows = list(dict.fromkeys(one.cell.row for one in found))
    columns = list(dict.fromkeys(one.cell.column for one in found))
    if len(found) == 1:
        return f"{rows[0]} / {columns[0]}"
    shorter = min((rows, columns), key=len)
    named = ", ".join(shorter[:most]) + (f" and {len(shorter) - most} more" if len(shorter) > most else "")
    return f"{named} ({len(found)} cells)"


def recipe_markdown(recipe: Recipe, checked: Sequence[Checked]) -> str:
    """One table's results."""
    ran = [one for one in checked if one.ours is not None]
    lines = [f"{len(checked)} cells: {summary(checked)}.", ""]
    if ran:
        columns, rows = matrix(ran)
        lines += [_line(["", *columns]), "|" + "---|" * (len(columns) + 1)]
        lines += [_line([label, *("" if c is None else shown(c) for c in cells)]) for label, cells in rows]
        lines.append("")
    lines += [f"- {reason}" for reason in reasons(checked)]
    return "\n".join(lines).rstrip()


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def recipe_list() -> str:
    """What can be asked for: every table, its data and how much of it can run."""
    lines = ["| recipe | what | cells | can run | data |", "|---|---|---|---|---|"]
    for name, one in recipes().items():
        data = ", ".join(f"`{path}`" for path in one.paths) or "-"
        lines.append(_line([f"`{name}`", one.title, str(len(one.cells)), str(len(one.runnable)), data]))
    return "\n".join(lines)


def slip_list() -> str:
    """The known slips of the papers, with our evidence for each."""
    lines = ["| paper | where | slip | evidence |", "|---|---|---|---|"]
    lines += [_line([one["paper"], one["where"], one["slip"], one["evidence"]]) for one in slips()]
    return "\n".join(lines)


def html_page(results: Mapping[str, Sequence[Checked]]) -> str:
    """All results as one page that needs no network and runs nothing; everything is escaped."""
    every = [one for checked in results.values() for one in checked]
    body = [f"<h1>Published figures beside ours</h1><p>{escape(summary(every))}.</p><p>{escape(LEGEND)}</p>"]
    for name, checked in results.items():
        body.append(f"<h2>{escape(name)}: {escape(recipes()[name].title)}</h2>")
        body.append(f"<p>{escape(summary(checked))}.</p>{_html_table(checked)}")
        body.append("<ul>" + "".join(f"<li>{escape(reason)}</li>" for reason in reasons(checked)) + "</ul>")
    head = f'<meta charset="utf-8"><title>Reproduction</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _html_table(checked: Sequence[Checked]) -> str:
    columns, rows = matrix(checked)
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
    lines = [f"<tr>{head}</tr>"]
    for label, cells in rows:
        tds = "".join("<td></td>" if one is None else _html_cell(one) for one in cells)
        lines.append(f"<tr><th>{escape(label)}</th>{tds}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _html_cell(one: Checked) -> str:
    kind = one.verdict.split()[0]
    title = f"published {one.cell.published}; {one.verdict}" + (f": {one.reason}" if one.reason else "")
    return f'<td class="{kind}" title="{escape(title, quote=True)}">{escape(shown(one))}</td>'
