"""Positioned errors (*blind* sec. 5.1): does a metric notice an error wherever it stands?

Ten words at the start, in the middle or at the end are shuffled, or replaced by words of the corpus. A metric
fails a position where its score surely falls by less than a share of what it falls by at its most sensitive
position. Changes are in SDs of clean scores; for a set that cannot be resampled, and by the paper's rule,
they are shares of the clean score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.audits.corpora import BlindSpot
from assay.audits.slices import CLEAN, SD, SliceScores, difference, moves, must_fall
from assay.core import Estimate, Finding, Interval, Record, Statistic
from assay.perturbations.degenerate import ERROR_KINDS, POSITIONS, ErrorKind, PositionedError
from assay.vocabulary import NonNegative, Rule, Share


def _sentence(finding: Finding) -> str:
    dataset, kind, position = finding.slice.split("/")[-3:]
    where = {"start": "at the start", "middle": "in the middle", "end": "at the end"}[position]
    error = {"random": "random words", "shuffle": "shuffled words"}[kind]
    errors = f"{finding.metric} hardly notices {error} {where} of {dataset} texts"
    if finding.value >= 0:
        return f"{errors}: its score does not fall."
    fall = moves(finding.value, falls="falls by only")
    return f"{errors}: its score {fall}, far less than at its most sensitive position."


@dataclass(frozen=True)
class Position(BlindSpot):
    """Spans damaged at three positions, in two ways."""

    name = "position"
    title = "Errors at the start, in the middle, at the end"
    advice = "Do not trust it on long texts whose errors may stand where it does not notice them."
    statistics = (
        Statistic(
            "position_change",
            "Change of the score by an error at this position; near 0 the error goes unnoticed. Against "
            "another position: how much less the score falls here than there.",
            unit=SD, bad="high", headline=True, sentence=_sentence,
        ),
    )  # fmt: skip
    wants = "an item needs a gold of three spans or more (--span, ten words each by default)"
    tasks = ("open-ended", "summarisation")
    quick_options = {"seeds": 1, "limit": 20, "open_limit": 12}

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: NonNegative = 0
    seeds: int = 5
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    span: int = 10
    share: Share = 0.25  # of the fall at the most sensitive position; less is blindness

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """Roles are KIND/POSITION/SEED; a text needs at least three spans."""
        if len(record.gold.split()) < 3 * self.span:
            return None
        texts = {CLEAN: record.gold}
        for kind in ERROR_KINDS:
            for position in POSITIONS:
                noise = PositionedError(self.span, position, kind)
                for number in range(1, self.seeds + 1):
                    damaged = noise.perturb(record, self.seed + number)
                    texts[f"{kind}/{position}/{number}"] = damaged or record.gold
        return texts

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """The change at each position, and how far it lags behind that at the most sensitive position."""
        for kind in ERROR_KINDS:
            yield from self._kind_findings(scores, kind)

    def _kind_findings(self, scores: SliceScores, kind: ErrorKind) -> Iterable[Finding]:
        named = {position: scores.roles(f"{kind}/{position}/") for position in POSITIONS}
        roles = {position: listed for position, listed in named.items() if listed}
        changes = {position: scores.contrast(listed) for position, listed in roles.items()}
        if not changes:
            return
        lowest = min(changes, key=lambda position: changes[position].value)
        # A position without scores might be the most sensitive one: there is no verdict then.
        judged = self.judges(scores) and len(roles) == len(POSITIONS)
        for position, change in changes.items():
            slice_ = f"{scores.dataset}/{kind}/{position}"
            lag = self._lag(scores, roles[position], roles[lowest])
            shown = _relative(scores, change) if self.rule == "paper" else change
            yield Finding.of(
                scores.scored, slice_, "position_change",
                replace(shown, decisive=must_fall(lag), paper=change.value < 0),
                evidence=scores.top_items(difference(roles[position])), judged=judged,
            )  # fmt: skip
            if position != lowest:
                gap = scores.contrast(roles[position], roles[lowest])
                yield Finding.of(scores.scored, slice_, "position_change", gap, versus=lowest, judged=False)

    def _lag(self, scores: SliceScores, here: Sequence[str], lowest: Sequence[str]) -> Interval | None:
        """The interval of the change here minus a share of the lowest change: above 0 the metric is blind."""

        def weights(here: Sequence[str], lowest: Sequence[str]) -> dict[str, float]:
            lag = difference(here)
            for role, weight in difference(lowest).items():
                lag[role] = lag.get(role, 0.0) - self.share * weight
            return lag

        if scores.only_seeds_vary:
            seeds = zip(here, lowest, strict=True)
            return scores.over_seeds([weights([role], [other]) for role, other in seeds]).ci
        return scores.combine(weights(here, lowest)).ci


def _relative(scores: SliceScores, change: Estimate) -> Estimate:
    """A change in SDs of clean scores as a share of the clean score (table 2)."""
    factor = scores.unit / (abs(scores.mean(CLEAN)) or 1.0)
    ci = None if change.ci is None else (change.ci[0] * factor, change.ci[1] * factor)
    mde = None if change.mde is None else change.mde * factor
    return replace(change, value=change.value * factor, ci=ci, mde=mde)
