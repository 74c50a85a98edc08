"""Recipes of published tables, and running them beside the printed figures."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import polars as pl

from assay.core import Measure
from assay.datasets.lexicon import data_path, toml_file, with_tuples
from assay.datasets.rows import read_rows
from assay.errors import AuditError, DataError, SpecError, suggest
from assay.reproduction.metrics import DIALECTS
from assay.run.pipeline import run
from assay.run.results import Run
from assay.run.session import Session

PAPERS: dict[str, str] = toml_file("recipes", "page")["papers"]  # in order
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
        return f"{self.paper}:{self.table}"

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells that need nothing but data and this machine."""
        return tuple(cell for cell in self.cells if not cell.needs)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for plan in self.runs.values() for path in plan.paths))


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by name, papers and tables in order."""
    paths = [path for path in data_path("recipes").glob("*.toml") if path.stem not in ("page", "slips")]
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
    runs = {}
    for key, run_ in given.get("runs", {}).items():
        _refuse_unknown(run_, Plan, f"{name}: run {key!r}")
        runs[key] = Plan(**with_tuples(run_) | {"options": with_tuples(run_.get("options", {}))})
    cells = tuple(_cells(given, name))
    for cell in cells:
        if not cell.needs and (cell.run not in runs or not (cell.metric or cell.released)):
            raise DataError(f"{name}: {cell.row} / {cell.column} has neither a way to run it nor `needs`")
    notes, slow = tuple(given.get("notes", ())), given.get("slow", False)
    return Recipe(given["paper"], given["table"], given["title"], cells, runs, notes, slow)


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


# Figures read from scores rather than findings. `versus` is the role (or "role - role", a difference).
NORMALISED = "normalised_score"  # one case on the 0 to 100 of its attribute (*unfair* Eq. 1); slice: its id
SINGLE = "single_score"  # one case; slice: its id
MEAN = "mean_of_role"  # a mean over the cases of a slice


def reproduce(recipe: Recipe, folder: Path, session: Session | None = None) -> list[Checked]:
    """Every cell of the recipe, in its order."""
    checked = {cell: not_run(cell, cell.needs) for cell in recipe.cells if cell.needs}
    for name, plan in recipe.runs.items():
        cells = [cell for cell in recipe.runnable if cell.run == name]
        if cells:
            results = _run_plan(plan, cells, folder, session or Session.open())
            checked |= {item.cell: item for item in results}
    return [checked[cell] for cell in recipe.cells]


def _run_plan(plan: Plan, cells: Sequence[Cell], folder: Path, session: Session) -> list[Checked]:
    absent = [path for path in plan.paths if not (folder / path).exists()]
    if absent:
        return [not_run(cell, f"{', '.join(absent)} in the data folder") for cell in cells]
    released = [cell for cell in cells if cell.released]
    computed = [cell for cell in cells if cell.metric]
    checked: list[Checked] = []
    with TemporaryDirectory() as scratch:
        options = _options(plan, folder, Path(scratch))
        if released:
            scores = str(folder / str(plan.scores))
            checked += _read(run(plan.audit, (), scores=scores, session=session, **options), released)
        if computed:
            checked += _computed(plan, computed, options, session)
    return checked


def _options(plan: Plan, folder: Path, scratch: Path) -> dict[str, Any]:
    data = [folder / path for path in plan.data]
    if plan.each_judgement or plan.first_reference:
        data = [_prepared(plan, path, scratch / path.name) for path in data]
    references = {"references": folder / plan.references} if plan.references else {}
    return {"data": tuple(data), **plan.options, **references}


def _prepared(plan: Plan, path: Path, copy: Path) -> Path:
    """A copy of the data as the recipe wants it; equal samples are still scored once."""
    with copy.open("w", encoding="utf-8") as out:
        for row in read_rows(path):
            record = dict(row.values)
            if plan.first_reference:
                record["references"] = record["references"][:1]
            for single in _each_judgement(record) if plan.each_judgement else (record,):
                out.write(json.dumps(single, ensure_ascii=True) + "\n")
    return copy


def _each_judgement(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    ratings = record["human"]
    for place in range(max(map(len, ratings.values()))):
        human = {name: given[place] for name, given in ratings.items() if place < len(given)}
        yield {**record, "id": f"{record['id']}/{place}", "human": human}


def _computed(plan: Plan, cells: Sequence[Cell], options: dict[str, Any], session: Session) -> list[Checked]:
    """All metrics at once; where one cannot run here, one at a time, so that it stops no other."""
    specs = list(dict.fromkeys(str(cell.metric) for cell in cells))
    measures = [Measure(spec, DIALECTS[spec]) if spec in DIALECTS else spec for spec in specs]
    try:
        return _read(run(plan.audit, measures, session=session, **options), cells)
    except AuditError as error:
        if len(specs) == 1:
            return [not_run(cell, f"a metric that runs here: {error}") for cell in cells]
    checked: list[Checked] = []
    for spec in specs:
        checked += _computed(plan, [cell for cell in cells if cell.metric == spec], options, session)
    return checked


def _read(done: Run, cells: Sequence[Cell]) -> list[Checked]:
    table: dict[tuple[str, str, str, str | None], dict[str, Any]] = {}
    for row in done.findings.iter_rows(named=True):
        # Without `versus` a cell reads the finding that stands first, as `assay run` prints it.
        for versus in (row["versus"], None):
            table.setdefault((row["metric"], row["slice"], row["statistic"], versus), row)
    checked = []
    for cell in cells:
        label = str(cell.metric or cell.released)
        finding = table.get((label, cell.slice, cell.statistic, cell.versus))
        value = None if finding is None else float(finding[cell.field])
        if cell.statistic in (NORMALISED, SINGLE, MEAN):
            value = _from_scores(done.scores.filter(pl.col("metric") == label), cell)
        if value is None or not math.isfinite(value):
            where = f"{cell.statistic} of {label} in {cell.slice}"
            checked.append(not_run(cell, f"a figure that the audit does not give here ({where})"))
        else:
            checked.append(check(cell, value))
    return checked


def _from_scores(scores: pl.DataFrame, cell: Cell) -> float | None:
    """One metric's scores to a figure; None where a role has no score or all scores are equal."""
    case = pl.col("case")
    here = case.str.starts_with(f"{cell.slice}:") if cell.statistic == MEAN else case == cell.slice
    roles = dict(scores.filter(here).group_by("role").agg(pl.col("score").mean()).iter_rows())
    first, minus, second = str(cell.versus).partition(" - ")
    if first not in roles or (minus and second not in roles) or roles[first] is None:
        return None
    value = float(roles[first] - roles[second]) if minus else float(roles[first])
    if cell.statistic != NORMALISED:
        return value
    low, high = scores["score"].min(), scores["score"].max()
    if not isinstance(low, float) or not isinstance(high, float) or high <= low:
        return None
    return 100 * (value - (0.0 if minus else low)) / (high - low)
