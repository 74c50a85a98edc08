"""Recipe files to recipes: where a table's figures come from, what was published, why ours may differ.

A recipe is TOML. `runs` say which audit to run on which files below the data folder. `columns` and `rows`
(with `cells`, one published figure a column) say how a figure is found: each may set any key of `Cell`; a
row's keys come before a column's, and those before `defaults`. A column's slice `{}/gold` takes the row's
slice. `[override."ROW / COLUMN"]` has the last word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from assay.datasets.lexicon import data_path
from assay.errors import DataError, SpecError, suggest

PAPERS = ("assoc", "unfair", "caption", "blind", "checklist")
ABSENT = "-"  # the paper prints no figure here
_KEYS = frozenset({
    "run", "metric", "released", "slice", "statistic", "versus", "scale", "absolute", "field", "tolerance",
    "needs", "why", "searched",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one audit; paths are relative to the data folder."""

    audit: str
    data: tuple[str, ...]
    references: str | None = None
    scores: str | None = None  # FILE:COLUMN of scores the authors released
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # options that are files of the data folder
    each_judgement: bool = False  # every rating a row of its own, as Elliott and Keller (2014) correlate
    first_reference: bool = False  # the other references are left out

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file it reads."""
        scores = (self.scores.rpartition(":")[0],) if self.scores else ()
        more = (self.references,) if self.references else ()
        return tuple(dict.fromkeys((*self.data, *more, *scores, *self.files.values())))


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
    found = [
        parse_recipe(path.read_text("utf-8"), path.name)
        for path in data_path("recipes").glob("*.toml")
        if path.name != "slips.toml"
    ]
    found.sort(key=lambda one: (PAPERS.index(one.paper), _natural(one.table)))
    return {one.name: one for one in found}


def find_recipe(name: str) -> Recipe:
    """The recipe of that name."""
    known = recipes()
    if name not in known:
        raise SpecError(f"no recipe {name!r}{suggest(name, known)}; `assay reproduce` lists them")
    return known[name]


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
    return Recipe(
        given["paper"],
        given["table"],
        given["title"],
        cells,
        runs,
        tuple(given.get("notes", ())),
        given.get("slow", False),
    )


def _plan(given: Mapping[str, Any], where: str) -> Plan:
    known = {"audit", "data", "references", "scores", "options", "files", "each_judgement", "first_reference"}
    _refuse_unknown(given, known, where)
    values: dict[str, Any] = dict(given)
    values["data"] = tuple(given["data"])
    options = given.get("options", {})
    values["options"] = {key: tuple(v) if isinstance(v, list) else v for key, v in options.items()}
    return Plan(**values)


def _refuse_unknown(given: Mapping[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise DataError(f"{where}: unknown key {key!r}{suggest(key, known)}")


def _cells(given: Mapping[str, Any], name: str) -> Iterator[Cell]:
    columns: Mapping[str, Mapping[str, Any]] = given["columns"]
    overrides = dict(given.get("override", {}))
    for row in given["rows"]:
        printed = str(row["cells"]).split()
        label = row["name"]
        if len(printed) != len(columns):
            raise DataError(f"{name}: row {label!r} has {len(printed)} cells for {len(columns)} columns")
        own = {key: value for key, value in row.items() if key not in ("name", "cells")}
        for (column, keys), published in zip(columns.items(), printed, strict=True):
            special = overrides.pop(f"{label} / {column}", {})
            if published != ABSENT:
                merged = _merged(given.get("defaults", {}), keys, own, special)
                _refuse_unknown(merged, _KEYS, f"{name}: {label} / {column}")
                yield from _sources(Cell(label, column, published, **merged))
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


def _sources(cell: Cell) -> Sequence[Cell]:
    """A figure that can be had from text and from released scores is checked both ways."""
    if cell.metric is None or cell.released is None:
        return (cell,)
    return replace(cell, released=None), replace(cell, metric=None)
