"""Shared by the noises: word lists, drawing, joining, case."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import TypeVar

from assay.nlp import Parse, parse_one
from assay.perturbations.surgery import keep_case

T = TypeVar("T")


@cache
def word_list(name: str, key: str = "words") -> frozenset[str]:
    """A list of the embedded word data, by file and key."""
    text = (files("assay.data") / "words" / f"{name}.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)[key])


def share(count: int, level: float) -> int:
    """How many of `count` a level stands for, rounded up as in the release of *blind*."""
    return math.ceil(count * level - 1e-9)


def chosen(items: Sequence[T], level: float, rng: Random) -> list[T]:
    """Each item with the probability `level`; all of them at 1."""
    return [item for item in items if rng.random() < level or level >= 1]


def rewritten(parsed: Parse, changes: Mapping[int, str]) -> str:
    """The text with words replaced or dropped; sentences keep their capital, and loud text stays loud."""
    words: list[str | None] = [changes.get(i, token.text) for i, token in enumerate(parsed.tokens)]
    keep_case(parsed, words)
    return parsed.replaced({i: word or "" for i, word in enumerate(words)})


def without(parsed: Parse, dropped: Iterable[int]) -> str:
    """The text less some of its tokens, spaces mended."""
    return " ".join(rewritten(parsed, dict.fromkeys(dropped, "")).split())


def spliced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with stretches (start, end, in order) replaced."""
    out, at = [], 0
    for start, end, new in changes:
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [piece for piece in parse_one(text).sentence_texts() if piece]


def switch_pairs(items: list[T], count: int, rng: Random) -> list[T] | None:
    """Switch `count` random pairs in turn, never the same pair twice running; None where two or fewer."""
    if len(items) <= 2:
        return None
    moved, last = list(items), (-1, -1)
    for _ in range(count):
        pair = last
        while pair == last:
            first, second = sorted(rng.sample(range(len(moved)), 2))
            pair = (first, second)
        moved[pair[0]], moved[pair[1]] = moved[pair[1]], moved[pair[0]]
        last = pair
    return moved
