"""A judge on this machine: a causal model's probabilities of the grades, read without generating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from assay.errors import MetricError
from assay.metrics.judge.prompt import Message, Question, Reading, Reply
from assay.models.budget import Price, current_budget
from assay.models.likelihood import Row, causal, start_id
from assay.models.torch import Loaded, Precision, load
from assay.recipe import digest

WRITTEN = 8  # tokens, where text is asked for


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """A causal language model by its name or path."""

    model: str
    precision: Precision

    def loaded(self) -> Loaded:
        return load("AutoModelForCausalLM", self.model, precision=self.precision)

    def ask(self, questions: Sequence[Question], reading: Reading, temperature: float) -> list[Reply]:
        """Run one forward pass over the distinct beginnings of all prompts, or generate text if asked to."""
        loaded = self.loaded()
        prompts = [_prompt(loaded, question.messages) for question in questions]
        budget = current_budget()
        for ids in prompts:
            budget.book(Price(), budget.reserve(Price(), 0, 0), len(ids), 0)
        both = list(zip(questions, prompts, strict=True))
        if reading == "text":
            return [_generate(loaded, question, prompt, temperature) for question, prompt in both]
        rows: list[Row] = []
        for question, prompt in both:
            rows += [(prompt, ids) for ids in _grade_ids(loaded.serial, loaded.tokenizer, question.grades)]
        logs = iter(causal(loaded, rows))
        replies = []
        for question, prompt in both:
            chances = {grade: float(np.exp(next(logs).sum())) for grade in question.grades}
            replies.append(Reply(chances, None, len(prompt), 0))
        return replies


def _prompt(loaded: Loaded, messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the conversation as ids, by the model's chat template; a model without one reads plain text."""
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


def _generate(loaded: Loaded, question: Question, prompt: tuple[int, ...], temperature: float) -> Reply:
    """Return what the model writes: its likeliest words, or sampled ones with the repeat as seed."""
    import torch

    ids = torch.tensor([prompt], device=loaded.device)
    options: dict[str, Any] = {
        "max_new_tokens": WRITTEN,
        "pad_token_id": loaded.pad,
        "do_sample": temperature > 0,
    }
    options |= {"temperature": temperature} if temperature > 0 else {}
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(int(digest(str(question.draw), *map(str, prompt))[:12], 16))
        answer = loaded.model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0, len(prompt) :]
    text = str(loaded.tokenizer.decode(answer, skip_special_tokens=True))
    current_budget().book(Price(), 0.0, 0, len(answer))
    return Reply(None, text, len(prompt), len(answer))
