"""Stereotype pairs: embedded, a user's, or WinoBias, CrowS-Pairs and Metric-Fairness as published."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.published.crows import Neutral, is_crows, read_crows
from assay.datasets.published.winobias import is_winobias, read_winobias
from assay.datasets.rows import SUFFIXES, Row, is_beside, read_rows
from assay.errors import DataError

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
    notes: list[str] = []
    for path in paths:
        if is_winobias(path):
            pairs += _from_winobias(path)
            continue
        for file in _files_of(path):
            found, told = _read(file, skip_missing)
            pairs += found
            notes += told
    _refuse_twins(pairs)
    return pairs, notes


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of a file, in its order."""
    return _read(path, False)[0]


def _files_of(path: Path) -> list[Path]:
    """The file, or the tables of a folder."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not found:
        raise DataError(f"{path}: no file of pairs in this folder; give one of {', '.join(sorted(SUFFIXES))}")
    return found


def _read(path: Path, skip_missing: bool) -> tuple[list[Pair], list[str]]:
    rows = read_rows(path)
    if is_crows(tuple(rows[0].values)):
        return _from_crows(path, rows)
    if "candidate" in rows[0].values and "stereotype" not in rows[0].values:
        return _from_candidates(path, rows), []
    missing = [row for row in rows if skip_missing and _lacks_image(row)]
    kept = [row for row in rows if row not in missing]
    notes = [f"{path}: {len(missing)} pairs left out, image missing"] if missing else []
    return [_pair(row, number) for number, row in enumerate(kept)], notes


def _lacks_image(row: Row) -> bool:
    named = row.maybe("image")
    return named is not None and not is_beside(row.file, named)


def _refuse_twins(pairs: Sequence[Pair]) -> None:
    """A case is known by its id, so two pairs must not share one."""
    twice = [name for name, count in Counter(pair.id for pair in pairs).items() if count > 1]
    if twice:
        raise DataError(
            f"{len(twice)} ids stand for two pairs ({twice[0]!r} is one); give each pair its own id"
        )


def _from_candidates(path: Path, rows: Sequence[Row]) -> list[Pair]:
    """The Metric-Fairness form: two lines a pair, the stereotype first; cells may be quoted."""
    if len(rows) % 2:
        raise DataError(f"{path}: {len(rows)} lines, but a pair is two lines (stereotype, anti-stereotype)")
    return [
        Pair(
            f"{path.stem}-{number}",
            path.stem,
            one.text("candidate"),
            two.text("candidate"),
            one.texts("reference"),
            two.texts("reference"),
        )
        for number, (one, two) in enumerate(zip(rows[::2], rows[1::2], strict=True))
    ]


def _from_crows(path: Path, rows: Sequence[Row]) -> tuple[list[Pair], list[str]]:
    built, failed = read_crows(rows)
    reasons = ", ".join(f"{reason}: {count}" for reason, count in failed.most_common())
    note = f"{path.name}: a reference was built for {len(built)} of {len(rows)} pairs"
    return [_neutral_pair(one) for one in built], [f"{note} ({reasons})" if reasons else note]


def _neutral_pair(one: Neutral) -> Pair:
    words = {"identity": one.identity, "anti_identity": one.anti_identity, "construction": one.construction}
    named = f"{one.attribute}-{one.row.line}"
    return Pair(
        named,
        one.attribute,
        one.stereotype,
        one.anti_stereotype,
        (one.reference,),
        (one.reference,),
        meta=words,
    )


def _from_winobias(path: Path) -> list[Pair]:
    return [
        Pair(
            f"gender-{name.replace('.txt', '')}-{one.number}", "gender", one.stereotype, one.anti_stereotype,
            (one.reference,), (one.anti_reference,),
            meta={
                "group": one.group, "anti_group": one.anti_group, "identity": one.pronoun,
                "anti_identity": one.anti_pronoun, "construction": "replace", "occupation": one.occupation,
            },
        )
        for name, pairs in read_winobias(path).items()
        for one in pairs
    ]  # fmt: skip


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


def swap_kind(pair: Pair) -> str:
    """What was swapped, so that controls of its kind can be found: pronouns, or how it was neutralised."""
    texts = (pair.stereotype, pair.anti_stereotype)
    one, other = (set(re.findall(r"[\w'-]+", text.lower())) for text in texts)
    return "pronoun" if one ^ other and one ^ other <= _pronouns() else str(pair.meta.get("construction"))


@cache
def _pronouns() -> frozenset[str]:
    text = (files("assay.data") / "words" / "pronouns.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)["words"])
