"""A judge behind an OpenAI-compatible endpoint: questions out, several at a time, replies in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.metrics.judge.answer import Question, Reading, Reply
from assay.metrics.judge.line import Line, line_to, setting
from assay.models.budget import Price, ledger, price

if TYPE_CHECKING:
    import httpx

WRITTEN = 8  # tokens an answer may have
_CHARACTERS_A_TOKEN = 4.3


@dataclass(frozen=True, slots=True)
class HttpJudge:
    """A model served at `endpoint`, the address before /chat/completions."""

    endpoint: str
    model: str

    def ask(self, questions: Sequence[Question], reading: Reading, temperature: float) -> list[Reply]:
        """All questions, several at a time, replies in order; the first that fails for good is raised."""
        line = line_to(self.endpoint)
        cost = price()
        many = int(setting("ASSAY_JUDGE_CONCURRENCY", 8, least=1))
        with line.open() as client, ThreadPoolExecutor(many) as pool:

            def one(question: Question) -> Reply:
                body = self._body(question, reading, temperature, line)
                return _asked(line, client, body, question.grades, cost)

            waiting = [pool.submit(copy_context().run, one, question) for question in questions]
            try:
                return [future.result() for future in waiting]
            finally:
                for future in waiting:
                    future.cancel()

    def _body(self, question: Question, reading: Reading, temperature: float, line: Line) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in question.messages],
            "max_tokens": WRITTEN,
            "temperature": temperature,
            "seed": question.draw,
        }
        if reading != "text" and line.gives_probabilities:
            body |= {"logprobs": True, "top_logprobs": 20}
        return body


def _asked(
    line: Line, client: httpx.Client, body: dict[str, Any], grades: Sequence[str], cost: Price
) -> Reply:
    """One question, within the budget and on the bill."""
    size = sum(len(turn["content"]) for turn in body["messages"])
    about = (math.ceil(size / _CHARACTERS_A_TOKEN), WRITTEN)
    aside = ledger().reserve(cost, *about)
    taken = (0, 0)
    try:
        answer = line.post(client, body)
        taken = _tokens(answer.get("usage")) or about
    finally:
        ledger().book(cost, aside, *taken, estimated=taken is about)
    return _reply(answer, grades, taken)


def _tokens(usage: object) -> tuple[int, int] | None:
    """Tokens read and written; None where the server tells none that can be read."""
    found = usage if isinstance(usage, Mapping) else {}
    read, written = (found.get(name) for name in ("prompt_tokens", "completion_tokens"))
    if not (isinstance(read, int) and isinstance(written, int) and min(read, written) >= 0):
        return None
    return read, written


def _reply(body: Mapping[str, Any], grades: Sequence[str], tokens: tuple[int, int]) -> Reply:
    choice = body["choices"][0]
    text = choice["message"]["content"]
    return Reply(_probabilities(choice.get("logprobs"), grades, text), text, *tokens)


def _probabilities(logprobs: object, grades: Sequence[str], text: str) -> dict[str, float] | None:
    """P of each grade as the first token written; None where the server tells none.

    A number that takes several tokens (7, 0) cannot be read off the first one.
    """
    first = _first_token(logprobs)
    if first is None or (grades[0] != "A" and first["token"].strip() != text.split()[0].strip(".*")):
        return None
    found: dict[str, float] = {}
    for row in first.get("top_logprobs") or [first]:
        grade = str(row["token"]).strip()
        if grade in grades:
            found[grade] = found.get(grade, 0.0) + math.exp(float(row["logprob"]))
    return found or None


def _first_token(logprobs: object) -> dict[str, Any] | None:
    """The first written token that is not blank."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    rows = content if isinstance(content, list) else []
    return next((row for row in rows if str(row.get("token", "")).strip()), None)
