"""The differentiable form of a metric, or an error that names the mitigation methods that apply instead."""

from __future__ import annotations

from dataclasses import fields

from assay.core import Measure, Metric
from assay.errors import SpecError
from assay.models.trainable import Differentiable, Trainable


def trainable(measure: Measure) -> Trainable:
    """Return the metric's differentiable form on a copy of its model."""
    return form_of(measure).trainable()


def form_of(measure: Measure) -> Differentiable:
    """Return how the metric is loaded and scores with gradients; raises where no adapter can be trained."""
    metric = measure.metric
    form = metric.differentiable() if isinstance(metric, Metric) else None
    if not isinstance(form, Differentiable):
        raise SpecError(
            f"{measure.label} has no backbone that an adapter can be trained in; methods that do apply: "
            f"{', '.join(_other_methods(measure))} (see assay mitigate compare)"
        )
    if getattr(metric, "adapter", None):
        raise SpecError(f"{measure.label} has an adapter already; train from the plain metric")
    return form


def _other_methods(measure: Measure) -> list[str]:
    """Return what can be tried with a metric that takes no adapter."""
    names = {field.name for field in fields(measure.metric)}  # type: ignore[arg-type]
    methods = [f"a hybrid ({measure.label}+0.5*chrf)", "averaging over gender swaps"]
    if "model" in names:
        methods.append("another backbone (model=)")
    if "layer" in names:
        methods.append("another layer (layer=)")
    if measure.metric.outputs:
        methods.append(f"another direction ({', '.join(measure.metric.outputs)})")
    return methods
