"""The engine of one machine: in this process, or in a pool of processes that keep their models."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any

from assay.core import Metric, Sample
from assay.engine.workers.batch import Batch, Pieces, call_metric, evaluate
from assay.engine.workers.crew import Crew, pack_metric, score_piece
from assay.vocabulary import OnError

_log = logging.getLogger(__name__)
_POOL_FROM = 2000  # samples below which starting processes costs more than it saves
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# A worker, or the server that forks them, is gone; a pool that learns it as it starts one closes its pipes.
_BROKEN = (BrokenProcessPool, EOFError, OSError)
_SHARE = 0.7  # of the machine's memory that all workers together may hold


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Scores here, or in `workers` processes that share the cores if there are enough samples."""

    workers: int = 1
    timeout: float | None = None  # seconds that one call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Load the model here, unless the workers will do it."""
        if not (self._has_enough(metric, samples) and pack_metric(metric)):
            call_metric(metric, metric.prepare, "while it loaded")

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        pieces, skip = Pieces(metric, samples), on_error == "skip"
        if self._has_enough(metric, len(samples)):
            recipe = pack_metric(metric)
            if recipe is not None:
                yield from Team(metric, recipe, skip, self.workers, self.timeout).run(pieces, samples)
                return
            _log.warning("%s is scored in one process: it cannot be sent to others (--workers)", metric.name)
        while pieces:
            piece = pieces.take()
            chosen = [samples[index] for index in piece]
            yield pieces.done(evaluate(metric, chosen, piece, skip=skip, timeout=self.timeout))

    def _has_enough(self, metric: Metric, samples: int) -> bool:
        return self.workers > 1 and samples >= max(_POOL_FROM, 2 * metric.batch)


@dataclass
class Team(Crew):
    """Processes of this machine; each has two pieces under way, never the whole run."""

    workers: int
    timeout: float | None
    grown: int = 0  # bytes of a worker that holds more than its share

    def room(self, under_way: int, *, suspects: bool) -> int:
        if self.grown and not under_way:
            self._renew_pool()
        return 0 if self.grown else 1 if suspects else 2 * self.workers

    def submit(self, rows: Sequence[tuple[Any, ...]], piece: list[int]) -> Future[Batch]:
        job = partial(score_piece, self.recipe, rows, piece, self.skip, self.timeout)
        try:
            return _pool(self.workers).submit(job)
        except _BROKEN:
            _pool.cache_clear()
            return _pool(self.workers).submit(job)

    def collect(self, jobs: Sequence[Future[Batch]]) -> Iterator[tuple[Future[Batch], Batch | None]]:
        for job in wait(jobs, return_when=FIRST_COMPLETED).done:
            try:
                batch = job.result()
            except _BROKEN:
                yield job, None
                continue
            if batch.resident > memory_share(self.workers):
                self.grown = batch.resident
            yield job, batch

    def _renew_pool(self) -> None:
        """Start new processes, which begin small: a metric that leaks would fill the machine's memory."""
        size = f"{self.grown / 1e6:,.0f} MB"
        _log.warning("%s: a worker grew to %s; the workers were started anew", self.metric.name, size)
        _pool(self.workers).shutdown(wait=True)
        _pool.cache_clear()
        self.grown = 0


@lru_cache(maxsize=1)
def _pool(workers: int) -> ProcessPoolExecutor:
    """Processes that live as long as this one, so that each worker loads a model once per run."""
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, threads))  # numpy reads them when it is imported, once for all
    try:
        multiprocessing.set_forkserver_preload([score_piece.__module__])
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    context = multiprocessing.get_context("forkserver")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """In a worker: end when the process that started it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_wait_and_end, args=[parent], daemon=True).start()


def _wait_and_end(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def memory_share(workers: int) -> float:
    """Bytes that each worker may hold."""
    return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / workers
