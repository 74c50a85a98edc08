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
from assay.perturbations.entities import PERSON, PLACE, first_name_gender, is_title, named, names
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
    firsts, lasts = dict[int, str](), dict[int, str]()  # token to region
    for span in names(parse):
        words = [parse.tokens[i].text for i in range(span.start, span.end)]
        region = _region(words)
        if span.label != PERSON or region is None or len(words) > 2:
            continue
        titled = span.start > 0 and is_title(parse.tokens[span.start - 1].text)
        title = parse.tokens[span.start - 1].text.rstrip(".") if titled else ""
        alone = len(words) == 1 and title not in lexicon.template_words("titles_of_given_names")
        surname = alone and (titled or first_name_gender(words[0]) is None)
        if not surname:
            firsts[span.start] = region
        if surname or len(words) == 2:
            lasts[span.end - 1] = region
    gender = _text_gender(parse) if len({parse.tokens[i].text for i in firsts}) == 1 else "unisex"

    def other_names(index: int) -> list[str]:
        if index not in firsts:
            return [name for name, home in lexicon.surnames().items() if home == lasts[index]]
        word, same = parse.tokens[index].text, first_name_gender(parse.tokens[index].text) or gender
        listed = [n for n in lexicon.first_names().values() if n.region == firsts[index] and n.name != word]
        return [n.name for n in listed if n.gender == same]

    return _replaced_alike(parse, sorted({*firsts, *lasts}), other_names, rng)


def _region(words: list[str]) -> str | None:
    """Where a name is common, by the lists: a new name comes from there, so that nobody's origin changes."""
    given, family = lexicon.first_names(), lexicon.surnames()
    regions = {given[word].region for word in words if word in given}
    regions |= {family[word] for word in words if word in family}
    if len(regions) == 1:
        return regions.pop()
    last = words[-1]
    if len(words) == 2 and first_name_gender(words[0]) is None:
        return None
    elsewhere = last[-1] in "aiouz" or last in lexicon.template_words("surnames_elsewhere")
    return "north_america" if not regions and last in named("surnames") and not elsewhere else None


def _replaced_alike(
    parse: Text, indices: Sequence[int], options: Callable[[int], list[str]], rng: Random
) -> dict[int, str]:
    """Each word at these indices replaced by one of its options, by the same one at every mention."""
    chosen: dict[str, str] = {}
    present = {token.text for token in parse.tokens}
    for index in indices:
        word = parse.tokens[index].text
        if word not in chosen and (others := options(index)):
            fresh = [other for other in others if other not in {*present, *chosen.values()}]
            chosen[word] = rng.choice(fresh or others)
    return {index: chosen[word] for index in indices if (word := parse.tokens[index].text) in chosen}


def _text_gender(parse: Text) -> str:
    """The gender that the text's pronouns and titles show; unisex where they disagree or there are none."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = (bool(words & lexicon.template_words(gender)) for gender in ("female", "male"))
    return "unisex" if female == male else "female" if female else "male"


def _renamed_places(parse: Text, rng: Random) -> dict[int, str]:
    """Single-word places, by the list or by the parse, each replaced by another of its kind."""
    chosen: dict[str, str] = {}
    changes: dict[int, str] = {}
    for span in names(parse):
        if span.label == PLACE and span.end == span.start + 1 and _is_plain_place(parse, span.start):
            word, kinds = parse.tokens[span.start].text, lexicon.places_by_kind()
            same_kind = next((listed for listed in kinds.values() if word in listed), kinds["city"])
            others = [name for name in same_kind if name not in {word, *chosen.values()}]
            changes[span.start] = chosen.setdefault(word, rng.choice(others))
    return changes


def _is_plain_place(parse: Text, index: int) -> bool:
    """Whether a place has no article and no other name beside it: not the Saale, Bremen Museum."""
    token = parse.tokens[index]
    alone = stands_in("plain-place", parse, index) and not parse.is_compound_part(index)
    listed = any(row["name"] == token.text for row in tsv_file("words", "places"))
    placed = token.dep in ("pobj", "dobj", "poss") or listed
    return alone and placed and token.text[1:].islower() and token.text.isalpha()


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
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            dated = stands_in("clock-time", parse, index) or _is_calendar(parse, index)
            numbers = stands_in("numbering", parse, index) and not _is_year(
                parse, index
            )  # Vega 9, the 165 road
            if dated or numbers or parse.is_joined(index) or not _is_free(parse, index):
                continue
            fitting = _other_numbers(token, _limit(parse, index))
            if token.text in chosen or fitting:
                changes[index] = chosen[token.text] = chosen.get(token.text) or rng.choice(fitting)
        return changes


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


def _is_free(parse: Text, index: int) -> bool:
    """Whether a number can change alone: not the end of a range, a fraction, "the two" or an hour."""
    words = [token.text.lower() for token in parse.tokens]
    for middle in _RANGE:
        at = index - len(middle)
        if at > 0 and tuple(words[at:index]) == middle and _value(words[at - 1]):
            return False
    before, after = parse.word_at(index - 1), parse.word_at(index + 1)
    hour = (before == "at" and "." in words[index]) or after[:3] in ("a.m", "p.m", "am", "pm", "o'c", "o’c")
    whole = after.removesuffix("s") not in lexicon.template_words("fractions")
    return whole and not hour and stands_in("counts-freely", parse, index)


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
    if not word[0].isdigit():
        if token.tag != "CD":
            return []
        same_form = {w: n for w, n in _number_words().items() if (n > 12) == (value > 12)}
        apart = [other for other, n in same_form.items() if _is_apart(value, n) and n < limit]
        return [lexicon.match_case(other, word) for other in apart]
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
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        words = word_list("checklist", "templates", group)
        if word in words:
            present = {token.text for token in parse.tokens}
            return [other for other in words if other not in present] or [o for o in words if o != word]
    if _is_year(parse, index):  # the future stays in the future
        return [str(int(word) + (distance if int(word) > _PRESENT else -distance))]
    return [str(day) for day in range(1, 29) if str(day) != word]


@dataclass(frozen=True)
class NounsToPronouns(ParseEdit):
    """Subjects and objects become he, she, it or they; one that needs an unknown gender stays."""

    name = "nouns-to-pronouns"
    criterion = "referential clarity"
    title = "pronouns that refer to nothing"
    tasks = ("summarisation",)

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            if garbled(parse, sentence):
                continue
            for index in range(sentence.start, sentence.end):
                replaced = _pronoun(parse, index)
                if not replaced.keys() & changes.keys():
                    changes |= replaced
        single = sum(word != "" for word in changes.values()) == 1
        opening = parse.first_word(parse.sentences[-1]) if parse.sentences else None
        # What the last sentence takes up at once is a plain reference.
        return {} if single and opening and changes.get(opening) else changes


def _pronoun(parse: Text, index: int) -> dict[int, str]:
    """The changes that put a pronoun for a noun's whole phrase; empty where a pronoun would not do."""
    token = parse.tokens[index]
    if token.dep not in ("nsubj", "nsubjpass", "dobj") or token.pos not in ("NOUN", "PROPN"):
        return {}
    span, kind = _phrase(parse, index), _referent(parse, index)
    if span is None or kind is None or not _is_beside_verb(parse, index, span):
        return {}
    if kind == "plural" and stands_in("singular-verb", parse, index):
        return {}  # they needs
    governed = span.start > 0 and parse.tokens[span.start - 1].pos == "VERB"  # makes tides larger
    clause = token.dep != "dobj" and (not governed or stands_in("finite-clause", parse, index))
    return edit.dropped([span]) | {span.start: (_SUBJECT if clause else _OBJECT)[kind]}


def _phrase(parse: Text, index: int) -> Span | None:
    """The noun with all its dependents; None where that asks, counts or cannot be replaced as a whole."""
    span = parse.subtree(index)
    if span is None or stands_in("measure", parse, index):
        return None
    opens = span.start <= parse.sentence_of(index).start
    tied = not opens and stands_in("tied-before", parse, span.start - 1)
    return span if not tied and stands_in("pronoun-phrase", parse, span.start, span.end) else None


def _referent(parse: Text, index: int) -> str | None:
    """Plural, thing, male or female; None for a person whose gender is unknown."""
    token = parse.tokens[index]
    name = next((n for n in names(parse) if n.start <= index < n.end), None)
    person = name is not None and name.label == PERSON
    whole = parse.subtree(index)
    if name is not None and (whole is None or whole.start > name.start or whole.end < name.end):
        return None  # the parse cuts the name
    several = token.tag == "NNS" and not person
    group = (name is not None and not person) or token.text in ("side", *lexicon.template_words("collective"))
    team = group and stands_in("team-verb", parse, index)
    if several or team or stands_in("counts-as-plural", parse, index):
        return "plural"
    if name is not None:
        return _person_gender(parse, name) if name.label == PERSON else "thing"
    if token.pos == "PROPN" or token.entity == "PERSON" or not token.text.islower():
        opens = index == parse.first_word(parse.sentence_of(index)) and token.pos == "NOUN"
        if not opens or not edit.known_classes(token.text):
            return None  # a name that nothing confirms
    if gender := lexicon.gendered(token.text.lower()) or lexicon.gendered(edit.lemma_of(token.text, "noun")):
        return gender
    if group and any(t.text.lower() in ("they", "their", "them") for t in parse.tokens):
        return None  # a couple and their child
    return None if stands_in("names-person", parse, index) else "thing"


def _person_gender(parse: Text, name: Span) -> str | None:
    """A named person's gender: by a title, the first name, or the same name in full; or None."""
    own = [parse.tokens[i].text for i in range(name.start, name.end)]
    full = [n for n in names(parse) if n.label == PERSON and n.end - n.start > 1]
    firsts = [parse.tokens[n.start].text for n in full if parse.tokens[n.end - 1].text == own[-1]]
    for word in [parse.word_at(name.start - 1), *firsts, own[0]]:
        listed = lexicon.gendered(word.lower()) or lexicon.gendered(f"{word.lower()}.")
        if (gender := first_name_gender(word) or listed) in ("male", "female"):
            return gender if _text_gender(parse) in (gender, "unisex") else None
    return None


def _is_beside_verb(parse: Text, index: int, span: Span) -> bool:
    """Whether the phrase is next to its verb, so that the parse can be trusted and a pronoun fits."""
    tokens, token = parse.tokens, parse.tokens[index]
    if not stands_in("trusted-verb", parse, index):
        return False
    if token.dep == "dobj":
        continues = span.end < len(tokens) and tokens[span.end].tag in edit.FINITE_TAGS | {"VB"}
        whole = span.start == token.head + 1 and not continues
        return whole and stands_in("plain-verb", parse, index)
    if span.start > token.head or (span.start > 0 and tokens[span.start - 1].pos == "ADP"):
        return False  # said the owner; in June Seehofer spoke
    between = tokens[span.end : token.head]
    direct = all(t.head == token.head and t.dep in ("aux", "auxpass", "neg", "advmod") for t in between)
    return direct and all(t.text != "," for t in between) and not stands_in("loose-before", parse, index)
