"""A limit on one call of a metric, so that one that hangs ends as an error and not as a night lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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
