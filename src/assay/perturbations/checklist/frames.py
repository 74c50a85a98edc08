"""Frames: where in a sentence a word or phrase may be replaced by another of the same meaning.

A frame is a function of a parsed text and of the first and last token (exclusive) of a phrase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from assay.datasets import lexicon
from assay.models.nlp import Token
from assay.perturbations import edit
from assay.perturbations.edit import Text

Frame = Callable[[Text, int, int], bool]
Row = tuple[tuple[str, ...], str, str]  # words, what may replace them, frame
_CLOSING = (".", "!", "?", ",", ";", "")
_ASKING = ("know", "ask", "wonder", "see", "tell", "doubt", "check", "decide")


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
        words = tuple(phrase.split())
        table[words[0]].append((words, _cased(other), frame))
    return {word: tuple(sorted(rows, key=lambda row: -len(row[0]))) for word, rows in table.items()}


def _cased(phrase: str) -> str:
    """A phrase with the capitals of the names in it."""
    names = {"us": "US", "u.s.": "U.S.", "uk": "UK", "eu": "EU", "un": "UN", "tv": "TV", "ok": "OK", "i": "I"}
    if phrase.startswith("the "):
        return "the " + " ".join(names.get(word, word.capitalize()) for word in phrase.split()[1:])
    return " ".join(names.get(word, word) for word in phrase.split())


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
        if graded or (row and not FRAMES[row[1]](parse, index, index + 1)):
            unfit.add(index)
    return unfit


# --- what stands around a phrase ---


def _at(parse: Text, index: int) -> Token | None:
    return parse.tokens[index] if 0 <= index < len(parse.tokens) else None


def _head(parse: Text, index: int) -> Token:
    return parse.tokens[parse.tokens[index].head]


def _deps(parse: Text, index: int) -> set[str]:
    return {token.dep for token in parse.children(index)}


def _opens(parse: Text, start: int, end: int) -> bool:
    return start == parse.first_word(parse.sentence_of(start))


def _closes(parse: Text, start: int, end: int) -> bool:
    return parse.word_at(end) in _CLOSING and start > 1


def _closes_sentence(parse: Text, start: int, end: int) -> bool:
    """At the end of a statement with its own verb, behind no comma."""
    before = _at(parse, start - 1)
    ends = (
        parse.word_at(end) in (".", "!", "?", "")
        and before is not None
        and before.pos not in ("ADV", "PUNCT")
    )
    return ends and start > 2 and parse.word_at(start - 1) not in ("me", "you", "him", "far", "very")


def _before_number(parse: Text, start: int, end: int) -> bool:
    follows = _at(parse, end)
    before = parse.word_at(start - 1)
    adverb = parse.tokens[start].dep not in ("prep", "prt") or before not in ("for", "of")
    return follows is not None and follows.tag == "CD" and adverb


def _before_counted(parse: Text, start: int, end: int) -> bool:
    """Before a number that counts a plural noun as a whole: more than 20 people, not over 20 years."""
    follows = _at(parse, end)
    if follows is None or follows.tag != "CD" or not follows.text[:1].isdigit():
        return False
    noun = _head(parse, end)
    part = parse.tokens[start].dep in ("quantmod", "amod", "advmod", "prep") or noun.tag == "NNS"
    subject = noun.dep in ("nsubj", "nsubjpass", "dobj", "attr") and noun.tag == "NNS"
    return part and subject and noun.entity not in ("DATE", "TIME") and parse.tokens[start].head in (
        end, follows.head,
    )  # fmt: skip


def _before_money(parse: Text, start: int, end: int) -> bool:
    return parse.word_at(end) in ("£", "$", "€") and parse.tokens[start].dep != "prep"


def _is_preposition(parse: Text, start: int, end: int) -> bool:
    """A preposition with a noun phrase behind it, no particle and no part of a longer one."""
    tied = next((i for i in (start, end - 1) if "pobj" in _deps(parse, i)), None)
    if tied is None or parse.tokens[start].dep not in ("prep", "advmod", "acomp", "amod", "prt", "pcomp"):
        return False
    stranded = parse.word_at(start - 1) in (
        "from",
        "to",
        "as",
        "so",
        "very",
        "too",
        "that",
        "is",
        "was",
        "be",
    )
    abstract = _head(parse, start).pos == "NOUN" and parse.word_at(start) in ("under", "near", "close")
    concrete = {t.text.lower() for t in parse.children(tied) if t.dep == "pobj"} - {"it", "which", "what"}
    figurative = parse.word_at(start) == "under" and not _is_concrete(parse, tied)
    return bool(concrete) and not figurative and not (stranded and abstract)


def _is_concrete(parse: Text, preposition: int) -> bool:
    nouns = [t for t in parse.children(preposition) if t.dep == "pobj"]
    return any(_is_thing(t.text) for t in nouns)


@cache
def _is_thing(noun: str) -> bool:
    """Whether a noun names something that can be touched, by the lists."""
    lemma = edit.lemma_of(noun, "noun")
    kinds = ("animal", "vehicle", "place", "thing")
    known = any(lemma in lexicon.word_set("checklist", "nouns", kind) for kind in kinds)
    return known or lemma in listed("more_things")


def _after_verb(parse: Text, start: int, end: int) -> bool:
    """A preposition that depends on a verb, not on "be": closed because of rain, not "is due to"."""
    plain = _head(parse, start).pos == "VERB" and parse.word_at(start - 1) not in (
        "is",
        "was",
        "are",
        "be",
        "were",
    )
    noun = {"pobj"} & (_deps(parse, start) | _deps(parse, end - 1))
    return plain and bool(noun) and parse.word_at(start - 1) not in ("not", ",")


def _is_marker(parse: Text, start: int, end: int) -> bool:
    return any(parse.tokens[i].dep == "mark" for i in range(start, end))


def _before_infinitive(parse: Text, start: int, end: int) -> bool:
    follows, last = _at(parse, end), parse.tokens[end - 1]
    verbal = follows is not None and follows.tag == "VB" and last.tag == "TO"
    return verbal and parse.word_at(start - 1) not in ("not", "as", "so", "there")


def _before_adjective(parse: Text, start: int, end: int) -> bool:
    follows = _at(parse, end)
    return follows is not None and follows.tag == "JJ" and parse.word_at(end + 1) in _CLOSING


def _before_plural(parse: Text, start: int, end: int) -> bool:
    follows = parse.tokens[end : end + 3]
    plural = next((t for t in follows if t.pos != "ADJ"), None)
    alone = not _opens(parse, start, end) or parse.word_at(start) != "all"
    return plural is not None and plural.tag == "NNS" and plural.text.islower() and alone


def _in_statement(parse: Text, start: int, end: int) -> bool:
    sentence = parse.sentence_of(start)
    asked = parse.tokens[sentence.end - 1].text == "?"
    noun = _at(parse, end)
    before = parse.word_at(start - 1)
    plain = before not in ("quite", "such", "an", "have", "thanks", "whole") or before == "have"
    return not asked and plain and noun is not None and noun.pos in ("NOUN", "ADJ")


def _of_place(parse: Text, start: int, end: int) -> bool:
    """A participle after a form of "be", a noun or a comma: is located in."""
    before = _at(parse, start - 1)
    return (before is not None and before.text.lower() in ("is", "are", "was", "were", ",", "be")) or (
        before is not None and before.pos in ("NOUN", "PROPN")
    )


def _greets(parse: Text, start: int, end: int) -> bool:
    return _opens(parse, start, end) and parse.word_at(end) in (",", "!", ".", "there", "")


def _asks_for_noun(parse: Text, start: int, end: int) -> bool:
    """A question word before a noun: which city, what year; not "what time", which asks for an hour."""
    noun, token = _at(parse, end), parse.tokens[start]
    asked = parse.tokens[parse.sentence_of(start).end - 1].text == "?"
    fixed = (
        "time",
        "kind",
        "type",
        "sort",
        "size",
        "colour",
        "color",
        "else",
        "age",
        "way",
        "date",
        "day",
        "one",
        "ones",
    )
    opens = _opens(parse, start, end) or parse.word_at(start - 1) in (",", "then", "so", "and")
    if not asked or not opens or noun is None or noun.tag not in ("NN", "NNS"):
        return False
    return noun.text.lower() not in fixed and token.dep == "det" and noun.text.islower()


def _asks(parse: Text, start: int, end: int) -> bool:
    return _opens(parse, start, end) and parse.tokens[parse.sentence_of(start).end - 1].text == "?"


def _requests(parse: Text, start: int, end: int) -> bool:
    asked = parse.tokens[parse.sentence_of(start).end - 1].text == "?"
    return asked and parse.word_at(end) in listed("requested") and not parse.word_at(start - 1)[:1].isalnum()


def _asks_opinion(parse: Text, start: int, end: int) -> bool:
    words = [parse.word_at(i) for i in range(start - 3, start)]
    return words == ["what", "do", "you"] and parse.word_at(end)[:1].isalpha()


def _opens_noun(parse: Text, start: int, end: int) -> bool:
    noun = _at(parse, end)
    fixed = ("time", "way", "case", "language", "order")
    return (
        _opens(parse, start, end)
        and noun is not None
        and noun.tag in ("NN", "NNS")
        and (noun.text.lower() not in fixed)
    )


def _in_indirect_question(parse: Text, start: int, end: int) -> bool:
    """Whether or if after know, ask or wonder, without "or"."""
    sentence = parse.sentence_of(start)
    alternative = any(t.text.lower() == "or" for t in parse.tokens[start : sentence.end])
    verb = _head(parse, start)
    governor = parse.tokens[verb.head]
    asks = edit.lemma_of(governor.text, "verb") in _ASKING and verb.dep == "ccomp" and governor is not verb
    beside = parse.tokens[start].start - governor.end <= 6
    verbal = verb.pos in ("VERB", "AUX") and beside and not alternative
    return asks and verbal and parse.tokens[start].dep == "mark"


def _relative(*, person: bool) -> Frame:
    """A relative pronoun that is the subject of its clause, right behind its noun and no comma."""

    def frame(parse: Text, start: int, end: int) -> bool:
        token, noun, verb = parse.tokens[start], _at(parse, start - 1), _head(parse, start)
        if noun is None or token.tag != "WDT" or token.dep != "nsubj" or verb.dep != "relcl":
            return False
        follows = verb.head == start - 1 and noun.tag in ("NN", "NNS")
        lemma = edit.lemma_of(noun.text, "noun")
        human = lemma in lexicon.people() or lexicon.gendered(lemma) is not None or lemma in listed("wearers")
        vague = lemma in ("one", "group", "team", "crowd", "people", "all") or lemma.endswith(
            ("er", "or", "ist", "ian", "man")
        )
        return follows and (human if person else not human and not vague)

    return frame


def _is_noun(parse: Text, start: int, end: int) -> bool:
    """A name that stands alone, before no other noun: in the US, not the US army."""
    follows = _at(parse, end)
    free = follows is None or (
        follows.pos not in ("NOUN", "PROPN", "ADJ", "NUM", "PART") and follows.text != "-"
    )
    upper = any(letter.isupper() for t in parse.tokens[start + 1 : end] for letter in t.text)
    return free and upper and parse.tokens[end - 1].dep in ("pobj", "nsubj", "dobj", "nsubjpass", "conj")


def _is_set(parse: Text, start: int, end: int) -> bool:
    beside = (parse.word_at(start - 1), parse.word_at(end))
    return parse.tokens[start].dep in ("pobj", "dobj") and beside[0] in (
        "on",
        "a",
        "the",
        "watch",
        "watching",
    )


def _after_what(parse: Text, start: int, end: int) -> bool:
    noun = _at(parse, end)
    return parse.word_at(start - 1) in ("what", "which") and noun is not None and noun.pos == "NOUN"


def _thanks(parse: Text, start: int, end: int) -> bool:
    after = parse.word_at(end) in (".", "!", ",", "for", "so", "very", "")
    return _opens(parse, start, end) and after


def _subject_first(parse: Text, start: int, end: int) -> bool:
    return parse.tokens[end - 1].pos == "VERB" and parse.word_at(end) not in (
        "what",
        "who",
        "where",
        "how",
        "?",
        ".",
    )


def _before_participle(parse: Text, start: int, end: int) -> bool:
    follows, before = _at(parse, end), parse.word_at(start - 1)
    return follows is not None and follows.tag == "VBN" and before in ("was", "were")


def _following(parse: Text, start: int, end: int) -> bool:
    """A preposition in the form of a participle: following his arrest."""
    token = parse.tokens[start]
    return token.dep == "prep" and token.tag == "VBG" and bool(_deps(parse, start) & {"pobj"})


# --- frames of single words ---


def _is_counted(parse: Text, start: int, end: int) -> bool:
    """A noun with an article, a number or an adjective of its own, no address and no part of a name."""
    token = parse.tokens[start]
    determined = _deps(parse, start) & {"det", "nummod"}
    spoken_to = token.text.lower() == "guys" or parse.word_at(end) == "'s"
    return bool(determined) and not spoken_to and token.text.islower()


def _is_human(parse: Text, start: int, end: int) -> bool:
    return parse.tokens[start].pos == "NOUN" and parse.word_at(start) != "kidding"


def _describes_thing(parse: Text, start: int, end: int) -> bool:
    """An adjective right before a noun that can be touched: a large rock, not a large number."""
    noun = _head(parse, start)
    between = parse.tokens[end : parse.tokens[start].head]
    plain = parse.tokens[start].dep == "amod" and all(t.pos in ("ADJ", "NOUN") for t in between)
    fixed = noun.text.lower() in ("toe", "city", "bang", "wheel", "screen", "brother", "sister")
    return (
        plain
        and _is_thing(noun.text)
        and not fixed
        and parse.word_at(start - 1) not in ("very", "so", "too", "as")
    )


def _is_definite(parse: Text, start: int, end: int) -> bool:
    noun = _head(parse, start)
    return (
        parse.word_at(start - 1) == "the"
        and parse.tokens[start].dep == "amod"
        and noun.tag == "NN"
        and (parse.tokens[start].head == end)
    )


def _with_clause(words: Collection[str]) -> Frame:
    def frame(parse: Text, start: int, end: int) -> bool:
        predicate = parse.tokens[start].dep in ("acomp", "attr") or parse.tokens[start].pos == "VERB"
        return predicate and parse.word_at(end) in words

    return frame


def _of_human(parse: Text, start: int, end: int) -> bool:
    return _head(parse, start).text.lower() in lexicon.people() and parse.tokens[start].dep == "amod"


def _with_object(parse: Text, start: int, end: int) -> bool:
    return "dobj" in _deps(parse, start)


def _object_to_do(parse: Text, start: int, end: int) -> bool:
    return bool(_deps(parse, start) & {"ccomp", "xcomp"}) and "to" in {
        t.text for i in range(end, min(end + 6, len(parse.tokens))) for t in [parse.tokens[i]]
    }


def _without_complement(parse: Text, start: int, end: int) -> bool:
    return not _deps(parse, start) & {"dobj", "xcomp", "ccomp", "prt", "advcl", "nsubjpass"} and (
        parse.word_at(end) not in ("with", "by", "from", "as", "to") and parse.word_at(start - 1) != "to"
    )


def _before_verb(parse: Text, start: int, end: int) -> bool:
    """An adverb between a subject and its verb, or between an auxiliary and its verb."""
    follows, before = _at(parse, end), _at(parse, start - 1)
    verbal = follows is not None and follows.pos in ("VERB", "AUX") and parse.tokens[start].dep == "advmod"
    return verbal and before is not None and before.pos in ("NOUN", "PRON", "PROPN", "AUX")


def _is_progressive(parse: Text, start: int, end: int) -> bool:
    return parse.tokens[start].tag == "VBG" and "dobj" in _deps(parse, start)


def _is_taken(parse: Text, start: int, end: int) -> bool:
    verb = _head(parse, start)
    return parse.tokens[start].dep == "dobj" and edit.lemma_of(verb.text, "verb") == "take"


def _is_cycle(parse: Text, start: int, end: int) -> bool:
    """A bike that is no motorbike: with no dirt, mountain or motor about it."""
    words = {token.text.lower() for token in parse.tokens}
    motor = {
        "dirt",
        "motor",
        "motocross",
        "motorcycle",
        "helmet",
        "race",
        "racing",
        "exercise",
        "jump",
        "ramp",
        "rider",
    }
    return not words & motor and parse.tokens[start].text.islower()


FRAMES: Mapping[str, Frame] = {
    "": lambda parse, start, end: True,
    "opens": _opens,
    "opens comma": lambda parse, start, end: _opens(parse, start, end) and parse.word_at(end) == ",",
    "opens noun": _opens_noun,
    "closes": _closes,
    "closes sentence": _closes_sentence,
    "number": _before_number,
    "number of plural": _before_counted,
    "money": _before_money,
    "preposition": _is_preposition,
    "preposition of verb": _after_verb,
    "marker": _is_marker,
    "infinitive": _before_infinitive,
    "adjective": _before_adjective,
    "plural follows": _before_plural,
    "statement": _in_statement,
    "place": _of_place,
    "greeting": _greets,
    "asks": _asks,
    "request": _requests,
    "opinion": _asks_opinion,
    "asks for noun": _asks_for_noun,
    "indirect question": _in_indirect_question,
    "relative of person": _relative(person=True),
    "relative of thing": _relative(person=False),
    "noun": _is_noun,
    "set": _is_set,
    "what": _after_what,
    "thanks": _thanks,
    "subject first": _subject_first,
    "participle": _before_participle,
    "following": _following,
    "verb": lambda parse, start, end: parse.tokens[start].pos == "VERB",
    "counted": _is_counted,
    "human": _is_human,
    "concrete": _describes_thing,
    "definite": _is_definite,
    "to do": _with_clause(("to", "that", "for")),
    "of clause": _with_clause(("that", "of", "about")),
    "of": _with_clause(("of",)),
    "over": lambda parse, start, end: parse.word_at(end) in ("over", "into", "off", "through"),
    "at": lambda parse, start, end: parse.word_at(end) == "at",
    "human noun": _of_human,
    "object": _with_object,
    "object to do": _object_to_do,
    "no complement": _without_complement,
    "before verb": _before_verb,
    "progressive": _is_progressive,
    "taken": _is_taken,
    "cycle": _is_cycle,
}


def row_frames() -> set[str]:
    """The frames that the data name."""
    data: Mapping[str, Any] = lexicon.toml_file("checklist", "rewordings")
    return {row[-1] for key in ("phrases", "phrases_one_way", "synonyms") for row in data[key]}
