"""Gold text to disfluent text: the ten fluency noises of *blind* (table 16), spaCy run once a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.nlp import Parse, Span, parse_one
from assay.perturbations._texts import chosen, rewritten, share, without, word_list
from assay.perturbations.surgery import capitalised, is_clitic, is_loud

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
