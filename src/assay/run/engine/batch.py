"""One batch through one metric, its answer checked: right number, no nan, no infinity."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import AuditError, MetricError, TextError

# What a user's metric may raise on a text; memory errors and interrupts are not its fault.
FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError,
          ValueError, AuditError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Batch:
    """Scores of the samples at `indices`: (m, outputs), nan = absent; `failures` are (index, message)."""

    indices: Sequence[int]
    values: Floats
    notes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failures: Sequence[tuple[int, str]] = ()
    seconds: float = 0.0  # in the metric
    resident: int = 0  # bytes the worker held after it, where a pool asks


def evaluate(
    metric: Metric,
    samples: Sequence[Sample],
    indices: Sequence[int],
    *,
    skip: bool,
    timeout: float | None = None,
) -> Batch:
    """Score one batch; with `skip`, a batch that fails is halved until the culprits are left out alone."""
    began = time.perf_counter()
    try:
        with deadline(timeout):
            batch = _checked(metric, samples, indices)
        return replace(batch, seconds=time.perf_counter() - began)
    except FAULTS as error:
        if not skip:
            raise _explained(metric, samples, error, timeout) from error
        if len(samples) == 1:
            absent = np.full((1, max(1, len(metric.outputs))), np.nan)
            return Batch(indices, absent, {}, [(indices[0], f"{type(error).__name__}: {error}")])
    half = len(samples) // 2
    parts = [
        evaluate(metric, samples[part], indices[part], skip=True, timeout=timeout)
        for part in (slice(half), slice(half, None))
    ]
    return _joined(*parts, seconds=time.perf_counter() - began)


def packed(samples: Sequence[Sample], piece: Sequence[int]) -> list[tuple[Any, ...]]:
    """A piece's samples as plain tuples, which travel to another process five times as fast."""
    chosen = [samples[index] for index in piece]
    return [(s.hypothesis, s.references, s.source, s.image, s.rival, s.draw, s.id) for s in chosen]


def unpacked(rows: Sequence[tuple[Any, ...]]) -> list[Sample]:
    """The samples where they arrive."""
    return [Sample(*row) for row in rows]


def _joined(first: Batch, second: Batch, *, seconds: float) -> Batch:
    nothing = [[0] * len(half.indices) for half in (first, second)]
    notes = {
        name: [*first.notes.get(name, nothing[0]), *second.notes.get(name, nothing[1])]
        for name in dict.fromkeys([*first.notes, *second.notes])
    }
    return Batch(
        [*first.indices, *second.indices],
        np.concatenate([first.values, second.values]),
        notes,
        [*first.failures, *second.failures],
        seconds,
    )


def _checked(metric: Metric, samples: Sequence[Sample], indices: Sequence[int]) -> Batch:
    answer = metric.score(samples)
    scores = answer if isinstance(answer, Scores) else Scores(answer)
    for name, counts in scores.notes.items():
        if len(counts) != len(samples):
            raise MetricError(f"{metric.name} counted {name} for {len(counts)} of {len(samples)} samples")
    return Batch(indices, _table(metric, samples, scores.values), scores.notes)


def _table(metric: Metric, samples: Sequence[Sample], answer: Any) -> Floats:
    """The answer as (n, outputs); None becomes nan, while a nan of the metric's own is an error."""
    if not hasattr(answer, "__len__"):
        raise MetricError(f"{metric.name} returned {type(answer).__name__}, not a list of numbers")
    if len(answer) != len(samples):
        raise MetricError(
            f"{metric.name} returned {len(answer)} scores for {len(samples)} samples; "
            f"score() must give one value a sample, None where there is none"
        )
    table, absent = _numbers(metric, answer)
    width = max(1, len(metric.outputs))
    if len(table) and table.shape[1] != width:
        raise MetricError(f"{metric.name} returned {table.shape[1]} outputs a sample, declares {width}")
    wrong = ~np.isfinite(table) & ~absent[:, None]
    if wrong.any():
        place = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise MetricError(
            f"{metric.name} returned {table[place].tolist()} for {shown(samples[place])}; "
            f"return None where there is no score"
        )
    return table


def _numbers(metric: Metric, answer: Any) -> tuple[Floats, NDArray[np.bool_]]:
    if isinstance(answer, np.ndarray):
        table = np.asarray(answer, dtype=np.float64).reshape(len(answer), -1)
        return table, np.zeros(len(table), dtype=np.bool_)
    width = max(1, len(metric.outputs))
    absent = np.array([value is None for value in answer], dtype=np.bool_)
    nothing: Any = [np.nan] * width if metric.outputs else np.nan
    rows = [nothing if value is None else value for value in answer]
    try:
        table = np.asarray(rows, dtype=np.float64) if rows else np.empty((0, width))
    except (TypeError, ValueError) as error:
        raise MetricError(f"{metric.name} returned something that is not a number: {error}") from error
    return table.reshape(len(rows), -1), absent


def shown(sample: Sample) -> str:
    """A sample in a message, shortened."""
    text = sample.hypothesis if len(sample.hypothesis) <= 80 else sample.hypothesis[:77] + "..."
    return f"the sample {sample.id or sample.key[:12]} with hypothesis {text!r}"


def _explained(
    metric: Metric, samples: Sequence[Sample], error: BaseException, timeout: float | None
) -> AuditError:
    """Our own errors say enough, but for whose text it is; a metric's own are named with the sample met."""
    if isinstance(error, TextError):
        return MetricError(f"{metric.name}: {_placed(samples, error.text)}{error}")
    if isinstance(error, AuditError):
        nameless = isinstance(error, MetricError) and metric.name not in str(error)
        return MetricError(f"{metric.name}: {error}") if nameless else error
    culprit = _culprit(metric, samples, timeout)
    return MetricError(
        f"{metric.name} raised {type(error).__name__}: {error} on {shown(culprit)}; "
        f"mend the metric, or leave such samples out with --on-error skip"
    )


def _placed(samples: Sequence[Sample], text: str) -> str:
    """Which sample holds a text, or a sentence, that cannot be read; nothing where the metric changed it."""
    for sample in samples:
        if any(text in one for one in (sample.hypothesis, *sample.references, sample.source or "")):
            return f"in the sample {sample.id or sample.key[:12]}, "
    return ""


def _culprit(metric: Metric, samples: Sequence[Sample], timeout: float | None) -> Sample:
    """The sample on which the metric raises, found by halves; the first where it is not one alone."""
    while len(samples) > 1:
        half = len(samples) // 2
        try:
            with deadline(timeout):
                metric.score(samples[:half])
        except FAULTS:
            samples = samples[:half]
        else:
            samples = samples[half:]
    return samples[0]


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds.

    An alarm reaches Python between two of its steps, in the main thread alone: a call that never comes back
    from C, and a server's thread, are not interrupted.
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
