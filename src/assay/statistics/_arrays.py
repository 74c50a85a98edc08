"""Arrays, labels and seeds as every module here takes them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
Labels = Iterable[Hashable] | NDArray[Any]
Seed = int | np.random.Generator
Statistic = Callable[[Floats], Floats]

# Work is cut into pieces of about this many float64 cells (32 MB), whatever the size of the data.
CELLS = 4_000_000


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Return a non-empty vector of finite floats, or say what is wrong with it."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has missing or infinite entries; drop them first (see complete_rows)")
    return array


def matched(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Return two finite vectors of one length."""
    one, two = vector(first, "first"), vector(second, "second")
    if one.size != two.size:
        raise ValueError(f"the vectors must have one length, not {one.size} and {two.size}")
    return one, two


def complete_rows(*columns: ArrayLike) -> Booleans:
    """Tell, row by row, whether every column has a value there.

    >>> complete_rows([1.0, float("nan"), 3.0], [1.0, 2.0, None]).tolist()
    [True, False, False]
    """
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    mask: Booleans = np.all([np.isfinite(array) for array in arrays], axis=0)
    return mask


def label_codes(labels: Labels | None, n: int) -> tuple[Integers, int]:
    """Number labels by first appearance; no labels means a cluster a row."""
    if labels is None:
        return np.arange(n), n
    numbers: dict[Hashable, int] = {}
    listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in listed], dtype=np.intp)
    if codes.size != n:
        raise ValueError(f"{codes.size} labels for {n} rows")
    return codes, len(numbers)


def cluster_sums(values: Floats, codes: Integers, n_clusters: int) -> Floats:
    """Sum a vector, or the columns of a matrix, over clusters of rows."""
    if values.ndim == 1:
        return np.asarray(np.bincount(codes, weights=values, minlength=n_clusters), dtype=np.float64)
    return np.column_stack([cluster_sums(column, codes, n_clusters) for column in values.T])


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator itself, or a new one from a whole number."""
    return np.random.default_rng(seed)


def whole_seed(seed: Seed) -> int:
    """Return a whole number that can key a cache."""
    return seed if isinstance(seed, int) else int(seed.integers(2**62))


def pieces(total: int, width: int) -> Iterator[slice]:
    """Cut `total` rows of `width` cells into slices of bounded size."""
    step = max(1, CELLS // max(1, width))
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))


def in_pieces(function: Callable[[slice], Floats], total: int, width: int) -> Floats:
    """Apply a function to slice after slice and join its answers."""
    parts: Sequence[Floats] = [function(piece) for piece in pieces(total, width)]
    return np.concatenate(parts)
