"""The notes of a run in three groups, those that differ in their numbers and names alone said once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.files import toml_file
from assay.grouping import grouped
from assay.reading.lines import listed
from assay.reading.results import StoredRun

READ_FIRST, LEFT_OUT, METHOD = "Read first", "What was left out", "How it was measured"
_WORDS: dict[str, list[str]] = toml_file("report", "words")["notes"]
_NAMED = 2  # audits and metrics that a note names
_MISFIT = re.compile(r"(\S+) does not fit ([\w-]+): (.*)")  # a metric, an audit, and why
_VARIES = re.compile(r"\S*/\S*|[\d.,]*\d|(?<=: )\w.*$")  # slices, numbers, and lists at the end


@dataclass(frozen=True, slots=True)
class _Note:
    """A note, and the audit and metric that it is about."""

    text: str
    audit: str = ""
    metric: str = ""

    @property
    def group(self) -> str:
        if any(words in self.text for words in _WORDS["method"]):
            return METHOD
        if any(words in self.text for words in _WORDS["left_out"]):
            return LEFT_OUT
        return READ_FIRST

    @property
    def pattern(self) -> str:
        """What it says, whatever the numbers and names."""
        return _VARIES.sub("#", self.text)


def grouped_notes(run: StoredRun) -> dict[str, list[str]]:
    """The notes of a run by group, in the order in which they should be read: what is said of much first."""
    groups: dict[str, list[str]] = {READ_FIRST: [], LEFT_OUT: [], METHOD: []}
    notes = [_parsed(note, run) for note in dict.fromkeys(run.notes)]
    by_pattern = list(grouped(notes, lambda note: (note.group, note.pattern)).items())
    for (group, _), alike in sorted(by_pattern, key=_weight):
        groups[group].append(_together(alike))
    return {group: texts for group, texts in groups.items() if texts}


def whose_texts(run: StoredRun) -> str:
    """Whose texts a run is about: which of the user's files served what, or that none was given."""
    if run.whose:
        return f"{run.whose}."
    if run.about.get("data"):
        return "The texts are your own."
    return "The texts are assay's own, in English: give yours with --data FILE."


def _weight(of_pattern: tuple[tuple[str, str], list[_Note]]) -> int:
    """Notes to read first stay in their order; of the others, those that stand for many come first."""
    (group, _), alike = of_pattern
    return 0 if group == READ_FIRST else -len(alike)


def _parsed(note: str, run: StoredRun) -> _Note:
    """`stress: bleu: no score ...` to its parts."""
    note = _MISFIT.sub(r"\2: \1: does not fit, since \3", note)
    audit, text = _split(note, run.about["audits"])
    metric, text = _split(text, run.metrics)
    return _Note(text, audit, metric)


def _split(text: str, names: Iterable[str]) -> tuple[str, str]:
    """A name that a note begins with, and the rest."""
    found = [name for name in names if text.startswith(f"{name}: ")]
    name = max(found, key=len, default="")
    return name, text.removeprefix(f"{name}: ") if name else text


def _together(alike: list[_Note]) -> str:
    """Notes that say the same, once, with the names they are about."""
    parts = []
    for names in ({note.audit: None for note in alike}, {note.metric: None for note in alike}):
        shown = [name for name in names if name]
        if len(shown) > _NAMED + 1:
            shown = [*shown[:_NAMED], f"{len(shown) - _NAMED} more"]
        if shown:
            parts.append(listed(shown))
    more = (
        f" (and {len(alike) - 1} notes like it)"
        if len(alike) > 2
        else " (and one like it)" * (len(alike) - 1)
    )
    return ": ".join([*parts, alike[0].text]) + more
