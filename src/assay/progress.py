"""Progress for people: bars with rate and remaining time on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

_EVERY = 5.0  # seconds between plain lines


class Counter(Protocol):
    """What a piece of work reports to."""

    def advance(self, count: int) -> None:
        """So many more are done."""


@dataclass
class Progress:
    """Says how far long work is; silent when told so."""

    quiet: bool = False

    @contextmanager
    def task(self, label: str, total: int) -> Iterator[Counter]:
        """A piece of work of known size."""
        if self.quiet or not total:
            yield _Silent()
        elif sys.stderr.isatty():
            with _bars() as bars:
                yield _Bar(bars, bars.add_task(label, total=total, rate="-"))
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
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}/s"),
        TimeRemainingColumn(),
    )
    return RichProgress(*columns, console=Console(stderr=True), transient=True)


class _Silent:
    def advance(self, count: int) -> None:
        """Say nothing."""


@dataclass
class _Bar:
    bars: RichProgress
    number: object

    def advance(self, count: int) -> None:
        """Move the bar and its rate."""
        task = next(task for task in self.bars.tasks if task.id == self.number)
        rate = f"{task.speed:,.0f}" if task.speed else "-"
        self.bars.update(task.id, advance=count, rate=rate)


@dataclass
class _Lines:
    label: str
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)

    def advance(self, count: int) -> None:
        """A line every few seconds."""
        self.done += count
        now = time.monotonic()
        if now - self.said >= _EVERY:
            self.said = now
            rate = self.done / (now - self.began)
            left = (self.total - self.done) / rate if rate else 0.0
            line = f"{self.label}: {self.done:,} of {self.total:,} ({rate:,.0f}/s, {left:,.0f} s left)"
            print(line, file=sys.stderr, flush=True)
