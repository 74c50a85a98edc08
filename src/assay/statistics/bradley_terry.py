"""Pairwise preferences in, strengths out (Bradley & Terry, 1952; blind app. C.3)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from assay.statistics.intervals import Floats

_ROUNDS = 2000
_PRECISION = 1e-9  # the largest change of a log strength at which the fit has converged
_SMALLEST = 1e-300


def bradley_terry(wins: ArrayLike, *, prior: float = 0.0) -> Floats:
    """Return log strengths, of mean 0, from a matrix of wins (row beat column; a tie is half to each).

    Under the model i beats j with probability s_i / (s_i + s_j); the strengths s maximise the likelihood.
    `prior` adds that many wins to both sides of every pair. Without it, everyone must be reachable from
    everyone through wins, else some strength is infinite, which raises ValueError.
    """
    matrix = np.asarray(wins, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or (matrix < 0).any():
        raise ValueError("wins must be a square matrix of counts")
    pairs = 1.0 - np.eye(len(matrix))
    padded = matrix * pairs + prior * pairs
    if connected_components(padded > 0, directed=True, connection="strong")[0] > 1:
        raise ValueError(
            "some contestants never lose to the others, or never beat them; set a prior, say 0.1"
        )
    return _fit(padded)


def _fit(wins: Floats) -> Floats:
    """Run Hunter's (2004) MM algorithm: s_i = wins_i / sum over j of games_ij / (s_i + s_j)."""
    games, won = wins + wins.T, wins.sum(axis=1)
    strength = np.ones_like(won)
    for _ in range(_ROUNDS):
        rate = (games / (strength[:, None] + strength)).sum(axis=1)
        updated = won / np.maximum(rate, _SMALLEST)
        updated /= np.exp(np.log(np.maximum(updated, _SMALLEST)).mean())
        ratio = np.maximum(updated, _SMALLEST) / np.maximum(strength, _SMALLEST)
        strength = updated
        if float(np.abs(np.log(ratio)).max()) < _PRECISION:
            break
    logs: Floats = np.log(np.maximum(strength, _SMALLEST))
    logs -= logs.mean()
    return logs
