"""Texts to token embeddings, pooled vectors, logits of a classifier, and attention, batched by tokens.

Each text is encoded once and stays in a bounded cache. `Differentiable` is what `Metric.differentiable()`
returns: a metric's score of pairs of texts as a tensor, with gradients.

How a sentence encoder pools, and the prompt it puts before a text, come from the files that
sentence-transformers writes: modules.json, the folders that it names, and config_sentence_transformers.json.
A folder without them is pooled by the mean, without a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats
from assay.errors import WeightsError
from assay.models import weights
from assay.models.lazy import torch
from assay.models.loading import FORMATS, read_model, read_settings, read_tensors, weight_files
from assay.models.memory import BoundedCache
from assay.models.sizes import check_config_numbers
from assay.models.torch import (
    COUNTER,
    IdsAndCuts,
    Loaded,
    Overlong,
    clean_text,
    content_ids,
    device,
    framed_rows,
    ids_within,
    in_batches,
    load_tokenizer,
    padded,
    tokenize_within,
)
from assay.recipe import digest

Matrix = NDArray[np.float32]
_SHARES_VERSION = (
    "1"  # of the shares of attention that are kept: to be raised when they are computed otherwise
)


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
    contents, cuts = _contents(loaded, texts, overlong)
    windows = [_windows(loaded, ids) for ids in contents]
    rows = [row for parts in windows for row, _, _ in parts]

    def forward(batch: list[int]) -> list[Matrix]:
        some = [rows[index] for index in batch]
        unit = torch.nn.functional.normalize(_states(loaded, some)[0], dim=-1).cpu().numpy()
        return [unit[index, : len(row)].copy() for index, row in enumerate(some)]

    states = iter(in_batches([len(row) for row in rows], forward))
    embedded = []
    for parts, cut in zip(windows, cuts, strict=True):
        ids = [token for row, low, high in parts for token in row[low:high]]
        vectors = [next(states)[low:high] for _, low, high in parts]
        embedded.append(Embedded(tuple(ids), np.concatenate(vectors), cut))
    return embedded


def _contents(loaded: Loaded, texts: Sequence[str], overlong: Overlong) -> IdsAndCuts:
    """Return the ids of each text, cut to the model's room except for windows."""
    if overlong == "window":
        return content_ids(loaded, texts), [0] * len(texts)
    return ids_within(loaded, texts, overlong, loaded.room)


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
    pool_fresh = partial(_pool, loaded, overlong, pooling)
    known = remembered(key, texts, lambda fresh: pool_fresh([prompt + text for text in fresh]))
    if not texts:
        return np.empty((0, int(loaded.model.config.hidden_size)), np.float32), []
    return np.stack([known[text].vectors[0] for text in texts]), [known[text].truncated for text in texts]


def _pool(loaded: Loaded, overlong: Overlong, pooling: Pooling, texts: Sequence[str]) -> list[Embedded]:
    contents, cuts = _contents(loaded, texts, overlong)
    step = max(1, loaded.room)
    pieces = [  # a text of no tokens still needs a vector
        [loaded.framed(ids[at : at + step]) or [loaded.pad] for at in range(0, max(1, len(ids)), step)]
        for ids in contents
    ]
    rows = list(chain.from_iterable(pieces))

    def forward(batch: list[int]) -> list[Matrix]:
        return list(pooling.apply(*_states(loaded, [rows[index] for index in batch])).cpu().numpy())

    vectors = iter(in_batches([len(row) for row in rows], forward))
    means = [np.mean([next(vectors) for _ in parts], axis=0, keepdims=True) for parts in pieces]
    return [Embedded((), mean, cut) for mean, cut in zip(means, cuts, strict=True)]


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
    `length` tokens, as in the paper. The shares are kept in the cache, without the texts.
    """
    recipe = digest(_SHARES_VERSION, weights.pin(name), str(block), str(length), *texts)

    def build(folder: Path) -> None:
        folder.mkdir()
        np.save(folder / "shares.npy", _attention_blocks(name, texts, block, length))

    with suppress(OSError):  # a cache that cannot be written
        kept = weights.build_folder(weights.cache_folder() / "attention" / recipe, build)
        return np.asarray(np.load(kept / "shares.npy", allow_pickle=False))
    return _attention_blocks(name, texts, block, length)


def _attention_blocks(name: str, texts: Sequence[str], block: int, length: int) -> Floats:
    folder = weights.resolve(name)
    home = device()
    tokenizer, model = load_tokenizer(folder), _eager(folder, home, weights.pin(name))
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
def _eager(folder: Path, place: str, content: str) -> Any:
    """Load the model with attention that can be read; the fused kernels of the shared copy drop it."""
    model = read_model("AutoModel", folder, "float32", ("pooler",), attn_implementation="eager")
    return model.eval().to(place)


Texts = Sequence[tuple[str, str]]  # hypothesis, reference
_Form = Callable[[Loaded, Texts], "torch.Tensor"]  # (n, outputs)


@dataclass(frozen=True, slots=True)
class Differentiable:
    """How a metric's model is loaded, and how it scores pairs with gradients.

    The scores follow the metric's own up to rounding, for one reference per hypothesis.
    """

    load: Callable[[], Loaded]
    score: _Form

    def load_copy(self) -> Loaded:
        """Load a copy of the model to train, apart from the one that scores."""
        loaded = self.load()
        return replace(loaded, model=deepcopy(loaded.model))


def encode_pairs(loaded: Loaded, pairs: Texts) -> tuple[torch.Tensor, torch.Tensor, list[int], list[int]]:
    """Return states with gradients and mask of the distinct texts, and the places of both sides there."""
    clean = [(clean_text(first, loaded), clean_text(second, loaded)) for first, second in pairs]
    place = {text: index for index, text in enumerate(dict.fromkeys(t for pair in clean for t in pair))}
    hidden, mask = _states(loaded, framed_rows(loaded, list(place), "warn")[0])
    return hidden, mask, [place[first] for first, _ in clean], [place[second] for _, second in clean]


Pool = Literal["mean", "first", "last", "max"]
# E5 was trained with prompts that older copies of its files do not have; for texts of one kind it is this.
_E5 = ("intfloat/e5-", "intfloat/multilingual-e5-")


@dataclass(frozen=True, slots=True)
class Pooling:
    """One vector per text: the states' pool, then linear layers where the model has them."""

    pool: Pool = "mean"
    layers: tuple[Any, ...] = ()
    prompt: str = ""

    def apply(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Turn states (n, length, width) and their mask into vectors (n, width), with gradients."""
        vectors = pool_states(states, mask, self.pool)
        for layer in self.layers:
            vectors = layer(vectors)
        return vectors


def pool_states(states: torch.Tensor, mask: torch.Tensor, pool: Pool) -> torch.Tensor:
    """Return one vector per text, (n, width)."""
    if pool == "mean":
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    if pool == "max":
        return states.masked_fill(mask[..., None] == 0, float("-inf")).amax(1)
    places = mask.sum(1) - 1 if pool == "last" else mask.sum(1) * 0
    return states[list(range(len(states))), places]


def own_pooling(folder: Path, place: str) -> Pooling:
    """Read a model's own pooling; its linear layers are put on the device `place`."""
    return _own_pooling(folder, place, weights.folder_digest(folder))


@cache
def _own_pooling(folder: Path, place: str, content: str) -> Pooling:
    file = folder / "modules.json"
    if not file.is_file():
        return Pooling()
    pool: Pool = "mean"
    layers = []
    for module in read_settings(file):
        kind, home = str(module["type"]).rsplit(".", 1)[-1], folder / str(module["path"])
        if kind == "Pooling":
            pool = _mode(home / "config.json")
        elif kind == "Dense":
            layers.append(_dense(home).to(place))
        elif kind not in ("Transformer", "Normalize"):  # cosines do not depend on the length of a vector
            raise WeightsError(f"{file} has a module {kind}, which is not supported; take another model")
    return Pooling(pool, tuple(layers), _prompt(folder / "config_sentence_transformers.json"))


def _mode(file: Path) -> Pool:
    settings = read_settings(file)
    prefix = "pooling_mode_"
    modes = [key for key, on in settings.items() if key.startswith(prefix) and on is True]
    chosen = [key.removeprefix(prefix) for key in modes]
    chosen = chosen or [str(settings.get("pooling_mode", "mean"))]
    if len(chosen) != 1 or chosen[0] not in FORMATS["pools"]:
        known = "cls_token, mean_tokens, max_tokens or lasttoken"
        raise WeightsError(f"{file} pools by {' and '.join(chosen)}; supported is one of {known}")
    mode: Pool = FORMATS["pools"][chosen[0]]
    return mode


def _dense(folder: Path) -> Any:
    """Read a linear layer with its activation, which is named by its class in torch."""
    settings = read_settings(folder / "config.json")
    name = str(settings.get("activation_function", "torch.nn.modules.linear.Identity")).rsplit(".", 1)[-1]
    if name not in ("Tanh", "Identity", "GELU", "ReLU", "Sigmoid"):
        raise WeightsError(f"{folder}/config.json has the activation {name}, which is not supported")
    sizes = int(settings["in_features"]), int(settings["out_features"])
    check_config_numbers(sizes[0] * sizes[1], folder, weight_files(folder))
    linear = torch.nn.Linear(*sizes, bool(settings.get("bias", True)))
    tensors = {
        key.removeprefix("linear."): tensor
        for file in weight_files(folder)
        for key, tensor in read_tensors(file).items()
    }
    try:
        linear.load_state_dict(tensors)
    except RuntimeError as error:
        raise WeightsError(f"{folder} does not hold the layer of its config.json: {error}") from error
    return torch.nn.Sequential(linear, getattr(torch.nn, name)()).eval().requires_grad_(False)


def _prompt(file: Path) -> str:
    """Return the prompt that sentence-transformers uses when none is asked for."""
    settings = read_settings(file) if file.is_file() else {}
    name = settings.get("default_prompt_name")
    return str((settings.get("prompts") or {}).get(name, "")) if name else ""


def prompt_by_name(model: str) -> str | None:
    """Return the prompt that a model's authors ask for and its files lack; None for any other model."""
    return "query: " if model.startswith(_E5) and not model.endswith("-instruct") else None


def cosine_scores(loaded: Loaded, pairs: Texts, prefix: str | None) -> torch.Tensor:
    """Return the cosine of the vectors of each pair of texts, with gradients."""
    pooling = own_pooling(loaded.path, loaded.device)
    prompt = pooling.prompt if prefix is None else prefix
    states, mask, *sides = encode_pairs(loaded, [(prompt + one, prompt + other) for one, other in pairs])
    directions = torch.nn.functional.normalize(pooling.apply(states, mask), dim=-1)
    return (directions[sides[0]] * directions[sides[1]]).sum(1, keepdim=True)
