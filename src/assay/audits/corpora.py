"""Data of the blind-spot audits: files of the user's or embedded corpora in, records by dataset out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.audits.slices import FEWEST, spread_out
from assay.core import Case, Record
from assay.datasets.records import embedded_records, read_records, read_text_sets, task_named
from assay.vocabulary import Rule, Task

_POOL = 20  # texts enough to borrow from


@dataclass(frozen=True, slots=True)
class Corpus:
    """A dataset by name; `shared` are the references of open-ended text, which belong to no item."""

    name: str
    records: tuple[Record, ...]
    task: Task
    shared: tuple[str, ...] = ()

    def cases(self, slice_: str, items: Sequence[Item]) -> list[Case]:
        """Items of one slice as cases.

        Shared references ride on the slice's first case. A set metric finds them there; a metric that would
        compare a text with a stranger's has nothing to score.
        """
        made = []
        for number, item in enumerate(items):
            samples = {role: item.record.sample(text) for role, text in item.texts.items()}
            if self.shared and number == 0:
                samples = {role: replace(one, references=self.shared) for role, one in samples.items()}
            made.append(Case(f"{slice_}:{item.record.id}", samples, slice_, item.meta))
        return made


@dataclass(frozen=True, slots=True)
class Item:
    """A record, its texts by role, and what a report shows of it."""

    record: Record
    texts: Mapping[str, str]
    meta: Mapping[str, Any]


def corpora(
    data: Sequence[Path],
    references: Path | None,
    tasks: Sequence[str],
    default: Sequence[Task],
    limits: tuple[int | None, int | None],
) -> list[Corpus]:
    """The datasets of an audit: files, a pair of text files, or the embedded corpora of its tasks.

    `limits` are items a dataset: in general, and for open-ended text.
    """
    named = [task_named(task) for task in tasks]
    if not data:
        return [_corpus(task, embedded_records(task), limits) for task in named or default]
    found: dict[str, Corpus] = {}
    for path in data:
        if references is not None:
            records = read_text_sets(path, references, task=named[0] if named else "open-ended")
        else:
            records = read_records(path, task=named[0] if named else None)
        name = path.stem if path.stem not in found else f"{path.parent.name}-{path.stem}"
        found[name] = _corpus(name, records, limits)
    return list(found.values())


def too_few(found: Sequence[Corpus], rule: Rule) -> list[str]:
    """The note that a dataset has too few items for a verdict; the paper's rule always has one."""
    small = [f"{one.name} ({len(one.records)})" for one in found if len(one.records) < FEWEST]
    if not small or rule == "paper":
        return []
    return [f"fewer than {FEWEST} items, too few for a verdict: {', '.join(small)}"]


def _corpus(name: str, records: Sequence[Record], limits: tuple[int | None, int | None]) -> Corpus:
    task = records[0].task
    open_ended = task == "open-ended"
    kept = spread_out(records, limits[1] if open_ended and limits[1] is not None else limits[0])
    if len(kept) >= _POOL:
        # Noises that borrow from other items then need no parse of texts that were left out.
        golds = tuple(record.gold for record in kept)
        kept = [replace(record, others=golds) for record in kept]
    if not open_ended:
        return Corpus(name, tuple(kept), task)
    return Corpus(name, tuple(replace(one, references=()) for one in kept), task, records[0].references)
