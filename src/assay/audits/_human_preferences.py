"""Preferences to strengths: Bradley-Terry over all comparisons of systems (blind app. C.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.datasets.preferences import RIVALS
from assay.datasets.ratings import Rated
from assay.errors import DataError
from assay.statistics.bradley_terry import bradley_terry

WINS = "wins:"
_PRIOR = 0.1  # keeps the strength of a system that never loses finite


def with_strengths(rated: Sequence[Rated]) -> list[Rated]:
    """Compared texts get their system's log strength as the rating; their own outcomes are `wins:CRITERION`.

    A strength is a system's, so only the level of systems means anything by it. Other texts stay as they are.
    """
    compared = [item for item in rated if RIVALS in item.meta]
    if not compared:
        return list(rated)
    criteria = dict.fromkeys(name for item in compared for name in item.human)
    strengths = {name: _strengths(name, compared) for name in criteria}
    return [_rerated(item, strengths) if RIVALS in item.meta else item for item in rated]


def _strengths(criterion: str, compared: Sequence[Rated]) -> dict[str, float]:
    games = [
        (item.system or "", rival, share)
        for item in compared
        for rival, share in zip(
            item.meta[RIVALS].get(criterion, ()), item.human.get(criterion, ()), strict=True
        )
        if rival != item.system
    ]
    names = list(dict.fromkeys(name for winner, rival, _ in games for name in (winner, rival)))
    if len(names) < 2:
        raise DataError(f"{criterion}: preferences between at least two systems are needed")
    wins = np.zeros((len(names), len(names)))
    for winner, rival, share in games:  # each comparison stands with both its texts: here with its own side
        wins[names.index(winner), names.index(rival)] += share
    return dict(zip(names, bradley_terry(wins, prior=_PRIOR).tolist(), strict=True))


def _rerated(item: Rated, strengths: Mapping[str, Mapping[str, float]]) -> Rated:
    human: dict[str, tuple[float, ...]] = {}
    for criterion, wins in item.human.items():
        strength = strengths[criterion].get(item.system or "")
        if strength is not None:
            human[criterion] = (strength,)
        human[WINS + criterion] = wins
    meta = {key: value for key, value in item.meta.items() if key != RIVALS}
    return replace(item, human=human, meta=meta)
