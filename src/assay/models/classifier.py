"""Pairs of texts to the logits of a sequence classifier or regressor, in batches by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core import Floats
from assay.errors import MetricError
from assay.models.torch import Loaded, Overlong, in_batches


def logits(
    loaded: Loaded, firsts: Sequence[str], seconds: Sequence[str] | None, overlong: Overlong = "warn"
) -> tuple[Floats, list[int]]:
    """(n, labels) for texts or pairs, and the tokens cut a pair (the longer text is cut first)."""
    texts: dict[str, Any] = {"text": list(firsts)}
    if seconds is not None:
        texts["text_pair"] = list(seconds)
    if not firsts:
        return np.empty((0, int(loaded.model.config.num_labels))), []
    full = loaded.tokenizer(**texts, verbose=False)["input_ids"]
    kept = loaded.tokenizer(**texts, truncation=True, max_length=loaded.limit, verbose=False)
    cuts = [len(one) - len(other) for one, other in zip(full, kept["input_ids"], strict=True)]
    if any(cuts) and overlong == "error":
        text = firsts[int(np.argmax(cuts))]
        raise MetricError(
            f"{text[:60]!r}... is {max(cuts)} tokens too long for {loaded.path.name}; give overlong=warn"
        )
    names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in kept]
    encoded = [{name: kept[name][index] for name in names} for index in range(len(firsts))]
    rows = in_batches(
        [len(row["input_ids"]) for row in encoded],
        lambda batch: _forward(loaded, [encoded[index] for index in batch]),
    )
    return np.stack(rows), cuts


def _forward(loaded: Loaded, rows: list[dict[str, list[int]]]) -> list[Floats]:
    batch = loaded.tokenizer.pad(rows, return_tensors="pt").to(loaded.device)
    return list(loaded.model(**batch).logits.double().cpu().numpy())
