"""The noises of *blind* (table 16, figure 9) but for BERT-diverge: fluency, consistency, switched parts.

`level` is a share of the words, or a number of sentences or pairs, as the paper has it.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, word_set
from assay.models.nlp import Span, Token
from assay.perturbations.edit import (
    DO_FORMS,
    FINITE_TAGS,
    FULL_STEMS,
    Text,
    WordEdit,
    draw_each,
    dropped,
    inflect,
    is_address,
    is_all_caps,
    is_clitic,
    is_word,
    read,
    rewrite,
    sentences,
    share_count,
    splice,
    switch_pairs,
    unrelated_texts,
)
from assay.vocabulary import Criterion

# The release confuses these five marks.
_PUNCTUATION = {".": ",", ",": ".", "!": ",", "?": ",", ":": "."}
# The phrases of the release, by spaCy's label.
_GENERIC = {
    "FAC": "a place",
    "GPE": "a place",
    "LOC": "a place",
    "ORG": "an organization",
    "PERSON": "a person",
    "PRODUCT": "a product",
}
_SUB_SENTENCE = re.compile(r"[^,.?!]+[,.?!]*\S*")  # footnote 14 names these four marks


# --- fluency ---


@dataclass(frozen=True)
class Truncation(Perturbation):
    """The last floor(level x words) words are cut; the rest is closed with a full stop."""

    name = "truncation"
    criterion = "fluency"
    languages = None
    seeded = False
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = record.gold.split()
        cut = math.floor(len(words) * self.level + 1e-9)
        if not cut or cut == len(words):
            return None
        rest = " ".join(words[: len(words) - cut])
        return rest if rest.endswith(".") else rest + "."


@dataclass(frozen=True)
class ArticleRemoval(Perturbation):
    """A share of the articles is removed."""

    name = "article-removal"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        articles, words = word_set("words", "articles"), record.gold.split()
        places = [place for place, word in enumerate(words) if word.lower() in articles]
        removed = set(draw_each(places, self.level, rng))
        for place in removed:
            before = words[place - 1].rstrip("\"')]”’") if place else "."
            opens_sentence = words[place][0].isupper() and before.endswith((".", "!", "?"))
            if opens_sentence and place + 1 < len(words):
                words[place + 1] = capitalised(words[place + 1])
        return " ".join(word for place, word in enumerate(words) if place not in removed) if removed else None


class _Removal(Perturbation):
    """Some tokens of a kind are dropped, each with the probability `level`."""

    criterion: ClassVar[Criterion] = "fluency"
    level: float

    @abstractmethod
    def removes(self, token: Token) -> bool:
        """Whether a token is of the kind."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        tokens = parse.tokens
        removed = set(draw_each([i for i, t in enumerate(tokens) if self.removes(t)], self.level, rng))
        for place in sorted(removed):  # "is" takes "n't" with it
            if not tokens[place].space and place + 1 < len(tokens) and is_clitic(tokens[place + 1]):
                removed.add(place + 1)
        return " ".join(rewrite(parse, dropped(removed), repair=False).split()) if removed else None


@dataclass(frozen=True)
class PrepositionRemoval(_Removal):
    """A share of the prepositions is removed."""

    name = "preposition-removal"
    level: float = 0.7

    def removes(self, token: Token) -> bool:
        return token.pos == "ADP"


@dataclass(frozen=True)
class StopWordRemoval(_Removal):
    """A share of the function words is removed."""

    name = "stop-word-removal"
    level: float = 0.3

    def removes(self, token: Token) -> bool:
        return token.text.lower() in word_set("words", "stop_words")


@dataclass(frozen=True)
class VerbLemmatisation(WordEdit):
    """A share of the full verbs loses its inflection."""

    name = "verb-lemmatisation"
    criterion = "fluency"
    repair = False
    level: float = 1.0

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        verbs = {i: t for i, t in enumerate(parse.tokens) if t.pos == "VERB"}
        inflected = [i for i, verb in verbs.items() if verb.lemma.lower() != verb.text.lower()]
        return {i: verbs[i].lemma for i in draw_each(inflected, self.level, rng)}


@dataclass(frozen=True)
class TokenDrop(Perturbation):
    """A share of the words is dropped, but never the last one left."""

    name = "token-drop"
    criterion = "fluency"
    languages = None
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        words = record.gold.split()
        count = max(0, min(share_count(len(words), self.level), len(words) - 1))
        absent = set(rng.sample(range(len(words)), count))
        return " ".join(word for i, word in enumerate(words) if i not in absent) if absent else None


@dataclass(frozen=True)
class RepeatedToken(Perturbation):
    """A share of the words is repeated; a repeat may be repeated again, as in the release."""

    name = "repeated-token"
    criterion = "fluency"
    languages = None
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        words = record.gold.split()
        for _ in range(share_count(len(words), self.level)):
            place = rng.randrange(len(words))
            words.insert(place, words[place])
        return " ".join(words)


@dataclass(frozen=True)
class LocalSwap(Perturbation):
    """A share of the words changes places with the next word, each place at most once."""

    name = "local-swap"
    criterion = "fluency"
    languages = None
    switched = True
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        words = record.gold.split()
        if len(words) < 2:
            return None
        count = min(share_count(len(words), self.level), len(words) - 1)
        for place in rng.sample(range(len(words) - 1), count):
            words[place], words[place + 1] = words[place + 1], words[place]
        return " ".join(words)


@dataclass(frozen=True)
class MiddleSwap(Perturbation):
    """In `level` sentences the left and the right half change places."""

    name = "middle-swap"
    criterion = "fluency"
    languages = None
    switched = True
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        spans = parse.sentences
        turned = set(rng.sample(range(len(spans)), min(self.level, len(spans))))
        pieces = [_swap_halves(parse, s) if i in turned else parse.piece(s) for i, s in enumerate(spans)]
        return " ".join(piece.strip() for piece in pieces)


def _swap_halves(parse: Text, span: Span) -> str:
    """The right half of a sentence before its left half; the final mark stays last."""
    tokens = parse.tokens[span.start : span.end]
    last = tokens[-1]
    body = tokens[:-1] if last.pos == "PUNCT" else tokens
    middle = math.ceil(len(tokens) / 2)
    while 0 < middle < len(body) and not body[middle - 1].space:  # never inside "don't" or before a comma
        middle += 1
    if not 0 < middle < len(body):
        return parse.piece(span)
    start, cut, end = body[0].start, body[middle].start, body[-1].end
    left, right = parse.text[start:cut].strip(" ,;"), parse.text[cut:end].strip(" ,;")
    if body[0].pos != "PROPN" and body[0].text != "I" and not is_all_caps(parse.text):
        left = left[:1].lower() + left[1:]
    ended = body is tokens or (last.text == "." and left.endswith("."))  # the U.S.
    return f"{right[:1].upper()}{right[1:]} {left}{'' if ended else last.text}"


@dataclass(frozen=True)
class NoisedPunctuation(Perturbation):
    """A share of the punctuation is confused: commas become full stops, and the reverse.

    Marks within numbers and addresses too: the release goes by characters, and so do its figures.
    """

    name = "noised-punctuation"
    criterion = "fluency"
    languages = None
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        marks = [i for i, letter in enumerate(text) if letter in _PUNCTUATION]
        places = set(draw_each(marks, self.level, rng))
        return "".join(_PUNCTUATION[letter] if i in places else letter for i, letter in enumerate(text))


# --- consistency ---


@dataclass(frozen=True)
class SentenceReplacement(Perturbation):
    """`level` sentences are replaced by sentences of other items of the corpus."""

    name = "sentence-replacement"
    criterion = "consistency"
    reads = "others"
    languages = None
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        others, pieces = unrelated_texts(record), sentences(record.gold)
        if not others or not pieces:
            return None
        for place in rng.sample(range(len(pieces)), min(self.level, len(pieces))):
            sentence = rng.choice(sentences(rng.choice(others)) or [pieces[place]])
            if sentence not in record.gold:
                pieces[place] = sentence
        return " ".join(pieces)


@dataclass(frozen=True)
class GenericNamedEntity(Perturbation):
    """A share of the names becomes "a person", "a place" and so on."""

    name = "generic-named-entity"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        known = [entity for entity in parse.entities if entity.label in _GENERIC]
        drawn = draw_each(known, self.level, rng)
        return splice(record.gold, [_generic_phrase(parse, entity) for entity in drawn])


def _generic_phrase(parse: Text, entity: Span) -> tuple[int, int, str]:
    """The cut that replaces a name, and an article before it, by a generic phrase."""
    tokens = parse.tokens
    first, last = entity.start, entity.end - 1
    if first and tokens[first - 1].text.lower() in word_set("words", "articles"):
        first -= 1
    ending = tokens[last].text if last > entity.start and tokens[last].text in ("'s", "’s") else ""
    phrase = _GENERIC[entity.label]
    if tokens[first].text[:1].isupper() and first in [parse.first_word(s) for s in parse.sentences]:
        phrase = capitalised(phrase)
    phrase = phrase.upper() if is_all_caps(parse.text) else phrase
    return tokens[first].start, tokens[last].end, phrase + ending


@dataclass(frozen=True)
class Negation(Perturbation):
    """A share of the sentences is negated, or loses its negation; those without a finite verb stay."""

    name = "negation"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        changes: dict[int, str] = {}
        for span in draw_each(parse.sentences, self.level, rng):
            changes |= _opposite(parse, span)
        return " ".join(rewrite(parse, changes, repair=False).split()) if changes else None


def _opposite(parse: Text, span: Span) -> dict[int, str]:
    """Changes that turn one sentence into its opposite."""
    tokens = parse.tokens
    negations = [i for i in range(span.start, span.end) if tokens[i].dep == "neg"]
    for place in negations:
        if tokens[tokens[place].head].dep == "ROOT":
            return _without_negation(tokens, place)
    verb = _finite_verb(parse, span)
    if verb is None:
        return _without_negation(tokens, negations[0]) if negations else {}
    token = tokens[verb]
    if token.pos == "AUX" or token.tag == "MD":
        whole = "will" if token.text in ("'ll", "’ll") else token.text
        gap = " " if whole != token.text and verb and not tokens[verb - 1].space else ""
        return {verb: f"{gap}{whole} not"}
    return {verb: f"{DO_FORMS.get(token.tag, 'do')} not {token.lemma}"}


def _without_negation(tokens: tuple[Token, ...], place: int) -> dict[int, str]:
    """Changes that remove a negation: "didn't" to "did", "can't" to "can", "never" to nothing."""
    changes = {place: ""}
    before = tokens[place - 1] if place else None
    if before is not None and not before.space:
        changes[place - 1] = FULL_STEMS.get(before.text.lower(), before.text)
    return changes


def _finite_verb(parse: Text, span: Span) -> int | None:
    """The word a "not" goes after: the root's first finite auxiliary, the root, or any finite verb."""
    tokens, root = parse.tokens, parse.root_of(span)
    places = range(span.start, span.end)
    if root is None:
        return None
    for i in places:
        if tokens[i].head == root and tokens[i].dep in ("aux", "auxpass") and tokens[i].tag in FINITE_TAGS:
            return i
    if tokens[root].tag in FINITE_TAGS or (tokens[root].tag == "VB" and root == span.start):
        return root
    finite = (i for i in places if tokens[i].tag in FINITE_TAGS and tokens[i].pos in ("VERB", "AUX"))
    return next(finite, None)


# --- switched parts ---


class _Switching(Perturbation):
    """`level` pairs of parts of the text change places."""

    criterion: ClassVar[Criterion] = "consistency"
    switched = True
    level: int


@dataclass(frozen=True)
class SentenceSwitching(_Switching):
    """`level` pairs of sentences change places; `last` says whether the last one may move."""

    name = "sentence-switching"
    languages = None
    level: int = 1
    last: bool = True

    def apply(self, record: Record, rng: Random) -> str | None:
        pieces = sentences(record.gold)
        free, fixed = (pieces, []) if self.last else (pieces[:-1], pieces[-1:])
        moved = free[::-1] if len(free) == 2 else switch_pairs(free, self.level, rng)
        return " ".join(moved + fixed) if moved else None


@dataclass(frozen=True)
class SubSentenceSwitching(_Switching):
    """`level` pairs of stretches between punctuation marks change places."""

    name = "sub-sentence-switching"
    languages = None
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        pieces = [piece.strip() for piece in _SUB_SENTENCE.findall(record.gold)]
        return " ".join(switch_pairs(pieces, self.level, rng))


@dataclass(frozen=True)
class TokenSwitching(_Switching):
    """`level` pairs of words change places."""

    name = "token-switching"
    languages = None
    level: int = 5

    def apply(self, record: Record, rng: Random) -> str | None:
        return " ".join(switch_pairs(record.gold.split(), self.level, rng))


@dataclass(frozen=True)
class NounSwitching(_Switching):
    """`level` pairs of common nouns change places."""

    name = "noun-switching"
    level: int = 2

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        switched = _switched_tokens(parse, "NOUN", self.level, rng)
        return parse.replaced({at: token.text for at, token in switched.items()}) if switched else None


@dataclass(frozen=True)
class VerbSwitching(_Switching, WordEdit):
    """`level` pairs of full verbs change places, each inflected for its new place."""

    name = "verb-switching"
    repair = False
    level: int = 8

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes = {}
        for at, verb in _switched_tokens(parse, "VERB", self.level, rng).items():
            here, form = parse.tokens[at], verb.text.lower()
            if verb.tag != here.tag:
                form = inflect(verb.lemma.lower(), here.tag) or form
            changes[at] = form.capitalize() if here.text[:1].isupper() else form
        return changes


def _switched_tokens(parse: Text, pos: str, count: int, rng: Random) -> dict[int, Token]:
    """Index to its new token, after switching words of a kind (the tagger takes emoji for nouns too)."""
    tokens = parse.tokens
    places = [i for i, t in enumerate(tokens) if t.pos == pos and is_word(t) and not is_address(t)]
    moved = switch_pairs(places, count, rng)
    return {at: tokens[other] for at, other in zip(places, moved, strict=False) if at != other}


@dataclass(frozen=True)
class NamedEntitySwitching(_Switching):
    """`level` pairs of names change places, of whatever kind."""

    name = "named-entity-switching"
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = read(record.gold)
        moved = switch_pairs(parse.entities, self.level, rng)
        cuts = [
            (parse.tokens[span.start].start, parse.tokens[span.end - 1].end, parse.piece(other))
            for span, other in zip(parse.entities, moved, strict=False)
        ]
        return splice(record.gold, cuts)
