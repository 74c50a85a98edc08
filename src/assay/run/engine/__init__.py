"""Engines run a metric over samples, here or elsewhere; scoring decides what to run and remembers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from assay.core import Metric, Sample
from assay.run.engine.batch import Batch
from assay.vocabulary import OnError


class Engine(Protocol):
    """Samples to batches of scores, in any order, each sample once."""

    def prepare(self, metric: Metric, samples: int) -> None:
        """Load what scoring so many samples needs, so that loading is not counted as scoring."""

    def run(self, metric: Metric, samples: Sequence[Sample], on_error: OnError) -> Iterator[Batch]:
        """Score the samples; each batch names the samples it holds."""
