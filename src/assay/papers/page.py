"""Checked cells as pages: one matrix per table, in Markdown for the documentation, or a table for LaTeX.

`document` writes docs/reproduction.md: parts made from recipes alone, and parts measured with the published
data. Measured parts stand between marks, so that a run without data keeps what was measured before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from assay.files import toml_file
from assay.papers.checks import Checked, count
from assay.papers.recipes import ABSENT, PAPERS, RecipeKind, TableRecipe, recipes
from assay.report.plain import as_latex, markdown_table

_TEXTS = toml_file("recipes", "page")
_MEASURED = re.compile(r"<!-- measured (?P<name>\S+) -->\n(?P<body>.*?)\n<!-- end -->", re.DOTALL)
TOTAL = "total"
_NOT_MEASURED = "Not measured yet."
_COUNTED = (
    "cells", "equal", "of them zeros", "after a search of settings", "within tolerance", "different",
    "not run", *get_args(RecipeKind),
)  # fmt: skip
_MOST_PLACES = 4


def _shown(item: Checked) -> str:
    if item.ours is None or item.verdict == "equal":
        return item.shown or "·"
    sign = "≈" if item.verdict == "within tolerance" else "≠"
    return f"{item.shown} {sign} {item.cell.published}"


def matrix(checked: Sequence[Checked]) -> tuple[list[str], list[tuple[str, list[Checked | None]]]]:
    """Columns, and rows with one cell per column; a row from text and one from released scores are apart."""
    columns = list(dict.fromkeys(item.cell.column for item in checked))
    sources = {item.cell.source for item in checked}
    rows: dict[str, dict[str, Checked]] = {}
    for item in checked:
        label = f"{item.cell.row} ({item.cell.source})" if len(sources) > 1 else item.cell.row
        rows.setdefault(label, {})[item.cell.column] = item
    return columns, [(label, [cells.get(name) for name in columns]) for label, cells in rows.items()]


def page_summary(checked: Iterable[Checked]) -> str:
    """`70 equal (12 of them zeros), 2 different, 116 not run (100 weights, 16 data)`.

    Zeros, and settings that were searched until they fitted, say less than other equal cells, so both are
    counted.
    """
    items = list(checked)
    equal = [item.cell for item in items if item.verdict == "equal"]
    weaker = {
        "of them zeros": sum(not cell.number for cell in equal),
        "after a search of settings": sum(bool(cell.number and cell.searched) for cell in equal),
    }
    kinds = Counter(item.kind for item in items)
    lacking = {str(kind): kinds[kind] for kind in get_args(RecipeKind)}
    details = {"equal": _counts(weaker), "not run": _counts(lacking)}
    words = {"differs": "different"} | {
        verdict: f"{verdict} ({detail})" for verdict, detail in details.items() if detail
    }
    return _counts({words.get(verdict, verdict): number for verdict, number in count(items).items()})


def _counts(numbers: Mapping[str, int]) -> str:
    """`12 of them zeros, 3 different`: what there is none of is not named."""
    return ", ".join(f"{number} {what}" for what, number in numbers.items() if number)


def reasons(checked: Iterable[Checked]) -> list[str]:
    """Why cells differ or were not run, each reason once with the cells it explains."""
    groups: dict[tuple[str, str], list[Checked]] = {}
    for item in checked:
        if item.reason:
            what = f"not run ({item.kind})" if item.kind else f"{item.verdict}"
            groups.setdefault((what, item.reason), []).append(item)
    return [f"{_places(items)}: {verdict} - {reason}" for (verdict, reason), items in groups.items()]


def _places(checked: Sequence[Checked]) -> str:
    """Whole rows or columns by name, else the first few cells."""
    rows = list(dict.fromkeys(item.cell.row for item in checked))
    columns = list(dict.fromkeys(item.cell.column for item in checked))
    if len(checked) == 1:
        return f"{rows[0]} / {columns[0]}"
    shorter = min((rows, columns), key=len)
    more = f" and {len(shorter) - _MOST_PLACES} more" if len(shorter) > _MOST_PLACES else ""
    return f"{', '.join(shorter[:_MOST_PLACES])}{more} ({len(checked)} cells)"


def latex_table(recipe: TableRecipe, checked: Sequence[Checked]) -> str:
    """A table for the package booktabs: as printed, with our figures, or with a user's lines below a rule."""
    own, first = any(item.cell.own for item in checked), checked[0].cell.row
    printed = {(cell.row, cell.column): cell.published for cell in recipe.cells}
    ours = {(item.cell.row, item.cell.column): item.shown or ABSENT for item in checked}
    every = {**printed, **ours} if own else {key: f"{printed[key]} / {value}" for key, value in ours.items()}
    columns = list(dict.fromkeys(column for _, column in every))
    body = {row: _latex([row, *(every.get((row, name), "") for name in columns)]) for row, _ in every}
    if own and (first, columns[0]) not in printed:
        body[first] = f"\\midrule\n{body[first]}"
    kind = "" if own else ", published / ours"
    caption = as_latex(f"{recipe.title} ({PAPERS[recipe.paper]}, {recipe.table}){kind}")
    names = {"caption": caption, "columns": "l" + "r" * len(columns), "head": _latex(["", *columns])}
    return str(_TEXTS["latex"] % {**names, "body": "\n".join(body.values())})


def _latex(line: Sequence[str]) -> str:
    return " & ".join(map(as_latex, line)) + r" \\"


def document(results: Mapping[str, Sequence[Checked]], before: str = "") -> str:
    """The page, with new results where there are any and those of the page before elsewhere."""
    measured = measured_parts(before)
    measured |= {name: _recipe_results(checked) for name, checked in results.items()}
    measured[TOTAL] = _total([text for name, text in measured.items() if name in recipes()])
    parts = [_TEXTS["introduction"], "## Recipes", recipe_list(), "## Known slips of the papers", slip_list()]
    parts += ["## Results", _TEXTS["legend"], _marked(TOTAL, measured)]
    for paper, title in PAPERS.items():
        parts.append(f"### {paper}: {title}")
        for name, recipe in recipes().items():
            if recipe.paper == paper:
                parts += [f"#### {name}: {recipe.title}", *recipe.notes, _marked(name, measured)]
    return "\n\n".join(parts) + "\n"


def measured_parts(page: str) -> dict[str, str]:
    """What an earlier page says was measured, by recipe."""
    return {match["name"]: match["body"] for match in _MEASURED.finditer(page)}


def _marked(name: str, measured: Mapping[str, str]) -> str:
    return f"<!-- measured {name} -->\n{measured.get(name, _NOT_MEASURED)}\n<!-- end -->"


def _total(parts: Sequence[str]) -> str:
    """The counts of all measured parts together; each part opens with its own."""
    measured = [part for part in parts if part != _NOT_MEASURED]
    counts: Counter[str] = Counter()
    for part in measured:
        for number, what in re.findall(rf"(\d+) ({'|'.join(_COUNTED)})", part.partition("\n")[0]):
            counts[what] += int(number)
    listed = ", ".join(f"{counts[what]} {what}" for what in _COUNTED if counts[what])
    return f"{len(measured)} of {len(recipes())} recipes measured: {listed}."


def _recipe_results(checked: Sequence[Checked]) -> str:
    lines = [f"{len(checked)} cells: {page_summary(checked)}.", ""]
    if ran := [item for item in checked if item.ours is not None]:
        columns, rows = matrix(ran)
        cells = [[label, *("" if item is None else _shown(item) for item in row)] for label, row in rows]
        lines += [*markdown_table(["", *columns], cells), ""]
    lines += [f"- {reason}" for reason in reasons(checked)]
    return "\n".join(lines).rstrip()


def recipe_list() -> str:
    """What can be run: every table, its data and how much of it can run."""
    rows = []
    for name, recipe in recipes().items():
        data = ", ".join(f"`{path}`" for path in recipe.paths) or "-"
        rows.append([f"`{name}`", recipe.title, str(len(recipe.cells)), str(len(recipe.runnable)), data])
    return "\n".join(markdown_table(["recipe", "what", "cells", "can run", "data"], rows))


def slip_list() -> str:
    """The known slips of the papers, with our evidence for each."""
    columns = ["paper", "where", "slip", "evidence"]
    slips = toml_file("recipes", "slips")["slip"]
    return "\n".join(markdown_table(columns, [[slip[column] for column in columns] for slip in slips]))
