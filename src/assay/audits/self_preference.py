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

from assay.audits._self_judge import evaluator, judged, matrix
from assay.audits._spread import spread_out
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.records import embedded_records
from assay.errors import DataError, suggest
from assay.registry import load
from assay.vocabulary import Question, Rule

_WRITE = "assay.generation:continuations"  # by name: audits load no model of their own
_TUNE = "assay.generation:tuned_copy"
_PROMPT_WORDS = 15
_SLICE = "outputs"


@dataclass(frozen=True)
class SelfPreference(Audit):
    """Outputs you supply, or continuations by a local model and a copy of it tuned here.

    `self` marks the diagonal: EVALUATOR=SYSTEM, an evaluator by its -m. Without marks, an evaluator owns the
    system that is named like its backbone.
    """

    name: ClassVar[str] = "self-preference"
    question: ClassVar[Question] = "sees"

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
