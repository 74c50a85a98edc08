"""A user's metrics in a published table, in the paper's protocol; and what running recipes would cost."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from num2words import num2words

from assay.api.pipeline import estimate_cost
from assay.engine.session import Session
from assay.errors import AuditError, SpecError, suggest
from assay.files import toml_file
from assay.grouping import grouped
from assay.models.weights import CARRIERS, on_disk, present
from assay.papers.checks import Checked, Place, plan_options, reproduce
from assay.papers.recipes import Cell, Plan, Recipe

_READERS = ("rouge1", "distinct-n")  # one that reads references, and one that reads the text alone
_COUNTED = 100  # items of a file


def own_cells(recipe: Recipe, specs: Sequence[str], place: Place, session: Session) -> list[Checked]:
    """The user's metrics run as the table's own; each must give at least one figure."""
    if not recipe.runnable:
        raise SpecError(f"{recipe.name} ({recipe.title}) holds no figures of metrics; choose another table")
    checked = reproduce(_with_own(recipe, specs), place, session)
    for spec in specs:
        mine = [item for item in checked if item.cell.metric == spec]
        if all(item.ours is None for item in mine):
            raise SpecError(
                f"{spec} cannot run in {recipe.name}: {mine[0].reason}; choose another metric or table"
            )
    return checked


def _axes(recipe: Recipe) -> tuple[str, str]:
    """What a table has per metric, a row or a column, and the other of the two."""
    columns = {cell.column for cell in recipe.runnable}
    in_rows = len({(cell.column, cell.metric or cell.released) for cell in recipe.runnable}) > len(columns)
    return ("row", "column") if in_rows else ("column", "row")


def _with_own(recipe: Recipe, specs: Sequence[str]) -> Recipe:
    """The table with the user's metrics alone: a line for each metric and protocol that the table has."""
    line, across = _axes(recipe)
    lines: dict[str, dict[str, Cell]] = {}
    for cell in recipe.runnable:
        lines.setdefault(getattr(cell, line), {}).setdefault(getattr(cell, across), cell)
    ways = grouped(lines.values(), lambda listed: tuple(map(_protocol, listed.values())))
    cells = []
    for spec in specs:
        for group in ways.values():
            runs = ", ".join(dict.fromkeys(cell.run for cell in group[0].values() if cell.run))
            name: dict[str, Any] = {line: spec if len(ways) == 1 else f"{spec} ({runs})"}
            for key, cell in group[0].items():
                scale = Counter(other[key].scale for other in group).most_common(1)[0][0]
                bare = replace(cell, metric=spec, released=None, scale=scale, why="", searched=0, hours=0.0)
                cells.append(replace(bare, own=True, **name))
    return replace(recipe, cells=tuple(dict.fromkeys(cells)))


def _protocol(cell: Cell) -> tuple[object, ...]:
    return cell.run, cell.slice, cell.statistic, cell.versus, cell.field, cell.label, cell.of


def standing(mine: Checked, recipe: Recipe) -> str:
    """Where a user's figure would stand among those printed by the same protocol."""
    if mine.ours is None:
        return mine.reason
    line, across = _axes(recipe)
    others = {
        getattr(cell, line): cell.number
        for cell in recipe.cells
        if getattr(cell, across) == getattr(mine.cell, across) and _protocol(cell) == _protocol(mine.cell)
    }
    ranked = sorted(others.items(), key=lambda pair: pair[1])
    place = bisect_left([number for _, number in ranked], mine.ours)
    between = [f"{name} ({number:g})" for name, number in ranked[max(0, place - 1) : place + 1]]
    where = "between" if 0 < place < len(ranked) else "below" if place == 0 else "above"
    ordinal = num2words(place + 1, to="ordinal_num")
    return f"{ordinal} lowest of {len(ranked) + 1}, {where} {' and '.join(between)}"


@dataclass(frozen=True, slots=True)
class Step:
    """One metric of one run of a recipe: whether it would run, what it would fetch, how long it takes."""

    recipe: str
    run: str
    metric: str
    cells: int
    lacks: str  # why it would not run
    fetch: tuple[str, ...]
    seconds: float | None  # None where the data is not here to count


def steps(tables: Sequence[Recipe], place: Place, machine: str, session: Session) -> list[Step]:
    """What running recipes would take; nothing is scored or fetched."""
    speeds = toml_file("recipes", "machines")["speed"]
    if machine not in speeds:
        raise SpecError(f"unknown machine {machine!r}{suggest(machine, speeds)}; known: {', '.join(speeds)}")
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for name, cell in ((table.name, cell) for table in tables for cell in table.runnable):
        if cell.metric and not cell.of:
            cells.setdefault((name, cell.run, cell.metric), []).append(cell)
    plans = {(table.name, run): plan for table in tables for run, plan in table.runs.items()}
    planned, counted = [], dict[str, int | None]()
    for (name, run, spec), listed in cells.items():
        plan = plans[name, run]
        names = [weight for part in place.parts(spec) for weight in place.weights_of(part)]
        lack = place.missing(plan, listed[0])
        if not lack and repr(plan) not in counted:  # tables share runs
            counted[repr(plan)] = _tokens(plan, place, session)
        tokens = None if lack else counted[repr(plan)]
        work = None if tokens is None else tokens * 2e6 * sum(size_of(name)[1] for name in names)
        seconds = None if work is None else work / (1e9 * speeds[machine])
        # A file of the data folder is the user's to get.
        fetched = [name for name in names if name in CARRIERS or not name.startswith("/")]
        absent = tuple(n for n in fetched if not (present(n) if n in CARRIERS else on_disk(n)))
        planned.append(Step(name, run, spec, len(listed), ": ".join(lack or ()), absent, seconds))
    return planned


def _tokens(plan: Plan, place: Place, session: Session) -> int | None:
    """About how many tokens a metric would read, counted on some items; None where no metric can."""
    files = [place.folder / path for path in plan.data if path.endswith((".jsonl", ".txt"))]
    rows = [path.read_bytes().count(b"\n") for path in files if "limit" not in plan.options]
    some = {"limit": _COUNTED} if rows else {}
    times = max(1.0, sum(rows) / sum(min(number, _COUNTED) for number in rows)) if any(rows) else 1.0
    options = plan_options(plan, place.folder) | some
    for reader in _READERS:
        with suppress(AuditError):
            costs, _ = estimate_cost([plan.audit], [reader], options, "full", session)
            return round(times * max(cost.tokens for cost in costs))
    return None


def size_of(name: str) -> tuple[float, float]:
    """The gigabytes of a download and its millions of parameters; a guess for a folder of the user's."""
    if name in CARRIERS:
        return CARRIERS[name].megabytes / 1e3, (CARRIERS[name].parameters or 0) / 1e6
    gigabytes, millions = toml_file("recipes", "machines")["checkpoints"].get(name, (0.0, 350.0))
    return float(gigabytes), float(millions)
