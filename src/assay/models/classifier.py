"""Texts or pairs of texts to the logits of a sequence classifier or regressor, batched by tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.core import Floats
from assay.models.torch import Loaded, Overlong, in_batches, tokenize_within


def logits(
    loaded: Loaded, firsts: Sequence[str], seconds: Sequence[str] | None, overlong: Overlong = "warn"
) -> tuple[Floats, list[int]]:
    """Return (n, labels) logits of texts or pairs, and the tokens cut (from the longer text first)."""
    if not firsts:
        return np.empty((0, int(loaded.model.config.num_labels))), []
    texts = {"text": list(firsts)} | ({} if seconds is None else {"text_pair": list(seconds)})
    encoded, cuts = tokenize_within(loaded, texts, overlong)
    names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in encoded]
    rows = [{name: encoded[name][index] for name in names} for index in range(len(firsts))]
    values = in_batches(
        [len(row["input_ids"]) for row in rows],
        lambda batch: _forward(loaded, [rows[index] for index in batch]),
    )
    return np.stack(values), cuts


def _forward(loaded: Loaded, rows: list[dict[str, list[int]]]) -> list[Floats]:
    batch = loaded.tokenizer.pad(rows, return_tensors="pt").to(loaded.device)
    return list(loaded.model(**batch).logits.double().cpu().numpy())
