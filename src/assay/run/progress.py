"""Progress for people: bars with rate and remaining time on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

_EVERY = 5.0  # seconds between plain lines


class Counter(Protocol):
    """What a piece of work reports to."""

    def advance(self, count: int, work: float | None = None) -> None:
        """So many more are done; `work` is their part of the whole, where they are not all alike."""


@dataclass
class Progress:
    """Says how far long work is; silent when told so."""

    quiet: bool = False

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Counter]:
        """A piece of work of known size. Time left is told by work: the longest texts are read first."""
        if self.quiet or not total:
            yield _Silent()
        elif sys.stderr.isatty():
            with _bars() as bars:
                yield _Bar(bars, bars.add_task(label, total=1.0, counts=f"0/{total:,}"), total)
        else:
            yield _Lines(label, total)

    def say(self, message: str) -> None:
        """One line to stderr."""
        if not self.quiet:
            print(message, file=sys.stderr, flush=True)


def _bars() -> RichProgress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
    )
    return RichProgress(*columns, console=Console(stderr=True), transient=True)


class _Silent:
    def advance(self, count: int, work: float | None = None) -> None:
        """Say nothing."""


@dataclass
class _Bar:
    bars: RichProgress
    number: TaskID
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def advance(self, count: int, work: float | None = None) -> None:
        """Move the bar and its counts."""
        self.done += count
        rate = self.done / max(1e-9, time.monotonic() - self.began)
        told = f"{self.done:,}/{self.total:,} {rate:,.0f}/s"
        self.bars.update(self.number, advance=count / self.total if work is None else work, counts=told)


@dataclass
class _Lines:
    label: str
    total: int
    done: int = 0
    work: float = 0.0
    began: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)

    def advance(self, count: int, work: float | None = None) -> None:
        """A line every few seconds."""
        self.done += count
        self.work += count / self.total if work is None else work
        now = time.monotonic()
        if now - self.said >= _EVERY:
            self.said = now
            rate = self.done / (now - self.began)
            left = (now - self.began) * max(0.0, 1.0 / self.work - 1.0) if self.work else 0.0
            line = f"{self.label}: {self.done:,} of {self.total:,} ({rate:,.0f}/s, {left:,.0f} s left)"
            print(line, file=sys.stderr, flush=True)
