"""The roads to a fairer metric, as metrics: adapters, backbones, layers, directions, hybrids, swaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core import Measure, Metric
from assay.metrics.hybrid import Hybrid
from assay.mitigation.debias import with_adapter
from assay.mitigation.ordinary import ordinary_pairs
from assay.mitigation.swapping import SwapAverage
from assay.models.adapters import check_folder
from assay.names.spec import build, parse
from assay.run.scoring import score_samples
from assay.run.session import Session

PARTNERS = ("bleu", "rougeL", "chrf")
WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # of the partner, in spreads of the metric
_SAMPLES = 200  # that spreads are measured on


@dataclass(frozen=True, slots=True)
class Road:
    """A way to mend a metric, and the metric it leads to."""

    kind: str
    measure: Measure


def roads(
    spec: str,
    *,
    folders: Sequence[Path] = (),
    models: Sequence[str] = (),
    partners: Sequence[str] = PARTNERS,
    settings: Session,
) -> list[Road]:
    """The metric itself first, then every road that applies to it."""
    for folder in folders:
        check_folder(folder)
    base = parse(spec)
    found = [Road("original", base)]
    found += [Road("adapter", parse(with_adapter(spec, folder))) for folder in folders]
    found += [Road("backbone", parse(_with_key(spec, "model", name))) for name in models]
    found += [Road("layer", one) for one in layers(spec)]
    found += [Road("direction", one) for one in directions(base)]
    found += [Road("hybrid", one) for one in hybrids(spec, partners, WEIGHTS, settings)]
    label = f"swap-average({spec})"
    found.append(Road("swap average", Measure(label, SwapAverage(base))))
    return found


def _with_key(spec: str, key: str, value: str) -> str:
    """The spec with a key set, whatever it was before."""
    name, _, tail = spec.partition(":")
    kept = [pair for pair in tail.split(",") if pair and pair.partition("=")[0] != key]
    return f"{name}:{','.join([*kept, f'{key}={value}'])}"


def layers(spec: str) -> Iterator[Measure]:
    """The metric on each of the layers below its own."""
    metric = parse(spec).metric
    own = getattr(metric, "layer", None)
    if isinstance(own, int):
        for layer in range(1, own):
            yield parse(_with_key(spec, "layer", str(layer)))


def directions(base: Measure) -> Iterator[Measure]:
    """The other outputs of a metric that has several: reference to hypothesis, back, or both."""
    for output in base.metric.outputs:
        if output != base.output:
            stem = base.label.partition(":")
            name = stem[0].removesuffix(f"-{base.output}")
            yield Measure(f"{name}-{output}{stem[1]}{stem[2]}", base.metric, output)


def hybrids(
    spec: str, partners: Sequence[str], weights: Sequence[float], settings: Session
) -> Iterator[Measure]:
    """Sums with n-gram metrics (Eq. 4 of caption), weights in units of the spreads on ordinary pairs."""
    base = parse(spec)
    if not isinstance(base.metric, Metric):
        return
    own = spread(base, settings)
    for name in partners:
        partner = parse(name)
        unit = own / max(spread(partner, settings), 1e-12)
        for weight in weights:
            factor = float(f"{weight * unit:.3g}")
            made = build(Hybrid, {"members": (base, partner), "scales": (1.0, factor)}, spec)
            yield Measure(f"{spec}+{factor:g}*{name}", made)


def spread(measure: Measure, settings: Session) -> float:
    """The standard deviation of a metric's scores of ordinary pairs."""
    from assay.core import Sample

    pairs = ordinary_pairs()["validation"][:_SAMPLES]
    samples = [Sample(pair.hypothesis, (pair.reference,)) for pair in pairs]
    values = score_samples(measure, samples, settings).values[:, measure.column]
    return float(np.nanstd(values, ddof=1))
