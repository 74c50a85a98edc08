"""Scores of male and female versions of texts to the preference for one of them (assoc sec. 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.audits.effects import (
    AlignedScores,
    balanced_mean,
    in_lost_words,
    mean_estimate,
    outcome,
    row_means,
    share_of,
)
from assay.audits.wording import because, features, slopes
from assay.core import Estimate, Finding, Floats
from assay.statistics.permutation import sign_test
from assay.vocabulary import Rule

SLICE = "preference"  # the slice of texts whose hypothesis names one gender and whose references name none
GENDERS = ("male", "female")
VERSIONS = ("original", "swapped")
LOST_WORD = ("lost/original", "lost/swapped")
NEUTRAL = "neutral"
_BOTH = f"{SLICE}/both"


def preference_findings(scores: AlignedScores, *, rule: Rule, seed: int) -> Iterator[Finding]:
    """Table 5 for texts about either gender, neutral versions, then both directions together."""
    preference = Preference(scores, seed)
    for gender in GENDERS:
        yield from preference.one_direction(gender, rule)
        yield from preference.against_neutral(gender)
    if rule == "careful":
        yield from preference.both_directions()


@dataclass(frozen=True)
class Preference:
    """One metric's scores of texts about either gender, as written and swapped."""

    scores: AlignedScores
    seed: int

    def column(self, role: str) -> Floats:
        """The scores of a role; nan where there is none."""
        return self.scores.column(role)

    @cached_property
    def about(self) -> dict[str, NDArray[np.bool_]]:
        """Which texts were written about each gender."""
        contents = np.array([case.meta["content"] for case in self.scores.cases])
        return {gender: contents == gender for gender in GENDERS}

    def version(self, gender: str, roles: tuple[str, str] = VERSIONS) -> Floats:
        """The scores of the version about one gender: the text as written, or the swapped one."""
        written, swapped = map(self.column, roles)
        return np.where(self.about[gender], written, swapped)

    @cached_property
    def advantage(self) -> Floats:
        """How much higher the male version of each text scores than the female one."""
        return self.version("male") - self.version("female")

    @cached_property
    def costs(self) -> Floats:
        """What a lost word costs in each text; nan where none was lost."""
        pairs = zip(VERSIONS, LOST_WORD, strict=True)
        losses = [self.column(whole) - self.column(lost) for whole, lost in pairs]
        return row_means(np.stack(losses, axis=1))

    def one_direction(self, gender: str, rule: Rule) -> Iterator[Finding]:
        """Mean scores, and shares in which the male version scores above, below or like the female one.

        Texts about one gender alone confound gender with editing: only the paper's rule judges them.
        """
        here = self.about[gender] & np.isfinite(self.advantage)
        if not here.any():
            return
        place = (self.scores.scored, f"{SLICE}/{gender}")
        clusters = self._clusters(here)
        for version in GENDERS:
            mean = mean_estimate(self.version(version)[here], clusters=clusters, seed=self.seed)
            yield Finding.of(*place, "mean_score", mean, versus=version)
        signs = np.sign(self.advantage)
        for symbol, sign in ((">", 1), ("<", -1), ("=", 0)):
            share = share_of((signs[here] == sign).astype(np.float64), clusters)
            yield Finding.of(*place, "preference_share", share, versus=symbol)
        if rule == "paper":
            p_value = sign_test(signs[here])
            evidence = self.scores.largest(np.where(here, np.abs(self.advantage), np.nan))
            estimate = Estimate(p_value, int(here.sum()), (p_value, p_value), p_value)
            yield Finding.of(*place, "preference_p_value", estimate, evidence=evidence)

    def against_neutral(self, gender: str) -> Iterator[Finding]:
        """How often the version without gender scores above the text as it was written."""
        wins = outcome(self.column(NEUTRAL), self.column(VERSIONS[0]), self._is_of_model)
        here = self.about[gender] & np.isfinite(wins)
        if here.any():
            share = share_of(wins[here], self._clusters(here))
            slice_ = f"{SLICE}/neutral-for-{gender}"
            yield Finding.of(self.scores.scored, slice_, "preference_share", share, versus=NEUTRAL)

    def both_directions(self) -> Iterator[Finding]:
        """The effect of gender in all texts and word by word, apart from that of editing.

        The male version of a text about men gains by gender and by being the one that was written, that of a
        text about women by the first less the second: half their sum is the effect of gender.
        """
        whole = self._balanced(self.advantage)
        if not whole.is_varied or not np.isfinite(self.costs).any():
            return
        words = {word: self._balanced(self._advantage_of(word)) for word in self._words}
        by_word = {f"{SLICE}/word/{word}": row for word, row in words.items() if row.is_varied}
        effects = {_BOTH: whole} | by_word
        written = self._balanced(self.column(VERSIONS[0]) - self.column(VERSIONS[1]))
        *estimates, editing = self._estimates([*effects.values(), written])
        for (slice_, effect), estimate in zip(effects.items(), estimates, strict=True):
            evidence = self.scores.largest(effect.values, towards=estimate.value)
            why = self._because(effect)
            yield Finding.of(
                self.scores.scored, slice_, "lost_words", estimate, evidence=evidence, because=why
            )
        yield Finding.of(self.scores.scored, _BOTH, "edit_lost_words", editing)
        yield from self._flipped_decisions()

    @cached_property
    def _words(self) -> list[str]:
        """The words that were swapped alone in some text."""
        words = [case.meta["words"] for case in self.scores.cases]
        return list(dict.fromkeys(swapped[0] for swapped in words if len(swapped) == 1))

    def _advantage_of(self, word: str) -> Floats:
        """The male version's advantage in the texts in which one word alone was swapped."""
        alone = np.array([case.meta["words"] == [word] for case in self.scores.cases])
        return np.where(alone, self.advantage, np.nan)

    def _balanced(self, values: Floats) -> Balanced:
        """The mean of values, in which texts about men and texts about women weigh the same."""
        mean, influence = balanced_mean(values, self.about["male"])
        finite = np.isfinite(values)
        fewest = min(self._n_documents(finite & self.about[gender]) for gender in GENDERS)
        return Balanced(values, mean, influence, fewest)

    def _estimates(self, effects: Sequence[Balanced]) -> list[Estimate]:
        """Effects in lost words, as sure as the gender with fewer documents allows."""
        estimates = in_lost_words(
            np.array([effect.mean for effect in effects]),
            np.stack([effect.influence for effect in effects], axis=1),
            [min(2 * effect.fewest, self._n_documents(np.isfinite(effect.values))) for effect in effects],
            self.costs,
            clusters=self.scores.clusters,
        )
        return [replace(estimate, n=effect.n) for effect, estimate in zip(effects, estimates, strict=True)]

    @cached_property
    def _wording(self) -> Floats:
        """By how much the features of the male version of each text exceed those of the female one."""
        by_version = [
            [features(case.samples[role].hypothesis) for case in self.scores.cases] for role in VERSIONS
        ]
        written, swapped = map(np.array, by_version)
        by_gender = np.where(self.about["male"][:, None], written - swapped, swapped - written)
        return np.asarray(by_gender)

    @cached_property
    def _slopes(self) -> Floats | None:
        """What letters and rarity do to the male version's advantage, beside what gender does."""
        return slopes(self._wording, self.advantage)

    def _because(self, effect: Balanced) -> str:
        """What letters and frequency of the swapped words say of an effect; nothing where there is none."""
        if self._slopes is None or not effect.mean:
            return ""
        here = np.isfinite(effect.values)
        predicted = (np.where(here, column, np.nan) for column in (self._wording * self._slopes).T)
        return because([balanced_mean(column, self.about["male"])[0] for column in predicted], effect.mean)

    def _flipped_decisions(self) -> Iterator[Finding]:
        """Of 100 decisions against a text with a word lost, how many more the male version wins."""
        wins = outcome(self.version("male"), self.version("female", LOST_WORD), self._is_of_model)
        losses = outcome(self.version("female"), self.version("male", LOST_WORD), self._is_of_model)
        flips = self._balanced(100 * (wins - losses))
        if flips.fewest:  # documents about either gender
            yield Finding.of(self.scores.scored, _BOTH, "flipped_decisions", Estimate(flips.mean, flips.n))

    @property
    def _is_of_model(self) -> bool:
        return self.scores.scored.is_of_model

    def _n_documents(self, here: NDArray[np.bool_]) -> int:
        return len(set(self._clusters(here)))

    def _clusters(self, here: NDArray[np.bool_]) -> list[str]:
        return [label for label, is_here in zip(self.scores.clusters, here, strict=True) if is_here]


@dataclass(frozen=True, slots=True)
class Balanced:
    """A mean over texts about either gender, and what each text adds to its error."""

    values: Floats  # by text; nan where a text has nothing to say
    mean: float
    influence: Floats
    fewest: int  # documents about the gender that has fewer

    @property
    def is_varied(self) -> bool:
        """Whether either gender has several documents: one alone says nothing of how much they differ."""
        return self.fewest > 1

    @property
    def n(self) -> int:
        return int(np.isfinite(self.values).sum())
