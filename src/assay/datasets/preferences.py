"""Pairwise preferences to rated texts: a text's ratings are the outcomes of its comparisons.

Columns: `system_a, system_b, hypothesis_a, hypothesis_b, preference, doc?, references?, source?`, where
`preference` is "a", "b" or "tie", or a number (above 0 for a, as on a Likert scale), or an object of these by
criterion. An outcome is 1 for a win, 1/2 for a tie and 0 for a loss; `meta[RIVALS]` names the rival systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated
from assay.datasets.rows import Row

COLUMNS = ("system_a", "system_b", "hypothesis_a", "hypothesis_b", "preference")
RIVALS = "rivals by criterion"
_SHARES = {"a": 1.0, "b": 0.0, "tie": 0.5}


@dataclass(slots=True)
class _Text:
    sample: Sample
    system: str
    doc: str
    wins: dict[str, list[float]] = field(default_factory=dict)
    rivals: dict[str, list[str]] = field(default_factory=dict)

    def met(self, rival: str, criterion: str, share: float) -> None:
        self.wins.setdefault(criterion, []).append(share)
        self.rivals.setdefault(criterion, []).append(rival)


def read_preferences(path: Path, rows: Sequence[Row]) -> list[Rated]:
    """Every text that was compared, once, with all its outcomes."""
    texts: dict[tuple[str, str, str], _Text] = {}
    for number, row in enumerate(rows):
        doc = str(number if row.values.get("doc") is None else row.values["doc"])
        first, second = (_text(row, side, doc, texts) for side in ("a", "b"))
        for criterion, share in _outcomes(row).items():
            first.met(second.system, criterion, share)
            second.met(first.system, criterion, 1.0 - share)
    return [_rated(path, number, text) for number, text in enumerate(texts.values())]


def _text(row: Row, side: str, doc: str, texts: dict[tuple[str, str, str], _Text]) -> _Text:
    system, hypothesis = row.text(f"system_{side}"), row.text(f"hypothesis_{side}")
    sample = Sample(hypothesis, row.texts("references"), row.maybe("source"))
    return texts.setdefault((doc, system, hypothesis), _Text(sample, system, doc))


def _outcomes(row: Row) -> dict[str, float]:
    """The outcome for `a` by criterion."""
    given = row.values["preference"]
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object) -> float:
    text = str(value).strip().lower()
    if text in _SHARES:
        return _SHARES[text]
    try:
        number = float(text)
    except ValueError as error:
        raise row.fail(f"column 'preference' must be a, b, tie or a number, not {value!r}") from error
    return 0.5 + 0.5 * ((number > 0) - (number < 0))


def _rated(path: Path, number: int, text: _Text) -> Rated:
    human = {criterion: tuple(wins) for criterion, wins in text.wins.items()}
    meta = {RIVALS: text.rivals}
    return Rated(f"{path.stem}-{number}", text.sample, text.system, text.doc, human, meta)
