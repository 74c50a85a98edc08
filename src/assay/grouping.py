"""Grouping by a key, in order of first appearance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

_Element = TypeVar("_Element")
_Key = TypeVar("_Key")


def grouped(elements: Iterable[_Element], key: Callable[[_Element], _Key]) -> dict[_Key, list[_Element]]:
    """Elements by a key, both in order of appearance.

    >>> grouped("ab Ac b".split(), lambda word: word[0].lower())
    {'a': ['ab', 'Ac'], 'b': ['b']}
    """
    groups: dict[_Key, list[_Element]] = {}
    for element in elements:
        groups.setdefault(key(element), []).append(element)
    return groups


def rows_by_label(labels: Sequence[_Key]) -> dict[_Key, list[int]]:
    """The rows of each label.

    >>> rows_by_label(["a", "b", "a"])
    {'a': [0, 2], 'b': [1]}
    """
    return grouped(range(len(labels)), lambda row: labels[row])


def repeated(values: Iterable[_Key]) -> list[_Key]:
    """Each value that is there more than once, in the order of their first places.

    >>> repeated("abracad")
    ['a']
    """
    return [value for value, count in Counter(values).items() if count > 1]
