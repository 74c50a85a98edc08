"""Dropping templates: phrases, modifiers and nouns left out by the parse (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, Span, parse_one
from assay.perturbations.choice import drawn
from assay.perturbations.inflection import known_as
from assay.perturbations.lexicon import word_list
from assay.perturbations.phrases import loose_phrases, within_half
from assay.perturbations.surgery import dropped, joined_word, rewrite, word_indices


@dataclass(frozen=True)
class DropPhrases(Perturbation):
    """Prepositional phrases, relative clauses, appositions and participles left out."""

    name = "drop-phrases"
    criterion = "data coverage"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop a share of the phrases that the text can lose."""
        parse = parse_one(record.gold)
        found = within_half(parse, drawn(loose_phrases(parse), self.share, rng))
        return dropped(parse, found) if found else None


@dataclass(frozen=True)
class DropModifiers(Perturbation):
    """Adjectives and adverbs left out: the sign, not the no-parking sign."""

    name = "drop-modifiers"
    criterion = "informativeness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop every adjective before a noun and every adverb of manner that the sentence can lose."""
        parse = parse_one(record.gold)
        targets = [i for i in range(len(parse.tokens)) if is_modifier(parse, i)]
        return rewrite(parse, dict.fromkeys(targets, "")) if targets else None


def is_modifier(parse: Parse, index: int) -> bool:
    """A plain adjective right of an article or left of its noun, or an adverb in -ly, with nothing on it."""
    token, tokens = parse.tokens[index], parse.tokens
    if joined_word(parse, index) or any(t.head == index for t in tokens) or token.entity:
        return False
    if token.text.lower() in word_list("checklist", "templates", "modifiers_needed"):
        return False
    if token.dep == "amod":
        later = index < token.head and tokens[token.head].pos == "NOUN"
        before = tokens[index - 1].pos if index else ""
        plain = token.pos == "ADJ" or (token.pos == "VERB" and before in ("DET", "ADJ"))
        return plain and later and token.tag not in ("JJS", "JJR")
    manner = token.dep == "advmod" and token.pos == "ADV" and token.text.endswith("ly")
    return manner and tokens[token.head].pos == "VERB"


@dataclass(frozen=True)
class DropObjects(Perturbation):
    """Nouns left out: A small boy playing with a red (ball)."""

    name = "drop-objects"
    criterion = "thoroughness"
    share: float = 0.5

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop a share of the nouns."""
        parse = parse_one(record.gold)
        nouns = [
            i
            for i, t in enumerate(parse.tokens)
            if t.pos == "NOUN" and not joined_word(parse, i) and not _rather_verb(parse, i)
        ]
        chosen = drawn(nouns, self.share, rng)
        left = set(word_indices(parse)) - set(chosen)
        return rewrite(parse, dict.fromkeys(chosen, "")) if chosen and left else None


def _rather_verb(parse: Parse, index: int) -> bool:
    """A plural noun that must be the verb of a sentence without one: a bride in a lace dress laughs."""
    token = parse.tokens[index]
    verbless = not any(t.pos in ("VERB", "AUX") and t.tag != "VBG" for t in parse.tokens)
    return token.tag == "NNS" and verbless and known_as(token.text, "VERB")


@dataclass(frozen=True)
class DropDetails(Perturbation):
    """Every phrase and modifier that a reply can lose (ours: no template for interestingness in table 5)."""

    name = "drop-details"
    criterion = "interestingness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop sentences behind the first, then its phrases and modifiers."""
        parse = parse_one(record.gold)
        if not word_indices(parse):
            return None
        first = parse.sentences[0]
        spans = [Span(s.start, s.end) for s in parse.sentences[1:]]
        spans += [s for s in loose_phrases(parse) if s.end <= first.end]
        spans += [Span(i, i + 1) for i in range(first.start, first.end) if is_modifier(parse, i)]
        return dropped(parse, spans).rstrip() if spans else None
