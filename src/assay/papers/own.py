"""A user's metrics in a published table, in the paper's protocol."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from num2words import num2words

from assay.engine.session import Session
from assay.errors import SpecError
from assay.grouping import grouped
from assay.papers.checks import Checked, PublishedCell, reproduce
from assay.papers.recipes import Cell, TableRecipe, axes


def own_cells(
    recipe: TableRecipe, specs: Sequence[str], place: PublishedCell, session: Session
) -> list[Checked]:
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


def _with_own(recipe: TableRecipe, specs: Sequence[str]) -> TableRecipe:
    """The table with the user's metrics alone: a line for each metric and protocol that the table has."""
    line, across = axes(recipe)
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


def own_standing(mine: Checked, recipe: TableRecipe) -> str:
    """Where a user's figure would stand among those printed by the same protocol."""
    if mine.ours is None:
        return mine.reason
    line, across = axes(recipe)
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
