"""Challenge sets: pairs of a good and a bad text, with the kind and the severity of the error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from assay.core import Sample
from assay.datasets.records import SEVERITIES
from assay.datasets.rows import Row, read_rows, with_aliases
from assay.errors import DataError, suggest
from assay.grouping import repeated
from assay.recipe import digest

COLUMNS = ("good", "bad", "references", "source", "kind", "severity")
UNNAMED = "challenge"  # the kind of pairs that state none


@dataclass(frozen=True, slots=True)
class ChallengePair:
    """Two texts of which one is better, compared with the same references and source."""

    id: str
    good: Sample
    bad: Sample
    kind: str
    severity: str  # empty where none is stated
    cluster: str  # pairs made from one text belong together


def read_choices(path: Path) -> list[ChallengePair]:
    """The pairs of a file, or of all files in a folder."""
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    rows = chain.from_iterable(enumerate(with_aliases(read_rows(file), COLUMNS)) for file in files)
    choices = [_choice(row, number) for number, row in rows]
    twice = repeated((choice.kind, choice.id) for choice in choices)
    if twice:  # scores are matched by id
        raise DataError(
            f"{path}: id {twice[0][1]!r} belongs to more than one pair of a kind ({len(twice)} such ids); "
            "give each pair its own id, or leave the column out"
        )
    return choices


def _choice(row: Row, number: int) -> ChallengePair:
    good, bad = row.text("good"), row.text("bad")
    if not good.strip():
        raise row.fail(f"{row.called('good')} is empty; a pair needs the text that should win")
    name = row.label("id") or f"{row.file.stem}-{number}"
    references, source = row.filled("references"), row.maybe("source") or None
    of_item = digest(*references, source or "") if references or source else name
    return ChallengePair(
        name,
        Sample(good, references, source, id=name),
        Sample(bad, references, source, id=name),
        kind_name(row.label("kind") or UNNAMED),
        _severity(row),
        row.label("doc") or of_item,
    )


def _severity(row: Row) -> str:
    """The severity in lower case; empty where the row states none."""
    severity = (row.label("severity") or "").strip().lower()
    if severity and severity not in SEVERITIES:
        raise row.fail(
            f"{row.called('severity')}: {severity!r} is none of {', '.join(SEVERITIES)}"
            f"{suggest(severity, SEVERITIES)}; leave it empty where it is not known"
        )
    return severity


def kind_name(kind: str) -> str:
    """A kind as a part of a slice."""
    return kind.strip().lower().replace(" ", "-").replace("/", "-")
