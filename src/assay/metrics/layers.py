"""Which layer of an encoder agrees best with people: BERTScore's one choice, made on validation data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.core import Sample
from assay.errors import MetricError
from assay.metrics.bertscore import BertScore
from assay.models.loading import layer_list
from assay.models.torch import load


def layer_agreement(metric: BertScore, samples: Sequence[Sample], human: Sequence[float]) -> dict[int, float]:
    """Pearson's correlation of F with people's scores, for every layer of the metric's model."""
    if len(samples) != len(human) or len(samples) < 3 or np.ptp(human) == 0:
        raise MetricError(
            f"{len(samples)} samples and {len(human)} human scores; three pairs or more are needed"
        )
    whole = load("AutoModel", metric.model, precision=metric.precision, unused=("pooler",))
    holder, name = layer_list(whole.model)
    found = {}
    for layer in range(1, len(getattr(holder, name)) + 1):
        values = replace(metric, layer=layer).score(samples).values
        scores = np.array([np.nan if row is None else row[2] for row in values])  # type: ignore[index]
        there = np.isfinite(scores)
        found[layer] = float(np.corrcoef(scores[there], np.asarray(human, dtype=float)[there])[0, 1])
    return found


def best_layer(metric: BertScore, samples: Sequence[Sample], human: Sequence[float]) -> BertScore:
    """The metric at the layer that agrees best; the lowest of equals."""
    agreement = layer_agreement(metric, samples, human)
    return replace(metric, layer=max(agreement, key=lambda layer: (agreement[layer], -layer)))
