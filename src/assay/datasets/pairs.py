"""Stereotype pairs: embedded, a user's files, or releases as published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.files import SUFFIXES
from assay.datasets.published.formats import naming_nearest, published_form
from assay.datasets.published.opened import Opened
from assay.datasets.published.pairs import PAIR_READERS, is_winobias, read_winobias
from assay.datasets.rows import Row, with_aliases, with_their_images
from assay.datasets.templates import Construction
from assay.errors import DataError
from assay.files import data_path, toml_file
from assay.grouping import repeated

_KNOWN: list[str] = toml_file("columns", "columns")["pairs"]["known"]
DESCRIBED: list[str] = toml_file("columns", "columns")["pairs"]["described"]


@dataclass(frozen=True, slots=True)
class StereotypePair:
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
        return self.references == self.anti_references

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns that nothing uses."""
        return tuple(column for column in self.meta if column not in DESCRIBED)


def read_pair_files(
    paths: Sequence[Path], *, skip_missing: bool = False
) -> tuple[list[StereotypePair], list[str]]:
    """Read pairs from files in any known form; also returns notes on what could not be used."""
    pairs: list[StereotypePair] = []
    notes: list[str] = []
    for path in paths:
        if is_winobias(path):
            pairs += _pairs(read_winobias(path))
            continue
        for file in _files_of(path):
            file_pairs, file_notes = _read(file, skip_missing)
            pairs += file_pairs
            notes += file_notes
    twice = repeated(pair.id for pair in pairs)
    if twice:  # scores are matched by id
        raise DataError(
            f"{len(twice)} ids belong to more than one pair (for example {twice[0]!r}); "
            "give each pair its own id"
        )
    return pairs, notes


def _files_of(path: Path) -> list[Path]:
    """The file itself, or the tables in a folder."""
    if not path.is_dir():
        return [path]
    tables = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not tables:
        raise DataError(f"{path}: no file of pairs in this folder; give one of {', '.join(SUFFIXES)}")
    return tables


def _read(path: Path, skip_missing: bool) -> tuple[list[StereotypePair], list[str]]:
    opened = Opened(path)
    form = published_form(opened, "pairs")
    if form is not None and form.name in PAIR_READERS:
        published, notes = PAIR_READERS[form.name](opened)
        return _pairs(published), notes
    if form is not None and form.name == "metric-fairness":
        return _from_candidates(path, opened.records), []
    if form is not None:
        raise DataError(
            f"{path}: WinoBias; name its files pro_stereotyped_* and anti_stereotyped_*, side by side"
        )
    rows = with_aliases(opened.records, ("stereotype", "anti_stereotype", "references", "source"), _KNOWN)
    rows, notes = with_their_images(rows, path, skip_missing=skip_missing)
    with naming_nearest(opened, "pairs"):
        return _pairs(rows), notes


def _from_candidates(path: Path, rows: Sequence[Row]) -> list[StereotypePair]:
    """Pairs in the Metric-Fairness form: two lines per pair, the stereotype first."""
    if len(rows) % 2:
        raise DataError(f"{path}: {len(rows)} lines, but a pair is two lines (stereotype, anti-stereotype)")
    pairs = []
    for number, (pro, anti) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        texts = pro.text("candidate"), anti.text("candidate")
        references = pro.texts("reference"), anti.texts("reference")
        pairs.append(StereotypePair(f"{path.stem}-{number}", path.stem, *texts, *references))
    return pairs


def _pairs(rows: Iterable[Row]) -> list[StereotypePair]:
    return [_pair(row, number) for number, row in enumerate(rows)]


def _pair(row: Row, number: int) -> StereotypePair:
    stereotype, anti_stereotype = row.text("stereotype"), row.text("anti_stereotype")
    references = row.texts("references") or row.texts("reference")
    if not references:
        raise row.missing("references", " (or 'reference': the neutral text both are compared with)")
    name, attribute = row.label("id") or f"{row.file.stem}-{number}", row.maybe("attribute") or row.file.stem
    others = row.texts("anti_reference") or references
    source, image, meta = row.maybe("source"), row.image(), row.unknown(_KNOWN)
    return StereotypePair(
        name, attribute, stereotype, anti_stereotype, references, others, source, image, meta
    )


def embedded_pairs(names: Sequence[str] = ()) -> list[StereotypePair]:
    """The embedded pairs of these sets; by default all of them."""
    chosen = names or [path.stem for path in sorted(data_path("stereotypes").glob("*.jsonl"))]
    return read_pair_files([data_path("stereotypes", f"{name}.jsonl") for name in chosen])[0]


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
    return ["a" if word == "an" else word for word in re.findall(r"[\w'-]+", text.lower())]
