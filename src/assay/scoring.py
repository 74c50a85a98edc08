"""Samples to scores: project, dedupe, look up, batch, compute, remember. Only this file runs metrics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.core import Case, Explanation, Floats, Grid, Measure, Metric, Sample, Scored, SetMetric
from assay.engines import Engine, OnError
from assay.engines.batch import FAULTS, Batch, shown
from assay.engines.local import LocalEngine
from assay.errors import MetricError
from assay.progress import Progress
from assay.store import Row, ScoreCache

PUT_ROWS, PUT_SECONDS = 10_000, 2.0
_GRID_CHUNK = 50_000


@dataclass
class Settings:
    """How to run, as against what to score: nothing here can change a score."""

    cache: ScoreCache = field(default_factory=lambda: ScoreCache(None))
    engine: Engine = field(default_factory=LocalEngine)
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    on_error: OnError = "stop"
    seconds: dict[str, float] = field(default_factory=dict)  # label -> scoring time, loading apart
    computed: dict[str, int] = field(default_factory=dict)  # label -> samples not found in the cache
    failures: list[str] = field(default_factory=list)

    def spent(self, label: str, began: float) -> None:
        """Book scoring time."""
        self.seconds[label] = self.seconds.get(label, 0.0) + time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Table:
    """Scores of samples: (n, outputs), nan = absent; and what was counted, a number a sample."""

    values: Floats
    notes: Mapping[str, np.ndarray]


def project(metric: Metric | SetMetric, sample: Sample) -> Sample | None:
    """The sample as the metric sees it: what it does not use is cleared; None where it lacks a need."""
    used = metric.needs | metric.optional
    for need in metric.needs:
        if not getattr(sample, need):
            return None
    return Sample(
        sample.hypothesis,
        sample.references if "references" in used else (),
        sample.source if "source" in used else None,
        sample.image if "image" in used else None,
        sample.rival if "rival" in used else None,
        sample.draw if getattr(metric, "stochastic", False) else 0,
    )


def score_samples(measure: Measure, samples: Sequence[Sample], settings: Settings) -> Table:
    """All outputs for each sample; equal samples are scored once, ever."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(f"{measure.label} scores whole sets, not single samples")
    if metric.parts:
        return _hybrid(metric, samples, settings)
    unique: dict[Sample, int] = {}
    places = np.full(len(samples), -1, dtype=np.int64)
    for index, sample in enumerate(samples):
        projected = project(metric, sample)
        if projected is not None:
            places[index] = unique.setdefault(projected, len(unique))
    table = _score_unique(measure, metric, list(unique), settings)
    values = np.full((len(samples), max(1, len(metric.outputs))), np.nan)
    there = places >= 0
    values[there] = table.values[places[there]]
    notes = {name: np.where(there, counts[places], 0) for name, counts in table.notes.items()}
    return Table(values, notes)


def _hybrid(metric: Metric, samples: Sequence[Sample], settings: Settings) -> Table:
    tables = [score_samples(part, samples, settings) for part in metric.parts]
    columns = [table.values[:, part.column] for part, table in zip(metric.parts, tables, strict=True)]
    notes: dict[str, np.ndarray] = {}
    for table in tables:
        for name, counts in table.notes.items():
            notes[name] = notes.get(name, 0) + counts
    return Table(metric.combine(np.stack(columns, axis=1))[:, None], notes)


def _score_unique(measure: Measure, metric: Metric, samples: list[Sample], settings: Settings) -> Table:
    began = time.perf_counter()
    signature = metric.signature
    keys = [sample.key for sample in samples]
    known = settings.cache.get(signature, keys) if metric.cacheable else {}
    missing = [index for index, key in enumerate(keys) if key not in known]
    values = np.full((len(samples), max(1, len(metric.outputs))), np.nan)
    notes: dict[str, np.ndarray] = {}
    for index, key in enumerate(keys):
        if key in known:
            _place(index, known[key], values, notes)
    settings.spent(measure.label, began)
    settings.computed[measure.label] = settings.computed.get(measure.label, 0) + len(missing)
    if missing:
        metric.prepare()
        began = time.perf_counter()
        _compute(measure, metric, samples, keys, missing, values, notes, settings)
        settings.spent(measure.label, began)
    return Table(values, notes)


def _place(index: int, row: Row, values: Floats, notes: dict[str, np.ndarray]) -> None:
    values[index] = row.values
    for name, count in row.notes.items():
        notes.setdefault(name, np.zeros(len(values), dtype=np.int64))[index] = count


def _compute(
    measure: Measure,
    metric: Metric,
    samples: Sequence[Sample],
    keys: Sequence[str],
    missing: list[int],
    values: Floats,
    notes: dict[str, np.ndarray],
    settings: Settings,
) -> None:
    """Run the engine over what is missing, putting rows as they come."""
    wanted = [samples[index] for index in missing]
    waiting: list[tuple[str, Row]] = []
    last = time.monotonic()
    try:
        with settings.progress.task(measure.label, len(missing)) as counter:
            for batch in settings.engine.run(metric, wanted, settings.on_error):
                for place, row in _rows(batch):
                    _place(missing[place], row, values, notes)
                    waiting.append((keys[missing[place]], row))
                settings.failures += [
                    f"{measure.label}: {shown(wanted[place])}: {message}" for place, message in batch.failures
                ]
                counter.advance(len(batch.indices))
                if len(waiting) >= PUT_ROWS or time.monotonic() - last >= PUT_SECONDS:
                    _put(metric, waiting, settings)
                    last = time.monotonic()
    finally:
        _put(metric, waiting, settings)


def _put(metric: Metric, waiting: list[tuple[str, Row]], settings: Settings) -> None:
    if waiting and metric.cacheable:
        settings.cache.put(metric.signature, waiting)
    waiting.clear()


def _rows(batch: Batch) -> Iterable[tuple[int, Row]]:
    """A batch's rows, failures left out so that a later run tries them again."""
    failed = {index for index, _ in batch.failures}
    counted = [(name, counts) for name, counts in batch.notes.items()]
    for place, (index, row) in enumerate(zip(batch.indices, batch.values.tolist(), strict=True)):
        if index not in failed:
            yield index, Row(tuple(row), {name: int(c[place]) for name, c in counted if c[place]})


def score_grid(measure: Measure, grid: Grid, settings: Settings, known: dict[str, Floats]) -> Floats:
    """(rows, columns) of M(row as hypothesis, column as reference); a symmetric metric is asked once."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(f"{measure.label} scores whole sets; a grid needs single samples")
    transposed = replace(grid, rows=grid.columns, columns=grid.rows).key
    if metric.symmetric and transposed in known:
        return known[transposed].T
    signature = f"{metric.signature}|output:{measure.output}"
    began = time.perf_counter()
    values = settings.cache.get_grid(signature, grid.key) if metric.cacheable else None
    if values is None:
        metric.prepare()
        began = time.perf_counter()
        values = _compute_grid(measure, metric, grid, settings)
        if metric.cacheable:
            settings.cache.put_grid(signature, grid.key, values)
    settings.spent(measure.label, began)
    known[grid.key] = values
    return values


def _compute_grid(measure: Measure, metric: Metric, grid: Grid, settings: Settings) -> Floats:
    if metric.parts:
        parts = [_compute_grid(part, part.metric, grid, settings) for part in metric.parts]  # type: ignore[arg-type]
        return metric.combine(np.stack([p.ravel() for p in parts], axis=1)).reshape(parts[0].shape)
    own = metric.grid(grid.rows, grid.columns)
    if own is not None:
        return own[:, :, measure.column] if own.ndim == 3 else own
    flat = np.empty(len(grid.rows) * len(grid.columns))
    pairs = [Sample(row, (column,)) for row in grid.rows for column in grid.columns]
    with settings.progress.task(f"{measure.label} {grid.id}", len(flat)) as counter:
        for start in range(0, len(pairs), _GRID_CHUNK):
            chunk = pairs[start : start + _GRID_CHUNK]
            for batch in settings.engine.run(metric, chunk, settings.on_error):
                flat[np.asarray(batch.indices) + start] = batch.values[:, measure.column]
                counter.advance(len(batch.indices))
    return flat.reshape(len(grid.rows), len(grid.columns))


def score_cases(
    measure: Measure, work: Mapping[str, Sequence[Case | Grid]], settings: Settings
) -> dict[str, Scored]:
    """One metric over the cases of every audit at once, so that shared samples are scored once."""
    from assay.folding import fold_sets, unfold

    about = _about(measure)
    cases = {name: [item for item in items if isinstance(item, Case)] for name, items in work.items()}
    if isinstance(measure.metric, SetMetric):
        return {name: fold_sets(measure, found, settings, about) for name, found in cases.items()}
    samples = [s for found in cases.values() for case in found for s in case.samples.values()]
    table = score_samples(measure, samples, settings)
    scored = unfold(measure, cases, table, about)
    known: dict[str, Floats] = {}
    for name, items in work.items():
        grids = {g.id: score_grid(measure, g, settings, known) for g in items if isinstance(g, Grid)}
        scored[name] = replace(scored[name], grids=grids)
    return scored


def _about(measure: Measure) -> dict[str, Any]:
    metric = measure.metric
    return {
        "paradigm": metric.paradigm,
        "backbone": metric.backbone,
        "parameters": metric.parameter_count,
        "signature": metric.signature,
        "set": isinstance(metric, SetMetric),
        "name": metric.name,
        "output": measure.output,
    }


def explain_samples(measure: Measure, samples: Iterable[Sample]) -> list[Explanation | None]:
    """Why the scores, for evidence only (law 10)."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        return [None for _ in samples]
    found: list[Explanation | None] = []
    for sample in samples:
        projected = project(metric, sample)
        try:
            found.append(None if projected is None else metric.explain(projected))
        except FAULTS:
            found.append(None)  # an explanation is a courtesy: its failure must not cost the findings
    return found
