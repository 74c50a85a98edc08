"""Samples to scores: project, dedupe, look up, batch, compute, remember. Only this file runs metrics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.core import Case, Explanation, Floats, Grid, Measure, Metric, Sample, Scored, SetMetric
from assay.errors import MetricError
from assay.run.engine.batch import FAULTS, Batch, shown
from assay.run.engine.pieces import unscanned
from assay.run.projection import characters, kind, project, projector, shares
from assay.run.session import Session
from assay.run.unfold import FAILED, Integers, Table

PUT_ROWS, PUT_SECONDS = 10_000, 2.0


@unscanned()
def score_samples(measure: Measure, samples: Sequence[Sample], session: Session) -> Table:
    """All outputs for each sample; equal samples are scored once, ever."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(
            f"{measure.label} scores whole sets, not single samples; give it to an audit, which compares "
            f"sets: assay run stress -m {measure.label}"
        )
    if metric.parts:
        return _hybrid(metric, samples, session)
    unique: dict[Sample, int] = {}
    places = np.full(len(samples), -1, dtype=np.int64)
    project_ = projector(metric)
    for index, sample in enumerate(samples):
        projected = project_(sample)
        if projected is not None:
            places[index] = unique.setdefault(projected, len(unique))
    found = _score_unique(measure, metric, list(unique), session)
    table = _empty(metric, len(samples))
    there = np.flatnonzero(places >= 0)
    chosen = places[there]
    table.fill(there, found.values[chosen], {name: counts[chosen] for name, counts in found.notes.items()})
    return table


def _empty(metric: Metric, count: int) -> Table:
    return Table(np.full((count, max(1, len(metric.outputs))), np.nan))


def _hybrid(metric: Metric, samples: Sequence[Sample], session: Session) -> Table:
    tables = [score_samples(part, samples, session) for part in metric.parts]
    columns = [table.values[:, part.column] for part, table in zip(metric.parts, tables, strict=True)]
    notes: dict[str, Integers] = {}
    for table in tables:
        for name, counts in table.notes.items():
            notes[name] = notes[name] + counts if name in notes else counts
    return Table(metric.combine(np.stack(columns, axis=1))[:, None], notes)


def _score_unique(measure: Measure, metric: Metric, samples: list[Sample], session: Session) -> Table:
    began = time.perf_counter()
    keys = [bytes.fromhex(sample.key) for sample in samples]
    table = _empty(metric, len(samples))
    missing = np.arange(len(samples))
    if metric.cacheable:
        known = session.cache.get(metric.signature, keys, table.values.shape[1])
        table.fill(known.places, known.values, known.notes)
        missing = np.setdiff1d(missing, known.places, assume_unique=True)
    session.spent(measure.label, began)
    session.computed[measure.label] = session.computed.get(measure.label, 0) + len(missing)
    if len(missing):
        session.engine.prepare(metric, len(missing))
        began = time.perf_counter()
        _compute(measure, metric, [samples[index] for index in missing], missing, keys, table, session)
        session.spent(measure.label, began)
    return table


def _compute(
    measure: Measure,
    metric: Metric,
    wanted: Sequence[Sample],
    missing: Integers,
    keys: Sequence[bytes],
    table: Table,
    session: Session,
) -> None:
    """Run the engine over what is missing, putting rows as they come."""
    waiting: list[Integers] = []
    last, seconds = time.monotonic(), 0.0
    work = shares(wanted)
    try:
        with session.progress.task(measure.label, len(wanted)) as counter:
            for batch in session.engine.run(metric, wanted, session.on_error):
                waiting.append(_filled(table, batch, missing))
                session.failures += [
                    f"{measure.label}: {shown(wanted[place])}: {message}" for place, message in batch.failures
                ]
                counter.advance(len(batch.indices), float(work[batch.indices].sum()))
                seconds += batch.seconds
                if sum(map(len, waiting)) >= PUT_ROWS or time.monotonic() - last >= PUT_SECONDS:
                    _put(metric, keys, table, waiting, session)
                    last = time.monotonic()
    finally:
        _put(metric, keys, table, waiting, session)
    session.cache.book(kind(metric), characters(metric, wanted), seconds)


def _filled(table: Table, batch: Batch, missing: Integers) -> Integers:
    """Where the batch's rows went; failures are left out, so that a later run tries them again."""
    failed = np.array([index for index, _ in batch.failures], dtype=np.int64)
    if len(failed):
        table.fill(missing[failed], np.array(np.nan), {FAILED: np.ones_like(failed)})
    kept = np.flatnonzero(~np.isin(batch.indices, failed))
    places = missing[np.asarray(batch.indices, dtype=np.int64)[kept]]
    notes = {name: np.asarray(counts, dtype=np.int64)[kept] for name, counts in batch.notes.items()}
    table.fill(places, batch.values[kept], {name: counts for name, counts in notes.items() if counts.any()})
    return places


def _put(
    metric: Metric, keys: Sequence[bytes], table: Table, waiting: list[Integers], session: Session
) -> None:
    if waiting and metric.cacheable:
        places = np.concatenate(waiting)
        notes = {name: counts[places] for name, counts in table.notes.items()}
        session.cache.put(metric.signature, [keys[at] for at in places], table.values[places], notes)
    waiting.clear()


def score_grid(measure: Measure, grid: Grid, session: Session, known: dict[str, Floats]) -> Floats:
    """(rows, columns) of M(row as hypothesis, column as reference); a symmetric metric is asked once."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(f"{measure.label} scores whole sets; a grid needs single samples")
    transposed = replace(grid, rows=grid.columns, columns=grid.rows).key
    if metric.symmetric and transposed in known:
        return known[transposed].T
    began, loading = time.perf_counter(), session.loading
    known[grid.key] = _remembered(measure, metric, grid, session)
    session.spent(measure.label, began + session.loading - loading)
    return known[grid.key]


def _remembered(measure: Measure, metric: Metric, grid: Grid, session: Session) -> Floats:
    """A grid from the cache, else computed and put there."""
    signature = f"{metric.signature}|output:{measure.output}"
    values = session.cache.get_grid(signature, grid.key) if metric.cacheable else None
    if values is None:
        began = time.perf_counter()
        metric.prepare()
        session.loading += time.perf_counter() - began
        values = _compute_grid(measure, metric, grid, session)
        if metric.cacheable:
            session.cache.put_grid(signature, grid.key, values)
    return values


def _compute_grid(measure: Measure, metric: Metric, grid: Grid, session: Session) -> Floats:
    if metric.parts:
        parts = [_remembered(part, part.metric, grid, session) for part in metric.parts]  # type: ignore[arg-type]
        return metric.combine(np.stack([p.ravel() for p in parts], axis=1)).reshape(parts[0].shape)
    own = metric.grid(grid.rows, grid.columns)
    if own is not None:
        return own[:, :, measure.column] if own.ndim == 3 else own
    height = max(1, PUT_ROWS // max(1, len(grid.columns)))
    if len(grid.rows) > height:  # in bands that are remembered one by one, so that a killed run goes on
        starts = range(0, len(grid.rows), height)
        bands = [replace(grid, rows=grid.rows[start : start + height]) for start in starts]
        return np.concatenate(_counted(measure, metric, bands, session))
    pairs = [Sample(row, (column,)) for row in grid.rows for column in grid.columns]
    flat = np.empty(len(pairs))
    for batch in session.engine.run(metric, pairs, session.on_error):
        flat[np.asarray(batch.indices)] = batch.values[:, measure.column]
    return flat.reshape(len(grid.rows), len(grid.columns))


def _counted(measure: Measure, metric: Metric, bands: Sequence[Grid], session: Session) -> list[Floats]:
    found = []
    with session.progress.task(f"{measure.label} {bands[0].id}", sum(len(b.rows) for b in bands)) as counter:
        for band in bands:
            found.append(_remembered(measure, metric, band, session))
            counter.advance(len(band.rows))
    return found


def score_cases(
    measure: Measure, work: Mapping[str, Sequence[Case | Grid]], session: Session
) -> dict[str, Scored]:
    """One metric over the cases of every audit at once, so that shared samples are scored once."""
    from assay.run.unfold import fold_sets, unfold

    about = _about(measure)
    cases = {name: [item for item in items if isinstance(item, Case)] for name, items in work.items()}
    if isinstance(measure.metric, SetMetric):
        return {name: fold_sets(measure, found, session, about) for name, found in cases.items()}
    samples = [s for found in cases.values() for case in found for s in case.samples.values()]
    table = score_samples(measure, samples, session)
    scored = unfold(measure, cases, table, about)
    if measure.metric.needs != {"references"}:  # a grid pairs texts with references, and has nothing else
        return scored
    known: dict[str, Floats] = {}
    for name, items in work.items():
        grids = {g.id: score_grid(measure, g, session, known) for g in items if isinstance(g, Grid)}
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
