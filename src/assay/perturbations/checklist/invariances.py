"""Invariances of writing: a parsed text to an equally good one in another spelling or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.files import toml_file, tsv_file
from assay.perturbations import edit
from assay.perturbations.checklist.frames import rewording_rows, stands_in
from assay.perturbations.edit import ParseEdit, Text
from assay.vocabulary import CHECKLIST_TASKS

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SMALL = re.compile(r"\d{1,3}")
_RANGE_BEFORE = re.compile(r"(\d|and|to|or|between|of|[-–,/])\s*$")
_RANGE_AFTER = re.compile(rf"\s*([-–]|(and|to|or|until|till|through) (\d|{_MONTHS}))")


@dataclass(frozen=True)
class Spelling(ParseEdit):
    """British spelling to American, or American to British, whichever the text uses more: colour, color."""

    name = "spelling"
    criterion = "invariance"
    title = "British in place of American spelling, or the reverse,"
    tasks = ("translation", "summarisation", "question-generation", "image-captioning", "data-to-text")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        words = {i: parse.word_at(i) for i in range(len(parse.tokens)) if stands_in("spelt-freely", parse, i)}
        changes: dict[str, dict[int, str]] = {}
        for dialect, table in _spellings().items():
            known = [i for i, word in words.items() if word in table]
            changes[dialect] = {i: lexicon.match_case(table[words[i]], parse.tokens[i].text) for i in known}
        if not _american_only().isdisjoint(map(parse.word_at, range(len(parse.tokens)))):
            changes["british"] = {}  # "program" has two British spellings
        return max(changes.values(), key=len)


@cache
def _spellings() -> Mapping[str, Mapping[str, str]]:
    """The dialect to write in, to a table of spellings."""
    rows = tsv_file("words", "spellings")
    return {
        "american": {row["british"]: row["american"] for row in rows},
        "british": {row["american"]: row["british"] for row in rows if row["to"] == "both"},
    }


@cache
def _american_only() -> frozenset[str]:
    """American spellings that stand for two British ones."""
    return frozenset(row["american"] for row in tsv_file("words", "spellings") if row["to"] != "both")


@dataclass(frozen=True)
class DateFormat(Perturbation):
    """Dates written in the other order: 12 May 2019, May 12, 2019."""

    name = "date-format"
    criterion = "invariance"
    title = "another date format"
    tasks = ("summarisation", "data-to-text")
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        for pattern, form in _date_patterns():
            if matches := [match for match in re.finditer(pattern, text) if _is_single_date(text, match)]:
                return edit.splice(text, [_date_cut(text, match, form) for match in matches])
        return text


@cache
def _date_patterns() -> list[tuple[str, str]]:
    """The listed patterns; `{free}` is a place with nothing joined before it."""
    parts = {"{months}": _MONTHS, "{free}": r"(?<![\w/.,–-])"}
    rows = toml_file("checklist", "rewordings")["dates"]
    return [(re.sub(r"\{[a-z]+\}", lambda match: parts[match[0]], rule), form) for rule, form in rows]


def _is_single_date(text: str, match: re.Match[str]) -> bool:
    """Whether a date is no part of a range or list: 12 and 13 May, 10-12 May."""
    before, after = text[: match.start()], text[match.end() :]
    days = [int(group) for group in match.groups() if group.isdigit() and len(group) < 3]
    in_range = _RANGE_BEFORE.search(before) or _RANGE_AFTER.match(after)
    return not in_range and all(0 < day <= 31 for day in days)


def _date_cut(text: str, match: re.Match[str], form: str) -> tuple[int, int, str]:
    """The new form, with a comma after an American year where the sentence goes on."""
    new = match.expand(form)
    goes_on = re.match(r"\s+\w", text[match.end() :])
    return match.start(), match.end(), f"{new}," if "," in new and goes_on else new


@dataclass(frozen=True)
class Abbreviations(Perturbation):
    """Abbreviations written in another way: 5%, 5 percent; £3m, £3 million; 3pm, 3 p.m.; Mr, Mr."""

    name = "abbreviations"
    criterion = "invariance"
    title = "another way to write units, money, times and titles"
    tasks = ("translation", "summarisation", "data-to-text")
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        if edit.is_all_caps(text):
            return text
        taken: list[tuple[int, int, str]] = []
        for pattern, form, kind in toml_file("checklist", "rewordings")["abbreviations"]:
            matches = list(re.finditer(pattern, text))
            for match in matches if len(matches) == len(re.findall(kind, text)) else ():
                if not any(start < match.end() and match.start() < end for start, end, _ in taken):
                    end = match.end() + (form.endswith("m.") and text[match.end() : match.end() + 1] == ".")
                    taken.append((match.start(), end, match.expand(form)))
        return edit.splice(text, sorted(taken))


@dataclass(frozen=True)
class NumeralsToWords(ParseEdit):
    """Whole numbers below a hundred that count things written out: 63 people, sixty-three people."""

    name = "numerals-to-words"
    criterion = "invariance"
    title = "writing numerals out"
    tasks = ("summarisation", "data-to-text")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        from num2words import num2words

        small = {i: int(token.text) for i, token in enumerate(parse.tokens) if _SMALL.fullmatch(token.text)}
        counting = {i for i, n in small.items() if 2 <= n < 100 and stands_in("counting", parse, i)}
        apart = {i for i in small if stands_in("no-count", parse, i)}
        if counting != small.keys() - apart:  # all in words or none
            return {}
        opening = {i for i in counting if stands_in("at-opening", parse, i)}
        words = {i: num2words(small[i]) for i in sorted(counting)}
        return words | {i: words[i].capitalize() for i in opening}


@dataclass(frozen=True)
class WordsToNumerals(Perturbation):
    """Numbers in words that count things in digits: two dogs, 2 dogs. Only a caption begins with one."""

    name = "words-to-numerals"
    criterion = "invariance"
    title = "writing numbers in digits"
    tasks = ("translation", "summarisation", "dialogue", "image-captioning")
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        words = [i for i in range(len(parse.tokens)) if parse.word_at(i) in _numbers()]
        free = [i for i in words if not parse.is_joined(i)]
        if not all(stands_in("counted-in-words", parse, i) for i in free):  # all in digits or none
            return None
        begun = any(stands_in("at-opening", parse, i) for i in free) and record.task != "image-captioning"
        if begun or stands_in("beside-one", parse, 0):
            return None
        return edit.rewrite(parse, {i: str(_numbers()[parse.word_at(i)]) for i in free})


@cache
def _numbers() -> Mapping[str, int]:
    """The numbers of one word from two to ninety."""
    from num2words import num2words

    return {word: n for n in range(2, 100) if "-" not in (word := num2words(n))}


@dataclass(frozen=True)
class QuotationStyle(Perturbation):
    """Straight quotation marks and apostrophes become curly ones, or curly ones straight."""

    name = "quotation-style"
    criterion = "invariance"
    title = "curly in place of straight quotation marks, or the reverse,"
    tasks = ("translation", "summarisation", "question-generation", "dialogue", "data-to-text")
    expect = "same"
    languages = None

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        if re.search("[“”‘’]", text):
            return text.translate(str.maketrans("“”‘’", "\"\"''"))
        if text.count('"') % 2 or re.search(
            r"\d['\"]|(^|[\s(])'\d|``|''|\s['\"]\s|\b[A-Z] '\w|\w '(t|s|m|d|re|ve|ll)\b", text
        ):
            return text  # feet, decades, an unpaired mark, tokenised text
        opened = re.sub(r'(^|[\s(\[—–-])"', r"\1“", text)
        opened = re.sub(r"(^|[\s(\[—–“-])'(?!(?:tis|twas|em|til|cause|n)\b)", r"\1‘", opened)
        return opened.replace('"', "”").replace("'", "’")


@dataclass(frozen=True)
class EqualPhrases(ParseEdit):
    """Phrases replaced by others of the same meaning: in spite of, despite; everyone, everybody."""

    name = "equal-phrases"
    criterion = "invariance"
    title = "a phrase of the same meaning"
    tasks = CHECKLIST_TASKS
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for start, end, other in _phrase_matches(parse):
            if start not in changes and f" {other.lower()} " not in f" {parse.text.lower()} ":
                changes |= dict.fromkeys(range(start + 1, end), "") | {start: other}
        return changes


def _phrase_matches(parse: Text) -> Iterator[tuple[int, int, str]]:
    """Where a listed phrase stands in its frame: start, end and what may replace it."""
    words = [token.text.lower() for token in parse.tokens]
    for start, word in enumerate(words):
        for phrase, other, frame in rewording_rows().get(word, ()):
            end = start + len(phrase)
            if tuple(words[start:end]) != phrase or parse.is_joined(start) or parse.is_joined(end - 1):
                continue
            if stands_in(frame, parse, start, end):
                yield start, end, other
                break


@dataclass(frozen=True)
class Contractions(ParseEdit):
    """Every pair of words contracted that may be: We are, we're; do not, don't."""

    name = "contractions"
    criterion = "invariance"
    title = "a contraction"
    tasks = ("translation", "summarisation", "question-generation", "dialogue")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for index in range(len(parse.tokens) - 1):
            short = _contraction(parse, index)
            if short and index not in changes:
                changes[index], changes[index + 1] = short, ""
        return changes


@cache
def _short_forms() -> dict[str, str]:
    """Full forms to contractions; of two with the same full form the first listed is taken."""
    return {full: short for short, full in reversed(list(lexicon.contractions().items()))}


def _contraction(parse: Text, index: int) -> str | None:
    """The contraction of a word and the next, or None where they may not be contracted."""
    first, second = parse.tokens[index], parse.tokens[index + 1]
    pair = f"{first.text} {second.text}".lower().replace("can not", "cannot")
    short = _short_forms().get(pair)
    if not short or not (first.space or pair == "cannot"):
        return None
    if second.text == "not":
        return first.text[0] + short[1:] if stands_in("contracted-not", parse, index, index + 2) else None
    whole = stands_in("contracted-verb", parse, index, index + 2)
    whole = whole and not stands_in("elliptic", parse, index + 1)
    return first.text + short[len(first.text) :] if whole else None


@dataclass(frozen=True)
class Expansions(ParseEdit):
    """Every contraction written out whose full form is certain and as usual: We're, we are; don't, do not."""

    name = "expansions"
    criterion = "invariance"
    title = "writing a contraction out"
    tasks = ("translation", "question-generation", "dialogue")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes = [_expansion(parse, index) for index in range(1, len(parse.tokens))]
        return {index: word for change in changes for index, word in change.items()}


def _expansion(parse: Text, index: int) -> dict[int, str]:
    word = parse.word_at(index).replace("’", "'")
    if not stands_in("expandable", parse, index):
        return {}
    if word == "n't":
        return _expanded_not(parse, index)
    forms = toml_file("checklist", "templates")["full_forms"].get(word, ())
    certain = (form for form in forms if stands_in(f"short-for-{form}", parse, index))
    full = next(certain, None) if stands_in("short-verb", parse, index) else None
    return {index: f" {full}"} if full else {}


def _expanded_not(parse: Text, index: int) -> dict[int, str]:
    """n't to not, in statements: "Why do you not come" is no invitation, "Do not worry" no comfort."""
    stem, word = parse.tokens[index - 1], parse.word_at(index - 1)
    full = edit.FULL_STEMS.get(word, word)
    subject = parse.child(stem.head if stem.dep in ("aux", "auxpass") else index - 1, *edit.SUBJECTS)
    if subject is None or subject > index:
        return {}
    return {index - 1: lexicon.match_case(full, stem.text), index: "not" if full == "can" else " not"}
