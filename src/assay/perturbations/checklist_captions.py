"""Caption templates: gender, attributes, and the order and number of objects (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.nlp import Parse, Span, parse_one
from assay.perturbations.lexicon import attributes, gender_swaps, word_list
from assay.perturbations.surgery import capitalised, is_word, joined_word, like, lowered, rewrite


@dataclass(frozen=True)
class ChangeGender(Perturbation):
    """Every gendered word becomes its counterpart: two girls, two boys."""

    name = "change-gender"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Swap nouns, pronouns and titles by the swap list and their tag."""
        parse = parse_one(record.gold)
        swaps = gender_swaps()
        changes = {}
        for index, token in enumerate(parse.tokens):
            other = swaps.get((token.text.lower(), token.tag)) or swaps.get((token.text, token.tag))
            if other and not joined_word_but_owner(parse, index):
                changes[index] = like(other, token.text)
        return rewrite(parse, changes) if changes else None


def joined_word_but_owner(parse: Parse, index: int) -> bool:
    """Part of a longer word, a possessive or a contraction apart."""
    after = parse.tokens[index + 1].text if index + 1 < len(parse.tokens) else ""
    clitic = after[:1] in ("'", "’")
    return joined_word(parse, index) and not clitic


@dataclass(frozen=True)
class ChangeAttributes(Perturbation):
    """Colours, sizes, materials and patterns changed: a red ball, a green ball."""

    name = "change-attributes"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Give every attribute another value, the same value alike, and none that the text has."""
        parse = parse_one(record.gold)
        present = {token.text.lower() for token in parse.tokens}
        chosen: dict[str, str] = {}
        changes = {}
        for index, token in enumerate(parse.tokens):
            others = [o for o in attributes().get(token.text.lower(), ()) if o not in present]
            if others and _modifies(parse, index):
                word = chosen.setdefault(token.text.lower(), rng.choice(others))
                changes[index] = like(word, token.text)
        return rewrite(parse, changes) if changes else None


def _modifies(parse: Parse, index: int) -> bool:
    token = parse.tokens[index]
    attributive = token.dep in ("amod", "compound", "conj", "acomp", "nmod")
    return attributive and token.pos in ("ADJ", "NOUN", "VERB", "PROPN") and not joined_word(parse, index)


def _object_chunks(parse: Parse) -> list[Span]:
    """Noun phrases of things and people, without their marks."""
    return [c for c in parse.chunks if _names_object(parse, c) and _marks_free(parse, c)]


def _names_object(parse: Parse, chunk: Span) -> bool:
    """Whether a phrase is whole and names a thing: not the front of "in front of", no verb for a noun."""
    head = parse.tokens[chunk.end - 1]
    cut = chunk.start > 0 and parse.tokens[chunk.start - 1].pos in ("ADJ", "DET", "NUM")
    singular = parse.tokens[chunk.start].text.lower() in ("a", "an")
    verb = head.tag == "NNS" and (head.dep == "ROOT" or singular)
    place = head.text.lower() in word_list("checklist", "templates", "place_nouns")
    return head.pos in ("NOUN", "PROPN") and not cut and not verb and not place


def _marks_free(parse: Parse, chunk: Span) -> bool:
    return all(is_word(t) or t.text == "-" for t in parse.tokens[chunk.start : chunk.end])


@dataclass(frozen=True)
class SwapObjects(Perturbation):
    """Two things change places: a tree is standing in front of the man."""

    name = "swap-objects"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Swap two noun phrases of the same number, of which the first is the subject where it can be."""
        parse = parse_one(record.gold)
        pairs = _swappable(parse)
        if not pairs:
            return None
        leading = [pair for pair in pairs if parse.tokens[pair[0].end - 1].dep.startswith("nsubj")]
        first, second = rng.choice(leading or pairs)
        opens = first.start == 0
        here = capitalised(parse.piece(second)) if opens else parse.piece(second)
        there = lowered(parse, first) if opens else parse.piece(first)
        changes = {i: "" for span in (first, second) for i in range(span.start, span.end)}
        return rewrite(parse, changes | {first.start: here, second.start: there})


def _swappable(parse: Parse) -> list[tuple[Span, Span]]:
    chunks = _object_chunks(parse)
    return [
        (one, two)
        for at, one in enumerate(chunks)
        for two in chunks[at + 1 :]
        if _number(parse, one) == _number(parse, two)
        and parse.piece(one).lower() != parse.piece(two).lower()
        and not _coordinated(parse, one, two)
    ]


def _number(parse: Parse, chunk: Span) -> bool:
    return parse.tokens[chunk.end - 1].tag in ("NNS", "NNPS")


def _coordinated(parse: Parse, one: Span, two: Span) -> bool:
    """Whether swapping would say the same: a boy and a girl."""
    heads = [one.end - 1, two.end - 1]
    for place, head in enumerate(heads):
        while parse.tokens[head].dep == "conj":
            head = parse.tokens[head].head
        heads[place] = head
    return heads[0] == heads[1]


@dataclass(frozen=True)
class RepeatObject(Perturbation):
    """An object comes twice: A lady riding a horse and a lady."""

    name = "repeat-object"
    criterion = "thoroughness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Append one of the text's own noun phrases with "and"."""
        parse = parse_one(record.gold)
        chunks = _object_chunks(parse)
        if not chunks:
            return None
        words = [i for i, token in enumerate(parse.tokens) if is_word(token)]
        again = rng.choice(chunks[:-1] or chunks)
        phrase = lowered(parse, again) if again.start == 0 else parse.piece(again)
        return rewrite(parse, {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"})
