"""How one run is carried out: cache, engine, progress, timings, and what LLM judges may spend."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.core import Sample
from assay.engine.cache import ScoreCache
from assay.engine.workers.batch import Batch, quote
from assay.engine.workers.local import LocalEngine
from assay.engine.workers.ray import RayEngine
from assay.errors import MetricError, SpecError, Stopped, harmless
from assay.models.budget import Budget, spending
from assay.models.weights import cache_folder
from assay.vocabulary import OnError

# In a log there is one line per tenth of the work, and one after half a minute without any.
_EVERY = 30.0  # seconds
_QUIET = 5.0  # seconds at the beginning: short work needs no lines
_REDRAW = 0.1  # seconds between two states of the line on a terminal


@dataclass
class Counter:
    """How far a piece of work is: few lines in a log, or one line of a terminal that is written anew."""

    label: str
    total: int
    quiet: bool
    on_terminal: bool
    done: int = 0
    work: float = 0.0
    began: float = field(default_factory=time.monotonic)
    printed: float = field(default_factory=time.monotonic)
    tenth: int = 0

    def advance(self, count: int, work: float | None = None) -> None:
        """So many more are done; `work` is their part of the whole, if not all are alike."""
        self.done += count
        self.work += count / self.total if work is None else work
        now, share = time.monotonic(), min(1.0, max(self.work, 1e-9))
        seconds, tenth, since = now - self.began, int(10 * share + 1e-6), now - self.printed
        is_due = (tenth > self.tenth and seconds >= _QUIET) or since >= _EVERY
        if not self.quiet and (is_due or (self.on_terminal and since >= _REDRAW)):
            self.printed, self.tenth = now, tenth
            left = f"{share:.0%} of the work, {seconds * (1 / share - 1):,.0f} s left"
            line = f"{self.label}: {self.done:,} of {self.total:,} ({left})"
            if self.on_terminal:  # the bar steers the terminal; the rest of the line must not
                bar = f"\r{'━' * round(20 * share):20} {harmless(line)}\x1b[K"
                print(bar, end="", file=sys.__stderr__, flush=True)
            else:
                print(line, file=sys.stderr, flush=True)


@dataclass
class Progress:
    """Prints how far long work is, unless quiet."""

    quiet: bool = False

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Counter]:
        """A piece of work of known size. Remaining time goes by work: the longest texts are read first."""
        counter = Counter(label, total, self.quiet, sys.stderr.isatty())
        try:
            yield counter
        finally:
            if counter.on_terminal and not self.quiet:
                print("\r\x1b[K", end="", file=sys.__stderr__, flush=True)

    def say(self, message: str) -> None:
        """One line to stderr."""
        if not self.quiet:
            print(message, file=sys.stderr, flush=True)


@dataclass
class Session:
    """Settings and counters of one run; nothing here can change a score.

        with Session.open(max_calls=500) as session:
            assay.run("judge-bias", ["judge"], session=session)

    Without a session, `assay.run` and the other functions open one with the defaults.
    """

    cache: ScoreCache = field(default_factory=lambda: ScoreCache(None))
    engine: LocalEngine | RayEngine = field(default_factory=LocalEngine)
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    on_error: OnError = "stop"
    out: Path | None = None  # the run's folder
    any_language: bool = False  # scores texts in languages that a metric's model does not read
    seconds: dict[str, float] = field(default_factory=dict)  # scoring time per metric, loading apart
    phases: dict[str, float] = field(default_factory=dict)  # seconds of everything but scoring
    computed: Tally[str] = field(default_factory=Tally)  # samples per metric that the cache did not have
    failures: list[str] = field(default_factory=list)  # samples on which a metric raised, with its message
    bill: Budget = field(default_factory=Budget)  # what LLM judges may spend, and have spent
    on_first: Callable[[Any], None] | None = None  # is shown a run of the quick metrics while others score
    _open: list[ExitStack] = field(default_factory=list, repr=False)

    @classmethod
    def open(
        cls,
        out: Path | str | None = None,
        cache: Path | str | None = "",
        *,
        workers: int | None = None,
        ray: str | None = None,
        on_error: OnError = "stop",
        quiet: bool = True,
        timeout: float | None = None,
        max_calls: int | None = None,
        max_cost: float | None = None,
        any_language: bool = False,
    ) -> Session:
        """A session from a user's options; `cache=None` keeps scores in memory, by default they go to disk.

        `timeout` is the number of seconds one call of a metric may take. With `any_language` a metric scores
        texts in languages that its model does not read, and every result says so.
        """
        if (max_calls is not None or max_cost is not None) and ((workers or 1) > 1 or ray):
            raise SpecError("a budget is kept in one process: leave out --workers and --ray, or the limits")
        if workers is not None and workers < 1:
            raise MetricError(f"--workers {workers}: at least one is needed")
        engine = RayEngine(ray, workers, timeout) if ray else LocalEngine(workers or 1, timeout)
        folder = cache_folder() if cache == "" else None if cache is None else Path(cache)
        return cls(
            ScoreCache(folder), engine, Progress(quiet), on_error, None if out is None else Path(out),
            any_language=any_language, bill=Budget(max_calls, max_cost),
        )  # fmt: skip

    def __enter__(self) -> Session:
        """Open the cache and begin new counts; a session that is open already stays as it is."""
        stack = ExitStack()
        if not self._open:
            stack.callback(self.cache.close)
            if threading.current_thread() is threading.main_thread():
                stack.enter_context(redirect_stdout(sys.stderr))  # Ray and other libraries print from threads
            self.bill = Budget(self.bill.max_calls, self.bill.max_cost, keeps=self.cache.keeps)
            stack.enter_context(spending(self.bill))
            self.seconds, self.computed, self.failures = {}, Tally(), []
        self._open.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Stopped):
            error.kept = self.cache.keeps
        stack = self._open.pop()
        if not self._open and self.bill.calls:
            self.progress.say(self.bill.sentence())
        stack.close()

    def note_failures(self, label: str, samples: Sequence[Sample], batch: Batch) -> None:
        """Remember on which samples a metric failed, and how."""
        self.failures += [f"{label}: {quote(samples[at])}: {message}" for at, message in batch.failures]

    @property
    def loading(self) -> float:
        """Seconds in which models were loaded."""
        return self.phases.get("loading", 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of what happens inside to this phase of the run."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - began

    def spent(self, label: str, began: float) -> None:
        """Add the time since `began` to a metric's scoring time."""
        self.seconds[label] = self.seconds.get(label, 0.0) + time.perf_counter() - began
