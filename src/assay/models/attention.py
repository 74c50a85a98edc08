"""Attention of an encoder by blocks of tokens, averaged over layers and heads (*blind* app. C.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import Floats
from assay.errors import WeightsError
from assay.models import weights
from assay.models.loading import plain_folder
from assay.models.torch import load_tokenizer


def attention_blocks(name: str, texts: Sequence[str], *, block: int = 20, length: int = 200) -> Floats:
    """Return shares of attention: texts x from-blocks x (first token, then to-blocks), nan past a text's end.

    Rows sum to 1. The first token has a column of its own, because models direct attention there that is of
    no use elsewhere (*blind*, footnote 4). Texts are cut to `length` tokens, as in the paper.
    """
    import torch

    folder = weights.resolve(name)
    tokenizer, model = load_tokenizer(folder), _eager(folder)
    size = length // block
    shares = np.full((len(texts), size, size + 1), np.nan)
    with torch.inference_mode():
        for place, text in enumerate(texts):
            ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=length)
            layers = model(**ids, output_attentions=True).attentions
            mean = torch.stack([layer[0].mean(0) for layer in layers]).mean(0).numpy()
            shares[place] = in_blocks(mean.astype(np.float64), block, size)
    return shares


def in_blocks(attention: Floats, block: int, size: int) -> Floats:
    """Turn attention between tokens into blocks: summed over targets, averaged over sources."""
    shares = np.full((size, size + 1), np.nan)
    rest = attention.copy()
    rest[:, 0] = 0.0
    whole = min(size, -(-len(attention) // block))
    for row in range(whole):
        rows = slice(row * block, (row + 1) * block)
        shares[row, 0] = attention[rows, 0].mean()
        for column in range(whole):
            shares[row, column + 1] = rest[rows, column * block : (column + 1) * block].sum(axis=1).mean()
    return shares


@lru_cache(maxsize=2)
def _eager(folder: Path) -> Any:
    """Load the model with attention that can be read; the fused kernels of the shared copy drop it."""
    from transformers import AutoModel

    home = plain_folder(folder)
    try:
        model = AutoModel.from_pretrained(
            home, attn_implementation="eager", use_safetensors=True, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise WeightsError(f"{home} cannot be loaded for its attention: {error}") from error
    return model.eval()
