"""Whose texts a run speaks of: which audits read which file, how many of its rows, and what is embedded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assay.core import Audit
from assay.datasets.columns import table_of
from assay.datasets.files import unusual_encoding
from assay.datasets.kinds import Described, describe_data
from assay.datasets.left_out import LeftOut
from assay.datasets.published.corpora import read_records
from assay.datasets.ratings import read_samples
from assay.datasets.systems import read_outputs
from assay.errors import DataError
from assay.grouping import grouped
from assay.language import language_name
from assay.vocabulary import DataKind

_NAMED = 3  # audits that a sentence names
_OUTPUTS = ("hypothesis", "human")  # fields that audits of a column of clean texts do not read
_READERS: Mapping[DataKind, Callable[[Path, LeftOut], object]] = {
    "ratings": lambda path, left_out: read_samples(path, left_out=left_out),
    "records": lambda path, left_out: read_records(path, left_out=left_out),
    "systems": lambda path, left_out: read_outputs(path, left_out=left_out),
}
_ALIKE: Mapping[DataKind, DataKind] = {"sources": "records", "contrasts": "records"}  # read by one reader


@dataclass(frozen=True, slots=True)
class Use:
    """One file of the user's: how many rows it has, and how many of them each audit could use."""

    file: str
    rows: int | None  # None where the file is no table of rows
    audits: Mapping[str, int | None]
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def used(self) -> int | None:
        """The rows that every audit of it could use."""
        known = [count for count in self.audits.values() if count is not None]
        return min(known, default=None)


def uses_of(audits: Mapping[str, Audit]) -> list[Use]:
    """How the audits of a run use the user's files."""
    users: dict[Path, list[str]] = {}
    for name, audit in audits.items():
        for path in getattr(audit, "data", ()):
            users.setdefault(path, []).append(name)
    return [_use_of(path, {name: audits[name] for name in names}) for path, names in users.items()]


def _use_of(path: Path, audits: Mapping[str, Audit]) -> Use:
    described = None
    with suppress(DataError):  # the reader's own columns may suffice where others are doubtful
        described = describe_data(path)
    is_published = described is not None and not described.columns
    kinds = {name: _ALIKE.get(audit.reads, audit.reads) for name, audit in audits.items() if audit.reads}
    counts = {} if is_published else _counts(path, set(kinds.values()))
    used = {kind: count.used for kind, count in counts.items()}
    by_audit = {name: used.get(kinds[name]) if name in kinds else None for name in audits}
    rows = max((count.rows for count in counts.values()), default=None)
    left_out = [note for count in counts.values() for note in count.sentences()]
    read_as = _read_as(described, audits) if described else []
    return Use(path.name, rows, by_audit, [*read_as, *dict.fromkeys(left_out)])


def _counts(path: Path, kinds: set[DataKind]) -> dict[DataKind, LeftOut]:
    """What each reader that the audits need could use of a table of rows."""
    counts: dict[DataKind, LeftOut] = {}
    for kind in sorted(kinds & set(_READERS)):
        left_out = LeftOut(path)
        with suppress(DataError):  # an audit that cannot use the file says so itself
            _READERS[kind](path, left_out)
        if left_out.rows:
            counts[kind] = left_out
    return counts


def _read_as(file: Described, audits: Mapping[str, Audit]) -> list[str]:
    """How the columns and the letters of a file were read, and the task of its records."""
    kinds = {audit.reads for audit in audits.values()}
    has_gold = "gold" in file.columns and not kinds & {"ratings", "systems"}
    aliases = {name: column for name, column in file.aliases.items() if not (has_gold and name in _OUTPUTS)}
    notes = [*encoding_notes(file.path), *alias_notes(file.path, aliases)]
    reads_records = kinds & {"records", "sources"}
    if reads_records and file.task is not None and not any(getattr(a, "task", ()) for a in audits.values()):
        notes.append(f"{file.path.name}: task {file.task}, by its columns (--task changes it)")
    return notes


def encoding_notes(path: Path) -> list[str]:
    """A note on a file that is not UTF-8; nothing of a table in memory."""
    encoding = None if table_of(path) is not None else unusual_encoding(path)
    name = {"cp1252": "Windows-1252 (Latin-1)"}.get(encoding or "", (encoding or "").upper())
    return [f"{path.name} is read as {name}, since it is not UTF-8"] if encoding else []


def alias_notes(path: Path, aliases: Mapping[str, str]) -> list[str]:
    """Which columns of a file were recognised by another name; `reference` is as good as `references`."""
    read = [f"{column} is read as {name}" for name, column in aliases.items() if column != "reference"]
    return [f"{path.name}: {', '.join(read)}; --map FIELD=COLUMN changes it"] if read else []


def texts_of_run(audits: Mapping[str, Audit], uses: Sequence[Use]) -> dict[str, Any]:
    """What run.json keeps of whose texts a run speaks of; `sentence` is its first line."""
    embedded = [name for name, audit in audits.items() if not getattr(audit, "data", ())]
    return {
        "files": [asdict(use) for use in uses],
        "embedded": embedded,
        "sentence": "; ".join([*map(_sentence, uses), *_embedded(audits, embedded)]) if uses else "",
    }


def _sentence(use: Use) -> str:
    """How many rows of a file are used, and by which audits; those that use more of it say so."""
    by_count = grouped(use.audits, lambda name: use.audits[name])
    rows = "" if use.used is None else f"{use.used:,} of {use.rows:,} rows of "
    first = by_count.pop(use.used)
    more = [f"{count:,} by {_listed(names)}" for count, names in by_count.items() if count is not None]
    extra = f" ({'; '.join(more)})" if more else ""
    return f"Your data: {rows}{use.file}, used by {_listed(first)}{extra}"


def _embedded(audits: Mapping[str, Audit], names: Sequence[str]) -> list[str]:
    """Which audits read embedded texts, by their language."""
    by_language = grouped(names, lambda name: language_name(getattr(audits[name], "language", "en")))
    return [
        f"{spoken} texts that come with assay used by {_listed(those)}"
        for spoken, those in by_language.items()
    ]


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: a few, and how many more.

    >>> _listed(["human", "stress"]), _listed(["a", "b", "c", "d", "e"])
    ('human and stress', 'a, b, c and 2 more')
    """
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
