"""What a judge is asked: messages from templates, the form of the answer, blinded texts."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from assay.core import Sample
from assay.errors import SpecError, suggest
from assay.files import toml_file
from assay.metrics.judge.answers import parsed_answers, parsed_errors

JudgeMode = Literal["pointwise", "pairwise", "errors", "checklist"]
LISTS = ("errors", "checklist")  # modes whose answer is a list in words, not a grade
ScaleName = Literal["1-5", "0-100"]
References = Literal["all", "first", "none"]
ReadGrade = Literal["auto", "probabilities", "text", "json"]
Effort = Literal["", "none", "minimal", "low", "medium", "high"]
WRITTEN = 8  # tokens of an answer that is a grade
_WRITTEN_AS_JSON = 24
WITH_REASONS = 512  # tokens of an answer that gives its reasons first
# Of English prompts under a tokeniser of 49,000 tokens (smollm2), measured over the questions of judge-bias.
_CHARACTERS_PER_TOKEN = 4.0
_TOKENS_PER_TURN = 12
_SLOT = re.compile(r"\{(\w+)\}")
_ANCHORED = {"1-5": ("1", "2", "3", "4", "5"), "0-100": ("0", "20", "50", "80", "100")}
_WORDS, _PARTS = ("system", "user"), ("source", "reference", "anchor", "steps")


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of the conversation with a judge."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """Everything of a prompt but the texts."""

    mode: JudgeMode
    scale: ScaleName
    criterion: str
    anchored: bool
    references: References
    shots: int
    template: str
    reasons: bool = False
    json: bool = False

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
        if self.mode == "errors" or self.reasons:
            return WITH_REASONS
        if self.mode == "checklist":
            return 12 * len(self.questions)
        return _WRITTEN_AS_JSON if self.json else WRITTEN

    @property
    def usual(self) -> int:
        """How many tokens an answer usually has; a run learns what this judge writes."""
        if self.mode in LISTS or self.reasons:
            return {"errors": 60, "checklist": 6 * len(self.questions)}.get(self.mode, 60)
        return 10 if self.json else 2

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema of an answer; None where it is given in words."""
        if not self.json:
            return None
        names = [*(["reasons"] if self.reasons else []), self._field]
        pair: dict[str, Any] = {"type": "string", "enum": ["A", "B"]}
        grade = pair if self.mode == "pairwise" else {"type": "integer"}
        properties = {name: {"type": "string"} if name == "reasons" else grade for name in names}
        return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}

    @property
    def _field(self) -> str:
        """What the answer in JSON calls the grade."""
        return "better" if self.mode == "pairwise" else "grade"

    @property
    def questions(self) -> tuple[str, ...]:
        """The criterion's checklist."""
        return tuple(_known("questions.toml", self.criterion))

    @property
    def wording(self) -> str:
        """The template's file: lists, JSON and reasons have one of their own for each version."""
        if "/" in self.template:
            return self.template
        forms = {self.mode: self.mode in LISTS, "json": self.json, "reasons": self.reasons}
        kind = next((name for name, is_asked in forms.items() if is_asked), None)
        return f"{kind}-{self.template}" if kind else self.template

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
            "reasons": parts.get("reasons", "") if self.reasons else "",
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
            answer = letter if self.mode == "pairwise" else grade
            value = answer if self.mode == "pairwise" else int(grade)
            yield Message("assistant", json.dumps({self._field: value}) if self.json else answer)

    @property
    def digest(self) -> str:
        more = "questions.toml" if self.mode in LISTS else "shots.toml"
        whole = "\0".join([_text(self.wording), _text("criteria.toml"), _text(more)])
        return "sha256:" + hashlib.sha256(whole.encode()).hexdigest()[:16]


@cache
def _headings(template: str, mode: JudgeMode) -> re.Pattern[str]:
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


def _template(name: str, mode: JudgeMode) -> dict[str, dict[str, str]]:
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


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """A prompt, the answers that count, the number of this repeat, and how the answer is to be given."""

    messages: tuple[Message, ...]
    grades: tuple[str, ...]
    draw: int = 0
    room: int = WRITTEN  # tokens that an answer may have
    schema: Mapping[str, Any] | None = None  # of an answer in JSON

    @property
    def tokens(self) -> int:
        """About how many tokens are read: English text, and what a chat template puts around a turn."""
        size = sum(len(message.content) for message in self.messages)
        return round(size / _CHARACTERS_PER_TOKEN) + _TOKENS_PER_TURN * len(self.messages)


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
