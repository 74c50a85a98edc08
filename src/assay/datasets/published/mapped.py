"""Rated texts by a table: a file and the fields of its form in formats.toml in, rated texts out.

A path such as `questions.prediction` leads into objects. Three names stand for what no column holds: `@line`
is the number of the record, `@name` its key in a JSON document, `@key` that of the member of `each`.

A text's ratings in pairwise preferences are the outcomes of its comparisons: a win is 1, a tie 1/2, a loss 0.
The outcome is a word, or a number (above 0 for the first text), or an object of these by criterion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from assay.core import Image, Sample
from assay.datasets.published.formats import Fields
from assay.datasets.published.opened import Opened
from assay.datasets.published.translation import with_people
from assay.datasets.ratings import RIVALS, Rated, by_criterion
from assay.datasets.rows import Row
from assay.errors import RowError


def read_mapped(opened: Opened, fields: Fields) -> Iterator[Rated]:
    """The texts of a form; with `people`, the texts of people are the references of the others."""
    rows = enumerate(_members(opened, fields))
    items: Iterable[Rated] = [_rated(opened, _flat(row, fields), fields, number) for number, row in rows]
    if fields.gather:
        items = _gathered(items)
    if fields.people:
        items = with_people(opened, items, fields.people, fields.reference)
    yield from items


def _members(opened: Opened, fields: Fields) -> Iterator[Row]:
    """The records; with `each`, one row per member of these columns, which are lists or objects alike."""
    for name, record in zip(opened.names, opened.records, strict=True):
        row = record.with_values({"@name": name, "@line": str(record.line)})
        if not fields.each:
            yield row
            continue
        by_key = {column: _by_key(record, column) for column in fields.each}
        for key, first in by_key[fields.each[0]].items():
            if first is not None:  # a Parquet file has every system of the release in every row
                members = {column: by_key[column].get(key) for column in fields.each}
                yield row.with_values({**members, "@key": key})


def _by_key(record: Row, column: str) -> Mapping[str, Any]:
    if isinstance(record.values.get(column), Mapping):
        return record.object(column).values
    return {str(place): member.values for place, member in enumerate(record.members(column))}


def _flat(row: Row, fields: Fields) -> Row:
    """The row with a value for each path that the form names."""
    found = {path: _at(row.values, path) for path in fields.paths}
    return replace(row, values={path: value for path, value in found.items() if value is not None})


def _at(value: Any, path: str) -> Any:
    """What a path leads to; in a list of objects, the list of what it leads to in each."""
    if isinstance(value, list):
        return [_at(member, path) for member in value]
    if not isinstance(value, Mapping):
        return None
    name, _, rest = path.partition(".")
    if path in value or not rest:
        return value.get(path)
    return _at(value.get(name), rest)


def _rated(opened: Opened, row: Row, fields: Fields, number: int) -> Rated:
    references = _first(row, fields.references)
    if fields.lists and isinstance(row.values.get(references), str):
        raise row.fail(f"column {references!r} must be a list of texts")
    text = fields.kept("hypothesis", row.text(_first(row, fields.hypothesis)))
    image = opened.image(row.values.get(fields.image))
    sample = Sample(text, row.texts(references), _source(row, fields), image)
    named = _joined(row, fields.id) or f"{opened.path.stem}-{number}"
    system = fields.kept("system", str(row.values.get(fields.system) or "")) or None
    labels = {name: str(row.values[path]) for name, path in fields.meta.items() if row.has(path)}
    meta = {name: kept for name, label in labels.items() if (kept := fields.kept(name, label))}
    human = by_criterion(row, _ratings(row, fields))
    return Rated(named, sample, system, _joined(row, fields.doc), human, meta)


def _first(row: Row, paths: tuple[str, ...]) -> str:
    """The first of these paths that has a value, else the last of them."""
    return next((path for path in paths if row.has(path)), paths[-1] if paths else "")


def _joined(row: Row, paths: tuple[str, ...]) -> str | None:
    values = [row.values.get(path) for path in paths]
    return "/".join(str(row.line if value is None else value) for value in values) or None


def _source(row: Row, fields: Fields) -> str | None:
    """What the text answers or translates: one column, or several on lines of their own."""
    texts = [row.text(path) for path in fields.source if row.has(path)]
    if len(fields.source) > 1:
        stripped = [text.strip() for text in texts]
        texts = [text for text in stripped if not re.fullmatch(fields.blank, text)]
    return "\n".join(texts) or None


def _ratings(row: Row, fields: Fields) -> dict[str, Any]:
    """The ratings of each criterion: a column, or a name in an object (or in each object of a list)."""
    named = {name: _worded(row, path, fields) for name, path in fields.human.items()}
    for prefix, path in fields.judged.items():
        judged = judged_ratings(row, path, only_numbers=fields.numbers)
        named |= {prefix + name: value for name, value in judged.items() if re.search(fields.criteria, name)}
    return named


def judged_ratings(row: Row, path: str, *, only_numbers: bool) -> dict[str, list[Any]]:
    """The ratings by criterion in an object, or together those in each object of a list.

    With `only_numbers`, words among them ("N/A - Invalid") do not count.
    """
    named: dict[str, list[Any]] = {}
    for member in _listed(row.values.get(path, [])):
        for criterion, value in row.inner(member, path).values.items():
            numbers = [one for one in _listed(value) if not only_numbers or type(one) in (int, float)]
            named.setdefault(criterion.strip(), []).extend(numbers)
    return named


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _worded(row: Row, path: str, fields: Fields) -> Any:
    """A rating, or the number that a word stands for; an empty cell is no rating."""
    value = row.values.get(path)
    if not fields.values or value in (None, ""):
        return value
    if str(value) not in fields.values:
        raise row.fail(f"column {path!r} must be one of {', '.join(fields.values)}, not {value!r}")
    return fields.values[str(value)]


def _gathered(items: Iterable[Rated]) -> list[Rated]:
    """Each text once, with all its ratings, where a form has one row per rating."""
    gathered: dict[tuple[str | None, ...], Rated] = {}
    for item in items:
        key = (item.doc, item.system, item.sample.hypothesis)
        before = gathered.setdefault(key, replace(item, human={})).human
        pooled = {name: before.get(name, ()) + item.human.get(name, ()) for name in {**before, **item.human}}
        gathered[key] = replace(gathered[key], human=pooled)
    return list(gathered.values())


@dataclass(frozen=True, slots=True)
class Compared:
    """Two texts and the outcome for the first by criterion; systems without names are not compared."""

    doc: str
    texts: tuple[str, str]
    shares: Mapping[str, float]
    systems: tuple[str | None, ...] = (None, None)
    source: str | None = None
    references: tuple[str, ...] = ()
    image: Image | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Played:
    """One text's outcomes by criterion, and the systems that it was compared with."""

    compared: Compared
    won: dict[str, list[float]] = field(default_factory=dict)
    rivals: dict[str, list[str]] = field(default_factory=dict)

    def add(self, criterion: str, share: float, rival: str | None) -> None:
        self.won.setdefault(criterion, []).append(share)
        self.rivals.setdefault(criterion, []).append(rival or "")


def rated_by_outcomes(opened: Opened, comparisons: Iterable[Compared]) -> Iterator[Rated]:
    """Every text that was compared, once, with all its outcomes."""
    played: dict[tuple[str, str | None, str], _Played] = {}
    for compared in comparisons:
        (first, second), (text, other) = compared.systems, compared.texts
        own = played.setdefault((compared.doc, first, text), _Played(compared))
        theirs = played.setdefault((compared.doc, second, other), _Played(compared))
        for criterion, share in compared.shares.items():
            own.add(criterion, share, second)
            theirs.add(criterion, 1.0 - share, first)
    for number, ((doc, system, text), games) in enumerate(played.items()):
        compared = games.compared
        meta = dict(compared.meta) if system is None else {**compared.meta, RIVALS: games.rivals}
        human = {criterion: tuple(won) for criterion, won in games.won.items()}
        sample = Sample(text, compared.references, compared.source, compared.image)
        yield Rated(f"{opened.path.stem}-{number}", sample, system, doc, human, meta)


def read_preferences(opened: Opened, fields: Fields) -> Iterator[Rated]:
    """Preferences in assay's own columns, or in those of a release as formats.toml names them."""
    return rated_by_outcomes(opened, (pair for row in opened.records for pair in _comparisons(row, fields)))


def _comparisons(row: Row, fields: Fields) -> Iterator[Compared]:
    """The texts of a row against each other: lists of right and wrong answers give every pair of them."""
    texts = [_texts(row, column, fields) for column in fields.texts]
    doc = _joined(row, fields.doc) or str(row.line)
    systems = tuple(row.text(column) for column in fields.systems) or (None, None)
    meta = {name: row.values[path] for name, path in fields.meta.items() if row.has(path)}
    shares, source, references = _shares(row, fields), _asked(row, fields), row.texts("references")
    for first, second in product(*texts):
        yield Compared(doc, (first, second), shares, systems, source, references, meta=meta)


def _asked(row: Row, fields: Fields) -> str | None:
    """What the texts answer: a text, turns with their roles, or the turns before the last."""
    (column,) = fields.source
    if column in fields.texts:
        return "\n".join(text for _, text in _turns(row, column)[:-1])
    if not row.has(column):
        return None
    return "\n".join(f"{role}: {text}" if role else text for role, text in _turns(row, column))


def _texts(row: Row, column: str, fields: Fields) -> list[str]:
    """The answers in a cell: one, a list of them, the last of a conversation, or one in several turns."""
    if fields.turns:
        turns = [text for _, text in _turns(row, column)]
        if fields.turns == "joined":
            return ["\n".join(turns)]
        if len(turns) < 2:
            raise row.fail(f"column {column!r} must hold a question and an answer")
        return turns[-1:]
    texts = row.texts(column)
    if not texts:
        raise row.fail(f"column {column!r} must hold an answer, or a list of answers")
    return list(texts)


def _turns(row: Row, column: str) -> list[tuple[str, str]]:
    """The roles and texts of a cell: texts without roles (a null turn is empty), or objects."""
    turns = _listed(row.values.get(column))
    if turns and all(isinstance(turn, Mapping) for turn in turns):
        return [(turn.maybe("role") or "-", turn.text("content")) for turn in row.members(column)]
    if not all(turn is None or isinstance(turn, str) for turn in turns):
        raise row.fail(f"column {column!r} must hold texts")
    return [("", turn or "") for turn in turns]


def _shares(row: Row, fields: Fields) -> dict[str, float]:
    """The outcome for the first text by criterion; one without a value is absent."""
    if fields.outcomes:  # one column per outcome
        happened = [(row.number(column) or 0.0, share) for column, share in fields.outcomes.items()]
        return {"overall": sum(number * share for number, share in happened)}
    if not fields.outcome:  # the first one is right
        return {"overall": 1.0}
    given = row.values.get(fields.outcome)
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value, fields) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object, fields: Fields) -> float:
    """1 where the first text wins, 0 where the second does: by a word, or by the sign of a number."""
    shares: dict[str, float] = {_plain(word): share for word, share in fields.values.items()}
    if _plain(value) in shares:
        return shares[_plain(value)]
    if not fields.sign:
        raise _no_outcome(row, value, fields)
    try:
        number: float = fields.sign * float(str(value))
    except ValueError as error:
        raise _no_outcome(row, value, fields) from error
    return 0.5 + 0.5 * ((number > 0) - (number < 0))


def _no_outcome(row: Row, value: object, fields: Fields) -> RowError:
    choices = [word for word in fields.values if " " not in word] + ["a number"] * bool(fields.sign)
    listed = " or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))
    return row.fail(f"column {fields.outcome!r} must be {listed}, not {value!r}")


def _plain(value: object) -> str:
    return str(value).strip().lower().replace(" ", "")
