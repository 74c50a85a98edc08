"""Does an evaluator favour what its own model wrote (*blind* sec. 5.4)?

Outputs of several systems for the same documents meet several evaluators. `diagonal_advantage` is how much
more an evaluator prefers its own system to the others than neutral evaluators do, in spreads of its scores;
`rank_reversals` counts the systems that neutral evaluators put above its own and it puts below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.slices import FEWEST, spread_out
from assay.core import Audit, Case, Finding, Floats, Sample, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.records import embedded_records
from assay.errors import DataError, suggest
from assay.names.registry import load
from assay.statistics.estimates import mde_mean, verdict
from assay.statistics.intervals import bootstrap_mean, interval_of, resampled_means
from assay.statistics.permutation import sign_flip_test
from assay.vocabulary import Question, Rule

_WRITE = "assay.models.generate:continuations"  # by name: audits load no model of their own
_TUNE = "assay.models.generate:tuned_copy"
_PROMPT_WORDS = 15
_SLICE = "outputs"


@dataclass(frozen=True)
class SelfPreference(Audit):
    """Outputs you supply, or continuations by a local model and a copy of it tuned here.

    `self` marks the diagonal: EVALUATOR=SYSTEM, an evaluator by its -m. Without marks, an evaluator owns the
    system that is named like its backbone.
    """

    name: ClassVar[str] = "self-preference"
    question: ClassVar[Question] = "robustness"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = 30  # documents; of generated text, prompts
    self: tuple[str, ...] = ()
    model: str = "smollm2"  # the generator, where no data is given
    epochs: int = 2
    tokens: int = 40  # a continuation
    top_k: int = 50  # as in the paper
    margin: float = 0.2  # spreads of its own scores

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Generating takes minutes."""
        return {"skip": True}

    def _marks(self) -> dict[str, str]:
        """Evaluator to its system, as the user marked them."""
        marks = {}
        for pair in self.self:
            label, equals, system = pair.rpartition("=")  # a spec may hold "=" itself
            if not equals or not label:
                raise DataError(f"--self {pair!r} is not EVALUATOR=SYSTEM; write --self gpt-ppl=smollm2")
            marks[label] = system
        return marks

    def cases(self) -> Iterable[Case]:
        """A case a document, a role a system."""
        marks = self._marks()  # before texts are written
        found = self._read if self.data else self._written
        systems = list(dict.fromkeys(role for case in found for role in case.samples))
        if len(systems) < 2:
            raise DataError(
                f"self-preference compares systems; the data names {len(systems)}, two are needed"
            )
        for label, system in marks.items():
            if system not in systems:
                raise DataError(f"--self {label}={system}: no such system{suggest(system, systems)}")
        return found

    @cached_property
    def _read(self) -> list[Case]:
        """The user's outputs, by document."""
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
        chosen = spread_out(list(documents.items()), self.limit)
        return [
            Case(doc, {system: item.sample for system, item in sorted(items.items())}, _SLICE)
            for doc, items in chosen
        ]

    @cached_property
    def _tuned(self) -> Path:
        """The copy, tuned on embedded text that no prompt is taken from."""
        tune: Any = load(_TUNE)
        texts = embedded_records("open-ended")[0].references
        made: Path = tune(self.model, texts, epochs=self.epochs, seed=self.seed)
        return made

    @cached_property
    def _written(self) -> list[Case]:
        """Continuations of the beginnings of embedded texts; how the texts go on is the reference."""
        records = spread_out(embedded_records("open-ended"), self.limit)
        prompts = [" ".join(record.gold.split()[:_PROMPT_WORDS]) for record in records]
        write: Any = load(_WRITE)
        outputs = {
            Path(name).name: write(name, prompts, tokens=self.tokens, top_k=self.top_k, seed=self.seed)
            for name in (self.model, str(self._tuned))
        }
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

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """Nothing is searched for."""
        return ()

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """The matrix, and each marked evaluator against the neutral ones."""
        single = [answer for answer in scored if not answer.about.get("set")]
        marks = self._marks()
        for label in marks:
            if label not in {answer.metric for answer in single}:
                labels = [answer.metric for answer in single]
                raise DataError(f"--self {label}={marks[label]}: no such evaluator{suggest(label, labels)}")
        systems = list(dict.fromkeys(role for answer in single for role in answer.values))
        every = [evaluator(answer, systems, marks) for answer in single]
        usable = [one for one in every if one is not None]
        found = [finding for one in usable for finding in matrix(one, self.seed)]
        for one in usable:
            if one.own is not None:
                found += judged(one, usable, self.rule, self.margin, self.seed)
        return found

    def notes(self) -> list[str]:
        """Who wrote the texts, where nobody supplied any."""
        if self.data:
            return []
        return [
            f"the texts are by {self.model} and a copy of it tuned here for {self.epochs} epochs; "
            f"to try a metric on that copy give model={self._tuned}"
        ]


AUDIT = "self-preference"
EVIDENCE = 5
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Evaluator:
    """One metric's scores (documents x systems) in spreads, and the system it is made of."""

    metric: str
    systems: tuple[str, ...]
    documents: tuple[str, ...]
    scores: Floats
    own: str | None
    spread: float

    def contrast(self, system: str) -> Floats:
        """A system against the mean of the others, a value a document."""
        place = self.systems.index(system)
        others = np.delete(self.scores, place, axis=1)
        return np.asarray(self.scores[:, place] - others.mean(axis=1))


def evaluator(answer: Scored, systems: Sequence[str], marks: Mapping[str, str]) -> Evaluator | None:
    """A metric as an evaluator, on the documents where it scores every system; None on fewer than two."""
    table = np.stack([answer.values.get(s, np.full(len(answer.cases), np.nan)) for s in systems], axis=1)
    whole = np.isfinite(table).all(axis=1)
    if whole.sum() < 2:
        return None
    table = table[whole]
    spread = float(table.std(ddof=1))
    ids = tuple(case.id for case, kept in zip(answer.cases, whole, strict=True) if kept)
    scaled = table / spread if spread > 0 else table
    return Evaluator(answer.metric, tuple(systems), ids, scaled, _own(answer, systems, marks), spread)


def _own(answer: Scored, systems: Sequence[str], marks: Mapping[str, str]) -> str | None:
    """The system marked, or the one that is named like the backbone."""
    if answer.metric in marks:
        return marks[answer.metric]
    backbone = answer.about.get("backbone")
    named = Path(str(backbone)).name if backbone else None
    return named if named in systems else None


def matrix(one: Evaluator, seed: int) -> list[Finding]:
    """The evaluator's row of the matrix: a mean a system, in the metric's own unit."""
    found = []
    unit = one.spread if one.spread > 0 else 1.0
    for place, system in enumerate(one.systems):
        values = one.scores[:, place] * unit
        interval = bootstrap_mean(values, seed=seed)
        ci = None if interval is None else interval.pair
        where = (one.metric, AUDIT, f"system/{system}", "score")
        found.append(Finding(*where, float(values.mean()), values.size, ci=ci))
    return found


def judged(one: Evaluator, every: Sequence[Evaluator], rule: Rule, margin: float, seed: int) -> list[Finding]:
    """The diagonal advantage and the reversals of an evaluator with a system of its own."""
    neutral = [other for other in every if other.own is None]
    shared = [doc for doc in one.documents if all(doc in other.documents for other in neutral)]
    if one.own is None or len(shared) < 2:
        return []
    mine = _on(one, shared)
    others = [_on(other, shared) for other in neutral]
    names = ", ".join(other.metric for other in neutral) or None
    return [
        _advantage(mine, others, names, rule, margin, seed),
        *([_reversals(mine, others, names, rule, seed)] if others else []),
    ]


def _on(one: Evaluator, documents: Sequence[str]) -> Evaluator:
    rows = [one.documents.index(doc) for doc in documents]
    return Evaluator(one.metric, one.systems, tuple(documents), one.scores[rows], one.own, one.spread)


def _advantage(
    one: Evaluator, neutral: Sequence[Evaluator], names: str | None, rule: Rule, margin: float, seed: int
) -> Finding:
    """The preference for the own system beyond that of neutral evaluators, tested by swapping them.

    An evaluator with sharper eyes than the neutral ones also prefers a better system more. So it fails only
    where neutral evaluators do not surely prefer its system themselves; neutral ones that see nothing cannot
    vouch for it, so take several.
    """
    own = str(one.own)
    base = np.mean([other.contrast(own) for other in neutral], axis=0) if neutral else 0.0
    advantage = one.contrast(own) - base
    interval = bootstrap_mean(advantage, seed=seed)
    passed = verdict(interval, margin) if neutral and len(advantage) >= FEWEST else None
    if passed is False and _surely_above(np.asarray(base), seed):
        passed = None
    if rule == "paper":
        passed = None  # the paper judges by ranks alone
    best = np.argsort(-advantage, kind="stable")[:EVIDENCE]
    return Finding(
        one.metric, AUDIT, own, "diagonal_advantage", float(advantage.mean()), advantage.size, names,
        None if interval is None else interval.pair, sign_flip_test(advantage, seed=seed).p_value, None,
        mde_mean(advantage), passed, tuple(one.documents[place] for place in best),
    )  # fmt: skip


def _surely_above(values: Floats, seed: int) -> bool:
    interval = bootstrap_mean(values, seed=seed) if values.ndim else None
    return interval is not None and interval.low > 0


def _reversals(
    one: Evaluator, neutral: Sequence[Evaluator], names: str | None, rule: Rule, seed: int
) -> Finding:
    """Systems that the neutral evaluators put above the evaluator's own, and it puts below."""
    mean = np.mean([other.scores for other in neutral], axis=0)
    count = len(one.systems)
    draws = resampled_means(np.concatenate([one.scores, mean], axis=1), resamples=RESAMPLES, seed=seed)
    place = one.systems.index(str(one.own))
    value = int(_reversed(one.scores.mean(axis=0)[None], mean.mean(axis=0)[None], place)[0])
    interval = interval_of(_reversed(draws[:, :count], draws[:, count:], place), n_clusters=len(mean))
    ci = None if interval is None else interval.pair
    passed = value == 0 if rule == "paper" else None
    where = (one.metric, AUDIT, str(one.own), "rank_reversals")
    return Finding(*where, float(value), len(mean), names, ci, passed=passed)


def _reversed(mine: Floats, neutral: Floats, place: int) -> Floats:
    above = mine[:, [place]] > mine
    below = neutral[:, [place]] < neutral
    return np.asarray((above & below).sum(axis=1), dtype=np.float64)
