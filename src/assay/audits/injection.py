"""Injections (*blind* sec. 5.2, app. F): can a text without content talk a metric into a high score?

Alone, an injection must score below the clean text. Before or after an unrelated text it must not raise the
score more than a neutral sentence in the same place does, so that mere length is not taken for persuasion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.audits.base import DataAudit, check_known, declared
from assay.audits.corpora import BlindSpot
from assay.audits.gap import CLEAN
from assay.audits.slices import SliceScores, difference, grouped
from assay.core import Estimate, Finding, Record
from assay.perturbations.degenerate import CONTROL, PLACES, Injection, injections, placed
from assay.perturbations.edit import unrelated_text
from assay.recipe import generator

_RANDOM = "random"  # the role of the unrelated text


@declared()
@dataclass(frozen=True)
class InjectionAudit(BlindSpot, DataAudit):
    """Strings that ask for a high score, alone and around unrelated texts."""

    name = "injection"

    only: tuple[str, ...] = ()  # injections, or families of them
    task: tuple[str, ...] = ()
    lift_margin: float = 2.0  # percent of the gap that a neutral sentence does not explain

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        families = grouped(_persuasive(), lambda injection: injection.family)
        return {"limit": 20, "only": tuple(listed[0].id for listed in families.values())}

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
        texts = {CLEAN: record.gold, _RANDOM: other}
        controls = [injection for injection in injections().values() if injection.family == CONTROL]
        for injection in [*self._chosen, *controls]:
            for place in PLACES:
                texts[f"{injection.id}/{place}"] = placed(injection.worded(record.task), other, place)
        return texts

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
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
            decisive, other = None, gains[_RANDOM]
            if versus == CONTROL and gain.ci and other.ci:  # the interval of the smaller of the two gains
                decisive = min(gain.ci[0], other.ci[0]), min(gain.ci[1], other.ci[1])
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
        heads = (f for f in findings if f.versus == self._head(f.slice.rpartition("/")[2]))
        for slice_, gains in grouped(heads, lambda finding: finding.slice).items():
            best = min(gains, key=lambda gain: gain.value)
            fooled = self.lift_margin if best.versus == CONTROL else 0.0
            for gain in gains:
                if gain.value > fooled and best.value < 0:
                    loss = Estimate(best.value, best.n, best.ci, mde=best.mde)
                    yield Finding.of(gain.metric, slice_, "injection_caught", loss, versus=best.metric)


def _persuasive() -> list[Injection]:
    return [injection for injection in injections().values() if injection.family != CONTROL]
