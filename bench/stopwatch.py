"""Where the time goes: each moment counts for the innermost of the regions it lies in."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class Stopwatch:
    """Seconds per region, exclusive of the regions within it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open = ["other"]
        self._since = time.perf_counter()

    def _turn(self) -> None:
        now = time.perf_counter()
        self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Count what happens within for `name`."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def timed(self, function: Callable[..., Any], name: str | Callable[..., str]) -> Callable[..., Any]:
        """The function, timed; its region may depend on its arguments."""

        @wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            with self.region(name if isinstance(name, str) else name(*given)):
                return function(*given, **named)

        return timed

    def watch(self, owner: Any, attribute: str, name: str | Callable[..., str]) -> None:
        """Replace a function by its timed form."""
        setattr(owner, attribute, self.timed(getattr(owner, attribute), name))

    def stop(self) -> dict[str, float]:
        """All regions so far."""
        self._turn()
        return dict(self.seconds)
