"""Rated texts as arrays: mean and single ratings, documents and systems, tables of systems x documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats
from assay.datasets.ratings import Rated
from assay.recipe import digest


@dataclass(frozen=True)
class Items:
    """The texts of a run, in the order of its cases."""

    rated: tuple[Rated, ...]

    def __len__(self) -> int:
        return len(self.rated)

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
        """The named systems, in order of first appearance."""
        return [name for name in dict.fromkeys(self.systems) if name]

    @cached_property
    def criteria(self) -> list[str]:
        """Every criterion that people rated, in order of first appearance."""
        return list(dict.fromkeys(name for item in self.rated for name in item.human))

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], NDArray[np.intp], tuple[int, int]]:
        systems = {name: place for place, name in enumerate(self.system_names)}
        documents = {name: place for place, name in enumerate(dict.fromkeys(self.documents))}
        rows = np.array([systems.get(name, -1) for name in self.systems], dtype=np.intp)
        columns = np.array([documents[name] for name in self.documents], dtype=np.intp)
        return rows, columns, (len(systems), len(documents))

    @cached_property
    def repeated(self) -> int:
        """How many texts share their system and document with an earlier one; their scores are averaged."""
        rows, columns, shape = self._cells
        named = rows >= 0
        places = rows[named] * shape[1] + columns[named]
        return int(places.size - np.unique(places).size)

    @property
    def grouped(self) -> bool:
        """Whether any document has more than one text."""
        return len(set(self.documents)) < len(self)

    def human(self, criterion: str) -> Floats:
        """The mean rating of each text; nan where nobody rated it."""
        given = [item.human.get(criterion, ()) for item in self.rated]
        return np.array([np.mean(numbers) if numbers else np.nan for numbers in given], dtype=np.float64)

    def judgements(self, criterion: str) -> tuple[NDArray[np.intp], Floats]:
        """Every single rating: the number of its text, and the rating."""
        places = [n for n, item in enumerate(self.rated) for _ in item.human.get(criterion, ())]
        numbers = [number for item in self.rated for number in item.human.get(criterion, ())]
        return np.array(places, dtype=np.intp), np.array(numbers, dtype=np.float64)

    def annotators(self, criterion: str) -> Floats:
        """Ratings as raters x texts, nan where missing; a rater is a position in the list of ratings."""
        given = [item.human.get(criterion, ()) for item in self.rated]
        table = np.full((max(map(len, given), default=0), len(given)), np.nan)
        for column, numbers in enumerate(given):
            table[: len(numbers), column] = numbers
        return table

    def table(self, values: Floats) -> Floats:
        """One value per text as systems x documents; the mean where texts share a cell, nan where none is."""
        rows, columns, shape = self._cells
        used = (rows >= 0) & np.isfinite(values)
        total, count = np.zeros(shape), np.zeros(shape)
        np.add.at(total, (rows[used], columns[used]), values[used])
        np.add.at(count, (rows[used], columns[used]), 1.0)
        answer: Floats = np.where(count > 0, total / np.maximum(count, 1.0), np.nan)
        return answer


def _document(item: Rated) -> str:
    if item.doc is not None:
        return item.doc
    if item.sample.source:
        return digest("source", item.sample.source)
    return digest("references", *item.sample.references) if item.sample.references else item.id
