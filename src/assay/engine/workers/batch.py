"""Samples to batches of scores: cut into pieces, scored by the metric, its answer checked.

An answer has one row per sample, without nan or infinity. A piece lost with its worker is handed out again.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from asyncio import CancelledError
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from assay.core import Floats, Metric, Sample, Scores, SetMetric
from assay.engine.cache import RowNumbers, ScoreTable
from assay.errors import AuditError, MetricError, SpecError, TextError, UnreachableError
from assay.foreign import described, unmoved

# Whatever a metric raises is its failure; Ctrl-C is none (KeyboardInterrupt, errors.Stopped).
FAULTS = (Exception, SystemExit, GeneratorExit, CancelledError, BaseExceptionGroup)
_FINAL = (SpecError, UnreachableError)  # never skipped: the next sample would fail as this one did
_PARTS = 8  # that a lost piece is cut into, so that few losses show which sample ends its worker
_BatchAnswer = TypeVar("_BatchAnswer")
_FIRST, _MOST = 16, 4096  # samples per piece
_OF_MODEL = 128  # samples per piece of a model, whose sums round differently in other batches
_AIM = 0.5  # seconds per piece, so that a killed run loses little and progress moves
_LOSSES = 3  # of one sample: then it is the sample's fault, not the machine's
_NO_LISTS = (str, bytes, Mapping, Set, np.ma.MaskedArray)  # their members are no scores in order
_ALLOCATIONS = 100_000  # objects between two garbage collections; each walks over what metrics remember


@dataclass(frozen=True, slots=True)
class Batch:
    """Scores of the samples at `indices`: (m, outputs), nan = absent; `failures` are (index, message)."""

    indices: Sequence[int]
    values: Floats
    notes: Mapping[str, RowNumbers] = field(default_factory=dict)
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
        # Answers of a judge are paid for: its pieces stay small, so that a budget that ends loses little.
        self._fixed = bool(metric.weights) and metric.paradigm != "judge"
        self._size = max(_OF_MODEL if self._fixed else _FIRST, metric.batch)
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
        if self._fixed:
            return batch
        rate = len(batch.indices) / max(batch.seconds, 1e-6)
        size = min(_MOST, 4 * max(self._size, 1), int(rate * _AIM))
        self._size = max(1, size, self._metric.batch)
        return batch

    def lost(self, piece: list[int]) -> None:
        """Take back a piece lost with its worker, in parts; raises if a single sample is lost too often."""
        self._losses.update(piece)
        if len(piece) == 1 and self._losses[piece[0]] >= _LOSSES:
            raise MetricError(
                f"{self._metric.name} ended its worker {_LOSSES} times, with "
                f"{quote(self._samples[piece[0]])}; look for lack of memory or a crash of the metric there"
            )
        step = -(-len(piece) // _PARTS)
        self._returned += [piece[start : start + step] for start in range(0, len(piece), step)]


def _shared_length(sample: Sample) -> int:
    """Characters of what samples share, references and source; those of the hypothesis without them."""
    return sum(map(len, sample.references)) + len(sample.source or "") or len(sample.hypothesis)


def evaluate(
    metric: Metric,
    samples: Sequence[Sample],
    indices: Sequence[int],
    *,
    skip: bool,
    timeout: float | None = None,
) -> Batch:
    """Score one batch; one that fails is halved until the culprits are known, which are left out or named."""
    began, problem = time.perf_counter(), None
    table = ScoreTable.empty(len(samples), metric)
    failures: list[tuple[int, str]] = []
    parts = [range(len(samples))]
    while parts:
        part = parts.pop()
        chosen = samples[part.start : part.stop]
        try:
            with unmoved(), _deadline(timeout):
                table.fill(np.array(part), *_score(metric, chosen))
        except FAULTS as error:
            if isinstance(error, AuditError) and (not skip or isinstance(error, _FINAL)):
                raise _name(metric, error, chosen) from error
            problem = MetricError(
                f"{metric.name} raised {described(error)} on {quote(chosen[0])}; "
                f"mend the metric, or leave such samples out with --on-error skip"
            )
            half = len(part) // 2
            if half:
                parts += [part[half:], part[:half]]
            elif not skip:
                raise problem from error
            else:
                failures.append((indices[part[0]], described(error)))
    if problem and not skip:
        raise problem  # each half has scores, the whole has none
    return Batch(indices, table.values, table.notes, failures, time.perf_counter() - began)


def call_metric(
    metric: Metric | SetMetric, call: Callable[[], _BatchAnswer], where: str, timeout: float | None = None
) -> _BatchAnswer:
    """The answer to a call of the metric; whatever it raises becomes an error that names the metric."""
    try:
        with unmoved(), _deadline(timeout):
            return call()
    except AuditError as error:
        raise _name(metric, error) from error
    except FAULTS as error:
        advice = "mend the metric, or leave it out"
        raise MetricError(f"{metric.name} raised {described(error)} {where}; {advice}") from error


def apart(metric: Metric | SetMetric, samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples for a metric; a user's gets copies, so that what it does to them harms no other."""
    is_ours = type(metric).__module__.partition(".")[0] == "assay"
    return samples if is_ours else [replace(sample) for sample in samples]


def _score(metric: Metric, samples: Sequence[Sample]) -> tuple[Floats, dict[str, RowNumbers]]:
    answer = metric.score(apart(metric, samples))
    scores = answer if isinstance(answer, Scores) else Scores(answer)
    for name, counts in scores.notes.items():
        if len(counts) != len(samples):
            raise MetricError(f"{metric.name} counted {name} for {len(counts)} of {len(samples)} samples")
    notes = {name: np.asarray(counts, dtype=np.int64) for name, counts in scores.notes.items()}
    return _check_answer(metric, samples, scores.values), notes


def _check_answer(metric: Metric, samples: Sequence[Sample], answer: Any) -> Floats:
    """The answer as (n, outputs); None becomes nan, while a nan of the metric's own is an error."""
    if not hasattr(answer, "__len__") or isinstance(answer, _NO_LISTS):
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
    table = as_numbers(metric, answer).reshape(len(answer), -1)
    if table.shape[1] != width:
        raise MetricError(f"{metric.name} returned {table.shape[1]} outputs per sample, declares {width}")
    wrong = np.flatnonzero((~np.isfinite(table) & ~absent[:, None]).any(axis=1))
    if len(wrong):
        raise MetricError(
            f"{metric.name} returned {table[wrong[0]].tolist()} for {quote(samples[wrong[0]])}; "
            f"return None where there is no score"
        )
    return table


def as_numbers(metric: Metric | SetMetric, answer: Any) -> Floats:
    """The answer as an array of real numbers; texts of digits and complex numbers are not taken for such."""
    try:
        array = np.asarray(answer)
        listed = array.ravel() if array.dtype.kind == "O" else ()
        if array.dtype.kind in "cSUmMV" or any(isinstance(item, str | bytes | complex) for item in listed):
            raise TypeError(f"{array.ravel()[:1].tolist()[0]!r}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise MetricError(f"{metric.name} returned something that is not a number: {error}") from error


def quote(sample: Sample) -> str:
    """A sample in an error message, shortened."""
    text = sample.hypothesis if len(sample.hypothesis) <= 80 else sample.hypothesis[:77] + "..."
    return f"the sample {sample.id or sample.key[:12]} with hypothesis {text!r}"


def _name(metric: Metric | SetMetric, error: AuditError, samples: Sequence[Sample] = ()) -> AuditError:
    """The error with the name of the metric, and of the sample whose text cannot be read."""
    if isinstance(error, TextError):
        return MetricError(f"{metric.name}: {_locate(samples, error.text)}{error}") if samples else error
    nameless = isinstance(error, MetricError) and metric.name not in str(error)
    return type(error)(f"{metric.name}: {error}") if nameless else error


def _locate(samples: Sequence[Sample], text: str) -> str:
    """Which sample holds a text that cannot be read; empty if the metric changed the text."""
    for sample in samples:
        if any(text in part for part in (sample.hypothesis, *sample.references, sample.source or "")):
            return f"in the sample {sample.id or sample.key[:12]}, "
    return ""


class _Expired(BaseException):
    """The alarm; no Exception, which a metric may well catch and go on."""


@contextmanager
def _deadline(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds; what the metric prints goes to stderr.

    An alarm reaches Python between two of its steps, and in the main thread only: a call that never comes
    back from C, and a server's thread, are not interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if seconds is None:
        with redirect_stdout(sys.stderr):
            yield
        return

    is_armed = True

    def expire(number: int, frame: FrameType | None) -> None:
        if is_armed:
            raise _Expired

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again and again: a bare except may take one
    try:
        with redirect_stdout(sys.stderr):
            yield
    except _Expired as error:
        raise TimeoutError(f"no answer within {seconds:g} s (--timeout)") from error
    finally:
        is_armed = False
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


def resident_bytes() -> int:
    """Bytes that this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
