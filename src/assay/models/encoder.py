"""Texts to token embeddings or pooled vectors: each text once, batched by tokens, in a bounded cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.models.memory import BoundedCache
from assay.models.torch import COUNTER, Loaded, Overlong, content_ids, in_batches, padded, within

Matrix = NDArray[np.float32]
Pool = Literal["mean", "first", "last"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's ids with one vector each, framing ids included, and how many ids were cut."""

    ids: tuple[int, ...]
    vectors: Matrix
    truncated: int = 0


MEMORY = BoundedCache[Embedded](600_000_000)  # bytes; shared by all metrics on one encoder


def remembered(
    prefix: tuple[Any, ...], keys: Iterable[str], encode: Callable[[list[str]], Sequence[Embedded]]
) -> dict[str, Embedded]:
    """Return what the cache has for each key; what it lacks is encoded in one call and kept."""
    known = {key: MEMORY.get((*prefix, key)) for key in dict.fromkeys(keys)}
    fresh = [key for key, value in known.items() if value is None]
    encoded = dict(zip(fresh, encode(fresh), strict=True)) if fresh else {}
    for key, value in encoded.items():
        MEMORY.put((*prefix, key), value, int(value.vectors.nbytes) + 64)
    return {key: value if value is not None else encoded[key] for key, value in known.items()}


def embed(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> dict[str, Embedded]:
    """Return the token embeddings of every distinct text, each of length 1."""
    return remembered((loaded.serial, overlong), texts, lambda fresh: _encode(loaded, fresh, overlong))


def _encode(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> list[Embedded]:
    pieces: list[tuple[int, list[int], int, int]] = []  # text, framed ids, and the range of them to keep
    cuts = [0] * len(texts)
    for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
        if overlong == "window":
            pieces += [(index, *piece) for piece in _windows(loaded, ids, loaded.room)]
        else:
            content, cuts[index] = within(loaded, ids, loaded.room, overlong, text)
            pieces.append((index, loaded.framed(content), 0, len(content) + loaded.framing.size))
    vectors = in_batches(
        [len(piece[1]) for piece in pieces], lambda batch: _forward(loaded, [pieces[i][1] for i in batch])
    )
    return _gather(len(texts), pieces, vectors, cuts)


def _windows(loaded: Loaded, ids: list[int], room: int) -> list[tuple[list[int], int, int]]:
    """Return pieces that overlap by half; their middles are kept, so that ids have context on both sides."""
    before = len(loaded.framing.prefix)
    if len(ids) <= room:
        return [(loaded.framed(ids), 0, len(ids) + loaded.framing.size)]
    step, margin = max(1, room // 2), room // 4
    starts = [*range(0, len(ids) - room, step), len(ids) - room]
    edges = [0, *(start + margin for start in starts[1:]), len(ids)]
    windows = []
    for number, start in enumerate(starts):
        low = edges[number] - start + (0 if number == 0 else before)
        last = number == len(starts) - 1
        high = edges[number + 1] - start + before + (len(loaded.framing.suffix) if last else 0)
        windows.append((loaded.framed(ids[start : start + room]), low, high))
    return windows


def _forward(loaded: Loaded, rows: list[list[int]]) -> list[Matrix]:
    import torch

    ids, mask = padded(rows, loaded.pad, loaded.device)
    hidden = loaded.model(input_ids=ids, attention_mask=mask)[0]
    unit = torch.nn.functional.normalize(hidden.float(), dim=-1).cpu().numpy()
    COUNTER.forward_tokens += int(mask.sum())
    return [unit[index, : len(row)].copy() for index, row in enumerate(rows)]


def _gather(
    count: int, pieces: Sequence[tuple[int, list[int], int, int]], vectors: Sequence[Matrix], cuts: list[int]
) -> list[Embedded]:
    """Put the pieces of each text together again."""
    ids: list[list[int]] = [[] for _ in range(count)]
    parts: list[list[Matrix]] = [[] for _ in range(count)]
    for (index, row, low, high), states in zip(pieces, vectors, strict=True):
        ids[index] += row[low:high]
        parts[index].append(states[low:high])
    return [
        Embedded(tuple(ids[i]), parts[i][0] if len(parts[i]) == 1 else np.concatenate(parts[i]), cuts[i])
        for i in range(count)
    ]


def pooled(
    loaded: Loaded, texts: Sequence[str], overlong: Overlong, pool: Pool = "mean"
) -> tuple[Matrix, list[int]]:
    """Return one vector per text: its states' mean (as sentence-transformers), the first or the last."""
    known = remembered(
        (loaded.serial, pool, overlong), texts, lambda fresh: _pool(loaded, fresh, overlong, pool)
    )
    if not texts:
        return np.empty((0, int(loaded.model.config.hidden_size)), np.float32), []
    return np.stack([known[text].vectors[0] for text in texts]), [known[text].truncated for text in texts]


def _pool(loaded: Loaded, texts: Sequence[str], overlong: Overlong, pool: Pool) -> list[Embedded]:
    rows: list[list[int]] = []
    owners: list[int] = []
    cuts = [0] * len(texts)
    for index, (text, ids) in enumerate(zip(texts, content_ids(loaded, texts), strict=True)):
        step = loaded.room if overlong == "window" else max(1, len(ids))
        for start in range(0, max(1, len(ids)), step):
            content, cut = within(loaded, ids[start : start + step], loaded.room, overlong, text)
            cuts[index] += cut
            rows.append(loaded.framed(content) or [loaded.pad])  # a text of no tokens still needs a vector
            owners.append(index)
    vectors = in_batches(
        [len(row) for row in rows], lambda b: _pool_forward(loaded, [rows[i] for i in b], pool)
    )
    parts: list[list[Matrix]] = [[] for _ in texts]
    for owner, vector in zip(owners, vectors, strict=True):
        parts[owner].append(vector)
    return [Embedded((), np.mean(p, axis=0, keepdims=True), c) for p, c in zip(parts, cuts, strict=True)]


def _pool_forward(loaded: Loaded, rows: list[list[int]], pool: Pool) -> list[Matrix]:
    ids, mask = padded(rows, loaded.pad, loaded.device)
    hidden = loaded.model(input_ids=ids, attention_mask=mask)[0].float()
    COUNTER.forward_tokens += int(mask.sum())
    if pool == "mean":
        vectors = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    else:
        places = mask.sum(1) - 1 if pool == "last" else mask.sum(1) * 0
        vectors = hidden[list(range(len(rows))), places]
    return list(vectors.cpu().numpy())
