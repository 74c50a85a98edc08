"""Templates that change names, numbers and dates, and put pronouns for nouns (checklist, table 5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.datasets import lexicon
from assay.files import word_list
from assay.language import language_of
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import PERSON, PLACE, first_name_gender, is_title, name_spans, named
from assay.perturbations.negation import garbled

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}

# A number is tied to one after these words: two to five, 4 out of 5.
_JOINT = r"(?: (?:to|or|and|out of) | ?– ?)"
_RANGE_BEFORE = re.compile(rf"(?<!\S)([a-z]+|[\d,]+){_JOINT}$")
_RANGE_AFTER = re.compile(rf"{_JOINT}([a-z]+|[\d,]+)")
_NEAR = 40  # characters in which a number and the words between are looked for
_UNLIMITED = 10**12
_WHOLE_NUMBER = re.compile(r"[1-9]\d{0,2}(,\d{3}){1,3}|[1-9]\d{0,11}")
_FIGURE = re.compile(r"(?<![\d.,:/-])[1-9]\d{0,11}(?![\d:/-]|[.,]\d)")
_PRESENT = 2025  # a text that names a later year speaks of the future


@dataclass(frozen=True)
class ChangeNames(ParseEdit):
    """Every person gets another name, the same wherever it occurs; without persons, every place.

    The new name has the gender and the region of the old one, as the lists or the text's pronouns show them.
    A name of unknown region stays: who a text is about must change, not where they are from.
    """

    name = "change-names"
    criterion = "correctness"
    title = "changed names"
    tasks = ("translation", "question-generation", "data-to-text")

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return _renamed_persons(parse, rng) or _renamed_places(parse, rng)


def _renamed_persons(parse: Text, rng: Random) -> dict[int, str]:
    """Other names for the words of every person's name, of one or two words, whose region is known."""
    regions: dict[int, str] = {}
    surnames: set[int] = set()
    for span in name_spans(parse):
        region = _region([parse.text_at(i) for i in range(span.start, span.end)])
        if span.label == PERSON and region and span.end - span.start <= 2:
            regions |= dict.fromkeys(range(span.start, span.end), region)
            surnames |= {span.end - 1} if _ends_in_surname(parse, span) else set()
    firsts = {parse.text_at(i) for i in regions.keys() - surnames}
    gender = _text_gender(parse) if len(firsts) == 1 else "unisex"

    def other_names(index: int) -> list[str]:
        if index in surnames:
            return [name for name, region in lexicon.surnames().items() if region == regions[index]]
        return _first_names_like(parse.text_at(index), regions[index], gender)

    return edit.replaced_alike(parse, sorted(regions), other_names, rng)


def _ends_in_surname(parse: Text, name: Span) -> bool:
    """Whether a name of two words, or one after Mr or that no list has as a first name, ends in a surname."""
    title = parse.text_at(name.start - 1).rstrip(".")
    if name.end - name.start == 1 and is_title(title):
        return title not in lexicon.template_words("titles_of_given_names")
    return name.end - name.start > 1 or first_name_gender(parse.text_at(name.start)) is None


def _first_names_like(word: str, region: str, gender: str) -> list[str]:
    """The first names of a region, of the gender of a name or, where the lists know none, of another."""
    wanted = (region, first_name_gender(word) or gender)
    return [name.name for name in lexicon.first_names().values() if (name.region, name.gender) == wanted]


def _region(words: list[str]) -> str | None:
    """Where a name is common, by the lists: a new name comes from there, so that nobody's origin changes."""
    regions = {region for word in words for region in _regions().get(word, ())}
    if len(regions) == 1:
        return regions.pop()
    last, is_listed = words[-1], len(words) == 1 or first_name_gender(words[0]) is not None
    if regions or not is_listed:
        return None
    elsewhere = last[-1] in "aiouz" or last in lexicon.template_words("surnames_elsewhere")
    return "north_america" if last in named("surnames") and not elsewhere else None


@cache
def _regions() -> Mapping[str, set[str]]:
    """First names and surnames to the regions where they are common."""
    regions: dict[str, set[str]] = defaultdict(set)
    firsts = [(name.name, name.region) for name in lexicon.first_names().values()]
    for name, region in [*firsts, *lexicon.surnames().items()]:
        regions[name].add(region)
    return regions


def _text_gender(parse: Text) -> str:
    """The gender that the text's pronouns and titles show; unisex where they disagree or there are none."""
    words = parse.places_of_words().keys()
    shown = [gender for gender in ("female", "male") if words & lexicon.template_words(gender)]
    return shown[0] if len(shown) == 1 else "unisex"


def _renamed_places(parse: Text, rng: Random) -> dict[int, str]:
    """Single-word places, by the list or by the parse, each replaced by another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    kinds = lexicon.places_by_kind()
    for span in name_spans(parse):
        if span.label == PLACE and span.end == span.start + 1 and stands_in("plain-place", parse, span.start):
            word = parse.text_at(span.start)
            same_kind = next((places for places in kinds.values() if word in places), kinds["city"])
            others = [name for name in same_kind if name not in {word, *chosen.values()}]
            changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


@dataclass(frozen=True)
class ChangeNumbers(ParseEdit):
    """Every number above one replaced by another of its size, the same everywhere; dates are left alone.

    In other languages than English only figures change, and those of four digits, which may be years, stay.
    """

    name = "change-numbers"
    criterion = "correctness"
    title = "changed numbers"
    tasks = ("translation", "summarisation", "data-to-text")
    languages = None

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        if language_of(parse.text) not in ("", "en"):
            return _other_figures(parse, rng)
        valued = parse.where(lambda token: token.tag == "CD" or _value(token.text) > 0)
        counting = [i for i in words_in("counts-freely", parse, valued) if not _ends_range(parse, i)]
        chosen: dict[str, str] = {}
        for index in counting:
            word, fitting = parse.text_at(index), _other_numbers(parse.tokens[index], _limit(parse, index))
            if fitting and word not in chosen:
                chosen[word] = rng.choice(fitting)
        return {i: chosen.get(parse.text_at(i), parse.text_at(i)) for i in counting}


def _ends_range(parse: Text, index: int) -> bool:
    """Whether a number and these words stand before a number: two to five, 4 out of 5."""
    start = parse.tokens[index].start
    before = _RANGE_BEFORE.search(parse.text[max(0, start - _NEAR) : start].lower())
    return before is not None and _value(before[1]) > 0


def _other_figures(parse: Text, rng: Random) -> dict[int, str]:
    """The figures inside the tokens of a text of any language, each replaced by another."""
    chosen: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        value, smallest = int(match[0]), 10 ** (len(match[0]) - 1)
        near = range(max(2, value // 2, smallest), min(2 * value, 10 * smallest - 1, 10**6) + 1)
        fitting = [n for n in near if _is_apart(value, n)] or [value]
        return match[0] if len(match[0]) == 4 else chosen.setdefault(match[0], str(rng.choice(fitting)))

    return {i: _FIGURE.sub(other, token.text) for i, token in enumerate(parse.tokens)}


def _limit(parse: Text, index: int) -> int:
    """The number it has to stay below: the end of its range, or ten before hundred."""
    end = parse.tokens[index].end
    after = _RANGE_AFTER.match(parse.text[end : end + _NEAR].lower())
    if after:
        return _value(after[1]) or _UNLIMITED
    return 10 if parse.word_at(index + 1) == "hundred" else _UNLIMITED


def _value(word: str) -> int:
    """The value of a whole number in digits or words; 0 for any other word."""
    if _WHOLE_NUMBER.fullmatch(word):
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
    return _figures_like(word, value, limit) if word[0].isdigit() else _words_like(token, value, limit)


def _words_like(token: Token, value: int, limit: int) -> list[str]:
    """Number words of the size of a value: up to twelve, or above."""
    below = {word: n for word, n in _number_words().items() if n < limit and token.tag == "CD"}
    apart = [word for word, n in below.items() if (n > 12) == (value > 12) and _is_apart(value, n)]
    return [lexicon.match_case(word, token.text) for word in apart]


def _figures_like(word: str, value: int, limit: int) -> list[str]:
    """Numbers of as many digits as a value, as round as it is."""
    digits = len(str(value))
    step = 10 ** max(digits - len(str(value).rstrip("0")), digits - 3)
    smallest, top = max(2, 10 ** (digits - 1)), min(2 * value, 10**digits - 1, limit - 1)
    multiples = range(-(-smallest // step) * step, top + 1, step)
    form = "{:,}" if "," in word else "{}"
    return [form.format(n) for n in multiples if _is_apart(value, n)]


def _is_apart(value: int, other: int) -> bool:
    return value / 2 <= other <= 0.8 * value or 1.25 * value <= other <= 2 * value


@cache
def _number_words() -> dict[str, int]:
    """Number words of one word to their values."""
    small = word_list("checklist", "templates", "small_numbers")
    tens = word_list("checklist", "templates", "tens")
    return {word: n for n, word in enumerate(small, 2)} | {word: 10 * n for n, word in enumerate(tens, 2)}


@dataclass(frozen=True)
class ChangeDates(ParseEdit):
    """Years, days, months and weekdays replaced, the same everywhere; years all by the same distance."""

    name = "change-dates"
    criterion = "correctness"
    title = "changed dates"
    tasks = ("summarisation", "data-to-text")

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        distance, dates = rng.randrange(3, 40), words_in("calendar", parse)
        return edit.replaced_alike(parse, dates, lambda at: _other_dates(parse, at, distance), rng)


def _other_dates(parse: Text, index: int, distance: int) -> Sequence[str]:
    """Other months, weekdays, years or days for one; a year of the future stays in the future."""
    word = parse.text_at(index)
    if stands_in("month-or-day", parse, index):
        lists = (word_list("checklist", "templates", key) for key in ("months", "weekdays"))
        return next(words for words in lists if word in words)
    if stands_in("names-year", parse, index):
        return [str(int(word) + (distance if int(word) > _PRESENT else -distance))]
    return [str(day) for day in range(1, 29)]


@dataclass(frozen=True)
class NounsToPronouns(ParseEdit):
    """Subjects and objects become he, she, it or they; one that needs an unknown gender stays."""

    name = "nouns-to-pronouns"
    version = 2
    criterion = "referential clarity"
    title = "pronouns that refer to nothing"
    tasks = ("summarisation",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for index in words_in("subject-or-object", parse):
            replaced = _pronoun(parse, index)
            if changes.keys().isdisjoint(replaced) and not garbled(parse, parse.sentence_of(index)):
                changes |= replaced
        return {} if _only_takes_up(parse, changes) else changes


def _only_takes_up(parse: Text, changes: Mapping[int, str]) -> bool:
    """Whether all that changes is how the last sentence opens after another: a plain reference."""
    pronouns = [index for index, word in changes.items() if word]
    openings = list(map(parse.first_word, parse.sentences[-1:]))
    return len(pronouns) == 1 and pronouns == openings and pronouns != [0]


def _pronoun(parse: Text, index: int) -> dict[int, str]:
    """The changes that put a pronoun for a noun's whole phrase; empty where a pronoun would not do."""
    span = parse.subtree(index)
    if span is None or not _is_replaceable(parse, index, span) or not _is_beside_verb(parse, index, span):
        return {}
    kind = _referent(parse, index, span)
    if kind is None or (kind == "plural" and stands_in("singular-verb", parse, index)):  # they needs
        return {}
    opens_clause = stands_in("finite-clause", parse, index) or not stands_in("after-verb", parse, span.start)
    is_subject = stands_in("subject", parse, index) and opens_clause  # not: makes tides larger
    return edit.dropped([span]) | {span.start: (_SUBJECT if is_subject else _OBJECT)[kind]}


def _is_replaceable(parse: Text, index: int, phrase: Span) -> bool:
    """Whether a noun with all its dependents can be replaced: it asks and counts nothing, nor is it tied."""
    opens = phrase.start <= parse.sentence_of(index).start
    if stands_in("measure", parse, index) or not stands_in("pronoun-phrase", parse, phrase.start, phrase.end):
        return False
    return opens or not stands_in("tied-before", parse, phrase.start - 1)


def _referent(parse: Text, index: int, span: Span) -> str | None:
    """Plural, thing, male or female; None for a person whose gender is unknown."""
    name = next((name for name in name_spans(parse) if name.start <= index < name.end), None)
    if name is None:
        return _referent_of_noun(parse, index)
    if span.start > name.start:
        return None  # the parse cuts the name
    if stands_in("counts-as-plural", parse, index):
        return "plural"
    if name.label == PERSON:
        return _person_gender(parse, name)
    return "plural" if stands_in("several-or-team", parse, index) else "thing"


def _referent_of_noun(parse: Text, index: int) -> str | None:
    """What a common noun stands for; None for persons whose gender is unknown, and for unknown names."""
    if stands_in("several", parse, index):
        return "plural"
    if not stands_in("common-noun", parse, index):
        return None
    thing = "thing" if stands_in("no-person", parse, index) else None
    return lexicon.gendered(parse.word_at(index)) or thing


def _person_gender(parse: Text, name: Span) -> str | None:
    """A named person's gender: by a title, the first name, or the same name in full; or None."""
    last = parse.text_at(name.end - 1)
    persons = [span for span in name_spans(parse) if span.label == PERSON]
    persons = [span for span in persons if parse.text_at(span.end - 1) == last]
    words = [parse.word_at(name.start - 1), *(parse.text_at(span.start) for span in persons)]
    genders = [gender for word in words if (gender := _gender_of_word(word)) in ("male", "female")]
    return genders[0] if genders and _text_gender(parse) in (genders[0], "unisex") else None


def _gender_of_word(word: str) -> str | None:
    """The gender that a first name or a title shows."""
    lower = word.lower()
    return first_name_gender(word) or lexicon.gendered(lower) or lexicon.gendered(f"{lower}.")


def _is_beside_verb(parse: Text, index: int, span: Span) -> bool:
    """Whether the phrase is next to its verb, so that the parse can be trusted and a pronoun fits."""
    verb = parse.tokens[index].head
    if not stands_in("subject", parse, index):
        return span.start == verb + 1 and stands_in("object-beside-verb", parse, index, span.end)
    after_preposition = stands_in("after-preposition", parse, span.start)  # in June Seehofer spoke
    beside = span.start <= verb and stands_in("subject-beside-verb", parse, index, span.end)
    return beside and not after_preposition and not stands_in("loose-before", parse, index)
