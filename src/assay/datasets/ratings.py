"""Rated texts: a hypothesis with references, its system and document, and what people said of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.core import Image, Sample
from assay.datasets.rows import Row, is_beside, read_rows
from assay.errors import DataError

KNOWN = ("id", "hypothesis", "references", "reference", "source", "image", "system", "doc", "human")
LARGEST = 1e50  # correlations multiply four ratings, which must not overflow
FLAT = "human."  # a table may give a column a criterion: human.fluency


@dataclass(frozen=True, slots=True)
class Rated:
    """One text to score; `human` maps a criterion to its ratings, one an annotator."""

    id: str
    sample: Sample
    system: str | None = None
    doc: str | None = None
    human: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def read_samples(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """Texts of a file, rated or not; `NAME_sources.jsonl` beside it joins on `doc`.

    With `skip_missing` an image that is not there leaves the sample without one, so that a metric that needs
    it counts the sample as absent.
    """
    sources = read_sources(path)
    return unique([_rated(row, n, sources, skip_missing) for n, row in enumerate(read_rows(path))], path)


def read_sources(path: Path) -> dict[str, str]:
    """The sources that lie beside a file, by document."""
    beside = path.with_name(f"{path.stem}_sources{path.suffix}")
    if not beside.is_file():
        return {}
    return {str(row.values.get("doc")): row.text("source") for row in read_rows(beside)}


def unique(items: Sequence[Rated], path: Path) -> list[Rated]:
    """The same texts with ids of their own: scores are matched by id, so a repeated one cannot stand."""
    repeated = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if repeated:
        raise DataError(
            f"{path}: id {repeated[0]!r} stands in more than one row ({len(repeated)} such ids); "
            f"give each row an id of its own, or leave the column out"
        )
    return list(items)


def ratings(row: Row, criterion: str, value: object) -> tuple[float, ...]:
    """One number or a list of them; an absent rating (null, nan) is left out, never 0."""
    listed: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    found: list[float] = []
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
            found.append(number)
    return tuple(found)


def human_ratings(row: Row) -> dict[str, tuple[float, ...]]:
    """Criterion to ratings: the column `human`, and flat columns `human.CRITERION`."""
    given = row.values.get("human")
    named: dict[str, object] = {}
    if isinstance(given, Mapping):
        named |= {str(criterion): value for criterion, value in given.items()}
    elif given not in (None, ""):
        # One criterion needs no name: a bare number or list is the overall judgement.
        named["overall"] = given
    named |= {c.removeprefix(FLAT): v for c, v in row.values.items() if c.startswith(FLAT)}
    rated = {criterion: ratings(row, criterion, value) for criterion, value in named.items()}
    return {criterion: numbers for criterion, numbers in rated.items() if numbers}


def with_ids(items: Iterable[Rated], stem: str) -> list[Rated]:
    """Texts of a format without ids, numbered in their order."""
    return [replace(item, id=item.id or f"{stem}-{number}") for number, item in enumerate(items)]


def _rated(row: Row, number: int, sources: Mapping[str, str], skip_missing: bool) -> Rated:
    hypothesis = row.text("hypothesis")
    doc, system = (_label(row, column) for column in ("doc", "system"))
    source = row.maybe("source") or (None if doc is None else sources.get(doc))
    references = row.texts("references") or row.texts("reference")
    named = _label(row, "id") or f"{row.file.stem}-{number}"
    sample = Sample(hypothesis, references, source, _image(row, skip_missing), id=named)
    meta = {c: v for c, v in row.unknown(KNOWN).items() if not c.startswith(FLAT)}
    return Rated(named, sample, system, doc, human_ratings(row), meta)


def _label(row: Row, column: str) -> str | None:
    value = row.values.get(column)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise row.fail(f"column {column!r} must be a name or a whole number, not {value!r}")
    return str(value)


def _image(row: Row, skip_missing: bool) -> Image | None:
    named = row.maybe("image")
    if skip_missing and named is not None and not is_beside(row.file, named):
        return None
    return row.image()
