"""Nouns to pronouns that agree, so that the reader no longer knows who is meant (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import first_names, gendered, json_lines, people, places_by_kind, word_list
from assay.models.nlp import Parse, Span, Token, parse_one
from assay.perturbations.edit import is_address, known_word, lemma_of, rewrite
from assay.perturbations.negation import garbled
from assay.perturbations.phrases import subtree

_SUBJECT = {"male": "he", "female": "she", "thing": "it", "plural": "they"}
_OBJECT = {"male": "him", "female": "her", "thing": "it", "plural": "them"}
_MARKS = frozenset('"“”«»()[]{}:;')  # a phrase that holds one would lose its partner
_MEASURES = ("DATE", "TIME", "MONEY", "QUANTITY", "PERCENT", "CARDINAL", "ORDINAL")
_UNTOLD = ("no", "neither", "nor", "few", "little", "less", "fewer", "or", "any")  # lost in a pronoun


@dataclass(frozen=True)
class NounsToPronouns(Perturbation):
    """Subjects and objects become he, she, it or they; one that needs a gender nobody told stays."""

    name = "nouns-to-pronouns"
    criterion = "referential clarity"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace each phrase whole, in the case and number its place asks for."""
        parse = parse_one(record.gold)
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            if garbled(parse, sentence):
                continue
            for index in range(sentence.start, sentence.end):
                span, pronoun = _replaced(parse, index) or (Span(0, 0), "")
                if pronoun and not any(i in changes for i in range(span.start, span.end)):
                    changes.update(dict.fromkeys(range(span.start, span.end), ""))
                    changes[span.start] = pronoun
        return rewrite(parse, changes) if changes else None


def _replaced(parse: Parse, index: int) -> tuple[Span, str] | None:
    """A noun's whole phrase and the pronoun for it, where one may stand."""
    token = parse.tokens[index]
    if token.dep not in ("nsubj", "nsubjpass", "dobj") or token.pos not in ("NOUN", "PROPN"):
        return None
    span, kind = _phrase(parse, index), _kind(parse, index)
    if span is None or kind is None or not _beside_verb(parse, token, span):
        return None
    return span, (_SUBJECT if _takes_subject_case(parse, token, span) else _OBJECT)[kind]


def _phrase(parse: Parse, index: int) -> Span | None:
    """The noun with all that hangs on it, unless that asks, counts or holds a clause of its own."""
    span = subtree(parse, index)
    if span is None or parse.tokens[index].entity in _MEASURES or _measures(parse.tokens[index]):
        return None
    inside = parse.tokens[span.start : span.end]
    if any(token.text.lower() in _UNTOLD for token in inside):
        return None
    asks = any(token.tag in ("WDT", "WP", "WP$", "WRB") for token in inside)
    owner = span.end < len(parse.tokens) and parse.tokens[span.end].text in ("'s", "’s")
    marks = any(token.text in _MARKS or is_address(token) for token in inside)
    ends = inside[-1].text == "," or inside[-1].tag == "CD"  # beat the Eagles 61-58
    return None if asks or owner or marks or ends else span


def _kind(parse: Parse, index: int) -> str | None:
    token = parse.tokens[index]
    joined = any(t.head == index and t.dep == "conj" for t in parse.tokens)
    if token.tag in ("NNS", "NNPS") or joined or _verb_is_plural(parse, token):
        return "plural"
    own = [t for i, t in enumerate(parse.tokens) if t.head == index or i == index]
    titled = any(t.text.lower() in people() or t.entity == "PERSON" for t in own if t.dep == "compound")
    unknown = token.text[:1].isupper() and not known_word(token.text)
    if token.pos == "PROPN" or token.entity == "PERSON" or unknown:
        personal = titled or token.entity in ("PERSON", "") or _lone_name(parse, index)
        return _person(parse, index) if personal else "thing"
    lemma = lemma_of(token.text, "noun")
    named = gendered(token.text.lower()) or gendered(lemma)
    if named:
        return named
    endings = tuple(word_list("checklist", "templates", "person_endings"))
    return None if lemma in people() or lemma.endswith(endings) else "thing"


def _lone_name(parse: Parse, index: int) -> bool:
    """A name of one word that is no known place: a surname alone is often taken for a firm."""
    known = any(parse.tokens[index].text in names for names in places_by_kind().values())
    return subtree(parse, index) == Span(index, index + 1) and not known


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


def _beside_verb(parse: Parse, token: Token, span: Span) -> bool:
    """Whether the phrase stands right beside its verb, so that the parse can be trusted and a pronoun may."""
    verb, tokens = parse.tokens[token.head], parse.tokens
    if token.dep == "dobj":
        bare = verb.tag == "VBG" and tokens[span.start] is token  # packaging film, reflecting cells
        light = verb.lemma in word_list("checklist", "templates", "light_verbs")
        particle = any(t.head == token.head and t.dep == "prt" for t in tokens)  # break down it
        runs_on = span.end < len(tokens) and tokens[span.end].tag in ("VBZ", "VBP", "VBD", "VB", "MD")
        return span.start == token.head + 1 and not (bare or light or particle or runs_on)
    before = tokens[span.start - 1] if span.start else None
    if span.start > token.head or (before is not None and before.dep == "prep"):
        return False  # said the owner; in June Seehofer spoke
    between = tokens[span.end : token.head]
    direct = all(t.head == token.head and t.dep in ("aux", "auxpass", "neg", "advmod") for t in between)
    loose = any(
        t.head == token.head and t.dep in ("npadvmod", "dep") and t.entity not in ("DATE", "TIME")
        for t in tokens[: span.start]
    )
    return direct and not loose and all(t.text != "," for t in between)


@cache
def _units() -> frozenset[str]:
    kinds = ("currencies", "spans of time", "long spans of time")
    groups = [(group["kind"], group["terms"]) for group in json_lines("siblings.jsonl")]
    return frozenset(
        term for kind, terms in groups for term in terms if kind in kinds or kind.startswith("units of")
    )


def _measures(token: Token) -> bool:
    """Whether a noun only counts: it will cost 11 million euros."""
    return lemma_of(token.text, "noun") in _units()


def _verb_is_plural(parse: Parse, token: Token) -> bool:
    """Whether the verb takes the subject for several: the team are."""
    verb = parse.tokens[token.head]
    finite = [verb, *(t for t in parse.tokens if t.head == token.head and t.dep in ("aux", "auxpass"))]
    return token.dep != "dobj" and any(
        t.text.lower() in ("are", "were", "have") and t.tag != "VB" for t in finite
    )
