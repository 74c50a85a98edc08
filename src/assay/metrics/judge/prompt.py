"""What a judge is asked and what it answers: messages from templates, grades from replies, blinded texts."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, Literal

from assay.core import Sample
from assay.datasets.lexicon import toml_file
from assay.errors import SpecError, suggest

Mode = Literal["pointwise", "pairwise", "errors", "checklist"]
LISTS = ("errors", "checklist")  # modes whose answer is a list in words, not a grade
ScaleName = Literal["1-5", "0-100"]
References = Literal["all", "first", "none"]
WRITTEN = 8  # tokens of an answer that is a grade
_SLOT = re.compile(r"\{(\w+)\}")
_ANCHORED = {"1-5": ("1", "2", "3", "4", "5"), "0-100": ("0", "20", "50", "80", "100")}
_WORDS, _PARTS = ("system", "user"), ("source", "reference", "anchor", "steps")


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of the conversation with a judge."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Form:
    """Everything of a prompt but the texts."""

    mode: Mode
    scale: ScaleName
    criterion: str
    anchored: bool
    references: References
    shots: int
    template: str

    @property
    def grades(self) -> tuple[str, ...]:
        """The answers that count, from the lowest; for a pair A, the first text, and B; of a list none."""
        if self.mode in LISTS:
            return ()
        if self.mode == "pairwise":
            return ("A", "B")
        return _ANCHORED["1-5"] if self.scale == "1-5" else tuple(str(ten) for ten in range(0, 101, 10))

    @property
    def room(self) -> int:
        """How many tokens an answer may have."""
        return {"errors": 512, "checklist": 12 * len(self.questions)}.get(self.mode, WRITTEN)

    @property
    def questions(self) -> tuple[str, ...]:
        """The criterion's checklist."""
        return tuple(_known("questions.toml", self.criterion))

    @property
    def wording(self) -> str:
        """The template's file: lists have one of their own for each version."""
        own = self.mode in LISTS and "/" not in self.template
        return f"{self.mode}-{self.template}" if own else self.template

    def read_list(self, text: str) -> float | None:
        """Return what an answer in words is worth, on 0..1; None where it is not in the form asked for."""
        return parsed_errors(text) if self.mode == "errors" else parsed_answers(text, len(self.questions))

    def messages(self, sample: Sample) -> tuple[Message, ...]:
        table = _template(self.wording, self.mode)
        texts = table[self.mode]
        system = Message("system", fill(texts["system"], self._frame(table["parts"])))
        question = Message("user", fill(texts["user"], self._texts(sample, table["parts"])))
        return (system, *self._examples(table), question)

    def _frame(self, parts: Mapping[str, str]) -> dict[str, str]:
        """Return the slots of the instruction: the criterion and what the grades mean."""
        known = _known("criteria.toml", self.criterion)
        if self.mode in LISTS:
            return {"criterion": known["text"]}
        rows = zip(_ANCHORED[self.scale], known["anchors"], strict=True)
        anchors = "".join(fill(parts["anchor"], {"grade": grade, "text": text}) for grade, text in rows)
        return {
            "criterion": known["text"],
            "anchors": anchors if self.anchored else "",
            "steps": parts["steps"] if self.scale == "0-100" else "",
            **self._ends(),
        }

    def _ends(self) -> dict[str, str]:
        """Return the slots of both ends of the scale, or of the checklist."""
        if self.mode in LISTS:
            return {"questions": "\n".join(f"Q{n}: {text}" for n, text in enumerate(self.questions, 1))}
        return {"low": self.grades[0], "high": self.grades[-1]}

    def _texts(self, sample: Sample, parts: Mapping[str, str]) -> dict[str, str]:
        """Return the slots of the question; a line of a text that looks like a heading begins with `> `."""
        shown = {"all": sample.references, "first": sample.references[:1], "none": ()}[self.references]
        quote = partial(_headings(self.wording, self.mode).sub, "> ")
        return {
            "source": fill(parts["source"], {"text": quote(sample.source)}) if sample.source else "",
            "references": "".join(fill(parts["reference"], {"text": quote(text)}) for text in shown),
            "hypothesis": quote(sample.hypothesis),
            "rival": quote(sample.rival or ""),
            **self._ends(),
        }

    def _examples(self, table: Mapping[str, Mapping[str, str]]) -> Iterator[Message]:
        known = _table("shots.toml")["shot"]
        if not 0 <= self.shots <= len(known):
            count = len(known)
            raise SpecError(f"shots={self.shots}: there are {count} worked examples; give 0 to that many")
        for shot in known[: self.shots]:
            sample = Sample(shot["hypothesis"], (shot["reference"],), shot["source"], rival=shot["rival"])
            yield Message("user", fill(table[self.mode]["user"], self._texts(sample, table["parts"])))
            letter = "A" if shot["share"] > 0.5 else "B"  # of the better text of a pair
            grade = self.grades[round(shot["share"] * (len(self.grades) - 1))]
            yield Message("assistant", letter if self.mode == "pairwise" else grade)

    @property
    def digest(self) -> str:
        more = "questions.toml" if self.mode in LISTS else "shots.toml"
        whole = "\0".join([_text(self.wording), _text("criteria.toml"), _text(more)])
        return "sha256:" + hashlib.sha256(whole.encode()).hexdigest()[:16]


@cache
def _headings(template: str, mode: Mode) -> re.Pattern[str]:
    """Where a line begins that could be taken for a heading of the template, such as "Text B:"."""
    table = _template(template, mode)
    texts = [*(table[name]["user"] for name in table if name != "parts"), *table["parts"].values()]
    lines = [re.sub(r"^(\{\w+\})+", "", line) for line in "\n".join(texts).split("\n")]
    headings = [_SLOT.split(line.rstrip(": "))[::2] for line in lines if line.endswith(":")]
    known = "|".join(r"\S+".join(map(re.escape, heading)) for heading in headings if any(heading))
    return re.compile(rf"^(?=[^\w\n]*(?:{known or '(?!)'})[^\w\n]*:)", re.I | re.M)


def fill(template: str, slots: Mapping[str, str]) -> str:
    """Put texts into slots in one pass, so that braces in a text stay braces.

    >>> fill("{a} and {b}", {"a": "{b}", "b": "x"})
    '{b} and x'
    """
    return _SLOT.sub(lambda match: slots.get(match[1], match[0]), template)


def _text(name: str) -> str:
    """Read one of our templates by its version, or the user's own file."""
    if name.endswith(".toml") and "/" in name:
        path = Path(name).expanduser()
        if not path.is_file():
            raise SpecError(f"no template at {path}; give a version (v1) or the path of a .toml file")
        return path.read_text("utf-8")
    file = files("assay.data") / "judge" / (name if name.endswith(".toml") else f"{name}.toml")
    if not file.is_file():
        raise SpecError(f"unknown template {name!r}; give v1, or ./FILE.toml")
    return file.read_text("utf-8")


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(_text(name))


def _known(file: str, criterion: str) -> Any:
    known = _table(file)
    if criterion not in known:
        raise SpecError(f"unknown criterion {criterion!r}{suggest(criterion, known)}")
    return known[criterion]


def _template(name: str, mode: Mode) -> dict[str, dict[str, str]]:
    try:
        table: dict[str, dict[str, str]] = tomllib.loads(_text(name))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"template {name}: not TOML: {error}") from error
    grades = {"pointwise": _WORDS, "pairwise": _WORDS, "parts": _PARTS}
    for section, keys in ({mode: _WORDS, "parts": _PARTS[:2]} if mode in LISTS else grades).items():
        absent = [key for key in keys if not isinstance(table.get(section, {}).get(key), str)]
        if absent:
            raise SpecError(f"template {name}: [{section}] lacks {', '.join(absent)}; see docs/judges.md")
    return table


Reading = Literal["auto", "probabilities", "text"]
Chances = Mapping[str, float]  # by grade
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
    room: int = WRITTEN  # tokens that an answer may have


@dataclass(frozen=True, slots=True)
class Reply:
    """A backend's answer: probabilities of grades where it gives them, its text where it wrote one."""

    probabilities: Chances | None
    text: str | None
    read: int  # tokens
    written: int


def share(grades: Sequence[str], probabilities: Chances) -> float | None:
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
    numbers = {float(number) for number in _NUMBER.findall(_SCALE_WORDS.sub(" ", text))}
    low, high = float(grades[0]), float(grades[-1])
    if len(numbers) != 1 or not low <= (number := numbers.pop()) <= high:
        return None
    return (number - low) / (high - low)


# GEMBA-MQM's penalties: the five gravest errors count, together as much as one critical error at most.
_PENALTIES = {"critical": 25, "major": 5, "minor": 1}
_COUNTED, _WORST = 5, 25
_ANSWER = re.compile(r"\bQ(\d+)\W{1,6}(yes|no)\b", re.I)


def parsed_errors(text: str) -> float | None:
    """Return 1 less a 25th of the penalties of the errors listed; None where no severity is named.

    >>> parsed_errors("Critical: no-error\\nMajor:\\naccuracy/omission"), parsed_errors("Fine.")
    (0.8, None)
    """
    penalties: list[int] = []
    severity, read = "", False
    for line in text.lower().splitlines():
        heading, _, rest = line.strip(" *#-").partition(":")
        if heading.strip(" *") in _PENALTIES:
            severity, line = heading.strip(" *"), rest
        bare = line.strip(" *#-")
        none = "no-error" in bare or "no error" in bare
        read = read or none or bool(severity)
        if bare and severity and not none:
            penalties.append(_WORST if "non-translation" in bare else _PENALTIES[severity])
    gravest = sorted(penalties, reverse=True)[:_COUNTED]
    return 1 - min(sum(gravest), _WORST) / _WORST if read else None


def parsed_answers(text: str, count: int) -> float | None:
    """Return the share of yes; None unless each question has one answer.

    >>> parsed_answers("Q1: yes\\nQ2: No", 2), parsed_answers("Q1: yes", 2)
    (0.5, None)
    """
    answers: set[tuple[int, str]] = {
        (int(number), answer.lower()) for number, answer in _ANSWER.findall(text)
    }
    if sorted(number for number, _ in answers) != list(range(1, count + 1)):
        return None
    return sum(answer == "yes" for _, answer in answers) / count


def drawn(grades: Sequence[str], probabilities: Chances, temperature: float, rng: Random) -> float | None:
    """Draw a grade as a model would at this temperature; return it on 0..1."""
    top = max((probabilities.get(grade, 0.0) for grade in grades), default=0.0)
    if top <= 0:
        return None
    weights = [(probabilities.get(grade, 0.0) / top) ** (1.0 / temperature) for grade in grades]
    return place(grades, rng.choices(list(grades), weights)[0])


# Blinding hides authors and words for groups, so that a judge cannot favour them: the attributes of *unfair*.
_ATTRIBUTES = ("race", "gender", "religion", "physical-appearance", "age", "socioeconomic-status")
# "(Written by a rich man.)", "By GPT-4:", "The author of this answer is ...": up to the clause's end.
_BYLINE = re.compile(
    r"\(?\b(?:written by|answer(?:ed)? by|(?:the )?author(?: of (?:this|the) \w+)?(?:\s+is|:)"
    r"|(?-i:By(?= [^\n:.]{1,60}:)))\s+[^\n.:)]{1,80}[.:]?\)?\s*",
    re.I,
)
_ARTICLE = re.compile(r"\b([Aa])n?(?= (person|individual|man|woman|child|[a-z]+)\b)")


def blinded(sample: Sample) -> Sample:
    """Return the sample without bylines and with neutral words for groups, in all its texts."""
    return replace(
        sample,
        hypothesis=_neutral(sample.hypothesis),
        references=tuple(map(_neutral, sample.references)),
        source=None if sample.source is None else _neutral(sample.source),
        rival=None if sample.rival is None else _neutral(sample.rival),
    )


def _neutral(text: str) -> str:
    pattern, words = _words()
    has_group = pattern.search(text)
    text = _BYLINE.sub("", text)
    if not has_group:
        return text
    text = pattern.sub(lambda match: _capital(match, words[match[0].lower()]), text)
    text = re.sub(r" {2,}", " ", text)
    return _ARTICLE.sub(lambda m: m[1] + ("n" if m[2][0] in "aeio" else ""), text)


def _capital(match: re.Match[str], neutral: str) -> str:
    """Return the neutral word, with a capital where a sentence begins."""
    before = match.string[: match.start()].rstrip()
    return neutral[:1].upper() + neutral[1:] if not before or before[-1] in ".!?" else neutral


@cache
def _words() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern of all words for groups, the longest first, and their neutral words."""
    listed: dict[str, str] = {}
    for attribute in _ATTRIBUTES:
        for group in toml_file("identities", attribute)["group"]:
            for noun in group["nouns"]:
                listed[noun["singular"].lower()] = noun["neutral"]
                listed[noun["plural"].lower()] = noun["neutral_plural"]
    # A neutral word may itself name another group (Muslim man, man): take that group's neutral word.
    neutral = {word: listed.get(other.lower(), other) for word, other in listed.items()}
    longest = sorted(neutral, key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest)) + r")\b", re.I), neutral
