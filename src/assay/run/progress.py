"""Progress for people: bars with rate and remaining time on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, TaskID, TimeRemainingColumn
from rich.progress import Progress as RichProgress

_EVERY = 5.0  # seconds between plain lines


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
            with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
                yield _Bar(bars, bars.add_task(label, total=1.0, counts=f"0/{total:,}"), total)
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

    def advance(self, count: int, work: float | None = None) -> None:
        self.done += count
        self.work += count / self.total if work is None else work
        now = time.monotonic()
        if now - self.printed >= _EVERY:
            self.printed = now
            rate = self.done / (now - self.began)
            left = (now - self.began) * max(0.0, 1.0 / self.work - 1.0) if self.work else 0.0
            line = f"{self.label}: {self.done:,} of {self.total:,} ({rate:,.0f}/s, {left:,.0f} s left)"
            print(line, file=sys.stderr, flush=True)
