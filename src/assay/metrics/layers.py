"""A model's name or folder to the layer that BERTScore reads; a model nobody has tuned has none."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import WeightsError
from assay.models.loading import plain_folder, read_config
from assay.models.weights import resolve

# The hub moved the first models under their makers' names; the old names still lead there.
_OWNERS = frozenset({"google-bert", "FacebookAI", "distilbert", "openai-community", "albert", "google-t5"})


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("layers.toml").read_text("utf-8"))


def last_layer(model: str) -> int | None:
    """Return the number of the last layer of a carried sentence encoder, None for any other model."""
    number: int | None = _tables()["last"].get(model)
    return number


def tuned_layer(model: str) -> int | None:
    """Return the layer for a model by its name alone; no file is opened."""
    owner, _, name = model.partition("/")
    known = name if owner in _OWNERS else model  # as bert-score spells it
    number: int | None = _tables()["tuned"].get(known, last_layer(model))
    return number


def find_layer(model: str) -> int | None:
    """Return the layer for a model by its name, or by what its config.json says; raise where neither does.

    None where there is no config.json: loading says what is wrong with the folder.
    """
    number = tuned_layer(model)
    if number is not None:
        return number
    config = read_config(plain_folder(resolve(model)))
    count = _layer_count(config)
    if count is None:
        return None
    number = tuned_layer(str(config.get("_name_or_path", ""))) or _layer_by_shape(config)
    if number is None or number > count:
        raise WeightsError(
            f"no layer is known for {model}: the authors of bert-score have tuned none for it, and scores of "
            f"different layers cannot be compared; give layer=N, 1 to {count} (they took 9 of 12 for "
            f"bert-base-uncased, 17 of 24 for roberta-large)"
        )
    return number


def _layer_count(config: dict[str, Any]) -> int | None:
    number = config.get("num_hidden_layers") or config.get("n_layers") or config.get("n_layer")
    return None if number is None else int(number)


def _layer_by_shape(config: dict[str, Any]) -> int | None:
    if any("Classification" in str(kind) for kind in config.get("architectures") or ()):
        return None
    width = config.get("hidden_size") or config.get("dim")
    shape = f"{config.get('model_type')} {_layer_count(config)} {width} {config.get('vocab_size')}"
    return tuned_layer(_tables()["shapes"].get(shape, ""))
