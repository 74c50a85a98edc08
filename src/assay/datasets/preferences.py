"""Pairwise preferences to rated texts: strengths of systems by Bradley-Terry, wins of texts (blind app. C.3).

Columns: `system_a, system_b, hypothesis_a, hypothesis_b, preference, doc?, references?, source?`, where
`preference` is "a", "b" or "tie", or a number (above 0 for a, as on a Likert scale), or an object of these by
criterion. A criterion's rating is the system's log strength, so it is for the level of systems;
`wins:CRITERION` holds each comparison of the text itself: 1, one half or 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.core import Sample
from assay.datasets.ratings import Rated
from assay.datasets.rows import Row
from assay.errors import DataError
from assay.statistics.bradley_terry import bradley_terry

COLUMNS = ("system_a", "system_b", "hypothesis_a", "hypothesis_b", "preference")
WINS = "wins:"
_SHARES = {"a": 1.0, "b": 0.0, "tie": 0.5}
_PRIOR = 0.1  # keeps the strength of a system that never loses finite


@dataclass(slots=True)
class _Text:
    sample: Sample
    system: str
    doc: str
    wins: dict[str, list[float]] = field(default_factory=dict)


def read_preferences(path: Path, rows: Sequence[Row]) -> list[Rated]:
    """Every text that was compared, once."""
    texts: dict[tuple[str, str, str], _Text] = {}
    games: dict[str, list[tuple[str, str, float]]] = {}
    for number, row in enumerate(rows):
        doc = str(row.values.get("doc") if row.values.get("doc") is not None else number)
        sides = [_text(row, side, doc, texts) for side in ("a", "b")]
        for criterion, share in _outcomes(row).items():
            games.setdefault(criterion, []).append((sides[0].system, sides[1].system, share))
            for side, won in zip(sides, (share, 1.0 - share), strict=True):
                side.wins.setdefault(criterion, []).append(won)
    strengths = {criterion: _strengths(path, played) for criterion, played in games.items()}
    return [_rated(path, number, text, strengths) for number, text in enumerate(texts.values())]


def _text(row: Row, side: str, doc: str, texts: dict[tuple[str, str, str], _Text]) -> _Text:
    system, hypothesis = row.text(f"system_{side}"), row.text(f"hypothesis_{side}")
    sample = Sample(hypothesis, row.texts("references"), row.maybe("source"))
    return texts.setdefault((doc, system, hypothesis), _Text(sample, system, doc))


def _outcomes(row: Row) -> dict[str, float]:
    """How much of a win each criterion gives to a."""
    given = row.values["preference"]
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object) -> float:
    if isinstance(value, str) and value.strip().lower() in _SHARES:
        return _SHARES[value.strip().lower()]
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise row.fail(f"column 'preference' must be a, b, tie or a number, not {value!r}") from error
    return 0.5 + 0.5 * float(np.sign(number))


def _strengths(path: Path, played: Iterable[tuple[str, str, float]]) -> dict[str, float]:
    games = [game for game in played if game[0] != game[1]]
    names = list(dict.fromkeys(name for game in games for name in game[:2]))
    if len(names) < 2:
        raise DataError(f"{path}: preferences between at least two systems are needed")
    wins = np.zeros((len(names), len(names)))
    for first, second, share in games:
        i, j = names.index(first), names.index(second)
        wins[i, j] += share
        wins[j, i] += 1.0 - share
    return dict(zip(names, bradley_terry(wins, prior=_PRIOR).tolist(), strict=True))


def _rated(path: Path, number: int, text: _Text, strengths: Mapping[str, Mapping[str, float]]) -> Rated:
    human: dict[str, tuple[float, ...]] = {}
    for criterion, wins in text.wins.items():
        if text.system in strengths[criterion]:
            human[criterion] = (strengths[criterion][text.system],)
        human[WINS + criterion] = tuple(wins)
    return Rated(f"{path.stem}-{number}", text.sample, text.system, text.doc, human)
