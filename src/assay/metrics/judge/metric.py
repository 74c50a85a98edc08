"""A language model as judge: it grades a text by a criterion (pointwise), or says which of two is better.

A judge on this machine is a causal model whose probabilities of the grades are read without generating.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, permutations
from typing import Any

import numpy as np

from assay.core import Asked, Metric, Sample, Scores
from assay.errors import MetricError, SpecError
from assay.metrics.base import Neural
from assay.metrics.judge import answers, prompt
from assay.metrics.judge.answers import Graded, Reply
from assay.metrics.judge.prompt import JudgeQuestion, ReadGrade, blinded
from assay.metrics.judge.server import Asking, ask_server, checked_host
from assay.models import weights
from assay.models.budget import Price, Watch, current_budget
from assay.models.lazy import torch
from assay.models.likelihood import causal, start_id
from assay.models.torch import Loaded, Precision
from assay.recipe import digest, generator
from assay.vocabulary import Need, NonNegative

_log = logging.getLogger("assay")
_NOTES = (answers.UNPARSED, answers.OTHER_SCALE, "read from text", "partly listed")
_FAULTS = {
    "pointwise": "name no single grade of {scale}",
    "pairwise": "choose neither A nor B",
    "errors": "list no errors under Critical, Major and Minor",
    "checklist": "do not answer each question with yes or no",
}
# How many questions `assay audit` puts to a judge at --size quick: behind a server half a million tokens
# and a few minutes; here as many minutes on two cores, with a very small model.
_QUICK_OF_SERVER, _QUICK_HERE = 2000, 500


@dataclass(frozen=True)
class Judge(Neural, Metric):
    """A language model's grade of a text, on 0..1: the lowest grade of its scale to the highest.

    The grade is the mean over the probabilities of the possible answers (Liu et al. 2023, G-Eval); where a
    server reports none, it is read from the answer's text. Answers that name no grade are absent and counted.
    A pairwise judge needs a rival and gives P(hypothesis is better), shown in this order, or averaged over
    both orders (swap=true). `errors` asks for a list of errors, as GEMBA-MQM does (Kocmi & Federmann 2023),
    and gives 1 less a 25th of its penalties: 25 for a critical error, 5 for a major, 1 for a minor one.
    `checklist` asks yes/no questions, as CheckEval does (Lee et al. 2025), and gives the share of yes.
    """

    name = "judge"
    # version 1 took no answer that names a second number, such as "(2 sentences) I rate it 4/5"
    version = 2
    paradigm = "judge"
    range = (0.0, 1.0)
    architecture = "AutoModelForCausalLM"
    citation = "Zheng et al. 2023, Judging LLM-as-a-judge with MT-Bench and Chatbot Arena, NeurIPS 2023"

    # Prompts share their beginnings, and requests wait for a server: small batches would waste both.
    batch = 32
    model: str = "smollm2"
    endpoint: str = ""  # of an OpenAI-compatible server; empty: the model runs on this machine
    mode: prompt.JudgeMode = "pointwise"
    scale: prompt.ScaleName = "1-5"
    criterion: str = "overall"
    references: prompt.References = "all"
    anchored: bool = False  # says in words what each grade means
    swap: bool = False  # asks about a pair in both orders
    blind: bool = False  # hides authors and words for groups
    shots: NonNegative = 0  # worked examples
    answer: prompt.ReadGrade = "auto"
    reasons: bool = False  # asks for reasons before the grade
    effort: prompt.Effort = ""  # how long a model that thinks may think; empty: as it does by itself
    temperature: float = 0.0
    template: str = "v1"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.endpoint:
            checked_host(self.endpoint)  # before anything is stored
        if self.swap and self.mode != "pairwise":
            raise SpecError("swap=true is for pairs; give mode=pairwise too")
        self._check_answers()
        if not self.temperature >= 0:
            raise SpecError(f"temperature={self.temperature}: at least 0 is needed")

    def _check_answers(self) -> None:
        """Refuse ways to answer that exclude each other."""
        of_grades = [self.anchored, self.shots, self.reasons, self.answer in ("probabilities", "json")]
        if self.mode in prompt.LISTS and any(of_grades):
            raise SpecError(
                f"mode={self.mode} is answered in words: anchored, shots, reasons and answer={self.answer} "
                f"are for grades; leave them out"
            )
        without_reasons = [self.shots, self.answer == "probabilities"]
        if self.reasons and any(without_reasons):
            raise SpecError(
                "reasons=true is answered in words: shots have no reasons, and the probabilities of the "
                "first word are no grades; leave shots and answer=probabilities out"
            )
        of_servers = [self.effort, self.answer == "json"]
        if not self.endpoint and any(of_servers):
            raise SpecError("effort= and answer=json are for servers; give endpoint= too, or leave them out")

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
    def _form(self) -> prompt.AnswerForm:
        shots = (self.references, self.shots, self.template)
        as_json = self.answer == "json"
        return prompt.AnswerForm(
            self.mode, self.scale, self.criterion, self.anchored, *shots, self.reasons, as_json
        )

    @property
    def _reading(self) -> ReadGrade:
        """How an answer is read: lists, and grades after reasons, in words."""
        is_worded = self.mode in prompt.LISTS or (self.reasons and self.answer == "auto")
        return "text" if is_worded else self.answer

    @property
    def _watch(self) -> Watch:
        fault = _FAULTS[self.mode].format(scale=self.scale)
        advice = (
            "" if self.reasons or self.mode in prompt.LISTS else "; reasons=true lets it explain itself first"
        )
        return current_budget().watch(self.signature, f"{fault}{{example}}{advice}")

    @property
    def quick_questions(self) -> int:
        return _QUICK_OF_SERVER if self.endpoint else _QUICK_HERE

    def prepare(self) -> None:
        if not self.endpoint:
            self.load_model()
        elif self.model == type(self).model:
            _warn_of_default(self.endpoint, self.model)

    def score(self, samples: Sequence[Sample]) -> Scores:
        asked = [shown for sample in samples for shown in self._shown(sample)]
        replies = self.ask([self._question(sample) for sample in asked], self._reading)
        graded = [(self._grade(s, reply), reply) for s, reply in zip(asked, replies, strict=True)]
        width = 2 if self.swap else 1
        by_sample = [graded[start : start + width] for start in range(0, len(graded), width)]
        counts = [_counts(both, len(self._form.grades)) for both in by_sample]
        return Scores([_averaged([grade.value for grade, _ in both]) for both in by_sample], _notes(counts))

    def _shown(self, sample: Sample) -> list[Sample]:
        """The sample as the judge sees it, and with swap the same pair the other way round."""
        shown = blinded(sample) if self.blind else sample
        turned = replace(shown, hypothesis=shown.rival or "", rival=shown.hypothesis)
        return [shown, turned] if self.swap else [shown]

    def _question(self, sample: Sample) -> JudgeQuestion:
        form = self._form
        return JudgeQuestion(form.messages(sample), form.grades, sample.draw, form.room, form.schema)

    def asked(self, samples: Sequence[Sample]) -> Asked:
        """What scoring these samples would ask, before it is known how long the answers are."""
        questions = [self._question(shown) for sample in samples for shown in self._shown(sample)]
        read = sum(question.tokens for question in questions)
        is_read_here = not self.endpoint and self._reading != "text"  # from probabilities: nothing is written
        written = 0 if is_read_here else self._form.usual * len(questions)
        return Asked(len(questions), read, written, is_paid=bool(self.endpoint))

    def ask(self, questions: Sequence[JudgeQuestion], reading: ReadGrade) -> list[Reply]:
        """Ask the server, or the model here: one pass over the prompts' beginnings, or text if asked to."""
        if self.endpoint:
            how = (self.model, reading, self.temperature, self.effort, self._can_be_read, self._watch)
            return ask_server(self.endpoint, Asking(*how), questions)
        loaded = self.load_model()
        prompts = [_prompt(loaded, question) for question in questions]
        both = zip(questions, prompts, strict=True)
        if reading == "text":
            return [self._written(loaded, question, ids) for question, ids in both]
        return _read_off(loaded, list(both))

    def _written(self, loaded: Loaded, question: JudgeQuestion, ids: tuple[int, ...]) -> Reply:
        """What the model here writes, as long as its answers can be read."""
        watch = self._watch
        with watch.asking():
            reply = _generate(loaded, question, ids, self.temperature)
        watch.note(reply.text, can_be_read=self._can_be_read(reply))
        return reply

    def silence(self, counted: Mapping[str, int]) -> str | None:
        count = counted.get(answers.UNPARSED, 0) + counted.get(answers.OTHER_SCALE, 0)
        if not count:
            return None
        whose = "its answers" if self.swap else f"its answers for {count} of {count} samples"
        if self.answer == "probabilities":
            return f"{whose} came without probabilities; leave answer=probabilities out"
        example = self._watch.example
        fault = _FAULTS[self.mode].format(scale=self.scale)
        return f"{whose} {fault}" + ("" if example is None else f", such as {example!r}")

    def _can_be_read(self, reply: Reply) -> bool:
        return self._grade(Sample(""), reply).value is not None

    def _grade(self, sample: Sample, reply: Reply) -> Graded:
        if self.mode in prompt.LISTS:
            return _checked(self._form.read_list(reply.text or ""))
        grades, chances = self._form.grades, reply.probabilities or {}
        text = None if self._reading == "probabilities" else reply.text
        is_worded = self.temperature > 0 or self._reading != "auto"
        if text is not None and (is_worded or not chances):
            return answers.parsed(grades, text)
        if self.temperature > 0:
            rng = generator(sample.draw, self.signature, sample.key)
            return _checked(answers.drawn(grades, chances, self.temperature, rng))
        return _checked(answers.share(grades, chances))


def _checked(value: float | None) -> Graded:
    return Graded(value, answers.UNPARSED if value is None else None)


def _read_off(loaded: Loaded, asked: Sequence[tuple[JudgeQuestion, tuple[int, ...]]]) -> list[Reply]:
    """How likely the model here finds each grade after each prompt; nothing is written."""
    answered = []
    for question, ids in asked:
        _book(question, len(ids), 0)
        answered += [(ids, grade) for grade in _grade_ids(loaded.serial, loaded.tokenizer, question.grades)]
    logs = iter(causal(loaded, answered))
    chances = ({grade: float(np.exp(next(logs).sum())) for grade in question.grades} for question, _ in asked)
    return [Reply(row, None, len(ids), 0) for row, (_, ids) in zip(chances, asked, strict=True)]


def _book(question: JudgeQuestion, read: int, written: int) -> None:
    """Book a question to the model here, which costs nothing."""
    budget = current_budget()
    budget.book(Price(), budget.reserve(Price(), question.tokens, 0), read, written)


@cache
def _warn_of_default(endpoint: str, model: str) -> None:
    note = "note: %s is asked for the model %s, the default; model=NAME asks for another"
    _log.warning(note, endpoint, model)


def _averaged(grades: Sequence[float | None]) -> float | None:
    """Return the grade; for a pair in both orders, the mean of P(first) and 1 - P(second)."""
    first, *turned = grades
    if first is None or None in turned:
        return None
    return (first + sum(1.0 - grade for grade in turned if grade is not None)) / len(grades)


def _counts(graded: Sequence[tuple[Graded, Reply]], grades: int) -> Counter[str]:
    """Count what is wrong with answers, what was read from text, and what the server refused to be told."""
    counts: Counter[str] = Counter(grade.fault for grade, _ in graded if grade.fault)
    for _, reply in graded:
        counts["read from text"] += reply.probabilities is None
        counts["partly listed"] += reply.probabilities is not None and len(reply.probabilities) < grades
        counts.update(f"questions asked without {name}" for name in reply.without)
    return counts


def _notes(counts: Sequence[Counter[str]]) -> dict[str, list[int]]:
    """The counts of all samples by what is counted."""
    names = dict.fromkeys(chain(_NOTES, *counts))
    return {name: [count[name] for count in counts] for name in names}


def _prompt(loaded: Loaded, question: JudgeQuestion) -> tuple[int, ...]:
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
    if not any(longer[: len(ids)] == ids for ids, longer in permutations(grade_ids, 2)):
        return grade_ids
    if tokenizer.eos_token_id is None:
        raise MetricError("this model has no end token to tell 1 from 10; give scale=1-5")
    return [(*ids, tokenizer.eos_token_id) for ids in grade_ids]


def _generate(loaded: Loaded, question: JudgeQuestion, given: tuple[int, ...], temperature: float) -> Reply:
    """Return what the model writes: its likeliest words, or sampled ones with the repeat as seed."""
    ids = torch.tensor([given], device=loaded.device)
    options: dict[str, Any] = {"do_sample": True, "temperature": temperature} if temperature > 0 else {}
    options = {"max_new_tokens": question.room, "pad_token_id": loaded.pad, "do_sample": False} | options
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(int(digest(str(question.draw), *map(str, given))[:12], 16))
        answer = loaded.model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(given) :]
    text = str(loaded.tokenizer.decode(answer, skip_special_tokens=True))
    _book(question, len(given), len(answer))
    return Reply(None, answers.without_thoughts(text), len(given), len(answer))
