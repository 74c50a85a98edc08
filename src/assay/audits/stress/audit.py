"""Stress tests (*blind* sec. 2, 5.5, app. I): does a score fall as a text is made worse?

A noise is judged on the items it changed, and so is the clean text. The paper's rule asks the means to fall
at every level, so that a good metric fails by sampling noise alone. The careful rule averages seeds within
an item and resamples items: under the strongest noise a metric must surely fall by more than a margin, and it
must not surely rise from one level to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np

from assay.audits.corpora import BlindSpot, Corpus, Item, could_matter
from assay.audits.gap import CLEAN, NOTICED
from assay.audits.languages import language_notes
from assay.audits.slices import SliceScores, between_metrics
from assay.audits.stress.curves import STATISTICS, Curve
from assay.core import Case, Chart, Finding, Perturbation, Record
from assay.errors import DataError, suggest
from assay.models import fill
from assay.models.nlp import parse
from assay.names.registry import perturbation_class
from assay.perturbations.diverge import LM_DIVERGE
from assay.perturbations.ratio import alignment, noise_ratio
from assay.recipe import generator
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
    margin: float = NOTICED  # percent of the gap by which a score must fall, and may rise between levels

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
        changed: dict[str, list[tuple[str, str]]] = {}
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
            changed[f"{level:g}"] = [(edit.before, edit.after) for edit in edits]
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
        return (
            ()
            if curve is None
            else curve.findings(judged=self.judges(scores), rise=self.margin, seed=self.seed)
        )

    def _curve(self, scores: SliceScores) -> Curve | None:
        """The curve of a noise; None where no level that has scores changed a text."""
        ratios = self._ratios.get(scores.slice, {})
        named = {level: scores.roles(f"{level}/") for level in ratios}
        roles = {level: listed for level, listed in named.items() if listed}
        return Curve(scores, roles, ratios) if any(ratios[level] for level in roles) else None

    def compare(self, slices: Sequence[SliceScores], findings: Sequence[Finding]) -> Iterator[Finding]:
        """How much less each metric falls than the one that falls most on the same items."""
        curves: dict[str, list[Curve]] = {}
        for scores in slices:
            if (curve := self._curve(scores)) is not None:
                curves.setdefault(scores.slice, []).append(curve)
        for slice_, compared in curves.items():
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
        listed = [case.slice for case in self._cases]
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

_TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5)
_TWENTIETHS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
_HALVES = (0.5, 1.0)
# The CNNDM settings; the other corpora change some of them.
_SUMMARIES: dict[str, tuple[Level, ...]] = {
    "truncation": _TENTHS,
    "article-removal": _HALVES,
    "preposition-removal": (0.4, 0.7, 1.0),
    "stop-word-removal": (*_TENTHS, 0.6),
    "verb-lemmatisation": _HALVES,
    "token-drop": _TWENTIETHS,
    "repeated-token": _TWENTIETHS,
    "local-swap": (0.05, 0.15, 0.3, 0.6),
    "middle-swap": (1, 2, 3),
    "noised-punctuation": _HALVES,
    "sentence-switching": (1, 2),
    "sentence-replacement": (1, 2),
    "negation": _HALVES,
    "generic-named-entity": _HALVES,
    "named-entity-switching": (1, 3),
    "verb-switching": (8,),
    "noun-switching": (2, 7),
    "bert-diverge": (0.1, 0.2, 0.3, 0.4),
}
_CHANGES: dict[Profile, dict[str, tuple[Level, ...]]] = {
    "summaries": {},
    "sentences": {"middle-swap": (1,), "noun-switching": (1, 6)},
    "paragraphs": {
        "middle-swap": (1,),
        "sentence-switching": (1, 2, 3),
        "sentence-replacement": (1, 2, 3),
        "bert-diverge": (0.15, 0.3, 0.45, 0.6),
    },
    "open-ended": {
        "sentence-switching": (1, 2, 6),
        "noun-switching": (10, 60),
        "verb-switching": (10, 60),
        "named-entity-switching": (6, 15, 30),
        "sentence-replacement": (1, 2, 3, 4, 5, 6),
    },
}
# Never applied in the paper; the careful rule lets the items decide.
_NEVER: dict[Profile, tuple[str, ...]] = {
    "summaries": (),
    "sentences": ("sentence-switching", "verb-switching", "named-entity-switching", "sentence-replacement"),
    "paragraphs": ("named-entity-switching", "generic-named-entity"),
    "open-ended": ("bert-diverge",),
}
# Figure 9: how the unit of a switch matters.
UNITS: dict[str, tuple[Level, ...]] = {
    "token-switching": (1, 2, 6),
    "sub-sentence-switching": (1, 2, 6),
    "sentence-switching": (1, 2, 6),
    "sentence-switching-all": (1, 2, 6),
}


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
    whole = _SUMMARIES | _CHANGES[profile]
    left_out = _NEVER[profile] if rule == "paper" else _NEVER[profile] * (profile == "open-ended")
    return {noise: steps for noise, steps in whole.items() if noise not in left_out}
