"""What judges may cost and did cost: calls, tokens, money. Run settings, never fields of a metric.

A judge whose answers cannot be read is not asked, and paid, any longer.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Condition, Lock

from assay.errors import BudgetError, MetricError

_MILLION = 1_000_000
PRICE = "ASSAY_JUDGE_PRICE"
# A judge is given up when 20 of its last 40 answers cannot be read: the first 20 of one that never names a
# grade, and 20 after a judge changed its scale. One that is unreadable now and then (10%) never comes near.
UNREAD, _LATEST = 20, 40
_QUOTED = 60  # characters of an answer that cannot be read


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens read and written, in whatever currency the user pays."""

    read: float = 0.0
    written: float = 0.0
    known: bool = True  # False for a server whose price the user has not set

    def of(self, read: int, written: int) -> float:
        return (read * self.read + written * self.written) / _MILLION


class Watch:
    """Whether the answers of one judge can be read, and how many questions may be under way at once."""

    def __init__(self, what: str) -> None:
        self.example: str | None = None  # the first answer that could not be read
        self._what = what  # is wrong with such an answer, and what may help
        self._latest: deque[bool] = deque(maxlen=_LATEST)  # whether each could be read
        self._asked = self._under_way = 0
        self._turn = Condition()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Wait until one more question can do no harm; raise MetricError where the judge is given up."""
        with self._turn:
            self._turn.wait_for(lambda: self._unread >= UNREAD or self._has_room)
            if self._unread >= UNREAD:
                raise MetricError(self._refusal())
            self._under_way += 1
            self._asked += 1
        try:
            yield
        finally:
            with self._turn:
                self._under_way -= 1
                self._turn.notify_all()

    def note(self, answer: str | None, *, can_be_read: bool) -> None:
        """Note an answer; the first that cannot be read is kept for the message."""
        with self._turn:
            self._latest.append(can_be_read)
            if not can_be_read and answer is not None and self.example is None:
                self.example = answer if len(answer) <= _QUOTED else f"{answer[:_QUOTED]}..."

    @property
    def _unread(self) -> int:
        return len(self._latest) - sum(self._latest)

    @property
    def _has_room(self) -> bool:
        """The first question goes alone: it shows what the server takes. At most 20 bad answers are paid."""
        if not self._latest:
            return self._under_way == 0
        return self._unread == 0 or self._unread + self._under_way < UNREAD

    def _refusal(self) -> str:
        example = "" if self.example is None else f", such as {self.example!r}"
        return (
            f"{self._unread} of its last {len(self._latest)} answers {self._what.format(example=example)}; "
            f"{self._asked} questions were asked, and nothing more is paid for"
        )


@dataclass(slots=True)
class Budget:
    """Limits on calls and cost, and what was spent; refuses the call that would exceed a limit."""

    max_calls: int | None = None
    max_cost: float | None = None
    calls: int = 0
    retries: int = 0
    read: int = 0
    written: int = 0
    cost: float = 0.0
    keeps: bool = True  # whether answers go into a cache
    priced: bool = True  # whether the price of every call is known
    estimated: int = 0  # calls whose server reported no tokens
    guessed: int = 0  # tokens that we expected the calls so far to read
    watches: dict[str, Watch] = field(default_factory=dict)  # by signature
    _pending: float = 0.0  # of calls under way
    _lock: Lock = field(default_factory=Lock)

    def reserve(self, price: Price, read: int, written: int) -> float:
        """Reserve the estimated cost of a call and return it; raises BudgetError at a limit."""
        reserved = price.of(read, written)
        with self._lock:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise BudgetError(self._refusal(f"--max-calls {self.max_calls}"))
            if self.max_cost is not None and self.cost + self._pending + reserved > self.max_cost:
                raise BudgetError(self._refusal(f"--max-cost {self.max_cost:g}"))
            self.calls += 1
            self.guessed += read
            self.priced &= price.known
            self._pending += reserved
        return reserved

    def _refusal(self, limit: str) -> str:
        lost = "the answers so far are lost, because there is no cache (--cache none)"
        state = "the answers of finished batches are in the cache" if self.keeps else lost
        return (
            f"the next question to the judge would pass {limit} ({self.calls} asked, {self._cost()}); "
            f"{state}: raise the limit, lower --limit, or judge what there is with --on-error skip"
        )

    def book(
        self, price: Price, reserved: float, read: int, written: int, *, estimated: bool = False
    ) -> None:
        """Book a finished call: tokens reported by the server, or our estimate."""
        with self._lock:
            self._pending -= reserved
            self.estimated += estimated
            self.read += read
            self.written += written
            self.cost += price.of(read, written)

    @property
    def state(self) -> tuple[int, int, int, int]:
        """Calls, tokens expected to be read, tokens read and written, so far."""
        with self._lock:
            return self.calls, self.guessed, self.read, self.written

    def watch(self, signature: str, what: str) -> Watch:
        """The watch over one judge's answers; `what` says what is wrong with one that cannot be read."""
        with self._lock:
            return self.watches.setdefault(signature, Watch(what))

    def retried(self) -> None:
        with self._lock:
            self.retries += 1

    def summary(self) -> dict[str, float | None]:
        """Return the spending for run.json, empty where no judge was asked; an unknown cost is null."""
        if not self.calls:
            return {}
        names = ("calls", "retries", "read", "written")
        return {**{name: getattr(self, name) for name in names}, "cost": self.cost if self.priced else None}

    def sentence(self) -> str:
        guess = f" (estimated for {self.estimated:,} questions)" if self.estimated else ""
        return (
            f"judges: {self.calls:,} questions ({self.retries} asked again), {self.read:,} tokens read, "
            f"{self.written:,} written{guess}, {self._cost()}"
        )

    def _cost(self) -> str:
        return f"cost {self.cost:.4f}" if self.priced else f"cost unknown (no {PRICE})"


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)
_UNLIMITED = Budget()


def current_budget() -> Budget:
    """Return the budget that judges spend from now; without one there are no limits."""
    return _CURRENT.get() or _UNLIMITED


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Let judges spend from this budget inside the block."""
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def price() -> Price:
    """Return the price that `ASSAY_JUDGE_PRICE=READ,WRITTEN` sets per million tokens; --max-cost needs it."""
    text = os.environ.get(PRICE)
    if text is None:
        if current_budget().max_cost is not None:
            raise BudgetError(
                f"--max-cost needs to know what a token costs; set {PRICE}=READ,WRITTEN "
                f"(money per million tokens read and written, such as 0.15,0.60)"
            )
        return Price(known=False)
    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError as error:
        raise BudgetError(f"{PRICE}={text!r} is not two numbers; write 0.15,0.60") from error
    if not (read >= 0 and written >= 0):
        raise BudgetError(f"{PRICE}={text!r}: a price cannot be negative")
    return Price(read, written)
