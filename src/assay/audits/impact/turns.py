"""Scores of outputs, as written and about other groups, to decisions that turn.

`Versions` has one metric's scores of the outputs that mention a group of one attribute, in every version;
`Board` those of all outputs, by which systems are compared. A decision is 1 for the first of two systems, 0
for the second and one half for a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from assay.audits.effects import (
    AlignedScores,
    outcome,
    percent_estimate,
    right_order,
    right_order_difference,
    row_means,
)
from assay.core import Estimate, Finding, Floats
from assay.statistics.intervals import draw_counts, label_codes

WRITTEN, REWORDED = "written", "reworded"  # as the systems wrote it, and with another word for the same group
_DRAWS = 400  # bootstrap samples, from which only standard errors are taken
_DIGITS = 12  # of shares; what lies beyond is rounding
Flags = NDArray[np.bool_]
_Pairs = tuple[list[int], list[int]]  # the columns of the first and of the second system of each pair
System = tuple[str, str]  # the part of the data that it belongs to, and its name


@dataclass(frozen=True)
class Versions:
    """One metric's scores of the outputs of items that mention a group, one row per item."""

    scores: AlignedScores
    systems: Sequence[System]

    @cached_property
    def written(self) -> Floats:
        """The scores as written, (items, systems)."""
        return self._table(WRITTEN)

    @cached_property
    def pairs(self) -> _Pairs:
        """The columns of every two systems of one part."""
        return pairs_of(self.systems)

    def version(self, name: str) -> tuple[Floats, Flags]:
        """The scores of a version, with those as written where it is no other, and where it is another."""
        table = self._table(name)
        is_other = np.isfinite(table)
        return np.where(is_other, table, self.written), is_other

    @cached_property
    def groups(self) -> list[str]:
        """The groups that texts are about in some version, in alphabetical order."""
        versions = {role.partition("/")[0] for role in self.scores.columns} - {WRITTEN, REWORDED}
        return sorted(versions | set(self.named.ravel().tolist()) - {""})

    @cached_property
    def named(self) -> NDArray[np.object_]:
        """The group that each output names as written; empty where it names none."""
        rows = [case.meta["named"] for case in self.scores.cases]
        return np.array([[row.get(system, "") for _, system in self.systems] for row in rows], dtype=object)

    def _table(self, version: str) -> Floats:
        """The scores of one version by item and system; nan where an item has no such version."""
        parts = np.array([case.meta["part"] for case in self.scores.cases], dtype=object)
        absent = np.full(len(parts), np.nan)
        columns = []
        for part, system in self.systems:
            column = self.scores.columns.get(f"{version}/{system}", absent)
            columns.append(np.where(parts == part, column, np.nan))
        return np.stack(columns, axis=1)

    def decisions(self, table: Floats) -> Floats:
        """The decision between every two outputs for one item."""
        first, second = self.pairs
        return outcome(table[:, first], table[:, second], self.scores.scored.is_of_model)

    def turned(self, names: Sequence[str]) -> Floats:
        """For each item the share of decisions that come out otherwise in these versions."""
        as_written = self.decisions(self.written)
        shares = []
        for name in names:
            table, is_other = self.version(name)
            changes = np.abs(self.decisions(table) - as_written)
            shares.append(np.where(_either(is_other, self.pairs), changes, np.nan))
        if not shares:
            return np.full(len(as_written), np.nan)
        return row_means(np.concatenate(shares, axis=1))

    def won(self) -> dict[str, Floats]:
        """For each group and item, the share of decisions that outputs win against those that name nobody, if
        they are about that group."""
        first, second = self.pairs
        speaks = self.named != ""
        one_side = speaks[:, first] != speaks[:, second]
        won = {}
        for group in self.groups:
            table, is_other = self.version(group)
            is_about = is_other | (self.named == group)
            decisions = self.decisions(table)
            wins = np.where(speaks[:, first], decisions, 1 - decisions)
            won[group] = np.round(
                row_means(np.where(one_side & _either(is_about, self.pairs), wins, np.nan)), _DIGITS
            )
        return won


@dataclass(frozen=True)
class Board:
    """One metric's scores of all outputs: a row per item, a column per system."""

    items: Mapping[tuple[str, str], int]  # by part and id
    systems: Sequence[System]
    clusters: Sequence[str]
    table: Floats

    @classmethod
    def of(cls, slices: Sequence[AlignedScores]) -> Board:
        """The board of the slices with all outputs, one per part."""
        prefix = f"{WRITTEN}/"
        named = [(scores.cases[0].meta["part"], role) for scores in slices for role in scores.roles(prefix)]
        systems = [(str(part), role.removeprefix(prefix)) for part, role in named]
        column = {system: number for number, system in enumerate(systems)}
        cases = [case for scores in slices for case in scores.cases]
        items = {(case.meta["part"], case.meta["item"]): row for row, case in enumerate(cases)}
        table = np.full((len(cases), len(systems)), np.nan)
        start = 0
        for scores in slices:
            part = str(scores.cases[0].meta["part"])
            for role in scores.roles(prefix):
                place = column[part, role.removeprefix(prefix)]
                table[start : start + len(scores.cases), place] = scores.columns[role]
            start += len(scores.cases)
        return cls(items, systems, [str(case.meta["cluster"]) for case in cases], table)

    def put(self, versions: Versions, table: Floats) -> Floats:
        """All scores, with these in the place of those of the items that have versions."""
        changed = self.table.copy()
        for row, case in enumerate(versions.scores.cases):
            place = self.items.get((case.meta["part"], case.meta["item"]))
            if place is not None:
                changed[place] = np.where(np.isfinite(table[row]), table[row], changed[place])
        return changed

    def count_clusters(self, items: Flags) -> int:
        """How many clusters these items belong to."""
        return len(set(compress(self.clusters, items.tolist())))

    def marked(self, versions: Versions, flags: Flags) -> Flags:
        """Flags of items that have versions, on the rows of the board."""
        marked = np.zeros(self.table.shape, dtype=bool)
        for row, case in enumerate(versions.scores.cases):
            place = self.items.get((case.meta["part"], case.meta["item"]))
            if place is not None:
                marked[place] = flags[row]
        return marked & np.isfinite(self.table)


@dataclass(frozen=True)
class Comparisons:
    """Comparisons of systems by their means over the items that both have, as they are and in bootstrap
    samples of items."""

    board: Board
    versions: Versions
    seed: int

    @cached_property
    def weights(self) -> Floats:
        """How often each item counts, (samples, items): once as they are, then as drawn."""
        codes, n_clusters = label_codes(self.board.clusters, len(self.board.clusters))
        draws = draw_counts(n_clusters, _DRAWS, np.random.default_rng(self.seed))[:, codes]
        return np.concatenate([np.ones((1, len(codes))), draws])

    @cached_property
    def pairs(self) -> _Pairs:
        """The columns of every two systems of one part."""
        return pairs_of(self.board.systems)

    @cached_property
    def written(self) -> Floats:
        """All scores as written."""
        return self.board.put(self.versions, self.versions.written)

    @cached_property
    def both(self) -> Flags:
        """The items that both systems of a pair have, (items, pairs)."""
        first, second = self.pairs
        return np.asarray(np.isfinite(self.written[:, first]) & np.isfinite(self.written[:, second]))

    def decisions(self, table: Floats) -> Floats:
        """The decision between every two systems, (samples, pairs): first as they are, then in each bootstrap
        sample; nan where two have no item in common."""
        counts = self.weights @ self.both
        sums = [self.weights @ np.where(self.both, table[:, columns], 0.0) for columns in self.pairs]
        first, second = (np.where(counts > 0, total / np.maximum(counts, 1), np.nan) for total in sums)
        return outcome(first, second, self.versions.scores.scored.is_of_model)

    def turned(self, names: Sequence[str]) -> Estimate | None:
        """The share of comparisons at stake that come out otherwise in these versions; None where none is."""
        as_written = self.decisions(self.written)
        total, count = np.zeros(len(as_written)), 0
        at_stake = np.zeros(self.both.shape[1], dtype=bool)
        items = np.zeros(len(self.both), dtype=bool)
        for name in names:
            table, is_other = self.versions.version(name)
            marked = self.board.marked(self.versions, is_other)
            touched = _either(marked, self.pairs) & self.both
            pairs = touched.any(axis=0)
            changes = np.abs(self.decisions(self.board.put(self.versions, table)) - as_written)
            total += np.nansum(changes[:, pairs], axis=1)
            count += int(pairs.sum())
            at_stake |= pairs
            items |= touched.any(axis=1)
        if not count:
            return None
        return _share(total / count, int(at_stake.sum()), self.board.count_clusters(items))

    def won(self) -> dict[str, Estimate]:
        """For each group, how many more of 100 comparisons the system that mentions people more often wins if
        its outputs are about that group than if they are about the others."""
        speaks = self.board.marked(self.versions, self.versions.named != "")
        counts = [(speaks[:, columns] & self.both).sum(axis=0) for columns in self.pairs]
        asked = np.flatnonzero(counts[0] != counts[1])
        groups = self.versions.groups
        if not asked.size or len(groups) < 2:
            return {}
        n_clusters = self.board.count_clusters(np.asarray(_either(speaks, self.pairs)[:, asked].any(axis=1)))
        is_first = (counts[0] > counts[1])[asked]
        won = np.empty((len(groups), len(self.weights)))
        for number, group in enumerate(groups):
            table, _ = self.versions.version(group)
            decisions = self.decisions(self.board.put(self.versions, table))[:, asked]
            won[number] = np.nanmean(np.where(is_first, decisions, 1 - decisions), axis=1)
        beyond = np.round((won - won.mean(axis=0)) * len(groups) / (len(groups) - 1), _DIGITS)
        return {group: _in_percent(row, n_clusters) for group, row in zip(groups, beyond, strict=True)}


def _share(samples: Floats, n: int, n_clusters: int) -> Estimate:
    """A share of n comparisons, from its value and its bootstrap samples: by as many independent decisions as
    would vary as much as these samples do, and no more than there are items."""
    mean, variance = float(samples[1:].mean()), float(samples[1:].var(ddof=1))
    equivalent = mean * (1 - mean) / variance if variance > 0 else float(n_clusters)
    return percent_estimate(float(samples[0]), n, min(float(n_clusters), equivalent))


def _in_percent(samples: Floats, n_clusters: int) -> Estimate:
    """A difference of shares with its interval, from its value and its bootstrap samples.

    It is never narrower than what one more item would do if all its decisions turned.
    """
    value = float(samples[0]) + 0.0  # not -0
    if n_clusters < 2:
        return Estimate(100 * value, n_clusters)
    error = float(np.nanstd(samples[1:], ddof=1))
    reach = max(float(stdtrit(n_clusters - 1, 0.975)) * error, 1 / (n_clusters + 1))
    low, high = max(-1.0, value - reach), min(1.0, value + reach)
    return Estimate(100 * value, n_clusters, (100 * low, 100 * high))


def pairs_of(systems: Sequence[System]) -> _Pairs:
    """The columns of every two systems of one part."""
    chosen = [
        (first, second)
        for first, second in combinations(range(len(systems)), 2)
        if systems[first][0] == systems[second][0]
    ]
    return [first for first, _ in chosen], [second for _, second in chosen]


def _either(flags: Flags, pairs: _Pairs) -> Flags:
    """Whether either system of a pair is flagged."""
    first, second = pairs
    return np.asarray(flags[:, first] | flags[:, second])


def turn_findings(board: Board, scores: AlignedScores, seed: int) -> Iterator[Finding]:
    """Everything one metric shows on one attribute."""
    versions = Versions(scores, board.systems)
    comparisons = Comparisons(board, versions, seed)
    for names, kind in ((versions.groups, "turned"), ([REWORDED], "wording")):
        told = comparisons.turned(names)
        if told is not None:
            yield Finding.of(scores.scored, scores.slice, f"{kind}_comparisons", told)
        shares = versions.turned(names)
        turned = right_order([(shares, scores.clusters)])
        if turned.n:
            evidence = scores.largest(shares)
            yield Finding.of(scores.scored, scores.slice, f"{kind}_decisions", turned, evidence=evidence)
    yield from _group_findings(versions, comparisons.won())


def _group_findings(versions: Versions, comparisons: Mapping[str, Estimate]) -> Iterator[Finding]:
    """What each group wins or loses, in comparisons of systems and in decisions between texts."""
    scores = versions.scores
    by_group = versions.won()
    for group, won in by_group.items():
        others = [theirs for name, theirs in by_group.items() if name != group]
        if not others:
            return
        rest = np.round(row_means(np.stack(others, axis=1)), _DIGITS)
        estimate = right_order_difference([(won, scores.clusters)], [(rest, scores.clusters)])
        slice_ = f"{scores.slice}/group/{group}"
        evidence = scores.largest(won - rest, towards=estimate.value)
        if group in comparisons:
            told = comparisons[group]
            yield Finding.of(scores.scored, slice_, "comparisons_won", told, evidence=evidence)
        if np.isfinite(estimate.value):
            yield Finding.of(scores.scored, slice_, "decisions_won", estimate, evidence=evidence)
