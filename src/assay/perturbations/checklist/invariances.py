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
from assay.models.nlp import Span
from assay.perturbations import edit
from assay.perturbations.checklist.frames import rewording_rows, stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.vocabulary import CHECKLIST_TASKS

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SMALL = re.compile(r"\d{1,3}")
_NO_DAY = re.compile(r"00?|3[2-9]|[4-9]\d")
_NOT = ("n't", "n’t")
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
        tables = dict(_spellings())
        if not _american_only().isdisjoint(map(parse.word_at, range(len(parse.tokens)))):
            del tables["british"]  # "program" has two British spellings
        words = {i: parse.word_at(i) for i in words_in("spelt-freely", parse)}
        rewritten = [
            {i: table[word] for i, word in words.items() if word in table} for table in tables.values()
        ]
        return edit.in_case(parse, max(rewritten, key=len))


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
    """Whether a date is no part of a range or list, and has a day that there is: 12 and 13 May, 10-12 May."""
    in_range = _RANGE_BEFORE.search(text[: match.start()]) or _RANGE_AFTER.match(text[match.end() :])
    return not in_range and not any(map(_NO_DAY.fullmatch, match.groups()))


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

        numerals = parse.where(lambda token: _SMALL.fullmatch(token.text) is not None)
        counting = [i for i in words_in("counting", parse, numerals) if 2 <= int(parse.text_at(i)) < 100]
        if set(counting) != set(numerals).difference(words_in("no-count", parse, numerals)):
            return {}  # all in words or none
        words = {i: num2words(int(parse.text_at(i))) for i in counting}
        return words | {i: words[i].capitalize() for i in words_in("at-opening", parse, counting)}


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
        numbers = words_in("alone", parse, parse.where(lambda token: token.text.lower() in _numbers()))
        begun = words_in("at-opening", parse, numbers) and record.task != "image-captioning"
        in_digits = words_in("counted-in-words", parse, numbers) == numbers  # all or none
        if begun or not in_digits or stands_in("beside-one", parse, 0):
            return None
        return edit.rewrite(parse, {i: str(_numbers()[parse.word_at(i)]) for i in numbers})


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
        for phrase, other in _phrase_matches(parse):
            if phrase.start not in changes and f" {other.lower()} " not in f" {parse.text.lower()} ":
                changes |= edit.dropped([phrase]) | {phrase.start: other}
        return changes


def _phrase_matches(parse: Text) -> Iterator[tuple[Span, str]]:
    """Where a listed phrase, no part of a longer word, stands in its frame, and what may replace it."""
    words = [token.text.lower() for token in parse.tokens]
    for start, word in enumerate(words):
        for phrase, other, frame in rewording_rows().get(word, ()):
            end = start + len(phrase)
            is_part = parse.is_joined(start) or parse.is_joined(min(end, len(words)) - 1)
            if tuple(words[start:end]) == phrase and not is_part and stands_in(frame, parse, start, end):
                yield Span(start, end), other
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
    if short is None or not (first.space or pair == "cannot"):
        return None
    if second.text == "not":
        return first.text[0] + short[1:] if stands_in("contracted-not", parse, index, index + 2) else None
    contracts = stands_in("contracted-verb", parse, index, index + 2)
    is_whole = contracts and not stands_in("elliptic", parse, index + 1)
    return first.text + short[len(first.text) :] if is_whole else None


@dataclass(frozen=True)
class Expansions(ParseEdit):
    """Every contraction written out whose full form is certain and as usual: We're, we are; don't, do not."""

    name = "expansions"
    criterion = "invariance"
    title = "writing a contraction out"
    tasks = ("translation", "question-generation", "dialogue")
    expect = "same"

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for index in words_in("expandable", parse, range(1, len(parse.tokens))):
            written_out = _expanded_not if parse.word_at(index) in _NOT else _full_verb
            changes |= written_out(parse, index)
        return changes


def _full_verb(parse: Text, index: int) -> dict[int, str]:
    """'s to is or has, 'd to had or would: the form whose frame it stands in, if there is one."""
    forms = toml_file("checklist", "templates")["full_forms"].get(parse.word_at(index).replace("’", "'"), ())
    certain = [form for form in forms if stands_in(f"short-for-{form}", parse, index)]
    return {index: f" {certain[0]}"} if certain and stands_in("short-verb", parse, index) else {}


def _expanded_not(parse: Text, index: int) -> dict[int, str]:
    """n't to not, in statements: "Why do you not come" is no invitation, "Do not worry" no comfort."""
    stem, word = parse.tokens[index - 1], parse.word_at(index - 1)
    full = edit.FULL_STEMS.get(word, word)
    subject = parse.child(stem.head if stem.dep in ("aux", "auxpass") else index - 1, *edit.SUBJECTS)
    if subject is None or subject > index:
        return {}
    return {index - 1: lexicon.match_case(full, stem.text), index: "not" if full == "can" else " not"}
