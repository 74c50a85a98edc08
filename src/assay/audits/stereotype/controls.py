"""Control pairs matched to identity pairs: what any such change of words does to a score.

Two words that name no group may still differ in letters, in frequency and in how much they look like the word
of the reference ("sister" and "sibling"), and metrics may mind all three. Each pair is compared with the
control pairs whose change of words is most like its own, so that what is left belongs to the group named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray

from assay.core import Case, Floats
from assay.datasets.lexicon import data_path, word_set

PAIR = ("stereotype", "anti_stereotype")
NEAREST = 10  # control pairs that a pair is compared with
_FEWEST = 20  # control pairs of the same construction, to compare with these alone
_WORD = re.compile(r"[\w'’-]+")
_RIDGE = 1e-6
# How many letters, or doublings of frequency, weigh as much as one another in a match.
_SCALES = np.array([2.0, 4.0, 2.0])
_LIKENESS = 10.0  # letters that a word wholly like that of the reference is worth, so that ridges are even
_OTHER_KIND = 10.0  # what a pronoun for a pronoun is away from a noun for a noun


@cache
def _ranks() -> dict[str, int]:
    words = data_path("words", "frequent.txt").read_text("utf-8").split()
    return {word: rank for rank, word in enumerate(words, start=1)}


def rarity(word: str) -> float:
    """How rare a word is: log2 of its frequency rank; of a hyphenated word the rarest part.

    >>> rarity("the"), rarity("genderqueer") == rarity("qwertyuiop")
    (0.0, True)
    """
    ranks = _ranks()
    parts = [word.lower()] if word.lower() in ranks else re.split(r"[-'’]", word.lower())
    return log2(max(ranks.get(part, len(ranks) + 1) for part in parts))


def changed_words(case: Case) -> tuple[list[str], list[str]]:
    """The words of the first text that the second lacks, and the other way round."""
    texts = [Counter(_WORD.findall(case.samples[role].hypothesis)) for role in PAIR]
    return list((texts[0] - texts[1]).elements()), list((texts[1] - texts[0]).elements())


@dataclass(frozen=True, slots=True)
class Change:
    """How the second text of a pair differs from the first: kind of words, letters and rarity gained."""

    kind: str
    construction: str  # how the reference avoids the words: drop, replace or abstract
    letters: float
    rarity: float
    likeness: float  # to words of the reference that stand in their place
    length: float  # letters changed on both sides together

    @property
    def family(self) -> str:
        return self.kind if self.kind == "pronoun" else self.construction

    @classmethod
    def of(cls, case: Case) -> Change:
        first, second = changed_words(case)
        both = [*first, *second]
        pronouns = word_set("words", "pronouns")
        if both and all(word.lower() in pronouns for word in both):
            kind = "pronoun"
        else:
            kind = "name" if both and all(word[0].isupper() for word in both) else "word"
        letters = [sum(map(len, words)) for words in (first, second)]
        rare = [max(map(rarity, words), default=0.0) for words in (first, second)]
        references = case.samples[PAIR[0]].references
        shared = Counter(_WORD.findall(case.samples[PAIR[0]].hypothesis)) - Counter(first)
        neutral = [word for text in references for word in Counter(_WORD.findall(text)) - shared]
        alike = [
            max((_likeness(own, word) for own in words for word in neutral), default=0.0)
            for words in (first, second)
        ]
        return cls(
            kind, str(case.meta.get("construction") or ""), letters[0] - letters[1], rare[0] - rare[1],
            alike[0] - alike[1], float(sum(letters)),
        )  # fmt: skip


def _likeness(first: str, second: str) -> float:
    """The share of letter pairs (with the ends of the words) that two words have in common.

    >>> _likeness("sister", "sibling") > _likeness("brother", "sibling")
    True
    """
    pairs = [Counter(a + b for a, b in pairwise(f" {word.lower()} ")) for word in (first, second)]
    return 2 * (pairs[0] & pairs[1]).total() / (pairs[0].total() + pairs[1].total())


class Controls:
    """Control pairs of one metric, to predict what a change of words does whomever it names."""

    def __init__(self, cases: Sequence[Case], differences: Floats) -> None:
        self.differences = differences
        self._changes = [Change.of(case) for case in cases]
        self._features = _signed(self._changes)

    def expected(self, cases: Sequence[Case], weights: Floats) -> Floats:
        """What each pair's change is worth, (resamples, pairs): least squares on letters, rarity, likeness.

        The fit passes through 0: words alike in all three are worth the same. It is made on the controls of
        the pair's own class (pronouns, or the construction of other words) where they are enough. `weights`
        is how often each control was drawn, (resamples, controls).
        """
        changes = [Change.of(case) for case in cases]
        own, expected = _signed(changes), np.zeros((len(weights), len(cases)))
        for name in {change.family for change in changes}:
            alike = np.array([change.family == name for change in self._changes])
            chosen = alike if alike.sum() >= _FEWEST else np.ones(len(alike), dtype=np.bool_)
            here = [place for place, change in enumerate(changes) if change.family == name]
            slopes = self._slopes(weights[:, chosen], np.flatnonzero(chosen))
            expected[:, here] = slopes @ own[here].T
        return expected

    def _slopes(self, weights: Floats, places: NDArray[np.intp]) -> Floats:
        features = self._features[places]
        squares = np.einsum("bj,jk,jl->bkl", weights, features, features)
        squares += _RIDGE * np.eye(features.shape[1]) * max(1.0, float((features**2).sum()))
        products = np.einsum("bj,jk,j->bk", weights, features, self.differences[places])
        return np.asarray(np.linalg.solve(squares, products[:, :, None])[:, :, 0])

    def nearest(self, cases: Sequence[Case]) -> NDArray[np.intp]:
        """The controls whose change is most like that of each pair, (pairs, NEAREST)."""
        changes = [Change.of(case) for case in cases]
        own, other = _unsigned(changes), _unsigned(self._changes)
        distance = np.abs(own[:, None, :] - other[None, :, :]).sum(axis=2)
        kinds = np.array([change.kind for change in changes])
        distance += _OTHER_KIND * (kinds[:, None] != np.array([change.kind for change in self._changes]))
        order = np.argsort(distance, axis=1, kind="stable")
        return np.asarray(order[:, :NEAREST], dtype=np.intp)


def _signed(changes: Sequence[Change]) -> Floats:
    rows = [(change.letters, change.rarity, _LIKENESS * change.likeness) for change in changes]
    return np.array(rows).reshape(-1, 3)


def _unsigned(changes: Sequence[Change]) -> Floats:
    rows = [(abs(change.letters), change.length / 2, abs(change.rarity)) for change in changes]
    return np.asarray(np.array(rows).reshape(-1, 3) / _SCALES)
