"""How one run is carried out: cache, engine, progress, timings, and what LLM judges may spend."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from assay.errors import MetricError, SpecError, Stopped, harmless
from assay.models.budget import Budget, spending
from assay.models.weights import cache_folder
from assay.run.cache import ScoreCache
from assay.run.engine import Engine
from assay.run.engine.local import LocalEngine
from assay.run.engine.ray import RayEngine
from assay.vocabulary import OnError

# In a log there is one line per tenth of the work, and one after half a minute without any.
_EVERY = 30.0  # seconds
_QUIET = 5.0  # seconds at the beginning: short work needs no lines


class Counter:
    """What a piece of work reports to; this one prints nothing."""

    def advance(self, count: int, work: float | None = None) -> None:
        """So many more are done; `work` is their part of the whole, if not all are alike."""


@dataclass
class Progress:
    """Prints how far long work is, unless quiet."""

    quiet: bool = False

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Counter]:
        """A piece of work of known size. Remaining time goes by work: the longest texts are read first."""
        if self.quiet or not total:
            yield Counter()
        elif sys.stderr.isatty():
            columns = ("{task.description}", BarColumn(), "{task.fields[counts]}", TimeRemainingColumn())
            console = Console(file=sys.__stderr__)  # bars steer the terminal; their labels must not
            with RichProgress(*columns, console=console, transient=True) as bars:
                name = escape(harmless(label))
                yield _Bar(bars, bars.add_task(name, total=1.0, counts=f"0/{total:,}"), total)
        else:
            yield _Lines(label, total)

    def say(self, message: str) -> None:
        """One line to stderr."""
        if not self.quiet:
            print(message, file=sys.stderr, flush=True)


@dataclass
class _Bar(Counter):
    bars: RichProgress
    number: TaskID
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def advance(self, count: int, work: float | None = None) -> None:
        self.done += count
        rate = self.done / max(1e-9, time.monotonic() - self.began)
        counts = f"{self.done:,}/{self.total:,} {rate:,.0f}/s"
        self.bars.update(self.number, advance=count / self.total if work is None else work, counts=counts)


@dataclass
class _Lines(Counter):
    label: str
    total: int
    done: int = 0
    work: float = 0.0
    began: float = field(default_factory=time.monotonic)
    printed: float = field(default_factory=time.monotonic)
    tenth: int = 0

    def advance(self, count: int, work: float | None = None) -> None:
        self.done += count
        self.work += count / self.total if work is None else work
        now, share = time.monotonic(), min(1.0, max(self.work, 1e-9))
        seconds, tenth = now - self.began, int(10 * share + 1e-6)
        if (tenth > self.tenth and seconds >= _QUIET) or now - self.printed >= _EVERY:
            self.printed, self.tenth = now, tenth
            left = f"{share:.0%} of the work, {seconds * (1 / share - 1):,.0f} s left"
            print(f"{self.label}: {self.done:,} of {self.total:,} ({left})", file=sys.stderr, flush=True)


@dataclass
class Session:
    """Settings and counters of one run; nothing here can change a score.

        with Session.open(max_calls=500) as session:
            assay.run("judge-bias", ["judge"], session=session)

    Without a session, `assay.run` and the other functions open one with the defaults.
    """

    cache: ScoreCache = field(default_factory=lambda: ScoreCache(None))
    engine: Engine = field(default_factory=LocalEngine)
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))
    on_error: OnError = "stop"
    out: Path | None = None  # the run's folder
    max_calls: int | None = None  # calls to LLM judges
    max_cost: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # scoring time per metric, loading apart
    loading: float = 0.0
    computed: dict[str, int] = field(default_factory=dict)  # samples per metric that the cache did not have
    failures: list[str] = field(default_factory=list)  # samples on which a metric raised, with its message
    bill: Budget = field(default_factory=Budget)  # what LLM judges may spend, and have spent
    _open: list[ExitStack] = field(default_factory=list, repr=False)

    @classmethod
    def open(
        cls,
        out: Path | str | None = None,
        cache: Path | str | None = "",
        *,
        workers: int = 1,
        ray: str | None = None,
        on_error: OnError = "stop",
        quiet: bool = True,
        timeout: float | None = None,
        max_calls: int | None = None,
        max_cost: float | None = None,
    ) -> Session:
        """A session from a user's options; `cache=None` keeps scores in memory, by default they go to disk.

        `timeout` is the number of seconds one call of a metric may take.
        """
        if (max_calls is not None or max_cost is not None) and (workers > 1 or ray):
            raise SpecError("a budget is kept in one process: leave out --workers and --ray, or the limits")
        if workers < 1:
            raise MetricError(f"--workers {workers}: at least one is needed")
        engine = RayEngine(ray, workers, timeout) if ray else LocalEngine(workers, timeout)
        folder = cache_folder() if cache == "" else None if cache is None else Path(cache)
        return cls(
            ScoreCache(folder), engine, Progress(quiet), on_error, None if out is None else Path(out),
            max_calls, max_cost,
        )  # fmt: skip

    def __enter__(self) -> Session:
        """Open the cache and begin new counts; a session that is open already stays as it is."""
        stack = ExitStack()
        if not self._open:
            self.cache.reopen()
            stack.callback(self.cache.close)
            if threading.current_thread() is threading.main_thread():
                stack.enter_context(redirect_stdout(sys.stderr))  # Ray and other libraries print from threads
            self.bill = Budget(self.max_calls, self.max_cost, keeps=self.cache.path is not None)
            stack.enter_context(spending(self.bill))
            self.seconds, self.loading, self.computed, self.failures = {}, 0.0, {}, []
        self._open.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Stopped):
            error.kept = self.cache.path is not None
        stack = self._open.pop()
        if not self._open and self.bill.calls:
            self.progress.say(self.bill.sentence())
        stack.close()

    def note_failures(self, label: str, failures: Iterable[tuple[str, str]]) -> None:
        """Remember on what a metric failed, and how."""
        self.failures += [f"{label}: {where}: {message}" for where, message in failures]

    def spent(self, label: str, began: float) -> None:
        """Add the time since `began` to a metric's scoring time."""
        self.seconds[label] = self.seconds.get(label, 0.0) + time.perf_counter() - began
