"""A language model as judge: it grades a text by a criterion (pointwise), or says which of two is better.

A judge on this machine is a causal model whose probabilities of the grades are read without generating.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from assay.core import Metric, Sample, Scores
from assay.errors import MetricError, SpecError
from assay.metrics.base import Neural
from assay.metrics.common import metric
from assay.metrics.judge import prompt
from assay.metrics.judge.prompt import Question, Reading, Reply, blinded
from assay.metrics.judge.server import ask_server, checked_host
from assay.models import weights
from assay.models.budget import Price, current_budget
from assay.models.lazy import torch
from assay.models.likelihood import causal, start_id
from assay.models.torch import Loaded, Precision
from assay.recipe import digest, generator
from assay.vocabulary import Need, NonNegative

log = logging.getLogger("assay")
_UNPARSED = "unparsed"
_NOTES = (_UNPARSED, "read from text", "partly listed")
_QUOTED = 60  # characters of an answer that names no grade
_FAULTS = {
    "pairwise": "choose neither A nor B",
    "errors": "list no errors under Critical, Major and Minor",
    "checklist": "do not answer each question with yes or no",
}


@metric("judge")
class Judge(Neural, Metric):
    """A language model's grade of a text, on 0..1: the lowest grade of its scale to the highest.

    The grade is the mean over the probabilities of the possible answers (Liu et al. 2023, G-Eval); where a
    server reports none, it is read from the answer's text. Answers that name no grade are absent and counted.
    A pairwise judge needs a rival and gives P(hypothesis is better), shown in this order, or averaged over
    both orders (swap=true). `errors` asks for a list of errors, as GEMBA-MQM does (Kocmi & Federmann 2023),
    and gives 1 less a 25th of its penalties: 25 for a critical error, 5 for a major, 1 for a minor one.
    `checklist` asks yes/no questions, as CheckEval does (Lee et al. 2025), and gives the share of yes.
    """

    # Prompts share their beginnings, and requests wait for a server: small batches would waste both.
    batch = 32
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
        if self.endpoint:
            checked_host(self.endpoint)  # before anything is stored
        if self.swap and self.mode != "pairwise":
            raise SpecError("swap=true is for pairs; give mode=pairwise too")
        if self.mode in prompt.LISTS and (self.anchored or self.shots or self.answer == "probabilities"):
            raise SpecError(
                f"mode={self.mode} is answered in words: anchored, shots and answer=probabilities are for "
                f"grades; leave them out"
            )
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

    def pins(self) -> Mapping[str, str]:
        digests = {"template": self._form.digest}
        return digests if self.endpoint else {**digests, "model": weights.pin(self.model)}

    @property
    def _form(self) -> prompt.Form:
        shots = (self.references, self.shots, self.template)
        return prompt.Form(self.mode, self.scale, self.criterion, self.anchored, *shots)

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
        questions = [Question(form.messages(s), form.grades, s.draw, form.room) for s in flat]
        replies = self.ask(questions, "text" if self.mode in prompt.LISTS else self.answer)
        graded = iter([self._graded(sample, reply) for sample, reply in zip(flat, replies, strict=True)])
        answers = [[next(graded) for _ in order] for order in orders]
        counts = [_counts(some, len(form.grades)) for some in answers]
        values = [_averaged([grade for grade, _ in some]) for some in answers]
        return Scores(values, {name: [count[name] for count in counts] for name in _NOTES})

    def ask(self, questions: Sequence[Question], reading: Reading) -> list[Reply]:
        """Ask the server, or the model here: one pass over the prompts' beginnings, or text if asked to."""
        if self.endpoint:
            return ask_server(self.endpoint, self.model, questions, reading, self.temperature)
        loaded = self.load_model()
        prompts = [_prompt(loaded, question) for question in questions]
        budget = current_budget()
        for ids in prompts:
            budget.book(Price(), budget.reserve(Price(), 0, 0), len(ids), 0)
        both = list(zip(questions, prompts, strict=True))
        if reading == "text":
            return [_generate(loaded, question, ids, self.temperature) for question, ids in both]
        ids_of = partial(_grade_ids, loaded.serial, loaded.tokenizer)
        logs = iter(causal(loaded, [(given, ids) for q, given in both for ids in ids_of(q.grades)]))
        chances = ({grade: float(np.exp(next(logs).sum())) for grade in q.grades} for q in questions)
        return [Reply(row, None, len(given), 0) for row, given in zip(chances, prompts, strict=True)]

    def silence(self, counted: Mapping[str, int]) -> str | None:
        count = counted.get(_UNPARSED, 0)
        if not count:
            return None
        whose = "its answers" if self.swap else f"its answers for {count} of {count} samples"
        if self.answer == "probabilities":
            return f"{whose} came without probabilities; leave answer=probabilities out"
        fault = _FAULTS.get(self.mode, f"name no single grade of {self.scale}")
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
        if self.mode in prompt.LISTS:
            return self._form.read_list(reply.text or "")
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
    note = "note: %s is asked for the model %s, the default; model=NAME asks for another"
    log.warning(note, endpoint, model)


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


def _prompt(loaded: Loaded, question: Question) -> tuple[int, ...]:
    """Return the conversation as ids, by the model's chat template; a model without one reads plain text."""
    messages = question.messages
    turns = [{"role": message.role, "content": defused(loaded, message.content)} for message in messages]
    if loaded.tokenizer.chat_template:
        text = loaded.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ids = loaded.tokenizer.encode(text, add_special_tokens=False, verbose=False)
    else:
        text = "\n\n".join(message.content for message in messages) + "\n"
        ids = [start_id(loaded), *loaded.tokenizer.encode(text, add_special_tokens=False, verbose=False)]
    if len(ids) + question.room > loaded.limit:
        raise MetricError(
            f"a prompt of {len(ids)} tokens does not fit: {loaded.path.name} reads {loaded.limit}; "
            f"give references=first or none, a shorter source, or a model that reads more"
        )
    return tuple(ids)


def defused(loaded: Loaded, text: str) -> str:
    """Break up the model's control tokens in a text, so that what is judged cannot end its turn."""
    for token in loaded.tokenizer.all_special_tokens:
        text = text.replace(token, f"{token[:1]} {token[1:]}")
    return text


@cache
def _grade_ids(serial: int, tokenizer: Any, grades: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return each grade as ids; where one is the start of another (1, 10, 100), with the end of the turn."""
    grade_ids = [tuple(tokenizer.encode(grade, add_special_tokens=False)) for grade in grades]
    end = tokenizer.eos_token_id
    ambiguous = any(a != b and b[: len(a)] == a for a in grade_ids for b in grade_ids)
    if ambiguous and end is None:
        raise MetricError("this model has no end token to tell 1 from 10; give scale=1-5")
    return [(*ids, end) for ids in grade_ids] if ambiguous and end is not None else grade_ids


def _generate(loaded: Loaded, question: Question, given: tuple[int, ...], temperature: float) -> Reply:
    """Return what the model writes: its likeliest words, or sampled ones with the repeat as seed."""
    ids = torch.tensor([given], device=loaded.device)
    options: dict[str, Any] = {"do_sample": True, "temperature": temperature} if temperature > 0 else {}
    options = {"max_new_tokens": question.room, "pad_token_id": loaded.pad, "do_sample": False} | options
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(int(digest(str(question.draw), *map(str, given))[:12], 16))
        answer = loaded.model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(given) :]
    text = str(loaded.tokenizer.decode(answer, skip_special_tokens=True))
    current_budget().book(Price(), 0.0, 0, len(answer))
    return Reply(None, text, len(given), len(answer))
