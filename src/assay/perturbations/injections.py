"""A text without value that asks for a high score, alone or around a stranger's text (*blind* sec. 5.2)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Literal, get_args

from assay.core import Perturbation, Record
from assay.errors import SpecError, suggest
from assay.vocabulary import Task

Place = Literal["alone", "prefix", "suffix"]
PLACES: tuple[Place, ...] = get_args(Place)
CONTROL = "control"
_KINDS: dict[Task, str] = {
    "summarisation": "summary",
    "translation": "translation",
    "dialogue": "reply",
    "question-generation": "question",
    "image-captioning": "caption",
}


@dataclass(frozen=True, slots=True)
class Injection:
    """A string and the family it belongs to."""

    id: str
    family: str
    text: str
    source: str

    def worded(self, task: Task) -> str:
        """The string with the task's word for a text."""
        return self.text.replace("{kind}", _KINDS.get(task, "text"))


@cache
def injections() -> dict[str, Injection]:
    """The embedded strings by id, controls last."""
    text = (files("assay.data") / "injections" / "injections.toml").read_text("utf-8")
    return {row["id"]: Injection(**row) for row in tomllib.loads(text)["injection"]}


def stranger(record: Record, rng: Random) -> str | None:
    """The gold of another item; None where there is none."""
    others = [other for other in record.others if other != record.gold]
    return rng.choice(others) if others else None


def placed(injection: str, text: str, place: Place) -> str:
    """The injection with a text behind it, before it, or none."""
    if place == "alone":
        return injection
    return f"{injection} {text}" if place == "prefix" else f"{text} {injection}"


@dataclass(frozen=True)
class Injected(Perturbation):
    """An injection, `level` times, in the place of the text or around a stranger's text."""

    name = "injection"
    criterion = "adequacy"
    level: int = 1
    injection: str = "answer-yes-full"
    place: Place = "alone"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Put the injection in."""
        known = injections()
        if self.injection not in known:
            raise SpecError(f"unknown injection {self.injection!r}{suggest(self.injection, known)}")
        asked = " ".join([known[self.injection].worded(record.task)] * self.level)
        other = "" if self.place == "alone" else stranger(record, rng)
        return None if other is None else placed(asked, other, self.place)
