"""Stress tests (*blind* sec. 2, 5.5, app. I): does a score fall as a text is made worse?

A noise is judged on the items it changed, and so is the clean text. The paper's rule asks the means to fall
at every level, so that a good metric fails by sampling noise alone. The careful rule averages seeds within
an item and resamples items: under the strongest noise a metric must surely fall by more than a margin, and it
must not surely rise from one level to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any, Literal

import numpy as np

from assay.audits.base import TextAudit, declared
from assay.audits.corpora import BlindSpot, Corpus, Item, could_matter, language_notes
from assay.audits.gap import CLEAN, NOTICED
from assay.audits.slices import SliceScores, between_metrics, difference, grouped
from assay.core import Case, Estimate, Finding, MadeOnce, Perturbation, Record
from assay.datasets.lexicon import toml_file
from assay.errors import DataError, suggest
from assay.models import fill
from assay.models.nlp import parse
from assay.names.registry import perturbation_class
from assay.perturbations.diverge import LM_DIVERGE
from assay.perturbations.ratio import alignment, noise_ratio
from assay.recipe import generator
from assay.vocabulary import Rule, Task

SHOWN_EDITS = 12


@declared()
@dataclass(frozen=True)
class Stress(MadeOnce, BlindSpot, TextAudit):
    """Eighteen noises at several levels, each under several seeds."""

    name = "stress"
    tasks = ("translation", "summarisation", "open-ended")

    seeds: int = 5  # repeats of a random noise
    limit: int | None = None
    open_limit: int | None = None
    only: tuple[str, ...] = ()  # noises
    task: tuple[str, ...] = ()
    depth: Literal["all", "ends"] = "all"  # every level, or the lowest and the highest
    units: bool = False  # figure 9: switch tokens, sub-sentences, sentences, sentences with the last
    masked_lm: str | None = None  # weights for bert-diverge
    margin: float = NOTICED  # percent of the gap by which a score must fall, and may rise between levels

    @property
    def is_own(self) -> bool:
        return self.masked_lm is None and super().is_own

    def make_cases(self) -> list[Case]:
        """One case per clean text, then one per text and noise; roles are LEVEL/SEED."""
        cases: list[Case] = []
        for corpus in self.corpora:
            parse([record.gold for record in corpus.records])
            profile = {"profile": self._profiles[corpus.name]}
            clean = [Item(record, {CLEAN: record.gold}, profile) for record in corpus.records]
            cases += corpus.cases(f"{corpus.name}/{CLEAN}", clean)
            for noise, noise_levels in self._noises(corpus).items():
                items = [self._item(record, noise, noise_levels, corpus) for record in corpus.records]
                applied = [item for item in items if item is not None]
                cases += corpus.cases(f"{corpus.name}/{noise}", applied)
        return cases

    @cached_property
    def _profiles(self) -> dict[str, Profile]:
        return {corpus.name: profile_of(corpus.records) for corpus in self.corpora}

    def recall(self, cases: list[Case]) -> None:
        super().recall(cases)  # and with them what took a parse of every text to know
        clean = (case for case in cases if "profile" in case.meta)
        vars(self)["_profiles"] = {
            case.slice.removesuffix(f"/{CLEAN}"): case.meta["profile"] for case in clean
        }

    def _noises(self, corpus: Corpus) -> dict[str, tuple[Level, ...]]:
        known = levels(self._profiles[corpus.name], self.rule)
        every = known | UNITS if self.units or set(self.only) & set(UNITS) else known
        for wrong in set(self.only) - set(every) - set(levels("summaries", "careful")):
            raise DataError(f"unknown noise {wrong!r}{suggest(wrong, every)}")
        chosen = [noise for noise in every if noise in self.only] if self.only else list(every)
        if self.depth == "all":
            return {noise: every[noise] for noise in chosen}
        chosen = [noise for noise in chosen if noise != "bert-diverge" or not self._leaves_models_out]
        return {noise: tuple(dict.fromkeys((every[noise][0], every[noise][-1]))) for noise in chosen}

    @property
    def _leaves_models_out(self) -> bool:
        """Whether noises that run a language model, seconds per text, are left out."""
        return self.depth == "ends" and self.masked_lm is None and "bert-diverge" not in self.only

    def _item(self, record: Record, noise: str, noise_levels: Sequence[Level], corpus: Corpus) -> Item | None:
        """An item's texts by role; None where no level under any seed changed it."""
        key = record.key
        texts: dict[str, str] = {CLEAN: record.gold}
        ratios: dict[str, float] = {}
        changed: dict[str, list[list[str]]] = {}
        meta: dict[str, Any] = {"ratios": ratios, "changed": changed}
        for level in noise_levels:
            perturbation = self._perturbation(noise, level, corpus.task)
            seeds = range(1, self.seeds + 1) if perturbation.seeded else (1,)
            switched = perturbation.switched
            total = 0.0
            for number in seeds:
                rng = generator(self.seed + number, perturbation.signature, key)
                changed_text = perturbation.apply(record, rng) if perturbation.understands(record) else None
                noised = changed_text or record.gold
                texts[f"{level:g}/{number}"] = noised
                total += noise_ratio(record.gold, noised, switched=switched)
            ratios[f"{level:g}"] = total / len(seeds)
            edits = alignment(record.gold, texts[f"{level:g}/1"])[:SHOWN_EDITS]
            changed[f"{level:g}"] = [[edit.before, edit.after] for edit in edits]
            if perturbation.method:
                meta["method"] = perturbation.method
        if self.rule == "careful" and not any(ratios.values()):
            return None
        changed_texts = (text for role, text in texts.items() if role != CLEAN)
        meta["matters"] = self.rule == "paper" or could_matter(record, *changed_texts)
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
        ratios = {}
        noised = (case for case in self.made if "ratios" in case.meta)
        for slice_, cases in grouped(noised, lambda case: case.slice).items():
            rows = [case.meta["ratios"] for case in cases]
            ratios[slice_] = {level: float(np.mean([row[level] for row in rows])) for level in rows[0]}
        return ratios

    def slice_findings(self, scores: SliceScores) -> Iterable[Finding]:
        if scores.slice.endswith(f"/{CLEAN}"):
            return [Finding.of(scores.scored, scores.slice, "score", scores.mean_score([CLEAN]))]
        if (curve := self._curve(scores)) is None:
            return ()
        return curve.findings(judged=self.judges(scores), rise=self.margin, seed=self.seed)

    def _curve(self, scores: SliceScores) -> Curve | None:
        """The curve of a noise; None where no level that has scores changed a text."""
        ratios = self._ratios.get(scores.slice, {})
        named = {level: scores.roles(f"{level}/") for level in ratios}
        roles = {level: listed for level, listed in named.items() if listed}
        return Curve(scores, roles, ratios) if any(ratios[level] for level in roles) else None

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterator[Finding]:
        """How much less each metric falls than the one that falls most on the same items."""
        curves = (curve for curve in map(self._curve, slices) if curve is not None)
        for slice_, compared in grouped(curves, lambda curve: curve.scores.slice).items():
            best = max(compared, key=lambda curve: curve.fall.value)
            for curve in compared:
                if curve is not best:
                    first, second = curve.scores, best.scores
                    lag = between_metrics(first, second, curve.fall_weights, best.fall_weights)
                    yield Finding.of(
                        first.scored, slice_, "sensitivity", lag, versus=second.scored.metric, judged=False
                    )

    def remarks(self) -> list[str]:
        """Small datasets, noises that change nothing or few items, and how bert-diverge found its words."""
        notes = super().remarks()
        for slice_, ratios in self._ratios.items():
            same = [level for level, ratio in ratios.items() if not ratio]
            if same:
                notes.append(
                    f"{slice_}: no text is changed at {', '.join(same)}: too short for so little noise"
                )
        listed = [case.slice for case in self.made]
        for corpus in self.corpora:
            noises = [self._perturbation(noise, 1, corpus.task) for noise in self._noises(corpus)]
            notes += language_notes(corpus.name, corpus.records, noises)
            for noise in self._noises(corpus):
                applied = listed.count(f"{corpus.name}/{noise}")
                if applied < len(corpus.records):
                    notes.append(f"{corpus.name}/{noise} applies to {applied} of {len(corpus.records)} items")
        has_one_meaning = any(corpus.task != "open-ended" for corpus in self.corpora)
        if self._leaves_models_out and not self.only and has_one_meaning:
            notes.append("bert-diverge is left out at the quick size; it runs a language model")
        elif self.masked_lm is None and any("bert-diverge" in self._noises(c) for c in self.corpora):
            reason = fill.missing()
            used = f"was not applied: {reason}" if reason else f"is {LM_DIVERGE}"
            notes.append(f"bert-diverge {used}; name a masked one with --masked-lm")
        return notes


Level = float | int
Profile = Literal["summaries", "sentences", "paragraphs", "open-ended"]
_TABLE = toml_file("stress", "levels")
UNITS: dict[str, tuple[Level, ...]] = {noise: tuple(steps) for noise, steps in _TABLE["units"].items()}


def profile_of(records: Sequence[Record]) -> Profile:
    """The corpus of the paper that this one resembles."""
    task = records[0].task
    if task == "open-ended":
        return "open-ended"
    if task == "summarisation":
        return "summaries"
    lengths = [len(parsed.sentences) for parsed in parse([record.gold for record in records])]
    return "paragraphs" if median(lengths) >= 3 else "sentences"


def levels(profile: Profile, rule: Rule) -> dict[str, tuple[Level, ...]]:
    """Noise to levels, weakest first; open-ended text has no one meaning to diverge from (app. I)."""
    whole = _TABLE["summaries"] | _TABLE["changes"].get(profile, {})
    left_out = _TABLE["never"][profile] if rule == "paper" or profile == "open-ended" else ()
    return {noise: tuple(steps) for noise, steps in whole.items() if noise not in left_out}


@dataclass(frozen=True)
class Curve:
    """One metric under one noise: roles by level (one per seed) and the mean noise ratio of each level."""

    scores: SliceScores
    roles: Mapping[str, Sequence[str]]
    ratios: Mapping[str, float]

    @property
    def fall_weights(self) -> dict[str, float]:
        """The clean score minus that under the strongest noise, as weights of roles."""
        return {role: -weight for role, weight in difference(self._strongest).items()}

    @property
    def _strongest(self) -> Sequence[str]:
        return list(self.roles.values())[-1]

    @cached_property
    def fall(self) -> Estimate:
        """How far the score falls; the paper asks only that the mean fall from level to level."""
        change = self.scores.contrast(self._strongest)
        ci = None if change.ci is None else (-change.ci[1], -change.ci[0])
        means = [self.scores.mean_score(roles).value for roles in ([CLEAN], *self.roles.values())]
        paper = all(later < earlier for earlier, later in pairwise(means))
        return replace(change, value=-change.value, ci=ci, paper=paper)

    def findings(self, *, judged: bool, rise: float, seed: int) -> Iterator[Finding]:
        scored, slice_ = self.scores.scored, self.scores.slice
        yield Finding.of(scored, f"{slice_}/{CLEAN}", "score", self.scores.mean_score([CLEAN]))
        for level, roles in self.roles.items():
            where = f"{slice_}/{level}"
            seeds = np.array([self.scores.mean(role) for role in roles])
            yield Finding.of(scored, where, "score", self.scores.mean_score(roles))
            yield Finding.of(scored, where, "noise_ratio", self.ratios[level], n=self.scores.n)
            yield Finding.of(scored, where, "seed_std", float(seeds.std()), n=len(seeds))
        yield from self._steps(judged=judged, rise=rise)
        least = self.scores.top_items(difference(self._strongest))
        yield Finding.of(scored, slice_, "sensitivity", self.fall, evidence=least, judged=judged)
        yield from self.scores.noticed(slice_, self._strongest, seed)

    def _steps(self, *, judged: bool, rise: float) -> Iterator[Finding]:
        """The change from each level to the next, and the largest of them."""
        scored, slice_ = self.scores.scored, self.scores.slice
        levels = [CLEAN, *self.roles]
        named: dict[str, Sequence[str]] = {CLEAN: [CLEAN], **self.roles}
        changes = [difference(named[level], named[before]) for before, level in pairwise(levels)]
        steps = list(zip(levels, self.roles, changes, self.scores.family(changes), strict=False))
        for before, level, _, estimate in steps:
            yield Finding.of(scored, f"{slice_}/{level}", "step_change", estimate, versus=before)
        before, _, change, largest = max(steps, key=lambda step: step[3].value)
        rises = largest.ci is not None and largest.ci[0] > rise
        yield Finding.of(
            scored, slice_, "largest_rise", largest, versus=before,
            evidence=self.scores.top_items(change), judged=judged and rises,
        )  # fmt: skip
