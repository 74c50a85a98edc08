"""What one model behind a server takes, learned from its refusals, and where its answer stands.

Servers differ in the name of the limit of an answer, refuse parameters that others need, and put an answer
into one text, into parts, or nowhere while the model is still thinking.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from json import JSONDecodeError, loads
from threading import Lock
from typing import Any

from assay.metrics.judge.answers import Reply
from assay.metrics.judge.prompt import WITH_REASONS

_log = logging.getLogger("assay")
Body = dict[str, Any]  # of a request, as JSON
THINKING = 4096  # tokens for a model that thinks before it answers
_LIMITS = ("max_tokens", "max_completion_tokens")  # the name of the limit: of old servers, and of new models
_GRADE_ODDS = ("logprobs", "top_logprobs")  # refused together
_OPTIONAL = ("temperature", "seed", "response_format", "reasoning_effort", *_GRADE_ODDS)
_REFUSALS = (400, 403, 422)
_PARAMETER = re.compile(rf"\b(?:{'|'.join((*_LIMITS, *_OPTIONAL))})\b")


class Dialect:
    """The parameters that one model behind one address takes; every refusal is noted once."""

    def __init__(self, address: str, model: str) -> None:
        self._name = f"{model} at {address}"
        self._refused: set[str] = set()
        self._room = 0  # tokens that answers were found to need
        self._lock = Lock()

    def spoken(self, wanted: Body, room: int) -> Body:
        """The parameters that are taken, with the limit of the answer under its name here."""
        limit = _LIMITS[_LIMITS[0] in self._refused]
        return {name: value for name, value in wanted.items() if name not in self._refused} | {limit: room}

    def limit_of(self, body: Body) -> int:
        """How many tokens an answer to this body may have."""
        return int(next(body[name] for name in _LIMITS if name in body))

    @property
    def without(self) -> tuple[str, ...]:
        """The refused parameters that change an answer."""
        return tuple(name for name in _OPTIONAL if name in self._refused and name not in _GRADE_ODDS)

    def learns(self, sent: Body, status: int, told: str) -> bool:
        """Whether a parameter was refused that can be left out or renamed, so that asking again helps."""
        name = _refused_parameter(told, sent) if status in _REFUSALS else None
        if name is None or name == _LIMITS[1]:
            return False
        with self._lock:
            names = {*_GRADE_ODDS} if name in _GRADE_ODDS else {name}
            if not names <= self._refused:
                self._refused |= names
                instead = f"{_LIMITS[1]} is sent instead" if name == _LIMITS[0] else "it is asked without"
                _log.warning("note: %s takes no %s; %s", self._name, name, instead)
        return True

    def room(self, least: int, *, thinks: bool) -> int:
        """How many tokens an answer may have."""
        return max(least, self._room, THINKING if thinks else 0)

    def gives_more_room(self, reply: Reply) -> bool:
        """Whether an answer was cut by its limit and can be asked for with a larger one."""
        room = THINKING if reply.thought else WITH_REASONS
        with self._lock:
            if not reply.was_cut or reply.limit >= room:
                return False
            if self._room < room:
                self._room = room
                what = "thinks" if reply.thought else "explains itself"
                _log.warning("note: %s %s before it answers: it may write %d tokens", self._name, what, room)
        return True


def _refused_parameter(told: str, sent: Body) -> str | None:
    """The parameter that a refusal names first, if it was sent."""
    try:
        error = loads(told)["error"]
        told = f"{error.get('param')} {error.get('message')}"
    except (JSONDecodeError, RecursionError, LookupError, TypeError, AttributeError):
        pass  # another form of refusal: its whole text is looked at
    return next((name for name in _PARAMETER.findall(told) if name in sent), None)


def text_written(choice: Mapping[str, Any]) -> str | None:
    """The text of an answer, whole or in parts; '' of a model that was still thinking; None of no answer."""
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type") in ("text", "output_text")]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(message.get("refusal"), str):
        return str(message["refusal"])
    has_thought = any(isinstance(message.get(name), str) for name in ("reasoning", "reasoning_content"))
    return "" if has_thought or choice.get("finish_reason") == "length" else None
