"""The checklist as data: task x criterion x template, and a page about it made by running every template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import get_args

from assay.core import Perturbation, Record
from assay.datasets.lexicon import toml_file
from assay.datasets.records import embedded_records
from assay.errors import DataError
from assay.names.registry import perturbation_class
from assay.vocabulary import Criterion, Expectation, Task

TASKS: tuple[Task, ...] = (
    "translation", "summarisation", "question-generation", "dialogue", "image-captioning", "data-to-text",
)  # fmt: skip
ENOUGH = 0.2  # of a task's items; below it the catalogue says why


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue: a template aimed at a criterion of a task."""

    task: Task
    criterion: Criterion
    template: str
    what: str
    applies: str
    severity: float  # 0: nobody minds, 10: another text altogether
    source: str
    rare: str | None

    @property
    def slice(self) -> str:
        """The row as a path: summarisation/fluency/jumble."""
        return f"{self.task}/{self.criterion.replace(' ', '-')}/{self.template}"

    @property
    def perturbation(self) -> Perturbation:
        """The template at its default level."""
        made: Perturbation = perturbation_class(self.template)()
        return made

    @property
    def expect(self) -> Expectation:
        """What it should do to a score."""
        return perturbation_class(self.template).expect


@cache
def catalogue() -> tuple[Entry, ...]:
    """Every row, in the order of the file."""
    return tuple(_entries())


def _entries() -> Iterator[Entry]:
    for template in toml_file("checklist", "catalogue")["template"]:
        for row in template["rows"]:
            for task in TASKS if row["tasks"] == ["all"] else row["tasks"]:
                yield Entry(
                    task,
                    _criterion(row["criterion"]),
                    template["name"],
                    template["what"],
                    template["applies"],
                    float(row["severity"]),
                    row["source"],
                    template.get("rare", {}).get(task),
                )


def _criterion(name: str) -> Criterion:
    for known in get_args(Criterion):
        if known == name:
            return known  # type: ignore[no-any-return]
    raise DataError(f"catalogue.toml names an unknown criterion {name!r}")


def applied(entry: Entry, records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, str]]:
    """The records a row's template applies to, with what becomes of them."""
    template = entry.perturbation
    made = ((record, template.perturb(record, seed)) for record in records)
    return [(record, changed) for record, changed in made if changed is not None]


def page() -> str:
    """docs/catalogue.md: every template with an example made by running it and its rate of application."""
    corpora = {task: embedded_records(task) for task in TASKS}
    names = dict.fromkeys(entry.template for entry in catalogue())
    return "\n".join([_HEAD, *(_section(name, corpora) for name in names)])


_HEAD = f"""# The perturbation checklist

This page is written by `python -m assay.perturbations.checklist.catalogue > docs/catalogue.md`;
a test compares it.
Every template is aimed at a criterion of a task, after the perturbation checklists of Sai et al. (2021).
*lower*: the score should fall; *same*: it should stay. *severity* is how much people should mind, from 0 to
10: defaults of assay's own, which `assay run checklist --human FILE` replaces. *applies* is the share of the
items of the embedded corpus that the template can change; where it is below {ENOUGH:.0%}, a line says why.
"""


def _section(name: str, corpora: dict[Task, list[Record]]) -> str:
    entries = [entry for entry in catalogue() if entry.template == name]
    made = {entry: applied(entry, corpora[entry.task]) for entry in entries}
    first = entries[0]
    when = f"Expected: *{first.expect}*. When: {_lowered(first.applies)}\n"
    lines = [f"## {name}\n", f"{first.what} {when}"]
    lines += ["| task | criterion | severity | applies | from |", "|---|---|---|---|---|"]
    for entry, found in made.items():
        share = len(found) / len(corpora[entry.task])
        lines.append(
            f"| {entry.task} | {entry.criterion} | {entry.severity:g} | {share:.0%} | {entry.source} |"
        )
    lines += [f"\nSeldom in {entry.task}: {_lowered(entry.rare)}" for entry in entries if entry.rare]
    shown = [pair for found in made.values() for pair in found]
    if shown:
        record, changed = min(shown, key=lambda pair: (len(pair[0].gold), pair[0].id))
        lines += [f"\n> {_quoted(record.gold)}\n>", f"> *{_quoted(changed)}*"]
    return "\n".join(lines) + "\n"


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace("*", "\\*")


if __name__ == "__main__":
    print(page(), end="")
