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
    edit: str  # what the template does, as a noun phrase
    what: str
    applies: str
    severity: float  # from 0, nobody minds, to 10, a different text altogether
    source: str
    rare: str | None
    real: float | None = None  # of items of public data sets that the template can change, where measured
    read: tuple[int, ...] = ()  # outputs on public data; how many of them each of two readers found right

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
    entries = []
    table = toml_file("checklist", "catalogue")
    for template in table["template"]:
        name, edit, what, applies = (template[key] for key in ("name", "edit", "what", "applies"))
        read = tuple(table["readings"].get(name, ()))
        for row in template["rows"]:
            criterion, severity, source = row["criterion"], float(row["severity"]), row["source"]
            for task in TASKS if row["tasks"] == ["all"] else row["tasks"]:
                rare, real = (template.get(key, {}).get(task) for key in ("rare", "real"))
                entries.append(
                    Entry(task, criterion, name, edit, what, applies, severity, source, rare, real, read)
                )
    return tuple(entries)


def applied(entry: Entry, records: Sequence[Record], *, seed: int = 0) -> list[tuple[Record, str]]:
    """The records that a row's template applies to, each with its changed text."""
    template = entry.perturbation
    pairs = ((record, template.perturb(record, seed)) for record in records)
    return [(record, changed) for record, changed in pairs if changed is not None]


def page() -> str:
    """docs/catalogue.md: every template with how often it applies and an example made by running it."""
    corpora = {task: embedded_records(task) for task in TASKS}
    names = dict.fromkeys(entry.template for entry in catalogue())
    head = toml_file("checklist", "catalogue")["page"].format(enough=ENOUGH)
    return "\n".join([head, *(section(name, corpora) for name in names)])


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
    if first.read:
        outputs, *correct = first.read
        lines.append(
            f"\nOf {outputs} outputs on public data two language models, as readers, "
            f"found {correct[0]} and {correct[1]} right."
        )
    examples = [pair for pairs in results.values() for pair in pairs]
    examples.sort(key=lambda pair: (len(pair[0].gold), pair[0].id))
    for place in sorted({len(examples) * part // 8 for part in range(3)} if examples else ()):
        record, changed = examples[place]
        lines += [f"\n> {_quoted(record.gold)}\n>", f"> *{_quoted(changed)}*"]
    return "\n".join(lines) + "\n"


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace("*", "\\*")


if __name__ == "__main__":
    print(page(), end="")
