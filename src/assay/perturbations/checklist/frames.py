"""Frames: where in a sentence a word or phrase may be replaced by another of the same meaning.

A frame is a list of conditions in checklist/rewordings.toml, which says how to write them. Goes in: a parsed
text with the first and last token (exclusive) of a phrase. Comes out: whether all conditions hold there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from assay.datasets import lexicon
from assay.perturbations import edit
from assay.perturbations.edit import Text

Row = tuple[tuple[str, ...], str, str]  # words, what may replace them, frame
BEYOND = "END"  # the value of a place before or behind the text


def listed(key: str) -> frozenset[str]:
    """A list of words that the rewording templates look out for."""
    return lexicon.word_set("checklist", "rewordings", key)


@cache
def rewording_rows() -> Mapping[str, tuple[Row, ...]]:
    """The phrases by first word, longest first."""
    data = lexicon.toml_file("checklist", "rewordings")
    forwards = [*data["phrases"], *data["phrases_one_way"]]
    backwards = [(other, phrase, frame) for phrase, other, frame in data["phrases"]]
    table: dict[str, list[Row]] = defaultdict(list)
    for phrase, other, frame in [*forwards, *backwards]:
        words = tuple(phrase.lower().split())
        table[words[0]].append((words, other, frame))
    return {word: tuple(sorted(rows, key=lambda row: -len(row[0]))) for word, rows in table.items()}


@cache
def synonym_rows() -> Mapping[tuple[str, str], tuple[str, str]]:
    """(class, lemma) to a synonym and its frame."""
    rows = lexicon.toml_file("checklist", "rewordings")["synonyms"]
    return {(word_class, word): (synonym, frame) for word_class, word, synonym, frame in rows}


def unframed_synonyms(parse: Text) -> set[int]:
    """The indices of words with a synonym that are out of its frame, and of comparatives."""
    unfit = set()
    for index, token in enumerate(parse.tokens):
        known = edit.class_and_lemma(token)
        row = synonym_rows().get(known) if known else None
        graded = token.tag in ("JJR", "JJS", "RBR", "RBS")
        if graded or (row and not stands_in(row[1], parse, index, index + 1)):
            unfit.add(index)
    return unfit


def stands_in(frame: str, parse: Text, start: int, end: int) -> bool:
    """Whether a phrase stands in a frame; the frame '' is any place."""
    conditions = lexicon.toml_file("checklist", "rewordings")["frames"][frame] if frame else ()
    return all(_holds(condition, parse, start, end) for condition in conditions)


def _holds(condition: str, parse: Text, start: int, end: int) -> bool:
    denied = condition.startswith("not ")
    terms = condition.removeprefix("not ").split()
    if len(terms) > 2:
        place, attribute, *values = terms
        wanted = _accepted(tuple(values))
        endings = tuple(value[1:] for value in values if value[0] == "*")
        present = {_value(parse, index, attribute) for index in _indices(place, parse, start, end)}
        return denied != any(value in wanted or value.endswith(endings) for value in present)
    sentence = parse.sentence_of(start)
    if terms == ["opens"]:
        return denied != (start == parse.first_word(sentence))
    if terms == ["asks"]:
        return denied != (parse.tokens[sentence.end - 1].text == "?")
    return denied != stands_in(terms[0], parse, start, end)


@cache
def _accepted(values: tuple[str, ...]) -> frozenset[str]:
    """The values themselves, and the words of the lists that are named with @."""
    accepted = {value for value in values if value[0] != "@"}
    nouns = lexicon.toml_file("checklist", "nouns")
    for key in (value[1:] for value in values if value[0] == "@"):
        accepted |= lexicon.people() if key == "people" else set(nouns[key] if key in nouns else listed(key))
    return frozenset(accepted)


def _value(parse: Text, index: int, attribute: str) -> str:
    """An attribute of a token: its word in lower case, its lemma, or a label of the parser."""
    if not 0 <= index < len(parse.tokens):
        return BEYOND
    token = parse.tokens[index]
    if attribute == "word":
        return token.text.lower()
    if attribute == "lemma":
        known = edit.class_and_lemma(token)
        return known[1] if known else token.lemma
    return str(getattr(token, attribute))


def _indices(place: str, parse: Text, start: int, end: int) -> Iterable[int]:
    """The tokens at a place that a condition names; an index beyond the text has the value END."""
    tokens, inside = parse.tokens, range(start, end)
    head = tokens[start].head
    if place == "children":
        return [i for i, token in enumerate(tokens) if token.head in inside and i not in inside]
    if place == "noun":
        return [next((i for i in range(end, len(tokens)) if tokens[i].pos != "ADJ"), len(tokens))]
    places: Mapping[str, Iterable[int]] = {
        "first": [start],
        "last": [end - 1],
        "any": inside,
        "before": [start - 1],
        "after": [end],
        "second": [end + 1],
        "head": [head],
        "governor": [tokens[head].head],
        "counted": [tokens[end].head] if end < len(tokens) else [end],
        "rest": range(end, parse.sentence_of(start).end),
        "text": range(len(tokens)),
    }
    return places[place]
