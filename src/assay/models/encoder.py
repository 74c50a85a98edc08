"""Texts to token embeddings: each text once, in batches by tokens, kept in a memory of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.models.torch import (
    Loaded,
    Overlong,
    content_ids,
    in_batches,
    padded,
    within,
)

MEMORY_BYTES = 600_000_000
Matrix = NDArray[np.float32]
Pool = Literal["mean", "first", "last"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's ids, a unit vector each, and how many ids were cut; specials stand at both ends."""

    ids: tuple[int, ...]
    vectors: Matrix
    truncated: int = 0

    @property
    def size(self) -> int:
        """Bytes held."""
        return int(self.vectors.nbytes) + 64


class Memory:
    """The embeddings last used, up to a number of bytes; shared by all metrics on one encoder."""

    def __init__(self, budget: int = MEMORY_BYTES) -> None:
        self._budget, self._held = budget, 0
        self._kept: OrderedDict[tuple[Any, ...], Embedded] = OrderedDict()
        self._lock = Lock()
        self.forward_tokens = 0  # ids sent through models, for the benchmarks

    def get(self, key: tuple[Any, ...]) -> Embedded | None:
        """What is kept under the key, now the youngest."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: tuple[Any, ...], value: Embedded) -> None:
        """Keep it; the oldest go first."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = value
                self._held += value.size
            while self._held > self._budget and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1].size

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._held = 0


MEMORY = Memory()


def embed(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> dict[str, Embedded]:
    """Every distinct text's token embeddings, of length 1."""
    found: dict[str, Embedded] = {}
    fresh: list[str] = []
    for text in dict.fromkeys(texts):
        known = MEMORY.get((loaded.serial, overlong, text))
        if known is None:
            fresh.append(text)
        else:
            found[text] = known
    for text, embedded in zip(fresh, _encode(loaded, fresh, overlong), strict=True):
        found[text] = embedded
        MEMORY.put((loaded.serial, overlong, text), embedded)
    return found


def _encode(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> list[Embedded]:
    if not texts:
        return []
    room = loaded.limit - loaded.framing.size
    pieces: list[tuple[int, list[int], int, int]] = []  # text, framed ids, and which of them to keep
    cuts = [0] * len(texts)
    for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
        if overlong == "window":
            pieces += [(index, *piece) for piece in _windows(loaded, ids, room)]
        else:
            kept, cuts[index] = within(loaded, ids, room, overlong, text)
            pieces.append((index, _framed(loaded, kept), 0, len(kept) + loaded.framing.size))
    vectors = in_batches(
        [len(piece[1]) for piece in pieces], lambda batch: _forward(loaded, [pieces[i][1] for i in batch])
    )
    return _gather(len(texts), pieces, vectors, cuts)


def _framed(loaded: Loaded, ids: list[int]) -> list[int]:
    return [*loaded.framing.prefix, *ids, *loaded.framing.suffix]


def _windows(loaded: Loaded, ids: list[int], room: int) -> list[tuple[list[int], int, int]]:
    """Pieces that overlap by half; of each the middle is kept, so that every id has context on both sides."""
    before = len(loaded.framing.prefix)
    if len(ids) <= room:
        return [(_framed(loaded, ids), 0, len(ids) + loaded.framing.size)]
    step, margin = max(1, room // 2), room // 4
    starts = [*range(0, len(ids) - room, step), len(ids) - room]
    edges = [0, *(start + margin for start in starts[1:]), len(ids)]
    found = []
    for number, start in enumerate(starts):
        low = edges[number] - start + (0 if number == 0 else before)
        last = number == len(starts) - 1
        high = edges[number + 1] - start + before + (len(loaded.framing.suffix) if last else 0)
        found.append((_framed(loaded, ids[start : start + room]), low, high))
    return found


def _forward(loaded: Loaded, rows: list[list[int]]) -> list[Matrix]:
    import torch

    ids, mask = padded(rows, loaded.pad, loaded.device)
    hidden = loaded.model(input_ids=ids, attention_mask=mask)[0]
    unit = torch.nn.functional.normalize(hidden.float(), dim=-1).cpu().numpy()
    MEMORY.forward_tokens += int(mask.sum())
    return [unit[index, : len(row)].copy() for index, row in enumerate(rows)]


def _gather(
    count: int, pieces: Sequence[tuple[int, list[int], int, int]], vectors: Sequence[Matrix], cuts: list[int]
) -> list[Embedded]:
    """Pieces back to texts."""
    ids: list[list[int]] = [[] for _ in range(count)]
    kept: list[list[Matrix]] = [[] for _ in range(count)]
    for (index, row, low, high), found in zip(pieces, vectors, strict=True):
        ids[index] += row[low:high]
        kept[index].append(found[low:high])
    return [
        Embedded(tuple(ids[i]), kept[i][0] if len(kept[i]) == 1 else np.concatenate(kept[i]), cuts[i])
        for i in range(count)
    ]


def pooled(
    loaded: Loaded, texts: Sequence[str], overlong: Overlong, pool: Pool = "mean"
) -> tuple[Matrix, list[int]]:
    """A vector a text: the mean of its states (as sentence-transformers pools), the first or the last."""
    found: dict[str, Embedded] = {}
    fresh: list[str] = []
    for text in dict.fromkeys(texts):
        known = MEMORY.get((loaded.serial, pool, overlong, text))
        if known is None:
            fresh.append(text)
        else:
            found[text] = known
    for text, embedded in zip(fresh, _pool(loaded, fresh, overlong, pool), strict=True):
        found[text] = embedded
        MEMORY.put((loaded.serial, pool, overlong, text), embedded)
    width = int(loaded.model.config.hidden_size)
    vectors = (
        np.stack([found[text].vectors[0] for text in texts]) if texts else np.empty((0, width), np.float32)
    )
    return vectors, [found[text].truncated for text in texts]


def _pool(loaded: Loaded, texts: Sequence[str], overlong: Overlong, pool: Pool) -> list[Embedded]:
    room = loaded.limit - loaded.framing.size
    rows: list[list[int]] = []
    owners: list[int] = []
    cuts = [0] * len(texts)
    for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
        step = room if overlong == "window" else max(1, len(ids))
        for start in range(0, max(1, len(ids)), step):
            kept, cut = within(loaded, ids[start : start + step], room, overlong, text)
            cuts[index] += cut
            rows.append(_framed(loaded, kept) or [loaded.pad])  # a text of no tokens still needs a vector
            owners.append(index)
    vectors = in_batches(
        [len(row) for row in rows], lambda b: _pool_forward(loaded, [rows[i] for i in b], pool)
    )
    made: list[list[Matrix]] = [[] for _ in texts]
    for owner, vector in zip(owners, vectors, strict=True):
        made[owner].append(vector)
    return [Embedded((), np.mean(m, axis=0, keepdims=True), c) for m, c in zip(made, cuts, strict=True)]


def _pool_forward(loaded: Loaded, rows: list[list[int]], pool: Pool) -> list[Matrix]:
    ids, mask = padded(rows, loaded.pad, loaded.device)
    hidden = loaded.model(input_ids=ids, attention_mask=mask)[0].float()
    MEMORY.forward_tokens += int(mask.sum())
    if pool == "mean":
        vectors = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    else:
        places = mask.sum(1) - 1 if pool == "last" else mask.sum(1) * 0
        vectors = hidden[list(range(len(rows))), places]
    return list(vectors.cpu().numpy())
