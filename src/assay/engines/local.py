"""The engine of one machine: in this process, or in a pool of processes that keep their models."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.core import Metric, Sample
from assay.engines import OnError
from assay.engines.batch import Batch, evaluate
from assay.engines.pieces import Pieces
from assay.engines.pool import Team
from assay.errors import MetricError

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
