"""A judge that runs here: a causal model's probabilities of the grades, read without generating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from assay.errors import MetricError
from assay.metrics.judge.answer import Question, Reading, Reply
from assay.metrics.judge.prompt import Message
from assay.metrics.likelihood import start_id
from assay.models import likelihood as _likelihood
from assay.models.budget import Price, ledger
from assay.models.torch import Loaded, Precision, load
from assay.recipe import digest

WRITTEN = 8  # tokens, where text is asked for


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A causal language model by its name or path."""

    model: str
    precision: Precision

    def loaded(self) -> Loaded:
        """The model, loaded once a process."""
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def ask(self, questions: Sequence[Question], reading: Reading, temperature: float) -> list[Reply]:
        """One forward pass over the distinct beginnings of all prompts, or text where that is asked for."""
        loaded = self.loaded()
        prompts = [_prompt(loaded, question.messages) for question in questions]
        book = ledger()
        for given in prompts:
            book.book(Price(), book.reserve(Price(), 0, 0), len(given), 0)
        if reading == "text":
            both = zip(questions, prompts, strict=True)
            return [_written(loaded, question, given, temperature) for question, given in both]
        rows: list[_likelihood.Row] = []
        for question, given in zip(questions, prompts, strict=True):
            rows += [(given, ids) for ids in _grade_ids(loaded, question.grades)]
        logs = iter(_likelihood.causal(loaded, rows))
        replies = []
        for question, given in zip(questions, prompts, strict=True):
            weights = {grade: float(np.exp(next(logs).sum())) for grade in question.grades}
            replies.append(Reply(weights, None, len(given), 0))
        return replies


def _prompt(loaded: Loaded, messages: Sequence[Message]) -> tuple[int, ...]:
    """The conversation as ids, by the model's own chat template; a model without one reads plain text."""
    turns = [{"role": message.role, "content": defused(loaded, message.content)} for message in messages]
    if loaded.tokenizer.chat_template:
        text = loaded.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ids = loaded.tokenizer.encode(text, add_special_tokens=False, verbose=False)
    else:
        text = "\n\n".join(message.content for message in messages) + "\n"
        ids = [start_id(loaded), *loaded.tokenizer.encode(text, add_special_tokens=False, verbose=False)]
    if len(ids) + WRITTEN > loaded.limit:
        raise MetricError(
            f"a prompt of {len(ids)} tokens does not fit: {loaded.path.name} reads {loaded.limit}; "
            f"give references=first or none, a shorter source, or a model that reads more"
        )
    return tuple(ids)


def defused(loaded: Loaded, text: str) -> str:
    """The text with the model's own control tokens spelt apart: what is judged cannot end its turn."""
    for token in loaded.tokenizer.all_special_tokens:
        text = text.replace(token, f"{token[:1]} {token[1:]}")
    return text


def _grade_ids(loaded: Loaded, grades: tuple[str, ...]) -> list[tuple[int, ...]]:
    return _ids_of(loaded.serial, loaded.tokenizer, grades, loaded.tokenizer.eos_token_id)


@cache
def _ids_of(
    serial: int, tokenizer: object, grades: tuple[str, ...], end: int | None
) -> list[tuple[int, ...]]:
    """Each grade as ids; where one begins another (1, 10, 100) the end of the turn tells them apart."""
    found = [tuple(tokenizer.encode(grade, add_special_tokens=False)) for grade in grades]  # type: ignore[attr-defined]
    tails = [one for one in found for other in found if one != other and other[: len(one)] == one]
    if tails and end is None:
        raise MetricError("this model has no end token to tell 1 from 10; give scale=1-5")
    return [(*ids, end) for ids in found] if tails and end is not None else found


def _written(loaded: Loaded, question: Question, given: tuple[int, ...], temperature: float) -> Reply:
    """What the model writes: its likeliest words, or drawn ones with the repeat as seed."""
    import torch

    ids = torch.tensor([given], device=loaded.device)
    drawing = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(int(digest(str(question.draw), *map(str, given))[:12], 16))
        answer = loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=WRITTEN,
            pad_token_id=loaded.pad,
            **drawing,
        )[0, len(given) :]
    text = str(loaded.tokenizer.decode(answer, skip_special_tokens=True))
    ledger().book(Price(), 0.0, 0, len(answer))
    return Reply(None, text, len(given), len(answer))
