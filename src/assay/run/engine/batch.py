"""Samples to batches of scores: cut into pieces, scored by the metric, its answer checked.

An answer has one row per sample, without nan or infinity. A piece lost with its worker is handed out again.
"""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import AuditError, MetricError, TextError

# What a user's metric may raise on a text; memory errors and interrupts are not its fault.
FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError,
          ValueError, AuditError)  # fmt: skip
_FIRST, _MOST = 16, 4096  # samples per piece
_AIM = 0.5  # seconds per piece, so that a killed run loses little and progress moves
_LOSSES = 3  # of one piece: then it is the samples' fault, not the machine's
_ALLOCATIONS = 100_000  # objects between two garbage collections; each walks over what metrics remember


@dataclass(frozen=True, slots=True)
class Batch:
    """Scores of the samples at `indices`: (m, outputs), nan = absent; `failures` are (index, message)."""

    indices: Sequence[int]
    values: Floats
    notes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failures: Sequence[tuple[int, str]] = ()
    seconds: float = 0.0  # in the metric
    resident: int = 0  # bytes the worker held afterwards; 0 outside a pool


class Pieces:
    """The samples still to be scored, handed out as lists of indices."""

    def __init__(self, metric: Metric, samples: Sequence[Sample]) -> None:
        self._metric, self._samples = metric, samples
        # Longest first, so that the last pieces are short; samples that share references stay together, so
        # that what a metric remembers of a reference is still there for the next.
        self._order = sorted(range(len(samples)), key=lambda index: -_shared_length(samples[index]))
        self._start = 0
        self._size = max(_FIRST, metric.batch)
        self._returned: deque[list[int]] = deque()
        self._losses: Counter[int] = Counter()

    def __bool__(self) -> bool:
        return bool(self._returned) or self._start < len(self._order)

    def suspects(self, under_way: Iterable[list[int]]) -> bool:
        """Whether a piece that was lost is under way or next; alone, it shows whose fault the loss was."""
        return bool(self._returned) or any(piece[0] in self._losses for piece in under_way)

    def take(self) -> list[int]:
        """The next piece."""
        if self._returned:
            return self._returned.popleft()
        piece = self._order[self._start : self._start + self._size]
        self._start += len(piece)
        return piece

    def done(self, batch: Batch) -> Batch:
        """Note that a piece was scored: the next are sized by the time it took. Returns the batch."""
        rate = len(batch.indices) / max(batch.seconds, 1e-6)
        size = min(_MOST, 4 * max(self._size, 1), int(rate * _AIM))
        self._size = max(1, size, self._metric.batch)
        return batch

    def lost(self, piece: list[int]) -> None:
        """Take back a piece that was lost with its worker; raises if that happens too often."""
        self._losses[piece[0]] += 1
        if self._losses[piece[0]] >= _LOSSES:
            raise MetricError(
                f"{self._metric.name} ended its worker {_LOSSES} times, with {len(piece)} samples from "
                f"{quote(self._samples[piece[0]])} on; look for lack of memory or a crash of the metric there"
            )
        self._returned.append(piece)


def _shared_length(sample: Sample) -> int:
    """Characters of what samples share, references and source; those of the hypothesis without them."""
    return sum(map(len, sample.references)) + len(sample.source or "") or len(sample.hypothesis)


def pack(samples: Sequence[Sample], piece: Sequence[int]) -> list[tuple[Any, ...]]:
    """A piece's samples as plain tuples, which travel to another process five times as fast."""
    chosen = [samples[index] for index in piece]
    return [(s.hypothesis, s.references, s.source, s.image, s.rival, s.draw, s.id) for s in chosen]


def evaluate(
    metric: Metric,
    samples: Sequence[Sample],
    indices: Sequence[int],
    *,
    skip: bool,
    timeout: float | None = None,
) -> Batch:
    """Score one batch; with `skip`, a batch that fails is halved until only the culprits are left out."""
    began = time.perf_counter()
    try:
        with _deadline(timeout):
            batch = _score(metric, samples, indices)
        return replace(batch, seconds=time.perf_counter() - began)
    except FAULTS as error:
        if not skip:
            raise _explain(metric, samples, error, timeout) from error
        if len(samples) == 1:
            absent = np.full((1, max(1, len(metric.outputs))), np.nan)
            return Batch(indices, absent, {}, [(indices[0], f"{type(error).__name__}: {error}")])
    half = len(samples) // 2
    halves = [
        evaluate(metric, samples[part], indices[part], skip=True, timeout=timeout)
        for part in (slice(half), slice(half, None))
    ]
    return _join(*halves, seconds=time.perf_counter() - began)


def _join(first: Batch, second: Batch, *, seconds: float) -> Batch:
    zeros = [[0] * len(half.indices) for half in (first, second)]
    notes = {
        name: [*first.notes.get(name, zeros[0]), *second.notes.get(name, zeros[1])]
        for name in dict.fromkeys([*first.notes, *second.notes])
    }
    values = np.concatenate([first.values, second.values])
    failures = [*first.failures, *second.failures]
    return Batch([*first.indices, *second.indices], values, notes, failures, seconds)


def _score(metric: Metric, samples: Sequence[Sample], indices: Sequence[int]) -> Batch:
    answer = metric.score(samples)
    scores = answer if isinstance(answer, Scores) else Scores(answer)
    for name, counts in scores.notes.items():
        if len(counts) != len(samples):
            raise MetricError(f"{metric.name} counted {name} for {len(counts)} of {len(samples)} samples")
    return Batch(indices, _check_answer(metric, samples, scores.values), scores.notes)


def _check_answer(metric: Metric, samples: Sequence[Sample], answer: Any) -> Floats:
    """The answer as (n, outputs); None becomes nan, while a nan of the metric's own is an error."""
    if not hasattr(answer, "__len__"):
        raise MetricError(f"{metric.name} returned {type(answer).__name__}, not a list of numbers")
    if len(answer) != len(samples):
        raise MetricError(
            f"{metric.name} returned {len(answer)} scores for {len(samples)} samples; "
            f"score() must give one value per sample, None where there is none"
        )
    width = max(1, len(metric.outputs))
    absent = np.zeros(len(answer), dtype=np.bool_)
    if not isinstance(answer, np.ndarray):
        absent = np.array([value is None for value in answer], dtype=np.bool_)
        nothing = [np.nan] * width if metric.outputs else np.nan
        answer = [nothing if value is None else value for value in answer]
    try:
        table = np.asarray(answer, dtype=np.float64).reshape(len(answer), -1)
    except (TypeError, ValueError) as error:
        raise MetricError(f"{metric.name} returned something that is not a number: {error}") from error
    if table.shape[1] != width:
        raise MetricError(f"{metric.name} returned {table.shape[1]} outputs per sample, declares {width}")
    wrong = np.flatnonzero((~np.isfinite(table) & ~absent[:, None]).any(axis=1))
    if len(wrong):
        raise MetricError(
            f"{metric.name} returned {table[wrong[0]].tolist()} for {quote(samples[wrong[0]])}; "
            f"return None where there is no score"
        )
    return table


def quote(sample: Sample) -> str:
    """A sample in an error message, shortened."""
    text = sample.hypothesis if len(sample.hypothesis) <= 80 else sample.hypothesis[:77] + "..."
    return f"the sample {sample.id or sample.key[:12]} with hypothesis {text!r}"


def _explain(
    metric: Metric, samples: Sequence[Sample], error: BaseException, timeout: float | None
) -> AuditError:
    """The error with the name of the metric, and of the sample if the error does not say enough."""
    if isinstance(error, TextError):
        return MetricError(f"{metric.name}: {_locate(samples, error.text)}{error}")
    if isinstance(error, AuditError):
        nameless = isinstance(error, MetricError) and metric.name not in str(error)
        return MetricError(f"{metric.name}: {error}") if nameless else error
    culprit = _find_culprit(metric, samples, timeout)
    return MetricError(
        f"{metric.name} raised {type(error).__name__}: {error} on {quote(culprit)}; "
        f"mend the metric, or leave such samples out with --on-error skip"
    )


def _locate(samples: Sequence[Sample], text: str) -> str:
    """Which sample holds a text that cannot be read; empty if the metric changed the text."""
    for sample in samples:
        if any(text in part for part in (sample.hypothesis, *sample.references, sample.source or "")):
            return f"in the sample {sample.id or sample.key[:12]}, "
    return ""


def _find_culprit(metric: Metric, samples: Sequence[Sample], timeout: float | None) -> Sample:
    """The first sample on which the metric raises, found by bisection."""
    while len(samples) > 1:
        half = len(samples) // 2
        try:
            with _deadline(timeout):
                metric.score(samples[:half])
        except FAULTS:
            samples = samples[:half]
        else:
            samples = samples[half:]
    return samples[0]


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds.

    An alarm reaches Python between two of its steps, and in the main thread only: a call that never comes
    back from C, and a server's thread, are not interrupted.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer within {seconds:g} s (--timeout)")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Run the garbage collector rarely and not over the samples; it would take a fifth of the time."""
    if gc.get_freeze_count():  # somebody else has frozen objects
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
