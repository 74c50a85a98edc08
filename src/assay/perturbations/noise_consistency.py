"""Gold text to text that says something else: consistency noises of *blind* (table 16) less the switches."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, Span, Token, parse_one
from assay.perturbations._texts import chosen, rewritten, sentences, spliced, word_list
from assay.perturbations.surgery import capitalised, first_word, is_loud

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
