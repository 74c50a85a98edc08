"""The engine of one machine: in this process, or in a pool of processes for metrics that need no model."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.engines import OnError
from assay.engines.batch import Batch, evaluate
from assay.errors import MetricError

_FIRST, _MOST = 16, 4096  # samples a batch
_AIM = 0.5  # seconds a batch, so that a killed run loses little and progress moves
_POOL_FROM = 2000  # samples below which starting processes costs more than it saves


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Batches of adaptive size, longest samples first; `workers` processes where that pays."""

    workers: int = 1

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        """Score the samples here."""
        order = sorted(range(len(samples)), key=lambda index: -length(samples[index]))
        if self.workers > 1 and len(samples) >= _POOL_FROM and not metric.weights and _travels(metric):
            yield from self._in_pool(metric, samples, order, on_error)
        else:
            yield from _here(metric, samples, order, on_error)

    def _in_pool(
        self, metric: Metric, samples: Sequence[Sample], order: list[int], on_error: OnError
    ) -> Iterator[Batch]:
        size = max(_FIRST, min(_MOST, len(order) // (self.workers * 8)))
        pieces = iter([order[start : start + size] for start in range(0, len(order), size)])
        context = multiprocessing.get_context("forkserver")
        with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
            waiting: set[Future[Batch]] = set()
            for piece in pieces:
                batch = [samples[index] for index in piece]
                waiting.add(pool.submit(evaluate, metric, batch, piece, skip=on_error == "skip"))
                if len(waiting) > 2 * self.workers:  # bounded: batches in flight, not the whole run
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            yield from (future.result() for future in waiting)


def _here(metric: Metric, samples: Sequence[Sample], order: list[int], on_error: OnError) -> Iterator[Batch]:
    start, size = 0, _FIRST
    while start < len(order):
        piece = order[start : start + size]
        began = time.perf_counter()
        yield evaluate(metric, [samples[index] for index in piece], piece, skip=on_error == "skip")
        start += len(piece)
        spent = max(time.perf_counter() - began, 1e-6)
        size = max(1, min(_MOST, 4 * size, int(len(piece) * _AIM / spent)))


def length(sample: Sample) -> int:
    """How long a sample is, in characters."""
    return len(sample.hypothesis) + sum(map(len, sample.references)) + len(sample.source or "")


def _travels(metric: Metric) -> bool:
    """Whether a metric can be sent to another process; a function of a notebook cannot."""
    if type(metric).__module__.startswith("assay_plugin_"):
        return False
    try:
        pickle.dumps(metric)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def engine(workers: int = 1) -> LocalEngine:
    """A local engine; refuses nonsense."""
    if workers < 1:
        raise MetricError(f"--workers {workers}: at least one is needed")
    return LocalEngine(workers)
