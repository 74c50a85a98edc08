"""A judge's answer in, a grade on 0..1 out, or why there is none.

Models think aloud in marked blocks, explain themselves, and name numbers that are no grades ("2 sentences").
The last number that is named as a grade counts, with its scale; no grade is converted from another scale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

Chances = Mapping[str, float]  # by grade
Fault = Literal["unparsed", "other scale"]
UNPARSED: Fault = "unparsed"
OTHER_SCALE: Fault = "other scale"

# What models put around their thoughts before they answer: DeepSeek and Qwen, Mistral, Kimi, GPT-OSS.
_THOUGHTS = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    *((f"<{name}>", f"</{name}>") for name in ("reflection", "scratchpad", "analysis")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
]
# The field of a JSON answer that holds the grade: the one that we ask for, then usual ones.
_FIELDS = ("grade", "better", "score", "rating", "answer", "winner", "verdict", "choice")

# A scale that is told, not a grade: "on a scale from 1 to 5", "between 1 and 5", "a 1-5 scale".
_TOLD_SCALE = re.compile(
    r"(?:scale\W+(?:of|from|between)?|\bfrom|\bbetween)\s*\d+\s*(?:to|and|-|–)\s*\d+"
    r"|\d+\s*(?:to|-|–)\s*\d+\s+scale",
    re.I,
)
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?P<number>\d+(?:[.,]\d+)?)(?:(?P<percent>\s*%)|\s*(?:/|out of)\s*(?P<top>\d+))?"
    r"(?P<other>\s*(?:or|to|-|–|—)\s*\d+(?:[.,]\d+)?)?(?![\w%]|[.,]\d)",
    re.I,
)
_OF_A_GRADE = (
    r"(?:grad(?:e|ed|es|ing)|rat(?:e|ed|es|ing)|scor(?:e|ed|es|ing)|giv(?:e|en|es|ing)|award(?:ed)?"
    r"|assign(?:ed)?|deserves?|earns?|verdict|answer|overall|final(?:ly)?|boxed)"
)
_BETWEEN = (
    r"(?:(?:[^\w.!?]|_)+(?:it|this|the|a|an|of|is|as|at|to|would|be|my|your|text|response|summary|{}))*"
)
# What stands before a number that is a grade: "I rate it", "**Final grade:**", "my score would be a".
_NAMED = re.compile(rf"\b{_OF_A_GRADE}{_BETWEEN.format(_OF_A_GRADE)}(?:[^\w.!?]|_)*$", re.I)
_BEFORE = 80  # characters before a number in which it is named as a grade
_LONGEST = 20_000  # characters of an answer that are looked at, from its end, where the grade stands
_MARKS = " \t*_#`.()[]{}<>:\"'"  # around a number that stands alone on its line

_WINS = r"(?:better|best|winner|stronger|preferable|superior)"
# A letter that is named as the choice: "**Better text: B**", "[[A]]", "I prefer text A", "B is better".
_CHOICE = re.compile(
    rf"(?i:\b{_WINS}|\b(?:answer|verdict|choice|choose|chose|prefer|pick|select))"
    r"(?:(?:[^\w.!?]|_)+(?i:text|response|option|one|is|would|be|the))*(?:[^\w.!?]|_)*\b(?P<named>[AB])\b"
    r"|\[\[(?P<marked>[AB])\]\]"
    rf"|\b(?P<first>[AB])\b\W{{0,3}}\s(?:is|reads|wins)\b(?=\W+(?:\w+\W+){{0,2}}?{_WINS}|\W*$)"
    r"|^\W*(?P<alone>[AB])\W*$",
    re.M,
)
# Any letter that is no article: "A", "A, because", but not "A clear text".
_LETTER = re.compile(r"(?<!\w)(?:B|A(?!\s+(?!(?:is|was|has|and|or|because|since|as|wins)\b)[a-z]))(?!\w)")


@dataclass(frozen=True, slots=True)
class Reply:
    """A backend's answer: probabilities of grades where it gives them, its text where it wrote one."""

    probabilities: Chances | None
    text: str | None
    read: int  # tokens
    written: int
    without: tuple[str, ...] = ()  # parameters that the server refused, such as temperature
    limit: int = 0  # tokens that the answer was allowed
    was_cut: bool = False  # by the limit
    thought: bool = False  # it was cut before the model had done thinking


@dataclass(frozen=True, slots=True)
class Graded:
    """A grade on 0..1, or what is wrong with the answer."""

    value: float | None
    fault: Fault | None = None


_NO_GRADE, _FOREIGN = Graded(None, UNPARSED), Graded(None, OTHER_SCALE)


def without_thoughts(text: str) -> str:
    """The answer without what the model thought before: whole blocks, and those that a limit or a server cut.

    >>> without_thoughts("<think>Is it 2? No.</think>4"), without_thoughts("It is 2.</think>4")
    ('4', '4')
    >>> without_thoughts("<think>Is it 2? Per")
    ''
    """
    for opening, closing in _THOUGHTS:
        first, last = text.find(opening), text.rfind(closing)
        if last >= 0:  # the server's template may have written the opening
            before = text[:first] if 0 <= first < last else ""
            text = before + text[last + len(closing) :]
        text = text.partition(opening)[0]  # the limit came before the closing
    return text.strip()


def share(grades: Sequence[str], probabilities: Chances) -> float | None:
    """Return the expected grade on 0..1, or P(A) of a pair; None where no grade has any probability."""
    weights = [probabilities.get(grade, 0.0) for grade in grades]
    total = sum(weights)
    if total <= 0:
        return None
    return sum(weight * _place(grades, grade) for grade, weight in zip(grades, weights, strict=True)) / total


def _place(grades: Sequence[str], grade: str) -> float:
    """Return a grade on 0..1; for a pair, A (the first text is better) is 1."""
    if grades[0] == "A":
        return 1.0 if grade == "A" else 0.0
    return _on_scale(grades, float(grade))


def _on_scale(grades: Sequence[str], number: float) -> float:
    low, high = float(grades[0]), float(grades[-1])
    return (number - low) / (high - low)


def parsed(grades: Sequence[str], text: str) -> Graded:
    """Return the grade that an answer in words ends with, whatever stands before it.

    >>> parsed("12345", "(2 sentences) I rate it 4/5").value, parsed("AB", "A is short. Better: **B**").value
    (0.75, 0.0)
    >>> parsed("12345", "Rating: 8/10").fault, parsed("12345", "It has 2 errors in 3 lines.").fault
    ('other scale', 'unparsed')
    """
    text = without_thoughts(text)[-_LONGEST:]
    document = _json_object(text)
    held = next((document[name] for name in _FIELDS if name in document), None)
    if isinstance(held, int | float | str):
        text = str(held)
    return _parsed_choice(text) if grades[0] == "A" else _parsed_number(grades, text)


def _json_object(text: str) -> dict[str, Any]:
    """The JSON object in an answer, which may stand in a fence; empty where there is none."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        document = json.loads(text[begin : end + 1])
    except (ValueError, RecursionError):
        return {}
    return (
        {str(name).lower(): value for name, value in document.items()} if isinstance(document, dict) else {}
    )


def _parsed_choice(text: str) -> Graded:
    """The letter that is chosen last; where none is named as the choice, the only letter there is."""
    choices = [match[match.lastgroup or 0] for match in _CHOICE.finditer(text)]
    letters = choices[-1:] or list(set(_LETTER.findall(text)))
    return Graded(_place("AB", letters[0])) if len(letters) == 1 else _NO_GRADE


@dataclass(frozen=True, slots=True)
class _Mention:
    """A number of an answer; `top` is the upper end of the scale that is told with it."""

    number: float
    top: float | None
    is_named: bool  # as a grade, or by standing alone
    is_unsure: bool  # "3 or 4"

    def fits(self, grades: Sequence[str]) -> bool:
        """Whether it can be one of these grades; 0.8 of 100 is a grade on a scale of 1."""
        low, high = float(grades[0]), float(grades[-1])
        if self.top is not None and self.top != high:
            return False
        return low <= self.number <= high and not (high == 100 and 0 < self.number < 1)


def _parsed_number(grades: Sequence[str], text: str) -> Graded:
    """The last number that is named as a grade; where none is, the only number there is."""
    whole_scale = rf"\b{grades[0]}\s*(?:-|–|to)\s*{grades[-1]}\b"
    mentions = list(_mentions(re.sub(whole_scale, " ", _TOLD_SCALE.sub(" ", text))))
    grade = _meant(mentions)
    if grade is None or grade.is_unsure:
        return _NO_GRADE
    return Graded(_on_scale(grades, grade.number)) if grade.fits(grades) else _FOREIGN


def _meant(mentions: Sequence[_Mention]) -> _Mention | None:
    """The number that is the grade: the last one named so, else the last of a scale, else the only one."""
    named = [mention for mention in mentions if mention.is_named]
    told = [mention for mention in mentions if mention.top is not None]
    if chosen := named or told:
        return chosen[-1]
    return mentions[-1] if len({mention.number for mention in mentions}) == 1 else None


def _mentions(text: str) -> Iterator[_Mention]:
    """Every number of a text, and whether it is named as a grade."""
    for match in _NUMBER.finditer(text):
        line_start = text.rfind("\n", 0, match.start()) + 1
        line = text[line_start:].partition("\n")[0]
        alone = line.strip(_MARKS) == match[0].strip(_MARKS)
        top = 100.0 if match["percent"] else float(match["top"]) if match["top"] else None
        is_named = alone or _NAMED.search(text, max(0, match.start() - _BEFORE), match.start()) is not None
        yield _Mention(float(match["number"].replace(",", ".")), top, is_named, match["other"] is not None)


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
    return _place(grades, rng.choices(list(grades), weights)[0])
