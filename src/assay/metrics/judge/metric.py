"""A language model as judge: a rubric and a text in, a grade out (pointwise), or which of two is better."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from assay.core import Metric, Sample, Scores
from assay.errors import SpecError
from assay.metrics.judge.answer import Backend, Question, Reading, Reply, drawn, parsed, share
from assay.metrics.judge.blind import blinded
from assay.metrics.judge.http import HttpJudge
from assay.metrics.judge.local import LocalJudge
from assay.metrics.judge.prompt import Form, Mode, References, ScaleName
from assay.models import weights
from assay.models.budget import ledger
from assay.models.torch import Neural, Precision
from assay.recipe import generator

log = logging.getLogger("assay")
ZHENG_2023 = "Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena, NeurIPS 2023"
_UNPARSED = "unparsed"
_NOTES = (_UNPARSED, "read from text", "partly listed")
_QUOTED = 60  # characters of an answer that names no grade


@dataclass(frozen=True)
class Judge(Neural, Metric):
    """A language model's grade of a text, on 0..1: the lowest grade of its scale to the highest.

    The grade is the mean over the probabilities of the possible answers (Liu et al. 2023, G-Eval), or where a
    server tells none, the answer's text; answers that name no grade are absent and counted. A pairwise judge
    needs a rival and gives P(hypothesis is better), shown in this order, or averaged over both (swap=true).
    """

    name = "judge"
    paradigm = "judge"
    needs = frozenset()
    optional = frozenset({"source", "references"})
    range = (0.0, 1.0)
    citation = ZHENG_2023
    model: str = "smollm2"
    endpoint: str = ""  # of an OpenAI-compatible server; empty: the model runs here
    mode: Mode = "pointwise"
    scale: ScaleName = "1-5"
    criterion: str = "overall"
    references: References = "all"
    anchored: bool = False  # says in words what each grade means
    swap: bool = False  # asks both orders of a pair
    blind: bool = False  # hides authors and words for groups
    shots: int = 0  # worked examples
    answer: Reading = "auto"
    temperature: float = 0.0
    template: str = "v1"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, and say what this judge needs."""
        if self.swap and self.mode != "pairwise":
            raise SpecError("swap=true is for pairs; give mode=pairwise too")
        if not self.temperature >= 0:
            raise SpecError(f"temperature={self.temperature}: at least 0 is needed")
        # The class declares what a judge needs as it comes; an instance, what it needs as it was asked for.
        if self.mode == "pairwise":
            object.__setattr__(self, "needs", frozenset({"rival"}))
        if self.references == "none":
            object.__setattr__(self, "optional", frozenset({"source"}))
        # A repeat may differ: drawn answers do, and servers promise nothing.
        object.__setattr__(self, "stochastic", self.temperature > 0 or bool(self.endpoint))

    @property
    def batch(self) -> int:
        """Prompts share their beginnings, and requests wait for a server: small batches waste both."""
        return 32

    def pins(self) -> Mapping[str, str]:
        """The digests of the prompts and, of a model that runs here, of its weights."""
        found = {"template": self._form.digest}
        return found if self.endpoint else {**found, "model": weights.pin(self.model)}

    @property
    def _form(self) -> Form:
        shots = (self.references, self.shots, self.template)
        return Form(self.mode, self.scale, self.criterion, self.anchored, *shots)

    @property
    def _backend(self) -> Backend:
        if self.endpoint:
            return HttpJudge(self.endpoint, self.model)
        return LocalJudge(self.model, self.precision)

    def prepare(self) -> None:
        """Load the model, where it runs here; of a server, say when it is asked for the default one."""
        if not self.endpoint:
            LocalJudge(self.model, self.precision).loaded()
        elif self.model == type(self).model:
            _say_default(self.endpoint, self.model)

    def score(self, samples: Sequence[Sample]) -> Scores:
        """One question a sample, two for a pair asked in both orders."""
        form = self._form
        shown = [blinded(sample) if self.blind else sample for sample in samples]
        orders = [[one, _turned(one)] if self.swap else [one] for one in shown]
        flat = [one for order in orders for one in order]
        asked = [Question(form.messages(one), form.grades, one.draw) for one in flat]
        replies = self._backend.ask(asked, self.answer, self.temperature)
        graded = iter([self._graded(one, reply) for one, reply in zip(flat, replies, strict=True)])
        values: list[float | None] = []
        notes: dict[str, list[int]] = {name: [] for name in _NOTES}
        for order in orders:
            answers = [next(graded) for _ in order]
            values.append(_averaged([grade for grade, _ in answers]))
            for name, count in _counts(answers, len(form.grades)).items():
                notes[name].append(count)
        return Scores(values, notes)

    def silence(self, counted: Mapping[str, int]) -> str | None:
        """Why an audit has no grade at all, where answers were counted that name none."""
        count = counted.get(_UNPARSED, 0)
        if not count:
            return None
        whose = "its answers" if self.swap else f"its answers for {count} of {count} samples"
        if self.answer == "probabilities":
            return f"{whose} came without probabilities; leave answer=probabilities out"
        fault = (
            "choose neither A nor B" if self.mode == "pairwise" else f"name no single grade of {self.scale}"
        )
        said = ledger().unread.get(self.signature)
        return f"{whose} {fault}" + ("" if said is None else f", such as {said!r}")

    def _graded(self, sample: Sample, reply: Reply) -> tuple[float | None, Reply]:
        """The grade with its reply; the first text that cannot be read is kept for people to see."""
        grade = self._grade(sample, reply)
        if grade is None and reply.text is not None:
            text = reply.text if len(reply.text) <= _QUOTED else reply.text[:_QUOTED] + "..."
            ledger().unread.setdefault(self.signature, text)
        return grade, reply

    def _grade(self, sample: Sample, reply: Reply) -> float | None:
        grades, odds = self._form.grades, reply.probabilities
        drawing = self.temperature > 0
        told = reply.text is not None and self.answer == "auto"
        if odds is None or self.answer == "text" or (drawing and told):
            readable = reply.text is not None and self.answer != "probabilities"
            return parsed(grades, reply.text or "") if readable else None
        if drawing:
            rng = generator(sample.draw, self.signature, sample.key)
            return drawn(grades, odds, self.temperature, rng)
        return share(grades, odds)


@cache
def _say_default(endpoint: str, model: str) -> None:
    log.warning(
        "note: %s is asked for the model %s, the default; model=NAME asks for another", endpoint, model
    )


def _turned(sample: Sample) -> Sample:
    return replace(sample, hypothesis=sample.rival or "", rival=sample.hypothesis)


def _averaged(grades: Sequence[float | None]) -> float | None:
    """The grade; of a pair in both orders, the mean of P(first) and 1 - P(second)."""
    first, *turned = grades
    if first is None or None in turned:
        return None
    return (first + sum(1.0 - grade for grade in turned if grade is not None)) / len(grades)


def _counts(answers: Sequence[tuple[float | None, Reply]], grades: int) -> dict[str, int]:
    """Absent grades, grades read from text, and those of servers whose list left out some answers."""
    odds = [reply.probabilities for _, reply in answers]
    counts = (
        sum(grade is None for grade, _ in answers),
        sum(found is None for found in odds),
        sum(found is not None and len(found) < grades for found in odds),
    )
    return dict(zip(_NOTES, counts, strict=True))
