"""The engine of one machine: in this process, or in a pool of processes that keep their models."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import lru_cache
from multiprocessing import forkserver
from typing import Any

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.run.engine import OnError
from assay.run.engine.batch import Batch, evaluate, packed, unpacked
from assay.run.engine.pieces import Pieces

_POOL_FROM = 2000  # samples below which starting processes costs more than it saves


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
            yield from Team(metric, samples, self.workers, self.timeout, on_error == "skip").run(pieces)
            return
        while pieces:
            piece = pieces.take()
            chosen = [samples[index] for index in piece]
            yield pieces.done(evaluate(metric, chosen, piece, skip=on_error == "skip", timeout=self.timeout))

    def _pooled(self, metric: Metric, samples: int) -> bool:
        return self.workers > 1 and samples >= max(_POOL_FROM, 2 * metric.batch) and _travels(metric)


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


log = logging.getLogger(__name__)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SHARE = 0.7  # of the machine's memory that all workers together may hold


@dataclass
class Team:
    """The workers of one metric: two pieces each are under way, never the whole run."""

    metric: Metric
    samples: Sequence[Sample]
    workers: int
    timeout: float | None = None
    skip: bool = False
    waiting: dict[Future[Batch], list[int]] = field(default_factory=dict)
    grown: int = 0  # bytes of a worker that holds more than its share

    def run(self, pieces: Pieces) -> Iterator[Batch]:
        """Score every piece; a pool that broke is replaced, one that grew too large as well."""
        recipe = pickle.dumps(self.metric)
        try:
            while pieces or self.waiting:
                try:
                    self._hand_out(pieces, recipe)
                    yield from self._collect(pieces)
                except BrokenProcessPool:
                    _pool.cache_clear()
                    for lost in self.waiting.values():
                        pieces.lost(lost)
                    self.waiting.clear()
        finally:
            for future in self.waiting:
                future.cancel()

    def _hand_out(self, pieces: Pieces, recipe: bytes) -> None:
        if self.grown and not self.waiting:
            self._renew()
        at_once = 1 if pieces.suspects(self.waiting.values()) else 2 * self.workers
        while pieces and not self.grown and len(self.waiting) < at_once:
            piece = pieces.take()
            try:
                rows = packed(self.samples, piece)
                job = _pool(self.workers).submit(score_recipe, recipe, rows, piece, self.skip, self.timeout)
            except BrokenProcessPool:
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

    def _renew(self) -> None:
        """A metric that leaks would take the machine down with it; new processes begin small."""
        size = f"{self.grown / 1e6:,.0f} MB"
        log.warning("%s: a worker grew to %s; the workers were started anew", self.metric.name, size)
        _pool(self.workers).shutdown(wait=True)
        _pool.cache_clear()
        self.grown = 0


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
    batch = evaluate(_made(recipe), unpacked(rows), piece, skip=skip, timeout=timeout)
    return replace(batch, resident=resident())


@lru_cache(maxsize=4)
def _made(recipe: bytes) -> Metric:
    metric: Metric = pickle.loads(recipe)
    metric.prepare()
    return metric


def memory_share(workers: int) -> float:
    """Bytes a worker may hold."""
    return _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / workers


def resident() -> int:
    """Bytes this process holds; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
