"""Templates that change names, numbers and dates, and put pronouns for nouns (checklist, table 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from assay.datasets import lexicon
from assay.files import tsv_file, word_list
from assay.language import language_of
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import ParseEdit, Text
from assay.perturbations.entities import PERSON, PLACE, first_name_gender, is_title, name_spans, named
from assay.perturbations.negation import garbled

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}

# A number after these is tied to the one before them: two to five, 4 out of 5.
_RANGE = (("to",), ("or",), ("and",), ("out", "of"), ("–",))
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
    """Other names for the words of every person's name whose region is known."""
    firsts, lasts = _named_words(parse)
    persons = {parse.tokens[i].text for i in firsts}
    gender = _text_gender(parse) if len(persons) == 1 else "unisex"

    def other_names(index: int) -> list[str]:
        if index in firsts:
            return _first_names_like(parse.tokens[index].text, firsts[index], gender)
        return [name for name, home in lexicon.surnames().items() if home == lasts[index]]

    return _replaced_alike(parse, sorted({*firsts, *lasts}), other_names, rng)


def _named_words(parse: Text) -> tuple[dict[int, str], dict[int, str]]:
    """The first names and the surnames of persons, by token index, with the region where they are common."""
    firsts, lasts = dict[int, str](), dict[int, str]()
    for span in name_spans(parse):
        words = [parse.tokens[i].text for i in range(span.start, span.end)]
        region = _region(words)
        if span.label != PERSON or region is None or len(words) > 2:
            continue
        is_surname = len(words) == 1 and _is_surname(parse, span.start)
        if not is_surname:
            firsts[span.start] = region
        if is_surname or len(words) == 2:
            lasts[span.end - 1] = region
    return firsts, lasts


def _is_surname(parse: Text, index: int) -> bool:
    """Whether a name of one word is a surname: after Mr, or where no list has it as a first name."""
    title = parse.text_at(index - 1).rstrip(".")
    if is_title(title):
        return title not in lexicon.template_words("titles_of_given_names")
    return first_name_gender(parse.tokens[index].text) is None


def _first_names_like(word: str, region: str, gender: str) -> list[str]:
    """The first names of a region, of the gender of a name or, where the lists know none, of another."""
    same = first_name_gender(word) or gender
    listed = [name for name in lexicon.first_names().values() if name.region == region]
    return [name.name for name in listed if name.gender == same]


def _region(words: list[str]) -> str | None:
    """Where a name is common, by the lists: a new name comes from there, so that nobody's origin changes."""
    given = {name.name: name.region for name in lexicon.first_names().values()}
    regions = {table[word] for table in (given, lexicon.surnames()) for word in words if word in table}
    if len(regions) == 1:
        return regions.pop()
    last = words[-1]
    if regions or (len(words) == 2 and first_name_gender(words[0]) is None):
        return None
    elsewhere = last[-1] in "aiouz" or last in lexicon.template_words("surnames_elsewhere")
    return "north_america" if last in named("surnames") and not elsewhere else None


def _replaced_alike(
    parse: Text, indices: Sequence[int], options: Callable[[int], list[str]], rng: Random
) -> dict[int, str]:
    """Each word at these indices replaced by one of its options, by the same one at every mention."""
    chosen: dict[str, str] = {}
    present = {token.text for token in parse.tokens}
    for index in indices:
        word = parse.tokens[index].text
        if word not in chosen:
            others = options(index)
            fresh = [other for other in others if other not in {*present, *chosen.values()}]
            chosen[word] = rng.choice(fresh or others or [word])
    return {index: chosen[parse.tokens[index].text] for index in indices}


def _text_gender(parse: Text) -> str:
    """The gender that the text's pronouns and titles show; unisex where they disagree or there are none."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = (bool(words & lexicon.template_words(gender)) for gender in ("female", "male"))
    return "unisex" if female == male else "female" if female else "male"


def _renamed_places(parse: Text, rng: Random) -> dict[int, str]:
    """Single-word places, by the list or by the parse, each replaced by another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for span in name_spans(parse):
        if span.label == PLACE and span.end == span.start + 1 and _is_plain_place(parse, span.start):
            word, kinds = parse.tokens[span.start].text, lexicon.places_by_kind()
            same_kind = next((listed for listed in kinds.values() if word in listed), kinds["city"])
            others = [name for name in same_kind if name not in {word, *chosen.values()}]
            changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


def _is_plain_place(parse: Text, index: int) -> bool:
    """Whether a place has no article and no other name beside it: not the Saale, Bremen Museum."""
    token = parse.tokens[index]
    placed = token.dep in ("pobj", "dobj", "poss") or token.text in _listed_places()
    return placed and stands_in("plain-place", parse, index)


@cache
def _listed_places() -> frozenset[str]:
    return frozenset(row["name"] for row in tsv_file("words", "places"))


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
        counting = [i for i in range(len(parse.tokens)) if _counts_freely(parse, i)]
        chosen: dict[str, str] = {}
        for index in counting:
            token = parse.tokens[index]
            fitting = _other_numbers(token, _limit(parse, index))
            if fitting and token.text not in chosen:
                chosen[token.text] = rng.choice(fitting)
        return {i: chosen[parse.tokens[i].text] for i in counting if parse.tokens[i].text in chosen}


def _counts_freely(parse: Text, index: int) -> bool:
    """Whether a number can change alone: no date, and not the end of a range, a fraction or an hour."""
    free = stands_in("counts-freely", parse, index) and not _is_calendar(parse, index)
    return free and not any(_ends_range(parse, index, middle) for middle in _RANGE)


def _ends_range(parse: Text, index: int, middle: tuple[str, ...]) -> bool:
    """Whether a number and these words stand before a number: two to five, 4 out of 5."""
    start = index - len(middle)
    words = [parse.word_at(place) for place in range(start, index)]
    return words == list(middle) and _value(parse.word_at(start - 1)) > 0


def _other_figures(parse: Text, rng: Random) -> dict[int, str]:
    """The figures inside the tokens of a text of any language, each replaced by another."""
    chosen: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        value, smallest = int(match[0]), 10 ** (len(match[0]) - 1)
        near = range(max(2, value // 2), min(2 * value, 10 * smallest - 1, 10**6) + 1)
        fitting = [n for n in near if n >= smallest and _is_apart(value, n)]
        if len(match[0]) == 4 or not fitting:
            return match[0]
        return chosen.setdefault(match[0], str(rng.choice(fitting)))

    written = {i: _FIGURE.sub(other, token.text) for i, token in enumerate(parse.tokens)}
    return {i: text for i, text in written.items() if text != parse.tokens[i].text}


def _limit(parse: Text, index: int) -> int:
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
    return _figures_like(word, value, limit) if word[0].isdigit() else _words_like(token, value, limit)


def _words_like(token: Token, value: int, limit: int) -> list[str]:
    """Number words of the size of a value: up to twelve, or above."""
    same_form = {word: n for word, n in _number_words().items() if (n > 12) == (value > 12)}
    apart = [word for word, n in same_form.items() if _is_apart(value, n) and n < limit]
    return [lexicon.match_case(word, token.text) for word in apart] if token.tag == "CD" else []


def _figures_like(word: str, value: int, limit: int) -> list[str]:
    """Numbers of as many digits as a value, as round as it is."""
    digits = len(str(value))
    step = 10 ** max(digits - len(str(value).rstrip("0")), digits - 3)
    smallest, top = max(2, 10 ** (digits - 1)), min(2 * value, 10**digits - 1, limit - 1)
    others = [n for n in range(0, top + 1, step) if n >= smallest and _is_apart(value, n)]
    return [f"{n:,}" if "," in word else str(n) for n in others]


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
        distance = rng.randrange(3, 40)
        dates = [index for index in range(len(parse.tokens)) if _is_calendar(parse, index)]
        return _replaced_alike(parse, dates, lambda index: _other_dates(parse, index, distance), rng)


def _is_calendar(parse: Text, index: int) -> bool:
    day = re.fullmatch(r"[1-3]?\d", parse.tokens[index].text) and stands_in("beside-month", parse, index)
    return stands_in("month-or-day", parse, index) or _is_year(parse, index) or bool(day)


def _is_year(parse: Text, index: int) -> bool:
    """Whether a token is a number of four digits by itself, not before a thing it could count."""
    digits = re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", parse.tokens[index].text)
    return digits is not None and stands_in("names-year", parse, index)


def _other_dates(parse: Text, index: int, distance: int) -> list[str]:
    """Other months, weekdays, years or days for one; a year of the future stays in the future."""
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        if word in lexicon.template_words(group):
            return list(word_list("checklist", "templates", group))
    if _is_year(parse, index):
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
        clear = [sentence for sentence in parse.sentences if not garbled(parse, sentence)]
        for index in (index for sentence in clear for index in range(sentence.start, sentence.end)):
            replaced = _pronoun(parse, index)
            if changes.keys().isdisjoint(replaced):
                changes |= replaced
        return {} if _only_takes_up(parse, changes) else changes


def _only_takes_up(parse: Text, changes: Mapping[int, str]) -> bool:
    """Whether all that changes is how the last sentence opens after another: a plain reference."""
    if sum(map(bool, changes.values())) != 1:
        return False
    opening = parse.first_word(parse.sentences[-1])
    return bool(opening and changes.get(opening))


def _pronoun(parse: Text, index: int) -> dict[int, str]:
    """The changes that put a pronoun for a noun's whole phrase; empty where a pronoun would not do."""
    span = _phrase(parse, index) if stands_in("subject-or-object", parse, index) else None
    if span is None or not _is_beside_verb(parse, index, span):
        return {}
    kind = _referent(parse, index, span)
    if kind is None or (kind == "plural" and stands_in("singular-verb", parse, index)):  # they needs
        return {}
    free = stands_in("finite-clause", parse, index) or not stands_in("after-verb", parse, span.start)
    is_subject = stands_in("subject", parse, index) and free  # not: makes tides larger
    return edit.dropped([span]) | {span.start: (_SUBJECT if is_subject else _OBJECT)[kind]}


def _phrase(parse: Text, index: int) -> Span | None:
    """The noun with all its dependents; None where that asks, counts or cannot be replaced as a whole."""
    span = parse.subtree(index)
    if span is None or stands_in("measure", parse, index):
        return None
    opens = span.start <= parse.sentence_of(index).start
    tied = not opens and stands_in("tied-before", parse, span.start - 1)
    return span if not tied and stands_in("pronoun-phrase", parse, span.start, span.end) else None


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
    person = stands_in("names-person", parse, index) or stands_in("group-of-persons", parse, index)
    return lexicon.gendered(parse.word_at(index)) or (None if person else "thing")


def _person_gender(parse: Text, name: Span) -> str | None:
    """A named person's gender: by a title, the first name, or the same name in full; or None."""
    last = parse.tokens[name.end - 1].text
    persons = [span for span in name_spans(parse) if span.label == PERSON]
    firsts = [parse.tokens[n.start].text for n in persons if parse.tokens[n.end - 1].text == last]
    for word in [parse.word_at(name.start - 1), *firsts, parse.tokens[name.start].text]:
        listed = lexicon.gendered(word.lower()) or lexicon.gendered(f"{word.lower()}.")
        if (gender := first_name_gender(word) or listed) in ("male", "female"):
            return gender if _text_gender(parse) in (gender, "unisex") else None
    return None


def _is_beside_verb(parse: Text, index: int, span: Span) -> bool:
    """Whether the phrase is next to its verb, so that the parse can be trusted and a pronoun fits."""
    verb = parse.tokens[index].head
    if not stands_in("subject", parse, index):
        return span.start == verb + 1 and stands_in("object-beside-verb", parse, index, span.end)
    after_preposition = stands_in("after-preposition", parse, span.start)  # in June Seehofer spoke
    beside = span.start <= verb and stands_in("subject-beside-verb", parse, index, span.end)
    return beside and not after_preposition and not stands_in("loose-before", parse, index)
