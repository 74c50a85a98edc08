"""The checklist as data, one row per task, criterion and template; docs/catalogue.md shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from assay.core import Perturbation, Record
from assay.files import toml_file
from assay.names.registry import perturbation_class
from assay.vocabulary import Criterion, Expectation, Task

TASKS: tuple[Task, ...] = tuple(toml_file("checklist", "catalogue")["tasks"])


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue: a template that tests a criterion of a task."""

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
    """Every row, in the order of the file."""
    entries = []
    for template in toml_file("checklist", "catalogue")["template"]:
        name, edit, what, applies = (template[key] for key in ("name", "edit", "what", "applies"))
        for row in template["rows"]:
            kind, severity, source = row["criterion"], float(row["severity"]), row["source"]
            for task in TASKS if row["tasks"] == ["all"] else row["tasks"]:
                rare, real = (template.get(key, {}).get(task) for key in ("rare", "real"))
                entries.append(Entry(task, kind, name, edit, what, applies, severity, source, rare, real))
    return tuple(entries)


def applied(entry: Entry, records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, str]]:
    """The records that a row's template applies to, each with its changed text."""
    template = entry.perturbation
    pairs = ((record, template.perturb(record, seed)) for record in records)
    return [(record, changed) for record, changed in pairs if changed is not None]
