"""What a user's data is good for: a file in, the kinds of data it holds and how its columns are read out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    opened = Opened(path)
    forms = matching(opened, "ratings", "preferences", "pairs", "records")
    # Metric-Fairness's `candidate` and `reference` may be anyone's outputs.
    kinds = {kind for form in forms if form.name != "metric-fairness" for kind in _KINDS[form.gives]}
    is_document = path.suffix == ".json" and table_of(path) is None and isinstance(opened.document, Mapping)
    if is_document and "targ1" in opened.document:
        kinds.add("association")
    if kinds or is_document or opened.layout != "table" or path.suffix in PICKLES:
        return Described(path, frozenset({"ratings"} if path.name.endswith((SCORES, RATINGS)) else kinds))
    rows = first_rows(path)
    return _table(path, rows, tuple(rows[0].values))


def _table(path: Path, rows: list[Row], columns: tuple[str, ...]) -> Described:
    aliases = recognise(rows, ("good", "bad"))
    paired = [kind for kind in _PAIRED if _fits({*columns, *aliases}, kind)]
    if paired:
        return Described(path, frozenset(paired[:1]), columns, aliases)
    aliases = recognise(rows, ("hypothesis",), records.KNOWN)
    has_outputs = "hypothesis" in columns or bool(aliases)
    wanted = (*ratings.FIELDS, "human") if has_outputs else ("references", "source")
    own = () if has_outputs else records.KNOWN
    aliases = recognise(rows, wanted, own)
    named = with_aliases(rows, wanted, own)
    present = {column for row in named for column in row.values if row.has(column)}
    kinds = {kind for kind in _COLUMNS if _fits(present, kind)}
    if has_outputs and any(column.split(".")[0] == "human" for column in present):
        kinds.add("ratings")
    task = records.guess_task(named) if "records" in kinds else None
    return Described(path, frozenset(kinds), columns, aliases, task)


def _fits(present: set[str], kind: DataKind) -> bool:
    return any(set(form) <= present for form in _COLUMNS[kind])
