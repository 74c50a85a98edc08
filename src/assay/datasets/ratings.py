"""Rated texts: a hypothesis with references, its system and document, and human ratings by criterion.

A file of pairwise preferences is read as ratings too: a text's ratings are the outcomes of its comparisons.
Columns: `system_a, system_b, hypothesis_a, hypothesis_b, preference, doc?, references?, source?`, where
`preference` is "a", "b" or "tie", or a number (above 0 for a, as on a Likert scale), or an object of these by
criterion. An outcome is 1 for a win, 1/2 for a tie and 0 for a loss; `meta[RIVALS]` names the rival systems.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core import Sample
from assay.datasets.rows import Row, read_rows, read_sources
from assay.errors import DataError

KNOWN = ("id", "hypothesis", "references", "reference", "source", "image", "system", "doc", "human")
LARGEST = 1e50  # correlations multiply four ratings, which must not overflow
FLAT = "human."  # a table may have one column per criterion: human.fluency
PREFERENCES = ("system_a", "system_b", "hypothesis_a", "hypothesis_b", "preference")
RIVALS = "rivals by criterion"


@dataclass(frozen=True, slots=True)
class Rated:
    """One text to score; `human` maps a criterion to its ratings, one per annotator."""

    id: str
    sample: Sample
    system: str | None = None
    doc: str | None = None
    human: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def read_samples(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """The texts of a file, rated or not; `NAME_sources.jsonl` beside it is joined on `doc`.

    With `skip_missing`, a sample whose image is missing has none, so that a metric that needs it counts the
    sample as absent.
    """
    sources = read_sources(path)
    return unique((_rated(row, n, sources, skip_missing) for n, row in enumerate(read_rows(path))), path)


def unique(items: Iterable[Rated], path: Path) -> list[Rated]:
    """The same texts, after a check that no id is repeated: scores are matched by id."""
    rated = list(items)
    repeated = [name for name, count in Counter(item.id for item in rated).items() if count > 1]
    if repeated:
        raise DataError(
            f"{path}: id {repeated[0]!r} is in more than one row ({len(repeated)} such ids); "
            f"give each row an id of its own, or leave the column out"
        )
    return rated


def ratings(row: Row, criterion: str, value: object) -> tuple[float, ...]:
    """The ratings in one number or a list of them; an absent one (null, nan) is left out, never 0."""
    listed: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    numbers: list[float] = []
    for given in listed:
        if given is None or given == "":
            continue
        if isinstance(given, bool):
            raise row.fail(f"human rating of {criterion!r} must be a number, not {given!r}")
        try:
            number = float(given)
        except (TypeError, ValueError) as error:
            raise row.fail(f"human rating of {criterion!r} must be a number, not {given!r}") from error
        if abs(number) > LARGEST:
            raise row.fail(
                f"human rating of {criterion!r} is {number:g}, beyond {LARGEST:g}; give ratings on the scale "
                "people used, and null where there is none"
            )
        if not math.isnan(number):
            numbers.append(number)
    return tuple(numbers)


def _human_ratings(row: Row) -> dict[str, tuple[float, ...]]:
    """Criterion to ratings, from the column `human` and columns called `human.CRITERION`."""
    given = row.values.get("human")
    named: dict[str, object] = {}
    if isinstance(given, Mapping):
        named |= {str(criterion): value for criterion, value in given.items()}
    elif given not in (None, ""):
        # A bare number or list needs no criterion: it is the overall judgement.
        named["overall"] = given
    named |= {c.removeprefix(FLAT): v for c, v in row.values.items() if c.startswith(FLAT)}
    rated = {criterion: ratings(row, criterion, value) for criterion, value in named.items()}
    return {criterion: numbers for criterion, numbers in rated.items() if numbers}


def _rated(row: Row, number: int, sources: Mapping[str, str], skip_missing: bool) -> Rated:
    hypothesis = row.text("hypothesis")
    doc, system = (_label(row, column) for column in ("doc", "system"))
    source = row.maybe("source") or (None if doc is None else sources.get(doc))
    references = row.texts("references") or row.texts("reference")
    named = _label(row, "id") or f"{row.file.stem}-{number}"
    image = None if skip_missing and row.lacks_image() else row.image()
    sample = Sample(hypothesis, references, source, image, id=named)
    meta = {c: v for c, v in row.unknown(KNOWN).items() if not c.startswith(FLAT)}
    return Rated(named, sample, system, doc, _human_ratings(row), meta)


def _label(row: Row, column: str) -> str | None:
    value = row.values.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise row.fail(f"column {column!r} must be a name or a whole number, not {value!r}")
    return str(value)


# --- preferences ---


def read_preferences(path: Path, rows: Sequence[Row]) -> list[Rated]:
    """Every text that was compared, once, with all its outcomes."""
    # (doc, system, hypothesis) to the text and, by criterion, its outcomes with the rivals' names.
    texts: dict[tuple[str, str, str], tuple[Sample, dict[str, list[tuple[float, str]]]]] = {}
    for number, row in enumerate(rows):
        doc = str(number if row.values.get("doc") is None else row.values["doc"])
        sides = []
        for side in ("a", "b"):
            system, hypothesis = row.text(f"system_{side}"), row.text(f"hypothesis_{side}")
            sample = Sample(hypothesis, row.texts("references"), row.maybe("source"))
            sides.append((system, texts.setdefault((doc, system, hypothesis), (sample, {}))[1]))
        (first, outcomes), (second, other_outcomes) = sides
        for criterion, share in _shares(row).items():
            outcomes.setdefault(criterion, []).append((share, second))
            other_outcomes.setdefault(criterion, []).append((1.0 - share, first))
    rated = []
    for number, ((doc, system, _), (sample, outcomes)) in enumerate(texts.items()):
        human = {criterion: tuple(share for share, _ in met) for criterion, met in outcomes.items()}
        rivals = {criterion: [rival for _, rival in met] for criterion, met in outcomes.items()}
        rated.append(Rated(f"{path.stem}-{number}", sample, system, doc, human, {RIVALS: rivals}))
    return rated


def _shares(row: Row) -> dict[str, float]:
    """The outcome for `a` by criterion."""
    given = row.values.get("preference")
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object) -> float:
    text = str(value).strip().lower()
    shares = {"a": 1.0, "b": 0.0, "tie": 0.5}
    if text in shares:
        return shares[text]
    try:
        number = float(text)
    except ValueError as error:
        raise row.fail(f"column 'preference' must be a, b, tie or a number, not {value!r}") from error
    return 0.5 + 0.5 * ((number > 0) - (number < 0))
