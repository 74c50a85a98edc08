"""How a sentence encoder makes one vector of a text's states, and the prompt it puts before a text.

Both come from the files that sentence-transformers writes: modules.json, the folders that it names, and
config_sentence_transformers.json. A folder without them is pooled by the mean, without a prompt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import WeightsError
from assay.models.convert import weight_files
from assay.models.loading import read_tensors

if TYPE_CHECKING:
    import torch

Pool = Literal["mean", "first", "last", "max"]
_MODES: dict[str, Pool] = {
    "mean_tokens": "mean", "cls_token": "first", "lasttoken": "last", "max_tokens": "max",
    "mean": "mean", "cls": "first", "max": "max",
}  # fmt: skip
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


@cache
def own_pooling(folder: Path, place: str) -> Pooling:
    """Read a model's own pooling; its linear layers are put on the device `place`."""
    file = folder / "modules.json"
    if not file.is_file():
        return Pooling()
    pool: Pool = "mean"
    layers = []
    for module in _read(file):
        kind, home = str(module["type"]).rsplit(".", 1)[-1], folder / str(module["path"])
        if kind == "Pooling":
            pool = _mode(home / "config.json")
        elif kind == "Dense":
            layers.append(_dense(home).to(place))
        elif kind not in ("Transformer", "Normalize"):  # cosines do not depend on the length of a vector
            raise WeightsError(f"{file} has a module {kind}, which is not supported; take another model")
    return Pooling(pool, tuple(layers), _prompt(folder / "config_sentence_transformers.json"))


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{file} is missing or damaged ({error}); fetch the model again") from error


def _mode(file: Path) -> Pool:
    settings = _read(file)
    prefix = "pooling_mode_"
    modes = [key for key, on in settings.items() if key.startswith(prefix) and on is True]
    chosen = [key.removeprefix(prefix) for key in modes]
    chosen = chosen or [str(settings.get("pooling_mode", "mean"))]
    if len(chosen) != 1 or chosen[0] not in _MODES:
        known = "cls_token, mean_tokens, max_tokens or lasttoken"
        raise WeightsError(f"{file} pools by {' and '.join(chosen)}; supported is one of {known}")
    return _MODES[chosen[0]]


def _dense(folder: Path) -> Any:
    """Read a linear layer with its activation, which is named by its class in torch."""
    import torch

    settings = _read(folder / "config.json")
    name = str(settings.get("activation_function", "torch.nn.modules.linear.Identity")).rsplit(".", 1)[-1]
    if name not in ("Tanh", "Identity", "GELU", "ReLU", "Sigmoid"):
        raise WeightsError(f"{folder}/config.json has the activation {name}, which is not supported")
    sizes = int(settings["in_features"]), int(settings["out_features"])
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
    settings = _read(file) if file.is_file() else {}
    name = settings.get("default_prompt_name")
    return str((settings.get("prompts") or {}).get(name, "")) if name else ""


def prompt_by_name(model: str) -> str | None:
    """Return the prompt that a model's authors ask for and its files lack; None for any other model."""
    return "query: " if model.startswith(_E5) and not model.endswith("-instruct") else None
