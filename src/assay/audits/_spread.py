"""A list to fewer of its items, spread over its length: files are often ordered by what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def spread_out(items: Sequence[Item], limit: int | None) -> list[Item]:
    """At most `limit` items at even distances.

    >>> spread_out(range(10), 4)
    [0, 2, 5, 7]
    """
    if limit is None or len(items) <= limit:
        return list(items)
    return [items[number * len(items) // limit] for number in range(limit)]
