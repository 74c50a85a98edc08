"""Debiasing adapters in a model: bottlenecks (*unfair* sec. 3.2), saved, loaded and switched.

A bottleneck follows each feed-forward sub-layer, and the rest of the model is frozen: Adapter(h, r) =
W_u g(W_d h) + r (Eq. 3). The up-projection starts at zero, so that an untrained adapter, and one that is
switched off, leave the model exactly as it was. A folder holds `adapter.safetensors` and `card.json`, which
says what the adapter was trained for and on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import WeightsError
from assay.models.lazy import torch
from assay.models.loading import read_tensors, write_tensors
from assay.models.weights import stamped_digest

NAME = "debiasing_adapter"
TENSORS, CARD = "adapter.safetensors", "card.json"
# Modules whose output ends a feed-forward sub-layer, by the last part of their name. In models like BERT they
# are called `output`, as is the end of their attention: see _ends_feed_forward.
_ENDS = ("output_layer_norm", "full_layer_layer_norm", "mlp", "DenseReluDense", "fc2")
_MARKS = 6  # weight matrices in a fingerprint
_AGAIN = "train the adapter again"
_TOLERANCE = 1e-2  # wide enough for half precision, narrow enough for any other model


@dataclass(frozen=True, slots=True)
class Card:
    """What is known about an adapter: its shape, its base model, and how it was trained."""

    model: str
    metric: str
    attributes: tuple[str, ...]
    bottleneck: int
    places: int
    fingerprint: tuple[float, ...]
    training: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


def places(model: Any) -> list[tuple[str, Any]]:
    """Return the modules that an adapter follows, in order: the ends of all feed-forward sub-layers."""
    ends: list[tuple[str, Any]] = []
    for name, module in model.named_modules():
        inside = any(name.startswith(f"{outer}.") for outer, _ in ends)
        if not inside and _ends_feed_forward(name.split("."), module):
            ends.append((name, module))
    return ends


def _ends_feed_forward(parts: list[str], module: Any) -> bool:
    if parts[-1] != "output":
        return parts[-1] in _ENDS
    attention = len(parts) > 1 and "attention" in parts[-2].lower()
    return hasattr(module, "dense") and hasattr(module, "LayerNorm") and not attention


def bottleneck(width: int, size: int) -> Any:
    """Return one adapter; its up-projection starts at zero, so that step 0 equals the base model."""
    layers = {"down": torch.nn.Linear(width, size), "up": torch.nn.Linear(size, width)}
    adapter: Any = torch.nn.ModuleDict(layers)
    torch.nn.init.normal_(adapter["down"].weight, std=0.02)
    for start in (adapter["down"].bias, adapter["up"].weight, adapter["up"].bias):
        torch.nn.init.zeros_(start)
    adapter.active = True
    return adapter


def insert(model: Any, size: int) -> list[torch.nn.Parameter]:
    """Freeze the model and put an adapter at every place; return the parameters to train."""
    ends = places(model)
    if not ends:
        raise WeightsError(
            f"{type(model).__name__} has no feed-forward sub-layer that an adapter can follow; try another "
            f"model=, another layer=, a hybrid, or assay mitigate compare"
        )
    model.requires_grad_(False)
    config = getattr(model.config, "text_config", None) or model.config
    width = getattr(config, "hidden_size", None)  # whatever the model calls it
    if width is None:
        raise WeightsError(f"{type(model).__name__} does not say how wide its states are")
    for _, module in ends:
        if hasattr(module, NAME):
            raise WeightsError("this model has an adapter already; train from the plain model")
        like = next(module.parameters())
        module.add_module(NAME, bottleneck(width, size).to(like.device, like.dtype))
        module.register_forward_hook(_apply_bottleneck)
    return [parameter for adapter in adapters(model) for parameter in adapter.parameters()]


def _apply_bottleneck(module: Any, inputs: Any, hidden: torch.Tensor) -> Any:
    """Eq. 3 as a forward hook: h and r are both the sub-layer's output."""
    adapter = getattr(module, NAME)
    if not adapter.active:
        return hidden
    return adapter["up"](torch.nn.functional.gelu(adapter["down"](hidden))) + hidden


def adapters(model: Any) -> Iterator[Any]:
    """Iterate over the adapters of a model, in order."""
    return (module for name, module in model.named_modules() if name.split(".")[-1] == NAME)


def switch(model: Any, on: bool) -> None:
    """Turn a model's adapters on or off; without them it is the base model."""
    for adapter in adapters(model):
        adapter.active = on


def state(model: Any) -> dict[str, torch.Tensor]:
    """Return the adapters' tensors by name."""
    return {
        name: tensor.detach().float().cpu().contiguous()
        for name, tensor in model.state_dict().items()
        if f"{NAME}." in name
    }


def fingerprint(model: Any) -> tuple[float, ...]:
    """Return mean sizes of the base model's first weights; precision and cut layers do not change them."""
    tensors = (tensor for name, tensor in model.named_parameters() if NAME not in name)
    matrices = (tensor for tensor in tensors if tensor.dim() == 2 and tensor.numel() > 1)
    with torch.no_grad():
        return tuple(float(matrix.float().abs().mean()) for matrix in islice(matrices, _MARKS))


def write(tensors: Mapping[str, torch.Tensor], folder: Path, card: Card) -> None:
    """Write tensors, such as the `state` of a model's adapters, and their card to a folder."""
    write_tensors(tensors, folder / TENSORS)
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_card(folder: Path) -> Card:
    """Read the card of an adapter's folder; refuses what is not one, before any model is loaded."""
    try:
        values = json.loads((folder / CARD).read_text("utf-8"))
        values["attributes"] = tuple(values["attributes"])
        values["fingerprint"] = tuple(values["fingerprint"])
        card = Card(**values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(
            f"{folder} is not an adapter's folder ({error}); give one that assay debias has written"
        ) from error
    if not (folder / TENSORS).is_file():
        raise WeightsError(f"{folder} has no {TENSORS}; {_AGAIN}")
    return card


def attach(model: Any, folder: Path) -> None:
    """Put a saved adapter into a freshly loaded model; refuses another model than it was trained for."""
    card = read_card(folder)
    sizes, count = fingerprint(model), len(places(model))
    same_count = len(sizes) == len(card.fingerprint)
    if not same_count or not np.allclose(sizes, card.fingerprint, rtol=_TOLERANCE, atol=0.0):
        raise WeightsError(
            f"the adapter in {folder} was trained for {card.model} and does not fit this model; "
            f"use model={card.model}, or train one with assay debias"
        )
    if count != card.places:
        raise WeightsError(
            f"the adapter in {folder} has {card.places} layers, this model has {count}; "
            f"use the layer it was trained for: {card.metric}"
        )
    insert(model, card.bottleneck)
    restore(model, folder / TENSORS)


def restore(model: Any, file: Path) -> None:
    """Fill a model's adapters from a file of tensors."""
    tensors = read_tensors(file, _AGAIN)
    shapes = {name: tensor.shape for name, tensor in state(model).items()}
    if {name: tensor.shape for name, tensor in tensors.items()} != shapes:
        raise WeightsError(f"{file} does not fit {type(model).__name__}: it was made for another model")
    model.load_state_dict(tensors, strict=False)


def adapter_digest(folder: str) -> str:
    """Return the SHA-256 of an adapter's tensors."""
    files = sorted(Path(folder).expanduser().glob("*.safetensors"))
    if not files:
        raise WeightsError(
            f"no *.safetensors in {folder}; give an adapter's folder, as assay debias writes it"
        )
    return "sha256:" + ",".join(stamped_digest(path) for path in files)
