"""Gold text to disfluent text: the ten fluency noises of *blind* (table 16), spaCy run once a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.models.nlp import Parse, Span, Token, parse_one
from assay.perturbations.edit import (
    capitalised,
    chosen,
    first_word,
    is_clitic,
    is_loud,
    rewritten,
    sentences,
    share,
    spliced,
    without,
    word_list,
)

# "; " has no partner in the release, which noises these five.
_PUNCTUATION = {".": ",", ",": ".", "!": ",", "?": ",", ":": "."}


@dataclass(frozen=True)
class Truncation(Perturbation):
    """The last floor(level x words) words are cut; a full stop closes what is left."""

    name = "truncation"
    criterion = "fluency"
    seeded: ClassVar[bool] = False
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Cut the end."""
        words = record.gold.split()
        cut = math.floor(len(words) * self.level + 1e-9)
        if not cut or cut == len(words):
            return None
        kept = " ".join(words[: len(words) - cut])
        return kept if kept.endswith(".") else kept + "."


@dataclass(frozen=True)
class ArticleRemoval(Perturbation):
    """A share of the articles is removed."""

    name = "article-removal"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop articles that stand as words of their own."""
        articles, words = word_list("articles"), record.gold.split()
        places = [place for place, word in enumerate(words) if word.lower() in articles]
        dropped = set(chosen(places, self.level, rng))
        if not dropped:
            return None
        for place in dropped:
            if _opens(words, place) and place + 1 < len(words):
                words[place + 1] = capitalised(words[place + 1])
        return " ".join(word for place, word in enumerate(words) if place not in dropped)


@dataclass(frozen=True)
class PrepositionRemoval(Perturbation):
    """A share of the prepositions is removed."""

    name = "preposition-removal"
    criterion = "fluency"
    level: float = 0.7

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop words tagged as adpositions."""
        parsed = parse_one(record.gold)
        return _dropped(
            parsed, [i for i, token in enumerate(parsed.tokens) if token.pos == "ADP"], self.level, rng
        )


@dataclass(frozen=True)
class StopWordRemoval(Perturbation):
    """A share of the function words is removed."""

    name = "stop-word-removal"
    criterion = "fluency"
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop words of the stop list."""
        parsed, stop = parse_one(record.gold), word_list("stop_words")
        return _dropped(
            parsed, [i for i, t in enumerate(parsed.tokens) if t.text.lower() in stop], self.level, rng
        )


@dataclass(frozen=True)
class VerbLemmatisation(Perturbation):
    """A share of the verbs loses its inflection."""

    name = "verb-lemmatisation"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Put lemmas for full verbs that are inflected."""
        parsed = parse_one(record.gold)
        verbs = [
            i for i, t in enumerate(parsed.tokens) if t.pos == "VERB" and t.lemma.lower() != t.text.lower()
        ]
        changes = {i: parsed.tokens[i].lemma for i in chosen(verbs, self.level, rng)}
        return rewritten(parsed, changes) if changes else None


@dataclass(frozen=True)
class TokenDrop(Perturbation):
    """A share of the words is dropped, at least one word kept."""

    name = "token-drop"
    criterion = "fluency"
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop words anywhere."""
        words = record.gold.split()
        count = max(0, min(share(len(words), self.level), len(words) - 1))
        dropped = set(rng.sample(range(len(words)), count))
        return " ".join(word for i, word in enumerate(words) if i not in dropped) if dropped else None


@dataclass(frozen=True)
class RepeatedToken(Perturbation):
    """A share of the words is said twice."""

    name = "repeated-token"
    criterion = "fluency"
    level: float = 0.2

    def apply(self, record: Record, rng: Random) -> str | None:
        """Repeat one word after another; a repeat may be repeated again, as in the release."""
        words = record.gold.split()
        for _ in range(share(len(words), self.level)):
            place = rng.randrange(len(words))
            words.insert(place, words[place])
        return " ".join(words)


@dataclass(frozen=True)
class LocalSwap(Perturbation):
    """A share of the words changes places with the next word."""

    name = "local-swap"
    criterion = "fluency"
    switched: ClassVar[bool] = True
    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        """Swap neighbours, each place at most once."""
        words = record.gold.split()
        if len(words) < 2:
            return None
        for place in rng.sample(range(len(words) - 1), min(share(len(words), self.level), len(words) - 1)):
            words[place], words[place + 1] = words[place + 1], words[place]
        return " ".join(words)


@dataclass(frozen=True)
class MiddleSwap(Perturbation):
    """In `level` sentences the left and the right half change places."""

    name = "middle-swap"
    criterion = "fluency"
    switched: ClassVar[bool] = True
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        """Turn sentences around their middle."""
        parsed = parse_one(record.gold)
        spans = parsed.sentences
        turned = set(rng.sample(range(len(spans)), min(self.level, len(spans))))
        pieces = [
            _turned(parsed, span) if i in turned else parsed.piece(span) for i, span in enumerate(spans)
        ]
        return " ".join(piece.strip() for piece in pieces)


@dataclass(frozen=True)
class NoisedPunctuation(Perturbation):
    """A share of the punctuation is confused: commas become full stops, and the reverse.

    Marks within numbers and addresses too: the release goes by characters, and its figures with it.
    """

    name = "noised-punctuation"
    criterion = "fluency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace marks one by one."""
        text = record.gold
        places = set(chosen([i for i, mark in enumerate(text) if mark in _PUNCTUATION], self.level, rng))
        return "".join(_PUNCTUATION[mark] if i in places else mark for i, mark in enumerate(text))


def _opens(words: Sequence[str], place: int) -> bool:
    """Whether a word has a capital because a sentence starts with it."""
    before = words[place - 1].rstrip("\"')]”’") if place else "."
    return words[place][0].isupper() and before.endswith((".", "!", "?"))


def _dropped(parsed: Parse, places: list[int], level: float, rng: Random) -> str | None:
    """Drop a share of these tokens, unless nothing would be dropped or left."""
    dropped = set(chosen(places, level, rng))
    tokens = parsed.tokens
    for place in sorted(dropped):  # is takes n't with it
        if not tokens[place].space and place + 1 < len(tokens) and is_clitic(tokens[place + 1]):
            dropped.add(place + 1)
    return without(parsed, dropped) if dropped and len(dropped) < len(parsed.tokens) else None


def _turned(parsed: Parse, span: Span) -> str:
    """The right half of a sentence before its left half, the final mark in its place."""
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
    if body[0].pos != "PROPN" and body[0].text != "I" and not is_loud(parsed.text):
        left = left[:1].lower() + left[1:]
    ended = body is tokens or (last.text == "." and left.endswith("."))  # the U.S.
    return f"{right[:1].upper()}{right[1:]} {left}{'' if ended else last.text}"


# The phrases of the release of *blind*, by spaCy's label.
_GENERIC = {
    "FAC": "a place",
    "GPE": "a place",
    "LOC": "a place",
    "ORG": "an organization",
    "PERSON": "a person",
    "PRODUCT": "a product",
}
_SUPPORT = {"VBD": "did", "VBZ": "does", "VBP": "do"}
_FINITE = frozenset({"MD", "VBD", "VBZ", "VBP"})
_FULL = {"ca": "can", "wo": "will", "sha": "shall"}


@dataclass(frozen=True)
class SentenceReplacement(Perturbation):
    """`level` sentences are replaced by sentences of other items of the corpus."""

    name = "sentence-replacement"
    criterion = "consistency"
    reads = "others"
    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        """Put strangers in."""
        strangers = [other for other in record.others if other != record.gold]
        own = sentences(record.gold)
        if not strangers or not own:
            return None
        for place in rng.sample(range(len(own)), min(self.level, len(own))):
            found = rng.choice(sentences(rng.choice(strangers)) or [own[place]])
            if found not in record.gold:
                own[place] = found
        return " ".join(own)


@dataclass(frozen=True)
class Negation(Perturbation):
    """A share of the sentences is negated, or freed of its negation."""

    name = "negation"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Turn sentences into their opposite; those without a finite verb stay."""
        parsed = parse_one(record.gold)
        changes: dict[int, str] = {}
        for span in chosen(parsed.sentences, self.level, rng):
            changes |= _negated(parsed, span)
        return " ".join(rewritten(parsed, changes).split()) if changes else None


@dataclass(frozen=True)
class GenericNamedEntity(Perturbation):
    """A share of the names becomes "a person", "a place" and so on."""

    name = "generic-named-entity"
    criterion = "consistency"
    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take the names away, with an article before them."""
        parsed = parse_one(record.gold)
        known = [entity for entity in parsed.entities if entity.label in _GENERIC]
        changes = [_made_generic(parsed, entity) for entity in chosen(known, self.level, rng)]
        return spliced(record.gold, changes) if changes else None


def _made_generic(parsed: Parse, entity: Span) -> tuple[int, int, str]:
    tokens = parsed.tokens
    first, last = entity.start, entity.end - 1
    if first and tokens[first - 1].text.lower() in word_list("articles"):
        first -= 1
    ending = tokens[last].text if last > entity.start and tokens[last].text in ("'s", "’s") else ""
    phrase = _GENERIC[entity.label]
    if tokens[first].text[:1].isupper() and first in [first_word(parsed, s) for s in parsed.sentences]:
        phrase = capitalised(phrase)
    return (
        tokens[first].start,
        tokens[last].end,
        (phrase.upper() if is_loud(parsed.text) else phrase) + ending,
    )


def _negated(parsed: Parse, span: Span) -> dict[int, str]:
    """Changes that turn one sentence into its opposite."""
    tokens = parsed.tokens
    negations = [i for i in range(span.start, span.end) if tokens[i].dep == "neg"]
    for place in negations:
        if tokens[tokens[place].head].dep == "ROOT":
            return _affirmed(tokens, place)
    verb = _finite_verb(parsed, span)
    if verb is None:
        return _affirmed(tokens, negations[0]) if negations else {}
    token = tokens[verb]
    if token.pos == "AUX" or token.tag == "MD":
        whole = "will" if token.text in ("'ll", "’ll") else token.text
        glue = " " if whole != token.text and verb and not tokens[verb - 1].space else ""
        return {verb: f"{glue}{whole} not"}
    support = _SUPPORT.get(token.tag, "do")
    return {verb: f"{support} not {token.lemma}"}


def _affirmed(tokens: tuple[Token, ...], place: int) -> dict[int, str]:
    """Changes that take a negation out: "didn't" to "did", "can't" to "can", "never" to nothing."""
    changes = {place: ""}
    before = tokens[place - 1] if place else None
    if before is not None and not before.space:
        changes[place - 1] = _FULL.get(before.text.lower(), before.text)
    return changes


def _finite_verb(parsed: Parse, span: Span) -> int | None:
    """The word a "not" goes after: the root's first finite auxiliary, the root, or any finite verb."""
    tokens = parsed.tokens
    places = range(span.start, span.end)
    root = next((i for i in places if tokens[i].dep == "ROOT"), None)
    if root is None:
        return None
    for i in places:
        if tokens[i].head == root and tokens[i].dep in ("aux", "auxpass") and tokens[i].tag in _FINITE:
            return i
    if tokens[root].tag in _FINITE or (tokens[root].tag == "VB" and root == span.start):
        return root
    finite = (i for i in places if tokens[i].tag in _FINITE and tokens[i].pos in ("VERB", "AUX"))
    return next(finite, None)
