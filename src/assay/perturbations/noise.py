"""The noises of *blind* (table 16, figure 9) but for BERT-diverge: fluency, consistency, switched parts.

`level` is a share of the words, or a number of sentences or pairs, as the paper has it.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, word_set
from assay.models.nlp import Parse, Span, Token, parse_one
from assay.perturbations.edit import (
    DO_FORMS,
    FINITE_TAGS,
    FULL_STEMS,
    draw_each,
    drop,
    first_word,
    inflect,
    is_address,
    is_all_caps,
    is_clitic,
    is_word,
    rewrite,
    root_of,
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
        if not removed:
            return None
        for place in removed:
            if _opens_sentence(words, place) and place + 1 < len(words):
                words[place + 1] = capitalised(words[place + 1])
        return " ".join(word for place, word in enumerate(words) if place not in removed)


def _opens_sentence(words: Sequence[str], place: int) -> bool:
    """Whether a word has its capital because a sentence starts with it."""
    before = words[place - 1].rstrip("\"')]”’") if place else "."
    return words[place][0].isupper() and before.endswith((".", "!", "?"))


class _Removal(Perturbation):
    """Some tokens of a kind are dropped, each with the probability `level`."""

    criterion: ClassVar[Criterion] = "fluency"
    level: float

    @abstractmethod
    def removes(self, token: Token) -> bool:
        """Whether a token is of the kind."""

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        tokens = parsed.tokens
        removed = set(draw_each([i for i, t in enumerate(tokens) if self.removes(t)], self.level, rng))
        for place in sorted(removed):  # "is" takes "n't" with it
            if not tokens[place].space and place + 1 < len(tokens) and is_clitic(tokens[place + 1]):
                removed.add(place + 1)
        if not removed or len(removed) == len(tokens):
            return None
        return " ".join(drop(parsed, removed, repair=False).split())


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
class VerbLemmatisation(Perturbation):
    """A share of the full verbs loses its inflection."""

    name = "verb-lemmatisation"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        inflected = [
            i for i, t in enumerate(parsed.tokens) if t.pos == "VERB" and t.lemma.lower() != t.text.lower()
        ]
        changes = {i: parsed.tokens[i].lemma for i in draw_each(inflected, self.level, rng)}
        return rewrite(parsed, changes, repair=False) if changes else None


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
        dropped = set(rng.sample(range(len(words)), count))
        return " ".join(word for i, word in enumerate(words) if i not in dropped) if dropped else None


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
        parsed = parse_one(record.gold)
        spans = parsed.sentences
        turned = set(rng.sample(range(len(spans)), min(self.level, len(spans))))
        pieces = [
            _swap_halves(parsed, span) if i in turned else parsed.piece(span) for i, span in enumerate(spans)
        ]
        return " ".join(piece.strip() for piece in pieces)


def _swap_halves(parsed: Parse, span: Span) -> str:
    """The right half of a sentence before its left half; the final mark stays last."""
    tokens = parsed.tokens[span.start : span.end]
    last = tokens[-1]
    body = tokens[:-1] if last.pos == "PUNCT" else tokens
    middle = math.ceil(len(tokens) / 2)
    while 0 < middle < len(body) and not body[middle - 1].space:  # never inside "don't" or before a comma
        middle += 1
    if not 0 < middle < len(body):
        return parsed.piece(span)
    start, cut, end = body[0].start, body[middle].start, body[-1].end
    left, right = parsed.text[start:cut].strip(" ,;"), parsed.text[cut:end].strip(" ,;")
    if body[0].pos != "PROPN" and body[0].text != "I" and not is_all_caps(parsed.text):
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
        parsed = parse_one(record.gold)
        known = [entity for entity in parsed.entities if entity.label in _GENERIC]
        cuts = [_generic_phrase(parsed, entity) for entity in draw_each(known, self.level, rng)]
        return splice(record.gold, cuts) if cuts else None


def _generic_phrase(parsed: Parse, entity: Span) -> tuple[int, int, str]:
    """The cut that replaces a name, and an article before it, by a generic phrase."""
    tokens = parsed.tokens
    first, last = entity.start, entity.end - 1
    if first and tokens[first - 1].text.lower() in word_set("words", "articles"):
        first -= 1
    ending = tokens[last].text if last > entity.start and tokens[last].text in ("'s", "’s") else ""
    phrase = _GENERIC[entity.label]
    if tokens[first].text[:1].isupper() and first in [first_word(parsed, s) for s in parsed.sentences]:
        phrase = capitalised(phrase)
    phrase = phrase.upper() if is_all_caps(parsed.text) else phrase
    return tokens[first].start, tokens[last].end, phrase + ending


@dataclass(frozen=True)
class Negation(Perturbation):
    """A share of the sentences is negated, or loses its negation; those without a finite verb stay."""

    name = "negation"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        changes: dict[int, str] = {}
        for span in draw_each(parsed.sentences, self.level, rng):
            changes |= _opposite(parsed, span)
        return " ".join(rewrite(parsed, changes, repair=False).split()) if changes else None


def _opposite(parsed: Parse, span: Span) -> dict[int, str]:
    """Changes that turn one sentence into its opposite."""
    tokens = parsed.tokens
    negations = [i for i in range(span.start, span.end) if tokens[i].dep == "neg"]
    for place in negations:
        if tokens[tokens[place].head].dep == "ROOT":
            return _without_negation(tokens, place)
    verb = _finite_verb(parsed, span)
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


def _finite_verb(parsed: Parse, span: Span) -> int | None:
    """The word a "not" goes after: the root's first finite auxiliary, the root, or any finite verb."""
    tokens, root = parsed.tokens, root_of(parsed, span)
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
    """`level` pairs of parts change places."""

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
        return None if moved is None else " ".join(moved + fixed)


@dataclass(frozen=True)
class SubSentenceSwitching(_Switching):
    """`level` pairs of stretches between punctuation marks change places."""

    name = "sub-sentence-switching"
    languages = None
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        pieces = [piece.strip() for piece in _SUB_SENTENCE.findall(record.gold)]
        return " ".join(switch_pairs(pieces, self.level, rng) or ()) or None


@dataclass(frozen=True)
class TokenSwitching(_Switching):
    """`level` pairs of words change places."""

    name = "token-switching"
    languages = None
    level: int = 5

    def apply(self, record: Record, rng: Random) -> str | None:
        return " ".join(switch_pairs(record.gold.split(), self.level, rng) or ()) or None


@dataclass(frozen=True)
class NounSwitching(_Switching):
    """`level` pairs of common nouns change places."""

    name = "noun-switching"
    level: int = 2

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        switched = _switched_tokens(parsed, "NOUN", self.level, rng)
        return parsed.replaced({at: token.text for at, token in switched.items()}) if switched else None


@dataclass(frozen=True)
class VerbSwitching(_Switching):
    """`level` pairs of full verbs change places, each inflected for its new place."""

    name = "verb-switching"
    level: int = 8

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        changes = {}
        for at, verb in _switched_tokens(parsed, "VERB", self.level, rng).items():
            here, form = parsed.tokens[at], verb.text.lower()
            if verb.tag != here.tag:
                form = inflect(verb.lemma.lower(), here.tag) or form
            changes[at] = form.capitalize() if here.text[:1].isupper() else form
        return rewrite(parsed, changes, repair=False) if changes else None


def _switched_tokens(parsed: Parse, pos: str, count: int, rng: Random) -> dict[int, Token]:
    """Index to its new token, after switching words of a kind (the tagger takes emoji for nouns too)."""
    tokens = parsed.tokens
    places = [i for i, t in enumerate(tokens) if t.pos == pos and is_word(t) and not is_address(t)]
    moved = switch_pairs(places, count, rng) or places
    return {at: tokens[other] for at, other in zip(places, moved, strict=True) if at != other}


@dataclass(frozen=True)
class NamedEntitySwitching(_Switching):
    """`level` pairs of names change places, of whatever kind."""

    name = "named-entity-switching"
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        parsed = parse_one(record.gold)
        places = list(parsed.entities)
        moved = switch_pairs(places, self.level, rng)
        if moved is None:
            return None
        cuts = [(parsed.tokens[span.start].start, parsed.tokens[span.end - 1].end) for span in places]
        pieces = [parsed.piece(span) for span in moved]
        return splice(record.gold, [(*cut, piece) for cut, piece in zip(cuts, pieces, strict=True)])
