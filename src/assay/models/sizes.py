"""Sizes in a config.json, checked before a model is built: settings and files in, an error or nothing out.

A few bytes of JSON can describe a model that takes minutes and all memory to build. Real models have fewer
than a thousand layers, and about as many numbers as their files hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.errors import WeightsError
from assay.models.lazy import torch

# Each layer is built in Python, a millisecond or so each. The deepest published models have a few hundred.
_MOST_LAYERS = 1_000
_REPEATED = (
    "layer",
    "block",
    "depth",
    "expert",
)  # in the names of settings that say how often a part is built
_MOST_LABELS = 1_000_000  # each label gets a name of its own; the largest vocabularies have 300,000 words
# Four numbers per byte are twice what 4-bit weights hold; tied and untrained parts, and tables of positions,
# which no file holds, are free.
_PER_BYTE, _FREE = 4, 50_000_000


def check_settings(file: Path, settings: Mapping[str, Any]) -> None:
    """Refuse settings of more layers or labels than any model has."""
    for name, value in _whole_numbers(settings):
        is_label = "label" in name
        if value > (_MOST_LABELS if is_label else _MOST_LAYERS) and (is_label or _is_repeated(name)):
            raise WeightsError(
                f"{file} asks for {name}={value:,}, more than any model has; fetch the model again"
            )


def _is_repeated(name: str) -> bool:
    return any(word in name for word in _REPEATED) and "size" not in name and "dim" not in name


def _whole_numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Return the whole numbers of settings by name, those of the parts of a model too."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _whole_numbers(value)
        elif isinstance(value, int):
            yield name.lower(), value


def check_model(build: Callable[[], Any], folder: Path, files: Iterable[Path]) -> None:
    """Refuse a model of far more numbers than its files hold; it is built without memory to count them."""
    with torch.device("meta"):
        model = build()
    tensors = [*model.parameters(), *model.buffers()]
    check_config_numbers(sum(tensor.numel() for tensor in tensors), folder, files)


def check_config_numbers(count: int, folder: Path, files: Iterable[Path]) -> None:
    """Refuse more numbers than so many bytes of weights can hold."""
    size = sum(file.stat().st_size for file in files)
    if count > _PER_BYTE * size + _FREE:
        raise WeightsError(
            f"{folder}/config.json describes a model of {count:,} numbers, but its weights have {size:,} "
            f"bytes; fetch the model again"
        )
