"""Recipe files to recipes, and published figures beside ours to verdicts.

A recipe is TOML. `runs` say which audit to run on which files below the data folder. `columns` and `rows`
(with `cells`, one published figure per column) say how a figure is found: each may set any key of `Cell`; a
row's keys come before a column's, and those before `defaults`. A column's slice `{}/gold` takes the row's
slice. `[override."ROW / COLUMN"]` has the last word.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, get_args

from assay.datasets.lexicon import data_path
from assay.errors import DataError, SpecError, suggest

PAPERS = {
    "assoc": "Gao & Wan (2022), Social Biases in Automatic Evaluation Metrics for NLG",
    "unfair": "Sun et al. (2022), BERTScore is Unfair",
    "caption": "Qiu et al. (2023), Gender Biases in Automatic Evaluation Metrics for Image Captioning",
    "blind": "He et al. (2023), On the Blind Spots of Model-Based Evaluation Metrics",
    "checklist": "Sai et al. (2021), Perturbation CheckLists for Evaluating NLG Evaluation Metrics",
}
ABSENT = "-"  # the paper prints no figure here
Verdict = Literal["equal", "within tolerance", "differs", "not run"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one audit; paths are relative to the data folder."""

    audit: str
    data: tuple[str, ...]
    references: str | None = None
    scores: str | None = None  # FILE:COLUMN of scores the authors released
    options: Mapping[str, Any] = field(default_factory=dict)
    each_judgement: bool = False  # each rating is a row of its own, as Elliott and Keller (2014) correlate
    first_reference: bool = False  # the other references are left out

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file it reads."""
        scores = (self.scores or "").rpartition(":")[0]
        paths = (*self.data, self.references, scores)
        return tuple(dict.fromkeys(path for path in paths if path))


@dataclass(frozen=True, slots=True)
class Cell:
    """A published figure, and the finding that should equal it."""

    row: str
    column: str
    published: str  # as printed, so that its precision is known
    run: str = ""
    metric: str | None = None  # a spec: computed here, from text
    released: str | None = None  # a metric of the authors' released scores
    slice: str = ""
    statistic: str = ""
    versus: str | None = None
    scale: float = 1.0
    absolute: bool = False
    field: str = "value"  # or "n": how many items the finding rests on
    tolerance: float = 0.0
    needs: str = ""  # what is missing; such a cell is not run
    why: str = ""  # the known reason of a difference
    searched: int = 0  # settings tried against the published figures to find this one; 0: fixed beforehand

    @property
    def number(self) -> float:
        """The published figure; a mark of significance is dropped."""
        return float(self.published.rstrip("*"))

    @property
    def decimals(self) -> int:
        """How many digits the paper prints after the point."""
        return len(self.published.rstrip("*").partition(".")[2])

    @property
    def source(self) -> str:
        """What ours is computed from."""
        return "released scores" if self.released else "text"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A table (or figure) of a paper."""

    paper: str
    table: str
    title: str
    cells: tuple[Cell, ...]
    runs: Mapping[str, Plan]
    notes: tuple[str, ...] = ()
    slow: bool = False  # minutes rather than seconds

    @property
    def name(self) -> str:
        """As people ask for it: unfair:table6."""
        return f"{self.paper}:{self.table}"

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells that need nothing but data and this machine."""
        return tuple(cell for cell in self.cells if not cell.needs)

    @property
    def paths(self) -> tuple[str, ...]:
        """The data files it expects."""
        return tuple(dict.fromkeys(path for plan in self.runs.values() for path in plan.paths))


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by name, papers and tables in order."""
    paths = [path for path in data_path("recipes").glob("*.toml") if path.name != "slips.toml"]
    known = [parse_recipe(path.read_text("utf-8"), path.name) for path in paths]
    known.sort(key=lambda recipe: (list(PAPERS).index(recipe.paper), _natural(recipe.table)))
    return {recipe.name: recipe for recipe in known}


def find_recipe(name: str) -> Recipe:
    """The recipe of that name."""
    if name not in recipes():
        raise SpecError(f"no recipe {name!r}{suggest(name, recipes())}; `assay reproduce` lists them")
    return recipes()[name]


def _natural(table: str) -> tuple[bool, int, str]:
    """Tables before figures and curves, by number."""
    digits = "".join(letter for letter in table if letter.isdigit())
    return not table.startswith("table"), int(digits or 0), table


def parse_recipe(text: str, name: str) -> Recipe:
    """A recipe file's text; errors name the file and what is wrong in it."""
    given = tomllib.loads(text)
    runs = {key: _plan(value, f"{name}: run {key!r}") for key, value in given.get("runs", {}).items()}
    cells = tuple(_cells(given, name))
    for cell in cells:
        if not cell.needs and (cell.run not in runs or not (cell.metric or cell.released)):
            raise DataError(f"{name}: {cell.row} / {cell.column} has neither a way to run it nor `needs`")
    notes, slow = tuple(given.get("notes", ())), given.get("slow", False)
    return Recipe(given["paper"], given["table"], given["title"], cells, runs, notes, slow)


def _plan(given: Mapping[str, Any], where: str) -> Plan:
    _refuse_unknown(given, Plan, where)
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in given.get("options", {}).items()}
    return Plan(**{**given, "data": tuple(given["data"]), "options": options})


def _refuse_unknown(given: Mapping[str, Any], kind: type[Plan | Cell], where: str) -> None:
    known = {item.name for item in fields(kind)} - {"row", "column", "published"}
    for key in given:
        if key not in known:
            raise DataError(f"{where}: unknown key {key!r}{suggest(key, known)}")


def _cells(given: Mapping[str, Any], name: str) -> Iterator[Cell]:
    columns: Mapping[str, Mapping[str, Any]] = given["columns"]
    overrides = dict(given.get("override", {}))
    for row in given["rows"]:
        figures, label = str(row["cells"]).split(), row["name"]
        if len(figures) != len(columns):
            raise DataError(f"{name}: row {label!r} has {len(figures)} cells for {len(columns)} columns")
        own = {key: value for key, value in row.items() if key not in ("name", "cells")}
        for (column, keys), published in zip(columns.items(), figures, strict=True):
            special = overrides.pop(f"{label} / {column}", {})
            if published != ABSENT:
                merged = _merged(given.get("defaults", {}), keys, own, special)
                _refuse_unknown(merged, Cell, f"{name}: {label} / {column}")
                cell = Cell(label, column, published, **merged)
                if cell.metric and cell.released:  # a figure that can be had in two ways is checked both ways
                    yield from (replace(cell, released=None), replace(cell, metric=None))
                else:
                    yield cell
    for left in overrides:
        raise DataError(f"{name}: override {left!r} names no cell")


def _merged(*levels: Mapping[str, Any]) -> dict[str, Any]:
    """Later levels win; a slice with a gap is filled by the next level's slice."""
    merged: dict[str, Any] = {}
    for level in levels:
        for key, value in level.items():
            before = merged.get(key, "")
            merged[key] = before.replace("{}", value) if key == "slice" and "{}" in before else value
    return merged


# --- verdicts ---


@dataclass(frozen=True, slots=True)
class Checked:
    """A cell with our figure (None: not run) and what to make of it."""

    cell: Cell
    ours: float | None
    verdict: Verdict
    reason: str = ""

    @property
    def shown(self) -> str:
        """Our figure, as precise as the published one and two digits more where they differ."""
        if self.ours is None:
            return ""
        return printed(self.ours, self.cell.decimals + (0 if self.verdict == "equal" else 2))

    @property
    def difference(self) -> float | None:
        """Our figure minus the published one; None where it was not run."""
        return None if self.ours is None else self.ours - self.cell.number


def printed(value: float, decimals: int) -> str:
    """As a paper prints it; there is no minus before a zero."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if not float(text) else text


def check(cell: Cell, value: float) -> Checked:
    """Our figure, scaled as the paper's, against the cell."""
    ours = (abs(value) if cell.absolute else value) * cell.scale
    if printed(ours, cell.decimals) == printed(cell.number, cell.decimals):
        return Checked(cell, ours, "equal")
    if abs(ours - cell.number) <= cell.tolerance:
        return Checked(cell, ours, "within tolerance", cell.why)
    return Checked(cell, ours, "differs", cell.why or "no reason known")


def not_run(cell: Cell, needs: str) -> Checked:
    """A cell that something is missing for; nothing is guessed."""
    return Checked(cell, None, "not run", f"needs {needs}")


def count(checked: Iterable[Checked]) -> dict[Verdict, int]:
    """How many cells of each verdict."""
    counts = Counter(item.verdict for item in checked)
    return {verdict: counts[verdict] for verdict in get_args(Verdict)}
