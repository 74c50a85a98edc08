"""Static word vectors: one vector per word, from named weights or a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats
from assay.errors import WeightsError
from assay.models.weights import resolve


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One vector per word, read from disk as it is needed."""

    rows: Mapping[str, int]
    matrix: NDArray[np.float32]

    def known(self, words: Sequence[str]) -> list[int]:
        """Return the rows of the words that have a vector, in order."""
        rows = self.rows
        return [rows[word] for word in words if word in rows]

    def vectors(self, rows: Sequence[int]) -> Floats:
        """Return the vectors of some rows."""
        return np.asarray(self.matrix[rows], dtype=np.float64)


@lru_cache(maxsize=4)
def embeddings(model: str) -> Embeddings:
    """Open named weights, or a folder with one .npy and one .parquet with the words in column `index`."""
    import polars

    folder = resolve(model)
    tables, matrices = sorted(folder.rglob("*.parquet")), sorted(folder.rglob("*.npy"))
    if len(tables) != 1 or len(matrices) != 1:
        raise WeightsError(
            f"{model!r} holds {len(matrices)} .npy and {len(tables)} .parquet files; static embeddings are "
            "one .npy of vectors and one .parquet with the words in column 'index'"
        )
    words = polars.read_parquet(tables[0], columns=["index"])["index"].to_list()
    matrix = np.load(matrices[0], mmap_mode="r", allow_pickle=False)
    if matrix.ndim != 2 or len(matrix) != len(words):
        shapes = f"has the shape {matrix.shape} for {len(words)} words"
        raise WeightsError(f"{matrices[0].name} {shapes}; give one vector per word")
    return Embeddings({word: row for row, word in enumerate(words)}, matrix)
