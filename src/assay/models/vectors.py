"""Static word vectors: one vector per word, from named weights, a folder, or a file in a published format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats
from assay.errors import WeightsError
from assay.models.weights import build_folder, cache_folder, pin, resolve, stamped_digest

_TEXT = (".txt", ".vec")  # GloVe, fastText
_FEWEST = 2  # numbers of a vector: a line of text rarely ends in as many


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One vector per word, read from disk as it is needed."""

    rows: Mapping[str, int]
    matrix: NDArray[np.float32]

    def known(self, words: Sequence[str]) -> list[int]:
        """Return the rows of the words that have a vector, in order."""
        return [row for row in map(self.rows.get, words) if row is not None]

    def vectors(self, rows: Sequence[int]) -> Floats:
        return np.asarray(self.matrix[rows], dtype=np.float64)


def embeddings(model: str) -> Embeddings:
    """Open named weights, a folder with one .npy and one .parquet (words in column `index`), or a file.

    Files are those of GloVe (.txt), fastText (.vec) and word2vec (.bin); they are converted once.
    """
    return _embeddings(model, pin(model))


@lru_cache(maxsize=4)
def _embeddings(model: str, content: str) -> Embeddings:
    import polars

    folder = _plain_folder(resolve(model))
    tables, matrices = sorted(folder.rglob("*.parquet")), sorted(folder.rglob("*.npy"))
    if len(tables) != 1 or len(matrices) != 1:
        raise WeightsError(
            f"{model!r} holds {len(matrices)} .npy and {len(tables)} .parquet files; static embeddings are "
            "one .npy of vectors and one .parquet with the words in column 'index', or a file of GloVe "
            "(.txt), fastText (.vec) or word2vec (.bin)"
        )
    words = polars.read_parquet(tables[0], columns=["index"])["index"].to_list()
    matrix = np.load(matrices[0], mmap_mode="r", allow_pickle=False)
    if matrix.ndim != 2 or len(matrix) != len(words):
        shapes = f"has the shape {matrix.shape} for {len(words)} words"
        raise WeightsError(f"{matrices[0].name} {shapes}; give one vector per word")
    return Embeddings({word: row for row, word in enumerate(words)}, matrix)


def _plain_folder(path: Path) -> Path:
    """Return the folder of the vectors as .npy and .parquet, converted from a published file where needed."""
    files = [path] if path.is_file() else []
    if path.is_dir() and not any(path.rglob("*.npy")):
        files = [file for file in sorted(path.iterdir()) if file.suffix in (*_TEXT, ".bin")]
        if len(files) > 1:
            raise WeightsError(
                f"{path} holds several files of vectors: {', '.join(file.name for file in files)}; give one "
                f"of them as model=PATH"
            )
    if not files:
        return path
    file = files[0]
    if file.suffix not in (*_TEXT, ".bin"):
        raise WeightsError(f"{file} is no file of word vectors; give a .txt, .vec or .bin, or a folder")
    home = cache_folder() / "converted" / f"{stamped_digest(file)[:32]}-vectors"
    return build_folder(home, lambda scratch: _convert(file, scratch))


def _convert(file: Path, target: Path) -> None:
    import polars

    with file.open("rb") as handle:
        rows = _read_binary(handle, file) if file.suffix == ".bin" else _read_text(handle, file)
        words: dict[str, NDArray[np.float32]] = {}
        for word, vector in rows:
            words.setdefault(word, vector)
    if not words:
        raise WeightsError(f"{file} holds no word vectors; fetch it again")
    target.mkdir(parents=True)
    np.save(target / "vectors.npy", np.stack(list(words.values())))
    polars.DataFrame({"index": list(words)}).write_parquet(target / "words.parquet")


def _read_text(handle: BinaryIO, file: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the words of GloVe, or of fastText, whose first line gives numbers of words and dimensions."""
    size: int | None = None
    for number, line in enumerate(handle, start=1):
        parts = line.decode("utf-8", "replace").rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            size = int(parts[1])
            continue
        size = size or len(parts) - 1
        # A few words of GloVe 840B hold spaces.
        word, values = " ".join(parts[: len(parts) - size]), parts[len(parts) - size :]
        try:
            vector = np.array(values, dtype=np.float32)
        except ValueError:
            vector = np.empty(0, np.float32)
        if len(vector) != size or size < _FEWEST or not word:
            raise WeightsError(
                f"{file}, line {number}: not a word with {size} numbers; the file is damaged, or no file of "
                f"word vectors"
            )
        yield word, vector


def _read_binary(handle: BinaryIO, file: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the words of word2vec's binary format: a line with numbers of words and dimensions, then rows."""
    header = handle.readline(100).split()
    if len(header) != 2 or not all(part.isdigit() for part in header):
        raise WeightsError(f"{file} is no binary file of word2vec: its first line gives no numbers of words")
    count, size = int(header[0]), int(header[1])
    for row in range(count):
        word = bytearray()
        while (letter := handle.read(1)) not in (b" ", b""):
            word += letter
        values = handle.read(4 * size)
        if len(values) < 4 * size:
            raise WeightsError(f"{file} ends after {row} of {count} words; fetch it again")
        # Some writers end each row with a line break.
        yield word.decode("utf-8", "replace").lstrip("\n"), np.frombuffer(values, dtype="<f4")
