"""Turn a judge's reply into a grade: the mean over the answers' probabilities, else parsed from its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

from assay.metrics.judge.prompt import Message

Reading = Literal["auto", "probabilities", "text"]
_SCALE_WORDS = re.compile(
    r"(?:on a scale (?:of|from)|from|between)\s+\d+\s*(?:to|-|and)\s*\d+|(?:/|out of)\s*\d+", re.I
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w%]|\.\d)")
_LETTER = re.compile(r"(?<!\w)[AB](?!\w)")


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, the answers that count, and the number of this repeat."""

    messages: tuple[Message, ...]
    grades: tuple[str, ...]
    draw: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A backend's answer: probabilities of grades where it gives them, its text where it wrote one."""

    probabilities: Mapping[str, float] | None
    text: str | None
    read: int  # tokens
    written: int


class Backend(Protocol):
    """A model that answers, on this machine or behind a server."""

    def ask(self, questions: Sequence[Question], reading: Reading, temperature: float) -> list[Reply]:
        """Return one reply per question."""


def share(grades: Sequence[str], probabilities: Mapping[str, float]) -> float | None:
    """Return the expected grade on 0..1, or P(A) of a pair; None where no grade has any probability."""
    weights = [probabilities.get(grade, 0.0) for grade in grades]
    total = sum(weights)
    if total <= 0:
        return None
    return sum(weight * place(grades, grade) for grade, weight in zip(grades, weights, strict=True)) / total


def place(grades: Sequence[str], grade: str) -> float:
    """Return a grade on 0..1; for a pair, A (the first text is better) is 1."""
    if grades[0] == "A":
        return 1.0 if grade == "A" else 0.0
    low, high = float(grades[0]), float(grades[-1])
    return (float(grade) - low) / (high - low)


def parsed(grades: Sequence[str], text: str) -> float | None:
    """Return the grade that a text names, on 0..1; None where it names none, several, or one off the scale.

    >>> parsed("12345", "Score: 4/5"), parsed("12345", "between 1 and 5"), parsed("AB", "**B**")
    (0.75, None, 0.0)
    """
    if grades[0] == "A":
        letters = set(_LETTER.findall(text))
        return place(grades, letters.pop()) if len(letters) == 1 else None
    bare = _SCALE_WORDS.sub(" ", text)
    numbers = {float(number) for number in _NUMBER.findall(bare)}
    low, high = float(grades[0]), float(grades[-1])
    if len(numbers) != 1 or not low <= (number := numbers.pop()) <= high:
        return None
    return (number - low) / (high - low)


def drawn(
    grades: Sequence[str], probabilities: Mapping[str, float], temperature: float, rng: Random
) -> float | None:
    """Draw a grade as a model would at this temperature; return it on 0..1."""
    top = max((probabilities.get(grade, 0.0) for grade in grades), default=0.0)
    if top <= 0:
        return None
    weights = [(probabilities.get(grade, 0.0) / top) ** (1.0 / temperature) for grade in grades]
    return place(grades, rng.choices(list(grades), weights)[0])
