"""Templates for what a text says of whom, where and when (checklist, table 5).

Names of people and places, numbers and dates are changed or written out; nouns become pronouns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random

from assay.datasets import lexicon
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.checklist.meaning import garbled
from assay.perturbations.edit import Text

# Titles that precede a first name.
_GIVEN = {"Queen", "King", "Prince", "Princess", "Lady", "Sir", "Don", "Doña", "Pope", "Saint"}
_PLACING = {"on", "off", "to", "from", "between", "into", "towards", "around", "across", "over"}
_FEMALE = {"she", "her", "hers", "herself", "queen", "princess", "lady", "doña"}
_MALE = {"he", "him", "his", "himself", "king", "prince", "sir", "don", "pope"}

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}
_MARKS = frozenset('"“”«»()[]{}:;')  # a phrase that holds one would lose its partner
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

    First names keep their gender, as far as the list or the text's pronouns show it; the region is drawn.
    """
    return _renamed_persons(parse, rng) or _renamed_places(parse, rng)


def _renamed_persons(parse: Text, rng: Random) -> dict[int, str]:
    firsts, lasts = _person_words(parse)
    gender = _text_gender(parse) if len({parse.tokens[i].text for i in firsts}) == 1 else "unisex"
    region, given = rng.choice(sorted(set(lexicon.surnames().values()))), lexicon.first_names()

    def other_names(index: int) -> list[str]:
        if index not in firsts:
            return [name for name, home in lexicon.surnames().items() if home == region]
        word = parse.tokens[index].text
        same = given[word].gender if word in given else gender
        return [name.name for name in given.values() if name.gender == same and name.region == region]

    return _replaced_alike(parse, sorted(firsts | lasts), other_names, rng)


def _replaced_alike(
    parse: Text, indices: Sequence[int], options: Callable[[int], list[str]], rng: Random
) -> dict[int, str]:
    """Each word at these indices replaced by one of its options, by the same one at every mention."""
    chosen: dict[str, str] = {}
    for index in indices:
        word = parse.tokens[index].text
        if word not in chosen:
            others = options(index)
            fresh = [other for other in others if other not in {word, *chosen.values()}]
            chosen[word] = rng.choice(fresh or others)
    return {index: chosen[parse.tokens[index].text] for index in indices}


def _person_words(parse: Text) -> tuple[set[int], set[int]]:
    """The indices of first names and of surnames, found by entity or by the list, at every mention."""
    given = lexicon.first_names()
    firsts, lasts = set[str](), set[str]()
    for span in parse.entities:
        names = _names_in(parse, span)
        if span.label != "PERSON" or not names or not _is_person(parse, span, names):
            continue
        titled = len(names) < span.end - span.start
        at = span.start if titled else span.start - 1
        before = parse.tokens[at].text if at >= 0 else ""
        listed = names[0] in lexicon.surnames() and names[0] not in given
        if len(names) == 1 and before.rstrip(".") not in _GIVEN and (listed or _is_title(before)):
            lasts.update(names)
        elif len(names) > 1 or names[0] in given or before in _GIVEN:
            firsts.add(names[0])
            lasts.update(names[1:])
    known = {token.text for token in parse.tokens if token.text in given and token.pos == "PROPN"}
    firsts |= {name for name in known if name not in lexicon.listed_places() and name not in lasts}
    lasts -= firsts
    _add_neighbours(parse, firsts, lasts)
    mentions = [i for i, t in enumerate(parse.tokens) if t.pos == "PROPN" and not parse.is_compound_part(i)]
    first_indices = {i for i in mentions if parse.tokens[i].text in firsts}
    return first_indices, {i for i in mentions if parse.tokens[i].text in lasts} - first_indices


def _names_in(parse: Text, span: Span) -> list[str]:
    """The words of a person's name, without title and possessive."""
    words = [token.text for token in parse.tokens[span.start : span.end]]
    names = [word for word in words if word not in ("'s", "’s") and not _is_title(word)]
    return names if len(names) <= 3 and all(map(_looks_like_name, names)) else []


def _is_person(parse: Text, span: Span, names: list[str]) -> bool:
    """Whether a name is a person's, by the list or by its place in the sentence: nobody is "on" a person."""
    before = parse.word_at(span.start - 1)
    if before in ("in", "at", "near"):
        return False
    if any(name in lexicon.first_names() or name in lexicon.surnames() for name in names) or len(names) == 1:
        return True
    head = parse.tokens[span.end - 1]
    attributes = [t.lemma for t in parse.tokens if t.dep == "attr" and t.head == head.head]
    thing = head.dep == "nsubj" and any(lemma not in lexicon.people() for lemma in attributes)
    return not thing and (head.dep in ("case", "poss") or before not in _PLACING)


def _add_neighbours(parse: Text, firsts: set[str], lasts: set[str]) -> None:
    """Add the other half of a name, and the other of two people: Isla and Ronan Fairweather."""
    words = [t.text if t.pos == "PROPN" and _looks_like_name(t.text) else "" for t in parse.tokens]
    for at, token in enumerate(parse.tokens[1:-1], 1):
        left, right = words[at - 1], words[at + 1]
        if token.text == "and" and left and right and {left, right} & (firsts | lasts):
            firsts.update({left, right} - lasts - lexicon.listed_places())
        if words[at] in firsts and right and right not in firsts:
            lasts.add(right)
        if words[at] in lasts and left and left not in lasts and not _is_title(left):
            firsts.add(left)


def _is_title(word: str) -> bool:
    return word.rstrip(".") in lexicon.template_words("titles")


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
    for span in parse.entities:
        if span.label == "GPE" and span.end == span.start + 1 and _is_plain_place(parse, span.start):
            word, kinds = parse.tokens[span.start].text, lexicon.places_by_kind()
            same_kind = next((names for names in kinds.values() if word in names), kinds["city"])
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


@edit.template("change-numbers", "correctness")
def ChangeNumbers(parse: Text, rng: Random) -> Mapping[int, str]:
    """Every number above one replaced by another of its size, the same everywhere; dates are left alone."""
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
    asks = any(t.tag in edit.QUESTION_TAGS for t in inside)
    owner = parse.word_at(span.end) in ("'s", "’s")
    marks = any(t.text in _MARKS or edit.is_address(t) for t in inside)
    ends = inside[-1].text == "," or inside[-1].tag == "CD"  # beat the Eagles 61-58
    return None if asks or owner or marks or ends else span


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
    if token.tag in ("NNS", "NNPS") or joined or _verb_is_plural(parse, token):
        return "plural"
    compounds = [t for t in (token, *dependents) if t.dep == "compound"]
    titled = any(t.text.lower() in lexicon.people() or t.entity == "PERSON" for t in compounds)
    unknown = token.text[:1].isupper() and not edit.known_classes(token.text)
    if token.pos == "PROPN" or token.entity == "PERSON" or unknown:
        # A surname alone is often taken for a firm.
        known = any(token.text in names for names in lexicon.places_by_kind().values())
        alone = parse.subtree(index) == Span(index, index + 1) and not known
        personal = titled or alone or token.entity in ("PERSON", "")
        return _person_gender(parse, index) if personal else "thing"
    lemma = edit.lemma_of(token.text, "noun")
    gender = lexicon.gendered(token.text.lower()) or lexicon.gendered(lemma)
    if gender:
        return gender
    endings = lexicon.word_list("checklist", "templates", "person_endings")
    return None if lemma in lexicon.people() or lemma.endswith(endings) else "thing"


def _person_gender(parse: Text, index: int) -> str | None:
    """A named person's gender by the list of first names or by a title, or None."""
    span = parse.subtree(index) or Span(index, index + 1)
    for token in parse.tokens[span.start : span.end]:
        known, title = lexicon.first_names().get(token.text), token.text.lower()
        gender = known.gender if known else lexicon.gendered(title) or lexicon.gendered(f"{title}.")
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
    if token.dep == "dobj":
        bare = verb.tag == "VBG" and tokens[span.start] is token  # packaging film, reflecting cells
        light = verb.lemma in lexicon.template_words("light_verbs")
        particle = any(t.head == token.head and t.dep == "prt" for t in tokens)  # break down it
        continues = span.end < len(tokens) and tokens[span.end].tag in edit.FINITE_TAGS | {"VB"}
        return span.start == token.head + 1 and not (bare or light or particle or continues)
    if span.start > token.head or (span.start > 0 and tokens[span.start - 1].dep == "prep"):
        return False  # said the owner; in June Seehofer spoke
    between = tokens[span.end : token.head]
    direct = all(t.head == token.head and t.dep in ("aux", "auxpass", "neg", "advmod") for t in between)
    adjuncts = [t for t in tokens[: span.start] if t.head == token.head and t.dep in ("npadvmod", "dep")]
    loose = any(t.entity not in ("DATE", "TIME") for t in adjuncts)
    return direct and not loose and all(t.text != "," for t in between)


def _verb_is_plural(parse: Text, token: Token) -> bool:
    """Whether the verb treats a singular subject as several: the team are."""
    helping = [t for t in parse.tokens if t.head == token.head and t.dep in ("aux", "auxpass")]
    finite = [t for t in (parse.tokens[token.head], *helping) if t.tag != "VB"]
    return token.dep != "dobj" and any(t.text.lower() in ("are", "were", "have") for t in finite)
