"""Tiny models in a cache like the hub's; nothing is fetched, and conversions lie in a folder of the test."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from assay.core import Image
from assay.files import file_digest

if TYPE_CHECKING:
    from local_hub import Hub

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# All tests of this folder need the extra: pip install 'nlg-assay[neural]'.
if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers", "sentencepiece")):
    collect_ignore_glob = ["*.py"]


@pytest.fixture(scope="session", autouse=True)
def _quiet_torch() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    from local_hub import Hub

    return Hub(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture
def hub(models: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    """The cache in the place of the user's, without a network."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(models.cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "assay"))
    return models


@pytest.fixture
def pictures(tmp_path: Path) -> list[Image]:
    from PIL import Image as Pillow

    images = []
    for number in range(2):
        noise = np.random.default_rng(number).integers(0, 255, (40, 50, 3), dtype=np.uint8)
        path = tmp_path / f"{number}.png"
        Pillow.fromarray(noise).save(path)
        images.append(Image(str(path), file_digest(path)))
    return images
