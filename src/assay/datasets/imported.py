"""Scores computed elsewhere (`--scores`): long, wide or in one column, matched by case and role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core import Case, Floats, Scored
from assay.datasets.columns import table_of
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, nearest, suggest
from assay.files import file_digest
from assay.recipe import digest as content_digest

_Table = dict[str, dict[tuple[str, str | int], float]]


@dataclass(frozen=True, slots=True)
class ImportedScores:
    """(case, role) to a score, for each metric of a file; a role may be its position in the audit's order."""

    file: Path
    scores: Mapping[str, Mapping[tuple[str, str | int], float]]

    def judged(self, cases: Sequence[Case], roles: Sequence[str], audit: str) -> list[Scored]:
        table = table_of(self.file)
        digest = file_digest(self.file) if table is None else content_digest(*map(repr, table))
        named = list(dict.fromkeys(role for case in cases for role in case.samples))
        order = [role for role in roles if role in named] or named
        judged = [self._scored(metric, cases, order, digest) for metric in self.scores]
        columns = [values for scored in judged for values in scored.values.values()]
        if not np.isfinite(columns).any():
            example = next((case.id for case in cases), "?")
            raise DataError(
                f"{self.file}: none of its cases is known to {audit} (whose first case is {example!r}); "
                f"the ids in 'case' (or 'id') must be those of the data"
            )
        return judged

    def _scored(self, metric: str, cases: Sequence[Case], order: Sequence[str], digest: str) -> Scored:
        known = self.scores[metric]
        values = {}
        for place, role in enumerate(order):
            column = [known.get((case.id, role), known.get((case.id, place), np.nan)) for case in cases]
            values[role] = np.asarray(column, dtype=np.float64)
        about = {"signature": f"imported-{metric}|file:{digest}", "paradigm": "other"}
        return Scored(metric, cases, values, notes=self._remarks(known, cases, values), about=about)

    def _remarks(
        self, known: Iterable[tuple[str, str | int]], cases: Sequence[Case], values: Mapping[str, Floats]
    ) -> dict[str, int]:
        """Counts of cases without a score, per slice, and of cases in the file unknown to the audit."""
        total, lacking = Counter(case.slice for case in cases), Counter[str]()
        for place, case in enumerate(cases):
            scores = [values[role][place] for role in case.samples if role in values]
            lacking[case.slice] += bool(np.isnan(scores).any())
        notes = {f"of {total[name]:,} cases of {name} lack a score": n for name, n in (+lacking).items()}
        ids = {case.id for case in cases}
        unknown = [case for case in dict.fromkeys(case for case, _ in known) if case not in ids]
        if unknown:
            near = nearest(unknown[0], ids)
            named = f"{unknown[0]!r}; did you mean {near}?" if near else repr(unknown[0])
            notes[f"cases of {self.file.name} are not among those asked for ({named})"] = len(unknown)
        return notes


def read_scores(spec: str) -> ImportedScores:
    """Read `FILE` (long or wide) or `FILE:COLUMN` (one object per row: metric to one number per role)."""
    path, column = Path(spec), None
    if not path.exists() and ":" in spec:
        head, _, column = spec.rpartition(":")
        path = Path(head)
    rows = read_rows(path)
    if column:
        return ImportedScores(path, _column(rows, column))
    if not {"case", "role"} <= set(rows[0].values):
        raise rows[0].fail(
            "scores need the columns case, role, metric, score - or case, role and one column per metric"
        )
    return ImportedScores(path, _tabled(rows))


def _column(rows: Iterable[Row], column: str) -> _Table:
    table: _Table = {}
    for row in rows:
        given = row.values.get(column)
        if column not in row.values:
            raise row.fail(f"there is no column {column!r}{suggest(column, row.values)}")
        if not isinstance(given, dict):
            raise row.fail(
                f"column {column!r} holds {given!r}, not an object of metric: [one number per role]; for "
                "plain numbers use columns case, role, metric, score, and give the file without :COLUMN"
            )
        for metric, numbers in given.items():
            for place, number in enumerate(numbers if isinstance(numbers, list) else [numbers]):
                score = row.inner({column: number}, column).number(column)
                if score is not None:
                    table.setdefault(metric, {})[row.text("id"), place] = score
    return table


def _tabled(rows: Sequence[Row]) -> _Table:
    is_long = {"metric", "score"} <= set(rows[0].values)
    columns = ["score"] if is_long else [name for name in rows[0].values if name not in ("case", "role")]
    table: _Table = {} if is_long else {metric: {} for metric in columns}
    for row in rows:
        for column in columns:
            if (score := row.number(column)) is not None:
                metric = row.text("metric") if is_long else column
                table.setdefault(metric, {})[row.text("case"), row.text("role")] = score
    return table
