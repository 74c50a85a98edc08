"""Rated texts by a table: a file and the fields of its form in formats.toml in, rated texts out.

A path such as `questions.prediction` leads into objects. Three names stand for what no column holds: `@line`
is the number of the record, `@name` its key in a JSON document, `@key` that of the member of `each`.

A text's ratings in pairwise preferences are the outcomes of its comparisons: a win is 1, a tie 1/2, a loss 0.
The outcome is a word, or a number (above 0 for the first text), or an object of these by criterion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from assay.core import Image, Sample
from assay.datasets.published.formats import Fields
from assay.datasets.published.opened import Opened
from assay.datasets.published.translation import with_people
from assay.datasets.ratings import RIVALS, Rated, by_criterion
from assay.datasets.rows import Row


def read_mapped(opened: Opened, fields: Fields) -> Iterator[Rated]:
    """The texts of a form; with `people`, the texts of people are the references of the others."""
    rows = (_flat(row, fields) for row in _members(opened, fields))
    items: Iterable[Rated] = [_rated(opened, row, fields, number) for number, row in enumerate(rows)]
    if "gather" in fields:
        items = _gathered(items)
    if "people" in fields:
        items = with_people(opened, items, fields["people"], fields.get("reference"))
    yield from items


def _members(opened: Opened, fields: Fields) -> Iterator[Row]:
    """The records; with `each`, one row per member of these columns, which are lists or objects alike."""
    for name, record in zip(opened.names, opened.records, strict=True):
        row = replace(record, values={**record.values, "@name": name, "@line": str(record.line)})
        columns = fields.get("each", ())
        if not columns:
            yield row
            continue
        by_key = {column: _by_key(record, column) for column in columns}
        for key, first in by_key[columns[0]].items():
            if first is not None:  # a Parquet file has every system of the release in every row
                members = {column: by_key[column].get(key) for column in columns}
                yield replace(row, values={**row.values, **members, "@key": key})


def _by_key(record: Row, column: str) -> Mapping[str, Any]:
    if isinstance(record.values.get(column), Mapping):
        return record.object(column).values
    return {str(place): member.values for place, member in enumerate(record.members(column))}


def _flat(row: Row, fields: Fields) -> Row:
    """The row with a value for each path that the form names."""
    paths = dict.fromkeys(path for name, given in fields.items() for path in _paths(name, given))
    found = {path: _at(row.values, path) for path in paths}
    return replace(row, values={path: value for path, value in found.items() if value is not None})


def _paths(name: str, given: Any) -> Iterable[str]:
    if name in ("human", "judged", "meta"):
        return given.values()  # type: ignore[no-any-return]
    named = ("hypothesis", "references", "source", "system", "doc", "image", "id")
    return _listed(given) if name in named else ()


def _at(value: Any, path: str) -> Any:
    """What a path leads to; in a list of objects, the list of what it leads to in each."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    name, _, rest = path.partition(".")
    if isinstance(value, list):
        return [_at(member, path) for member in value]
    inner = value.get(name) if isinstance(value, Mapping) and rest else None
    return None if inner is None else _at(inner, rest)


def _rated(opened: Opened, row: Row, fields: Fields, number: int) -> Rated:
    references = _first(row, fields.get("references", ()))
    if "lists" in fields and isinstance(row.values.get(references), str):
        raise row.fail(f"column {references!r} must be a list of texts")
    image = row.values.get(fields.get("image", ""))
    attached = opened.image(image and str(image)) or opened.image(image and f"{image}.jpg")
    system = row.values.get(fields.get("system", ""))
    labels = {name: str(row.values[path]) for name, path in fields.get("meta", {}).items() if row.has(path)}
    texts = {"hypothesis": row.text(_first(row, fields["hypothesis"])), "system": str(system or "")} | labels
    for name, pattern in fields.get("cut", {}).items():
        match = re.search(pattern, texts.pop(name, ""))
        texts |= {name: match[1]} if match else {}
    sample = Sample(texts.pop("hypothesis"), row.texts(references), _source(row, fields), attached)
    named, doc = _joined(row, fields, "id"), _joined(row, fields, "doc")
    named, system = named or f"{opened.path.stem}-{number}", texts.pop("system", None) or None
    return Rated(named, sample, system, doc, by_criterion(row, named_ratings(row, fields)), texts)


def _first(row: Row, paths: Any) -> str:
    """The first of these paths that has a value."""
    listed = _listed(paths)
    return next((path for path in listed if row.has(path)), listed[-1] if listed else "")


def _joined(row: Row, fields: Fields, name: str) -> str | None:
    return "/".join(str(row.values.get(path, row.line)) for path in _listed(fields.get(name, ()))) or None


def _source(row: Row, fields: Fields) -> str | None:
    """What the text answers or translates: one column, or several on lines of their own."""
    given = fields.get("source", ())
    if isinstance(given, str):
        return str(row.values[given]) if row.has(given) else None
    parts = [row.text(path).strip() for path in given if row.has(path)]
    return "\n".join(part for part in parts if not re.fullmatch(fields.get("blank", ""), part)) or None


def named_ratings(row: Row, fields: Fields) -> dict[str, Any]:
    """The ratings of each criterion: a column, or a name in an object (or in each object of a list)."""
    given = {name: _worded(row, path, fields) for name, path in fields.get("human", {}).items()}
    for prefix, path in fields.get("judged", {}).items():
        objects = [row.inner(member, path).values for member in _listed(row.values.get(path, []))]
        for criterion in dict.fromkeys(name for judged in objects for name in judged):
            if re.search(fields.get("criteria", ""), criterion):
                numbers = [number for judged in objects for number in _listed(judged.get(criterion))]
                if "numbers" in fields:  # words among them ("N/A - Invalid") do not count
                    numbers = [number for number in numbers if type(number) in (int, float)]
                given[prefix + criterion.strip()] = numbers
    return given


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _worded(row: Row, path: str, fields: Fields) -> Any:
    """A rating, or the number that a word stands for; an empty cell is no rating."""
    value, values = row.values.get(path), fields.get("values")
    if values is None or value in (None, ""):
        return value
    if str(value) not in values:
        raise row.fail(f"column {path!r} must be one of {', '.join(values)}, not {value!r}")
    return values[str(value)]


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
    """Two texts and the outcome for the first by criterion; without `systems`, only the texts compete."""

    doc: str
    texts: tuple[str, str]
    shares: Mapping[str, float]
    systems: tuple[str, ...] | None = None  # two, where they are named
    source: str | None = None
    references: tuple[str, ...] = ()
    image: Image | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


def outcomes(opened: Opened, comparisons: Iterable[Compared]) -> Iterator[Rated]:
    """Every text that was compared, once, with all its outcomes."""
    # (doc, system, text) to a comparison it was in and, by criterion, its outcomes with the rivals' names.
    met: dict[tuple[str, str | None, str], tuple[Compared, dict[str, list[tuple[float, str]]]]] = {}
    for compared in comparisons:
        systems = compared.systems or (None, None)
        for place, rival in ((0, 1), (1, 0)):
            key = (compared.doc, systems[place], compared.texts[place])
            shares = met.setdefault(key, (compared, {}))[1]
            for criterion, share in compared.shares.items():
                won = share if place == 0 else 1.0 - share
                shares.setdefault(criterion, []).append((won, systems[rival] or ""))
    for number, ((doc, system, text), (compared, played)) in enumerate(met.items()):
        human = {criterion: tuple(won for won, _ in games) for criterion, games in played.items()}
        rivals = {criterion: [rival for _, rival in games] for criterion, games in played.items()}
        meta = {**compared.meta} | ({} if system is None else {RIVALS: rivals})
        sample = Sample(text, compared.references, compared.source, compared.image)
        yield Rated(f"{opened.path.stem}-{number}", sample, system, doc, human, meta)


def read_preferences(opened: Opened, fields: Fields) -> Iterator[Rated]:
    """Preferences in assay's own columns, or in those of a release as formats.toml names them."""
    return outcomes(opened, (pair for row in opened.records for pair in _comparisons(row, fields)))


def _comparisons(row: Row, fields: Fields) -> Iterator[Compared]:
    """The texts of a row against each other: lists of right and wrong answers give every pair of them."""
    texts = [_texts(row, column, fields) for column in fields["texts"]]
    named = [row.values.get(column) for column in fields.get("doc", ("",))]
    doc = "/".join(str(row.line if name is None else name) for name in named)
    systems = tuple(row.text(column) for column in fields["systems"]) if "systems" in fields else None
    meta = {name: row.values[c] for name, c in fields.get("meta", {}).items() if row.has(c)}
    shares, source, references = _shares(row, fields), _asked(row, fields), row.texts("references")
    for first, second in product(*texts):
        yield Compared(doc, (first, second), shares, systems, source, references, meta=meta)


def _asked(row: Row, fields: Fields) -> str | None:
    """What the texts answer: a text, turns with their roles, or the turns before the last."""
    column = fields["source"]
    if column in fields["texts"]:
        return "\n".join(_turns(row, column)[:-1])
    return "\n".join(_turns(row, column, roles=True)) if row.has(column) else None


def _texts(row: Row, column: str, fields: Fields) -> list[str]:
    """The answers in a cell: one, a list of them, the last of a conversation, or one in several turns."""
    if fields.get("turns") == "last":
        turns = _turns(row, column)
        if len(turns) < 2:
            raise row.fail(f"column {column!r} must hold a question and an answer")
        return turns[-1:]
    if fields.get("turns") == "joined":
        return ["\n".join(_turns(row, column))]
    texts = row.texts(column)
    if not texts:
        raise row.fail(f"column {column!r} must hold an answer, or a list of answers")
    return list(texts)


def _turns(row: Row, column: str, *, roles: bool = False) -> list[str]:
    """The turns of a cell: a text, a list of texts (a null turn is empty), or of objects with `content`."""
    turns = _listed(row.values.get(column))
    if turns and all(isinstance(turn, Mapping) for turn in turns):
        named = [(turn.maybe("role") or "-", turn.text("content")) for turn in row.members(column)]
        return [f"{role}: {text}" if roles else text for role, text in named]
    if not all(turn is None or isinstance(turn, str) for turn in turns):
        raise row.fail(f"column {column!r} must hold texts")
    return [turn or "" for turn in turns]


def _shares(row: Row, fields: Fields) -> dict[str, float]:
    """The outcome for the first text by criterion; one without a value is absent."""
    if "outcome" not in fields:  # the first one is right
        return {"overall": 1.0}
    if isinstance(fields["outcome"], Mapping):  # one column per outcome
        return {"overall": sum(s * (row.number(column) or 0.0) for column, s in fields["outcome"].items())}
    given = row.values.get(fields["outcome"])
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value, fields) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object, fields: Fields) -> float:
    """1 where the first text wins, 0 where the second does: by a word, or by the sign of a number."""
    words: Mapping[str, float] = fields.get("values", {})
    shares = {_plain(word): share for word, share in words.items()}
    if _plain(value) in shares:
        return shares[_plain(value)]
    sign = fields.get("sign", 0)  # of a number that prefers the first
    with suppress(ValueError):
        number: float = sign * float(str(value))
        if sign:
            return 0.5 + 0.5 * ((number > 0) - (number < 0))
    choices = [word for word in words if " " not in word] + ["a number"] * bool(sign)
    listed = ", ".join(choices[:-1]) + " or " + choices[-1] if len(choices) > 1 else choices[0]
    raise row.fail(f"column {fields['outcome']!r} must be {listed}, not {value!r}")


def _plain(value: object) -> str:
    return str(value).strip().lower().replace(" ", "")
