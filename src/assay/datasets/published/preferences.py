"""Pairwise preferences as ratings: a text's ratings are the outcomes of its comparisons.

A win is 1, a tie 1/2 and a loss 0. assay's own columns are `system_a, system_b, hypothesis_a, hypothesis_b,
preference, doc?, references?, source?`, where `preference` is "a", "b" or "tie", or a number (above 0 for a,
as on a Likert scale), or an object of these by criterion. formats.toml says how releases name these columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from assay.core import Image, Sample
from assay.datasets.published.formats import Fields
from assay.datasets.published.opened import Opened
from assay.datasets.ratings import RIVALS, Rated
from assay.datasets.rows import Row


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
    for number, ((doc, system, text), (compared, by_criterion)) in enumerate(met.items()):
        human = {criterion: tuple(won for won, _ in games) for criterion, games in by_criterion.items()}
        rivals = {criterion: [rival for _, rival in games] for criterion, games in by_criterion.items()}
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
    shares, source, references = _shares(row, fields), _source(row, fields), row.texts("references")
    for first, second in product(*texts):
        yield Compared(doc, (first, second), shares, systems, source, references, meta=meta)


def _source(row: Row, fields: Fields) -> str | None:
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
    value = row.values.get(column)
    turns = value if isinstance(value, list) else [value]
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
