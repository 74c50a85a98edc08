"""Unbabel's COMET checkpoints in plain torch: encoder, mix of its layers, pooling, feed-forward estimator.

A folder holds `hparams.yaml` and the tensors: `model.safetensors`, or `checkpoints/model.ckpt`, which is read
with `weights_only=True`, so that nothing in it is run, and kept as safetensors in the cache. Config and
tokenizer of the encoder lie in `encoder/`, or are found by the name that hparams gives.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import WeightsError
from assay.models import weights
from assay.models.loading import check_complete, read_tensors, write_tensors
from assay.models.torch import Loaded, framing, load_tokenizer
from assay.recipe import digest

if TYPE_CHECKING:
    import torch

_KINDS = ("regression_metric", "referenceless_regression_metric", "unified_metric")


@dataclass(frozen=True, slots=True)
class Estimator:
    """An encoder with the layers that turn its states into a score."""

    encoder: Loaded
    head: Any
    mix: torch.Tensor | None  # the layers' weights, which sum to 1
    gamma: float
    kind: str
    settings: dict[str, Any]

    def layers(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the weighted mix of the encoder's layers, (n, length, dimensions)."""
        answer = self.encoder.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        if self.mix is None:
            layer = self.settings.get("sent_layer", self.settings.get("layer", -1))
            return answer.hidden_states[int(layer)]  # type: ignore[no-any-return]
        norm = bool(self.settings.get("layer_norm", self.kind != "unified_metric"))
        states = [_normed(state, mask) if norm else state for state in answer.hidden_states]
        mixed: torch.Tensor = self.gamma * sum(
            share * state for share, state in zip(self.mix, states, strict=True)
        )
        return mixed

    def pooled(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return one vector per text."""
        states = self.layers(ids, mask)
        pool = self.settings.get("pool", "avg")
        if pool == "cls" or self.kind == "unified_metric":
            return states[:, 0]
        if pool == "max":
            return states.masked_fill(mask[..., None] == 0, float("-inf")).amax(1)
        return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def _normed(state: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Scale to zero mean and unit variance over a text's real tokens and all dimensions together."""
    import torch

    real = mask[..., None].to(state.dtype)
    count = mask.sum(1).to(state.dtype)[:, None, None] * state.shape[-1]
    mean = (state * real).sum((1, 2), keepdim=True) / count
    variance = (((state * real - mean) * real) ** 2).sum((1, 2), keepdim=True) / count
    return (state - mean) / torch.sqrt(variance + 1e-12)


@lru_cache(maxsize=2)
def load_estimator(name: str, place: str) -> Estimator:
    """Load the checkpoint of that name or folder onto a device."""
    import torch

    folder = weights.resolve(name)
    settings = _settings(folder)
    kind = str(settings.get("class_identifier", "regression_metric"))
    if kind not in _KINDS:
        raise WeightsError(f"{folder} is a {kind}; give one of {', '.join(_KINDS)}")
    tensors = read_tensors(_plain_file(folder))
    encoder = _encoder(folder, settings, tensors, place)
    head = _head(tensors, settings).to(place).eval().requires_grad_(False)
    scalars = [key for key in tensors if key.startswith("layerwise_attention.scalar_parameters.")]
    mix = None
    if scalars:
        scalars.sort(key=lambda key: int(key.rsplit(".", 1)[1]))
        shares = torch.cat([tensors[key].float().reshape(1) for key in scalars])
        sparse = settings.get("layer_transformation") == "sparsemax"
        mix = (_sparsemax(shares) if sparse else torch.softmax(shares, dim=0)).to(place)
    gamma = float(tensors.get("layerwise_attention.gamma", torch.ones(1))[0])
    return Estimator(encoder, head, mix, gamma, kind, settings)


def _settings(folder: Path) -> dict[str, Any]:
    for name in ("hparams.yaml", "hparams.json"):
        file = folder / name
        if file.is_file():
            if name.endswith("json"):
                return dict(json.loads(file.read_text("utf-8")))
            import yaml  # type: ignore[import-untyped]

            return dict(yaml.safe_load(file.read_text("utf-8")))
    raise WeightsError(f"{folder} has no hparams.yaml; give the folder of a COMET checkpoint")


def _plain_file(folder: Path) -> Path:
    """Return the tensors' safetensors file; a .ckpt is converted once, and never unpickled as code."""
    plain = folder / "model.safetensors"
    if plain.is_file():
        return plain
    for pickled in (folder / "checkpoints" / "model.ckpt", folder / "model.ckpt"):
        if pickled.is_file():
            name = f"{_file_digest(pickled, pickled.stat().st_mtime_ns)}.safetensors"
            home = weights.cache_folder() / "converted" / name
            if not home.is_file():
                _convert(pickled, home)
            return home
    raise WeightsError(f"{folder} has neither model.safetensors nor checkpoints/model.ckpt")


@cache
def _file_digest(path: Path, changed: int) -> str:
    return weights.file_digest(path)


def _convert(pickled: Path, home: Path) -> None:
    import torch

    try:
        whole = torch.load(pickled, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise WeightsError(f"{pickled} holds more than tensors, or is damaged: {error}") from error
    state = whole.get("state_dict", whole)
    tensors = {key: value.contiguous().clone() for key, value in state.items() if hasattr(value, "shape")}
    write_tensors(tensors, home)


def checkpoint_digest(name: str) -> str:
    """Return the digest of a checkpoint's settings and tensors, for signatures."""
    folder = weights.resolve(name)
    file = _plain_file(folder)
    return "sha256:" + digest(
        json.dumps(_settings(folder), default=str, sort_keys=True),
        _file_digest(file, file.stat().st_mtime_ns),
    )


def _encoder(folder: Path, settings: dict[str, Any], tensors: dict[str, Any], place: str) -> Loaded:
    """Load the encoder: its shape from its own config, its tensors from the checkpoint."""
    from transformers import AutoConfig, AutoModel

    home = folder / "encoder" if (folder / "encoder" / "config.json").is_file() else None
    home = home or weights.resolve(str(settings.get("pretrained_model", "")))
    config = AutoConfig.from_pretrained(home, local_files_only=True)
    body = AutoModel.from_config(config)
    state = {
        key.removeprefix("encoder.model."): value
        for key, value in tensors.items()
        if key.startswith("encoder.model.")
    }
    missing, _ = body.load_state_dict(state, strict=False)
    check_complete([k for k in missing if not k.endswith("_ids")], type(body).__name__, folder, ("pooler",))
    tokenizer = load_tokenizer(home)
    limit = min(int(tokenizer.model_max_length), 512)
    return Loaded(
        body.to(place).eval().requires_grad_(False), tokenizer, folder, place, limit, framing(tokenizer), -1
    )


def _head(tensors: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Build the feed-forward estimator; its linear layers are numbered as in the checkpoint."""
    import torch

    names = [key for key in tensors if key.startswith("estimator.ff.") and key.endswith("weight")]
    numbers = sorted({int(key.split(".")[2]) for key in names})
    if not numbers:
        raise WeightsError("the checkpoint has no estimator.ff.*: it is not a COMET metric")
    activation = getattr(torch.nn, settings.get("activations", "Sigmoid"))
    steps: list[Any] = []
    for number in numbers:
        weight, bias = tensors[f"estimator.ff.{number}.weight"], tensors[f"estimator.ff.{number}.bias"]
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.load_state_dict({"weight": weight, "bias": bias})
        steps += [linear, activation()]
    final = settings.get("final_activation")
    return torch.nn.Sequential(*steps[:-1], *([getattr(torch.nn, final)()] if final else []))


def _sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Project the scores onto the simplex (Martins & Astudillo 2016)."""
    import torch

    ordered = scores.sort(descending=True).values
    total = ordered.cumsum(0) - 1
    ranks = torch.arange(1, len(scores) + 1)
    support = int((ordered * ranks > total).sum())
    return (scores - total[support - 1] / support).clamp_min(0)
