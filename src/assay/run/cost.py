"""What a run would cost, before it runs: samples, unique texts, tokens, seconds, downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.core import Case, Grid, Measure, Metric, Sample, SetMetric
from assay.models.weights import CARRIERS, present
from assay.run.cache import ScoreCache
from assay.run.projection import characters, kind, projector, texts

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
    items = [item for listed in work.values() for item in listed]
    grids = [item for item in items if isinstance(item, Grid)]
    samples = [sample for item in items if isinstance(item, Case) for sample in item.samples.values()]
    projected = map(projector(one.metric), samples)
    unique = list({sample: None for sample in projected if sample is not None})
    missing = _not_cached(one.metric, unique, cache)
    pairs = sum(len(grid.rows) * len(grid.columns) for grid in grids)
    distinct = {text for sample in missing for text in texts(sample)}
    distinct |= {text for grid in grids for text in (*grid.rows, *grid.columns)}
    tokens = int(sum(map(len, distinct)) / CHARACTERS_A_TOKEN)
    counts = (len(samples) + pairs, len(unique) + pairs, len(unique) - len(missing), len(distinct), tokens)
    return Cost(one.label, *counts, _seconds(one, missing, grids, cache), _fetches(one))


def _not_cached(metric: Metric | SetMetric, unique: list[Sample], cache: ScoreCache) -> list[Sample]:
    if not isinstance(metric, Metric) or not metric.cacheable or metric.parts:
        return unique
    keys = [bytes.fromhex(sample.key) for sample in unique]
    known = set(cache.get(metric.signature, keys, max(1, len(metric.outputs))).places.tolist())
    return [sample for place, sample in enumerate(unique) if place not in known]


def _seconds(
    one: Measure, samples: Sequence[Sample], grids: Sequence[Grid], cache: ScoreCache
) -> float | None:
    """Characters to read by the pace this machine has shown, else the usual one; a hybrid costs its parts."""
    metric = one.metric
    if isinstance(metric, Metric) and metric.parts:
        parts = [_seconds(part, samples, grids, cache) for part in metric.parts]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    pace = cache.pace(kind(metric)) or usual(metric)
    if pace is None:
        return None
    return (characters(metric, samples) + sum(_grid_characters(metric, grid) for grid in grids)) / pace


def _grid_characters(metric: Metric | SetMetric, grid: Grid) -> int:
    rows, columns = sum(map(len, grid.rows)), sum(map(len, grid.columns))
    if metric.weights:
        return rows + columns
    return rows * len(grid.columns) + columns * len(grid.rows)


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
    read = sum(len(text) for sample in projected if sample for text in texts(sample))
    grids = [grid for grid in items if isinstance(grid, Grid) and "references" in one.metric.needs]
    cells = sum(len(grid.columns) * sum(map(len, grid.rows)) for grid in grids)
    return int((read + cells) / CHARACTERS_A_TOKEN)


# Characters a second on two cores of 2.x GHz, by backbone or name (bench/bertscore.py, ppl.py, ngrams.py).
_BACKBONES = {"minilm": 17_000.0, "smollm2": 1_500.0, "glove": 100_000.0}
_SLOW = dict.fromkeys(("chrf", "chrf++", "ter", "nist", "rouge-w", "sacrebleu"), 600_000.0)
_USUAL = 1_500_000.0


def usual(metric: Metric | SetMetric) -> float | None:
    """Characters a second where nothing was measured; None for models of unknown size."""
    if metric.backbone is None:
        return _SLOW.get(metric.name, _USUAL)
    return _BACKBONES.get(metric.backbone)
