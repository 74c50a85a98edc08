"""Stress tests (*blind* sec. 2, 5.5, app. I): does a score fall as a text is made worse?

A noise is judged on the items it changed, and so is the clean text. The paper's rule asks the means to fall
at every level, so that a good metric fails by sampling noise alone. The careful rule averages seeds within
an item and resamples items: a metric must surely fall by more than a margin per unit of noise, and must not
surely rise from one level to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.audits.corpora import BlindSpot, Corpus, Item
from assay.audits.slices import CLEAN, SliceScores, ends
from assay.audits.stress.curves import STATISTICS, Curve
from assay.audits.stress.levels import UNITS, Level, levels, profile_of
from assay.core import Case, Chart, Estimate, Finding, Perturbation, Record
from assay.errors import DataError, suggest
from assay.models.nlp import parse
from assay.names.registry import perturbation_class
from assay.perturbations.diverge import FALLBACK
from assay.perturbations.ratio import alignment, noise_ratio
from assay.recipe import generator
from assay.statistics.intervals import bootstrap_paired
from assay.vocabulary import NonNegative, Rule, Task

SHOWN_EDITS = 12


@dataclass(frozen=True)
class Stress(BlindSpot):
    """Eighteen noises at several levels, each under several seeds."""

    name = "stress"
    title = "Stress tests: does the score fall with the noise?"
    advice = "Read it beside a metric that notices the noises it misses; `assay panel` names one."
    statistics = STATISTICS
    charts = (
        Chart("curve", "score", "Score against noise ratio", x="noise_ratio", colour="sensitivity", depth=2),
    )
    tasks = ("translation", "summarisation", "open-ended")
    quick_options = {"seeds": 1, "limit": 20, "open_limit": 12, "depth": "ends"}

    data: tuple[Path, ...] = ()
    references: Path | None = None  # the other set of open-ended text
    rule: Rule = "careful"
    seed: NonNegative = 0
    seeds: int = 5  # repeats of a random noise
    limit: int | None = None
    open_limit: int | None = None
    only: tuple[str, ...] = ()  # noises
    task: tuple[str, ...] = ()
    depth: Literal["all", "ends"] = "all"  # every level, or the lowest and the highest
    units: bool = False  # figure 9: switch tokens, sub-sentences, sentences, sentences with the last
    masked_lm: str | None = None  # weights for bert-diverge
    flat_margin: float = 0.1  # SDs of clean scores per unit of noise; below it a metric is insensitive
    step_margin: float = 0.05  # SDs of clean scores by which a score may rise from one level to the next

    def cases(self) -> Iterable[Case]:
        """One case per clean text, then one per text and noise; roles are LEVEL/SEED."""
        return self._cases

    @cached_property
    def _cases(self) -> list[Case]:
        cases: list[Case] = []
        for corpus in self.corpora:
            parse([record.gold for record in corpus.records])
            clean = [Item(record, {CLEAN: record.gold}) for record in corpus.records]
            cases += corpus.cases(f"{corpus.name}/{CLEAN}", clean)
            for noise, noise_levels in self._noises(corpus).items():
                items = [self._item(record, noise, noise_levels, corpus) for record in corpus.records]
                applied = [item for item in items if item is not None]
                cases += corpus.cases(f"{corpus.name}/{noise}", applied)
        return cases

    def _noises(self, corpus: Corpus) -> dict[str, tuple[Level, ...]]:
        known = levels(profile_of(corpus.records), self.rule)
        every = known | UNITS if self.units or set(self.only) & set(UNITS) else known
        for wrong in set(self.only) - set(every) - set(levels("summaries", "careful")):
            raise DataError(f"unknown noise {wrong!r}{suggest(wrong, every)}")
        chosen = [noise for noise in every if noise in self.only] if self.only else list(every)
        if self.depth == "all":
            return {noise: every[noise] for noise in chosen}
        return {noise: tuple(dict.fromkeys((every[noise][0], every[noise][-1]))) for noise in chosen}

    def _item(self, record: Record, noise: str, noise_levels: Sequence[Level], corpus: Corpus) -> Item | None:
        """An item's texts by role; None where no level under any seed changed it."""
        key = record.key
        texts: dict[str, str] = {CLEAN: record.gold}
        ratios: dict[str, float] = {}
        changed: dict[str, list[tuple[str, str]]] = {}
        meta: dict[str, Any] = {"ratios": ratios, "changed": changed}
        for level in noise_levels:
            perturbation = self._perturbation(noise, level, corpus.task)
            seeds = range(1, self.seeds + 1) if perturbation.seeded else (1,)
            switched = perturbation.switched
            total = 0.0
            for number in seeds:
                rng = generator(self.seed + number, perturbation.signature, key)
                noised = perturbation.apply(record, rng) or record.gold
                texts[f"{level:g}/{number}"] = noised
                total += noise_ratio(record.gold, noised, switched=switched)
            ratios[f"{level:g}"] = total / len(seeds)
            edits = alignment(record.gold, texts[f"{level:g}/1"])[:SHOWN_EDITS]
            changed[f"{level:g}"] = [(edit.before, edit.after) for edit in edits]
            if perturbation.method:
                meta["method"] = perturbation.method
        if self.rule == "careful" and not any(ratios.values()):
            return None
        return Item(record, texts, meta)

    def _perturbation(self, noise: str, level: Level, task: Task) -> Perturbation:
        options: dict[str, Any] = {"model": self.masked_lm} if noise == "bert-diverge" else {}
        if noise.startswith("sentence-switching"):
            # MAUVE reads the last token, so the paper never moves the last sentence of open-ended text.
            options = {"last": (task != "open-ended" and not self.units) or noise.endswith("-all")}
            noise = "sentence-switching"
        kind: Any = perturbation_class(noise)
        perturbation: Perturbation = kind(level=level, **options)
        return perturbation

    @cached_property
    def _ratios(self) -> dict[str, dict[str, float]]:
        """The mean noise ratio over items, by slice and level."""
        listed: dict[str, dict[str, list[float]]] = {}
        for case in self._cases:
            for level, ratio in case.meta.get("ratios", {}).items():
                listed.setdefault(case.slice, {}).setdefault(level, []).append(ratio)
        return {
            slice_: {level: float(np.mean(ratios)) for level, ratios in by_level.items()}
            for slice_, by_level in listed.items()
        }

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        """The mean score of the clean texts, or the curve of a noise."""
        if scores.slice.endswith(f"/{CLEAN}"):
            return [Finding.of(scores.scored, scores.slice, "score", scores.mean_score([CLEAN]))]
        curve = self._curve(scores)
        return () if curve is None else curve.findings(judged=self.judges(scores))

    def _curve(self, scores: SliceScores) -> Curve | None:
        """The curve of a noise; None where no level that has scores changed a text."""
        ratios = self._ratios.get(scores.slice, {})
        named = {level: scores.roles(f"{level}/") for level in ratios}
        roles = {level: listed for level, listed in named.items() if listed}
        return Curve(scores, roles, ratios) if any(ratios[level] for level in roles) else None

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterator[Finding]:
        """How much less steeply each metric falls than the steepest on the same items."""
        curves: dict[str, list[Curve]] = {}
        for scores in slices:
            if (curve := self._curve(scores)) is not None:
                curves.setdefault(scores.slice, []).append(curve)
        for slice_, compared in curves.items():
            best = max(compared, key=lambda curve: curve.slope.value)
            for curve in compared:
                if curve is not best:
                    yield Finding.of(
                        curve.scores.scored, slice_, "sensitivity", self._gap(curve, best),
                        versus=best.scores.scored.metric, judged=False,
                    )  # fmt: skip

    def _gap(self, curve: Curve, best: Curve) -> Estimate:
        scores = curve.scores
        paired = scores.ids == best.scores.ids and scores.n > 1 and not scores.scored.is_set
        ci = bootstrap_paired(curve.item_slopes, best.item_slopes, seed=self.seed) if paired else None
        return Estimate(curve.slope.value - best.slope.value, scores.n, ends(ci))

    def remarks(self) -> list[str]:
        """Small datasets, noises that change nothing or few items, and how bert-diverge found its words."""
        notes = super().remarks()
        for slice_, ratios in self._ratios.items():
            same = [level for level, ratio in ratios.items() if not ratio]
            if same:
                notes.append(
                    f"{slice_}: no text is changed at {', '.join(same)}: too short for so little noise"
                )
        listed = [case.slice for case in self._cases]
        for corpus in self.corpora:
            for noise in self._noises(corpus):
                applied = listed.count(f"{corpus.name}/{noise}")
                if applied < len(corpus.records):
                    notes.append(f"{corpus.name}/{noise} applies to {applied} of {len(corpus.records)} items")
        if self.masked_lm is None and any(slice_.endswith("/bert-diverge") for slice_ in listed):
            notes.append(f"bert-diverge used {FALLBACK}; name one with --masked-lm")
        return notes
