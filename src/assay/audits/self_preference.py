"""Does an evaluator favour what its own model wrote (*blind* sec. 5.4)?

Several evaluators score the outputs of several systems for the same documents. `diagonal_advantage` is how
much more an evaluator prefers its own system to the others than neutral evaluators do, in percent of its gap;
`rank_reversals` counts the systems that neutral evaluators rank above its own and that it ranks below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from assay.audits import gap
from assay.audits.base import DataAudit, declared
from assay.audits.slices import EVIDENCE, FEWEST, interval_estimate, mean_estimate, spread_out
from assay.core import Case, Estimate, Finding, Floats, Judgement, Sample, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.records import embedded_records
from assay.errors import DataError, suggest
from assay.models.fill import continuations, tuned_copy
from assay.statistics.estimates import detectable_effect
from assay.statistics.intervals import interval_of, resampled_means

_PROMPT_WORDS = 15
_SLICE = "outputs"


@declared()
@dataclass(frozen=True)
class SelfPreference(DataAudit):
    """Outputs you supply, or continuations by a local model and a copy of it that is fine-tuned here.

    `self` names the system that an evaluator is made of: EVALUATOR=SYSTEM, the evaluator by its -m. Without
    it, an evaluator owns the system that is named like its backbone.
    """

    name = "self-preference"

    limit: int | None = 30  # documents; of generated text, prompts
    self: tuple[str, ...] = ()
    model: str = "smollm2"  # the generator, where no data is given
    epochs: int = 2
    tokens: int = 40  # per continuation
    top_k: int = 50  # as in the paper
    margin: float = gap.UNFAIR  # percent of the evaluator's gap

    @cached_property
    def _owners(self) -> dict[str, str]:
        """The system of each evaluator, as the user named them."""
        owners = {}
        for pair in self.self:
            label, equals, system = pair.rpartition("=")  # a spec may hold "=" itself
            if not equals or not label:
                raise DataError(f"--self {pair!r} is not EVALUATOR=SYSTEM; write --self gpt-ppl=smollm2")
            owners[label] = system
        return owners

    def cases(self) -> Iterable[Case]:
        """One case per document, one role per system.

        Without data this takes minutes: it fine-tunes a copy of `model` (kept in the cache) and generates
        continuations with both models, outside the score cache and its progress display.
        """
        owners = self._owners  # a wrong option is refused before texts are written
        cases = self._read if self.data else self._written
        systems = _systems(role for case in cases for role in case.samples)
        if len(systems) < 2:
            raise DataError(
                f"self-preference compares systems; the data names {len(systems)}, two are needed"
            )
        for label, system in owners.items():
            if system not in systems:
                raise DataError(f"--self {label}={system}: no such system{suggest(system, systems)}")
        return [_with_worthless(case, cases) for case in cases]

    @cached_property
    def _read(self) -> list[Case]:
        documents: dict[str, dict[str, Rated]] = {}
        for path in self.data:
            for item in read_samples(path):
                if item.system is None or item.doc is None:
                    raise DataError(
                        f"{path}: {item.id} names no {'system' if item.system is None else 'doc'}; "
                        f"each row needs a column system (who wrote it) and doc (for what)"
                    )
                if item.system in documents.setdefault(item.doc, {}):
                    raise DataError(f"{path}: {item.id}: {item.system} has two outputs for {item.doc}")
                documents[item.doc][item.system] = item
        chosen = spread_out([(doc, sorted(items.items())) for doc, items in documents.items()], self.limit)
        return [Case(doc, {system: item.sample for system, item in items}, _SLICE) for doc, items in chosen]

    @cached_property
    def _tuned(self) -> Path:
        """A copy of the model, fine-tuned on embedded text that no prompt is taken from."""
        texts = embedded_records("open-ended")[0].references
        return tuned_copy(self.model, texts, epochs=self.epochs, seed=self.seed)

    @cached_property
    def _written(self) -> list[Case]:
        """Continuations of the beginnings of embedded texts; how the texts go on is the reference."""
        records = spread_out(embedded_records("open-ended"), self.limit)
        prompts = [" ".join(record.gold.split()[:_PROMPT_WORDS]) for record in records]
        models, drawing = (self.model, str(self._tuned)), {"top_k": self.top_k, "seed": self.seed}
        written = [continuations(name, prompts, tokens=self.tokens, **drawing) for name in models]
        outputs = dict(zip((Path(name).name for name in models), written, strict=True))
        cases = []
        for place, (record, prompt) in enumerate(zip(records, prompts, strict=True)):
            rest = " ".join(record.gold.split()[_PROMPT_WORDS : _PROMPT_WORDS + self.tokens])
            samples = {system: Sample(texts[place], (rest,), prompt) for system, texts in outputs.items()}
            if all(sample.hypothesis for sample in samples.values()):
                cases.append(Case(record.id, samples, _SLICE))
        return cases

    def panel(self) -> Sequence[str]:
        """Where the texts are generated: both models as evaluators, and a neutral one."""
        if self.data:
            return ()
        return ("gpt-ppl:scale=log", f"gpt-ppl:scale=log,model={self._tuned}", "bertscore-f")

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Every evaluator's mean score of each system, and how it treats its own system if it has one."""
        single = {answer.metric: answer for answer in scored if not answer.is_set}
        for label, system in self._owners.items():
            if label not in single:
                raise DataError(f"--self {label}={system}: no such evaluator{suggest(label, single)}")
        systems = _systems(role for answer in single.values() for role in answer.values)
        careful = self.rule == "careful"
        every = [evaluator_of(answer, systems, self._owners, careful) for answer in single.values()]
        evaluators = [evaluator for evaluator in every if evaluator is not None]
        findings = [f for answer in single.values() for f in system_means(answer, systems, self.seed)]
        for evaluator in evaluators:
            findings += preference_findings(evaluator, evaluators, self)
        notes = [] if self.data else [
            f"the texts are by {self.model} and a copy of it tuned here for {self.epochs} epochs; "
            f"to try a metric on that copy give model={self._tuned}"
        ]  # fmt: skip
        return Judgement(findings, notes)


def _systems(roles: Iterable[str]) -> list[str]:
    """The roles that are systems, in order."""
    return [role for role in dict.fromkeys(roles) if role != gap.WORTHLESS]


def _with_worthless(case: Case, cases: Sequence[Case]) -> Case:
    """A case with a worthless text beside the systems' outputs."""
    others = [other.hypothesis for listed in cases if listed is not case for other in listed.samples.values()]
    return replace(case, samples=gap.with_worthless(case.samples, others, case.id))


@dataclass(frozen=True, slots=True)
class Evaluator:
    """One metric's scores (documents x systems), its gap on each document, and its own system, if any."""

    metric: str
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    scores: Floats
    gaps: Floats
    own: str | None
    sensitive: bool

    def contrast(self, system: str) -> Floats:
        """One system minus the mean of the others, for each document."""
        place = self.systems.index(system)
        return np.asarray(self.scores[:, place] - np.delete(self.scores, place, axis=1).mean(axis=1))

    def on(self, documents: Sequence[str]) -> Evaluator:
        rows = [self.documents.index(document) for document in documents]
        return replace(self, documents=tuple(documents), scores=self.scores[rows], gaps=self.gaps[rows])


def evaluator_of(
    answer: Scored, systems: Sequence[str], owners: Mapping[str, str], careful: bool
) -> Evaluator | None:
    """A metric as an evaluator, on the documents where it scores every system; None on fewer than two.

    Its own system is the one the user named, or the one that is named like its backbone. If `careful`,
    heavy-tailed scores are put on their log scale, and documents with an outlying score are left out.
    """
    absent = np.full(len(answer.cases), np.nan)
    every = np.stack([answer.values.get(role, absent) for role in (*systems, gap.WORTHLESS)], axis=1)
    every = gap.on_effect_scale(answer, every) if careful else every
    complete = np.isfinite(every[:, :-1]).all(axis=1)
    if careful:
        complete &= ~gap.outlying(list(every.T), every.ravel())
    if complete.sum() < 2:
        return None
    table = every[complete, :-1]
    gaps, sensitive = _gaps(table, every[complete, -1])
    ids = tuple(answer.cases[place].id for place in np.flatnonzero(complete).tolist())
    backbone = Path(str(answer.about.get("backbone") or "")).name
    own = owners.get(answer.metric, backbone if backbone in systems else None)
    return Evaluator(answer.metric, tuple(systems), ids, table, gaps, own, sensitive)


def _gaps(table: Floats, worthless: Floats) -> tuple[Floats, bool]:
    """How far each document's outputs score above a worthless text, and whether they surely do.

    Where that is unknown the SD of the scores stands in for the gap, and where there is none their size.
    """
    gaps, scale = table.mean(axis=1) - worthless, gap.scale_of(table)
    known = np.isfinite(gaps)
    if not known.any():
        return np.full(len(table), float(table.std(ddof=1)) or 1.0), True
    mean = float(gaps[known].mean())
    if mean <= 0 or not gap.tells_apart(gaps[known], scale):
        return np.full(len(table), scale or 1.0), False
    return np.where(known, gaps, mean), True


def system_means(answer: Scored, systems: Sequence[str], seed: int) -> Iterator[Finding]:
    """The mean score of each system, as the metric gives it, over documents where it scores them all."""
    columns = [answer.values[system] for system in systems if system in answer.values]
    if len(columns) < len(systems):
        return
    table = np.stack(columns, axis=1)
    table = table[np.isfinite(table).all(axis=1)]
    for system, column in zip(systems, table.T, strict=True):
        if column.size > 1:
            yield Finding.of(answer, f"system/{system}", "score", mean_estimate(column, seed=seed))


def preference_findings(
    evaluator: Evaluator, every: Sequence[Evaluator], audit: SelfPreference
) -> list[Finding]:
    """The diagonal advantage and the rank reversals of an evaluator that has a system of its own."""
    neutral = [other for other in every if other.own is None and other.sensitive]
    shared = [doc for doc in evaluator.documents if all(doc in other.documents for other in neutral)]
    if evaluator.own is None or len(shared) < 2:
        return []
    evaluator, neutral = evaluator.on(shared), [other.on(shared) for other in neutral]
    names = ", ".join(other.metric for other in neutral) or None
    findings = [_advantage(evaluator, neutral, names, audit.seed)]
    if neutral:
        estimate = _reversals(evaluator, neutral, audit.seed)
        findings.append(
            Finding.of(
                evaluator.metric, str(evaluator.own), "rank_reversals", estimate, versus=names,
                judged=audit.rule == "paper",  # the paper judges by ranks alone
            )
        )  # fmt: skip
    return findings


def _advantage(evaluator: Evaluator, neutral: Sequence[Evaluator], names: str | None, seed: int) -> Finding:
    """The preference for the own system beyond that of neutral evaluators.

    A more sensitive evaluator than the neutral ones also prefers a better system more. So it fails only where
    neutral evaluators do not surely prefer its system themselves; neutral ones that notice nothing cannot
    vouch for it, so take several.
    """
    own = str(evaluator.own)
    sides = [(one.contrast(own), one.gaps) for one in (evaluator, *neutral)]
    table = np.stack([column for side in sides for column in side], axis=1)
    draws = _preferences(resampled_means(table, resamples=gap.RESAMPLES, seed=seed))
    value, n = _beyond(_preferences(table.mean(axis=0)[None])), len(table)
    ci = interval_of(_beyond(draws), n_clusters=n)
    preferred = interval_of(draws[:, 1:].mean(axis=1), n_clusters=n) if neutral else None
    advantage = _beyond(np.stack([100 * contrast / gaps.mean() for contrast, gaps in sides], axis=1))
    mde = detectable_effect(float(_beyond(draws).std(ddof=1)), n_clusters=n)
    estimate = interval_estimate(
        value[0], n, ci, p_value=ci and ci.p_value, mde=mde,
        decisive=(-np.inf, ci.high) if ci and preferred and preferred.low > 0 else None,
        sensitive=evaluator.sensitive,
    )  # fmt: skip
    most = np.argsort(-advantage, kind="stable")[:EVIDENCE].tolist()
    return Finding.of(
        evaluator.metric, own, "diagonal_advantage", estimate, versus=names,
        evidence=[evaluator.documents[place] for place in most],
        judged=bool(neutral) and advantage.size >= FEWEST,
    )  # fmt: skip


def _preferences(means: Floats) -> Floats:
    """Each evaluator's mean contrast in percent of its mean gap; columns are contrast, gap, contrast, gap."""
    return np.asarray(100 * means[:, ::2] / means[:, 1::2])


def _beyond(preferences: Floats) -> Floats:
    """The first column minus the mean of the others, if there are any."""
    others = preferences[:, 1:]
    return np.asarray(preferences[:, 0] - (others.mean(axis=1) if others.shape[1] else 0.0))


def _reversals(evaluator: Evaluator, neutral: Sequence[Evaluator], seed: int) -> Estimate:
    mean = np.mean([other.scores / other.gaps.mean() for other in neutral], axis=0)
    count, place = len(evaluator.systems), evaluator.systems.index(str(evaluator.own))

    def reversals(means: Floats) -> Floats:
        """How many systems change sides; the evaluator's means, then those of the neutral ones."""
        own, theirs = means[:, :count], means[:, count:]
        return np.asarray(((own[:, [place]] > own) & (theirs[:, [place]] < theirs)).sum(axis=1), dtype=float)

    both = np.concatenate([evaluator.scores, mean], axis=1)
    value = float(reversals(both.mean(axis=0)[None])[0])
    draws = reversals(resampled_means(both, resamples=gap.RESAMPLES, seed=seed))
    return interval_estimate(value, len(mean), interval_of(draws, n_clusters=len(mean)), paper=value == 0)
