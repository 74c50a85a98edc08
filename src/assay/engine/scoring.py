"""Samples to scores: reduce to what a metric reads, dedupe, look up, let an engine compute, remember."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from assay.core import Case, Explanation, Floats, Grid, Measure, Metric, Sample, Scored, SetMetric
from assay.engine.cache import RowNumbers, ScoreCache, ScoreTable
from assay.engine.session import Session
from assay.engine.unfold import FAILED, score_sets, unfold
from assay.engine.workers.batch import Batch, apart, as_numbers, call_metric, quote, rare_collections
from assay.errors import AuditError, MetricError

PUT_ROWS, PUT_SECONDS = 10_000, 2.0
# What the cache learns of a judge: tokens read for each that was expected, and written for each question.
TOKENS_READ, TOKENS_WRITTEN = "tokens read", "tokens written"


def project(metric: Metric | SetMetric, sample: Sample) -> Sample | None:
    """The sample as the metric sees it, without fields it does not use; None if it lacks a needed one."""
    return projector(metric)(sample)


def projector(metric: Metric | SetMetric) -> Callable[[Sample], Sample | None]:
    """`project` for many samples of one metric."""
    used = metric.needs | metric.optional
    needs = tuple(metric.needs)
    blank: dict[str, Any] = {name: None for name in ("source", "image", "rival") if name not in used}
    if "references" not in used:
        blank["references"] = ()
    if not getattr(metric, "stochastic", False):
        blank["draw"] = 0

    def projected(sample: Sample) -> Sample | None:
        for need in needs:
            if not getattr(sample, need):
                return None
        if metric.one_reference and len(sample.references) > 1:
            raise MetricError(
                f"{metric.name} takes one reference, {quote(sample)} has {len(sample.references)}; "
                f"keep one, or use a metric that reduces over several"
            )
        for name in blank:
            if getattr(sample, name):
                return replace(sample, **blank)
        return sample  # as most are: it has nothing that the metric does not use

    return projected


def texts_of(sample: Sample) -> tuple[str, ...]:
    """The texts of a sample."""
    return (sample.hypothesis, *sample.references, *([sample.source] if sample.source else []))


def characters(metric: Metric | SetMetric, samples: Iterable[Sample]) -> int:
    """Characters to read: a model reads each text once, other metrics whenever they meet it."""
    texts = (text for sample in samples for text in texts_of(sample))
    return sum(map(len, set(texts) if metric.weights else texts))


def pace_key(metric: Metric | SetMetric) -> str:
    """What metrics of equal pace share: name and plain parameters, whatever data they are fitted to."""
    plain = {f.name: getattr(metric, f.name) for f in fields(metric)}  # type: ignore[arg-type]
    shown = [f"{name}:{value}" for name, value in plain.items() if isinstance(value, str | int | float)]
    return "|".join([metric.name, *shown])


@rare_collections()
def score_samples(measure: Measure, samples: Sequence[Sample], session: Session) -> ScoreTable:
    """All outputs for each sample; equal samples are scored once, ever."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(
            f"{measure.label} scores whole sets, not single samples; give it to an audit, which compares "
            f"sets: assay run stress -m {measure.label}"
        )
    if metric.parts:
        return _score_hybrid(metric, samples, session)
    unique: dict[Sample, int] = {}
    places = np.full(len(samples), -1, dtype=np.int64)  # the last row, which is empty
    projected = projector(metric)
    for index, sample in enumerate(samples):
        seen = projected(sample)
        if seen is not None:
            places[index] = unique.setdefault(seen, len(unique))
    table = _score_unique(measure, metric, list(unique), session)
    return ScoreTable(table.values[places], {name: counts[places] for name, counts in table.notes.items()})


def _score_hybrid(metric: Metric, samples: Sequence[Sample], session: Session) -> ScoreTable:
    tables = [score_samples(part, samples, session) for part in metric.parts]
    columns = [table.values[:, part.column] for part, table in zip(metric.parts, tables, strict=True)]
    notes: dict[str, RowNumbers] = {}
    for table in tables:
        for name, counts in table.notes.items():
            notes[name] = notes[name] + counts if name in notes else counts
    return ScoreTable(metric.combine(np.stack(columns, axis=1))[:, None], notes)


def _score_unique(measure: Measure, metric: Metric, samples: list[Sample], session: Session) -> ScoreTable:
    """Scores from the cache or the engine, and one empty row."""
    began = time.perf_counter()
    keys = [bytes.fromhex(sample.key) for sample in samples]
    table = ScoreTable.empty(len(samples) + 1, metric)
    missing = np.arange(len(samples))
    if metric.cacheable:
        known = session.cache.get(metric.signature, keys, table)
        missing = np.setdiff1d(missing, known, assume_unique=True)
    session.spent(measure.label, began)
    session.computed[measure.label] += len(missing)
    if len(missing):
        with session.phase("loading"):
            session.engine.prepare(metric, len(missing))
        began = time.perf_counter()
        _compute(measure, metric, [samples[index] for index in missing], missing, keys, table, session)
        session.spent(measure.label, began)
    return table


def _compute(
    measure: Measure,
    metric: Metric,
    wanted: Sequence[Sample],
    missing: RowNumbers,
    keys: Sequence[bytes],
    table: ScoreTable,
    session: Session,
) -> None:
    """Run the engine over the missing samples; rows go to the cache as they come."""
    waiting: list[RowNumbers] = []
    bill, spent = session.bill, session.bill.state
    last, seconds = time.monotonic(), 0.0
    lengths = np.array([len(sample.hypothesis) + 1 for sample in wanted], dtype=np.float64)
    work = lengths / lengths.sum()  # each sample's part of the whole

    def put() -> None:
        if waiting and metric.cacheable:
            session.cache.put(metric.signature, keys, table, np.concatenate(waiting))
        waiting.clear()

    try:
        with session.progress.task(measure.label, len(wanted)) as counter:
            for batch in session.engine.run(metric, wanted, session.on_error):
                waiting.append(_fill(table, batch, missing))
                session.note_failures(measure.label, wanted, batch)
                counter.advance(len(batch.indices), float(work[batch.indices].sum()))
                seconds += batch.seconds
                if sum(map(len, waiting)) >= PUT_ROWS or time.monotonic() - last >= PUT_SECONDS:
                    put()
                    last = time.monotonic()
    finally:
        put()
    session.cache.book(pace_key(metric), characters(metric, wanted), seconds)
    calls, guessed, read, written = (now - before for now, before in zip(bill.state, spent, strict=True))
    if calls and guessed:
        session.cache.book(f"{TOKENS_READ}|{metric.signature}", read, guessed)
        session.cache.book(f"{TOKENS_WRITTEN}|{metric.signature}", written, calls)


def _fill(table: ScoreTable, batch: Batch, missing: RowNumbers) -> RowNumbers:
    """Write a batch into the table. Returns the places to cache: a later run tries failures again."""
    failed = np.array([index for index, _ in batch.failures], dtype=np.int64)
    if len(failed):
        table.fill(missing[failed], np.array(np.nan), {FAILED: np.ones_like(failed)})
    scored = np.flatnonzero(~np.isin(batch.indices, failed))
    places = missing[np.asarray(batch.indices, dtype=np.int64)[scored]]
    notes = {name: counts[scored] for name, counts in batch.notes.items()}
    table.fill(places, batch.values[scored], {name: counts for name, counts in notes.items() if counts.any()})
    return places


def score_grid(measure: Measure, grid: Grid, session: Session, known: dict[str, Floats]) -> Floats:
    """(rows, columns) of M(row as hypothesis, column as reference), added to `known` by the grid's key.

    A symmetric metric is not run on a grid whose transpose is known.
    """
    metric = measure.metric
    if not isinstance(metric, Metric):
        raise MetricError(f"{measure.label} scores whole sets; a grid needs single samples")
    transposed = replace(grid, rows=grid.columns, columns=grid.rows).key
    if metric.symmetric and transposed in known:
        return known[transposed].T
    began, loading = time.perf_counter(), session.loading
    known[grid.key] = _cached_grid(measure, metric, grid, session)
    session.spent(measure.label, began + session.loading - loading)
    return known[grid.key]


def _cached_grid(measure: Measure, metric: Metric, grid: Grid, session: Session) -> Floats:
    """A grid from the cache, else computed and put there."""
    signature, keys = f"{metric.signature}|output:{measure.output}", [bytes.fromhex(grid.key)]
    table = ScoreTable(np.full((1, len(grid.rows) * len(grid.columns)), np.nan))  # the grid is one row
    if not metric.cacheable or not len(session.cache.get(signature, keys, table)):
        failures = len(session.failures)
        with session.phase("loading"):
            call_metric(metric, metric.prepare, "while it loaded")
        table.values[0] = _compute_grid(measure, metric, grid, session).ravel()
        if metric.cacheable and len(session.failures) == failures:
            session.cache.put(signature, keys, table, np.array([0]))
    return table.values.reshape(len(grid.rows), len(grid.columns))


def _compute_grid(measure: Measure, metric: Metric, grid: Grid, session: Session) -> Floats:
    if metric.parts:
        parts = [_cached_grid(part, part.metric, grid, session) for part in metric.parts]  # type: ignore[arg-type]
        return metric.combine(np.stack([p.ravel() for p in parts], axis=1)).reshape(parts[0].shape)
    values = _whole_grid(measure, metric, grid, session)
    if values is not None:
        return values
    height = max(1, PUT_ROWS // max(1, len(grid.columns)))
    if len(grid.rows) > height:  # in bands that are cached one by one, so that a killed run goes on
        bands = []
        with session.progress.task(f"{measure.label} {grid.id}", len(grid.rows)) as counter:
            for start in range(0, len(grid.rows), height):
                band = replace(grid, rows=grid.rows[start : start + height])
                bands.append(_cached_grid(measure, metric, band, session))
                counter.advance(len(band.rows))
        return np.concatenate(bands)
    pairs = [Sample(row, (column,)) for row in grid.rows for column in grid.columns]
    flat = np.empty(len(pairs))
    for batch in session.engine.run(metric, pairs, session.on_error):
        flat[np.asarray(batch.indices)] = batch.values[:, measure.column]
        session.note_failures(measure.label, pairs, batch)
    return flat.reshape(len(grid.rows), len(grid.columns))


def _whole_grid(measure: Measure, metric: Metric, grid: Grid, session: Session) -> Floats | None:
    """The grid by the metric's own way, checked; None where it has none, or it failed and may be skipped."""
    try:
        call = partial(metric.grid, grid.rows, grid.columns)
        values = call_metric(metric, call, f"on the grid {grid.id}", session.engine.timeout)
        if values is None:
            return None
        values = as_numbers(metric, values)
        shapes = [(len(grid.rows), len(grid.columns), *rest) for rest in ((), (len(metric.outputs) or 1,))]
        if values.shape not in shapes or np.isinf(values).any():
            raise MetricError(
                f"{metric.name} returned an array of shape {values.shape} for the grid {grid.id}, or numbers "
                f"that are infinite; grid() must give one number per row and column, nan where there is none"
            )
        return values[:, :, measure.column] if values.ndim == 3 else values
    except MetricError:
        if session.on_error != "skip":
            raise
        return None  # pair by pair, which shows the culprits


def samples_in(items: Iterable[Case | Grid]) -> list[Sample]:
    """The samples of the cases among them, in order."""
    return [sample for item in items if isinstance(item, Case) for sample in item.samples.values()]


def unique_samples(metric: Metric | SetMetric, samples: Iterable[Sample]) -> list[Sample]:
    """The samples as a metric sees them, each once; without those that lack what it needs."""
    seen = map(projector(metric), samples)
    return list(dict.fromkeys(sample for sample in seen if sample is not None))


def grids_read_by(metric: Metric | SetMetric, items: Iterable[Case | Grid]) -> list[Grid]:
    """The grids that a metric scores: they pair texts with references and have nothing else."""
    if metric.needs != {"references"}:
        return []
    return [item for item in items if isinstance(item, Grid)]


def score_cases(
    measure: Measure, work: Mapping[str, Sequence[Case | Grid]], session: Session
) -> dict[str, Scored]:
    """One metric over the cases of every audit at once, so that shared samples are scored once."""
    metric = measure.metric
    cases = {name: [item for item in items if isinstance(item, Case)] for name, items in work.items()}
    if isinstance(metric, SetMetric):
        return {name: score_sets(measure, metric, listed, session) for name, listed in cases.items()}
    samples = samples_in(chain.from_iterable(cases.values()))
    scored = unfold(measure, cases, score_samples(measure, samples, session))
    known: dict[str, Floats] = {}
    for name, items in work.items():
        if grids := grids_read_by(metric, items):
            scored[name] = _with_grids(measure, scored[name], grids, session, known)
    return scored


def _with_grids(
    measure: Measure, scored: Scored, grids: Sequence[Grid], session: Session, known: dict[str, Floats]
) -> Scored:
    """An answer with the scores of an audit's grids; `known` has those of other audits."""
    before = len(session.failures)
    values = {grid.id: score_grid(measure, grid, session, known) for grid in grids}
    failed = len(session.failures) - before
    return replace(scored, grids=values, notes={**scored.notes, **({FAILED: failed} if failed else {})})


def explain_samples(
    measure: Measure, samples: Iterable[Sample], cache: ScoreCache | None = None
) -> list[Explanation | None]:
    """Why the scores are as they are, to show beside findings; None where the metric cannot say."""
    metric = measure.metric
    if not isinstance(metric, Metric):
        return [None for _ in samples]
    store = cache if metric.cacheable else None
    signature = f"{metric.signature}|explained"
    seen = map(projector(metric), samples)
    return [None if sample is None else _explain(metric, sample, signature, store) for sample in seen]


def _explain(metric: Metric, sample: Sample, signature: str, cache: ScoreCache | None) -> Explanation | None:
    """Why one score is as it is, from the cache or the metric."""
    key = bytes.fromhex(sample.key)
    stored = cache.get_text(signature, key) if cache else None
    if stored is not None:
        return Explanation.read(json.loads(stored))
    try:
        call = partial(metric.explain, *apart(metric, [sample]))
        explanation = call_metric(metric, call, "while it explained a score")
    except AuditError:
        return None  # a failed explanation must not cost the findings
    if cache and explanation is not None:
        cache.put_text(signature, key, json.dumps(asdict(explanation)))
    return explanation
