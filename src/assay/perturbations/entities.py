"""The names in a text, as spans labelled PERSON, PLACE or ORGANISATION.

The parser's own labels are wrong too often to be used alone. A name counts where a list, a title, its last
word or another mention confirms it; the parser decides only between what remains possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise, takewhile

from assay.datasets.lexicon import first_names, places_by_kind, surnames, template_words
from assay.files import word_set
from assay.models.nlp import Span, Token, spacy_stop_words
from assay.perturbations.edit import Text, is_all_caps, known_classes, read

PERSON, PLACE, ORGANISATION = "PERSON", "PLACE", "ORGANISATION"

_LINKS = template_words("name_links")
_NO_NAMES = template_words("months") | template_words("weekdays") | {"I"}
_SCORE = re.compile(r"\b\d{1,2}[-–]\d{1,2}\b")
_ACRONYM = re.compile("[A-Z]{2,6}")


def named(word_list: str) -> frozenset[str]:
    """A list of the gazetteer."""
    return word_set("words", "gazetteer", word_list)


def name_spans(parse: Text) -> tuple[Span, ...]:
    """The confirmed names of a text, in order; none in a text of capitals."""
    return () if is_all_caps(parse.text) else _names(parse.text)


@lru_cache(maxsize=20_000)
def _names(text: str) -> tuple[Span, ...]:
    parse = read(text)
    labels = {run: _label(parse, run) for run in _runs(parse)}
    shorter = _short_forms(parse, labels)
    for run in labels:
        longer = shorter.get(parse.piece(run))
        labels[run] = PERSON if longer == PERSON else labels[run] or longer
    return tuple(Span(run.start, run.end, label) for run, label in labels.items() if label)


def _short_forms(parse: Text, labels: Mapping[Span, str | None]) -> dict[str, str]:
    """What parts of longer names stand for: Falcao after Radamel Falcao, United after Manchester United."""
    shorter: dict[str, str] = {}
    for run, label in labels.items():
        first, last = parse.tokens[run.start].text, parse.tokens[run.end - 1].text
        if first != last and label in (PERSON, ORGANISATION):
            shorter |= {first: PERSON, last: PERSON} if label == PERSON else {last: ORGANISATION}
    return shorter


def _runs(parse: Text) -> list[Span]:
    """The longest stretches of capitalised names, titles before them left out."""
    runs, start = [], 0
    while start < len(parse.tokens):
        end = _end_of_run(parse, start)
        runs += _parts(parse, Span(start, end))
        start = max(end, start + 1)
    return runs


def _end_of_run(parse: Text, start: int) -> int:
    """Where the name ends that begins at a token; `start` where none does."""
    inside = takewhile(lambda at: _continues(parse, start, at), range(start, len(parse.tokens)))
    return max((at + 1 for at in inside if parse.tokens[at].text[:1].isupper()), default=start)


def _continues(parse: Text, start: int, at: int) -> bool:
    """Whether the token at `at` belongs to a name that begins at `start`."""
    token, before = parse.tokens[at], parse.tokens[at - 1]
    if at == start:
        opens = at == parse.first_word(parse.sentence_of(at))
        return _is_name_word(token) and (token.pos == "PROPN" or not opens or not known_classes(token.text))
    if token.text in _LINKS:
        return token.text != "-" or not token.space
    return _is_name_word(token) and (before.space != "" or before.text == "-")


def _is_name_word(token: Token) -> bool:
    """Whether a word may be part of a name: in capitals, and no pronoun, article, month or day."""
    return token.text[:1].isupper() and token.text not in _NO_NAMES and token.tag not in ("PRP", "PRP$", "DT")


def _parts(parse: Text, run: Span) -> list[Span]:
    """A run whole if it is a listed name, else, without titles, the names between its links."""
    titles = takewhile(lambda at: is_title(parse.tokens[at].text), range(run.start, run.end))
    untitled = Span(run.start + len(list(titles)), run.end)
    for whole in (run, untitled):
        if whole.start < whole.end and _is_listed(parse, whole):
            return [whole]
    persons = {entity.start for entity in parse.entities if entity.label == PERSON}
    inside = range(untitled.start + 1, untitled.end)
    starts = [at for at in inside if _starts_anew(parse, untitled, at, at in persons)]
    parts = [_without_links(parse, Span(*ends)) for ends in pairwise([untitled.start, *starts, untitled.end])]
    return [part for part in parts if part is not None]


def _starts_anew(parse: Text, run: Span, at: int, is_labelled: bool) -> bool:
    """Whether another name begins inside a run: after of or the, or where a person is named."""
    before = parse.tokens[at - 1].text
    if "-" in (before, parse.text_at(at)):
        return False
    if before in ("of", "the") or (is_labelled and first_name_gender(before) is None):
        return True
    return _begins_person(parse, Span(run.start, at))


def _without_links(parse: Text, part: Span) -> Span | None:
    """A part of a run without "of", "the" and so on at either end; None where nothing else is in it."""
    words = [at for at in range(part.start, part.end) if parse.tokens[at].text not in _LINKS]
    return Span(words[0], words[-1] + 1) if words else None


def _is_listed(parse: Text, run: Span) -> bool:
    """Whether a run is a place's or an organisation's name as it stands: General Motors."""
    text = parse.piece(run)
    several = run.end - run.start > 1
    return (
        _is_place(text)
        or text in named("organisations")
        or (several and _ends_in(parse, run, "organisation_words"))
    )


def _begins_person(parse: Text, before: Span) -> bool:
    """Whether a person's name follows another name or a common noun: Emirates Cesc Fabregas, Aunt Debbie."""
    word, last, text = parse.tokens[before.end].text, parse.tokens[before.end - 1].text, parse.piece(before)
    if first_name_gender(word) is None:
        return False
    common = known_classes(last) and not _is_personal(last)
    return bool(common) or _is_place(text) or text in named("organisations")


def _label(parse: Text, run: Span) -> str | None:
    """What a name is the name of; None where that is not certain."""
    text, first = parse.piece(run), parse.tokens[run.start]
    if _goes_on(parse, run):
        return None
    if is_title(parse.text_at(run.start - 1)):
        return PERSON if run.end - run.start <= 3 else None
    if text in named("organisations"):  # a flat in Fulham, the district or the club
        return None if parse.word_at(run.start - 1) in ("in", "near") else ORGANISATION
    if _is_place(text):
        return _place_or_team(parse, run, text)
    if run.end - run.start > 1 and (kind := _kind_of_words(parse, run)):
        return kind
    if first.entity == "ORG" and _ACRONYM.fullmatch(text):
        return ORGANISATION
    if _is_person(parse, run):
        return PERSON
    return PLACE if _is_located(parse, run) else None


def _kind_of_words(parse: Text, run: Span) -> str | None:
    """What the words of a longer name show: Royal College of Surgeons, Lake Victoria."""
    if _ends_in(parse, run, "organisation_words"):
        return ORGANISATION
    opens = parse.tokens[run.start].text in named("place_openings")
    return PLACE if opens or _ends_in(parse, run, "place_words") else None


def _goes_on(parse: Text, run: Span) -> bool:
    """Whether a name of one word is a part of a longer one: X-ray, Ella henderson (without its capital)."""
    after = parse.word_at(run.end)
    if run.end - run.start > 1:
        return False
    if after == "-":
        return not parse.tokens[run.end - 1].space
    return after.isalpha() and not known_classes(after) and after not in spacy_stop_words()


def _ends_in(parse: Text, run: Span, key: str) -> bool:
    """Whether a name's last word, or the one before an "of", is in a list: Royal College of Surgeons."""
    inside = range(run.start + 1, run.end)
    end = next((at for at in inside if parse.tokens[at].text == "of"), run.end)
    return parse.tokens[end - 1].text in named(key)


@cache
def _places() -> frozenset[str]:
    """Every place of the lists."""
    return named("places").union(*places_by_kind().values())


def _is_place(text: str) -> bool:
    """Whether the lists have a place, or the whole that it is a part of: South Yorkshire."""
    first, _, rest = text.partition(" ")
    return text in _places() or (first in named("parts") and rest in _places())


def _is_personal(word: str) -> bool:
    """Whether a word is a first name or a surname by the lists."""
    return word in named("surnames") or first_name_gender(word) is not None


def _place_or_team(parse: Text, run: Span, text: str) -> str | None:
    """A town on a sports page stands for its team, unless something is in it or comes from it."""
    if _is_led_in(parse, run) or text in places_by_kind()["country"]:
        return PLACE
    label, words = parse.tokens[run.start].entity, {token.text.lower() for token in parse.tokens}
    if label == "ORG" or words & named("sport_words") or _SCORE.search(parse.text):
        return ORGANISATION
    return PLACE if label in ("GPE", "LOC", "FAC") or not _is_personal(text) else None


def _is_located(parse: Text, run: Span) -> bool:
    """Whether a place that no list has is clear from its surroundings: in Kaesong."""
    tokens = parse.tokens[run.start : run.end]
    unknown = all(token.entity in ("GPE", "LOC") and not known_classes(token.text) for token in tokens)
    return unknown and _is_led_in(parse, run)


def _is_led_in(parse: Text, run: Span) -> bool:
    return parse.word_at(run.start - 1) in template_words("locating")


def _is_person(parse: Text, run: Span) -> bool:
    """Whether a name is a person's: by its first name, or by the parser where no word speaks against it."""
    words = list(map(parse.text_at, range(run.start, run.end)))
    if len(words) > 4 or not all(map(_is_spelt_like_a_name, words)):
        return False
    labelled = all(token.entity == PERSON for token in parse.tokens[run.start : run.end])
    is_first_name = first_name_gender(words[0]) is not None
    if labelled and is_first_name and len(words) > 1:
        return True
    if not _never_persons().isdisjoint(words):
        return False
    if len(words) == 1:
        return _is_single_name(parse, run.start)
    return is_first_name or _has_family_name(parse, run, labelled)


@cache
def _never_persons() -> frozenset[str]:
    """Words of names that are no person's: Lake, Museum, and the places of the lists."""
    return template_words("not_names") | named("places")


def _is_spelt_like_a_name(word: str) -> bool:
    """Whether a word has letters alone, and no more than two capitals (J.R., O'Neill), or links two names."""
    is_alpha = word.replace(".", "").replace("'", "").isalpha()
    return word in _LINKS or (is_alpha and not (len(word) > 2 and word.isupper()))


def _is_single_name(parse: Text, at: int) -> bool:
    """Whether a word by itself is a person's name: Dawn and Mark only inside a sentence."""
    token = parse.tokens[at]
    is_first_name, labelled = first_name_gender(token.text) is not None, token.entity == PERSON
    is_listed = is_first_name or token.text in surnames() or token.text in named("surnames")
    if not known_classes(token.text):
        return is_first_name or (labelled and is_listed)
    return labelled and is_listed and at != parse.first_word(parse.sentence_of(at))


def _has_family_name(parse: Text, run: Span, labelled: bool) -> bool:
    """Whether words that begin with no listed first name end in a surname."""
    first, last = parse.tokens[run.start].text, parse.tokens[run.end - 1].text
    family = not known_classes(last) or last in named("surnames")
    if labelled:
        return family or not known_classes(first)
    introduced = parse.word_at(run.start - 1) in ("the", "in", "at", "on", "of", "to", "from")
    common = any(known_classes(token.text) for token in parse.tokens[run.start : run.end - 1])
    return family and not introduced and not common


def is_title(word: str) -> bool:
    """Whether a word is a title that precedes a name."""
    return word.rstrip(".") in template_words("titles")


def first_name_gender(word: str) -> str | None:
    """male, female or unisex for a first name; None for other words."""
    if word in first_names():
        return first_names()[word].gender
    return next((gender for gender in ("male", "female", "unisex") if word in named(gender)), None)
