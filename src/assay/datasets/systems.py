"""Outputs of systems: for each item the texts that several systems wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.core import Sample
from assay.datasets.left_out import LeftOut
from assay.datasets.ratings import TEXT_FIELDS
from assay.datasets.rows import Row, every_row, read_sources, with_aliases
from assay.errors import DataError

_FEWEST = 2  # systems, of which one can rank above the other


@dataclass(frozen=True, slots=True)
class Outputs:
    """What systems wrote for one item; items of one document belong together."""

    id: str
    document: str
    samples: Mapping[str, Sample]  # by system


def read_outputs(path: Path, left_out: LeftOut | None = None) -> list[Outputs]:
    """The outputs of a file, item by item.

    Rows with the same `doc` are one item; where a system has several texts for a document, those with the
    same references and source are.
    """
    left_out = left_out or LeftOut(path)
    read = partial(_output, read_sources(path))
    written = left_out.keep(with_aliases(every_row(path), TEXT_FIELDS), read)
    systems = {system for _, system, _, _ in written}
    if len(systems) < _FEWEST:
        raise DataError(f"{path} names one system, {next(iter(systems))!r}; impact compares two or more")
    counts = Counter((system, document) for _, system, document, _ in written)
    is_whole = max(counts.values()) == 1
    items: dict[tuple[object, ...], dict[str, Sample]] = {}
    for row, system, document, sample in written:
        key = (document,) if is_whole else (document, sample.references, sample.source)
        outputs = items.setdefault(key, {})
        if system in outputs:
            raise row.fail(f"{system!r} has a second output for doc {document!r}; keep one")
        outputs[system] = sample
    return _numbered(items)


def _numbered(items: Mapping[tuple[object, ...], Mapping[str, Sample]]) -> list[Outputs]:
    """The items, each with an id of its own: its document, and a number where a document has several."""
    sizes = Counter(key[0] for key in items)
    seen: Counter[object] = Counter()
    outputs = []
    for key, samples in items.items():
        seen[key[0]] += 1
        document = str(key[0])
        number = f"/{seen[key[0]]}" if sizes[key[0]] > 1 else ""
        outputs.append(Outputs(f"{document}{number}", document, samples))
    return outputs


def _named(row: Row, column: str) -> str:
    """A name that each row must have."""
    if column not in row.values:
        raise row.missing(column)
    name = row.label(column)
    if name is None:
        raise row.fail(
            f"{row.called(column)} is empty; each row says which system wrote it, and for which doc"
        )
    return name


def _output(sources: Mapping[str, str], row: Row, number: int) -> tuple[Row, str, str, Sample]:
    return row, _named(row, "system"), _named(row, "doc"), _sample(row, sources)


def _sample(row: Row, sources: Mapping[str, str]) -> Sample:
    source = row.maybe("source") or sources.get(str(row.label("doc")))
    references, image = row.filled("references"), row.image()
    return Sample(row.text("hypothesis"), references, source, image, id=row.label("id") or "")
