"""Is one system better than another: paired resampling of scores that follow from sums over texts.

Draws, p-values and intervals are those of sacreBLEU's `--paired-bs` and `--paired-ar` (Koehn, 2004; Riezler
and Maxwell, 2005): from the same seed the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from assay.statistics.intervals import Floats

_Interval = tuple[float, float]

Score = Callable[[Floats], Floats]  # summed statistics, one row each, to scores
Test = Literal["bootstrap", "permutation"]
SEED = 12345  # sacreBLEU's
DRAWS: dict[Test, int] = {"bootstrap": 1000, "permutation": 10_000}  # sacreBLEU's
_AT_ONCE = 20_000_000  # drawn places in memory
_WHOLE = 32  # draws in a part: a generator of single bits begins anew at each call, after whole words of them
_ROUNDING = 1e-9  # of a score, which depends on the order of the sums


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Two systems under one metric: how far the first is above the second."""

    first: int
    second: int
    difference: float
    interval: _Interval
    p_value: float
    wins: float  # the share of resamples in which the first scores higher
    error: float  # the standard deviation of the difference over resamples
    adjusted: float = float("nan")  # by Holm's rule over all pairs


def bootstrap_scores(systems: Sequence[Floats], score: Score, *, draws: int, seed: int) -> Floats:
    """Scores of each system on the same resamples of texts: (systems, draws)."""
    count = len(systems[0])
    generator = np.random.default_rng(seed)
    rows: list[list[Floats]] = [[] for _ in systems]
    for size in _sizes(draws, count):
        places = generator.choice(count, size=(size, count), replace=True)
        weights = np.stack([np.bincount(row, minlength=count) for row in places]).astype(np.float64)
        for listed, statistics in zip(rows, systems, strict=True):
            listed.append(score(weights @ statistics))
    return np.stack([np.concatenate(listed) for listed in rows])


def permutation_p(
    systems: Sequence[Floats], pairs: Sequence[tuple[int, int]], score: Score, *, draws: int, seed: int
) -> list[float]:
    """For each pair, the share of random swaps of texts that leave the two further apart than they are."""
    whole = [_whole(statistics, score) for statistics in systems]
    observed = [abs(whole[a] - whole[b]) for a, b in pairs]
    further = np.zeros(len(pairs), dtype=np.int64)
    generator = np.random.default_rng(seed)
    count = len(systems[0])
    for size in _sizes(draws, count):
        kept = generator.integers(2, size=(size, count), dtype=bool).astype(np.float64)
        sums = [(kept @ statistics, statistics.sum(axis=0)) for statistics in systems]
        for place, (a, b) in enumerate(pairs):
            (mine, all_mine), (other, all_other) = sums[a], sums[b]
            apart = np.abs(score(mine + all_other - other) - score(all_mine - mine + other))
            further[place] += np.count_nonzero(apart > observed[place] + _ROUNDING)
    return [float(p) for p in (further + 1) / (draws + 1)]


def bootstrap_p(first: Floats, second: Floats, observed: float) -> float:
    """The share of resamples whose difference lies further from their mean than the observed one from 0.

    This is sacreBLEU's way, which takes the differences without their signs: of equal systems it tells more
    than 5% apart at .05 (docs/statistics.md), which the permutation test does not.
    """
    apart = np.abs(first - second)
    return float((np.count_nonzero(apart - apart.mean() > abs(observed)) + 1) / (len(apart) + 1))


def compare_by_tests(
    systems: Sequence[Floats],
    score: Score,
    *,
    test: Test = "permutation",
    draws: int | None = None,
    seed: int = SEED,
    baseline: int | None = None,
) -> tuple[Floats, Floats, list[SystemPair]]:
    """Scores, their resamples, and every pair of systems (or those with a baseline).

    `systems` are statistics, one row per text.
    """
    resampled = bootstrap_scores(systems, score, draws=_drawn("bootstrap", test, draws), seed=seed)
    values = np.array([_whole(statistics, score) for statistics in systems])
    places = [pair for pair in combinations(range(len(systems)), 2) if baseline in (None, *pair)]
    if test == "bootstrap":
        p_values = [bootstrap_p(resampled[a], resampled[b], float(values[a] - values[b])) for a, b in places]
    else:
        p_values = permutation_p(systems, places, score, draws=draws or DRAWS[test], seed=seed)
    pairs = []
    for (a, b), p in zip(places, p_values, strict=True):
        apart = resampled[a] - resampled[b]
        wins = float((apart > 0).mean() + (apart == 0).mean() / 2)
        pairs.append(
            SystemPair(a, b, float(values[a] - values[b]), middle(apart), p, wins, float(apart.std(ddof=1)))
        )
    return values, resampled, _adjusted(pairs)


def _drawn(kind: Test, test: Test, draws: int | None) -> int:
    return draws if draws and kind == test else DRAWS[kind]


def middle(draws: Floats) -> _Interval:
    """The middle 95% of resamples, cut where sacreBLEU cuts them."""
    ordered, edge = np.sort(draws), len(draws) // 40
    return float(ordered[edge]), float(ordered[len(ordered) - edge - 1])


def _whole(statistics: Floats, score: Score) -> float:
    return float(score(statistics.sum(axis=0, keepdims=True))[0])


def _sizes(draws: int, count: int) -> Iterator[int]:
    """Parts of the draws that fit in memory; a generator gives the same numbers in parts as at once."""
    step = max(1, _AT_ONCE // count // _WHOLE) * _WHOLE
    yield from (min(step, draws - start) for start in range(0, draws, step))


def _adjusted(pairs: Sequence[SystemPair]) -> list[SystemPair]:
    """The pairs with p-values by Holm's step-down rule."""
    order = sorted(range(len(pairs)), key=lambda place: pairs[place].p_value)
    adjusted, highest = [0.0] * len(pairs), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(pairs) - rank) * pairs[place].p_value))
        adjusted[place] = highest
    return [replace(pair, adjusted=value) for pair, value in zip(pairs, adjusted, strict=True)]
