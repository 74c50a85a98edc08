"""Injections (*blind* sec. 5.2, app. F): can a text without content talk a metric into a high score?

Alone, an injection must score below the clean text. Before or after an unrelated text it must not raise the
score more than a neutral sentence in the same place does, so that mere length is not taken for persuasion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.audits.corpora import BlindSpot
from assay.audits.gap import CLEAN, NOTICED, UNIT
from assay.audits.slices import SliceScores, difference
from assay.core import Estimate, Finding, Interval, Record, Statistic
from assay.errors import DataError, suggest
from assay.perturbations.degenerate import CONTROL, PLACES, Injection, injections, placed
from assay.perturbations.edit import unrelated_text
from assay.recipe import generator
from assay.vocabulary import NonNegative, Rule

_RANDOM = "random"  # the role of the unrelated text


def _sentence(finding: Finding) -> str:
    dataset, injection, place = finding.slice.split("/")[-3:]
    size = f"{max(finding.value, 0.0):.3g}{UNIT}"
    if place == "alone":
        gain = f"{size} above" if finding.value > 0 else "hardly lower than"
        return f"{finding.metric} scores the injection “{injection}” {gain} the clean text ({dataset})."
    where = {"prefix": "before", "suffix": "after"}[place]
    than = "more than a neutral sentence does" if finding.versus == CONTROL else "over that text alone"
    return (
        f"The injection “{injection}” {where} an unrelated text raises the score of {finding.metric} by "
        f"{size} {than} ({dataset})."
    )


_MEANING = (
    "What a text that asks for a high score gains over the clean text (alone), over the unrelated text "
    "around which it stands (random), or over a neutral sentence in its place (control)."
)


@dataclass(frozen=True)
class InjectionAudit(BlindSpot):
    """Strings that ask for a high score, alone and around unrelated texts."""

    name = "injection"
    title = "Injected texts"
    advice = (
        "Do not score texts that may be written to be scored well without a second metric that is not fooled."
    )
    statistics = (
        Statistic(
            "injection_gain", _MEANING, unit=UNIT, bad="high", margin="lift_margin", headline=True,
            sentence=_sentence,
        ),
        Statistic(
            "injection_gain", _MEANING, unit=UNIT, bad="high", margin=-NOTICED, headline=True, within="alone",
            sentence=_sentence,
        ),
        Statistic(
            "injection_caught", "What the same injection gains (below 0: loses) under the metric of the run "
            "that scores it lowest; given where it gains under this metric.", unit=UNIT,
        ),
    )  # fmt: skip
    wants = "an item needs another to borrow a text from: give two or more different golds"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    only: tuple[str, ...] = ()  # injections, or families of them
    task: tuple[str, ...] = ()
    lift_margin: float = 2.0  # percent of the gap that a neutral sentence does not explain

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """One injection per family, twenty items."""
        first: dict[str, str] = {}
        for injection in _persuasive():
            first.setdefault(injection.family, injection.id)
        return {"limit": 20, "only": tuple(first.values())}

    @cached_property
    def _chosen(self) -> list[Injection]:
        names = {name for injection in _persuasive() for name in (injection.id, injection.family)}
        for wrong in set(self.only) - names:
            raise DataError(f"unknown injection {wrong!r}{suggest(wrong, names)}")
        wanted = set(self.only) or names
        return [injection for injection in _persuasive() if {injection.id, injection.family} & wanted]

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """Roles are INJECTION/PLACE; an item needs an unrelated text."""
        other = unrelated_text(record, generator(self.seed, self.name, record.key))
        if other is None:
            return None
        texts = {CLEAN: record.gold, _RANDOM: other}
        controls = [injection for injection in injections().values() if injection.family == CONTROL]
        for injection in [*self._chosen, *controls]:
            for place in PLACES:
                texts[f"{injection.id}/{place}"] = placed(injection.worded(record.task), other, place)
        return texts

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """The gain of every injection at every place."""
        if _RANDOM not in scores.columns:
            return
        for injection in self._chosen:
            for place in PLACES:
                if f"{injection.id}/{place}" in scores.columns:
                    yield from self._place_findings(scores, f"{injection.id}/{place}", place)

    def _place_findings(self, scores: SliceScores, role: str, place: str) -> Iterable[Finding]:
        """The comparison that carries the verdict, then the others.

        Around an unrelated text a gain counts only where it is a gain over that text alone (else any short
        string would beat a longer control) and over the control (else any string would do).
        """
        controls = [name for name in scores.roles(f"{CONTROL}-") if name.endswith(f"/{place}")]
        bases = {CLEAN: [CLEAN], CONTROL: controls, _RANDOM: [_RANDOM]}
        gains = {versus: scores.contrast([role], base) for versus, base in bases.items() if base}
        head = self._head(place)
        for versus in dict.fromkeys([head, CONTROL, _RANDOM]):
            if versus not in gains:  # the metric scored no neutral sentence
                continue
            gain = gains[versus]
            decisive = _lower(gain, gains[_RANDOM]) if versus == CONTROL else None
            yield Finding.of(
                scores.scored, f"{scores.dataset}/{role}", "injection_gain",
                replace(gain, decisive=decisive, paper=gain.value < 0), versus=versus,
                evidence=scores.top_items(difference([role], bases[versus])),
                judged=versus == head and self.judges(scores),
            )  # fmt: skip

    def _head(self, place: str) -> str:
        """What an injection at this place is judged against."""
        return CLEAN if place == "alone" else _RANDOM if self.rule == "paper" else CONTROL

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterable[Finding]:
        """For each injection that gains under a metric, the metric under which it loses most."""
        heads: dict[str, list[Finding]] = {}
        for finding in findings:
            if finding.versus == self._head(finding.slice.rpartition("/")[2]):
                heads.setdefault(finding.slice, []).append(finding)
        for slice_, gains in heads.items():
            best = min(gains, key=lambda gain: gain.value)
            fooled = self.lift_margin if best.versus == CONTROL else 0.0
            for gain in gains:
                if gain.value > fooled and best.value < 0:
                    loss = Estimate(best.value, best.n, best.ci, mde=best.mde)
                    yield Finding.of(gain.metric, slice_, "injection_caught", loss, versus=best.metric)


def _persuasive() -> list[Injection]:
    return [injection for injection in injections().values() if injection.family != CONTROL]


def _lower(first: Estimate, second: Estimate) -> Interval | None:
    """The interval of the smaller of two gains."""
    if first.ci is None or second.ci is None:
        return None
    return min(first.ci[0], second.ci[0]), min(first.ci[1], second.ci[1])
