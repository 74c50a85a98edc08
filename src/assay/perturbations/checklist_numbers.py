"""Numbers and dates changed, and numerals written out (checklist, table 5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, Token, parse_one
from assay.perturbations.lexicon import word_list
from assay.perturbations.surgery import joined_word, like, rewrite


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
            if _in_date(parse, index) or _part_of_name(parse, index):
                continue
            other = chosen.get(token.text) or _other_number(token, rng)
            if other:
                changes[index] = chosen.setdefault(token.text, other)
        return rewrite(parse, changes) if changes else None


@dataclass(frozen=True)
class ChangeDates(Perturbation):
    """Years, days, months and weekdays replaced by others."""

    name = "change-dates"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Change every part of a date, the same part alike."""
        parse = parse_one(record.gold)
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            other = chosen.get(token.text) or _other_date(parse, index, rng)
            if other and _calendar(parse, index):
                changes[index] = chosen.setdefault(token.text, other)
        return rewrite(parse, changes) if changes else None


def _other_number(token: Token, rng: Random) -> str | None:
    word = token.text
    if re.fullmatch(r"\d{1,3}(,\d{3})+|\d+", word) and not word.startswith("0"):
        value = int(word.replace(",", ""))
        return _digits(value, "," in word, rng) if value > 1 else None
    if re.fullmatch(r"\d+\.\d+", word):
        whole, _, part = word.partition(".")
        return f"{int(whole) + rng.randrange(1, 10)}.{part}"
    if token.tag == "CD" and word.lower() in _numbers():
        return like(rng.choice(sorted(_alike(word.lower()))), word)
    return None


def _digits(value: int, grouped: bool, rng: Random) -> str:
    """Another number with as many digits, never one."""
    low, high = (2, 9) if value < 10 else (10 ** (len(str(value)) - 1), 10 ** len(str(value)) - 1)
    step = 10 ** (len(str(value)) - len(str(value).rstrip("0")) - 1) if value % 10 == 0 else 1
    other = value
    while other == value:
        other = rng.randint(max(2, low // step), high // step) * step
    return f"{other:,}" if grouped else str(other)


@cache
def _numbers() -> frozenset[str]:
    return frozenset(
        word for group in ("small_numbers", "tens") for word in word_list("checklist", "templates", group)
    )


def _alike(word: str) -> set[str]:
    small = word_list("checklist", "templates", "small_numbers")
    return set(small if word in small else word_list("checklist", "templates", "tens")) - {word}


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
    return token.dep != "nummod" or token.entity == "DATE"


def _is_day(parse: Parse, index: int) -> bool:
    months = word_list("checklist", "templates", "months")
    beside = [parse.tokens[i].text for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return bool(re.fullmatch(r"[1-3]?\d", parse.tokens[index].text)) and any(
        word in months for word in beside
    )


def _other_date(parse: Parse, index: int, rng: Random) -> str | None:
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        words = word_list("checklist", "templates", group)
        if word in words:
            return rng.choice([other for other in words if other != word])
    if _is_year(parse, index):
        return str(int(word) - rng.randrange(2, 40))
    return (
        str(rng.choice([day for day in range(1, 29) if str(day) != word])) if _is_day(parse, index) else None
    )


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
            if _part_of_name(parse, index) or _is_day(parse, index) or _symbol_beside(parse, index):
                continue
            if _is_year(parse, index) or re.fullmatch(r"[1-9]\d{0,2}(,\d{3})*|[1-9]\d{0,5}", token.text):
                changes[index] = _in_words(token.text, year=_is_year(parse, index))
        return rewrite(parse, changes) if changes else None


def _symbol_beside(parse: Parse, index: int) -> bool:
    beside = [parse.tokens[i].text for i in (index - 1, index + 1) if 0 <= i < len(parse.tokens)]
    return any(mark in ("$", "£", "€", "%", "#", ":", "°", "-", "–") for mark in beside)


def _in_words(numeral: str, *, year: bool) -> str:
    from num2words import num2words

    return str(num2words(int(numeral.replace(",", "")), to="year" if year else "cardinal")).replace(",", "")
