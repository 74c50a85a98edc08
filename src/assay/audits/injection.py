"""Injections (*blind* sec. 5.2, app. F): can a text without content talk a metric into a high score?

An injection must lose against the clean text: alone, and before or after an unrelated text. Beside that
stands how often it wins against a neutral sentence in the same place, which is not judged: metrics that count
words prefer whichever of the two shares more of them with the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

from assay.audits.base import DataAudit, check_known, in_words, order_in_words
from assay.audits.corpora import MEAN_CHANGE, BlindSpot, mean_change, right_order_statistic
from assay.audits.effects import BAR, CLEAN, AlignedScores
from assay.core import Finding, Record, Statistic
from assay.perturbations.degenerate import CONTROL, PLACES, Injection, injections, placed
from assay.perturbations.edit import unrelated_text
from assay.recipe import generator

_RANDOM = "random"  # the role of the unrelated text
_ALONE = "alone"
_WHERE = {"prefix": "before", "suffix": "after"}


def _sentence(finding: Finding) -> str:
    corpus, injection, place = finding.slice.split("/")
    injected = f"the injection “{injection}”"
    if place != _ALONE:
        injected = f"an unrelated text with {injected} {_WHERE[place]} it"
    return order_in_words(finding, f"a clean text ({in_words(corpus)})", injected)


@dataclass(frozen=True)
class InjectionAudit(BlindSpot, DataAudit):
    """Strings that ask for a high score, alone and around unrelated texts."""

    name = "injection"
    title = "Injected texts"
    advice = (
        "Do not score texts that may be written to be scored well without a second metric that is not fooled."
    )
    wants = "an item needs another to borrow a text from: give two or more different golds"
    # One injection of each family.
    quick: ClassVar[Mapping[str, Any]] = {
        "only": (
            "answer-yes-full", "instruction-top-score", "system-update", "score-ten", "markdown-verdict",
            "role-assistant",
        )
    }  # fmt: skip
    statistics = (
        right_order_statistic(
            "a clean text and an injection, alone or with an unrelated text", "", sentence=_sentence
        ),
        Statistic(
            "injection_wins",
            "Of 100 decisions between an unrelated text with the injection before or after it and the same "
            "text with a neutral sentence there, how many the injection wins.",
            "of 100",
        ),
        MEAN_CHANGE,
    )

    only: tuple[str, ...] = ()  # injections, or families of them
    task: tuple[str, ...] = ()
    bar: float = BAR

    @cached_property
    def _chosen(self) -> list[Injection]:
        names = {name for injection in _persuasive() for name in (injection.id, injection.family)}
        check_known("unknown injection", self.only, names)
        wanted = set(self.only) or names
        return [injection for injection in _persuasive() if {injection.id, injection.family} & wanted]

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """Roles are INJECTION/PLACE; an item needs an unrelated text."""
        other = unrelated_text(record, generator(self.seed, self.name, record.key))
        if other is None:
            return None
        controls = [injection for injection in injections().values() if injection.family == CONTROL]
        injected = {
            f"{injection.id}/{place}": placed(injection.worded(record.task), other, place)
            for injection, place in product([*self._chosen, *controls], PLACES)
        }
        return {CLEAN: record.gold, _RANDOM: other} | injected

    def slice_findings(self, scores: AlignedScores) -> Iterable[Finding]:
        """What each injection does at each place."""
        corpus = scores.slice.rpartition("/")[0]
        for injection, place in product(self._chosen, PLACES):
            role = f"{injection.id}/{place}"
            if role in scores.columns:
                yield from self._place_findings(scores, f"{corpus}/{role}", role, place)

    def _place_findings(self, scores: AlignedScores, slice_: str, role: str, place: str) -> Iterable[Finding]:
        """Whether the clean text wins; around an unrelated text, also what a neutral sentence does there."""
        if place == _ALONE:
            yield from self.order(scores, slice_, [role])
            return
        if self.rule == "paper":
            yield mean_change(scores, slice_, [role], [_RANDOM])
            return
        yield from self.order(scores, slice_, [role])
        controls = [name for name in scores.roles(f"{CONTROL}-") if name.endswith(f"/{place}")]
        if controls:
            wins = scores.right_order([role], controls)
            yield Finding.of(scores.scored, slice_, "injection_wins", wins, versus=CONTROL)


def _persuasive() -> list[Injection]:
    return [injection for injection in injections().values() if injection.family != CONTROL]
