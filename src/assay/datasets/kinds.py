"""What a user's data is good for: a file in, the kinds of data it holds and how its columns are read out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from assay.datasets import ratings, records
from assay.datasets.columns import table_of
from assay.datasets.contexts import holds_contexts
from assay.datasets.published.formats import Gives, matching
from assay.datasets.published.opened import PICKLES, Opened
from assay.datasets.published.pairs import is_winobias
from assay.datasets.published.ratings import RATINGS
from assay.datasets.published.translation import SCORES
from assay.datasets.rows import Row, first_rows, recognise, with_aliases
from assay.files import toml_file
from assay.vocabulary import DataKind, Task

_COLUMNS: dict[DataKind, list[list[str]]] = toml_file("columns", "columns")["kinds"]
_PAIRED: tuple[DataKind, ...] = (
    "pairs",
    "captions",
    "challenge",
)  # tables of texts in twos, most telling first
# What published forms give; an audit that finds no source in records takes embedded data.
_KINDS: dict[Gives, list[DataKind]] = toml_file("columns", "columns")["given"]


@dataclass(frozen=True, slots=True)
class Described:
    """One file: what it can be used as, how its columns were recognised, its task where it has records."""

    path: Path
    kinds: frozenset[DataKind]
    columns: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)  # a field to the user's column
    task: Task | None = None


def describe_data(path: Path) -> Described:
    """What a file or folder holds, by its columns or by the published form it is in."""
    if is_winobias(path) or holds_contexts(path):
        return Described(path, frozenset({"pairs"}))
    if path.name.endswith((SCORES, RATINGS)):  # one file of a release's folder
        return Described(path, frozenset({"ratings"}))
    opened = Opened(path)
    kinds = _published(opened)
    if kinds or opened.layout != "table" or _is_document(opened):
        return Described(path, kinds)
    return _described_table(path, first_rows(path))


def _published(opened: Opened) -> frozenset[DataKind]:
    """What a path can be used as by the published forms that it is in."""
    forms = matching(opened, "ratings", "preferences", "pairs", "records")
    # Metric-Fairness's `candidate` and `reference` may be anyone's outputs.
    given = [_KINDS[form.gives] for form in forms if form.name != "metric-fairness"]
    is_test = _is_document(opened) and "targ1" in opened.document
    return frozenset(chain(*given, ["association"] * is_test))


def _is_document(opened: Opened) -> bool:
    """Whether a path holds one object rather than rows."""
    if opened.path.suffix in PICKLES:
        return True
    is_json = opened.path.suffix == ".json" and table_of(opened.path) is None
    return is_json and isinstance(opened.document, Mapping)


def _described_table(path: Path, rows: list[Row]) -> Described:
    """What a table of rows can be used as, by the columns it has under our names."""
    columns = tuple(rows[0].values)
    aliases = recognise(rows, ("good", "bad"))
    for kind in _PAIRED:
        if _fits({*columns, *aliases}, kind):
            return Described(path, frozenset({kind}), columns, aliases)
    if "hypothesis" in columns or recognise(rows, ("hypothesis",), records.RECORD_COLUMNS):
        return _described_rows(path, rows, (*ratings.TEXT_FIELDS, "human"), ())
    return _described_rows(path, rows, ("references", "source"), records.RECORD_COLUMNS)


def _described_rows(path: Path, rows: list[Row], wanted: Sequence[str], own: Sequence[str]) -> Described:
    """The same for single texts, where the columns of these fields may have other names."""
    aliases, named = recognise(rows, wanted, own), with_aliases(rows, wanted, own)
    present = {column for row in named for column in row.values if row.has(column)}
    kinds = {kind for kind in _COLUMNS if _fits(present, kind)}
    if "human" in wanted and "human" in {column.split(".")[0] for column in present}:
        kinds.add("ratings")
    task = records.guess_task(named) if "records" in kinds else None
    return Described(path, frozenset(kinds), tuple(rows[0].values), aliases, task)


def _fits(present: set[str], kind: DataKind) -> bool:
    return any(set(form) <= present for form in _COLUMNS[kind])
