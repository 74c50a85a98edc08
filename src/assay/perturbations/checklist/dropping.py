"""Dropping templates: phrases, modifiers and nouns left out by the parse (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

from assay.core import Perturbation, Record
from assay.datasets.lexicon import word_list
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import drawn, dropped, is_word, joined_word, known_as, rewrite, word_indices
from assay.perturbations.phrases import loose_phrases, within_half
from assay.vocabulary import Criterion


@dataclass(frozen=True)
class DropPhrases(Perturbation):
    """Prepositional phrases, relative clauses, appositions and participles left out."""

    name = "drop-phrases"
    criterion: ClassVar[Criterion] = "data coverage"
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
    """A plain adjective before its noun, or an adverb in -ly by its verb, with nothing on it."""
    token, tokens = parse.tokens[index], parse.tokens
    if joined_word(parse, index) or any(t.head == index for t in tokens) or token.entity:
        return False
    if token.text.lower() in word_list("checklist", "templates", "modifiers_needed"):
        return False
    manner = token.dep == "advmod" and token.pos == "ADV" and token.text.endswith("ly")
    return _is_adjective(parse, index) or (manner and tokens[token.head].pos == "VERB")


def _is_adjective(parse: Parse, index: int) -> bool:
    token, noun = parse.tokens[index], parse.tokens[parse.tokens[index].head]
    if token.dep != "amod" or noun.pos != "NOUN" or index > token.head or token.tag in ("JJS", "JJR"):
        return False
    if not all(is_word(t) and t.dep != "cc" for t in parse.tokens[index - 1 if index else 0 : index + 2]):
        return False  # one of a row of them: black, cream and red
    if noun.lemma.lower() in word_list("checklist", "templates", "nouns_needing_modifier"):
        return False
    before = parse.tokens[index - 1].pos if index else ""
    if token.pos == "ADJ":
        return known_as(token.text, "ADJ")
    return token.pos == "VERB" and before in ("DET", "ADJ")


@dataclass(frozen=True)
class DropObjects(DropPhrases):
    """Things left out with the words that bring them in: A small boy is playing (with a red ball).

    Table 5 drops the nouns alone ("A small playing with a red"), which breaks the grammar too, so that a
    metric's answer would not tell thoroughness from fluency.
    """

    name = "drop-objects"
    criterion: ClassVar[Criterion] = "thoroughness"
    share: float = 1.0


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
