"""Debiasing adapters (unfair sec. 3.2): a bottleneck after each feed-forward sub-layer, the rest frozen.

Adapter(h, r) = W_u g(W_d h) + r (Eq. 3). The up-projection starts at zero, so that an untrained adapter, and
one that is switched off, leave the model exactly as it was. A folder holds `adapter.safetensors` and
`card.json`, which says what it was trained for and on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import WeightsError

if TYPE_CHECKING:
    import torch

NAME = "debiasing_adapter"
TENSORS, CARD = "adapter.safetensors", "card.json"
# Modules whose output ends a feed-forward sub-layer, by the last part of their name; the sub-layers of BERT's
# kin end in `output`, which their attention has too.
_ENDS = ("output", "output_layer_norm", "full_layer_layer_norm", "mlp", "DenseReluDense", "fc2")
_MARKS = 6  # numbers that tell one base model from another
_TOLERANCE = 1e-2  # wide enough for half precision, narrow enough for any other model


@dataclass(frozen=True, slots=True)
class Card:
    """What an adapter is: its shape, the base it belongs to, and how it was trained."""

    model: str
    metric: str
    attributes: tuple[str, ...]
    bottleneck: int
    places: int
    fingerprint: tuple[float, ...]
    training: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    kind: Literal["bottleneck", "projection"] = "bottleneck"


def places(model: Any) -> list[tuple[str, Any]]:
    """The modules that an adapter follows: the end of every feed-forward sub-layer, in order."""
    found: list[tuple[str, Any]] = []
    for name, module in model.named_modules():
        parts = name.split(".")
        inside = any(name.startswith(f"{outer}.") for outer, _ in found)
        if parts[-1] in _ENDS and not inside and _ends_feed_forward(parts, module):
            found.append((name, module))
    return found


def _ends_feed_forward(parts: list[str], module: Any) -> bool:
    if parts[-1] != "output":
        return True
    attention = len(parts) > 1 and "attention" in parts[-2].lower()
    return hasattr(module, "dense") and hasattr(module, "LayerNorm") and not attention


def bottleneck(width: int, size: int) -> Any:
    """One adapter; its up-projection starts at zero, so that step 0 equals the base."""
    import torch

    made: Any = torch.nn.ModuleDict(
        {"down": torch.nn.Linear(width, size), "up": torch.nn.Linear(size, width)}
    )
    torch.nn.init.normal_(made["down"].weight, std=0.02)
    for start in (made["down"].bias, made["up"].weight, made["up"].bias):
        torch.nn.init.zeros_(start)
    made.active = True
    return made


def insert(model: Any, size: int) -> list[torch.nn.Parameter]:
    """Freeze the model, put an adapter at every place; the parameters to train."""
    found = places(model)
    if not found:
        raise WeightsError(
            f"{type(model).__name__} has no feed-forward sub-layer that an adapter can follow; other roads: "
            f"another model=, layer=, a hybrid, assay mitigate compare"
        )
    model.requires_grad_(False)
    width = hidden_size(model)
    for _, module in found:
        if hasattr(module, NAME):
            raise WeightsError("this model has an adapter already; train from the plain model")
        like = next(module.parameters())
        module.add_module(NAME, bottleneck(width, size).to(like.device, like.dtype))
        module.register_forward_hook(_after)
    return [parameter for adapter in adapters(model) for parameter in adapter.parameters()]


def _after(module: Any, given: Any, hidden: torch.Tensor) -> Any:
    """Eq. 3 as a forward hook: h is the sub-layer's output, r the same."""
    import torch

    adapter = getattr(module, NAME)
    if not adapter.active:
        return hidden
    return adapter["up"](torch.nn.functional.gelu(adapter["down"](hidden))) + hidden


def hidden_size(model: Any) -> int:
    """The width of the model's states."""
    config = getattr(model.config, "text_config", None) or model.config
    for name in ("hidden_size", "d_model", "n_embd", "dim"):
        if hasattr(config, name):
            return int(getattr(config, name))
    raise WeightsError(f"{type(model).__name__} does not say how wide its states are")


def adapters(model: Any) -> Iterator[Any]:
    """The adapters of a model, in order."""
    return (module for name, module in model.named_modules() if name.split(".")[-1] == NAME)


def switch(model: Any, on: bool) -> None:
    """Turn a model's adapters on or off; off, it is the base model."""
    for adapter in adapters(model):
        adapter.active = on


def state(model: Any) -> dict[str, torch.Tensor]:
    """The adapters' tensors by name."""
    return {
        name: tensor.detach().float().cpu().contiguous()
        for name, tensor in model.state_dict().items()
        if f"{NAME}." in name
    }


def fingerprint(model: Any) -> tuple[float, ...]:
    """Sizes of the base model's first weights: equal for one model in any precision and cut at any layer."""
    import torch

    kept = (
        tensor
        for name, tensor in model.named_parameters()
        if NAME not in name and tensor.dim() == 2 and tensor.numel() > 1
    )
    first = [tensor for _, tensor in zip(range(_MARKS), kept, strict=False)]
    with torch.no_grad():
        return tuple(float(tensor.float().abs().mean()) for tensor in first)


def save(model: Any, folder: Path, card: Card) -> None:
    """Write the adapter's folder."""
    write(state(model), folder, card)


def write(tensors: Mapping[str, torch.Tensor], folder: Path, card: Card) -> None:
    """Tensors and card to a folder; the tensors appear whole or not at all."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f".{TENSORS}"
    save_file(dict(tensors), scratch)
    scratch.replace(folder / TENSORS)
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_card(folder: Path) -> Card:
    """What a folder's card says."""
    try:
        values = json.loads((folder / CARD).read_text("utf-8"))
        values["attributes"] = tuple(values["attributes"])
        values["fingerprint"] = tuple(values["fingerprint"])
        return Card(**values)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(
            f"{folder} is not an adapter's folder ({error}); give one that assay debias has written"
        ) from error


def check_folder(folder: Path) -> None:
    """Refuse what is not an adapter's folder, before any model is loaded."""
    read_card(folder)
    if not (folder / TENSORS).is_file():
        raise WeightsError(f"{folder} has no {TENSORS}; train the adapter again")


def attach(model: Any, folder: Path) -> Any:
    """Put a saved adapter into a freshly loaded model; refuses another model than it was trained for."""
    card = read_card(folder)
    _check(model, card, folder)
    if card.kind == "projection":
        install_projection(model, tensors_of(folder / TENSORS)["basis"])
        return model
    insert(model, card.bottleneck)
    restore(model, folder / TENSORS)
    return model


def install_projection(model: Any, basis: torch.Tensor) -> None:
    """Remove the directions of `basis` from the states that leave the last layer."""
    module = places(model)[-1][1]
    module.register_buffer("bias_directions", basis.to(next(model.parameters()).dtype))
    module.register_forward_hook(_project)


def _project(module: Any, given: Any, hidden: torch.Tensor) -> torch.Tensor:
    basis = module.bias_directions.to(hidden.dtype)
    projected: torch.Tensor = hidden - (hidden @ basis.T) @ basis
    return projected


def restore(model: Any, file: Path) -> None:
    """Fill a model's adapters from a file of tensors."""
    tensors = tensors_of(file)
    mine = state(model)
    if {name: t.shape for name, t in tensors.items()} != {name: t.shape for name, t in mine.items()}:
        raise WeightsError(f"{file} does not fit {type(model).__name__}: it was made for another model")
    model.load_state_dict(tensors, strict=False)


def tensors_of(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file; never pickle."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(file))
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{file} is missing or damaged ({error}); train the adapter again") from error


def _check(model: Any, card: Card, folder: Path) -> None:
    here = fingerprint(model)
    pairs = list(zip(here, card.fingerprint, strict=False))
    same = len(here) == len(card.fingerprint) and all(
        abs(one - other) <= _TOLERANCE * abs(other) for one, other in pairs
    )
    if not same:
        raise WeightsError(
            f"the adapter in {folder} was trained for {card.model} and does not fit this model; "
            f"use model={card.model}, or train one with assay debias"
        )
    count = len(places(model))
    if count != card.places:
        raise WeightsError(
            f"the adapter in {folder} has {card.places} layers, the model here {count}; "
            f"use the layer it was trained for: {card.metric}"
        )
