"""Templates for what a text says of whom, where and when (checklist, table 5).

Names of people and places, numbers and dates are changed or written out; nouns become pronouns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random

from assay.datasets import lexicon
from assay.language import language_of
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.edit import Text
from assay.perturbations.entities import PERSON, PLACE, first_name_gender, is_title, named, names
from assay.perturbations.negation import garbled

# Titles that precede a first name.
_GIVEN = {"Queen", "King", "Prince", "Princess", "Lady", "Sir", "Don", "Doña", "Pope", "Saint"}
_FEMALE = {"she", "her", "hers", "herself", "queen", "princess", "lady", "doña"}
_MALE = {"he", "him", "his", "himself", "king", "prince", "sir", "don", "pope"}

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}
_TIED_BEFORE = frozenset(["as", "than", "like", "such", "just", "only", "even"])
_MARKS = frozenset("\"“”«»()[]{}:;'‘’")  # a phrase that holds one would lose its partner
_MEASURES = ("DATE", "TIME", "MONEY", "QUANTITY", "PERCENT", "CARDINAL", "ORDINAL")
_LOST = {"no", "neither", "nor", "few", "little", "less", "fewer", "or", "any"}  # no pronoun expresses them

# A number after these is tied to the one before them: two to five, 4 out of 5.
_RANGE = (("to",), ("or",), ("and",), ("out", "of"), ("–",))
_PRESENT = 2025  # a text that names a later year speaks of the future
_FRACTIONS = ("third", "quarter", "fifth", "sixth", "tenth")


# --- names ---


@edit.template("change-names", "correctness")
def ChangeNames(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every person gets another name, the same wherever it occurs; without persons, every place.

    The new name has the gender and the region of the old one, as the lists or the text's pronouns show them.
    A name of unknown region stays: who a text is about must change, not where they are from.
    """
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
        given = parse.tokens[span.start - 1].text.rstrip(".") in _GIVEN if titled else False
        alone = len(words) == 1 and not given
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
        if word not in chosen:
            others = options(index)
            fresh = [other for other in others if other not in {*present, *chosen.values()}] or others
            if fresh:
                chosen[word] = rng.choice(fresh)
    return {index: chosen[word] for index in indices if (word := parse.tokens[index].text) in chosen}


def _looks_like_name(word: str) -> bool:
    common = lexicon.template_words("not_names")
    return word[:1].isupper() and word[1:].islower() and word.isalpha() and word not in common


def _text_gender(parse: Text) -> str:
    """The gender that the text's pronouns and titles show; unisex where they disagree or there are none."""
    words = {token.text.lower() for token in parse.tokens}
    female, male = bool(words & _FEMALE), bool(words & _MALE)
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
    alone = parse.word_at(index - 1) != "the" and all(t.pos != "PROPN" for t in parse.neighbours(index))
    placed = token.dep in ("pobj", "dobj", "poss") or token.text in lexicon.listed_places()
    return alone and placed and _looks_like_name(token.text) and not parse.is_compound_part(index)


# --- numbers ---


_FIGURE = re.compile(r"(?<![\d.,:/-])[1-9]\d{0,11}(?![\d:/-]|[.,]\d)")


@edit.template("change-numbers", "correctness", languages=None)
def ChangeNumbers(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every number above one replaced by another of its size, the same everywhere; dates are left alone.

    In other languages than English only figures change, and those of four digits, which may be years, stay.
    """
    if language_of(parse.text) not in ("", "en"):
        return _other_figures(parse, rng)
    chosen: dict[str, str] = {}
    changes = {}
    for index, token in enumerate(parse.tokens):
        time = token.entity == "TIME" and all(t.pos != "NOUN" for t in parse.tokens[index + 1 : index + 2])
        dated = time or _is_calendar(parse, index)
        if dated or _is_in_name(parse, index) or not _is_free(parse, index):
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
    counts = bool(after) and parse.tokens[index + 1].pos in ("NOUN", "ADJ", "PROPN", "NUM")
    hour = before == "at" and "." in words[index]
    definite = hour or before in ("the", "these", "those")
    return after.removesuffix("s") not in _FRACTIONS and (counts or not definite)


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
    small = lexicon.word_list("checklist", "templates", "small_numbers")
    tens = lexicon.word_list("checklist", "templates", "tens")
    return {word: n for n, word in enumerate(small, 2)} | {word: 10 * n for n, word in enumerate(tens, 2)}


def _is_in_name(parse: Text, index: int) -> bool:
    """Whether a number names rather than counts: Vega 9, A4, 7-Eleven."""
    before, governed = parse.tokens[index - 1], parse.tokens[index].head == index - 1
    named = index > 0 and (before.pos == "PROPN" or (before.pos == "NOUN" and governed))
    return (named and not _is_year(parse, index)) or parse.is_joined(index)


# --- dates ---


@edit.template("change-dates", "correctness")
def ChangeDates(parse: Text, rng: Random) -> Mapping[int, str]:
    """Years, days, months and weekdays replaced, the same everywhere; years all by the same distance."""
    distance = rng.randrange(3, 40)
    dates = [index for index in range(len(parse.tokens)) if _is_calendar(parse, index)]
    return _replaced_alike(parse, dates, lambda index: _other_dates(parse, index, distance), rng)


def _is_calendar(parse: Text, index: int) -> bool:
    token = parse.tokens[index]
    if token.text in lexicon.template_words("months") or token.text in lexicon.template_words("weekdays"):
        return token.pos == "PROPN" and not parse.is_joined(index)
    return _is_year(parse, index) or _is_day(parse, index)


def _is_year(parse: Text, index: int) -> bool:
    """Whether a token is a number of four digits by itself, not before a thing it could count."""
    token = parse.tokens[index]
    if not re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", token.text) or parse.is_joined(index):
        return False
    after_month = index > 0 and parse.tokens[index - 1].text in lexicon.template_words("months")
    return token.dep != "nummod" or token.entity == "DATE" or after_month


def _is_day(parse: Text, index: int) -> bool:
    beside_month = any(t.text in lexicon.template_words("months") for t in parse.neighbours(index))
    return beside_month and bool(re.fullmatch(r"[1-3]?\d", parse.tokens[index].text))


def _other_dates(parse: Text, index: int, distance: int) -> list[str]:
    word = parse.tokens[index].text
    for group in ("months", "weekdays"):
        words = lexicon.word_list("checklist", "templates", group)
        if word in words:
            present = {token.text for token in parse.tokens}
            return [other for other in words if other not in present] or [o for o in words if o != word]
    if _is_year(parse, index):  # the future stays in the future
        return [str(int(word) + (distance if int(word) > _PRESENT else -distance))]
    return [str(day) for day in range(1, 29) if str(day) != word]


# --- pronouns ---


@edit.template("nouns-to-pronouns", "referential clarity")
def NounsToPronouns(parse: Text, rng: Random) -> Mapping[int, str]:
    """Subjects and objects become he, she, it or they; one that needs an unknown gender stays."""
    changes: dict[int, str] = {}
    for sentence in parse.sentences:
        if garbled(parse, sentence):
            continue
        for index in range(sentence.start, sentence.end):
            replaced = _pronoun(parse, index)
            if not replaced.keys() & changes.keys():
                changes |= replaced
    return changes


def _pronoun(parse: Text, index: int) -> dict[int, str]:
    """The changes that put a pronoun for a noun's whole phrase; empty where a pronoun would not do."""
    token = parse.tokens[index]
    if token.dep not in ("nsubj", "nsubjpass", "dobj") or token.pos not in ("NOUN", "PROPN"):
        return {}
    span, kind = _phrase(parse, index), _referent(parse, index)
    if span is None or kind is None or not _is_beside_verb(parse, token, span):
        return {}
    pronouns = _SUBJECT if _takes_subject_case(parse, token, span) else _OBJECT
    return edit.dropped([span]) | {span.start: pronouns[kind]}


def _phrase(parse: Text, index: int) -> Span | None:
    """The noun with all its dependents; None where that asks, counts or cannot be replaced as a whole."""
    token, span = parse.tokens[index], parse.subtree(index)
    # A unit only counts: it will cost 11 million euros.
    if span is None or token.entity in _MEASURES or edit.lemma_of(token.text, "noun") in _units():
        return None
    inside = parse.tokens[span.start : span.end]
    if any(t.text.lower() in _LOST for t in inside):
        return None
    before = parse.tokens[span.start - 1] if span.start > parse.sentence_of(index).start else None
    if before is not None and _is_tied(before):
        return None
    asks = any(t.tag in edit.QUESTION_TAGS for t in inside)
    owner = parse.word_at(span.end) in ("'s", "’s")
    marks = any(t.text in _MARKS or edit.is_address(t) for t in inside)
    ends = inside[-1].text == "," or inside[-1].tag == "CD"  # beat the Eagles 61-58
    return None if asks or owner or marks or ends else span


def _is_tied(before: Token) -> bool:
    """Whether the word before a phrase belongs to it: forwards Raheem Sterling and Jordon Ibe; as babies."""
    role = edit.lemma_of(before.text, "noun") in lexicon.people()
    return role or before.pos in ("NOUN", "PROPN", "ADJ", "NUM") or before.text.lower() in _TIED_BEFORE


@cache
def _units() -> frozenset[str]:
    kinds = ("currencies", "spans of time", "long spans of time")
    groups = [(group["kind"], group["terms"]) for group in lexicon.jsonl_file("words", "siblings")]
    units = [terms for kind, terms in groups if kind in kinds or kind.startswith("units of")]
    return frozenset(term for terms in units for term in terms)


def _referent(parse: Text, index: int) -> str | None:
    """Plural, thing, male or female; None for a person whose gender is unknown."""
    token, dependents = parse.tokens[index], parse.children(index)
    joined = any(t.dep == "conj" for t in dependents)
    name = next((n for n in names(parse) if n.start <= index < n.end), None)
    person = name is not None and name.label == PERSON
    whole = parse.subtree(index)
    if name is not None and (whole is None or whole.start > name.start or whole.end < name.end):
        return None  # the parse cuts the name
    several = token.tag in ("NNS", "NNPS") and not person
    group = (name is not None and not person) or token.text in ("side", *lexicon.template_words("collective"))
    if several or joined or _verb_is_plural(parse, token, team=group):
        return "plural"
    if name is not None:
        return _person_gender(parse, name) if name.label == PERSON else "thing"
    if token.pos == "PROPN" or token.entity == "PERSON" or not token.text.islower():
        opens = index == parse.first_word(parse.sentence_of(index)) and token.pos == "NOUN"
        if not opens or not edit.known_classes(token.text):
            return None  # a name that nothing confirms
    lemma = edit.lemma_of(token.text, "noun")
    gender = lexicon.gendered(token.text.lower()) or lexicon.gendered(lemma)
    if gender:
        return gender
    endings = lexicon.word_list("checklist", "templates", "person_endings")
    return None if lemma in lexicon.people() or lemma.endswith(endings) else "thing"


def _person_gender(parse: Text, name: Span) -> str | None:
    """A named person's gender: by a title, the first name, or the same name in full; or None."""
    words = [parse.word_at(name.start - 1), *(parse.tokens[i].text for i in range(name.start, name.end))]
    full = [n for n in names(parse) if n.label == PERSON and n.end - n.start > 1]
    words += [parse.tokens[n.start].text for n in full if parse.tokens[n.end - 1].text == words[-1]]
    for word in words:
        gender = (
            first_name_gender(word) or lexicon.gendered(word.lower()) or lexicon.gendered(f"{word.lower()}.")
        )
        if gender in ("male", "female"):
            return gender
    return None


def _takes_subject_case(parse: Text, token: Token, span: Span) -> bool:
    """Whether a subject has a clause of its own; in "makes tides larger" it takes the object's case."""
    if token.dep == "dobj":
        return False
    governed = span.start > 0 and parse.tokens[span.start - 1].pos == "VERB"
    helping = [t for t in parse.tokens if t.head == token.head and t.dep.startswith("aux")]
    finite = any(t.tag in edit.FINITE_TAGS for t in (parse.tokens[token.head], *helping))
    return finite or not governed


def _is_beside_verb(parse: Text, token: Token, span: Span) -> bool:
    """Whether the phrase is next to its verb, so that the parse can be trusted and a pronoun fits."""
    verb, tokens = parse.tokens[token.head], parse.tokens
    noun = verb.pos == "PROPN" or edit.lemma_of(verb.text, "noun") in lexicon.people()
    if noun or verb.dep in ("prep", "amod"):
        return False  # Liverpool forwards Sterling and Ibe; pending inquiries
    if token.dep == "dobj":
        bare = verb.tag == "VBG" and tokens[span.start] is token  # packaging film, reflecting cells
        light = verb.lemma in lexicon.template_words("light_verbs")
        particle = any(t.head == token.head and t.dep == "prt" for t in tokens)  # break down it
        continues = span.end < len(tokens) and tokens[span.end].tag in edit.FINITE_TAGS | {"VB"}
        return span.start == token.head + 1 and not (bare or light or particle or continues)
    if span.start > token.head or (span.start > 0 and tokens[span.start - 1].pos == "ADP"):
        return False  # said the owner; in June Seehofer spoke
    between = tokens[span.end : token.head]
    direct = all(t.head == token.head and t.dep in ("aux", "auxpass", "neg", "advmod") for t in between)
    adjuncts = [t for t in tokens[: span.start] if t.head == token.head and t.dep in ("npadvmod", "dep")]
    loose = any(t.entity not in ("DATE", "TIME") for t in adjuncts)
    return direct and not loose and all(t.text != "," for t in between)


def _verb_is_plural(parse: Text, token: Token, *, team: bool = False) -> bool:
    """Whether the verb treats a singular subject as several: the team are, Liverpool face."""
    if token.dep == "dobj":
        return False
    helping = [t for t in parse.tokens if t.head == token.head and t.dep in ("aux", "auxpass")]
    finite = [t for t in (parse.tokens[token.head], *helping) if t.tag != "VB"]
    plain = team and any(t.tag == "VBP" for t in finite)
    return plain or any(t.text.lower() in ("are", "were", "have") for t in finite)
