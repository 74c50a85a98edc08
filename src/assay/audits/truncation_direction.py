"""Truncation seen by precision, recall and F side by side (*blind* fig. 5, fig. 8, app. I).

Cutting a text often raises precision: what is left is the safe part. `direction_change` is the change from
the gold in spreads; sibling outputs of one metric are compared on the same items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.corpora import Corpus, Item, corpora, too_few
from assay.audits.slices import SliceScores, contrast, finding, judged_gain, slice_scores, slices
from assay.core import Audit, Case, Finding, Record, Scored
from assay.perturbations.noise import Truncation
from assay.statistics.intervals import bootstrap_paired
from assay.vocabulary import Question, Rule


@dataclass(frozen=True)
class TruncationDirection(Audit):
    """Texts cut at the end, more and more."""

    name: ClassVar[str] = "truncation-direction"
    question: ClassVar[Question] = "robustness"
    wants: ClassVar[str] = "an item needs a gold that every cut shortens: ten words or more for a tenth"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    task: tuple[str, ...] = ()
    levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5)

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Two levels, as the stress audit has them, so that scores are shared."""
        return {"limit": 20, "levels": (0.1, 0.5)}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("summarisation", "translation"), (self.limit, None))

    def cases(self) -> Iterable[Case]:
        """A case an item that every level can cut."""
        for corpus in self._corpora:
            items = [self._item(record) for record in corpus.records]
            kept = [item for item in items if item is not None]
            yield from corpus.cases(f"{corpus.name}/truncation", kept)

    def _item(self, record: Record) -> Item | None:
        cut = {f"{level:g}": Truncation(level).perturb(record, self.seed) for level in self.levels}
        whole = {level: text for level, text in cut.items() if text is not None}
        return Item(record, {"gold": record.gold, **whole}, {}) if len(whole) == len(cut) else None

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Changes by level, a verdict at the deepest cut, and outputs beside each other."""
        found: list[Finding] = []
        deepest: dict[tuple[str, str], list[tuple[str, SliceScores]]] = {}
        for answer in scored:
            for slice_, places in slices(answer).items():
                scores = slice_scores(answer, places, "gold", self.seed)
                if scores is None:
                    continue
                for level in (f"{one:g}" for one in self.levels if f"{one:g}" in scores.columns):
                    change = contrast(scores, [level])
                    where = f"{slice_}/{level}"
                    found.append(
                        finding(answer.metric, self.name, where, "direction_change", change, scores.n)
                    )
                last = [f"{self.levels[-1]:g}"]
                if last[0] not in scores.columns:
                    continue
                found.append(
                    judged_gain(answer.metric, self.name, slice_, "direction_change", scores, last, self.rule)
                )
                if answer.about.get("output"):
                    family = str(answer.about.get("signature")), slice_
                    deepest.setdefault(family, []).append((answer.metric, scores))
        return found + [one for (_, where), beside in deepest.items() for one in self._beside(where, beside)]

    def _beside(self, slice_: str, outputs: Sequence[tuple[str, SliceScores]]) -> list[Finding]:
        """How much more each output rises than each of its siblings."""
        found = []
        last = f"{self.levels[-1]:g}"
        for number, (one, ours) in enumerate(outputs):
            for other, theirs in outputs[number + 1 :]:
                changes = [(s.columns[last] - s.columns["gold"]) / (s.spread or 1.0) for s in (ours, theirs)]
                if ours.ids == theirs.ids and ours.n > 1:
                    gap = float(changes[0].mean() - changes[1].mean())
                    ci = bootstrap_paired(changes[0], changes[1], seed=self.seed)
                    pair = None if ci is None else ci.pair
                    found.append(
                        Finding(one, self.name, slice_, "direction_change", gap, ours.n, other, pair)
                    )
        return found
