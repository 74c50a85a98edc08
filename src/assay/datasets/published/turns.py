"""Rated dialogue turns and questions as released: USR, FED and QGEval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated, ratings, unique
from assay.datasets.rows import Entry, entries

_REFERENCES = {"Original Ground Truth", "New Human Generated"}  # USR's two human responses
_USR_TEXT = {"response", "model"}
_QUESTION_TEXT = {"prediction", "source"}


def read_usr(path: Path, value: object) -> list[Rated]:
    """USR: contexts with `responses`, each a model's with a list of ratings a criterion."""
    found = []
    for entry in entries(value, path):
        responses = entry.members("responses")
        written = [one.text("response").strip() for one in responses if one.text("model") in _REFERENCES]
        for one in responses:
            text, system = one.text("response").strip(), one.text("model")
            references = tuple(other for other in written if other != text)
            human = _numbers(one, [name for name in one.values if name not in _USR_TEXT])
            source = "\n".join(part for part in (entry.text("context").strip(), _fact(entry)) if part)
            name = f"{path.stem}-{entry.line}/{system}"
            found.append(Rated(name, Sample(text, references, source), system, str(entry.line), human))
    return unique(found, path)


def _fact(entry: Entry) -> str:
    """What the speaker knew; the release writes a line of underscores where that is nothing."""
    fact = (entry.maybe("fact") or "").strip()
    return "" if fact.strip("_ \n") == "" or fact == "_nofact" else fact


def read_fed(path: Path, value: object) -> list[Rated]:
    """FED: turns (or whole dialogues, without a response) with `annotations` by criterion."""
    found = []
    for entry in entries(value, path):
        context = entry.text("context").strip()
        lines = context.split("\n")
        response = entry.maybe("response")
        turn = response.split(":", 1)[-1].strip() if response else context
        given = entry.inner(entry.values.get("annotations"), "annotations")
        human = {
            f"dialogue:{k}" if not response else k: v for k, v in _numbers(given, list(given.values)).items()
        }
        source = "\n".join(lines) if response else None
        system = entry.maybe("system")
        found.append(
            Rated(f"{path.stem}-{entry.line}", Sample(turn, (), source), system, str(entry.line), human)
        )
    return unique(found, path)


def read_questions(path: Path, value: object) -> list[Rated]:
    """QGEval: passages with an answer, a reference question and rated `questions`."""
    found = []
    for entry in entries(value, path):
        source = f"{entry.text('passage')}\n{entry.text('answer')}"
        for one in entry.members("questions"):
            text, system = one.text("prediction"), one.text("source").split("_", 1)[-1]
            human = _numbers(one, [name for name in one.values if name not in _QUESTION_TEXT])
            sample = Sample(text, entry.texts("reference"), source)
            name = f"{entry.text('id')}/{one.text('source')}"
            found.append(Rated(name, sample, system, entry.text("id"), human))
    return unique(found, path)


def _numbers(entry: Entry, criteria: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Ratings by criterion; words among them ("N/A - Invalid") are no ratings."""
    human = {}
    for name in criteria:
        given = entry.values[name]
        listed = given if isinstance(given, list) else [given]
        numbers = [one for one in listed if isinstance(one, int | float) and not isinstance(one, bool)]
        human[name.strip()] = ratings(entry, name, numbers)
    return {name: numbers for name, numbers in human.items() if numbers}
