"""BLEURT's PyTorch checkpoints: BERT whose embeddings may be narrower than its layers, as in RemBERT.

That shape is ELECTRA's discriminator body, so its layers carry the weights; a tanh pooler and one linear
layer follow. Names of tensors: those of the converted checkpoints on the hub (`bleurt.*`, `classifier.*`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import WeightsError

_SHARED = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
           "hidden_act", "max_position_embeddings", "type_vocab_size", "layer_norm_eps",
           "pad_token_id")  # fmt: skip
_RENAMED = (
    ("bleurt.encoder.embedding_projection.", "body.embeddings_project."),
    ("bleurt.pooler.dense.", "pooler."),
    ("bleurt.", "body."),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a classifier of transformers answers with, as far as it is read."""

    logits: Any


def is_bleurt(folder: Path) -> bool:
    """Whether a folder holds such a checkpoint."""
    config = folder / "config.json"
    return config.is_file() and json.loads(config.read_text("utf-8")).get("model_type") == "bleurt"


def build(folder: Path, precision: str) -> Any:
    """The model, every tensor from the file."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from assay.metrics._loading import check_complete

    settings = json.loads((folder / "config.json").read_text("utf-8"))
    found = _network(settings)
    tensors: dict[str, Any] = {}
    try:
        for file in sorted(folder.glob("*.safetensors")):
            tensors.update({_rename(key): value for key, value in load_file(file).items()})
        missing, _ = found.load_state_dict(tensors, strict=False)
    except (SafetensorError, RuntimeError) as error:
        raise WeightsError(
            f"{folder} does not hold the BLEURT that its config.json describes: {error}"
        ) from error
    check_complete([key for key in missing if not key.endswith("position_ids")], "BLEURT", folder)
    return found.to(getattr(torch, precision))


def _rename(key: str) -> str:
    for old, new in _RENAMED:
        if key.startswith(old):
            return new + key[len(old) :]
    return key


def _network(settings: dict[str, Any]) -> Any:
    import torch
    from transformers import ElectraConfig, ElectraModel

    known = {name: settings[name] for name in _SHARED if settings.get(name) is not None}
    config = ElectraConfig(
        **known, embedding_size=settings.get("embedding_size") or settings["hidden_size"], num_labels=1
    )

    class Network(torch.nn.Module):
        """Body, pooler, one number."""

        def __init__(self) -> None:
            super().__init__()
            self.config = config
            self.body = ElectraModel(config)
            self.pooler = torch.nn.Linear(config.hidden_size, config.hidden_size)
            self.classifier = torch.nn.Linear(config.hidden_size, 1)

        def forward(self, **batch: Any) -> Answer:
            """The score, as logits of shape (n, 1)."""
            first = self.body(**batch).last_hidden_state[:, 0]
            return Answer(self.classifier(torch.tanh(self.pooler(first))))

    return Network()
