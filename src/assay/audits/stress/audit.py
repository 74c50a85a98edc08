"""Stress tests (*blind* sec. 2, 5.5, app. I): does a score fall as a text is made worse?

A noise is judged on the items it changed, gold restricted likewise. The paper's rule asks the means to fall
at every level, so that a good metric fails by sampling noise alone. The careful rule averages seeds within
an item and resamples items: a metric fails when it surely rises from one level to the next, or when its score
surely falls by less than a margin; it passes when the score surely falls by more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.corpora import Corpus, Item, corpora, too_few
from assay.audits.slices import score_interval, slice_scores, slices
from assay.audits.stress.curves import Curve, Margins
from assay.audits.stress.levels import UNITS, Level, levels, profile_of
from assay.core import Audit, Case, Finding, Perturbation, Record, Scored
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.names.registry import perturbation_class
from assay.perturbations.diverge import FALLBACK
from assay.perturbations.ratio import alignment, noise_ratio
from assay.recipe import generator
from assay.statistics.intervals import bootstrap_paired
from assay.vocabulary import Question, Rule, Task

TASKS: tuple[Task, ...] = ("translation", "summarisation", "open-ended")
SHOWN_EDITS = 12


@dataclass(frozen=True)
class Stress(Audit):
    """Eighteen noises at several levels, each under several seeds."""

    name: ClassVar[str] = "stress"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    references: Path | None = None  # the other set of open-ended text
    rule: Rule = "careful"
    seed: int = 0
    seeds: int = 5  # repeats of a random noise
    limit: int | None = None
    open_limit: int | None = None
    only: tuple[str, ...] = ()  # noises
    task: tuple[str, ...] = ()
    depth: Literal["all", "ends"] = "all"  # every level, or the lowest and the highest
    units: bool = False  # figure 9: switch tokens, sub-sentences, sentences, sentences with the last
    masked_lm: str | None = None  # weights for bert-diverge
    flat_margin: float = 0.1  # spreads per unit of noise-ratio; below it a metric is insensitive
    step_margin: float = 0.05  # spreads a score may rise from one level to the next

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """One seed, two levels, twenty items a task."""
        return {"seeds": 1, "limit": 20, "open_limit": 12, "depth": "ends"}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, self.references, self.task, TASKS, (self.limit, self.open_limit))

    def cases(self) -> Iterable[Case]:
        """Gold alone, then a case an item and noise with a role a level and seed."""
        return self._listed

    @cached_property
    def _listed(self) -> list[Case]:
        return list(self._made_cases())

    def _made_cases(self) -> Iterator[Case]:
        for corpus in self._corpora:
            parse([record.gold for record in corpus.records])
            plain = [Item(record, {"gold": record.gold}, {}) for record in corpus.records]
            yield from corpus.cases(f"{corpus.name}/gold", plain)
            for noise, found in self._noises(corpus).items():
                items = [self._item(record, noise, found, corpus) for record in corpus.records]
                kept = [item for item in items if item is not None]
                yield from corpus.cases(f"{corpus.name}/{noise}", kept)

    def _noises(self, corpus: Corpus) -> dict[str, tuple[Level, ...]]:
        known = levels(profile_of(corpus.records), self.rule)
        every = known | UNITS if self.units or set(self.only) & set(UNITS) else known
        for wrong in set(self.only) - set(every) - set(levels("summaries", "careful")):
            raise DataError(f"unknown noise {wrong!r}{suggest(wrong, every)}")
        chosen = [noise for noise in every if noise in self.only] if self.only else list(every)
        if self.depth == "all":
            return {noise: every[noise] for noise in chosen}
        return {noise: tuple(dict.fromkeys((every[noise][0], every[noise][-1]))) for noise in chosen}

    def _item(self, record: Record, noise: str, found: Sequence[Level], corpus: Corpus) -> Item | None:
        """An item's texts by role; None where no level under any seed changed it."""
        key = record.key
        texts: dict[str, str] = {"gold": record.gold}
        ratios: dict[str, float] = {}
        changed: dict[str, list[tuple[str, str]]] = {}
        for level in found:
            made = self._perturbation(noise, level, corpus.task)
            seeds = range(1, self.seeds + 1) if getattr(made, "seeded", True) else (1,)
            total = 0.0
            for number in seeds:
                noised = made.apply(record, generator(self.seed + number, made.signature, key)) or record.gold
                texts[f"{level:g}/{number}"] = noised
                total += noise_ratio(record.gold, noised, switched=getattr(made, "switched", False))
            ratios[f"{level:g}"] = total / len(seeds)
            edits = alignment(record.gold, texts[f"{level:g}/1"])[:SHOWN_EDITS]
            changed[f"{level:g}"] = [(edit.before, edit.after) for edit in edits]
        if self.rule == "careful" and not any(ratios.values()):
            return None
        meta: dict[str, Any] = {"ratios": ratios, "changed": changed}
        return Item(record, texts, meta | ({"method": made.method} if made.method else {}))

    def _perturbation(self, noise: str, level: Level, task: Task) -> Perturbation:
        if noise.startswith("sentence-switching"):
            # MAUVE reads the last token, so the paper never moves the last sentence of open-ended text.
            last = (task != "open-ended" and not self.units) or noise.endswith("-all")
            return _made("sentence-switching", level=level, last=last)
        return _made(noise, level=level, **({"model": self.masked_lm} if noise == "bert-diverge" else {}))

    @cached_property
    def _ratios(self) -> dict[str, dict[str, float]]:
        """Slice to level to the mean noise-ratio over items."""
        found: dict[str, dict[str, list[float]]] = {}
        for case in self._listed:
            for level, ratio in case.meta.get("ratios", {}).items():
                found.setdefault(case.slice, {}).setdefault(level, []).append(ratio)
        return {
            slice_: {level: float(np.mean(ratios)) for level, ratios in by_level.items()}
            for slice_, by_level in found.items()
        }

    def _unchanged(self) -> list[str]:
        """Levels at which no text is another: too weak a noise for such short texts."""
        return [
            f"{slice_}: no text is changed at {', '.join(same)}: too short for so little noise"
            for slice_, ratios in self._ratios.items()
            if (same := [level for level, ratio in ratios.items() if not ratio])
        ]

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Curves, their verdicts, and how steep a metric is beside the steepest."""
        found: list[Finding] = []
        curves: dict[str, list[Curve]] = {}
        for answer in scored:
            for slice_, places in slices(answer).items():
                if slice_.endswith("/gold"):
                    found += self._gold(answer, slice_, places)
                    continue
                curve = self._curve(answer, slice_, places)
                if curve is not None:
                    found += curve.findings(self.name)
                    curves.setdefault(slice_, []).append(curve)
        return found + [one for beside in curves.values() for one in self._compared(beside)]

    def _gold(self, answer: Scored, slice_: str, places: Sequence[int]) -> list[Finding]:
        scores = slice_scores(answer, places, "gold", self.seed)
        if scores is None:
            return []
        ci = score_interval(scores, {"gold": 1.0})
        return [Finding(answer.metric, self.name, slice_, "score", scores.mean("gold"), scores.n, ci=ci)]

    def _curve(self, answer: Scored, slice_: str, places: Sequence[int]) -> Curve | None:
        scores = slice_scores(answer, places, "gold", self.seed)
        if scores is None:
            return None
        ratios = self._ratios[slice_]
        named = {level: [r for r in scores.columns if r.startswith(f"{level}/")] for level in ratios}
        roles = {level: found for level, found in named.items() if found}  # unscored levels are none
        if not any(ratios[level] for level in roles):
            return None
        margins = Margins(self.flat_margin, self.step_margin)
        return Curve(answer.metric, slice_, scores, roles, ratios, self.rule, margins)

    def _compared(self, beside: Sequence[Curve]) -> list[Finding]:
        """How much less steep each metric is than the steepest on the same items."""
        best = max(beside, key=lambda curve: curve.sensitivity().value)
        found = []
        for curve in beside:
            if curve is not best:
                gap = curve.sensitivity().value - best.sensitivity().value
                same = curve.scores.ids == best.scores.ids and curve.scores.n > 1 and not curve.scores.is_set
                ci = bootstrap_paired(curve.slopes, best.slopes, seed=self.seed) if same else None
                found.append(
                    Finding(
                        curve.metric, self.name, curve.slice, "sensitivity", gap, curve.scores.n,
                        versus=best.metric, ci=None if ci is None else ci.pair,
                    )
                )  # fmt: skip
        return found

    def notes(self) -> list[str]:
        """Items a noise could not change, and how bert-diverge found its words."""
        counts: dict[str, int] = {}
        for case in self._listed:
            counts[case.slice] = counts.get(case.slice, 0) + 1
        found = too_few(self._corpora, self.rule) + self._unchanged()
        for corpus in self._corpora:
            for noise in self._noises(corpus):
                applied = counts.get(f"{corpus.name}/{noise}", 0)
                if applied < len(corpus.records):
                    found.append(f"{corpus.name}/{noise} applies to {applied} of {len(corpus.records)} items")
        if self.masked_lm is None and any(slice_.endswith("/bert-diverge") for slice_ in counts):
            found.append(f"bert-diverge used {FALLBACK}; name one with --masked-lm")
        return found


def _made(noise: str, **fields: Any) -> Perturbation:
    made: Perturbation = perturbation_class(noise)(**fields)
    return made
