"""Frames: named lists of conditions on a phrase and the words around it. A phrase stands in a frame if all of
its conditions hold.

A condition is a term, or several joined by AND or by OR, which binds less. A term is a place with tests of a
word there, such as `children dep prep WITH not word in`, and holds where one word, or two after SEVERAL, pass
all of them; or it is the name of a frame, `opens`, `asks` or `joined`. `not` before it gives its contrary. A
test compares an attribute with values: @name is a list of words, *ly an ending, *@name a list of endings,
NONE an empty value, and END stands for a place beyond the text; or it names places the word must be `at`.
The frames are in checklist/rewordings.toml and checklist/templates.toml.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache

from assay.datasets import lexicon
from assay.files import toml_file, tsv_file, word_set
from assay.models.nlp import Span, Token
from assay.perturbations import edit
from assay.perturbations.edit import Text

_NOMINAL = ("ADJ", "NOUN", "PROPN")
_Row = tuple[tuple[str, ...], str, str]  # words, what may replace them, frame
Condition = Callable[[Text, int, int], bool]  # of a text, and of the start and end of a phrase in it
_Place = Callable[[Text, int, int], Collection[int]]  # the words there, for such a phrase


@cache
def rewording_rows() -> Mapping[str, tuple[_Row, ...]]:
    """The phrases by first word, longest first."""
    data = toml_file("checklist", "rewordings")
    backwards = [(other, phrase, frame) for phrase, other, frame in data["phrases"]]
    table: dict[str, list[_Row]] = defaultdict(list)
    for phrase, other, frame in [*data["phrases"], *data["phrases_one_way"], *backwards]:
        words = tuple(phrase.lower().split())
        table[words[0]].append((words, other, frame))
    return {word: tuple(sorted(rows, key=lambda row: -len(row[0]))) for word, rows in table.items()}


@cache
def synonym_rows() -> Mapping[tuple[str, str], tuple[str, str]]:
    """(class, lemma) to a synonym and its frame."""
    rows = toml_file("checklist", "rewordings")["synonyms"]
    return {(word_class, word): (synonym, frame) for word_class, word, synonym, frame in rows}


def words_with_synonyms(parse: Text) -> list[int]:
    """The words, in no comparative form, that have a synonym and stand in its frame."""
    plain = [i for i, token in enumerate(parse.tokens) if token.tag not in ("JJR", "JJS", "RBR", "RBS")]
    return [i for i in plain if _has_framed_synonym(parse, i)]


def _has_framed_synonym(parse: Text, index: int) -> bool:
    row = synonym_rows().get(edit.class_and_lemma(parse.tokens[index]) or ("", ""))
    if row is None:
        return False
    _, frame = row
    # A synonym that names no frame, and a noun's, takes the word's place wherever any word may.
    unnamed = not frame or parse.tokens[index].pos in ("NOUN", "PROPN")
    return stands_in(frame, parse, index) and (not unnamed or stands_in("replaceable", parse, index))


def standing(frame: str, parse: Text, phrases: Iterable[Span]) -> list[Span]:
    """The phrases that stand in a frame."""
    return [phrase for phrase in phrases if stands_in(frame, parse, phrase.start, phrase.end)]


def words_in(frame: str, parse: Text, among: Iterable[int] | None = None) -> list[int]:
    """The words of a text, by index, that stand in a frame; only those `among` them, if given."""
    indices = range(len(parse.tokens)) if among is None else among
    return [index for index in indices if stands_in(frame, parse, index)]


def stands_in(frame: str, parse: Text, start: int, end: int | None = None) -> bool:
    """Whether a phrase, or the word at `start`, stands in a frame; the frame '' is any place."""
    end = start + 1 if end is None else end
    return all(holds(parse, start, end) for holds in _conditions(frame))


@cache
def _conditions(frame: str) -> tuple[Condition, ...]:
    tables = [toml_file("checklist", name)["frames"] for name in ("rewordings", "templates")]
    return tuple(map(_condition, (tables[0] | tables[1])[frame])) if frame else ()


def _condition(text: str) -> Condition:
    """What a condition asks of a phrase: terms joined by OR, by AND, or one term."""
    for joint, quantifier in ((" OR ", any), (" AND ", all)):
        if joint in text:
            parts = [_condition(part) for part in text.split(joint)]
            return lambda *phrase: quantifier(part(*phrase) for part in parts)
    if text.startswith("not "):
        positive = _condition(text[4:])
        return lambda *phrase: not positive(*phrase)
    name, _, tests = text.removeprefix("SEVERAL ").partition(" ")
    if name in _QUESTIONS:
        return _QUESTIONS[name]
    if not tests and name not in ("children", "leading"):
        return lambda *phrase: stands_in(name, *phrase)
    return _term(_PLACES[name], tests, least=2 if text.startswith("SEVERAL ") else 1)


def _term(place: _Place, tests: str, least: int) -> Condition:
    """Whether at least so many words at a place pass all of the tests."""
    passes = [_test(test) for test in tests.split(" WITH ") if test]

    def holds(parse: Text, start: int, end: int) -> bool:
        fitting = place(parse, start, end)
        for test in passes:
            fitting = [index for index in fitting if test(parse, index, start, end)]
        return len(fitting) >= least

    return holds


def _test(text: str) -> Callable[[Text, int, int, int], bool]:
    """Whether the word at an index passes a test, for a phrase from start to end."""
    attribute, *values = text.removeprefix("not ").split()
    denied = text.startswith("not ")
    if attribute == "at":
        places = [_PLACES[name] for name in values]
        return lambda parse, index, *phrase: denied != any(index in place(parse, *phrase) for place in places)
    accepted, endings = _accepted(values), tuple(_accepted(v[1:] for v in values if v[0] == "*"))

    def passes(parse: Text, index: int, start: int, end: int) -> bool:
        present = _values(parse, index, attribute)
        ends = bool(endings) and any(value.endswith(endings) for value in present)
        return denied == (accepted.isdisjoint(present) and not ends)

    return passes


def _accepted(values: Iterable[str]) -> frozenset[str]:
    """The values themselves, and the words of the lists that are named with @."""
    lists: dict[str, Iterable[str]] = {}
    for file in ("rewordings", "templates", "nouns"):
        lists |= toml_file("checklist", file)
    lists |= {"people": lexicon.people(), "gendered": lexicon.genders()}
    lists |= {key: word_set("words", key) for key in ("stop_words", "question_words")}
    lists |= {"listed_places": [row["name"] for row in tsv_file("words", "places")]}
    return frozenset(word for value in values for word in (lists[value[1:]] if value[0] == "@" else (value,)))


def _values(parse: Text, index: int, attribute: str) -> Iterable[str]:
    """The values of an attribute of a word: its form, its lemma, its shape or a label of the parser."""
    if not 0 <= index < len(parse.tokens):
        return ("END",)
    token, values = parse.tokens[index], _ATTRIBUTES.get(attribute)
    return values(token) if values else (str(getattr(token, attribute)) or "NONE",)


_QUESTIONS: Mapping[str, Condition] = {
    "opens": lambda parse, start, end: start == parse.first_word(parse.sentence_of(start)),
    "asks": lambda parse, start, end: parse.tokens[parse.sentence_of(start).end - 1].text == "?",
    "joined": lambda parse, start, end: parse.is_joined(start),
}
_ATTRIBUTES: Mapping[str, Callable[[Token], Iterable[str]]] = {  # beside the labels of the parser
    "word": lambda token: (token.text.lower(),),
    "base": lambda token: (token.lemma.lower(),),  # by the parser; the next three are by the dictionary
    "lemma": lambda token: (edit.class_and_lemma(token) or ("", token.lemma))[1:],
    "noun": lambda token: (edit.lemma_of(token.text, "noun"),),
    "verb": lambda token: (edit.lemma_of(token.text, "verb"),),
    "class": lambda token: edit.known_classes(token.text) or ("NONE",),
    "shape": lambda token: [shape for shape, has in _SHAPES.items() if has(token)],
}
_SHAPES: Mapping[str, Callable[[Token], bool]] = {
    "word": edit.is_word,
    "alpha": lambda token: token.text.isalpha(),
    "alnum": lambda token: token.text.isalnum(),
    "lower": lambda token: token.text.islower(),
    "capital": lambda token: token.text[:1].isupper(),
    "decimal": lambda token: "." in token.text,
    "day": lambda token: re.fullmatch(r"[1-3]?\d", token.text) is not None,
    "year": lambda token: re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", token.text) is not None,
    "digit": lambda token: any(map(str.isdigit, token.text)),
    "short": lambda token: len(token.text) < 3,
    "address": edit.is_address,
    "clitic": edit.is_clitic,
    "spaced": lambda token: token.space != "",
}
# The words at a place, from the start and the end of a phrase; an index beyond the text has the value END.
_PLACES: Mapping[str, _Place] = {
    "first": lambda parse, start, end: (start,),
    "next": lambda parse, start, end: (start + 1,),
    "last": lambda parse, start, end: (end - 1,),
    "leading": lambda parse, start, end: range(start, end - 1),
    "any": lambda parse, start, end: range(start, end),
    "top": lambda parse, start, end: [  # of the phrase, what depends on no other word of it
        index for index in range(start, end) if not start <= parse.tokens[index].head < end
    ],
    "left": lambda parse, start, end: range(start),
    "right": lambda parse, start, end: range(end, len(parse.tokens)),
    "before": lambda parse, start, end: (start - 1,),
    "after": lambda parse, start, end: (end,),
    "soon": lambda parse, start, end: range(end, end + 3),
    "second": lambda parse, start, end: (end + 1,),
    "beside": lambda parse, start, end: [i for i in (start - 1, end) if 0 <= i < len(parse.tokens)],
    "around": lambda parse, start, end: range(max(0, start - 1), min(end + 1, len(parse.tokens))),
    "near": lambda parse, start, end: range(max(0, start - 2), min(end + 1, len(parse.tokens))),
    "nearby": lambda parse, start, end: range(start - 3, end + 3),
    "head": lambda parse, start, end: (parse.tokens[start].head,),
    "bearer": lambda parse, start, end: (_bearer(parse, start),),
    "before-head": lambda parse, start, end: (parse.tokens[start].head - 1,),
    "sentence-opening": lambda parse, start, end: (parse.sentence_of(start).start,),
    "governor": lambda parse, start, end: (parse.tokens[parse.tokens[start].head].head,),
    "between": lambda parse, start, end: range(end, parse.tokens[start].head),
    "counted": lambda parse, start, end: (parse.tokens[end].head if end < len(parse.tokens) else end,),
    "children": lambda parse, start, end: _dependents(parse, range(start, end)),
    "siblings": lambda parse, start, end: _dependents(parse, (parse.tokens[start].head,)),
    "beside-head": lambda parse, start, end: parse.dependents(parse.tokens[parse.tokens[start].head].head),
    "noun": lambda parse, start, end: [
        next((i for i in range(end, len(parse.tokens)) if parse.tokens[i].pos != "ADJ"), len(parse.tokens))
    ],
    "ending": lambda parse, start, end: (parse.sentence_of(start).end - 2,),  # before the closing mark
    "rest": lambda parse, start, end: range(end, parse.sentence_of(start).end),
    "sentence": lambda parse, start, end: range(parse.sentence_of(start).start, parse.sentence_of(start).end),
    "text": lambda parse, start, end: range(len(parse.tokens)),
}


def _bearer(parse: Text, attribute: int) -> int:
    """The noun that an attribute, or a row of them, belongs to."""
    noun = parse.tokens[attribute].head
    above = parse.tokens[noun].head
    while parse.tokens[noun].dep in ("amod", "conj", "compound") and parse.tokens[above].pos in _NOMINAL:
        noun, above = above, parse.tokens[above].head
    return noun


def _dependents(parse: Text, heads: Collection[int]) -> list[int]:
    found = (i for head in heads for i in parse.dependents(head) if i not in heads)
    return sorted(found) if len(heads) > 1 else list(found)
