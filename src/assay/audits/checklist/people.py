"""How much people mind: penalties from a file, per item or per template, or the catalogue's defaults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core import Case
from assay.datasets.rows import Row, read_rows
from assay.errors import suggest
from assay.perturbations.checklist.catalogue import TASKS, catalogue
from assay.vocabulary import Rule

Key = tuple[str, str]  # task, template
LIMIT = 10.0
OURS = (
    "human_deviation rests on assay's own severity defaults (docs/catalogue.md), not on people's penalties; "
    "give --human FILE to measure against people"
)


@dataclass(frozen=True, slots=True)
class Penalties:
    """Mean penalties on the scale of 0 to 10, by template and by item."""

    templates: Mapping[Key, float]
    items: Mapping[tuple[str, str, str], float]
    by_people: bool

    def of(self, case: Case, rule: Rule) -> float | None:
        """A case's penalty: its own, else its template's; the paper asked about templates only."""
        task, template, item = (str(case.meta[key]) for key in ("task", "template", "item"))
        own = self.items.get((task, template, item)) if rule == "careful" else None
        return own if own is not None else self.templates.get((task, template))


def default_penalties() -> Penalties:
    """The catalogue's severities."""
    return Penalties({(entry.task, entry.template): entry.severity for entry in catalogue()}, {}, False)


def read_penalties(path: Path) -> Penalties:
    """Rows of `task, template, penalty, item?`; a penalty is a number, or a list with one per person."""
    templates = [entry.template for entry in catalogue()]
    by_item: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    by_template: dict[Key, list[float]] = defaultdict(list)
    for row in read_rows(path):
        task, template = _known(row, "task", TASKS), _known(row, "template", templates)
        penalties = _penalties(row)
        by_template[task, template] += penalties
        if row.has("item"):
            by_item[task, template, row.text("item")] += penalties
    return Penalties(
        {key: float(np.mean(penalties)) for key, penalties in by_template.items()},
        {key: float(np.mean(penalties)) for key, penalties in by_item.items()},
        True,
    )


def _known(row: Row, column: str, names: Sequence[str]) -> str:
    value = row.text(column)
    if value not in names:
        raise row.fail(f"unknown {column} {value!r}{suggest(value, set(names))}")
    return value


def _penalties(row: Row) -> list[float]:
    value = row.values.get("penalty")
    given = value if isinstance(value, list) else [row.number("penalty")]
    numbers = [float(item) for item in given if isinstance(item, int | float) and not isinstance(item, bool)]
    if len(numbers) != len(given) or not numbers or not all(0.0 <= item <= LIMIT for item in numbers):
        raise row.fail(f"column 'penalty' must be a number from 0 to {LIMIT:g}, or a list of them")
    return numbers
