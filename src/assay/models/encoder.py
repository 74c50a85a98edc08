"""Texts to token embeddings, pooled vectors, logits of a classifier, and attention, batched by tokens.

Each text is encoded once and stays in a bounded cache. `Differentiable` is what `Metric.differentiable()`
returns: a metric's score of pairs of texts as a tensor, with gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats
from assay.models import weights
from assay.models.loading import read_model
from assay.models.memory import BoundedCache
from assay.models.sentence import Pool, Pooling, own_pooling
from assay.models.torch import (
    COUNTER,
    Loaded,
    Overlong,
    clean_text,
    content_ids,
    device,
    framed_rows,
    in_batches,
    load_tokenizer,
    padded,
    tokenize_within,
    within,
)

if TYPE_CHECKING:
    import torch

Matrix = NDArray[np.float32]


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
    import torch

    contents, cuts = _contents(loaded, texts, overlong)
    pieces = [(index, *piece) for index, ids in enumerate(contents) for piece in _windows(loaded, ids)]

    def forward(batch: list[int]) -> list[Matrix]:
        rows = [pieces[index][1] for index in batch]
        unit = torch.nn.functional.normalize(_states(loaded, rows)[0], dim=-1).cpu().numpy()
        return [unit[index, : len(row)].copy() for index, row in enumerate(rows)]

    states = in_batches([len(row) for _, row, _, _ in pieces], forward)
    embedded = []
    for index, parts in groupby(zip(pieces, states, strict=True), key=lambda part: part[0][0]):
        ids: list[int] = []
        vectors: list[Matrix] = []
        for (_, row, low, high), state in parts:
            ids += row[low:high]
            vectors.append(state[low:high])
        embedded.append(Embedded(tuple(ids), np.concatenate(vectors), cuts[index]))
    return embedded


def _contents(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> tuple[list[list[int]], list[int]]:
    """Return the ids of each text, cut to the model's room except for windows, and how many were cut."""
    contents = content_ids(loaded, texts)
    if overlong == "window":
        return contents, [0] * len(texts)
    cut = [within(loaded, ids, loaded.room, overlong, t) for t, ids in zip(texts, contents, strict=True)]
    return [ids for ids, _ in cut], [count for _, count in cut]


def _windows(loaded: Loaded, ids: list[int]) -> list[tuple[list[int], int, int]]:
    """Return framed pieces that overlap by half, and the range of each to keep.

    Their middles are kept, so that ids have context on both sides.
    """
    room, before, after = loaded.room, len(loaded.framing.prefix), len(loaded.framing.suffix)
    if len(ids) <= room:
        return [(loaded.framed(ids), 0, len(ids) + loaded.framing.size)]
    step, margin = max(1, room // 2), room // 4
    starts = [*range(0, len(ids) - room, step), len(ids) - room]
    edges = [0, *(start + margin for start in starts[1:]), len(ids)]
    windows = []
    for number, start in enumerate(starts):
        low = edges[number] - start + (0 if number == 0 else before)
        high = edges[number + 1] - start + before + (after if number == len(starts) - 1 else 0)
        windows.append((loaded.framed(ids[start : start + room]), low, high))
    return windows


def _states(loaded: Loaded, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last states of rows of ids, (rows, length, width), and their mask."""
    ids, mask = padded(rows, loaded.pad, loaded.device)
    COUNTER.forward_tokens += sum(map(len, rows))
    return loaded.model(input_ids=ids, attention_mask=mask)[0].float(), mask


def pooled(
    loaded: Loaded,
    texts: Sequence[str],
    overlong: Overlong,
    *,
    pool: Pool | None = None,
    prefix: str | None = None,
) -> tuple[Matrix, list[int]]:
    """Return one vector per text, and the ids cut; `pool` and `prefix` are the model's own where None."""
    pooling = Pooling(pool) if pool else own_pooling(loaded.path, loaded.device)
    prompt = pooling.prompt if prefix is None else prefix
    key = (loaded.serial, pool, prompt, overlong)
    known = remembered(
        key, texts, lambda fresh: _pool(loaded, [prompt + text for text in fresh], overlong, pooling)
    )
    if not texts:
        return np.empty((0, int(loaded.model.config.hidden_size)), np.float32), []
    return np.stack([known[text].vectors[0] for text in texts]), [known[text].truncated for text in texts]


def _pool(loaded: Loaded, texts: Sequence[str], overlong: Overlong, pooling: Pooling) -> list[Embedded]:
    contents, cuts = _contents(loaded, texts, overlong)
    step = max(1, loaded.room)
    rows = [  # a text of no tokens still needs a vector
        (index, loaded.framed(ids[start : start + step]) or [loaded.pad])
        for index, ids in enumerate(contents)
        for start in range(0, max(1, len(ids)), step)
    ]

    def forward(batch: list[int]) -> list[Matrix]:
        return list(pooling.apply(*_states(loaded, [rows[index][1] for index in batch])).cpu().numpy())

    vectors = in_batches([len(row) for _, row in rows], forward)
    parts: list[list[Matrix]] = [[] for _ in texts]
    for (index, _), vector in zip(rows, vectors, strict=True):
        parts[index].append(vector)
    return [Embedded((), np.mean(p, axis=0, keepdims=True), c) for p, c in zip(parts, cuts, strict=True)]


def logits(
    loaded: Loaded, firsts: Sequence[str], seconds: Sequence[str] | None, overlong: Overlong = "warn"
) -> tuple[Floats, list[int]]:
    """Return (n, labels) logits of texts or pairs, and the tokens cut (from the longer text first)."""
    if not firsts:
        return np.empty((0, int(loaded.model.config.num_labels))), []
    texts = {"text": list(firsts)} | ({} if seconds is None else {"text_pair": list(seconds)})
    encoded, cuts = tokenize_within(loaded, texts, overlong)
    names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in encoded]
    rows = [{name: encoded[name][index] for name in names} for index in range(len(firsts))]

    def forward(batch: list[int]) -> list[Floats]:
        inputs = loaded.tokenizer.pad([rows[index] for index in batch], return_tensors="pt")
        return list(loaded.model(**inputs.to(loaded.device)).logits.double().cpu().numpy())

    return np.stack(in_batches([len(row["input_ids"]) for row in rows], forward)), cuts


def attention_blocks(name: str, texts: Sequence[str], *, block: int = 20, length: int = 200) -> Floats:
    """Return shares of attention: texts x from-blocks x (first token, then to-blocks), nan past a text's end.

    Averaged over layers and heads (*blind* app. C.2); rows sum to 1. The first token has a column of its own,
    because models direct attention there that is of no use elsewhere (*blind*, footnote 4). Texts are cut to
    `length` tokens, as in the paper.
    """
    import torch

    folder = weights.resolve(name)
    home = device()
    tokenizer, model = load_tokenizer(folder), _eager(folder, home)
    size = length // block
    shares = np.full((len(texts), size, size + 1), np.nan)
    with torch.inference_mode():
        for place, text in enumerate(texts):
            ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=length).to(home)
            layers = model(**ids, output_attentions=True).attentions
            mean = torch.stack([layer[0].mean(0) for layer in layers]).mean(0).cpu().numpy()
            shares[place] = in_blocks(mean.astype(np.float64), block, size)
    return shares


def in_blocks(attention: Floats, block: int, size: int) -> Floats:
    """Turn attention between tokens into blocks: summed over targets, averaged over sources."""
    shares = np.full((size, size + 1), np.nan)
    rest = attention.copy()
    rest[:, 0] = 0.0
    whole = min(size, -(-len(attention) // block))
    for row in range(whole):
        rows = slice(row * block, (row + 1) * block)
        shares[row, 0] = attention[rows, 0].mean()
        for column in range(whole):
            shares[row, column + 1] = rest[rows, column * block : (column + 1) * block].sum(axis=1).mean()
    return shares


@lru_cache(maxsize=2)
def _eager(folder: Path, place: str) -> Any:
    """Load the model with attention that can be read; the fused kernels of the shared copy drop it."""
    model = read_model("AutoModel", folder, "float32", ("pooler",), attn_implementation="eager")
    return model.eval().to(place)


Texts = Sequence[tuple[str, str]]  # hypothesis, reference
Form = Callable[[Loaded, Texts], "torch.Tensor"]  # (n, outputs)


@dataclass(frozen=True, slots=True)
class Differentiable:
    """How a metric's model is loaded, and how it scores pairs with gradients.

    The scores follow the metric's own up to rounding, for one reference per hypothesis.
    """

    load: Callable[[], Loaded]
    score: Form

    def trainable(self) -> Trainable:
        """Load a copy of the model, apart from the one that scores."""
        loaded = self.load()
        return Trainable(replace(loaded, model=deepcopy(loaded.model)), self.score)


@dataclass(frozen=True, slots=True)
class Trainable:
    """A model to train, and how it scores pairs."""

    loaded: Loaded
    score: Form

    def __call__(self, pairs: Texts) -> torch.Tensor:
        return self.score(self.loaded, pairs)


def states(loaded: Loaded, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last states of texts, (texts, length, width), with gradients, and their mask."""
    return _states(loaded, framed_rows(loaded, texts, "warn")[0])


@dataclass(frozen=True, slots=True)
class Encoded:
    """States and mask of the distinct texts of some pairs, and where each side of a pair is among them."""

    states: torch.Tensor
    mask: torch.Tensor
    hypotheses: list[int]
    references: list[int]


def encode_pairs(loaded: Loaded, pairs: Texts) -> Encoded:
    """Run the model once over each distinct text of the pairs."""
    clean = [(clean_text(first, loaded), clean_text(second, loaded)) for first, second in pairs]
    place = {text: index for index, text in enumerate(dict.fromkeys(t for pair in clean for t in pair))}
    hidden, mask = states(loaded, list(place))
    return Encoded(hidden, mask, [place[first] for first, _ in clean], [place[second] for _, second in clean])
