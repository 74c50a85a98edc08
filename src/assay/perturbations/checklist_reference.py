"""Nouns to pronouns that agree, so that the reader no longer knows who is meant (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, Span, Token, parse_one
from assay.perturbations.inflection import lemma_of
from assay.perturbations.lexicon import first_names, gendered, people, word_list
from assay.perturbations.phrases import subtree
from assay.perturbations.surgery import rewrite

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}
_MEASURES = ("DATE", "TIME", "MONEY", "QUANTITY", "PERCENT", "CARDINAL", "ORDINAL")


@dataclass(frozen=True)
class NounsToPronouns(Perturbation):
    """Subjects and objects become he, she, it or they; one that needs a gender nobody told stays."""

    name = "nouns-to-pronouns"
    criterion = "referential clarity"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace each phrase whole, in the case and number its place asks for."""
        parse = parse_one(record.gold)
        changes: dict[int, str] = {}
        for index, token in enumerate(parse.tokens):
            if token.dep not in ("nsubj", "nsubjpass", "dobj") or token.pos not in ("NOUN", "PROPN"):
                continue
            span, kind = _phrase(parse, index), _kind(parse, index)
            if (
                span is None
                or kind is None
                or _split_verb(parse, token)
                or any(i in changes for i in range(span.start, span.end))
            ):
                continue
            changes.update(dict.fromkeys(range(span.start, span.end), ""))
            changes[span.start] = (_SUBJECT if _takes_subject_case(parse, token, span) else _OBJECT)[kind]
        return rewrite(parse, changes) if changes else None


def _phrase(parse: Parse, index: int) -> Span | None:
    """The noun with all that hangs on it, unless that asks, counts or holds a clause of its own."""
    span = subtree(parse, index)
    if span is None or parse.tokens[index].entity in _MEASURES:
        return None
    inside = parse.tokens[span.start : span.end]
    asks = any(token.tag in ("WDT", "WP", "WP$", "WRB") for token in inside)
    owner = span.end < len(parse.tokens) and parse.tokens[span.end].text in ("'s", "’s")
    marks = any(token.text in ('"', "“", "”", "(", ")", ":", ";") for token in inside)
    return None if asks or owner or marks or inside[-1].text == "," else span


def _kind(parse: Parse, index: int) -> str | None:
    token = parse.tokens[index]
    joined = any(t.head == index and t.dep == "conj" for t in parse.tokens)
    if token.tag in ("NNS", "NNPS") or joined or _verb_is_plural(parse, token):
        return "plural"
    if token.pos == "PROPN" or token.entity == "PERSON":
        return _person(parse, index) if token.entity in ("PERSON", "") else "thing"
    lemma = lemma_of(token.text, "noun")
    named = gendered(token.text.lower()) or gendered(lemma)
    if named:
        return named
    endings = tuple(word_list("checklist", "templates", "person_endings"))
    return None if lemma in people() or lemma.endswith(endings) else "thing"


def _person(parse: Parse, index: int) -> str | None:
    """A named person's gender, where the list of first names or a title knows it."""
    span = subtree(parse, index) or Span(index, index + 1)
    for token in parse.tokens[span.start : span.end]:
        known = first_names().get(token.text)
        gender = known.gender if known else gendered(token.text.lower()) or gendered(f"{token.text.lower()}.")
        if gender in ("male", "female"):
            return gender
    return None


def _takes_subject_case(parse: Parse, token: Token, span: Span) -> bool:
    """Whether a subject has a clause of its own; in "makes tides larger" it takes the object's case."""
    if token.dep == "dobj":
        return False
    governed = span.start > 0 and parse.tokens[span.start - 1].pos == "VERB"
    helping = [t for t in parse.tokens if t.head == token.head and t.dep.startswith("aux")]
    finite = any(t.tag in ("VBZ", "VBP", "VBD", "MD") for t in (parse.tokens[token.head], *helping))
    return finite or not governed


def _split_verb(parse: Parse, token: Token) -> bool:
    """Whether the object follows a particle, where no pronoun may stand: break down it."""
    return token.dep == "dobj" and any(t.head == token.head and t.dep == "prt" for t in parse.tokens)


def _verb_is_plural(parse: Parse, token: Token) -> bool:
    """Whether the verb takes the subject for several: the team are."""
    verb = parse.tokens[token.head]
    finite = [verb, *(t for t in parse.tokens if t.head == token.head and t.dep in ("aux", "auxpass"))]
    return token.dep != "dobj" and any(
        t.text.lower() in ("are", "were", "have") and t.tag != "VB" for t in finite
    )
