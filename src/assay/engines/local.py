"""The engine of one machine: in this process, or in a pool of processes that keep their models."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver
from typing import Any

from assay.core import Metric, Sample
from assay.engines import OnError
from assay.engines.batch import Batch, evaluate, packed, unpacked
from assay.engines.pieces import Pieces
from assay.errors import MetricError

_POOL_FROM = 2000  # samples below which starting processes costs more than it saves
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Pieces of adaptive size; `workers` processes where that pays, the cores shared out among them."""

    workers: int = 1
    timeout: float | None = None  # seconds a call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Load the model here, unless the workers will do it."""
        if not self._pooled(metric, samples):
            metric.prepare()

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        """Score the samples here."""
        pieces = Pieces(metric, samples)
        if self._pooled(metric, len(samples)):
            yield from _in_pool(metric, samples, pieces, self, skip=on_error == "skip")
            return
        while pieces:
            piece = pieces.take()
            chosen = [samples[index] for index in piece]
            yield pieces.done(evaluate(metric, chosen, piece, skip=on_error == "skip", timeout=self.timeout))

    def _pooled(self, metric: Metric, samples: int) -> bool:
        return self.workers > 1 and samples >= max(_POOL_FROM, 2 * metric.batch) and _travels(metric)


def _in_pool(
    metric: Metric, samples: Sequence[Sample], pieces: Pieces, engine: LocalEngine, *, skip: bool
) -> Iterator[Batch]:
    """Two pieces a worker are under way, never the whole run; a pool that broke is replaced."""
    recipe = pickle.dumps(metric)
    waiting: dict[Future[Batch], list[int]] = {}
    try:
        while pieces or waiting:
            pool = _pool(engine.workers)
            try:
                while pieces and len(waiting) < (
                    1 if pieces.suspects(waiting.values()) else 2 * engine.workers
                ):
                    piece = pieces.take()
                    try:
                        rows = packed(samples, piece)
                        job = pool.submit(score_recipe, recipe, rows, piece, skip, engine.timeout)
                        waiting[job] = piece
                    except BrokenProcessPool:
                        pieces.lost(piece)
                        raise
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield pieces.done(future.result())
                    del waiting[future]
            except BrokenProcessPool:
                _pool.cache_clear()
                for lost in waiting.values():
                    pieces.lost(lost)
                waiting.clear()
    finally:
        for future in waiting:
            future.cancel()


@lru_cache(maxsize=1)
def _pool(workers: int) -> ProcessPoolExecutor:
    """Processes that live as long as this one, so that a run loads a model once a worker."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, threads))  # numpy reads them when a worker imports it
    try:
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    context = multiprocessing.get_context("forkserver")
    return ProcessPoolExecutor(workers, mp_context=context)


def score_recipe(
    recipe: bytes, rows: Sequence[tuple[Any, ...]], piece: Sequence[int], skip: bool, timeout: float | None
) -> Batch:
    """One piece in a worker; the metric is made once and kept."""
    return evaluate(_made(recipe), unpacked(rows), piece, skip=skip, timeout=timeout)


@lru_cache(maxsize=4)
def _made(recipe: bytes) -> Metric:
    metric: Metric = pickle.loads(recipe)
    metric.prepare()
    return metric


def _travels(metric: Metric) -> bool:
    """Whether a metric can be sent to another process; a function of a notebook cannot."""
    if type(metric).__module__.startswith("assay_plugin_"):
        return False
    try:
        pickle.dumps(metric)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def engine(workers: int = 1, timeout: float | None = None) -> LocalEngine:
    """A local engine; refuses nonsense."""
    if workers < 1:
        raise MetricError(f"--workers {workers}: at least one is needed")
    return LocalEngine(workers, timeout)
