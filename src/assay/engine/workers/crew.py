"""Pieces of work to workers, here or on other machines: handed out, collected, again if they were lost."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.core import Metric, Sample
from assay.engine.workers.batch import Batch, Pieces, call_metric, evaluate, resident_bytes
from assay.errors import MetricError
from assay.names.plugins import load_metric_class


@dataclass
class Crew:
    """The workers of one metric. A job is what `submit` returns."""

    metric: Metric
    recipe: Any  # the metric, as it travels
    skip: bool

    def room(self, under_way: int, *, suspects: bool) -> int:
        """How many pieces may be under way; `suspects`: one of them may have ended its worker before."""
        raise NotImplementedError

    def submit(self, rows: Sequence[tuple[Any, ...]], piece: list[int]) -> Any:
        """Hand a piece to some worker."""
        raise NotImplementedError

    def collect(self, jobs: Sequence[Any]) -> Iterator[tuple[Any, Batch | None]]:
        """Wait for some of the jobs; None for one that was lost with its worker."""
        raise NotImplementedError

    def cancel(self, job: Any) -> None:
        """Forget a job whose answer nobody wants."""
        job.cancel()

    def run(self, pieces: Pieces, samples: Sequence[Sample]) -> Iterator[Batch]:
        """Score every piece; those lost with a worker are handed out again, in parts."""
        under_way: dict[Any, list[int]] = {}
        try:
            while pieces or under_way:
                suspects = pieces.suspects(under_way.values())
                while pieces and len(under_way) < self.room(len(under_way), suspects=suspects):
                    piece = pieces.take()
                    under_way[self.submit(pack_samples(samples, piece), piece)] = piece
                for job, batch in self.collect(list(under_way)):
                    piece = under_way.pop(job)
                    if batch is None:
                        pieces.lost(piece)
                    else:
                        yield pieces.done(batch)
        finally:
            for job in under_way:
                self.cancel(job)


def pack_samples(samples: Sequence[Sample], piece: Sequence[int]) -> list[tuple[Any, ...]]:
    """A piece's samples as plain tuples, which travel to another process five times as fast."""
    chosen = [samples[index] for index in piece]
    return [(s.hypothesis, s.references, s.source, s.image, s.rival, s.draw, s.id) for s in chosen]


def pack_metric(metric: Metric) -> bytes | None:
    """The metric for another process, a user's by its file and fields; None for a notebook's function."""
    plugin = type(metric).plugin
    values = {f.name: getattr(metric, f.name) for f in fields(metric)} if plugin else {}  # type: ignore[arg-type]
    try:
        return pickle.dumps((*plugin, values, metric.signature) if plugin else metric)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def score_piece(
    recipe: bytes, rows: Sequence[tuple[Any, ...]], piece: Sequence[int], skip: bool, timeout: float | None
) -> Batch:
    """Score one piece in a worker."""
    samples = [Sample(*row) for row in rows]
    batch = evaluate(_load_metric(recipe), samples, piece, skip=skip, timeout=timeout)
    return replace(batch, resident=resident_bytes())


@lru_cache(maxsize=2)
def _load_metric(recipe: bytes) -> Metric:
    """The metric in a worker, with its model loaded once."""
    metric: Metric = pickle.loads(recipe)
    if isinstance(metric, tuple):
        path, identifier, values, signature = metric
        metric = load_metric_class(Path(path), identifier)(**values)  # type: ignore[assignment]
        if metric.signature != signature:
            raise MetricError(f"{path} was changed while the run was under way; start it again")
    call_metric(metric, metric.prepare, "while it loaded")
    return metric
