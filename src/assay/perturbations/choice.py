"""Which targets of a text a template changes: a share of them, at least one, by the item's generator."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import TypeVar

T = TypeVar("T")


def drawn(targets: Sequence[T], share: float, rng: Random) -> list[T]:
    """A share of the targets, rounded up, in their order."""
    wanted = ceil(share * len(targets))
    kept = sorted(rng.sample(range(len(targets)), min(wanted, len(targets))))
    return [targets[index] for index in kept]


def shuffled(things: Sequence[T], rng: Random) -> list[T] | None:
    """The things in another order; None where there is none."""
    if len(set(things)) < 2:
        return None
    order = list(things)
    while order == list(things):
        rng.shuffle(order)
    return order
