"""What judges may cost and did cost: calls, tokens, money. Run settings, never fields of a metric."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

from assay.errors import BudgetError

_MILLION = 1_000_000
PRICE = "ASSAY_JUDGE_PRICE"


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens read and written, in whatever currency the user pays."""

    read: float = 0.0
    written: float = 0.0
    known: bool = True  # False for a server whose price the user has not set

    def of(self, read: int, written: int) -> float:
        return (read * self.read + written * self.written) / _MILLION


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
    unread: dict[str, str] = field(default_factory=dict)  # signature to its first answer that names no grade
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
