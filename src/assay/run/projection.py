"""What a metric reads of a sample: the fields it uses, and how much text that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from assay.core import Floats, Metric, Sample, SetMetric
from assay.errors import MetricError
from assay.run.engine.batch import shown


def project(metric: Metric | SetMetric, sample: Sample) -> Sample | None:
    """The sample as the metric sees it: what it does not use is cleared; None where it lacks a need."""
    return projector(metric)(sample)


def projector(metric: Metric | SetMetric) -> Callable[[Sample], Sample | None]:
    """`project` for many samples of one metric."""
    needs = tuple(metric.needs)
    unused = [name for name in ("source", "image", "rival") if name not in metric.needs | metric.optional]
    blank: dict[str, Any] = dict.fromkeys(unused)
    if "references" not in metric.needs | metric.optional:
        blank["references"] = ()
    if not getattr(metric, "stochastic", False):
        blank["draw"] = 0

    def projected(sample: Sample) -> Sample | None:
        for need in needs:
            if not getattr(sample, need):
                return None
        if metric.one_reference and len(sample.references) > 1:
            raise MetricError(
                f"{metric.name} takes one reference, {shown(sample)} has {len(sample.references)}; "
                f"keep one, or use a metric that reduces over several"
            )
        for name in blank:
            if getattr(sample, name):
                return replace(sample, **blank)
        return sample  # as most are: what the metric does not use is not there

    return projected


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
