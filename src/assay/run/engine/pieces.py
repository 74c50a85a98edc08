"""Samples in pieces of about half a second each; a piece lost with its worker is handed out again."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from assay.core import Metric, Sample
from assay.errors import MetricError
from assay.run.engine.batch import Batch, shown

_FIRST, _MOST = 16, 4096  # samples a piece
_AIM = 0.5  # seconds a piece, so that a killed run loses little and progress moves
_ALLOCATIONS = 100_000  # objects between two rounds; what metrics remember is walked over in each
_LOSSES = 3  # of one piece: then it is the samples' fault, not the machine's


class Pieces:
    """What is still to be scored, as indices of the samples."""

    def __init__(self, metric: Metric, samples: Sequence[Sample]) -> None:
        self._metric, self._samples = metric, samples
        # Longest first, so that the last pieces are short; samples that share references stay together, so
        # that what a metric remembers of a reference is still there for the next.
        self._order = sorted(range(len(samples)), key=lambda index: -_length(samples[index]))
        self._at = 0
        self._size = max(_FIRST, metric.batch)
        self._back: deque[list[int]] = deque()
        self._losses: Counter[int] = Counter()

    def __bool__(self) -> bool:
        return bool(self._back) or self._at < len(self._order)

    def suspects(self, under_way: Iterable[list[int]]) -> bool:
        """Whether a piece that was lost is under way or next; alone, it shows whose fault the loss was."""
        return bool(self._back) or any(piece[0] in self._losses for piece in under_way)

    def take(self) -> list[int]:
        """The next piece."""
        if self._back:
            return self._back.popleft()
        piece = self._order[self._at : self._at + self._size]
        self._at += len(piece)
        return piece

    def done(self, batch: Batch) -> Batch:
        """A piece came back scored: the next are sized by the time it took."""
        rate = len(batch.indices) / max(batch.seconds, 1e-6)
        size = min(_MOST, 4 * max(self._size, 1), int(rate * _AIM))
        self._size = max(1, size, self._metric.batch)
        return batch

    def lost(self, piece: list[int]) -> None:
        """A piece went down with its worker: try again, but not for ever."""
        self._losses[piece[0]] += 1
        if self._losses[piece[0]] >= _LOSSES:
            raise MetricError(
                f"{self._metric.name} ended its worker {_LOSSES} times, with {len(piece)} samples from "
                f"{shown(self._samples[piece[0]])} on; look for lack of memory or a crash of the metric there"
            )
        self._back.append(piece)


def _length(sample: Sample) -> int:
    """How long what samples share is, in characters; a text on its own counts itself."""
    return sum(map(len, sample.references)) + len(sample.source or "") or len(sample.hypothesis)


@contextmanager
def unscanned() -> Iterator[None]:
    """Fewer rounds of the garbage collector, none over the samples: else it takes a fifth of the time."""
    if gc.get_freeze_count():  # someone's already
        yield
        return
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(usual[0], _ALLOCATIONS) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
