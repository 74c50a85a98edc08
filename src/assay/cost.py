"""What a run would cost, before it runs: samples, unique texts, tokens, seconds, downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core import Case, Grid, Measure, Metric, Sample, SetMetric
from assay.scoring import projector
from assay.store import ScoreCache
from assay.weights import CARRIERS, present

CAUSAL = ("likelihood", "generation", "judge")  # a forward pass a sample, none shared between samples
QUICK_TOKENS = 45_000  # through the causal language model at --size quick
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
    projected = map(projector(one.metric), samples)
    unique = list({sample: None for sample in projected if sample is not None})
    missing = _not_cached(one.metric, unique, cache)
    pairs = sum(len(grid.rows) * len(grid.columns) for grid in grids)
    texts = {text for sample in missing for text in _texts(sample)}
    texts |= {text for grid in grids for text in (*grid.rows, *grid.columns)}
    tokens = int(sum(map(len, texts)) / CHARACTERS_A_TOKEN)
    seconds = seconds_of(one, len(missing) + pairs, tokens)
    counts = (len(samples) + pairs, len(unique) + pairs, len(unique) - len(missing))
    return Cost(one.label, *counts, len(texts), tokens, seconds, _fetches(one))


def _not_cached(metric: Metric | SetMetric, unique: list[Sample], cache: ScoreCache) -> list[Sample]:
    if not isinstance(metric, Metric) or not metric.cacheable or metric.parts:
        return unique
    keys = [bytes.fromhex(sample.key) for sample in unique]
    known = set(cache.get(metric.signature, keys, max(1, len(metric.outputs))).places.tolist())
    return [sample for place, sample in enumerate(unique) if place not in known]


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


def affordable(
    one: Measure, work: Mapping[str, Sequence[Case | Grid]], tokens: int
) -> dict[str, Sequence[Case | Grid]]:
    """The audits whose texts a causal language model can read within so many tokens, cheapest first."""
    if one.metric.paradigm not in CAUSAL or one.metric.backbone is None:
        return dict(work)
    prices = {name: _causal_tokens(one, items) for name, items in work.items()}
    kept: set[str] = set()
    for name in sorted(prices, key=lambda name: prices[name]):
        if tokens >= prices[name]:
            kept.add(name)
            tokens -= prices[name]
    return {name: items for name, items in work.items() if name in kept}


def _causal_tokens(one: Measure, items: Sequence[Case | Grid]) -> int:
    seen = projector(one.metric)
    projected = {seen(s) for item in items if isinstance(item, Case) for s in item.samples.values()}
    texts = sum(len(text) for sample in projected if sample for text in _texts(sample))
    grids = [grid for grid in items if isinstance(grid, Grid) and "references" in one.metric.needs]
    cells = sum(len(grid.columns) * sum(map(len, grid.rows)) for grid in grids)
    return int((texts + cells) / CHARACTERS_A_TOKEN)
