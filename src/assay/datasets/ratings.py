"""Rated texts: a hypothesis with references, its system and document, and human ratings by criterion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any

from assay.core import Sample
from assay.datasets.headings import is_no_value, number_in
from assay.datasets.left_out import LeftOut
from assay.datasets.rows import Row, read_sources, stream_rows
from assay.errors import DataError
from assay.grouping import repeated

RATING_COLUMNS = ("id", "hypothesis", "references", "source", "image", "system", "doc", "human")
TEXTS = ("hypothesis", "references", "source")
TEXT_FIELDS = (*TEXTS, "system", "doc")  # fields whose other names are recognised, and so are ratings
CHUNK = 100_000  # rows of a file that are in memory at a time
LARGEST = 1e50  # correlations multiply four ratings, which must not overflow
FLAT = "human."  # a table may have one column per criterion: human.fluency
_NO_META: Mapping[str, Any] = {}  # of most texts
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


def read_samples(
    path: Path,
    *,
    skip_missing: bool = False,
    rated: bool = True,
    limit: int | None = None,
    left_out: LeftOut | None = None,
) -> list[Rated]:
    """The texts of a file, rated or not; `NAME_sources.jsonl` beside it is joined on `doc`.

    With `skip_missing`, a sample whose image is missing has none, so that a metric that needs it counts the
    sample as absent. Without `rated`, a column that could be a rating by its name alone is not read as one.
    Rows that cannot be used are counted in `left_out`.
    """
    sources, left_out = read_sources(path), left_out or LeftOut(path)
    rows = stream_rows(path, (*TEXT_FIELDS, "human") if rated else TEXT_FIELDS, limit)
    lines: dict[tuple[str | None, str], int] = {}

    def read(row: Row, number: int) -> Rated:
        item = _rated(sources, skip_missing, row, number)
        first = lines.setdefault((item.system, item.id), row.line)
        if first != row.line:
            problem = f"id {item.id!r} is in more than one row, {row.unit} {first} and this one"
            raise DataError(str(row.fail(f"{problem}; give each row an id of its own or a column system")))
        return item

    kept = left_out.keep(rows, read)
    if n_empty := sum(not item.sample.hypothesis.strip() for item in kept):
        left_out.remarks.append(f"{n_empty:,} hypotheses are empty, and are scored as they are")
    return unique(kept, path)


def stream_samples(
    path: Path,
    *,
    skip_missing: bool,
    limit: int | None = None,
    size: int | None = None,
    left_out: LeftOut | None = None,
) -> Iterator[list[Rated]]:
    """`read_samples` without ratings, so many at a time: a file need not fit in memory."""
    sources, left_out, seen = read_sources(path), left_out or LeftOut(path), set[str]()
    rows = iter(stream_rows(path, TEXT_FIELDS, limit))
    read = partial(_rated, sources, skip_missing)
    named: bool | None = None
    while block := list(islice(rows, size or CHUNK)):
        chunk = left_out.keep(block, read)
        named = _share_ids(chunk) if named is None else named  # as in the first chunk, so in the others
        yield unique(_by_system(chunk) if named else chunk, path, seen)


def unique(items: Iterable[Rated], path: Path, seen: set[str] | None = None) -> list[Rated]:
    """The same texts, after a check that no id is repeated or `seen` before: scores are matched by id.

    Where systems share the ids of their inputs, the system becomes part of the id.
    """
    rated = list(items)
    rated = _by_system(rated) if seen is None and _share_ids(rated) else rated
    ids = [item.id for item in rated]
    twice = repeated(ids) or list((seen or set()).intersection(ids))
    if twice:
        raise DataError(
            f"{path}: id {twice[0]!r} is in more than one row ({len(twice)} such ids); "
            f"give each row an id of its own or a column system, or leave the column out"
        )
    if seen is not None:
        seen.update(ids)
    return rated


def _share_ids(rated: Sequence[Rated]) -> bool:
    """Whether ids are repeated, but never within a system."""
    ids, pairs = {item.id for item in rated}, {(item.system, item.id) for item in rated}
    return len(ids) < len(pairs) == len(rated) and all(item.system for item in rated)


def _by_system(rated: Iterable[Rated]) -> list[Rated]:
    """The texts under ids of their own: `system/id`."""
    named = ((item, f"{item.system}/{item.id}") for item in rated)
    return [replace(item, id=name, sample=replace(item.sample, id=name)) for item, name in named]


def ratings(row: Row, criterion: str, value: object) -> tuple[float, ...]:
    """The ratings in one number or a list of them; an absent one (null, nan) is left out, never 0."""
    listed: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    numbers: list[float] = []
    for given in listed:
        if is_no_value(given):
            continue
        try:
            number = number_in(str(given) if isinstance(given, bool) else given)
        except (TypeError, ValueError) as error:
            raise _no_rating(row, criterion, given) from error
        if abs(number) > LARGEST:
            raise _no_rating(row, criterion, given, f"a number within {LARGEST:g}")
        if not math.isnan(number):
            numbers.append(number)
    return tuple(numbers)


def _no_rating(row: Row, criterion: str, given: object, wanted: str = "a number") -> DataError:
    """The error for what is no rating, with the column it is in and the way out."""
    name = FLAT + criterion if FLAT + criterion in row.names else "human"
    is_renamed = name in row.names
    column = f"{row.called(name)}: " if is_renamed else ""
    advice = f", or leave the column out with --map {name}=" if is_renamed else ""
    return row.fail(
        f"{column}human rating of {criterion!r} must be {wanted}, not {given!r}; write numbers on the "
        f"scale people used, and nothing where there is no rating{advice}"
    )


def by_criterion(row: Row, given: Mapping[str, object]) -> dict[str, tuple[float, ...]]:
    """The ratings of each criterion; a criterion without any is left out."""
    rated = {criterion: ratings(row, criterion, value) for criterion, value in given.items()}
    return {criterion: numbers for criterion, numbers in rated.items() if numbers}


def human_ratings(row: Row) -> Mapping[str, tuple[float, ...]]:
    """Criterion to ratings, from the column `human` and columns called `human.CRITERION`."""
    given = row.values.get("human")
    named: dict[str, object] = {}
    if isinstance(given, Mapping):
        named |= {str(criterion): value for criterion, value in given.items()}
    elif given not in (None, ""):
        # A bare number or list needs no criterion: it is the overall judgement.
        named["overall"] = given
    named |= {c.removeprefix(FLAT): v for c, v in row.values.items() if c.startswith(FLAT)}
    return _shared(tuple(by_criterion(row, named).items()))


@lru_cache(10_000)
def _shared(rated: tuple[tuple[str, tuple[float, ...]], ...]) -> Mapping[str, tuple[float, ...]]:
    """One mapping for all texts that were rated alike: a million texts have a few hundred."""
    return dict(rated)


def _rated(sources: Mapping[str, str], skip_missing: bool, row: Row, number: int) -> Rated:
    hypothesis, doc = row.text("hypothesis"), _shared_label(row, "doc")
    source = row.maybe("source") or sources.get(doc or "")
    named = row.label("id") or f"{row.file.stem}-{number}"
    image = None if skip_missing and row.lacks_image() else row.image()
    sample = Sample(hypothesis, row.filled("references"), source, image, id=named)
    meta = {c: v for c, v in row.unknown(RATING_COLUMNS).items() if not c.startswith(FLAT)}
    return Rated(named, sample, _shared_label(row, "system"), doc, human_ratings(row), meta or _NO_META)


def _shared_label(row: Row, column: str) -> str | None:
    """A name of a row, stored once: a million texts share a few systems and documents."""
    name = row.label(column)
    return name and intern(name)
