"""Write docs/catalogue.md from the code: every template of the checklist, how often it applies, examples."""

from __future__ import annotations

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.files import toml_file
from assay.perturbations.checklist.catalogue import applied, catalogue
from assay.vocabulary import CHECKLIST_TASKS, Task

HEAD = """# The perturbation checklist

This page is written by `python docs/make_catalogue.py > docs/catalogue.md`;
a test compares it.
Every template is aimed at a criterion of a task, after the perturbation checklists of Sai et al. (2021).
*lower*: the score should fall; *same*: it should stay. *severity* is how much people should mind, from 0 to
10: defaults of assay's own, which `assay run checklist --human FILE` replaces. *applies* is the share of the
items of the embedded corpus that the template can change; where it is below 20%, a line says why.
*real* is that share on 160 items or more of public data, where it was measured: WMT21 and TED, CNN/DM,
DailyDialog++ (replies, and its questions for question generation), Flickr8k, and sentences of WikiText for
data-to-text. Outputs on such data were read by language models, not by people: two that had no part in the
templates, each by itself.
"""


def page() -> str:
    """docs/catalogue.md: every template with how often it applies and an example made by running it."""
    corpora = {task: embedded_records(task) for task in CHECKLIST_TASKS}
    names = dict.fromkeys(entry.template for entry in catalogue())
    return "\n".join([HEAD, *(section(name, corpora) for name in names)])


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
    readings = toml_file("checklist", "catalogue")["readings"]
    if read := readings.get(name):
        outputs, *correct = read
        right = f"{correct[0]} and {correct[1]} were right, read by two models."
        lines.append(f"\nOf {outputs} outputs on public data, {right}")
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
