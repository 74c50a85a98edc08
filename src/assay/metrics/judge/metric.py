"""A language model as judge: it grades a text by a criterion (pointwise), or says which of two is better."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from assay.core import Metric, Sample, Scores
from assay.errors import SpecError
from assay.metrics.base import Neural
from assay.metrics.judge import prompt
from assay.metrics.judge.blind import blinded
from assay.metrics.judge.local import LocalJudge
from assay.metrics.judge.server import ServedJudge
from assay.models import weights
from assay.models.budget import current_budget
from assay.models.torch import Loaded, Precision
from assay.recipe import generator
from assay.vocabulary import Need, NonNegative

log = logging.getLogger("assay")
_UNPARSED = "unparsed"
_NOTES = (_UNPARSED, "read from text", "partly listed")
_QUOTED = 60  # characters of an answer that names no grade


@dataclass(frozen=True)
class Judge(Neural, Metric):
    """A language model's grade of a text, on 0..1: the lowest grade of its scale to the highest.

    The grade is the mean over the probabilities of the possible answers (Liu et al. 2023, G-Eval); where a
    server reports none, it is read from the answer's text. Answers that name no grade are absent and counted.
    A pairwise judge needs a rival and gives P(hypothesis is better), shown in this order, or averaged over
    both orders (swap=true).
    """

    name = "judge"
    paradigm = "judge"
    range = (0.0, 1.0)
    citation = "Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena, NeurIPS 2023"
    model: str = "smollm2"
    endpoint: str = ""  # of an OpenAI-compatible server; empty: the model runs on this machine
    mode: prompt.Mode = "pointwise"
    scale: prompt.ScaleName = "1-5"
    criterion: str = "overall"
    references: prompt.References = "all"
    anchored: bool = False  # says in words what each grade means
    swap: bool = False  # asks about a pair in both orders
    blind: bool = False  # hides authors and words for groups
    shots: NonNegative = 0  # worked examples
    answer: prompt.Reading = "auto"
    temperature: float = 0.0
    template: str = "v1"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.swap and self.mode != "pairwise":
            raise SpecError("swap=true is for pairs; give mode=pairwise too")
        if not self.temperature >= 0:
            raise SpecError(f"temperature={self.temperature}: at least 0 is needed")

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"rival"}) if self.mode == "pairwise" else frozenset()

    @property
    def optional(self) -> frozenset[Need]:
        return frozenset({"source"}) if self.references == "none" else frozenset({"source", "references"})

    @property
    def stochastic(self) -> bool:
        """Sampled answers differ, and servers promise nothing."""
        return self.temperature > 0 or bool(self.endpoint)

    @property
    def batch(self) -> int:
        """Prompts share their beginnings, and requests wait for a server: small batches would waste both."""
        return 32

    def pins(self) -> Mapping[str, str]:
        digests = {"template": self._form.digest}
        return digests if self.endpoint else {**digests, "model": weights.pin(self.model)}

    @property
    def _form(self) -> prompt.Form:
        shots = (self.references, self.shots, self.template)
        return prompt.Form(self.mode, self.scale, self.criterion, self.anchored, *shots)

    @property
    def _backend(self) -> LocalJudge | ServedJudge:
        if self.endpoint:
            return ServedJudge(self.endpoint, self.model)
        return LocalJudge(self.model, self.precision)

    def load_model(self) -> Loaded:
        return LocalJudge(self.model, self.precision).loaded()

    def prepare(self) -> None:
        if not self.endpoint:
            self.load_model()
        elif self.model == type(self).model:
            _warn_of_default(self.endpoint, self.model)

    def score(self, samples: Sequence[Sample]) -> Scores:
        form = self._form
        shown = [blinded(sample) if self.blind else sample for sample in samples]
        turned = (replace(s, hypothesis=s.rival or "", rival=s.hypothesis) for s in shown)
        orders = list(zip(shown, turned, strict=True)) if self.swap else [(sample,) for sample in shown]
        flat = [sample for order in orders for sample in order]
        questions = [prompt.Question(form.messages(sample), form.grades, sample.draw) for sample in flat]
        replies = self._backend.ask(questions, self.answer, self.temperature)
        graded = iter([self._graded(sample, reply) for sample, reply in zip(flat, replies, strict=True)])
        values: list[float | None] = []
        notes: dict[str, list[int]] = {name: [] for name in _NOTES}
        for order in orders:
            answers = [next(graded) for _ in order]
            values.append(_averaged([grade for grade, _ in answers]))
            for name, count in _counts(answers, len(form.grades)).items():
                notes[name].append(count)
        return Scores(values, notes)

    def silence(self, counted: Mapping[str, int]) -> str | None:
        count = counted.get(_UNPARSED, 0)
        if not count:
            return None
        whose = "its answers" if self.swap else f"its answers for {count} of {count} samples"
        if self.answer == "probabilities":
            return f"{whose} came without probabilities; leave answer=probabilities out"
        no_grade = f"name no single grade of {self.scale}"
        fault = "choose neither A nor B" if self.mode == "pairwise" else no_grade
        example = current_budget().unread.get(self.signature)
        return f"{whose} {fault}" + ("" if example is None else f", such as {example!r}")

    def _graded(self, sample: Sample, reply: prompt.Reply) -> tuple[float | None, prompt.Reply]:
        """Return the grade with its reply; the first text that names no grade is kept for the message."""
        grade = self._grade(sample, reply)
        if grade is None and reply.text is not None:
            text = reply.text if len(reply.text) <= _QUOTED else reply.text[:_QUOTED] + "..."
            current_budget().unread.setdefault(self.signature, text)
        return grade, reply

    def _grade(self, sample: Sample, reply: prompt.Reply) -> float | None:
        grades, chances = self._form.grades, reply.probabilities
        sampling = self.temperature > 0
        has_text = reply.text is not None and self.answer == "auto"
        if chances is None or self.answer == "text" or (sampling and has_text):
            readable = reply.text is not None and self.answer != "probabilities"
            return prompt.parsed(grades, reply.text or "") if readable else None
        if sampling:
            rng = generator(sample.draw, self.signature, sample.key)
            return prompt.drawn(grades, chances, self.temperature, rng)
        return prompt.share(grades, chances)


@cache
def _warn_of_default(endpoint: str, model: str) -> None:
    log.warning(
        "note: %s is asked for the model %s, the default; model=NAME asks for another", endpoint, model
    )


def _averaged(grades: Sequence[float | None]) -> float | None:
    """Return the grade; for a pair in both orders, the mean of P(first) and 1 - P(second)."""
    first, *turned = grades
    if first is None or None in turned:
        return None
    return (first + sum(1.0 - grade for grade in turned if grade is not None)) / len(grades)


def _counts(answers: Sequence[tuple[float | None, prompt.Reply]], grades: int) -> dict[str, int]:
    """Count absent grades, grades read from text, and replies that list only some of the grades."""
    chances = [reply.probabilities for _, reply in answers]
    counts = (
        sum(grade is None for grade, _ in answers),
        sum(listed is None for listed in chances),
        sum(listed is not None and len(listed) < grades for listed in chances),
    )
    return dict(zip(_NOTES, counts, strict=True))
