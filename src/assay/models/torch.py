"""Load pretrained models, turn texts into ids within a model's limit, and run forward passes in batches.

Device and batch size are run settings from the environment, never fields: they cannot change a score by more
than rounding. `ASSAY_DEVICE` names the device, `ASSAY_BATCH_TOKENS` the padded tokens per batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeVar

from assay.errors import MetricError, SpecError, TextError, WeightsError
from assay.models import adapters, loading, weights
from assay.models.lazy import torch, transformers

Overlong = Literal["warn", "error", "window"]
Precision = Literal["float32", "bfloat16", "float16"]
_T = TypeVar("_T")
IdsAndCuts = tuple[list[list[int]], list[int]]  # the ids of each text, and how many were cut of each
_CPU_TOKENS, _GPU_TOKENS = 1024, 16_384  # per batch; on a CPU a batch that fits its cache is a third faster
_SERIAL = count()
_NO_LIMIT = 1_000_000  # tokenizers without a limit say 1e30


COUNTER = SimpleNamespace(forward_tokens=0)  # tokens sent through models, for the benchmarks


def device() -> str:
    """Return `ASSAY_DEVICE`, else a CUDA device where there is one, else the CPU."""
    chosen = os.environ.get("ASSAY_DEVICE")
    if not chosen:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=chosen).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:  # no such name, or none of its kind here
        known = ["cpu", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
        known += ["mps"] if torch.backends.mps.is_available() else []
        raise SpecError(
            f"ASSAY_DEVICE={chosen} is no device of this machine; unset it, or set it to {' or '.join(known)}"
        ) from error
    return chosen


@dataclass(frozen=True, slots=True)
class Framing:
    """The ids that a tokenizer puts before and after a text."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its tokenizer, its device and the number of ids it reads per text."""

    model: Any
    tokenizer: Any
    path: Path
    device: str
    limit: int
    framing: Framing
    serial: int  # differs between two models in one process: part of the key under which embeddings are kept

    @property
    def pad(self) -> int:
        """The id that fills up a batch; any will do where attention is masked."""
        known = self.tokenizer.pad_token_id
        return 0 if known is None else int(known)

    @property
    def room(self) -> int:
        """How many ids of a text fit beside those that frame it."""
        return self.limit - self.framing.size

    def framed(self, ids: Sequence[int]) -> list[int]:
        return [*self.framing.prefix, *ids, *self.framing.suffix]


def load(
    kind: str,
    name: str,
    *,
    precision: Precision = "float32",
    adapter: str | None = None,
    unused: tuple[str, ...] = (),
    layers: int | None = None,
    base: str | None = None,
    tokenizer: str | None = None,
) -> Loaded:
    """Load a model as transformers' class `kind`; `unused` names parts of it that may lack weights.

    `base` names the model whose config and tokenizer a file of weights alone takes, `tokenizer` the model
    whose tokenizer is read where the folder has none.
    """
    folder = loading.folder_of(weights.resolve(name), base)
    # What the files hold now: a model that is changed while this process runs is loaded anew.
    content = f"{weights.pin(name)} {adapters.adapter_digest(adapter) if adapter else ''}"
    return _load(kind, folder, device(), (precision, adapter, unused, layers, tokenizer), content)


_How = tuple[Precision, str | None, tuple[str, ...], int | None, str | None]


@lru_cache(maxsize=4)
def _load(kind: str, folder: Path, place: str, how: _How, content: str) -> Loaded:
    precision, adapter, unused, layers, spare = how
    tokenizer = load_tokenizer(folder, spare)
    model = loading.read_model(kind, folder, precision, unused)
    if layers is not None:
        loading.keep_layers(model, layers)
    if adapter:
        adapters.attach(model, Path(adapter).expanduser())
    model.eval().requires_grad_(False)
    limit = _limit(model, tokenizer)
    return Loaded(model.to(place), tokenizer, folder, place, limit, framing(tokenizer), next(_SERIAL))


def load_tokenizer(folder: Path, spare: str | None = None) -> Any:
    """Load the tokenizer that lies beside the weights; that of a GGUF file lies beside its converted copy.

    `spare` names the model whose tokenizer is taken where the folder has none.
    """
    plain = loading.plain_folder(folder)
    return _load_tokenizer(folder, plain, spare, weights.folder_digest(plain))


@cache
def _load_tokenizer(given: Path, folder: Path, spare: str | None, content: str) -> Any:
    loading.read_config(folder)  # raises where it is damaged; transformers would blame the tokenizer
    settings = _tokenizer_settings(folder)
    if not _has_tokenizer(folder):
        if spare is not None:
            return load_tokenizer(weights.resolve_tokenizer(spare))
        raise WeightsError(
            f"{given} has no tokenizer: none of {', '.join(loading.FORMATS['vocabularies'])}; "
            f"save it there with tokenizer.save_pretrained, or take the folder of the whole model"
        )
    known = loading.FORMATS["bleurt"]["tokenizers"]
    own = [kind for name, kind in known.items() if "Bleurt" in settings and (folder / name).is_file()]
    try:
        kind = getattr(transformers, own[0] if own else "AutoTokenizer")
        return kind.from_pretrained(folder, **loading.SAFE)
    except (OSError, ValueError, ImportError, KeyError, AttributeError) as error:
        raise WeightsError(f"the tokenizer in {given} cannot be loaded: {error}") from error


def _tokenizer_settings(folder: Path) -> str:
    config = folder / "tokenizer_config.json"
    return config.read_text("utf-8") if config.is_file() else ""


def _has_tokenizer(folder: Path) -> bool:
    """Whether a model's folder holds its vocabulary; a tokenizer of bytes needs none."""
    settings = _tokenizer_settings(folder)
    bytes_only = any(name in settings for name in loading.FORMATS["byte_tokenizers"])
    return bytes_only or any((folder / name).is_file() for name in loading.FORMATS["vocabularies"])


def model_pins(name: str, base: str | None, tokenizer: str | None) -> dict[str, str]:
    """Return the digests of a model and of the other models whose config or tokenizer it is read with."""
    path, digest = weights.resolve(name), weights.pin(name)
    if base and path.is_file() and not weights.lies_in_model(path):
        digest = f"{digest},{weights.tokenizer_pin(base)}"
    if tokenizer and path.is_dir() and not _has_tokenizer(path):
        return {"model": digest, "tokenizer": weights.tokenizer_pin(tokenizer)}
    return {"model": digest}


def _limit(model: Any, tokenizer: Any) -> int:
    """Return how many ids the model reads: the smaller of the tokenizer's and the position table's number."""
    config = getattr(model.config, "text_config", None) or model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    limit = int(min(tokenizer.model_max_length, _NO_LIMIT))
    if config.model_type in ("t5", "mt5", "umt5", "byt5"):
        return limit  # relative positions: n_positions is only what it was trained with
    if positions and config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer"):
        positions -= (config.pad_token_id or 0) + 1  # their positions start after the padding id
    return min(limit, int(positions)) if positions else limit


def framing(tokenizer: Any) -> Framing:
    """Find out on one word what the tokenizer puts before and after a text."""
    bare = tokenizer.encode("a", add_special_tokens=False)
    full = tokenizer.encode("a", add_special_tokens=True)
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return Framing(tuple(full[:start]), tuple(full[start + len(bare) :]))
    return Framing((), ())


def content_ids(loaded: Loaded, texts: Sequence[str]) -> list[list[int]]:
    """Return the ids of texts without special tokens, nothing cut."""
    if not texts:
        return []
    encoded = loaded.tokenizer(list(texts), add_special_tokens=False, verbose=False)
    return [list(ids) for ids in encoded["input_ids"]]


def clean_text(text: str, loaded: Loaded) -> str:
    """Strip a text; a byte-level tokenizer gets a space before the first word, as bert-score has it."""
    bare = text.strip()
    return f" {bare}" if bare and loaded.model.config.model_type in loading.FORMATS["space_first"] else bare


def within(loaded: Loaded, ids: list[int], room: int, overlong: Overlong, text: str) -> tuple[list[int], int]:
    """Cut ids to the room there is; return them and how many were cut, or raise if overlong="error"."""
    cut = max(0, len(ids) - room)
    if cut and overlong == "error":
        raise TextError(
            f"{text[:60]!r}... has {len(ids)} tokens, {loaded.path.name} reads {room}",
            "shorten it, or give overlong=warn (cut and counted), or where the metric has it overlong=window "
            "(read in pieces)",
            text,
        )
    return (ids[:room] if cut else ids), cut


def ids_within(loaded: Loaded, texts: Sequence[str], overlong: Overlong, room: int) -> IdsAndCuts:
    """Return the ids of each text without special tokens, cut to the room there is."""
    contents = zip(texts, content_ids(loaded, texts), strict=True)
    pieces = [within(loaded, ids, room, overlong, text) for text, ids in contents]
    return [ids for ids, _ in pieces], [cut for _, cut in pieces]


def framed_rows(
    loaded: Loaded, texts: Sequence[str], overlong: Overlong, room: int | None = None
) -> IdsAndCuts:
    """Return the framed ids of each text within the model's limit."""
    rows, cuts = ids_within(loaded, texts, overlong, loaded.room if room is None else room)
    return [loaded.framed(ids) for ids in rows], cuts


def tokenize_within(
    loaded: Loaded, texts: Mapping[str, Sequence[str]], overlong: Overlong
) -> tuple[Any, list[int]]:
    """Call the tokenizer with these arguments and truncation; return its answer and the ids cut per row."""
    full = loaded.tokenizer(**texts, verbose=False)["input_ids"]
    encoded = loaded.tokenizer(**texts, truncation=True, max_length=loaded.limit, verbose=False)
    cuts = [len(whole) - len(content) for whole, content in zip(full, encoded["input_ids"], strict=True)]
    if overlong == "error" and any(cuts):
        longest = cuts.index(max(cuts))
        text = next(iter(texts.values()))[longest]
        raise MetricError(
            f"{text[:60]!r}... is {cuts[longest]} tokens too long for {loaded.path.name}; give overlong=warn"
        )
    return encoded, cuts


def batches(lengths: Sequence[int], budget: int | None = None) -> Iterator[list[int]]:
    """Group indices into batches of at most `budget` padded tokens, longest first, so that few are padded."""
    usual = _CPU_TOKENS if device() == "cpu" else _GPU_TOKENS
    given = os.environ.get("ASSAY_BATCH_TOKENS") or str(usual)
    if not given.isdecimal():
        raise SpecError(
            f"ASSAY_BATCH_TOKENS={given!r} is not a whole number of tokens; write 1024, or unset it"
        )
    limit = budget or int(given)
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, limit // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def in_batches(
    lengths: Sequence[int], forward: Callable[[list[int]], Sequence[_T]], budget: int | None = None
) -> list[_T]:
    """Run `forward` on batches of indices; a batch that does not fit in memory is halved."""
    results: list[_T | None] = [None] * len(lengths)
    waiting = list(batches(lengths, budget))[::-1]
    with torch.inference_mode():
        while waiting:
            batch = waiting.pop()
            try:
                answers = forward(batch)
            except RuntimeError as error:
                if not isinstance(error, torch.OutOfMemoryError) and "not enough memory" not in str(error):
                    raise
                if len(batch) == 1:
                    raise MetricError(
                        f"one text of {lengths[batch[0]]} tokens does not fit in memory; use a smaller model"
                    ) from error
                waiting += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
                continue
            for index, answer in zip(batch, answers, strict=True):
                results[index] = answer
    return results  # type: ignore[return-value]


def forward_rows(
    loaded: Loaded,
    rows: Sequence[Sequence[int]],
    compute: Callable[..., Sequence[_T]],
    budget: int | None = None,
) -> list[_T]:
    """Run `compute` on the ids and the mask of batches of rows; return what it gives for each row."""

    def forward(batch: list[int]) -> Sequence[_T]:
        return compute(*padded([rows[index] for index in batch], loaded.pad, loaded.device))

    return in_batches([len(row) for row in rows], forward, budget)


def padded(rows: Sequence[Sequence[int]], fill: int, place: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of ids as one tensor, padded on the right, and its mask."""
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    fill_up = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    mask = fill_up([torch.ones_like(tensor) for tensor in tensors])
    return fill_up(tensors, padding_value=fill).to(place), mask.to(place)
