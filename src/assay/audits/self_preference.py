"""Does an evaluator favour what its own model wrote (*blind* sec. 5.4)?

Several evaluators score the outputs of several systems for the same documents. An evaluator decides between
an output of its own system and one of another. It may well prefer a better system: only systems count that
people do not surely rate below its own, or neutral evaluators where nobody rated the outputs. By the paper's
rule the order of mean scores decides: `rank_reversals` counts the systems that neutral evaluators rank above
its own and that it ranks below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.base import DataAudit, spread_out
from assay.audits.effects import BAR, AlignedScores, mean_estimate, read_slices, right_order, row_means
from assay.core import Case, Estimate, Finding, Floats, Judgement, Sample, Scored, Statistic
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.records import embedded_records
from assay.errors import DataError, suggest
from assay.models.fill import continuations, tuned_copy
from assay.vocabulary import DataKind, Question

_PROMPT_WORDS = 15
_SLICE = "outputs"
_COIN = 50.0  # of 100 decisions: neither system is preferred


def _wins(finding: Finding) -> str:
    return (
        f"{finding.metric} prefers the outputs of its own model ({finding.slice}) in {finding.value:.0f} of "
        f"100 cases to those of systems that {finding.versus} do not rank below it."
    )


def _reversals(finding: Finding) -> str:
    return (
        f"{finding.metric} ranks its own model ({finding.slice}) above {finding.value:.0f} systems that "
        f"neutral evaluators rank above it."
    )


@dataclass(frozen=True)
class SelfPreference(DataAudit):
    """Outputs you supply, or continuations by a local model and a copy of it that is fine-tuned here.

    `self` names the system that an evaluator is made of: EVALUATOR=SYSTEM, the evaluator by its -m. Without
    it, an evaluator owns the system that is named like its backbone.
    """

    name = "self-preference"
    title = "Self-preference of evaluators"
    question: ClassVar[Question] = "robustness"
    advice = "Do not let it compare systems of which one is made of the same model."
    reads: ClassVar[DataKind] = "systems"
    quick: ClassVar[Mapping[str, Any]] = {"skip": True}  # generating takes minutes
    statistics = (
        Statistic(
            "own_wins",
            "Of 100 decisions between an output of the evaluator's own model and one of a system that people "
            "(or neutral evaluators, where nobody rated the outputs) do not surely rank below it, how many "
            "its own wins: about 50 or fewer where it is even-handed.",
            "of 100", bad="high", bar="bar", headline=True, sentence=_wins,
        ),
        Statistic("neutral_wins", "The same decisions by people, or by neutral evaluators.", "of 100"),
        Statistic(
            "rank_reversals",
            "By the paper's rule: how many systems neutral evaluators rank above the evaluator's own that it "
            "ranks below; there must be none.",
            "systems", bad="high", bar=0.0, sentence=_reversals,
        ),
        Statistic("score", "Mean score of one system's outputs.", "score"),
    )  # fmt: skip

    limit: int | None = 30  # documents; of generated text, prompts
    self: tuple[str, ...] = ()
    model: str = "smollm2"  # the generator, where no data is given
    epochs: int = 2
    tokens: int = 40  # per continuation
    top_k: int = 50  # as in the paper
    bar: float = BAR

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
        systems = list(dict.fromkeys(role for case in cases for role in case.samples))
        if len(systems) < 2:
            raise DataError(
                f"self-preference compares systems; the data names {len(systems)}, two are needed"
            )
        for label, system in owners.items():
            if system not in systems:
                raise DataError(f"--self {label}={system}: no such system{suggest(system, systems)}")
        return cases

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
        return [_document(doc, items) for doc, items in chosen]

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
        systems = list(dict.fromkeys(role for answer in single.values() for role in answer.values))
        findings = [f for answer in single.values() for f in _system_means(answer, systems, self.seed)]
        findings += self._preferences(list(single.values()), systems)
        notes = [] if self.data else [
            f"the texts are by {self.model} and a copy of it tuned here for {self.epochs} epochs; "
            f"to try a metric on that copy give model={self._tuned}"
        ]  # fmt: skip
        return Judgement(findings, notes)

    def _preferences(self, answers: Sequence[Scored], systems: Sequence[str]) -> Iterator[Finding]:
        """How every evaluator that has a system of its own treats it; the others are neutral."""
        evaluators = [one for one in read_slices(answers) if len(one.columns) == len(systems)]
        owned = [self._own_system(one.scored, systems) for one in evaluators]
        pairs = list(zip(evaluators, owned, strict=True))
        neutral = [evaluator for evaluator, own in pairs if own is None and _tells_apart(evaluator)]
        for evaluator, own in pairs:
            if own is not None:
                yield from self._preference(evaluator, own, neutral)

    def _own_system(self, answer: Scored, systems: Sequence[str]) -> str | None:
        """The system of an evaluator: the one the user named, or the one that is named like its backbone."""
        backbone = Path(str(answer.about.get("backbone") or "")).name
        return self._owners.get(answer.metric, backbone if backbone in systems else None)

    def _preference(
        self, evaluator: AlignedScores, own: str, neutral: Sequence[AlignedScores]
    ) -> Iterator[Finding]:
        """How often an evaluator prefers its own system; by the paper's rule, whether it ranks it higher."""
        names = ", ".join(other.scored.metric for other in neutral) or None
        people = ratings_of(evaluator.cases)
        if self.rule == "careful":
            yield from own_wins(evaluator, own, people or neutral, "people" if people else names)
            return
        count = rank_reversals(evaluator, own, neutral)
        if count is not None:
            estimate = Estimate(count, evaluator.n, (count, count))
            yield Finding.of(evaluator.scored, own, "rank_reversals", estimate, versus=names)


def _document(doc: str, items: Sequence[tuple[str, Rated]]) -> Case:
    """The outputs of all systems for one document, with what people said of them on average."""
    ratings = {
        system: {name: sum(values) / len(values) for name, values in item.human.items() if values}
        for system, item in items
    }
    return Case(doc, {system: item.sample for system, item in items}, _SLICE, {"ratings": ratings})


def _tells_apart(evaluator: AlignedScores) -> bool:
    """Whether an evaluator scores any two outputs differently: one that does not vouches for nobody."""
    table = np.stack(list(evaluator.columns.values()))
    return bool(np.nanmax(table) > np.nanmin(table))


def ratings_of(cases: Sequence[Case]) -> list[AlignedScores]:
    """People as evaluators, one for each criterion they rated; empty where they rated nothing."""
    tables = [case.meta.get("ratings", {}) for case in cases]
    systems = dict.fromkeys(chain.from_iterable(tables))
    people: dict[str, dict[str, Floats]] = {}
    for row, table in enumerate(tables):
        for system, ratings in table.items():
            for criterion, rating in ratings.items():
                if criterion not in people:
                    people[criterion] = {name: np.full(len(cases), np.nan) for name in systems}
                people[criterion][system][row] = rating
    return [
        AlignedScores(Scored("people", cases, columns), _SLICE, tuple(cases), columns, {})
        for columns in people.values()
    ]


def own_wins(
    evaluator: AlignedScores, own: str, witnesses: Sequence[AlignedScores], versus: str | None
) -> Iterator[Finding]:
    """How often an evaluator's own system wins, by the evaluator and by witnesses."""
    others = [system for system in evaluator.columns if system != own]
    rivals = [other for other in others if is_rival(wins(witnesses, own, [other]))]
    estimate = wins([evaluator], own, rivals or others)
    if not rivals:
        estimate = replace(estimate, ci=None)  # nothing tells favour from a better eye
    theirs = np.stack([evaluator.columns[other] for other in others], axis=1)
    evidence = evaluator.largest(evaluator.columns[own] - row_means(theirs))
    yield Finding.of(evaluator.scored, own, "own_wins", estimate, versus=versus, evidence=evidence)
    if witnesses:
        elsewhere = wins(witnesses, own, rivals or others)
        yield Finding.of(evaluator.scored, own, "neutral_wins", elsewhere, versus=versus)


def wins(evaluators: Sequence[AlignedScores], own: str, others: Sequence[str]) -> Estimate:
    """Of 100 decisions of these evaluators, how many one system wins against others; each pair weighs the
    same."""
    return right_order(
        [(one.decisions([own], [other]), one.clusters) for one in evaluators for other in others]
    )


def is_rival(estimate: Estimate) -> bool:
    """Whether a system is not surely worse, by what witnesses say of decisions against it.

    A sharper evaluator prefers a better system more often: that it beats a worse one proves nothing.
    """
    return estimate.ci is not None and estimate.ci[0] <= _COIN


def _system_means(answer: Scored, systems: Sequence[str], seed: int) -> Iterator[Finding]:
    """The mean score of each system, as the metric gives it, over documents where it scores them all."""
    table = _complete(answer.values, systems)
    for system, column in zip(systems, table.T, strict=True):
        if column.size > 1:
            yield Finding.of(answer, f"system/{system}", "score", mean_estimate(column, seed=seed))


def _complete(columns: Mapping[str, Floats], systems: Sequence[str]) -> Floats:
    """Scores (documents, systems) of the documents where every system has one."""
    if not set(systems) <= set(columns):
        return np.zeros((0, len(systems)))
    table = np.stack([columns[system] for system in systems], axis=1)
    return np.asarray(table[np.isfinite(table).all(axis=1)])


def rank_reversals(evaluator: AlignedScores, own: str, neutral: Sequence[AlignedScores]) -> float | None:
    """How many systems are above the evaluator's own by the means of neutral ones and below it by its own.

    None where there is no neutral one, or no document of which all systems have scores.
    """
    systems = list(evaluator.columns)
    place = systems.index(own)
    tables = [_complete(one.columns, systems) for one in (evaluator, *neutral)]
    if not neutral or not all(len(table) for table in tables):
        return None
    mine, *others = [table.mean(axis=0) / (table.std() or 1.0) for table in tables]
    theirs = np.mean(others, axis=0)
    return float(((mine[place] > mine) & (theirs[place] < theirs)).sum())
