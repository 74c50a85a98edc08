"""The names in a text, as spans labelled PERSON, PLACE or ORGANISATION.

The parser's own labels are wrong too often to be used alone. A name counts where a list, a title, its last
word or another mention confirms it; the parser decides only between what remains possible.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from assay.datasets.lexicon import first_names, places_by_kind, surnames, template_words
from assay.files import word_set
from assay.models.nlp import Span, Token, spacy_stop_words
from assay.perturbations.edit import Text, is_all_caps, is_clitic, known_classes, read

PERSON, PLACE, ORGANISATION = "PERSON", "PLACE", "ORGANISATION"

_LINKS = template_words("name_links")
_SCORE = re.compile(r"\b\d{1,2}[-–]\d{1,2}\b")
_ROMAN = frozenset("IVXLC")


def named(word_list: str) -> frozenset[str]:
    """A list of the gazetteer."""
    return word_set("words", "gazetteer", word_list)


def names(parse: Text) -> tuple[Span, ...]:
    """The confirmed names of a text, in order; none in a text of capitals."""
    return _names(parse.text)


@lru_cache(maxsize=20_000)
def _names(text: str) -> tuple[Span, ...]:
    parse = read(text)
    runs = [] if is_all_caps(text) else _runs(parse)
    labels = {run: _label(parse, run) for run in runs}
    shorter = {
        parse.tokens[i].text: label
        for run, label in labels.items()
        if label in (PERSON, ORGANISATION) and run.end - run.start > 1
        for i in {run.end - 1} | ({run.start} if label == PERSON else set())
    }  # Falcao after Radamel Falcao, United after Manchester United
    for run, label in labels.items():
        known = shorter.get(parse.tokens[run.start].text) if run.end - run.start == 1 else None
        if known is not None and (label is None or known == PERSON):
            labels[run] = known
    return tuple(Span(run.start, run.end, label) for run, label in labels.items() if label)


def _runs(parse: Text) -> list[Span]:
    """The longest stretches of capitalised names, titles before them left out."""
    tokens, runs, start = parse.tokens, [], 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and _continues(parse, start, end):
            end += 1
        while end > start and not tokens[end - 1].text[:1].isupper():
            end -= 1
        first = start
        while first < end and is_title(tokens[first].text) and not _is_listed(parse, Span(start, end)):
            first += 1
        if end > first:
            runs += _parts(parse, Span(first, end))
        start = max(end, start + 1)
    return runs


def _continues(parse: Text, start: int, at: int) -> bool:
    """Whether the token at `at` belongs to a name that begins at `start`."""
    token = parse.tokens[at]
    if at > start and token.text in _LINKS:
        spaced = token.text == "-" and bool(token.space or parse.tokens[at - 1].space)
        before = parse.tokens[at - 1].text
        return (before[:1].isupper() or before in _LINKS) and at + 1 < len(parse.tokens) and not spaced
    if at > start and not parse.tokens[at - 1].space and parse.tokens[at - 1].text != "-":
        return False
    dated = token.text in template_words("months") or token.text in template_words("weekdays")
    opens = at == start and at == parse.first_word(parse.sentence_of(at))
    capital = token.text[:1].isupper() and not is_clitic(token) and token.tag not in ("PRP", "PRP$", "DT")
    certain = token.pos == "PROPN" or not opens or not known_classes(token.text)
    return capital and not dated and certain and token.text != "I"


def _parts(parse: Text, run: Span) -> list[Span]:
    """A run whole if it is a listed name, else the listed names and the rest between its links."""
    if _is_listed(parse, run):
        return [run]
    inside = range(run.start + 1, run.end)
    starts = {i + 1 for i in inside if parse.tokens[i].text in ("of", "the")}
    people = [e.start for e in parse.entities if e.label == "PERSON" and e.start in inside]
    starts |= {i for i in people if first_name_gender(parse.tokens[i - 1].text) is None}
    starts |= {i for i in inside if _begins_person(parse, Span(run.start, i))}
    starts = {i for i in starts if "-" not in (parse.word_at(i), parse.word_at(i - 1))}
    bounds = [run.start, *sorted(starts), run.end]
    parts = ([i for i in range(*ends) if parse.tokens[i].text not in _LINKS] for ends in pairwise(bounds))
    return [Span(part[0], part[-1] + 1) for part in parts if part]


def _is_listed(parse: Text, run: Span) -> bool:
    """Whether a run is a place's or an organisation's name as it stands: General Motors."""
    text = parse.piece(run)
    organisation = run.end - run.start > 1 and _ends_in(parse, run, "organisation_words")
    return _is_place(text) or text in named("organisations") or organisation


def _begins_person(parse: Text, before: Span) -> bool:
    """Whether a person's name follows another name or a common noun: Emirates Cesc Fabregas, Aunt Debbie."""
    word, last = parse.tokens[before.end].text, parse.tokens[before.end - 1].text
    other = _is_place(parse.piece(before)) or parse.piece(before) in named("organisations")
    common = bool(known_classes(last)) and last not in named("surnames") and first_name_gender(last) is None
    return first_name_gender(word) is not None and (other or common)


def _label(parse: Text, run: Span) -> str | None:
    """What a name is the name of; None where that is not certain."""
    text, tokens = parse.piece(run), parse.tokens[run.start : run.end]
    if _goes_on(parse, run):
        return None
    if is_title(parse.tokens[run.start - 1].text if run.start else ""):
        return PERSON if len(tokens) <= 3 else None
    if text in named("organisations"):  # a flat in Fulham, the district or the club
        return None if parse.word_at(run.start - 1) in ("in", "near") else ORGANISATION
    if _is_place(text):
        return _place_or_team(parse, run, text)
    if len(tokens) > 1 and _ends_in(parse, run, "organisation_words"):
        return ORGANISATION
    if len(tokens) > 1 and (_ends_in(parse, run, "place_words") or tokens[0].text in named("place_openings")):
        return PLACE
    acronym = len(tokens) == 1 and 2 <= len(text) <= 6 and text.isupper() and text.isalpha()
    if acronym and tokens[0].entity == "ORG" and not set(text) <= _ROMAN:
        return ORGANISATION
    if _is_person(parse, run, tokens):
        return PERSON
    return PLACE if _is_located(parse, run, tokens) else None


def _goes_on(parse: Text, run: Span) -> bool:
    """Whether a name of one word is a part of a longer one: X-ray, Ella henderson (without its capital)."""
    after = parse.word_at(run.end)
    if run.end - run.start > 1 or not after:
        return False
    hyphened = after == "-" and not parse.tokens[run.end - 1].space
    return hyphened or (after.isalpha() and not known_classes(after) and after not in spacy_stop_words())


def _ends_in(parse: Text, run: Span, key: str) -> bool:
    """Whether a name's last word, or the one before an "of", is in a list: Royal College of Surgeons."""
    ofs = [i for i in range(run.start + 1, run.end) if parse.tokens[i].text == "of"]
    return parse.tokens[(ofs[0] if ofs else run.end) - 1].text in named(key)


def _is_place(text: str) -> bool:
    """Whether the lists have a place, or the whole that it is a part of: South Yorkshire."""
    first, _, rest = text.partition(" ")
    whole = rest if first in named("parts") and rest else text
    listed = any(whole in places for places in places_by_kind().values())
    return listed or whole in named("places") or text in named("places")


def _place_or_team(parse: Text, run: Span, text: str) -> str | None:
    """A town on a sports page stands for its team, unless something is in it or comes from it."""
    if _is_led_in(parse, run) or text in places_by_kind()["country"]:
        return PLACE
    if any(t.text.lower() in named("sport_words") for t in parse.tokens) or _SCORE.search(parse.text):
        return ORGANISATION
    label = parse.tokens[run.start].entity
    if label == "ORG":
        return ORGANISATION
    personal = text in named("surnames") or first_name_gender(text) is not None
    return PLACE if label in ("GPE", "LOC", "FAC") or not personal else None


def _is_located(parse: Text, run: Span, tokens: tuple[Token, ...]) -> bool:
    """Whether a place that no list has is clear from its surroundings: in Kaesong; Kenosha, Wisconsin."""
    if any(token.entity not in ("GPE", "LOC") or known_classes(token.text) for token in tokens):
        return False
    after = parse.tokens[run.end + 1].text if run.end + 1 < len(parse.tokens) else ""
    return _is_led_in(parse, run) or (parse.word_at(run.end) == "," and after in named("places"))


def _is_led_in(parse: Text, run: Span) -> bool:
    return parse.word_at(run.start - 1) in template_words("locating")


def _is_person(parse: Text, run: Span, tokens: tuple[Token, ...]) -> bool:
    """Whether a name is a person's: by its first name, or by the parser where no word speaks against it."""
    words = [token.text for token in tokens]
    labelled = all(token.entity == "PERSON" for token in tokens)
    parts = [word for word in words if word not in _LINKS]
    shaped = all(word[0].isupper() and re.sub("[.']", "", word).isalpha() for word in parts)
    if len(words) > 4 or not shaped or any(len(word) > 2 and word.isupper() for word in parts):
        return False
    given = first_name_gender(words[0]) is not None
    if labelled and len(words) > 1 and given:
        return True
    if any(word in template_words("not_names") or word in named("places") for word in words):
        return False
    if len(words) == 1:
        word = words[0]
        family = word in surnames() or word in named("surnames")
        if known_classes(word):  # Dawn, Mark: not where the capital may be the sentence's
            opens = run.start == parse.first_word(parse.sentence_of(run.start))
            return labelled and (given or family) and not opens
        return given or (labelled and family)
    if given:
        return True
    family = not known_classes(words[-1]) or words[-1] in named("surnames")
    if labelled:
        return family or not known_classes(words[0])
    introduced = parse.word_at(run.start - 1) in ("the", "in", "at", "on", "of", "to", "from")
    return family and len(parts) > 1 and not any(map(known_classes, parts[:-1])) and not introduced


def is_title(word: str) -> bool:
    """Whether a word is a title that precedes a name."""
    return word.rstrip(".") in template_words("titles")


def first_name_gender(word: str) -> str | None:
    """male, female or unisex for a first name; None for other words."""
    listed = first_names().get(word)
    if listed is not None:
        return listed.gender
    return next((gender for gender in ("male", "female", "unisex") if word in named(gender)), None)
