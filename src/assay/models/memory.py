"""A cache of bounded size, safe to share between threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

_T = TypeVar("_T")


class BoundedCache(Generic[_T]):
    """Values by key, up to a total size; the least recently used are dropped first."""

    def __init__(self, budget: int) -> None:
        self._budget, self._size = budget, 0
        # A plain dict would walk over everything it has dropped to find its oldest entry.
        self._entries: OrderedDict[Hashable, tuple[int, _T]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> _T | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:  # noqa: SIM105  (suppress would take longer than the look-up)
            self._entries.move_to_end(key)
        except KeyError:  # dropped by another thread meanwhile
            pass
        return entry[1]

    def put(self, key: Hashable, value: _T, size: int = 1) -> None:
        """Keep a value of that size; the newest entry stays even if it is larger than the budget."""
        with self._lock:
            if key not in self._entries:
                self._entries[key] = (size, value)
                self._size += size
            while self._size > self._budget and len(self._entries) > 1:
                self._size -= self._entries.popitem(last=False)[1][0]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._size = 0
