"""The engine of one machine: in this process, or in a pool of processes that keep their models."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.names.plugins import load_metric_class
from assay.run.engine.batch import Batch, Pieces, call_metric, evaluate, pack
from assay.vocabulary import OnError

log = logging.getLogger(__name__)
_POOL_FROM = 2000  # samples below which starting processes costs more than it saves
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_BROKEN = (BrokenProcessPool, EOFError, ConnectionError)  # a worker, or the server that forks them, is gone
_SHARE = 0.7  # of the machine's memory that all workers together may hold


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Scores here, or in `workers` processes that share the cores if there are enough samples."""

    workers: int = 1
    timeout: float | None = None  # seconds that one call of the metric may take

    def prepare(self, metric: Metric, samples: int) -> None:
        """Load the model here, unless the workers will do it."""
        if not self._uses_pool(metric, samples):
            call_metric(metric, metric.prepare, "while it loaded")

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        pieces = Pieces(metric, samples)
        if self._uses_pool(metric, len(samples)):
            yield from Team(metric, samples, self.workers, self.timeout, on_error == "skip").run(pieces)
            return
        if self._has_enough(metric, len(samples)):
            log.warning("%s is scored in one process: it cannot be sent to others (--workers)", metric.name)
        while pieces:
            piece = pieces.take()
            chosen = [samples[index] for index in piece]
            yield pieces.done(evaluate(metric, chosen, piece, skip=on_error == "skip", timeout=self.timeout))

    def _uses_pool(self, metric: Metric, samples: int) -> bool:
        return self._has_enough(metric, samples) and _packed(metric) is not None

    def _has_enough(self, metric: Metric, samples: int) -> bool:
        return self.workers > 1 and samples >= max(_POOL_FROM, 2 * metric.batch)


def _packed(metric: Metric) -> bytes | None:
    """The metric for another process, a user's by its file and fields; None for a notebook's function."""
    plugin = type(metric).plugin
    values = {f.name: getattr(metric, f.name) for f in fields(metric)} if plugin else {}  # type: ignore[arg-type]
    try:
        return pickle.dumps((*plugin, values, metric.signature) if plugin else metric)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _unpacked(recipe: bytes) -> Metric:
    stored = pickle.loads(recipe)
    if isinstance(stored, Metric):
        return stored
    path, identifier, values, signature = stored
    metric: Metric = load_metric_class(Path(path), identifier)(**values)  # type: ignore[assignment]
    if metric.signature != signature:
        raise MetricError(f"{path} was changed while the run was under way; start it again")
    return metric


@dataclass
class Team:
    """The workers of one metric; each has two pieces under way, never the whole run."""

    metric: Metric
    samples: Sequence[Sample]
    workers: int
    timeout: float | None = None
    skip: bool = False
    waiting: dict[Future[Batch], list[int]] = field(default_factory=dict)
    grown: int = 0  # bytes of a worker that holds more than its share

    def run(self, pieces: Pieces) -> Iterator[Batch]:
        """Score every piece; a pool that broke or grew too large is replaced."""
        recipe = _packed(self.metric) or b""
        try:
            while pieces or self.waiting:
                try:
                    self._hand_out(pieces, recipe)
                    yield from self._collect(pieces)
                except _BROKEN:
                    _pool.cache_clear()
                    for piece in self.waiting.values():
                        pieces.lost(piece)
                    self.waiting.clear()
        finally:
            for future in self.waiting:
                future.cancel()

    def _hand_out(self, pieces: Pieces, recipe: bytes) -> None:
        if self.grown and not self.waiting:
            self._renew_pool()
        at_once = 1 if pieces.suspects(self.waiting.values()) else 2 * self.workers
        while pieces and not self.grown and len(self.waiting) < at_once:
            piece = pieces.take()
            try:
                rows = pack(self.samples, piece)
                job = _pool(self.workers).submit(_score_piece, recipe, rows, piece, self.skip, self.timeout)
            except _BROKEN:
                pieces.lost(piece)
                raise
            self.waiting[job] = piece

    def _collect(self, pieces: Pieces) -> Iterator[Batch]:
        for future in wait(self.waiting, return_when=FIRST_COMPLETED).done:
            batch = future.result()
            if batch.resident > memory_share(self.workers):
                self.grown = batch.resident
            yield pieces.done(batch)
            del self.waiting[future]

    def _renew_pool(self) -> None:
        """Start new processes, which begin small: a metric that leaks would fill the machine's memory."""
        size = f"{self.grown / 1e6:,.0f} MB"
        log.warning("%s: a worker grew to %s; the workers were started anew", self.metric.name, size)
        _pool(self.workers).shutdown(wait=True)
        _pool.cache_clear()
        self.grown = 0


@lru_cache(maxsize=1)
def _pool(workers: int) -> ProcessPoolExecutor:
    """Processes that live as long as this one, so that each worker loads a model once per run."""
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
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """In a worker: end when the process that started it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_wait_and_end, args=[parent], daemon=True).start()


def _wait_and_end(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _score_piece(
    recipe: bytes, rows: Sequence[tuple[Any, ...]], piece: Sequence[int], skip: bool, timeout: float | None
) -> Batch:
    """Score one piece in a worker."""
    samples = [Sample(*row) for row in rows]
    batch = evaluate(_load_metric(recipe), samples, piece, skip=skip, timeout=timeout)
    return replace(batch, resident=_resident())


@lru_cache(maxsize=4)
def _load_metric(recipe: bytes) -> Metric:
    metric = _unpacked(recipe)
    call_metric(metric, metric.prepare, "while it loaded")
    return metric


def memory_share(workers: int) -> float:
    """Bytes that each worker may hold."""
    return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / workers


def _resident() -> int:
    """Bytes that this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
