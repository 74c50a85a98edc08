"""Stress tests (*blind* sec. 2, 5.5, app. I): does a metric prefer a text to its damaged versions?

A noise has levels. A metric is judged under the strongest one, on the items that it changed: of the clean
text and the damaged one, it must score the clean one higher. Right order by level stands beside the verdict.
The paper's rule asks the means to fall at every level instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.base import TextAudit, in_words, order_in_words
from assay.audits.corpora import (
    MEAN_CHANGE,
    REWORDED_STATISTIC,
    BlindSpot,
    Corpus,
    Item,
    language_notes,
    matched_rewording,
    mean_change,
    pooled_order,
    right_order_statistic,
    titles,
)
from assay.audits.effects import BAR, CLEAN, REWORDED, AlignedScores
from assay.core import Case, Chart, Finding, Floats, MadeOnce, Perturbation, Record, Statistic
from assay.errors import DataError, suggest
from assay.files import toml_file
from assay.grouping import rows_by_label
from assay.models import fill
from assay.models.nlp import parse
from assay.names.registry import perturbation_class, perturbation_classes, plugged
from assay.perturbations.diverge import LM_DIVERGE
from assay.perturbations.ratio import alignment, noise_ratio
from assay.perturbations.released import AS_RELEASED
from assay.recipe import generator
from assay.vocabulary import Language, Rule, Task

SHOWN_EDITS = 12
MODEL_NOISE = "bert-diverge"  # which runs a language model


def _sentence(finding: Finding) -> str:
    corpus, noise, *_ = finding.slice.split("/")
    return order_in_words(finding, f"a clean text ({in_words(corpus)})", f"one damaged by {in_words(noise)}")


@dataclass(frozen=True)
class Stress(MadeOnce, BlindSpot, TextAudit):
    """Eighteen noises at several levels, each under several seeds."""

    name = "stress"
    title = "Stress tests: does the clean text win?"
    advice = "Read it beside a metric that notices the noises it misses; `assay panel` names one."
    tasks = ("translation", "summarisation", "open-ended")
    quick: ClassVar[Mapping[str, Any]] = {"seeds": 1, "depth": "ends", "asks_model": False}
    statistics = (
        right_order_statistic("a clean text and one under the strongest noise", "", sentence=_sentence),
        Statistic(
            "right_order_at_level",
            "Of 100 decisions between a clean text and one at this level of the noise, how many are right.",
            "of 100",
        ),
        REWORDED_STATISTIC,
        Statistic(
            "mean_right_order",
            "Right order averaged over the noises that change what a text means, or over those that change "
            "its form.",
            "of 100",
        ),
        MEAN_CHANGE,
        Statistic("score", "The mean score, as the metric gives it.", "score"),
        Statistic(
            "noise_ratio", "How much of the text was changed: edit distance divided by length.", "ratio"
        ),
    )
    charts = (
        Chart(
            "curve",
            "right_order_at_level",
            "Right order against noise ratio",
            x="noise_ratio",
            colour="right_order",
            depth=2,
        ),
    )

    seeds: int = 5  # repeats of a random noise
    only: tuple[str, ...] = ()  # noises
    task: tuple[str, ...] = ()
    language: Language = "en"  # of the embedded texts
    depth: Literal["all", "ends"] = "all"  # every level, or the lowest and the highest
    units: bool = False  # figure 9: switch tokens, sub-sentences, sentences, sentences with the last
    asks_model: bool = True  # noises that run a language model, seconds per text
    masked_lm: str | None = None  # weights for bert-diverge
    bar: float = BAR

    @property
    def subjects(self) -> Mapping[str, str]:
        return titles()

    @property
    def is_own(self) -> bool:
        return self.masked_lm is None and not plugged("perturbations") and super().is_own

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
                cases += corpus.cases(f"{corpus.name}/{noise}", list(filter(None, items)))
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

    def _noises(self, corpus: Corpus) -> dict[str, tuple[_Level, ...]]:
        """The noises put to a corpus, with their levels."""
        known = self._known_noises(corpus)
        unknown = set(self.only) - set(known) - set(levels("summaries", "careful"))
        if unknown:
            wrong = min(unknown)
            raise DataError(f"unknown noise {wrong!r}{suggest(wrong, known)}")
        chosen = {noise: steps for noise, steps in known.items() if noise in (self.only or known)}
        if not self._runs_models:
            chosen.pop(MODEL_NOISE, None)
        if self.depth == "all":
            return chosen
        return {noise: tuple(dict.fromkeys((steps[0], steps[-1]))) for noise, steps in chosen.items()}

    def _known_noises(self, corpus: Corpus) -> dict[str, tuple[_Level, ...]]:
        """The noises for a corpus of that kind and language, and those that were asked for by name."""
        known, elsewhere = levels(self._profiles[corpus.name], self.rule), declared_levels(for_english=False)
        asks_elsewhere = not elsewhere.keys().isdisjoint(self.only)
        if asks_elsewhere or (self.rule == "careful" and not corpus.is_english):
            known = known | elsewhere
        asks_units = self.units or not UNITS.keys().isdisjoint(self.only)
        return known | UNITS if asks_units else known

    @property
    def _runs_models(self) -> bool:
        """Whether noises that run a language model are put to the texts."""
        return self.asks_model or self.masked_lm is not None or MODEL_NOISE in self.only

    def fetch(self) -> str | None:
        asks_own_model = self.masked_lm is None and MODEL_NOISE in (self.only or (MODEL_NOISE,))
        reason = fill.fetch() if asks_own_model and self._runs_models else None
        return f"{MODEL_NOISE}: {reason}" if reason else None

    def _item(
        self, record: Record, noise: str, noise_levels: Sequence[_Level], corpus: Corpus
    ) -> Item | None:
        """An item's texts by role; None where no level under any seed changed it."""
        texts: dict[str, str] = {CLEAN: record.gold}
        ratios: dict[str, float] = {}
        changed: dict[str, list[list[str]]] = {}
        meta: dict[str, Any] = {"ratios": ratios, "changed": changed}
        for level in noise_levels:
            perturbation = self._perturbation(noise, level, corpus.task)
            noised = self._noised(record, perturbation)
            texts |= {f"{level:g}/{number}": text for number, text in noised.items()}
            sizes = [
                noise_ratio(record.gold, text, switched=perturbation.switched) for text in noised.values()
            ]
            ratios[f"{level:g}"] = sum(sizes) / max(1, len(sizes))
            edits = alignment(record.gold, noised.get(1, record.gold))[:SHOWN_EDITS]
            changed[f"{level:g}"] = [[edit.before, edit.after] for edit in edits]
        strongest = self._perturbation(noise, noise_levels[-1], corpus.task)
        meta |= {"method": strongest.method} if strongest.method else {}
        if self.rule == "paper":
            return Item(record, texts, meta)
        meta["aspect"] = strongest.aspect
        damaged = texts.get(f"{noise_levels[-1]:g}/1")
        sound = matched_rewording(record, damaged) if damaged else None
        texts |= {REWORDED: sound} if sound else {}
        return Item(record, texts, meta) if any(ratios.values()) else None

    def _noised(self, record: Record, perturbation: Perturbation) -> dict[int, str]:
        """The noised text under each seed; a text that stays as it was counts by the paper's rule alone."""
        understood = perturbation.understands(record)
        texts = {}
        for number in range(1, self.seeds + 1 if perturbation.seeded else 2):
            rng = generator(self.seed + number, perturbation.signature, record.key)
            text = (perturbation.apply(record, rng) if understood else None) or record.gold
            if text != record.gold or self.rule == "paper":
                texts[number] = text
        return texts

    def _perturbation(self, noise: str, level: _Level, task: Task) -> Perturbation:
        options: dict[str, Any] = {"model": self.masked_lm} if noise == MODEL_NOISE else {}
        if noise.startswith("sentence-switching"):
            # MAUVE reads the last token, so the paper never moves the last sentence of open-ended text.
            options = {"last": (task != "open-ended" and not self.units) or noise.endswith("-all")}
            noise = "sentence-switching"
        is_released = self.rule == "paper" and noise in AS_RELEASED
        kind: Any = AS_RELEASED[noise] if is_released else perturbation_class(noise)
        perturbation: Perturbation = kind(level=level, **options)
        return perturbation

    @cached_property
    def _ratios(self) -> dict[str, dict[str, float]]:
        """The mean noise ratio of each level over the texts that it changed, by slice."""
        noised = [case for case in self.made if "ratios" in case.meta]
        ratios = {}
        for slice_, rows in rows_by_label([case.slice for case in noised]).items():
            tables = [noised[row].meta["ratios"] for row in rows]
            ratios[str(slice_)] = {level: self._mean_ratio(tables, level) for level in tables[0]}
        return ratios

    def _mean_ratio(self, tables: Sequence[Mapping[str, float]], level: str) -> float:
        sizes = [table[level] for table in tables if table[level] or self.rule == "paper"]
        return float(np.mean(sizes)) if sizes else 0.0

    def slice_findings(self, scores: AlignedScores) -> Iterator[Finding]:
        if scores.slice.endswith(f"/{CLEAN}"):
            yield Finding.of(scores.scored, scores.slice, "score", scores.mean([CLEAN]), n=scores.n)
            return
        levels = self._levels(scores)
        for level, roles in levels.items():
            where, ratio = f"{scores.slice}/{level}", self._ratios[scores.slice][level]
            order = scores.right_order([CLEAN], roles)
            yield Finding.of(scores.scored, where, "score", scores.mean(roles), n=scores.n)
            yield Finding.of(scores.scored, where, "noise_ratio", ratio, n=scores.n)
            yield Finding.of(scores.scored, where, "right_order_at_level", order, versus=CLEAN)
        if levels:
            yield from self._verdicts(scores, levels)

    def _verdicts(self, scores: AlignedScores, levels: Mapping[str, list[str]]) -> Iterator[Finding]:
        """What is judged of one noise: right order at its strongest level; by the paper, the largest step."""
        if self.rule == "paper":
            yield self._largest_step(scores, levels)
            return
        strongest = list(levels.values())[-1]
        yield from self.order(scores, scores.slice, strongest)
        if REWORDED in scores.columns:
            sound = scores.right_order([REWORDED], strongest)
            yield Finding.of(scores.scored, scores.slice, "right_order_reworded", sound, versus=REWORDED)

    def _levels(self, scores: AlignedScores) -> dict[str, list[str]]:
        """The roles of each level that has scores; empty where no level changed a text."""
        ratios = self._ratios.get(scores.slice, {})
        roles = {level: scores.roles(f"{level}/") for level in ratios}
        levels = {level: names for level, names in roles.items() if names}
        return levels if any(ratios[level] for level in levels) else {}

    def _largest_step(self, scores: AlignedScores, levels: Mapping[str, Sequence[str]]) -> Finding:
        """By the paper's rule the mean must fall from each level to the next: the largest change of them."""
        steps = [
            mean_change(scores, scores.slice, worse, better)
            for better, worse in pairwise([[CLEAN], *levels.values()])
        ]
        return max(steps, key=lambda step: step.value)

    def compare(self, slices: Sequence[AlignedScores], findings: Sequence[Finding]) -> Iterator[Finding]:
        """Right order averaged over noises of one aspect, by metric and corpus and over all corpora."""
        if self.rule == "paper":
            return
        noised = [scores for scores in slices if "aspect" in scores.cases[0].meta and self._levels(scores)]
        by_corpus = [
            (scores.scored.metric, scores.slice.partition("/")[0], scores.cases[0].meta["aspect"])
            for scores in noised
        ]
        over_all = [(metric, "all", aspect) for metric, _, aspect in by_corpus]
        for labels in (by_corpus, over_all):
            for (_, corpus, aspect), rows in rows_by_label(labels).items():
                kinds = [(noised[row], self._decisions(noised[row])) for row in rows]
                finding = pooled_order(f"{corpus}/{aspect}", "mean_right_order", kinds)
                yield from [finding] if finding else []

    def _decisions(self, scores: AlignedScores) -> Floats:
        """Of each item, how often the clean text wins against its strongest noise."""
        return scores.decisions([CLEAN], list(self._levels(scores).values())[-1])

    def remarks(self) -> list[str]:
        """Small datasets, noises that change nothing or few items, and how bert-diverge found its words."""
        notes = [*super().remarks(), *self._unchanged_notes()]
        for corpus in self.corpora:
            noises = [self._perturbation(noise, 1, corpus.task) for noise in self._noises(corpus)]
            notes += language_notes(corpus.name, corpus.records, noises)
            notes += self._applied_notes(corpus)
        return notes + self._model_notes()

    def _unchanged_notes(self) -> Iterator[str]:
        """The levels at which a noise changes no text of a corpus."""
        for slice_, ratios in self._ratios.items():
            same = ", ".join(level for level, ratio in ratios.items() if not ratio)
            if same:
                yield f"{slice_}: no text is changed at {same}: too short for so little noise"

    def _applied_notes(self, corpus: Corpus) -> Iterator[str]:
        """The noises that change some items of a corpus only; those that change none, of an English one."""
        applied, total = Counter(case.slice for case in self.made), len(corpus.records)
        for noise in self._noises(corpus):
            count = applied[f"{corpus.name}/{noise}"]
            if count < total and (count or corpus.is_english):
                yield f"{corpus.name}/{noise} applies to {count} of {total} items"

    def _model_notes(self) -> list[str]:
        """Whether the noise that runs a language model was made, and by which model."""
        if not self._runs_models and not self.only:
            left_out = f"{MODEL_NOISE} is left out at the quick size; it runs a language model"
            has_one_meaning = any(corpus.task != "open-ended" for corpus in self.corpora)
            return [left_out] if has_one_meaning else []
        if self.masked_lm is not None or not any(MODEL_NOISE in self._noises(c) for c in self.corpora):
            return []
        reason = fill.missing()
        used = f"was not applied: {reason}" if reason else f"is {LM_DIVERGE}"
        return [f"{MODEL_NOISE} {used}; name a masked one with --masked-lm"]


_Level = float | int
Profile = Literal["summaries", "sentences", "paragraphs", "open-ended"]
_TABLE = toml_file("stress", "levels")
UNITS: dict[str, tuple[_Level, ...]] = {noise: tuple(steps) for noise, steps in _TABLE["units"].items()}


def profile_of(records: Sequence[Record]) -> Profile:
    """The corpus of the paper that this one resembles."""
    task = records[0].task
    if task == "open-ended":
        return "open-ended"
    if task == "summarisation":
        return "summaries"
    lengths = [len(parsed.sentences) for parsed in parse([record.gold for record in records])]
    return "paragraphs" if median(lengths) >= 3 else "sentences"


def levels(profile: Profile, rule: Rule) -> dict[str, tuple[_Level, ...]]:
    """Noise to levels, weakest first; open-ended text has no one meaning to diverge from (app. I)."""
    changes = _TABLE["changes"].get(profile, {})
    left_out = _TABLE["never"].get(profile, ()) if rule == "paper" or profile == "open-ended" else ()
    declared = declared_levels(for_english=True)
    return {
        noise: tuple(changes.get(noise, steps)) for noise, steps in declared.items() if noise not in left_out
    }


@cache
def declared_levels(*, for_english: bool) -> dict[str, tuple[_Level, ...]]:
    """The noises that a run on English texts uses unasked, plug-ins among them, or those for other languages.

    The latter go by scripts and word lists: in English they would say again what the other noises say.
    """
    kinds = [kind for kind in perturbation_classes().values() if kind.for_english == for_english]
    return {kind.name: kind.levels for kind in kinds if kind.levels}
