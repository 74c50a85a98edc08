"""What a run would cost, before it runs: samples, unique texts, tokens, seconds, downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core import Case, Grid, Measure, Metric, Sample
from assay.scoring import project
from assay.store import ScoreCache
from assay.weights import CARRIERS, present

CHARACTERS_A_TOKEN = 4.3  # English under the encoders' word pieces, measured on the embedded corpora


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of one metric."""

    metric: str
    samples: int
    unique: int
    cached: int
    texts: int
    tokens: int
    seconds: float | None
    fetch: str


def cost(one: Measure, work: Mapping[str, Sequence[Case | Grid]], cache: ScoreCache) -> Cost:
    """Count what a measure would have to score; nothing is loaded or scored."""
    cases = [item for items in work.values() for item in items if isinstance(item, Case)]
    grids = [item for items in work.values() for item in items if isinstance(item, Grid)]
    samples = [sample for case in cases for sample in case.samples.values()]
    unique = list({p: None for s in samples if (p := project(one.metric, s)) is not None})
    known = {}
    if isinstance(one.metric, Metric) and one.metric.cacheable and not one.metric.parts:
        known = cache.get(one.metric.signature, [sample.key for sample in unique])
    missing = [sample for sample in unique if sample.key not in known]
    pairs = sum(len(grid.rows) * len(grid.columns) for grid in grids)
    texts = {text for sample in missing for text in _texts(sample)}
    texts |= {text for grid in grids for text in (*grid.rows, *grid.columns)}
    tokens = int(sum(map(len, texts)) / CHARACTERS_A_TOKEN)
    seconds = seconds_of(one, len(missing) + pairs, tokens)
    counts = (len(samples) + pairs, len(unique) + pairs, len(known))
    return Cost(one.label, *counts, len(texts), tokens, seconds, _fetches(one))


def _texts(sample: Sample) -> tuple[str, ...]:
    return (sample.hypothesis, *sample.references, *([sample.source] if sample.source else []))


def seconds_of(one: Measure, samples: int, tokens: int) -> float | None:
    """The cost model: a rate a sample for metrics without a model, a rate a token for those with one."""
    rates: dict[str, Any] = {"minilm": 4000.0, "smollm2": 350.0}  # tokens a second on two cores
    backbone = one.metric.backbone
    if backbone is None:
        return samples / 20_000
    return tokens / rates[backbone] if backbone in rates else None


def _fetches(one: Measure) -> str:
    named = [str(getattr(one.metric, field)) for field in one.metric.weights]
    absent = [name for name in named if name in CARRIERS and not present(name)]
    return ", ".join(f"{name} ({CARRIERS[name].megabytes:.0f} MB)" for name in absent)
