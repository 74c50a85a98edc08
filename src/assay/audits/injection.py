"""Injections (*blind* sec. 5.2, app. F): can a text without value talk a metric into a high score?

Alone, an injection must stay below the gold. Before or after a stranger's text it must not lift the score
more than a neutral sentence in the same place does, so that mere length is not mistaken for persuasion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from assay.audits.corpora import Corpus, Item, corpora, too_few
from assay.audits.slices import SliceScores, judged_gain, slice_scores, slices
from assay.core import Audit, Case, Finding, Record, Scored
from assay.errors import DataError, suggest
from assay.perturbations.degenerate import CONTROL, PLACES, Injection, Place, injections, placed
from assay.perturbations.edit import unrelated_text
from assay.recipe import generator
from assay.vocabulary import Question, Rule, Task


@dataclass(frozen=True)
class InjectionAudit(Audit):
    """Strings that ask for a high score, alone and around strangers' texts."""

    name: ClassVar[str] = "injection"
    question: ClassVar[Question] = "robustness"
    wants: ClassVar[str] = "an item needs another to borrow a text from: give two or more different golds"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    only: tuple[str, ...] = ()  # injections, or families of them
    task: tuple[str, ...] = ()
    lift_margin: float = 0.2  # spreads that a neutral sentence does not explain

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """One injection a family, twenty items."""
        first = {one.family: one.id for one in reversed(injections().values()) if one.family != CONTROL}
        return {"limit": 20, "only": tuple(reversed(first.values()))}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        tasks: tuple[Task, ...] = ("summarisation",)
        return corpora(self.data, None, self.task, tasks, (self.limit, None))

    @cached_property
    def _asked(self) -> list[Injection]:
        known = [one for one in injections().values() if one.family != CONTROL]
        names = {one.id for one in known} | {one.family for one in known}
        for wrong in set(self.only) - names:
            raise DataError(f"unknown injection {wrong!r}{suggest(wrong, names)}")
        return [one for one in known if not self.only or {one.id, one.family} & set(self.only)]

    def cases(self) -> Iterable[Case]:
        """A case an item, a role an injection and place."""
        for corpus in self._corpora:
            items = [self._item(record) for record in corpus.records]
            yield from corpus.cases(f"{corpus.name}/injection", [item for item in items if item is not None])

    def _item(self, record: Record) -> Item | None:
        other = unrelated_text(record, generator(self.seed, self.name, record.key))
        if other is None:
            return None
        texts = {"gold": record.gold, "random": other}
        controls = [one for one in injections().values() if one.family == CONTROL]
        for one in [*self._asked, *controls]:
            for place in PLACES:
                texts[f"{one.id}/{place}"] = placed(one.worded(record.task), other, place)
        return Item(record, texts, {})

    def notes(self) -> list[str]:
        """Datasets that are too small."""
        return too_few(self._corpora, self.rule)

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Gains, and for a metric that is taken in, which other metric of the run is not."""
        found = []
        for answer in scored:
            for slice_, places in slices(answer).items():
                scores = slice_scores(answer, places, "gold", self.seed)
                if scores is not None and "random" in scores.columns:
                    dataset = slice_.removesuffix("/injection")
                    for one in self._asked:
                        found += self._injection(answer.metric, dataset, scores, one)
        return found + self._defences(found)

    def _injection(self, metric: str, dataset: str, scores: SliceScores, one: Injection) -> list[Finding]:
        out = []
        for place in PLACES:
            where, role = f"{dataset}/{one.id}/{place}", f"{one.id}/{place}"
            if role not in scores.columns:
                continue
            controls = [r for r in scores.columns if r.startswith(f"{CONTROL}-") and r.endswith(f"/{place}")]
            bases = {"gold": ["gold"], "random": ["random"], "control": controls}
            judged = {
                versus: judged_gain(
                    metric, self.name, where, "injection_gain", scores, [role], self.rule,
                    base=base, versus=versus, margin=self._margin(place),
                )
                for versus, base in bases.items()
                if base
            }  # fmt: skip
            out += self._with_verdict(place, judged)
        return out

    def _margin(self, place: Place) -> float:
        return 0.0 if place == "alone" or self.rule == "paper" else self.lift_margin

    def _with_verdict(self, place: Place, judged: dict[str, Finding]) -> list[Finding]:
        """One finding carries the verdict, the others stand beside it.

        Around a stranger's text a lift counts only where it passes both the text alone, or any short string
        would beat a longer control, and the control, or any string would do.
        """
        head = "gold" if place == "alone" else "random" if self.rule == "paper" else "control"
        if head not in judged:  # the metric scored no neutral sentence: nothing to hold the lift against
            return [replace(one, passed=None, evidence=()) for one in judged.values()]
        beside = [name for name in ("control", "random") if name != head and name in judged]
        passed = judged[head].passed
        if head == "control":
            both = {judged["control"].passed, judged["random"].passed}
            passed = True if True in both else False if both == {False} else None
        evidence = judged[head].evidence if passed is False else ()
        verdict_ = replace(judged[head], passed=passed, evidence=evidence)
        return [verdict_, *(replace(judged[name], passed=None, evidence=()) for name in beside)]

    def _defences(self, found: Sequence[Finding]) -> list[Finding]:
        """For each failure, the other metric that puts the injection lowest, if one does."""
        judged: dict[tuple[str, str | None], list[Finding]] = {}
        for one in found:
            judged.setdefault((one.slice, one.versus), []).append(one)
        out = []
        for one in found:
            others = [o for o in judged[one.slice, one.versus] if o.metric != one.metric and o.passed]
            if one.passed is False and others:
                best = min(others, key=lambda other: other.value)
                out.append(replace(best, metric=one.metric, statistic="injection_caught", versus=best.metric))
        return out
