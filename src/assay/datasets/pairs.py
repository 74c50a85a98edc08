"""Stereotype pairs: embedded sets, or a user's file with the columns of the published form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.rows import Row, read_rows

KNOWN = (
    "id", "attribute", "stereotype", "anti_stereotype", "reference", "references", "anti_reference", "source",
    "image", "published",
)  # fmt: skip
# Columns that stay in meta and are used: what a pair is about, and how it was made.
DESCRIBED = (
    "group", "anti_group", "identity", "anti_identity", "template", "construction", "type", "occupation",
    "winobias",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts that differ in whom they speak of, and a reference that speaks of neither."""

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
        """Whether both texts meet the same reference."""
        return self.references == self.anti_references

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns that nothing uses."""
        return tuple(column for column in self.meta if column not in DESCRIBED)


def read_pair_files(paths: Sequence[Path], *, skip_missing: bool = False) -> tuple[list[Pair], list[str]]:
    """Pairs of files in any known form, and notes on what could not be used."""
    pairs: list[Pair] = []
    for path in paths:
        pairs += read_pairs(path)
    return pairs, []


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of a file, in its order."""
    return [_pair(row, number) for number, row in enumerate(read_rows(path))]


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


def embedded_attributes() -> list[str]:
    """The attributes assay carries pairs for."""
    folder = files("assay.data") / "stereotypes"
    return sorted(p.name.removesuffix(".jsonl") for p in folder.iterdir() if p.name.endswith(".jsonl"))


def embedded_pairs(names: Sequence[str] = ()) -> list[Pair]:
    """The embedded pairs of these sets (all by default, controls apart)."""
    pairs: list[Pair] = []
    for name in names or [name for name in embedded_attributes() if name != "controls"]:
        with as_file(files("assay.data") / "stereotypes" / f"{name}.jsonl") as path:
            pairs += read_pairs(path)
    return pairs
