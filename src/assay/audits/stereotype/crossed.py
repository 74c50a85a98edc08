"""Contexts crossed with terms: the effect of whom a text mentions, and what in the words explains it.

A case is one context filled with one term of every group, so that each context meets every group; the next
rounds take the groups' other terms. Beside them stand the same texts with a word lost, which give the unit,
and neutral words in the same slot, which tell whether length and frequency of a group's words explain its
effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.audits.effects import (
    AlignedScores,
    crossed_effects,
    in_lost_words,
    lost_words,
    mean_and_influence,
    outcome,
    row_means,
)
from assay.audits.wording import FEWEST_NEUTRAL, because, features, slopes
from assay.core import Case, Estimate, Finding, Floats, Sample
from assay.datasets.contexts import Context, Crossing, neutral_words
from assay.grouping import grouped
from assay.perturbations.lost_word import without_a_word
from assay.statistics.intervals import Integers, label_codes

_LOST = 2  # texts with a lost word per case
_NEUTRAL = 1  # neutral words per case

TERM, LOST, NEUTRAL = "term", "lost", "neutral"  # the first parts of roles; the group and the word follow


def crossed_cases(crossing: Crossing) -> Iterator[Case]:
    """The cases of one attribute: all contexts with the first term of each group, then with the next ones."""
    rounds = max(len(group.terms) for group in crossing.groups)
    for number in range(rounds):
        for place, context in enumerate(crossing.contexts):
            case = _case(crossing, context, place, number)
            if case is not None:
                yield case


def _case(crossing: Crossing, context: Context, place: int, number: int) -> Case | None:
    """One context in one round; None where fewer than two groups have a term that was not asked yet."""
    chosen = _terms_of_round(crossing, context.slot, place, number)
    if len(chosen) < 2:
        return None
    texts = {f"{TERM}/{group}/{word}": context.filled(word) for group, word in chosen.items()}
    names = list(chosen)
    for step in range(_LOST):
        group = names[(place + step) % len(names)]
        # Groups lose the same word in one round and another in the next: its price is a mean over words.
        key = f"{number}/{context.text}"
        text = context.filled(chosen[group])
        lost = without_a_word(text, keep=chosen[group], key=key, language=crossing.language)
        if lost is not None:
            texts[f"{LOST}/{group}/{chosen[group]}"] = lost
    neutral = neutral_words(context.slot, len(next(iter(chosen.values())).split()), crossing.language)
    start = (place + number * len(crossing.contexts)) * _NEUTRAL
    for step in range(_NEUTRAL if neutral else 0):
        word = neutral[(start + step) % len(neutral)]
        texts[f"{NEUTRAL}/{word}"] = context.filled(word)
    samples = {role: Sample(text, (context.reference,), id=context.id) for role, text in texts.items()}
    meta = {"cluster": context.id, "form": context.form, "stereotype_of": context.stereotype_of}
    return Case(f"{crossing.attribute}/{context.id}/{number + 1}", samples, crossing.attribute, meta)


def _terms_of_round(crossing: Crossing, slot: str, place: int, number: int) -> dict[str, str]:
    """A term of each group that has one left: by the context's place and the round, so that all take turns.

    Each group moves on at its own pace: terms that only ever meet each other compare with no others.
    """
    chosen = {}
    for shift, group in enumerate(crossing.groups):
        words = group.words(slot)
        if number < len(words):
            chosen[group.name] = words[(place + number + shift * (place // len(words))) % len(words)]
    return chosen


def crossed_findings(scores: AlignedScores, crossing: Crossing) -> Iterator[Finding]:
    """Everything one metric shows on one attribute."""
    analysis = Crossed(scores, crossing)
    if len(analysis.members) < 2:
        return
    yield from analysis.groups()
    yield from analysis.words()
    yield from analysis.interactions()
    yield analysis.stereotypes()
    yield from analysis.flipped_decisions()
    yield from analysis.neutral_band()


@dataclass(frozen=True)
class Crossed:
    """One metric's scores of the contexts of one attribute, filled with all terms."""

    scores: AlignedScores
    crossing: Crossing

    @cached_property
    def term_roles(self) -> list[str]:
        """The roles of terms with scores in two contexts or more: one says nothing of its error."""
        return [role for role in self.scores.roles(f"{TERM}/") if self._n_contexts([role]) > 1]

    @cached_property
    def terms(self) -> list[tuple[str, str]]:
        """The group and the word of every term."""
        return [_parts(role) for role in self.term_roles]

    @cached_property
    def table(self) -> Floats:
        """The scores of filled contexts, (cases, terms); nan where a term does not fill a context."""
        return np.stack([self.scores.columns[role] for role in self.term_roles], axis=1)

    def _n_contexts(self, roles: Sequence[str]) -> int:
        """In how many contexts any of these roles has a score."""
        there = np.isfinite(np.stack([self.scores.columns[role] for role in roles])).any(axis=0)
        return np.unique(self._contexts[there]).size

    @cached_property
    def _contexts(self) -> Integers:
        """The context of each case, as a number."""
        return label_codes(self.scores.clusters, len(self.scores.cases))[0]

    @cached_property
    def costs(self) -> Floats:
        """What a lost word costs in each case; nan where none was lost."""
        losses = []
        for role in self.scores.roles(f"{LOST}/"):
            whole = self.scores.columns.get(f"{TERM}/{role.removeprefix(f'{LOST}/')}")
            if whole is not None:
                losses.append(whole - self.scores.columns[role])
        if not losses:
            return np.full(len(self.table), np.nan)
        return row_means(np.stack(losses, axis=1))

    @cached_property
    def effects(self) -> tuple[Floats, Floats]:
        """The effect of each term, and what each case adds to its error."""
        return crossed_effects(self.table)

    @cached_property
    def members(self) -> dict[str, list[int]]:
        """The places of each group's terms."""
        places: dict[str, list[int]] = {}
        for place, (group, _) in enumerate(self.terms):
            places.setdefault(group, []).append(place)
        return places

    @cached_property
    def group_weights(self) -> Floats:
        """Each group's mean over its terms minus the mean of the other groups, as weights of terms."""
        own = np.stack([_mean_of(places, len(self.terms)) for places in self.members.values()])
        n_groups = len(own)
        return np.asarray((own * n_groups - own.sum(axis=0)) / (n_groups - 1))

    def groups(self) -> Iterator[Finding]:
        """The effect of each group against the others, named by all its terms."""
        rows = [
            _Row(f"group/{group}", weights, places)
            for (group, places), weights in zip(self.members.items(), self.group_weights, strict=True)
        ]
        for row, finding in zip(rows, self._findings(rows), strict=True):
            # A verdict on one word is a verdict on the word.
            yield finding if len(row.places) > 1 else replace(finding, ci=None)

    def words(self) -> Iterator[Finding]:
        """The effect of each word against the other groups."""
        means = {group: _mean_of(places, len(self.terms)) for group, places in self.members.items()}
        rows = []
        for place, (group, word) in enumerate(self.terms):
            others = [mean for name, mean in means.items() if name != group]
            weights = _mean_of([place], len(self.terms)) - np.mean(others, axis=0)
            rows.append(_Row(f"word/{word}", weights, [place]))
        yield from self._findings(rows)

    def interactions(self) -> Iterator[Finding]:
        """Of an intersection, what is beyond the sum of its two parts: Black women beyond Black and women."""
        axes = {name: self.crossing.group(name).axes for name in self.members}
        if not all(len(parts) == 2 for parts in axes.values()):
            return
        means = {name: _mean_of(places, len(self.terms)) for name, places in self.members.items()}
        whole = np.mean(list(means.values()), axis=0)

        def mean_along(axis: int, part: str) -> Floats:
            """The mean of the groups that share a part, such as all groups of women."""
            alike = [means[name] for name, parts in axes.items() if parts[axis] == part]
            return np.asarray(np.mean(alike, axis=0))

        rows = []
        for name, (first, second) in axes.items():
            weights = means[name] - mean_along(0, first) - mean_along(1, second) + whole
            rows.append(_Row(f"interaction/{name}", weights, self.members[name]))
        yield from self._findings(rows)

    def _findings(self, rows: Sequence[_Row]) -> Iterator[Finding]:
        """Weighted sums of the effects of terms, in lost words, with the contexts that show them most."""
        weights = np.stack([row.weights for row in rows])
        effects, influences = self.effects
        n_contexts = [self._n_contexts([self.term_roles[place] for place in row.places]) for row in rows]
        estimates = in_lost_words(
            weights @ effects, influences @ weights.T, n_contexts, self.costs, clusters=self.scores.clusters
        )
        for row, estimate in zip(rows, estimates, strict=True):
            own = row_means(self.table[:, row.places])
            others = row_means(self.table[:, [n for n in range(len(self.terms)) if n not in row.places]])
            yield Finding.of(
                self.scores.scored, f"{self.scores.slice}/{row.part}", "lost_words", estimate,
                evidence=self.scores.largest(own - others, towards=estimate.value),
                because=self.because(row.weights, estimate.value),
                named_by=", ".join(self.terms[place][1] for place in row.places),
            )  # fmt: skip

    @cached_property
    def _neutral(self) -> tuple[list[str], Floats]:
        """The neutral words, and the mean effect of each against the terms of the same contexts."""
        roles = self.scores.roles(f"{NEUTRAL}/")
        base = row_means(self.table - np.where(np.isfinite(self.table), self.effects[0], np.nan))
        effects = [mean_and_influence(self.scores.columns[role] - base)[0] for role in roles]
        return [role.removeprefix(f"{NEUTRAL}/") for role in roles], np.array(effects)

    @cached_property
    def _predicted(self) -> Floats | None:
        """What its letters and its frequency predict for each term, from neutral words; (terms, reasons)."""
        words, effects = self._neutral
        by_feature = slopes(np.array([features(word) for word in words]), effects) if words else None
        if by_feature is None:
            return None
        return np.array([features(word) for _, word in self.terms]) * by_feature / self._unit

    def because(self, weights: Floats, value: float) -> str:
        """What neutral words of the same length and frequency say of an effect; nothing if there are none."""
        if self._predicted is None or not value:
            return ""
        return because(weights @ self._predicted, value)

    @cached_property
    def _unit(self) -> float:
        """The mean cost of a lost word; 1 where nothing is known of it."""
        finite = self.costs[np.isfinite(self.costs)]
        return abs(float(finite.mean())) or 1.0 if finite.size else 1.0

    def stereotypes(self) -> Finding:
        """What a group gains in contexts that state its own stereotype, beyond its effect in all contexts."""
        beyond = self.table - self.effects[0]
        told_of = np.array([str(case.meta["stereotype_of"]) for case in self.scores.cases])
        is_own = told_of[:, None] == np.array([group for group, _ in self.terms])
        own, others = (row_means(np.where(those, beyond, np.nan)) for those in (is_own, ~is_own))
        gains = own - others
        (estimate,) = lost_words(gains[:, None], self.costs, clusters=self.scores.clusters)
        evidence = self.scores.largest(gains, towards=estimate.value)
        slice_ = self.scores.slice
        return Finding.of(self.scores.scored, slice_, "stereotype_lost_words", estimate, evidence=evidence)

    def flipped_decisions(self) -> Iterator[Finding]:
        """Of 100 decisions against a text with a word lost, how many more a group's text wins than loses.

        Each is asked both ways: of two groups, the whole text of one against the damaged text of the other.
        """
        whole, lost = self._group_columns(TERM), self._group_columns(LOST)
        is_of_model = self.scores.scored.is_of_model
        for group in lost:
            flips = [
                outcome(whole[group], lost[other], is_of_model)
                - outcome(whole[other], lost[group], is_of_model)
                for other in lost
                if other != group
            ]
            share, _ = mean_and_influence(np.concatenate([*flips, [np.nan]]))
            slice_ = f"{self.scores.slice}/group/{group}"
            yield Finding.of(self.scores.scored, slice_, "flipped_decisions", 100 * share)

    def _group_columns(self, kind: str) -> dict[str, Floats]:
        """The scores of each group's texts, one for each case."""
        by_group = grouped(self.scores.roles(f"{kind}/"), lambda role: _parts(role)[0])
        columns = {group: [self.scores.columns[role] for role in roles] for group, roles in by_group.items()}
        return {group: row_means(np.stack(rows, axis=1)) for group, rows in columns.items()}

    def neutral_band(self) -> Iterator[Finding]:
        """The range in which nine of ten neutral words lie, in lost words: the grey band of the chart."""
        _, effects = self._neutral
        finite = effects[np.isfinite(effects)] / self._unit
        if finite.size >= FEWEST_NEUTRAL:
            low, high = np.quantile(finite - finite.mean(), [0.05, 0.95])
            band = Estimate(float(high - low), int(finite.size), (float(low), float(high)))
            yield Finding.of(self.scores.scored, self.scores.slice, "neutral_band", band)


@dataclass(frozen=True, slots=True)
class _Row:
    """What is asked of the terms: a weight for each of them, and those that the row is about."""

    part: str
    weights: Floats
    places: Sequence[int]


def _parts(role: str) -> tuple[str, str]:
    """The group and the word of a role."""
    _, group, word = role.split("/", 2)
    return group, word


def _mean_of(places: Sequence[int], size: int) -> Floats:
    """The mean of the terms at these places, as weights of all terms."""
    weights = np.zeros(size)
    weights[list(places)] = 1 / len(places)
    return weights
