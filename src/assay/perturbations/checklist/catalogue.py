"""The checklist as data, one row per task, criterion and template; and docs/catalogue.md, a page about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from assay.core import Perturbation, Record
from assay.datasets.lexicon import toml_file
from assay.datasets.records import embedded_records
from assay.names.registry import perturbation_class
from assay.vocabulary import Criterion, Expectation, Task

TASKS: tuple[Task, ...] = (
    "translation", "summarisation", "question-generation", "dialogue", "image-captioning", "data-to-text",
)  # fmt: skip
ENOUGH = 0.2  # of a task's items; below it the catalogue gives the reason


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the catalogue: a template that tests a criterion of a task."""

    task: Task
    criterion: Criterion
    template: str
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
        template: type[Perturbation] = perturbation_class(self.template)
        return template()

    @property
    def expect(self) -> Expectation:
        """Whether the score should fall or stay."""
        return perturbation_class(self.template).expect


@cache
def catalogue() -> tuple[Entry, ...]:
    """Every row, in the order of the file."""
    templates = toml_file("checklist", "catalogue")["template"]
    return tuple(
        Entry(
            task,
            row["criterion"],
            template["name"],
            template["what"],
            template["applies"],
            float(row["severity"]),
            row["source"],
            template.get("rare", {}).get(task),
            template.get("real", {}).get(task),
        )
        for template in templates
        for row in template["rows"]
        for task in (TASKS if row["tasks"] == ["all"] else row["tasks"])
    )


def applied(entry: Entry, records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, str]]:
    """The records that a row's template applies to, each with its changed text."""
    template = entry.perturbation
    pairs = ((record, template.perturb(record, seed)) for record in records)
    return [(record, changed) for record, changed in pairs if changed is not None]


def page() -> str:
    """docs/catalogue.md: every template with how often it applies and an example made by running it."""
    corpora = {task: embedded_records(task) for task in TASKS}
    names = dict.fromkeys(entry.template for entry in catalogue())
    return "\n".join([_HEAD, *(section(name, corpora) for name in names)])


_HEAD = f"""# The perturbation checklist

This page is written by `python -m assay.perturbations.checklist.catalogue > docs/catalogue.md`;
a test compares it.
Every template is aimed at a criterion of a task, after the perturbation checklists of Sai et al. (2021).
*lower*: the score should fall; *same*: it should stay. *severity* is how much people should mind, from 0 to
10: defaults of assay's own, which `assay run checklist --human FILE` replaces. *applies* is the share of the
items of the embedded corpus that the template can change; where it is below {ENOUGH:.0%}, a line says why.
*real* is that share on public data, where it was measured: WMT21 and TED, CNN/DM, DailyDialog++ (replies, and
its questions for question generation), Flickr8k, and sentences of WikiText for data-to-text.
"""


def section(name: str, corpora: dict[Task, list[Record]]) -> str:
    """What the page says of one template: where it applies, how often, and an example."""
    entries = [entry for entry in catalogue() if entry.template == name]
    results = {entry: applied(entry, corpora[entry.task]) for entry in entries}
    first = entries[0]
    when = f"Expected: *{first.expect}*. When: {_lowered(first.applies)}\n"
    lines = [f"## {name}\n", f"{first.what} {when}"]
    lines += ["| task | criterion | severity | applies | real | from |", "|---|---|---|---|---|---|"]
    for entry, pairs in results.items():
        share = len(pairs) / len(corpora[entry.task])
        real = "" if entry.real is None else f"{entry.real:.0%}"
        cells = (entry.task, entry.criterion, f"{entry.severity:g}", f"{share:.0%}", real, entry.source)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"\nSeldom in {entry.task}: {_lowered(entry.rare)}" for entry in entries if entry.rare]
    examples = [pair for pairs in results.values() for pair in pairs]
    if examples:
        record, changed = min(examples, key=lambda pair: (len(pair[0].gold), pair[0].id))
        lines += [f"\n> {_quoted(record.gold)}\n>", f"> *{_quoted(changed)}*"]
    return "\n".join(lines) + "\n"


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace("*", "\\*")


if __name__ == "__main__":
    print(page(), end="")
