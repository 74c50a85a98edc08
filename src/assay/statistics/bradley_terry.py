"""Pairwise preferences in, strengths out (Bradley & Terry, 1952; blind app. C.3)."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from assay.statistics.intervals import (
    Floats,
    Integers,
    Interval,
    Labels,
    Options,
    Plan,
    Seed,
    draw_counts,
    generator,
    label_codes,
    percentile_interval,
    pieces,
)


@dataclass(frozen=True, slots=True)
class Strengths:
    """Log strengths, of mean 0, and their intervals."""

    values: tuple[float, ...]
    intervals: tuple[Interval | None, ...]


def bradley_terry(wins: ArrayLike, *, prior: float = 0.0) -> Floats:
    """Return log strengths, of mean 0, from a matrix of wins (row beat column; a tie is half to each).

    `prior` adds that many wins to both sides of every pair. Without it, everyone must be reachable
    from everyone through wins, else some strength is infinite.
    """
    matrix = np.asarray(wins, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix < 0).any():
        raise ValueError("wins must be a square matrix of counts")
    padded = _with_prior(matrix, prior)
    if connected_components(padded > 0, directed=True, connection="strong")[0] > 1:
        raise ValueError(
            "some contestants never lose to the others, or never beat them; set a prior, say 0.1"
        )
    strengths: Floats = _fit(padded[None, :, :])[0]
    return strengths


def bootstrap_bradley_terry(
    winners: ArrayLike,
    losers: ArrayLike,
    n: int,
    *,
    ties: ArrayLike | None = None,
    clusters: Labels | None = None,
    prior: float = 0.1,
    seed: Seed,
    **options: Unpack[Options],
) -> Strengths:
    """Fit comparisons (winner and loser by number, a row each) and resample them, or their clusters.

    The small prior keeps resamples finite in which someone never loses. Intervals are percentile.
    """
    plan, rng = Plan(**options), generator(seed)
    first, second = np.asarray(winners, dtype=np.intp), np.asarray(losers, dtype=np.intp)
    codes, n_clusters = label_codes(clusters, first.size)
    cells = _cells(first, second, n, ties, codes)
    draws = [
        _fit(_with_prior((draw_counts(n_clusters, p.stop - p.start, rng) @ cells).reshape(-1, n, n), prior))
        for p in pieces(plan.resamples, max(n_clusters, n * n))
    ]
    values = bradley_terry((np.ones((1, n_clusters)) @ cells).reshape(n, n), prior=prior)
    columns = np.concatenate(draws).T
    intervals = tuple(percentile_interval(column, n_clusters, plan) for column in columns)
    return Strengths(tuple(values.tolist()), intervals)


def _cells(winners: Integers, losers: Integers, n: int, ties: ArrayLike | None, codes: Integers) -> csr_array:
    """Lay comparisons out, a row a cluster, over the cells of the matrix of wins."""
    tied = np.zeros(winners.size) if ties is None else np.asarray(ties, dtype=np.float64)
    wins = np.concatenate([1.0 - tied / 2.0, tied / 2.0])
    columns = np.concatenate([winners * n + losers, losers * n + winners])
    return csr_array((wins, (np.tile(codes, 2), columns)), shape=(int(codes.max()) + 1, n * n))


def _with_prior(wins: Floats, prior: float) -> Floats:
    n = wins.shape[-1]
    padded: Floats = wins * (1.0 - np.eye(n)) + prior * (1.0 - np.eye(n))
    return padded


def _fit(wins: Floats, rounds: int = 2000, precision: float = 1e-9) -> Floats:
    """Run Hunter's (2004) MM algorithm on many matrices of wins at once."""
    games = wins + wins.transpose(0, 2, 1)
    won = wins.sum(axis=2)
    strength = np.ones_like(won)
    for _ in range(rounds):
        rate = (games / (strength[:, :, None] + strength[:, None, :])).sum(axis=2)
        new = won / np.maximum(rate, 1e-300)
        new /= np.exp(np.log(np.maximum(new, 1e-300)).mean(axis=1, keepdims=True))
        moved = float(np.abs(np.log(np.maximum(new, 1e-300) / np.maximum(strength, 1e-300))).max())
        strength = new
        if moved < precision:
            break
    logs: Floats = np.log(np.maximum(strength, 1e-300))
    logs -= logs.mean(axis=1, keepdims=True)
    return logs
