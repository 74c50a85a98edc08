"""What one metric is, for people: the rows of `assay list metrics NAME`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from assay.core import Metric, SetMetric
from assay.errors import WeightsError
from assay.files import toml_file
from assay.models.weights import CARRIERS
from assay.names.inventory import readiness
from assay.names.spec import parse_spec

_NOT_WRITTEN = ("table", "members", "scales")  # fields that no spec can set
_READS = {"references": "one or more references", "source": "the source", "image": "the image"}


def about(spec: str) -> dict[str, str]:
    """What a metric reads and gives, what it rests on, and whose it is; options in the spec count."""
    measure = parse_spec(spec)
    metric: Any = measure.metric
    known = {
        "metric": measure.label,
        "what": _first_paragraph(metric),
        "reads": _reads(metric),
        "scale": _scale(metric),
        "direction": _direction(metric),
        "languages": _languages(metric),
        "weights": _weights(metric),
        "options": _options(metric),
        "here": readiness(type(metric))["state"],
        "signature": _signature(metric),
        "citation": getattr(metric, "citation", ""),
    }
    return {name: text for name, text in known.items() if text}


def _first_paragraph(metric: Metric | SetMetric) -> str:
    text = " ".join(inspect.cleandoc(type(metric).__doc__ or "").partition("\n\n")[0].split())
    return "" if text.startswith(f"{type(metric).__name__}(") else text  # written by dataclass


def _reads(metric: Metric | SetMetric) -> str:
    others = [words for need, words in _READS.items() if need in metric.needs]
    texts = "the text" if isinstance(metric, Metric) else "all texts of a set"
    return ", ".join([texts, *others]) if others else f"{texts} alone"


def _scale(metric: Any) -> str:
    """From where to where scores go, in words."""
    low, high = metric.range
    if low is None and high is None:
        words = toml_file("names", "about")["unbounded"]
        return str(words.get(metric.paradigm, words["default"]))
    if low is None:
        return f"up to {high:g}"
    return f"{low:g} and more" if high is None else f"{low:g} to {high:g}"


def _direction(metric: Any) -> str:
    if metric.original == "lower":
        return "higher is better: it is an error or a perplexity, and negated here"
    return "higher is better"


def _signature(metric: Any) -> str:
    """What scores are kept under; it holds digests of the weights, which must be here for that."""
    try:
        return str(metric.signature)
    except WeightsError:
        return ""


def _languages(metric: Any) -> str:
    """By the weights it rests on, else by its tokeniser; of a user's metric nothing is known."""
    if not type(metric).__module__.startswith("assay.metrics.") or metric.paradigm == "hybrid":
        return ""
    words = toml_file("names", "about")
    if metric.weights:
        model = str(getattr(metric, metric.weights[0]))
        return str(words["models"].get(model, f"those of {model}"))
    return str(words["languages"].get(getattr(metric, "tokenize", "none"), ""))


def _weights(metric: Any) -> str:
    """Name, size and licence of each model that the metric rests on."""
    return "; ".join(_model(str(getattr(metric, field))) for field in metric.weights)


def _model(name: str) -> str:
    carrier = CARRIERS.get(name)
    if carrier is not None:
        return f"{name} ({carrier.what}): {carrier.megabytes:.0f} MB, {carrier.licence}, in a package"
    known = toml_file("names", "checkpoints")["checkpoints"].get(name)
    if known is None:
        return f"{name}: size and licence as its owner says"
    return f"{name}: {known[1]}, licence {known[2]}, from the hub"


def _options(metric: Any) -> str:
    """The fields with their values, as a spec writes them."""
    fields = [field.name for field in dataclasses.fields(metric) if field.name not in _NOT_WRITTEN]
    return ", ".join(f"{name}={_written(getattr(metric, name))}" for name in fields)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
