"""Numbers and dates changed, and numerals written out (checklist, table 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Token, parse_one
from assay.perturbations.edit import joined_word, like, rewrite

# A number behind these is tied to the one before them: two to five, 4 out of 5.
_RANGE = (("to",), ("or",), ("and",), ("out", "of"), ("–",))
_PRESENT = 2025  # texts that name a later year look ahead
_FRACTIONS = ("third", "quarter", "fifth", "sixth", "tenth")


@dataclass(frozen=True)
class ChangeNumbers(Perturbation):
    """Numbers replaced by others of their size; dates are left to change-dates."""

    name = "change-numbers"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Change every number above one, the same number alike."""
        parse = parse_one(record.gold)
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            if _in_date(parse, index) or _part_of_name(parse, index) or not _free(parse, index):
                continue
            fitting = _other_numbers(token, _limit(parse, index))
            if token.text in chosen or fitting:
                changes[index] = chosen.get(token.text) or rng.choice(fitting)
                chosen[token.text] = changes[index]
        return rewrite(parse, changes) if changes else None


@dataclass(frozen=True)
class ChangeDates(Perturbation):
    """Years, days, months and weekdays replaced by others."""

    name = "change-dates"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Change every part of a date, the same part alike, and all years by the same distance."""
        parse = parse_one(record.gold)
        distance = rng.randrange(3, 40)
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            if not _calendar(parse, index):
                continue
            if token.text not in chosen:
                others = _other_dates(parse, index, distance)
                fresh = [other for other in others if other not in chosen.values()]
                chosen[token.text] = rng.choice(fresh or others)
            changes[index] = chosen[token.text]
        return rewrite(parse, changes) if changes else None


def _free(parse: Parse, index: int) -> bool:
    """Whether a number can change alone: not the end of a range, a fraction, "the two" or an hour."""
    words = [token.text.lower() for token in parse.tokens]
    before, after = words[index - 1] if index else "", words[index + 1] if index + 1 < len(words) else ""
    for middle in _RANGE:
        at = index - len(middle)
        if at > 0 and tuple(words[at:index]) == middle and _value(words[at - 1]):
            return False
    counted = ("NOUN", "ADJ", "PROPN", "NUM")
    counts = index + 1 < len(words) and parse.tokens[index + 1].pos in counted
    hour = before == "at" and "." in words[index]
    meant = hour or before in ("the", "these", "those")
    return after.removesuffix("s") not in _FRACTIONS and (counts or not meant)


def _limit(parse: Parse, index: int) -> int:
    """What a number has to stay below: the end of its range, or ten before hundred."""
    words = [token.text.lower() for token in parse.tokens[index + 1 : index + 4]]
    for middle in _RANGE:
        if tuple(words[: len(middle)]) == middle and len(words) > len(middle):
            return _value(words[len(middle)]) or 10**12
    return 10 if words[:1] == ["hundred"] else 10**12


def _value(word: str) -> int:
    """The value of a whole number in digits or words; nought for any other word."""
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3}){1,3}|[1-9]\d{0,11}", word):
        return int(word.replace(",", ""))
    return _numbers().get(word, 0)


def _other_numbers(token: Token, limit: int) -> list[str]:
    """Numbers of the same form, half as large to twice as large, but not nearly the same."""
    word, value = token.text, _value(token.text.lower())
    if re.fullmatch(r"\d{1,3}\.\d+", word):
        whole, _, part = word.partition(".")
        return [f"{other}.{part}" for other in range(int(whole) + 1, 2 * int(whole) + 3)]
    if value < 2:
        return []
    if not word[0].isdigit():
        same = [w for w in _numbers() if (_numbers()[w] > 12) == (value > 12)] if token.tag == "CD" else []
        return [like(w, word) for w in same if _apart(value, _numbers()[w]) and _numbers()[w] < limit]
    digits = len(str(value))
    step = 10 ** max(digits - len(str(value).rstrip("0")), digits - 3)  # round numbers stay round
    top = min(2 * value, 10**digits - 1, limit - 1)
    others = [n for n in range(0, top + 1, step) if n > 1 and _apart(value, n) and len(str(n)) == digits]
    return [f"{n:,}" if "," in word else str(n) for n in others]


def _apart(value: int, other: int) -> bool:
    return value / 2 <= other <= 0.8 * value or 1.25 * value <= other <= 2 * value


@cache
def _numbers() -> dict[str, int]:
    """Number words that stand alone, and what they are."""
    small = word_list("checklist", "templates", "small_numbers")
    tens = word_list("checklist", "templates", "tens")
    return {word: at for at, word in enumerate(small, 2)} | {word: 10 * at for at, word in enumerate(tens, 2)}


def _in_date(parse: Parse, index: int) -> bool:
    """Whether a number belongs to a calendar date or to a time of day."""
    after = parse.tokens[index + 1].pos if index + 1 < len(parse.tokens) else ""
    return _calendar(parse, index) or (parse.tokens[index].entity == "TIME" and after != "NOUN")


def _calendar(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    if token.text in _calendar_words():
        return token.pos == "PROPN" and not joined_word(parse, index)
    return _is_year(parse, index) or _is_day(parse, index)


@cache
def _calendar_words() -> frozenset[str]:
    return frozenset(
        word_list("checklist", "templates", "months") + word_list("checklist", "templates", "weekdays")
    )


def _is_year(parse: Parse, index: int) -> bool:
    """A lone number of four digits, not before a thing it could count."""
    token = parse.tokens[index]
    if not re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", token.text) or joined_word(parse, index):
        return False
    months = word_list("checklist", "templates", "months")
    return (
        token.dep != "nummod"
        or token.entity == "DATE"
        or (index > 0 and parse.tokens[index - 1].text in months)
    )


def _is_day(parse: Parse, index: int) -> bool:
    months = word_list("checklist", "templates", "months")
    beside = [parse.tokens[i].text for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return bool(re.fullmatch(r"[1-3]?\d", parse.tokens[index].text)) and any(
        word in months for word in beside
    )


def _other_dates(parse: Parse, index: int, distance: int) -> list[str]:
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        words = word_list("checklist", "templates", group)
        if word in words:
            present = {token.text for token in parse.tokens}
            return [other for other in words if other not in present] or [o for o in words if o != word]
    if _is_year(parse, index):  # what lies ahead stays ahead
        return [str(int(word) + (distance if int(word) > _PRESENT else -distance))]
    return [str(day) for day in range(1, 29) if str(day) != word]


def _part_of_name(parse: Parse, index: int) -> bool:
    """Whether a number names rather than counts: Vega 9, A4, 7-Eleven."""
    before = parse.tokens[index - 1] if index else None
    named = before is not None and (
        before.pos == "PROPN" or (before.pos == "NOUN" and parse.tokens[index].head == index - 1)
    )
    return (named and not _is_year(parse, index)) or joined_word(parse, index)


@dataclass(frozen=True)
class NumeralsToWords(Perturbation):
    """Numerals written out: 2 hours, two hours."""

    name = "numerals-to-words"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Write out whole numbers and years; days of a month, codes and names stay."""
        parse = parse_one(record.gold)
        changes = {}
        for index, token in enumerate(parse.tokens):
            if _part_of_name(parse, index) or _in_full_date(parse, index) or _symbol_beside(parse, index):
                continue
            if _is_year(parse, index) and token.dep == "nummod" and index < token.head:
                continue  # the 1821 record
            if _is_year(parse, index) or re.fullmatch(r"[1-9]\d{0,2}(,\d{3})*|[1-9]\d{0,5}", token.text):
                changes[index] = _in_words(token.text, year=_is_year(parse, index))
        return rewrite(parse, changes) if changes else None


def _in_full_date(parse: Parse, index: int) -> bool:
    """A day of a month, or a year behind one: 30 January 1998 is all digits or none."""
    near = range(max(0, index - 3), index + 1)
    return any(_is_day(parse, i) for i in near) if _is_year(parse, index) else _is_day(parse, index)


def _symbol_beside(parse: Parse, index: int) -> bool:
    beside = [parse.tokens[i].text for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return any(mark in ("$", "£", "€", "%", "#", ":", "°", "-", "–") for mark in beside)


def _in_words(numeral: str, *, year: bool) -> str:
    from num2words import num2words

    return str(num2words(int(numeral.replace(",", "")), to="year" if year else "cardinal")).replace(",", "")
