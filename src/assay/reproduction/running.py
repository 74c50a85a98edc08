"""A recipe and a data folder to checked cells: one run of an audit serves all cells that read it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from assay.core import Measure
from assay.datasets.rows import read_rows
from assay.errors import AuditError
from assay.reproduction.metrics import recipe_measure
from assay.reproduction.recipes import Cell, Checked, Plan, Recipe, check, not_run
from assay.run.pipeline import run
from assay.run.results import Run
from assay.run.session import Session

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
    """The audit's options, with whole paths."""
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
    """One record per rating."""
    ratings = record["human"]
    for place in range(max(map(len, ratings.values()))):
        human = {name: given[place] for name, given in ratings.items() if place < len(given)}
        yield {**record, "id": f"{record['id']}/{place}", "human": human}


def _computed(plan: Plan, cells: Sequence[Cell], options: dict[str, Any], session: Session) -> list[Checked]:
    """All metrics at once; where one cannot run here, one at a time, so that it stops no other."""
    specs = list(dict.fromkeys(str(cell.metric) for cell in cells))
    measures: list[str | Measure] = [recipe_measure(spec) for spec in specs]
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
    """The findings that the cells name."""
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
