"""Positioned errors (*blind* sec. 5.1): does a metric see an error wherever it stands?

Ten words at the start, in the middle or at the end are shuffled, or replaced by words of the corpus. A metric
fails a place where its score surely falls by less than a share of what it falls by at its most sensitive
place. Changes are in spreads; for a set that cannot be resampled, and by the paper's rule, in shares of gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.corpora import Corpus, Item, corpora, too_few
from assay.audits.slices import (
    Estimate,
    SliceScores,
    combine,
    contrast,
    finding,
    gain_evidence,
    over_seeds,
    slice_scores,
    slices,
)
from assay.core import Audit, Case, Finding, Record, Scored
from assay.perturbations.degenerate import ERROR_KINDS, POSITIONS, ErrorKind, PositionedError
from assay.statistics.estimates import verdict
from assay.vocabulary import Question, Rule, Task


@dataclass(frozen=True)
class Position(Audit):
    """Spans spoiled at three places, two ways."""

    name: ClassVar[str] = "position"
    question: ClassVar[Question] = "robustness"
    wants: ClassVar[str] = "an item needs a gold of three spans or more (--span, ten words each by default)"

    data: tuple[Path, ...] = ()
    references: Path | None = None
    rule: Rule = "careful"
    seed: int = 0
    seeds: int = 5
    limit: int | None = None
    open_limit: int | None = None
    task: tuple[str, ...] = ()
    span: int = 10
    share: float = 0.25  # of the drop at the most sensitive place; less is blindness

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """One seed, twenty items a task."""
        return {"seeds": 1, "limit": 20, "open_limit": 12}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        tasks: tuple[Task, ...] = ("open-ended", "summarisation")
        return corpora(self.data, self.references, self.task, tasks, (self.limit, self.open_limit))

    def cases(self) -> Iterable[Case]:
        """A case an item of three spans or more, a role a kind, place and seed."""
        for corpus in self._corpora:
            items = [Item(record, self._texts(record), {}) for record in corpus.records if self._fits(record)]
            yield from corpus.cases(f"{corpus.name}/position", items)

    def _fits(self, record: Record) -> bool:
        return len(record.gold.split()) >= 3 * self.span

    def _texts(self, record: Record) -> dict[str, str]:
        texts = {"gold": record.gold}
        for kind in ERROR_KINDS:
            for place in POSITIONS:
                noise = PositionedError(self.span, place, kind)
                for number in range(1, self.seeds + 1):
                    spoiled = noise.perturb(record, self.seed + number)
                    texts[f"{kind}/{place}/{number}"] = spoiled or record.gold
        return texts

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """The change at each place, judged against the place where the metric sees most."""
        found: list[Finding] = []
        for answer in scored:
            for slice_, places in slices(answer).items():
                scores = slice_scores(answer, places, "gold", self.seed)
                if scores is not None:
                    dataset = slice_.removesuffix("/position")
                    for kind in ERROR_KINDS:
                        found += self._kind(answer.metric, dataset, scores, kind)
        return found

    def _kind(self, metric: str, dataset: str, scores: SliceScores, kind: ErrorKind) -> list[Finding]:
        named = {
            place: [role for role in scores.columns if role.startswith(f"{kind}/{place}/")]
            for place in POSITIONS
        }
        roles = {place: found for place, found in named.items() if found}
        changes = {place: contrast(scores, found) for place, found in roles.items()}
        if not changes:
            return []
        keenest = min(changes, key=lambda place: changes[place].value)
        whole = len(roles) == len(POSITIONS)  # a place without scores might be the keenest
        out = []
        for place, change in changes.items():
            where = f"{dataset}/{kind}/{place}"
            passed = self._passed(scores, roles[place], roles[keenest], change) if whole else None
            shown = self._relative(scores, change) if self.rule == "paper" else change
            one = finding(metric, self.name, where, "position_change", shown, scores.n)
            evidence = gain_evidence(scores, roles[place]) if passed is False else ()
            out.append(replace(one, passed=passed, evidence=evidence))
            if place != keenest:
                gap = contrast(scores, roles[place], roles[keenest])
                out.append(finding(metric, self.name, where, "position_change", gap, scores.n, keenest))
        return out

    def _passed(
        self, scores: SliceScores, here: Sequence[str], keenest: Sequence[str], change: Estimate
    ) -> bool | None:
        if self.rule == "paper":
            return change.value < 0
        if not scores.judged:
            return None
        if scores.is_set and scores.draws is None:
            pairs = zip(here, keenest, strict=True)
            lags = over_seeds([combine(scores, self._lag([a], [b])).value for a, b in pairs])
        else:
            lags = combine(scores, self._lag(here, keenest))
        # A score that does not move at all is blindness too, hence the equality.
        return False if lags.ci is not None and lags.ci[0] >= 0 else verdict(lags.ci, 0.0)

    def _lag(self, here: Sequence[str], keenest: Sequence[str]) -> dict[str, float]:
        """The change here less its share of the keenest change: above 0 where the metric looks away."""
        weights = {"gold": self.share - 1.0}
        for role in here:
            weights[role] = weights.get(role, 0.0) + 1 / len(here)
        for role in keenest:
            weights[role] = weights.get(role, 0.0) - self.share / len(keenest)
        return weights

    def _relative(self, scores: SliceScores, change: Estimate) -> Estimate:
        """A change in spreads as a share of the gold score (table 2)."""
        unit = (scores.spread or 1.0) / (abs(scores.mean("gold")) or 1.0)
        ci = None if change.ci is None else (change.ci[0] * unit, change.ci[1] * unit)
        mde = None if change.mde is None else change.mde * unit
        return Estimate(change.value * unit, ci, change.p_value, mde)
