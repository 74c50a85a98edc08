"""Rated texts as arrays: mean and single ratings, documents and systems, tables of systems x documents.

A part is one dataset in one language pair: systems of one name and documents of one name are the same only
within it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.audits.base import spread_out
from assay.core import Floats
from assay.datasets.ratings import Rated
from assay.grouping import grouped
from assay.recipe import digest
from assay.statistics.intervals import label_codes, ratio

PART_COLUMNS = ("dataset", "language_pair", "lp", "language", "lang")


@dataclass(frozen=True)
class Items:
    """The texts of a run, in the order of its cases, and the part that each belongs to."""

    rated: tuple[Rated, ...]
    parts: tuple[str, ...] = ()  # one per text; "" where all texts are of one part

    def __len__(self) -> int:
        return len(self.rated)

    @cached_property
    def places(self) -> dict[str, NDArray[np.intp]]:
        """The numbers of the texts of every part; of all texts, under "", where there is one part only."""
        names = np.array(self.parts or [""] * len(self))
        return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())}

    @cached_property
    def by_part(self) -> dict[str, Items]:
        rated = self.rated
        return {name: Items(tuple(rated[n] for n in places)) for name, places in self.places.items()}

    @cached_property
    def documents(self) -> list[str]:
        """The document of each text: its `doc`, else the source or references it shares, else itself."""
        return [_document(item) for item in self.rated]

    @cached_property
    def systems(self) -> list[str]:
        """The system that wrote each text, "" where none is named."""
        return [item.system or "" for item in self.rated]

    @cached_property
    def system_names(self) -> list[str]:
        return [name for name in dict.fromkeys(self.systems) if name]

    @cached_property
    def criteria(self) -> list[str]:
        return list(dict.fromkeys(name for item in self.rated for name in item.human))

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], NDArray[np.intp], tuple[int, int]]:
        systems = {name: place for place, name in enumerate(self.system_names)}
        rows = np.array([systems.get(name, -1) for name in self.systems], dtype=np.intp)
        columns, n_documents = label_codes(self.documents, len(self))
        return rows, columns, (len(systems), n_documents)

    @cached_property
    def repeated(self) -> int:
        """How many texts share their system and document with an earlier one; their scores are averaged."""
        rows, columns, shape = self._cells
        named = rows >= 0
        places = rows[named] * shape[1] + columns[named]
        return int(places.size - np.unique(places).size)

    @cached_property
    def grouped(self) -> bool:
        """Whether some document has several texts."""
        return len(set(self.documents)) < len(self)

    def human(self, criterion: str) -> Floats:
        """The mean rating of each text; nan where nobody rated it."""
        given = (item.human.get(criterion, ()) for item in self.rated)
        means = (mean_rating(numbers) if numbers else np.nan for numbers in given)
        return np.fromiter(means, np.float64, len(self))

    def judgements(self, criterion: str) -> tuple[NDArray[np.intp], Floats]:
        """Every single rating: the number of its text, and the rating."""
        places = [n for n, item in enumerate(self.rated) for _ in item.human.get(criterion, ())]
        numbers = [number for item in self.rated for number in item.human.get(criterion, ())]
        return np.array(places, dtype=np.intp), np.array(numbers, dtype=np.float64)

    def annotators(self, criterion: str) -> Floats:
        """Ratings as raters x texts, nan where missing; a rater is a position in the list of ratings."""
        given = (item.human.get(criterion, ()) for item in self.rated)
        return np.array(list(zip_longest(*given, fillvalue=np.nan)), dtype=np.float64).reshape(-1, len(self))

    def table(self, values: Floats) -> Floats:
        """One value per text as systems x documents; the mean where texts share a cell, nan where none is."""
        rows, columns, shape = self._cells
        used = (rows >= 0) & np.isfinite(values)
        total, count = np.zeros(shape), np.zeros(shape)
        np.add.at(total, (rows[used], columns[used]), values[used])
        np.add.at(count, (rows[used], columns[used]), 1.0)
        return ratio(total, count)


def mean_rating(numbers: Sequence[float]) -> float:
    """The mean of one text's ratings; most texts have one."""
    return numbers[0] if len(numbers) == 1 else float(np.mean(numbers))


def _document(item: Rated) -> str:
    if item.doc is not None:
        return item.doc
    if item.sample.source:
        return digest("source", item.sample.source)
    return digest("references", *item.sample.references) if item.sample.references else item.id


def part_names(files: Sequence[tuple[Path, Sequence[Rated]]]) -> list[str]:
    """The part of each text: its file (of several), dataset and language columns; "" where all share one."""
    short = [path.name.split(".")[0] for path, _ in files]
    repeated, seen = Counter(short), Counter[str]()
    names: list[str] = []
    for file, (_, rated) in zip(short, files, strict=True):
        seen[file] += 1
        label = "" if len(files) == 1 else f"{file}-{seen[file]}" if repeated[file] > 1 else file
        for item in rated:
            columns = [str(item.meta[name]) for name in PART_COLUMNS if item.meta.get(name) not in (None, "")]
            names.append("-".join(dict.fromkeys(filter(None, [label, *columns]))).replace("/", "-"))
    if len(set(names)) < 2:
        return [""] * len(names)
    return [name or "other" for name in names]


def limited(rated: Sequence[Rated], limit: int | None) -> list[Rated]:
    """At most `limit` texts in order: whole documents at even distances, so that systems share them."""
    if limit is None or len(rated) <= limit:
        return list(rated)
    documents = list(grouped(range(len(rated)), lambda place: _document(rated[place])).values())
    count = min(len(documents), max(1, limit * len(documents) // len(rated)))
    chosen = spread_out(documents, count)
    while len(chosen) > 1 and sum(map(len, chosen)) > limit:
        count -= 1
        chosen = spread_out(documents, count)
    # Where documents are larger than that, texts at even distances of one document.
    places = spread_out([place for document in chosen for place in document], limit)
    return [rated[place] for place in sorted(places)]
