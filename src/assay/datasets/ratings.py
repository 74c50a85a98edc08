"""Rated texts: a hypothesis with references, its system and document, and human ratings by criterion."""

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
RIVALS = "rivals by criterion"  # the key in `meta` of the systems that a text was compared with


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


def by_criterion(row: Row, given: Mapping[str, object]) -> dict[str, tuple[float, ...]]:
    """The ratings of each criterion; a criterion without any is left out."""
    rated = {criterion: ratings(row, criterion, value) for criterion, value in given.items()}
    return {criterion: numbers for criterion, numbers in rated.items() if numbers}


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
    return by_criterion(row, named)


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
