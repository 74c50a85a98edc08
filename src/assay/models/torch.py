"""The torch layer: device, models loaded whole or not at all, texts to ids within a limit, batches by tokens.

Device, batch size and memory are run settings (environment), never fields: they cannot change a score by more
than rounding. `ASSAY_DEVICE` names the device, `ASSAY_BATCH_TOKENS` the padded tokens a batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from assay.errors import MetricError, SpecError, TextError, WeightsError
from assay.models import weights

if TYPE_CHECKING:
    import torch

Overlong = Literal["warn", "error", "window"]
Precision = Literal["float32", "bfloat16", "float16"]
T = TypeVar("T")
_CPU_TOKENS, _GPU_TOKENS = 1024, 16_384  # a batch; on a processor what fits its cache is a third faster
_SERIAL = count()
_NO_LIMIT = 1_000_000  # tokenizers without a limit say 1e30
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model",
                 "sentencepiece.bpe.model", "source.spm", "vocab.model")  # fmt: skip
_BYTE_TOKENIZERS = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")


def device() -> str:
    """`ASSAY_DEVICE`, else a CUDA device where there is one, else the processor."""
    import torch

    asked = os.environ.get("ASSAY_DEVICE")
    if not asked:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=asked).cpu()
    except (RuntimeError, AssertionError, ImportError) as error:  # no such name, or none of its kind here
        here = ["cpu", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
        here += ["mps"] if torch.backends.mps.is_available() else []
        raise SpecError(
            f"ASSAY_DEVICE={asked} is no device of this machine; unset it, or set it to {' or '.join(here)}"
        ) from error
    return asked


@dataclass(frozen=True, slots=True)
class Framing:
    """The ids a tokenizer puts around a text, and those that mark a start or end wherever they stand."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its tokenizer, its place and its limit of ids a text."""

    model: Any
    tokenizer: Any
    path: Path
    device: str
    limit: int
    framing: Framing
    serial: int  # tells apart two models in one process: the key of what is remembered about them

    @property
    def pad(self) -> int:
        """The id that fills up a batch; any will do where attention is masked."""
        found = self.tokenizer.pad_token_id
        return 0 if found is None else int(found)


class Neural:
    """What metrics on a pretrained model share: the extra, the digests of what they load, the size."""

    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    extra: ClassVar[str | None] = "neural"
    weights: ClassVar[tuple[str, ...]] = ("model",)
    model: str

    def pins(self) -> Mapping[str, str]:
        """The digests of the weights, and of the adapter where there is one."""
        found = {name: weights.pin(getattr(self, name)) for name in type(self).weights}
        adapter = getattr(self, "adapter", None)
        return {**found, "adapter": adapter_digest(adapter)} if adapter else found

    @property
    def parameter_count(self) -> int | None:
        """How many parameters the backbone has, where known without loading it."""
        return weights.parameters(self.model)


def adapter_digest(folder: str) -> str:
    """SHA-256 of an adapter's tensors."""
    found = sorted(Path(folder).expanduser().glob("*.safetensors"))
    if not found:
        raise WeightsError(
            f"no *.safetensors in {folder}; give an adapter's folder, as assay debias writes it"
        )
    return "sha256:" + ",".join(weights.file_digest(path) for path in found)


def load(
    kind: str,
    name: str,
    *,
    precision: Precision = "float32",
    adapter: str | None = None,
    unused: tuple[str, ...] = (),
    layers: int | None = None,
) -> Loaded:
    """A model of the class `kind` of transformers; `unused` are parts of it that may lack weights."""
    folder = weights.resolve(name)
    if adapter:
        adapter_digest(adapter)
    return _load(kind, folder, device(), precision, adapter, unused, layers)


@lru_cache(maxsize=4)
def _load(
    kind: str,
    folder: Path,
    place: str,
    precision: Precision,
    adapter: str | None,
    unused: tuple[str, ...],
    layers: int | None,
) -> Loaded:
    from assay.models import loading as _loading

    tokenizer = load_tokenizer(folder)
    model = _loading.model(kind, folder, precision, unused)
    if layers is not None:
        _loading.keep_layers(model, layers)
    if adapter:
        from assay.models.adapters import attach

        attached = attach(model, Path(adapter).expanduser())
        model = model if attached is None else attached
    model.eval().requires_grad_(False)
    limit = _limit(model, tokenizer)
    return Loaded(model.to(place), tokenizer, folder, place, limit, framing(tokenizer), next(_SERIAL))


@cache
def load_tokenizer(folder: Path) -> Any:
    """The tokenizer that stands beside the weights; from smollm2's GGUF it is kept beside the copy."""
    from transformers import AutoTokenizer

    from assay.models import loading as _loading

    folder = _loading.plain_folder(folder)
    _loading.config(folder)  # it names the tokenizer's kind: where it is damaged, the tokenizer is not
    config = folder / "tokenizer_config.json"
    bytes_only = config.is_file() and any(name in config.read_text("utf-8") for name in _BYTE_TOKENIZERS)
    if not bytes_only and not any((folder / name).is_file() for name in _VOCABULARIES):
        raise WeightsError(
            f"{folder} has no tokenizer: none of {', '.join(_VOCABULARIES)}; "
            f"save it there with tokenizer.save_pretrained, or take the folder of the whole model"
        )
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, ImportError, KeyError, AttributeError) as error:
        raise WeightsError(f"the tokenizer in {folder} cannot be loaded: {error}") from error


def _limit(model: Any, tokenizer: Any) -> int:
    """How many ids the model reads: the smaller of the tokenizer's and the position table's."""
    config = getattr(model.config, "text_config", None) or model.config
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    found = int(min(tokenizer.model_max_length, _NO_LIMIT))
    if config.model_type in ("t5", "mt5", "umt5", "byt5"):
        return found  # relative positions: n_positions is only what it was trained with
    if positions and config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer"):
        positions -= (config.pad_token_id or 0) + 1  # their positions start after the padding id
    return min(found, int(positions)) if positions else found


def framing(tokenizer: Any) -> Framing:
    """What the tokenizer puts before and after a text, seen on a word."""
    bare = tokenizer.encode("a", add_special_tokens=False)
    full = tokenizer.encode("a", add_special_tokens=True)
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return Framing(tuple(full[:start]), tuple(full[start + len(bare) :]))
    return Framing((), ())


def content_ids(loaded: Loaded, texts: Sequence[str]) -> list[list[int]]:
    """Texts to ids without specials, nothing cut."""
    if not texts:
        return []
    found = loaded.tokenizer(list(texts), add_special_tokens=False, verbose=False)
    return [list(ids) for ids in found["input_ids"]]


def within(loaded: Loaded, ids: list[int], room: int, overlong: Overlong, text: str) -> tuple[list[int], int]:
    """Ids cut to the room there is, and how many were cut; an error where that was asked for."""
    cut = max(0, len(ids) - room)
    if cut and overlong == "error":
        raise TextError(
            f"{text[:60]!r}... has {len(ids)} tokens, {loaded.path.name} reads {room}",
            "shorten it, or give overlong=warn (cut and counted), or where the metric has it overlong=window "
            "(read in pieces)",
            text,
        )
    return (ids[:room] if cut else ids), cut


def batches(lengths: Sequence[int], budget: int | None = None) -> Iterator[list[int]]:
    """Indices in batches of at most `budget` padded tokens, longest first, so that padding is rare."""
    usual = _CPU_TOKENS if device() == "cpu" else _GPU_TOKENS
    limit = budget or int(os.environ.get("ASSAY_BATCH_TOKENS", usual))
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, limit // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def in_batches(
    lengths: Sequence[int], forward: Callable[[list[int]], Sequence[T]], budget: int | None = None
) -> list[T]:
    """Run `forward` on batches of indices; a batch that does not fit in memory is halved."""
    import torch

    found: list[T | None] = [None] * len(lengths)
    waiting = list(batches(lengths, budget))[::-1]
    with torch.inference_mode():
        while waiting:
            batch = waiting.pop()
            try:
                answers = forward(batch)
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise MetricError(
                        f"one text of {lengths[batch[0]]} tokens does not fit in memory; use a smaller model"
                    ) from error
                waiting += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
                continue
            for index, answer in zip(batch, answers, strict=True):
                found[index] = answer
    return found  # type: ignore[return-value]


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)


def padded(rows: Sequence[Sequence[int]], fill: int, place: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of ids to one tensor, filled up on the right, and its mask."""
    import torch

    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), fill, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[index, : len(row)] = 1
    return ids.to(place), mask.to(place)
