"""Rows that cannot be used: left out and counted by reason, unless they are more than a tenth of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from assay.datasets.rows import MissingColumn, Row
from assay.errors import DataError, RowError
from assay.grouping import grouped

MOST = 0.1  # of a file: with more, what is left may no longer be what its owner meant to test
_NAMED = 5  # rows that are named
_T = TypeVar("_T")


@dataclass
class LeftOut:
    """How many rows a file has, which of them cannot be used and why, and remarks on the rest."""

    path: Path
    rows: int = 0
    problems: list[RowError] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """How many rows are left out; a broken one may have swallowed those that follow it."""
        return sum(problem.rows for problem in self.problems)

    @property
    def used(self) -> int:
        return self.rows - self.lost

    def keep(self, rows: Iterable[Row], read: Callable[[Row, int], _T]) -> list[_T]:
        """What is read of each row and its number; one that cannot be read is left out.

        A file of which many cannot be read is refused.
        """
        kept: list[_T] = []
        for row in rows:
            number = self.rows
            self.rows += 1 if row.problem is None else row.problem.rows
            try:
                kept.append(read(row.whole(), number))
            except RowError as problem:
                self.problems.append(problem)
        self.check()
        return kept

    def check(self) -> None:
        """Refuse the file where more than a tenth of its rows cannot be used; the first of them are named."""
        if self.lost <= MOST * self.rows:
            return
        first = self.problems[0]
        is_alone = len(self.problems) == 1 or isinstance(first, MissingColumn)
        if is_alone or all(problem.line == first.line for problem in self.problems):
            raise first
        named = "; ".join(f"{problem.place}: {problem.problem}" for problem in self.problems[:_NAMED])
        more = f"; and {len(self.problems) - _NAMED} more" if len(self.problems) > _NAMED else ""
        raise DataError(
            f"{self.path}: {self.lost:,} of {self.rows:,} rows cannot be used, and no more than a tenth may "
            f"be left out: {named}{more}"
        )

    def sentences(self) -> list[str]:
        """How many rows are left out and why, in one sentence for each reason; then the remarks."""
        reasons = grouped(self.problems, lambda problem: problem.reason)
        listed = [self._sentence(reason, problems) for reason, problems in reasons.items()]
        return listed + [f"{self.path.name}: {remark}" for remark in self.remarks]

    def _sentence(self, reason: str, problems: list[RowError]) -> str:
        lost = sum(problem.rows for problem in problems)
        places = [str(problem.line) for problem in problems[:_NAMED]]
        more = f" and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        unit = problems[0].unit + ("" if len(problems) == 1 else "s")
        return (
            f"{self.path.name}: {lost:,} of {self.rows:,} rows left out: {reason} "
            f"({unit} {', '.join(places)}{more})"
        )
