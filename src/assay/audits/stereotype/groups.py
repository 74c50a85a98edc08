"""Whom a metric is unfair to: effects of groups and identity words in percent of the gap, beyond controls.

Two words that name no group may still differ in letters, in frequency and in how much they look like the word
of the reference ("sister" and "sibling"), and metrics may mind all three. Each pair is compared with the
control pairs whose change of words is most like its own, so that what is left belongs to the group named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from assay.audits.gap import RESAMPLES, Gap, gap_of, is_still, scale_of
from assay.audits.slices import FEWEST, PairScores
from assay.core import Case, Estimate, Finding, Floats
from assay.datasets.lexicon import data_path, word_set
from assay.datasets.pairs import construction_of
from assay.statistics.intervals import cluster_codes, draw_rows

PAIR = ("stereotype", "anti_stereotype")
NEAREST = 10  # control pairs that a pair is compared with
_SENTENCES = 5  # different sentences, below which an effect may be that of a sentence
_NAMED = 3  # counterparts of a group, above which they are "others"
_FEWEST = 20  # control pairs of the same construction, to compare with these alone
_WORD = re.compile(r"[\w'’-]+")
_PARTS = re.compile(r"[-'’ ]")
_CONTROL_RIDGE = 1e-6
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

    >>> rarity("the"), rarity("genderqueer") == rarity("qwertyuiop"), rarity("upper-class") == rarity("upper")
    (0.0, True, True)
    """
    return log2(max(_ranks().get(part, len(_ranks()) + 1) for part in _PARTS.split(word.lower())))


def is_known(phrase: str) -> bool:
    """Whether every word of a phrase is among the frequent ones; elsewhere `rarity` is only a lower bound."""
    return all(part in _ranks() for part in _PARTS.split(phrase.lower()) if part)


def changed_words(case: Case) -> tuple[list[str], list[str]]:
    """The words of the first text that the second lacks, and the other way round."""
    return _changed(*(case.samples[role].hypothesis for role in PAIR))


def _changed(text: str, other: str) -> tuple[list[str], list[str]]:
    texts = [Counter(_WORD.findall(each)) for each in (text, other)]
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
        return cls.between(
            *(case.samples[role].hypothesis for role in PAIR), case.samples[PAIR[0]].references
        )

    @classmethod
    @lru_cache(maxsize=50_000)  # every metric meets the same pairs
    def between(cls, text: str, other: str, references: tuple[str, ...]) -> Change:
        first, second = _changed(text, other)
        both = [*first, *second]
        pronouns = word_set("words", "pronouns")
        if both and all(word.lower() in pronouns for word in both):
            kind = "pronoun"
        else:
            kind = "name" if both and all(word[0].isupper() for word in both) else "word"
        letters = [sum(map(len, words)) for words in (first, second)]
        rare = [max(map(rarity, words), default=0.0) for words in (first, second)]
        construction = construction_of(text, other, references[0]) if references else ""
        shared = Counter(_WORD.findall(text)) - Counter(first)
        neutral = [word for reference in references for word in Counter(_WORD.findall(reference)) - shared]
        alike = [
            max((_likeness(own, word) for own in words for word in neutral), default=0.0)
            for words in (first, second)
        ]
        return cls(
            kind, construction, letters[0] - letters[1], rare[0] - rare[1],
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
        outer = features[:, :, None] * features[:, None, :]
        squares = (weights @ outer.reshape(len(features), -1)).reshape(-1, *outer.shape[1:])
        squares += _CONTROL_RIDGE * np.eye(features.shape[1]) * max(1.0, float((features**2).sum()))
        products = weights @ (features * self.differences[places, None])
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


_RIDGE = 1e-9
_FEWEST_WORDS = 8  # a population of words is not known from fewer: they are then taken as fixed


@dataclass(frozen=True, slots=True)
class Clusters:
    """One or two crossed ways in which rows were sampled; None means one cluster per row."""

    rows: Sequence[Hashable] | None = None
    crossed: Sequence[Hashable] | None = None


def clusters_of(cases: Sequence[Case]) -> Clusters:
    """Templates crossed with identity words; where one is nested in the other, the coarser alone.

    One cluster per pair where the data has neither.
    """
    templates = [case.meta.get("template", case.id) for case in cases]
    words = [(case.meta.get("identity"), case.meta.get("anti_identity")) for case in cases]
    if not all("identity" in case.meta for case in cases) or len(set(words)) < _FEWEST_WORDS:
        return Clusters(templates)
    both = set(zip(templates, words, strict=True))
    if len(both) == len(set(templates)):  # a template has one word: words hold whole templates
        return Clusters(words)
    return Clusters(templates) if len(both) == len(set(words)) else Clusters(templates, words)


@dataclass(frozen=True)
class Effects:
    """One metric's pairs of one attribute with their controls, ready to be resampled together."""

    pairs: PairScores
    controls: Controls
    seed: int

    @cached_property
    def differences(self) -> Floats:
        """Stereotype minus anti-stereotype."""
        return self.pairs.differences

    @cached_property
    def gaps(self) -> Floats:
        """Mean of both minus the worthless text; nan where unknown."""
        return (self.pairs.first + self.pairs.second) / 2 - self.pairs.worthless

    @cached_property
    def scale(self) -> float:
        return scale_of(self.pairs.first, self.pairs.second)

    def findings(self) -> Iterator[Finding]:
        """The attribute as a whole, then its groups and words."""
        known, cases = np.isfinite(self.gaps), self.pairs.cases
        if not known.any():
            return
        ways = clusters_of(cases)
        rows = cluster_codes(len(cases), ways.rows, ways.crossed)
        weights = draw_rows(rows, RESAMPLES, np.random.default_rng(self.seed))
        gap, n_clusters = self._gap(weights), min(size for _, size in rows)
        enough = len(cases) >= FEWEST
        yield self.pairs.finding("gap", Estimate(gap.value, int(known.sum())), judged=False)
        tied = float(np.mean(np.abs(self.differences) <= 1e-9 * self.scale))
        yield self.pairs.finding("ties", Estimate(tied, len(cases)), judged=False)
        adjusted = self.differences - self._expected
        draws = (weights * adjusted).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        value = float((self.differences - self._plain_expected).mean())
        still = is_still(self.differences, self.scale)
        estimate = gap.estimate(value, draws, len(cases), still=still, clusters=n_clusters)
        towards = self.differences * (1.0 if value >= 0 else -1.0)
        yield self.pairs.finding("stereotype_effect", estimate, towards, judged=enough)
        if self.controls.differences.size:
            yield self._excess(gap, weights, n_clusters, judged=enough)
        yield from self._families()

    def _gap(self, weights: Floats) -> Gap:
        return gap_of(self.gaps, weights, self.scale, np.arange(len(self.gaps)))

    @cached_property
    def _control_weights(self) -> Floats:
        rng = np.random.default_rng(self.seed + 1)
        return draw_rows(cluster_codes(self.controls.differences.size, None), RESAMPLES, rng)

    @cached_property
    def _expected(self) -> Floats:
        """What the words explain, whomever they name, (resamples, pairs)."""
        return self.controls.expected(self.pairs.cases, self._control_weights)

    @cached_property
    def _plain_expected(self) -> Floats:
        ones = np.ones((1, self.controls.differences.size))
        return np.asarray(self.controls.expected(self.pairs.cases, ones)[0])

    def _excess(self, gap: Gap, weights: Floats, n_clusters: int, *, judged: bool) -> Finding:
        """Each pair's distance minus the mean distance of its own nearest controls."""
        nearest = self.controls.nearest(self.pairs.cases)
        sizes, floor = np.abs(self.differences), np.abs(self.controls.differences)
        drawn = self._control_weights[:, nearest]  # (resamples, pairs, nearest)
        floors = (drawn * floor[nearest]).sum(axis=2) / np.maximum(drawn.sum(axis=2), 1)
        draws = (weights * (sizes - floors)).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        value = float((sizes - floor[nearest].mean(axis=1)).mean())
        clusters = min(n_clusters, floor.size)
        still = is_still(self.differences, self.scale)
        estimate = gap.estimate(value, draws, sizes.size, still=still, clusters=clusters)
        return self.pairs.finding("excess_bias", estimate, sizes, versus="controls", judged=judged)

    def _families(self) -> Iterator[Finding]:
        """Groups and words of the attribute; sentences are resampled, the words being what they are."""
        cases = self.pairs.cases
        members = {"group": _members(cases, "group", "anti_group"), "word": _words(cases)}
        rows = cluster_codes(len(cases), [case.meta.get("template", case.id) for case in cases])
        weights = draw_rows(rows, RESAMPLES, np.random.default_rng(self.seed))
        gap = self._gap(weights)
        adjusted = self.differences - self._expected
        columns, said = [], set[tuple[tuple[int, int], ...]]()
        for kind, sides in members.items():
            effects = _Sides(sides, self.differences - self._plain_expected, weights, adjusted)
            for name in effects.names:
                places = effects.rows(name)
                stands = tuple((place, sides[place].index(name)) for place in places)
                sentences = len(np.unique(rows[0][0][places]))
                if len(places) < FEWEST or sentences < _SENTENCES or (kind == "word" and stands in said):
                    continue  # the only word of a group would say the same again
                said.add(stands)
                columns.append((kind, name, places, sentences, *effects.of(name), effects.others(name)))
        if not columns:
            return
        estimates = gap.family(
            [column[4] for column in columns], np.stack([column[5] for column in columns], axis=1),
            [len(column[2]) for column in columns], clusters=[column[3] for column in columns],
            still=[is_still(self.differences[column[2]], self.scale) for column in columns],
        )  # fmt: skip
        for (kind, name, places, _, value, _, others), estimate in zip(columns, estimates, strict=True):
            sign, towards = 1.0 if value >= 0 else -1.0, np.zeros(len(cases))
            for place in places:
                own = 1.0 if members[kind][place][0] == name else -1.0
                towards[place] = sign * own * self.differences[place]
            matched = kind == "group" or self._has_known_rarity(members[kind], places)
            versus = ", ".join(others) if len(others) <= _NAMED else None
            yield self.pairs.finding(
                "group_effect", estimate, towards, part=f"/{kind}/{name}", versus=versus, judged=matched
            )

    def _has_known_rarity(self, sides: Sides, places: Sequence[int]) -> bool:
        """Whether controls can match the words in frequency: mostly both are listed, or neither is."""
        known = sum(is_known(sides[place][0]) == is_known(sides[place][1]) for place in places)
        return not self.controls.differences.size or 2 * known > len(places)


Sides = Sequence[tuple[str, str]]


def _members(cases: Sequence[Case], first: str, second: str) -> Sides:
    """The names on the two sides of each pair, empty where the data has none."""
    names = [[str(case.meta.get(side) or "").lower() for case in cases] for side in (first, second)]
    return list(zip(*names, strict=True))


def _words(cases: Sequence[Case]) -> Sides:
    """The identity words on the two sides, by the data or else by what differs between the texts."""
    named = _members(cases, "identity", "anti_identity")
    differing = (changed_words(case) for case in cases)
    return [
        given if all(given) else (" ".join(first).lower(), " ".join(second).lower())
        for given, (first, second) in zip(named, differing, strict=True)
    ]


class _Sides:
    """Effects of the names that stand on either side of pairs, by least squares.

    A pair's difference is the effect of one name minus that of the other. The effect of a name is counted
    from the median of the other names that it is compared with, each weighing as many pairs as it has, so
    that a penalty on one name does not look like a favour to all others; of two names only the difference is
    known.
    """

    def __init__(self, sides: Sides, differences: Floats, weights: Floats, adjusted: Floats) -> None:
        self.names = sorted({name for pair in sides for name in pair if name and pair[0] != pair[1]})
        self._sides = sides
        place = {name: number for number, name in enumerate(self.names)}
        design = np.zeros((len(sides), len(self.names)))
        for row, (first, second) in enumerate(sides):
            if first != second and first in place and second in place:
                design[row, place[first]], design[row, place[second]] = 1.0, -1.0
        self._place, self._design = place, design
        # Names are in one part where they are compared with each other, directly or by way of others.
        self._parts = connected_components(np.abs(design).T @ np.abs(design), directed=False)[1]
        self._values = self._solve(np.ones((1, len(sides))), differences[None, :])
        self._draws = self._solve(weights, adjusted)

    def _solve(self, weights: Floats, differences: Floats) -> Floats:
        if not self.names:
            return np.zeros((len(weights), 0))
        design = self._design
        squares = np.einsum("bi,ij,ik->bjk", weights, design, design, optimize=True)
        squares += _RIDGE * max(1.0, float(weights.sum(axis=1).mean())) * np.eye(len(self.names))
        products = (weights * differences) @ design
        return np.asarray(np.linalg.solve(squares, products[:, :, None])[:, :, 0])

    def rows(self, name: str) -> list[int]:
        return [row for row, pair in enumerate(self._sides) if name in pair and pair[0] != pair[1]]

    def of(self, name: str) -> tuple[float, Floats]:
        """The effect of a name, and its resamples."""
        return float(self._centred(self._values, name)[0]), self._centred(self._draws, name)

    def others(self, name: str) -> list[str]:
        """The names that a name is compared with, directly or by way of others."""
        part = self._parts[self._place[name]]
        return [other for other in self.names if other != name and self._parts[self._place[other]] == part]

    def _centred(self, effects: Floats, name: str) -> Floats:
        own, others = self._place[name], [self._place[other] for other in self.others(name)]
        weights = np.array([len(self.rows(self.names[place])) for place in others], dtype=np.float64)
        order = np.argsort(effects[:, others], axis=1, kind="stable")
        passed, half = np.cumsum(weights[order], axis=1), weights.sum() / 2
        ranked = np.take_along_axis(effects[:, others], order, axis=1)
        ends = [(passed >= half).argmax(axis=1), (passed > half).argmax(axis=1)]  # two may share the middle
        base = np.mean([ranked[np.arange(len(effects)), end] for end in ends], axis=0)
        return np.asarray(effects[:, own] - base)
