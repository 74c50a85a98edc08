"""Stereotype pairs: embedded, a user's files, or WinoBias, CrowS-Pairs and Metric-Fairness as published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.lexicon import data_path, word_set
from assay.datasets.published.pairs import CROWS_COLUMNS, is_winobias, read_crows, read_winobias
from assay.datasets.rows import SUFFIXES, Row, read_rows
from assay.datasets.templates import Construction
from assay.errors import DataError

KNOWN = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "references", "anti_reference", "source",
    "image", "published",
)  # fmt: skip
# Columns that are kept in `meta` and used: whom a pair is about, and how it was made.
DESCRIBED = (
    "group", "anti_group", "identity", "anti_identity", "template", "construction", "form", "kind",
    "type", "occupation", "winobias",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that differ in the group they mention, and references that mention neither."""

    id: str
    attribute: str
    stereotype: str
    anti_stereotype: str
    references: tuple[str, ...]
    anti_references: tuple[str, ...]
    source: str | None = None
    image: Image | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def shared(self) -> bool:
        """Whether both texts have the same references."""
        return self.references == self.anti_references

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns that nothing uses."""
        return tuple(column for column in self.meta if column not in DESCRIBED)


def read_pair_files(paths: Sequence[Path], *, skip_missing: bool = False) -> tuple[list[Pair], list[str]]:
    """Read pairs from files in any known form; also returns notes on what could not be used."""
    pairs: list[Pair] = []
    notes: list[str] = []
    for path in paths:
        if is_winobias(path):
            pairs += _pairs(read_winobias(path))
            continue
        for file in _files_of(path):
            file_pairs, file_notes = _read(file, skip_missing)
            pairs += file_pairs
            notes += file_notes
    repeated = [name for name, count in Counter(pair.id for pair in pairs).items() if count > 1]
    if repeated:  # scores are matched by id
        raise DataError(
            f"{len(repeated)} ids belong to more than one pair (for example {repeated[0]!r}); "
            "give each pair its own id"
        )
    return pairs, notes


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of one file, in order."""
    return _read(path, False)[0]


def _files_of(path: Path) -> list[Path]:
    """The file itself, or the tables in a folder."""
    if not path.is_dir():
        return [path]
    tables = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not tables:
        raise DataError(f"{path}: no file of pairs in this folder; give one of {', '.join(SUFFIXES)}")
    return tables


def _read(path: Path, skip_missing: bool) -> tuple[list[Pair], list[str]]:
    rows = read_rows(path)
    columns = rows[0].values
    if all(column in columns for column in CROWS_COLUMNS):
        rows, notes = read_crows(path, rows)
        return _pairs(rows), notes
    if "candidate" in columns and "stereotype" not in columns:
        return _from_candidates(path, rows), []
    missing = {row.line for row in rows if skip_missing and row.lacks_image()}
    notes = [f"{path}: {len(missing)} pairs left out, image missing"] if missing else []
    return _pairs([row for row in rows if row.line not in missing]), notes


def _from_candidates(path: Path, rows: Sequence[Row]) -> list[Pair]:
    """Pairs in the Metric-Fairness form: two lines per pair, the stereotype first."""
    if len(rows) % 2:
        raise DataError(f"{path}: {len(rows)} lines, but a pair is two lines (stereotype, anti-stereotype)")
    pairs = []
    for number, (pro, anti) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        texts = pro.text("candidate"), anti.text("candidate")
        references = pro.texts("reference"), anti.texts("reference")
        pairs.append(Pair(f"{path.stem}-{number}", path.stem, *texts, *references))
    return pairs


def _pairs(rows: Iterable[Row]) -> list[Pair]:
    return [_pair(row, number) for number, row in enumerate(rows)]


def _pair(row: Row, number: int) -> Pair:
    references = row.texts("references") or row.texts("reference")
    if not references:
        raise row.fail(
            "column 'reference' (or 'references') is missing: the neutral text both are compared with"
        )
    return Pair(
        row.maybe("id") or f"{row.file.stem}-{number}",
        row.maybe("attribute") or row.file.stem,
        row.text("stereotype"),
        row.text("anti_stereotype"),
        references,
        row.texts("anti_reference") or references,
        row.maybe("source"),
        row.image(),
        row.unknown(KNOWN),
    )


def embedded_pairs(names: Sequence[str] = ()) -> list[Pair]:
    """The embedded pairs of these sets; by default all but the controls."""
    files = sorted(data_path("stereotypes").glob("*.jsonl"))
    chosen = names or [path.stem for path in files if path.stem != "controls"]
    return [pair for name in chosen for pair in read_pairs(data_path("stereotypes", f"{name}.jsonl"))]


def swap_kind(pair: Pair) -> str:
    """The kind of edit, by which controls are matched: "pronoun", or how the reference was made neutral."""
    texts = (pair.stereotype, pair.anti_stereotype)
    words, anti_words = (set(re.findall(r"[\w'-]+", text.lower())) for text in texts)
    changed = words ^ anti_words
    is_pronoun = bool(changed) and changed <= word_set("words", "pronouns")
    return "pronoun" if is_pronoun else str(pair.meta.get("construction"))


def construction_of(stereotype: str, anti_stereotype: str, reference: str) -> Construction:
    """How a reference leaves the identity out (app. A of unfair): the strongest of its edits to either text.

    drop: words are left out; replace: one word for each word; abstract: a phrase of another length. Articles
    (a, an) and capitals only adapt to their neighbours and do not count.

    >>> construction_of("An old man slept.", "A young man slept.", "A man slept.")
    'drop'
    """
    kinds: tuple[Construction, ...] = ("drop", "replace", "abstract")
    strongest = 0
    neutral = _adapting_words(reference)
    for text in (stereotype, anti_stereotype):
        words = _adapting_words(text)
        for tag, a, b, c, d in SequenceMatcher(None, words, neutral, autojunk=False).get_opcodes():
            if tag in ("replace", "insert"):
                strongest = max(strongest, 1 if b - a == d - c else 2)
    return kinds[strongest]


def _adapting_words(text: str) -> list[str]:
    """The words in lower case without marks, "an" as "a"."""
    words = re.findall(r"[\w'-]+", text.lower())
    return ["a" if word == "an" else word for word in words]
