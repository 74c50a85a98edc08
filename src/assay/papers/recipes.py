"""Recipes of published tables: which metric, audit, options and data would produce each printed figure."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, get_args

from assay.errors import DataError, SpecError, suggest
from assay.files import data_path, toml_file, with_tuples

PAPERS: dict[str, str] = toml_file("recipes", "page")["papers"]  # in order
ABSENT = "-"  # the paper prints no figure here
DATA = "{data}"  # the data folder, in a metric's spec
_OTHERS = ("page", "slips", "sources", "releases")  # files beside the recipes
# Why a cell was not run. The first four are found when it should run; the last four stand in the recipe or in
# recipes/sources.toml.
RecipeKind = Literal[
    "weights", "package", "data", "time", "never released", "people", "no metric", "not a result", "no figure"
]


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one audit; paths are relative to the data folder."""

    audit: str
    data: tuple[str, ...]
    files: Mapping[str, Any] = field(default_factory=dict)  # options that name files, or lists of them
    scores: str | None = None  # FILE:COLUMN of scores the authors released
    options: Mapping[str, Any] = field(default_factory=dict)
    each_judgement: bool = False  # each rating is a row of its own, as Elliott and Keller (2014) correlate
    first_reference: bool = False  # the other references are left out

    @property
    def paths(self) -> tuple[str, ...]:
        scores = (self.scores or "").rpartition(":")[0]
        listed = [[given] if isinstance(given, str) else given for given in self.files.values()]
        files = [path for paths in listed for path in paths]
        return tuple(dict.fromkeys(path for path in (*self.data, *files, scores) if path))


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
    why: str = ""  # the known reason of a difference
    searched: int = 0  # settings tried against the published figures to find this one; 0: fixed beforehand
    label: str = ""  # whose finding it is, where not the metric's: a captioner's gender errors
    of: tuple[str, ...] = ()  # the mean of these columns of its row
    hours: float = 0.0  # so long on one core that it is run only where asked for
    kind: RecipeKind | None = None  # with `reason`: nobody can run this cell
    reason: str = ""
    own: bool = False  # a user's metric in the place of the paper's; `published` tells the digits alone

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
        return "released scores" if self.released else "text"


@dataclass(frozen=True, slots=True)
class TableRecipe:
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
        return f"{self.paper}:{self.table}"

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells that somebody with the data and the weights can run."""
        return tuple(cell for cell in self.cells if not cell.kind)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for plan in self.runs.values() for path in plan.paths))


@cache
def recipes() -> dict[str, TableRecipe]:
    """Every recipe by name, papers and tables in order."""
    paths = [path for path in data_path("recipes").glob("*.toml") if path.stem not in _OTHERS]
    known = [parse_recipe(path.read_text("utf-8"), path.name) for path in paths]
    known.sort(key=lambda recipe: (list(PAPERS).index(recipe.paper), _natural(recipe.table)))
    return {recipe.name: recipe for recipe in known}


def find_recipe(name: str) -> TableRecipe:
    """The recipe of that name."""
    if name not in recipes():
        raise SpecError(f"no recipe {name!r}{suggest(name, recipes())}; `assay papers reproduce` lists them")
    return recipes()[name]


def _natural(table: str) -> tuple[bool, int, str]:
    """Tables before figures and curves, by number."""
    digits = "".join(letter for letter in table if letter.isdigit())
    return not table.startswith("table"), int(digits or 0), table


def parse_recipe(text: str, name: str) -> TableRecipe:
    """A recipe file's text; errors name the file and what is wrong in it."""
    given = tomllib.loads(text)
    runs = {}
    for key, run_ in given.get("runs", {}).items():
        _refuse_unknown(run_, Plan, f"{name}: run {key!r}")
        inner = {part: with_tuples(run_.get(part, {})) for part in ("options", "files")}
        runs[key] = Plan(**with_tuples(run_) | inner)
    cells = tuple(_cells(given, name))
    for cell in cells:
        if cell.kind is not None and (cell.kind not in get_args(RecipeKind) or not cell.reason):
            raise DataError(f"{name}: {cell.row} / {cell.column} has an unknown kind or no `reason`")
        if not (cell.kind or cell.of) and (cell.run not in runs or not (cell.metric or cell.released)):
            raise DataError(f"{name}: {cell.row} / {cell.column} has neither a way to run it nor a `kind`")
    notes, slow = tuple(given.get("notes", ())), given.get("slow", False)
    return TableRecipe(given["paper"], given["table"], given["title"], cells, runs, notes, slow)


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
                cell = Cell(label, column, published, **with_tuples(merged))
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


def axes(recipe: TableRecipe) -> tuple[str, str]:
    """What a table has per metric, a row or a column, and the other of the two."""
    columns = {cell.column for cell in recipe.runnable}
    in_rows = len({(cell.column, cell.metric or cell.released) for cell in recipe.runnable}) > len(columns)
    return ("row", "column") if in_rows else ("column", "row")
