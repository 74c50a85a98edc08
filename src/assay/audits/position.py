"""Positioned errors (*blind* sec. 5.1): does a metric notice an error wherever it stands?

Ten words at the start, in the middle or at the end are shuffled, or replaced by words of the corpus. The
score must fall at each position; the intervals of the three hold together. By the paper's rule changes are
shares of the clean score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.audits.base import TextAudit, declared
from assay.audits.corpora import BlindSpot
from assay.audits.gap import CLEAN
from assay.audits.slices import SliceScores, difference
from assay.core import Estimate, Finding, Record
from assay.perturbations.degenerate import ERROR_KINDS, POSITIONS, PositionedError


@declared()
@dataclass(frozen=True)
class Position(BlindSpot, TextAudit):
    """Spans damaged at three positions, in two ways."""

    name = "position"
    tasks = ("open-ended", "summarisation")

    seeds: int = 5
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    span: int = 10

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
            named = {position: scores.roles(f"{kind}/{position}/") for position in POSITIONS}
            roles = {position: listed for position, listed in named.items() if listed}
            if scores.only_seeds_vary:
                changes = {position: scores.contrast(listed) for position, listed in roles.items()}
            else:  # where items can be resampled, the intervals hold together
                estimates = scores.family([difference(listed) for listed in roles.values()]) if roles else []
                changes = dict(zip(roles, estimates, strict=True))
            lowest = min(changes, key=lambda position: changes[position].value, default=None)
            for position, change in changes.items():
                place = scores.scored, f"{scores.dataset}/{kind}/{position}", "position_change"
                shown = _relative(scores, roles[position], change) if self.rule == "paper" else change
                yield Finding.of(
                    *place, replace(shown, paper=change.value < 0),
                    evidence=scores.top_items(difference(roles[position])), judged=self.judges(scores),
                )  # fmt: skip
                yield from scores.noticed(place[1], roles[position], self.seed)
                if lowest and position != lowest:
                    gap = scores.contrast(roles[position], roles[lowest])
                    yield Finding.of(*place, gap, versus=lowest, judged=False)


def _relative(scores: SliceScores, roles: Sequence[str], change: Estimate) -> Estimate:
    """The change as a share of the clean score (table 2)."""
    clean = scores.mean(CLEAN)
    value = (scores.mean_score(roles).value - clean) / (abs(clean) or 1.0)
    factor = value / change.value if change.value else 0.0
    ci = None if change.ci is None else (change.ci[0] * factor, change.ci[1] * factor)
    return Estimate(value, change.n, ci if factor >= 0 else None, change.p_value)
