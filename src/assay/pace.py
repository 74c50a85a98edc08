"""How much a metric reads and how fast: what the cost of a run is reckoned by.

Every run books the characters read and the seconds taken in the cache; the usual paces below stand in for a
metric that this machine has not run yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np

from assay.core import Floats, Metric, Sample, SetMetric

# Characters a second on two cores of 2.x GHz, by backbone or name (bench/bertscore.py, ppl.py, ngrams.py).
_BACKBONES = {"minilm": 17_000.0, "smollm2": 1_500.0, "glove": 100_000.0}
_SLOW = dict.fromkeys(("chrf", "chrf++", "ter", "nist", "rouge-w", "sacrebleu"), 600_000.0)
_USUAL = 1_500_000.0


def kind(metric: Metric | SetMetric) -> str:
    """What two metrics of one pace share: name and plain parameters, whatever data they are fitted to."""
    plain = {f.name: getattr(metric, f.name) for f in fields(metric)}  # type: ignore[arg-type]
    shown = [f"{name}:{value}" for name, value in plain.items() if isinstance(value, str | int | float)]
    return "|".join([metric.name, *shown])


def texts(sample: Sample) -> tuple[str, ...]:
    """The texts of a sample."""
    return (sample.hypothesis, *sample.references, *([sample.source] if sample.source else []))


def characters(metric: Metric | SetMetric, samples: Iterable[Sample]) -> int:
    """What the metric has to read: a model reads a text once, other metrics each time it is met."""
    if metric.weights:
        return sum(map(len, {text for sample in samples for text in texts(sample)}))
    return sum(len(s.hypothesis) + sum(map(len, s.references)) + len(s.source or "") for s in samples)


def shares(samples: Sequence[Sample]) -> Floats:
    """Each sample's part of the work, by the length of its hypothesis: how far a run is."""
    lengths = np.fromiter((len(sample.hypothesis) + 1 for sample in samples), np.float64, len(samples))
    return np.asarray(lengths / lengths.sum())


def usual(metric: Metric | SetMetric) -> float | None:
    """Characters a second where nothing was measured; None for models of unknown size."""
    if metric.backbone is None:
        return _SLOW.get(metric.name, _USUAL)
    return _BACKBONES.get(metric.backbone)
