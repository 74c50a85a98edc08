"""The checklist as data, one row per task, criterion and template; docs/catalogue.md shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.core import Perturbation, Record
from assay.files import toml_file
from assay.names.registry import perturbation_class, perturbation_classes
from assay.vocabulary import Criterion, Expectation, Task


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue: an edit that harms a criterion of a task, or keeps all of them."""

    task: Task
    criterion: Criterion
    template: str
    edit: str  # what the template does, as a noun phrase
    what: str
    applies: str
    severity: float  # from 0, nobody minds, to 10, a different text altogether
    source: str
    rare: str | None
    real: float | None = None  # of items of public data sets that the template can change, where measured

    @property
    def slice(self) -> str:
        """The row as a path: summarisation/fluency/jumble."""
        return f"{self.task}/{self.criterion.replace(' ', '-')}/{self.template}"

    @property
    def perturbation(self) -> Perturbation:
        """The template at its default level."""
        return perturbation_class(self.template)()

    @property
    def expect(self) -> Expectation:
        """Whether the score should fall or stay."""
        return perturbation_class(self.template).expect


@cache
def catalogue() -> tuple[Entry, ...]:
    """Every row: the templates of the table in its order, then all other edits that have tasks."""
    table = {about["name"]: about for about in toml_file("checklist", "catalogue")["template"]}
    names = dict.fromkeys([*table, *perturbation_classes()])
    return tuple(entry for name in names for entry in _entries(name, table))


def _entries(name: str, table: Mapping[str, Any]) -> Iterator[Entry]:
    """The rows of one template: one for each of its tasks, or as the table has them."""
    kind, about = perturbation_class(name), table.get(name, {})
    title = kind.title or name.replace("-", " ")
    what, _, _ = (kind.__doc__ or "").strip().partition("\n")
    for row in about.get("rows", [{}]):
        criterion, severity = row.get("criterion", kind.criterion), float(row.get("severity", kind.severity))
        source = row.get("source", kind.__module__)
        for task in row.get("tasks", kind.tasks):
            rare, real = (about.get(key, {}).get(task) for key in ("rare", "real"))
            applies = about.get("applies", "")
            yield Entry(task, criterion, name, title, what, applies, severity, source, rare, real)


def applied(entry: Entry, records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, str]]:
    """The records that a row's template applies to, each with its changed text."""
    template = entry.perturbation
    pairs = ((record, template.perturb(record, seed)) for record in records)
    return [(record, changed) for record, changed in pairs if changed is not None]
