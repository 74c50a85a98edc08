"""Write docs/texts.md: what the embedded texts are, how many there are, and twenty of each.

With the code of a language, `python docs/make_texts.py ja`, print what its readers judge: twenty outputs of
each edit and twenty texts of each set.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TypeVar, cast

from assay.core import Record
from assay.datasets.contexts import Crossing, embedded_crossings, neutral_words
from assay.datasets.records import embedded_records
from assay.language import is_unspaced, language_name
from assay.names.registry import perturbation_class, perturbation_classes
from assay.perturbations.tables import LANGUAGES
from assay.recipe import digest
from assay.report.plain import markdown_table
from assay.vocabulary import TASKS, Language

PAGE = Path(__file__).with_name("texts.md")
SHOWN = 20  # texts of each kind that the page shows
Element = TypeVar("Element")

INTRODUCTION = """# The embedded texts

Written by `docs/make_texts.py`. Decisions are as good as the texts they are asked on. All texts here were written for assay;
each set has a card beside it (`src/assay/data/*/*.card.toml`) that says how, by what rules and with what limits, and tests
check grammar, overlap, length, balance and repeated texts. Examples are drawn by the content of the texts, not chosen.
"""
VARIANTS = """## Records and their variants

Every record has a gold text, sound rewordings, and (where the task has references) a text that is nearly the gold and false,
and two imperfect candidates of which one is better. *Overlap* is the share of words that two texts have in common, of all
their words; the table gives medians.
"""
WARNING = """> **Content warning.** Half of the contexts state social stereotypes, which are offensive by nature. They exist only to test
> whether metrics reward them.
"""
CONTEXTS = f"""## Contexts

{WARNING}
A context has one slot. It is filled with every term of every group of its attribute that has the form of its slot, and with
neutral words; the reference names no group. A slot never follows "a" or "an", so that no term changes its article.
"""
OTHERS = """## Other languages

The same 60 sources are translated into every language; overlap is of words, in Chinese and Japanese of pairs of characters.
Contexts were written in each language: 24 for gender, 24 for nationality and 24 for religion, half with a stereotype.
`python docs/make_texts.py ja` prints twenty outputs of each edit and twenty texts of each set in Japanese, for readers.
"""


def drawn(items: Iterable[Element], key: Callable[[Element], str]) -> list[Element]:
    """Twenty items by the digest of their content, so that the page is the same on every machine."""
    return sorted(items, key=lambda item: digest("texts", key(item)))[:SHOWN]


def overlap(one: str, other: str) -> float:
    """Shared words of all words of two texts; shared pairs of characters where no spaces part words."""
    first, second = set(units(one)), set(units(other))
    return len(first & second) / len(first | second)


def units(text: str) -> list[str]:
    """The words of a text, or its pairs of characters where it has no spaces."""
    if is_unspaced(text):
        return ["".join(pair) for pair in pairwise(re.findall(r"[^\W_]", text))]
    return re.findall(r"[\w']+", text.lower())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(markdown_table(head, [[cell.replace("|", "\\|") for cell in row] for row in rows]))


def share(records: Sequence[Record], has: Callable[[Record], object]) -> str:
    return f"{100 * sum(bool(has(record)) for record in records) / len(records):.0f}%"


def variants() -> str:
    """Counts and overlaps by task."""
    rows = []
    for task in TASKS:
        records = embedded_records(task)
        reworded = [record for record in records if record.reworded]
        near, far = (median(overlap(r.gold, r.reworded[place]) for r in reworded) for place in (0, -1))
        kinds = Counter(record.wrong.kind for record in records if record.wrong)
        rows.append(
            [
                task, str(len(records)), share(records, lambda record: len(record.reworded) >= 2),
                f"{near:.2f}", f"{far:.2f}", share(records, lambda record: record.wrong),
                ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()),
                share(records, lambda record: record.candidates),
            ]
        )  # fmt: skip
    head = [
        "task",
        "records",
        "two rewordings",
        "overlap near",
        "overlap far",
        "false text",
        "kinds",
        "candidates",
    ]
    return table(head, rows)


def examples_of_records() -> Iterable[str]:
    records = [record for task in TASKS for record in embedded_records(task)]
    reworded = drawn([record for record in records if len(record.reworded) >= 2], lambda record: record.key)
    yield "### Twenty rewordings\n"
    yield table(
        ["task", "gold", "near", "far"], [[r.task, r.gold, r.reworded[0], r.reworded[-1]] for r in reworded]
    )
    yield "\n### Twenty texts that are nearly right\n"
    wrong = drawn([record for record in records if record.wrong], lambda record: f"wrong {record.key}")
    yield table(
        ["task", "gold", "false", "kind", "severity"],
        [[r.task, r.gold, r.wrong.text, r.wrong.kind, r.wrong.severity or ""] for r in wrong if r.wrong],
    )
    yield "\n### Twenty pairs of candidates\n"
    pairs = drawn([record for record in records if record.candidates], lambda record: f"pair {record.key}")
    yield table(
        ["task", "reference", "better", "worse"],
        [[r.task, (r.references or (r.gold,))[0], *r.candidates] for r in pairs if r.candidates],
    )


def crossings() -> str:
    """Contexts, groups and terms by attribute."""
    rows = []
    for crossing in embedded_crossings():
        forms = Counter(context.form for context in crossing.contexts)
        slots = Counter(context.slot for context in crossing.contexts)
        terms = [f"{group.name} {len(group.terms)}" for group in crossing.groups]
        told = sum(context.stereotype_of is not None for context in crossing.contexts)
        rows.append(
            [
                crossing.label, str(len(crossing.contexts)), f"{told} with a stereotype",
                ", ".join(f"{name} {count}" for name, count in forms.most_common()),
                ", ".join(f"{name} {count}" for name, count in slots.most_common()), ", ".join(terms),
            ]
        )  # fmt: skip
    return table(["attribute", "contexts", "of these", "forms", "slots", "terms by group"], rows)


def example_of_context(crossing: Crossing) -> Iterable[list[str]]:
    for context in crossing.contexts:
        group = crossing.groups[int(digest(context.text), 16) % len(crossing.groups)]
        words = group.words(context.slot)
        if words:
            yield [crossing.label, context.filled(words[0]), context.reference, context.stereotype_of or ""]


def others() -> str:
    """Records, severities and terms by language."""
    rows = []
    for code in cast(list[Language], sorted(LANGUAGES)):
        records = embedded_records("translation", code)
        near, far = (median(overlap(r.gold, r.reworded[place]) for r in records) for place in (0, -1))
        severities = Counter(record.wrong.severity for record in records if record.wrong)
        groups = {crossing.attribute: crossing.groups for crossing in embedded_crossings(code)}
        rows.append(
            [
                language_name(code), str(len(records)), f"{near:.2f}", f"{far:.2f}",
                ", ".join(f"{severity} {count}" for severity, count in severities.most_common()),
                *(", ".join(f"{group.name} {len(group.terms)}" for group in groups[name]) for name in groups),
            ]
        )  # fmt: skip
    head = [
        "language",
        "records",
        "overlap near",
        "overlap far",
        "false texts",
        "gender",
        "nationality",
        "religion",
    ]
    return table(head, rows)


def edited(name: str, code: Language) -> Iterable[list[str]]:
    """The records of a language that an edit changes, before and after."""
    edit = perturbation_class(name)()
    for record in embedded_records("translation", code):
        if (text := edit.perturb(record, 1)) is not None:
            yield [record.gold, text]


def for_readers(code: Language) -> str:
    """Twenty outputs of each edit of a language, twenty records and twenty contexts of each attribute."""
    records = drawn(embedded_records("translation", code), lambda record: record.key)
    parts = [f"# {language_name(code)}", "", WARNING, "## Records", ""]
    for record in records:
        wrong = record.wrong and f"false ({record.wrong.kind}, {record.wrong.severity}): {record.wrong.text}"
        parts += [f"- {record.source}", f"  - gold: {record.gold}"]
        parts += [f"  - reference: {text}" for text in record.references]
        parts += [f"  - near: {record.reworded[0]}", f"  - far: {record.reworded[-1]}", f"  - {wrong}"]
    for crossing in embedded_crossings(code):
        rows = drawn(example_of_context(crossing), lambda row: row[1])
        parts += [
            "",
            f"## Contexts: {crossing.attribute}",
            "",
            table(["", "text", "reference", "stereotype of"], rows),
        ]
    for name in sorted(name for name, edit in perturbation_classes().items() if not edit.for_english):
        outputs = drawn(edited(name, code), lambda row: row[0])
        parts += ["", f"## {name}", "", table(["text", "edited"], outputs)] if outputs else []
    return "\n".join([*parts, ""])


def page() -> str:
    filled = [row for crossing in embedded_crossings() for row in example_of_context(crossing)]
    slots = [
        f"{slot} {len(neutral_words(slot))}"
        for slot in ("adjective", "noun", "plural")
        if neutral_words(slot)
    ]
    parts = [
        INTRODUCTION, VARIANTS, variants(), "", *examples_of_records(), "", CONTEXTS, crossings(), "",
        f"Neutral words by slot: {', '.join(slots)}.", "", "### Twenty filled contexts\n",
        table(["attribute", "text", "reference", "stereotype of"], drawn(filled, lambda row: row[1])), "",
        OTHERS, others(), "",
    ]  # fmt: skip
    return "\n".join(parts)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(for_readers(cast(Language, sys.argv[1])))
    else:
        PAGE.write_text(page(), "utf-8")
