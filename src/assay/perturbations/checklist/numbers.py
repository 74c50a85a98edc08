"""Templates for numbers and dates: changed, or written out in words (checklist, table 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.datasets.lexicon import match_case, template_words, word_list
from assay.models.nlp import Parse, Token
from assay.perturbations.edit import WordEdit, is_joined, neighbours, word_at

# A number after these is tied to the one before them: two to five, 4 out of 5.
_RANGE = (("to",), ("or",), ("and",), ("out", "of"), ("–",))
_PRESENT = 2025  # a text that names a later year speaks of the future
_FRACTIONS = ("third", "quarter", "fifth", "sixth", "tenth")
_SYMBOLS = ("$", "£", "€", "%", "#", ":", "°", "-", "–")


@dataclass(frozen=True)
class ChangeNumbers(WordEdit):
    """Every number above one replaced by another of its size, the same everywhere; dates are left alone."""

    name = "change-numbers"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            if _is_dated(parse, index) or _is_in_name(parse, index) or not _is_free(parse, index):
                continue
            fitting = _other_numbers(token, _limit(parse, index))
            if token.text in chosen or fitting:
                changes[index] = chosen.get(token.text) or rng.choice(fitting)
                chosen[token.text] = changes[index]
        return changes


@dataclass(frozen=True)
class ChangeDates(WordEdit):
    """Years, days, months and weekdays replaced, the same everywhere; years all by the same distance."""

    name = "change-dates"
    criterion = "correctness"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        distance = rng.randrange(3, 40)
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            if not _is_calendar(parse, index):
                continue
            if token.text not in chosen:
                others = _other_dates(parse, index, distance)
                fresh = [other for other in others if other not in chosen.values()]
                chosen[token.text] = rng.choice(fresh or others)
            changes[index] = chosen[token.text]
        return changes


@dataclass(frozen=True)
class NumeralsToWords(WordEdit):
    """Whole numbers and years written out: 2 hours, two hours. Days of a month, codes and names stay."""

    name = "numerals-to-words"
    criterion = "invariance"
    expect = "same"

    def changes(self, parse: Parse, rng: Random) -> Mapping[int, str]:
        changes = {}
        for index, token in enumerate(parse.tokens):
            symbol = any(t.text in _SYMBOLS for t in neighbours(parse, index))
            if symbol or _is_in_name(parse, index) or _is_in_full_date(parse, index):
                continue
            year = _is_year(parse, index)
            if year and token.dep == "nummod" and index < token.head:
                continue  # the 1821 record
            if year or re.fullmatch(r"[1-9]\d{0,2}(,\d{3})*|[1-9]\d{0,5}", token.text):
                changes[index] = _in_words(token.text, year=year)
        return changes


# --- numbers ---


def _is_free(parse: Parse, index: int) -> bool:
    """Whether a number can change alone: not the end of a range, a fraction, "the two" or an hour."""
    words = [token.text.lower() for token in parse.tokens]
    for middle in _RANGE:
        at = index - len(middle)
        if at > 0 and tuple(words[at:index]) == middle and _value(words[at - 1]):
            return False
    before, after = word_at(parse, index - 1), word_at(parse, index + 1)
    counts = bool(after) and parse.tokens[index + 1].pos in ("NOUN", "ADJ", "PROPN", "NUM")
    hour = before == "at" and "." in words[index]
    definite = hour or before in ("the", "these", "those")
    return after.removesuffix("s") not in _FRACTIONS and (counts or not definite)


def _limit(parse: Parse, index: int) -> int:
    """The number it has to stay below: the end of its range, or ten before hundred."""
    words = [token.text.lower() for token in parse.tokens[index + 1 : index + 4]]
    for middle in _RANGE:
        if tuple(words[: len(middle)]) == middle and len(words) > len(middle):
            return _value(words[len(middle)]) or 10**12
    return 10 if words[:1] == ["hundred"] else 10**12


def _value(word: str) -> int:
    """The value of a whole number in digits or words; 0 for any other word."""
    if re.fullmatch(r"[1-9]\d{0,2}(,\d{3}){1,3}|[1-9]\d{0,11}", word):
        return int(word.replace(",", ""))
    return _number_words().get(word, 0)


def _other_numbers(token: Token, limit: int) -> list[str]:
    """Numbers of the same form, from half to twice the value, but not nearly the same."""
    word, value = token.text, _value(token.text.lower())
    if re.fullmatch(r"\d{1,3}\.\d+", word):
        whole, _, part = word.partition(".")
        return [f"{other}.{part}" for other in range(int(whole) + 1, 2 * int(whole) + 3)]
    if value < 2:
        return []
    if not word[0].isdigit():
        if token.tag != "CD":
            return []
        same_form = {w: n for w, n in _number_words().items() if (n > 12) == (value > 12)}
        return [match_case(w, word) for w, n in same_form.items() if _is_apart(value, n) and n < limit]
    digits = len(str(value))
    step = 10 ** max(digits - len(str(value).rstrip("0")), digits - 3)  # round numbers stay round
    top = min(2 * value, 10**digits - 1, limit - 1)
    others = [n for n in range(0, top + 1, step) if n > 1 and _is_apart(value, n) and len(str(n)) == digits]
    return [f"{n:,}" if "," in word else str(n) for n in others]


def _is_apart(value: int, other: int) -> bool:
    return value / 2 <= other <= 0.8 * value or 1.25 * value <= other <= 2 * value


@cache
def _number_words() -> dict[str, int]:
    """Number words of one word to their values."""
    small = word_list("checklist", "templates", "small_numbers")
    tens = word_list("checklist", "templates", "tens")
    return {word: n for n, word in enumerate(small, 2)} | {word: 10 * n for n, word in enumerate(tens, 2)}


def _is_in_name(parse: Parse, index: int) -> bool:
    """Whether a number names rather than counts: Vega 9, A4, 7-Eleven."""
    before = parse.tokens[index - 1] if index else None
    named = before is not None and (
        before.pos == "PROPN" or (before.pos == "NOUN" and parse.tokens[index].head == index - 1)
    )
    return (named and not _is_year(parse, index)) or is_joined(parse, index)


def _in_words(numeral: str, *, year: bool) -> str:
    from num2words import num2words

    return str(num2words(int(numeral.replace(",", "")), to="year" if year else "cardinal")).replace(",", "")


# --- dates ---


def _is_dated(parse: Parse, index: int) -> bool:
    """Whether a number belongs to a calendar date or to a time of day."""
    after = parse.tokens[index + 1].pos if index + 1 < len(parse.tokens) else ""
    return _is_calendar(parse, index) or (parse.tokens[index].entity == "TIME" and after != "NOUN")


def _is_calendar(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    if token.text in template_words("months") or token.text in template_words("weekdays"):
        return token.pos == "PROPN" and not is_joined(parse, index)
    return _is_year(parse, index) or _is_day(parse, index)


def _is_year(parse: Parse, index: int) -> bool:
    """Whether a token is a number of four digits by itself, not before a thing it could count."""
    token = parse.tokens[index]
    if not re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", token.text) or is_joined(parse, index):
        return False
    after_month = index > 0 and parse.tokens[index - 1].text in template_words("months")
    return token.dep != "nummod" or token.entity == "DATE" or after_month


def _is_day(parse: Parse, index: int) -> bool:
    beside_month = any(t.text in template_words("months") for t in neighbours(parse, index))
    return beside_month and bool(re.fullmatch(r"[1-3]?\d", parse.tokens[index].text))


def _is_in_full_date(parse: Parse, index: int) -> bool:
    """Whether a token is a day of a month, or a year after one: 30 January 1998 is all digits or none."""
    near = range(max(0, index - 3), index + 1)
    return any(_is_day(parse, i) for i in near) if _is_year(parse, index) else _is_day(parse, index)


def _other_dates(parse: Parse, index: int, distance: int) -> list[str]:
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        words = word_list("checklist", "templates", group)
        if word in words:
            present = {token.text for token in parse.tokens}
            return [other for other in words if other not in present] or [o for o in words if o != word]
    if _is_year(parse, index):  # the future stays in the future
        return [str(int(word) + (distance if int(word) > _PRESENT else -distance))]
    return [str(day) for day in range(1, 29) if str(day) != word]
