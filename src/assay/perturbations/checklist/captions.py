"""Caption templates: gender, attributes, and the order and number of objects (checklist, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import attributes, gender_swaps, word_list
from assay.models.nlp import Parse, Span, parse_one
from assay.perturbations.edit import capitalised, is_loud, is_word, joined_word, like, lowered, rewrite
from assay.perturbations.phrases import subtree


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
        for index, (token, tag) in enumerate(zip(parse.tokens, _tags(parse), strict=True)):
            other = swaps.get((token.text.lower(), tag)) or swaps.get((token.text, tag))
            if other and not joined_word_but_owner(parse, index):
                changes[index] = like(other, token.text)
        return rewrite(parse, changes) if changes else None


def _tags(parse: Parse) -> list[str]:
    """The tags of the words; of loud text those of its quiet form, for capitals look like names."""
    quiet = parse_one(parse.text.lower()) if is_loud(parse.text) else parse
    return [token.tag for token in (quiet if len(quiet.tokens) == len(parse.tokens) else parse).tokens]


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
            taken = present | set(chosen.values())
            others = [o for o in attributes().get(token.text.lower(), ()) if o not in taken]
            if others and _modifies(parse, index):
                word = chosen.get(token.text.lower()) or rng.choice(others)
                chosen[token.text.lower()] = word
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
    place = head.text.lower() in _places()
    return head.pos in ("NOUN", "PROPN") and not cut and not verb and not place


def _marks_free(parse: Parse, chunk: Span) -> bool:
    return all(is_word(t) or t.text == "-" for t in parse.tokens[chunk.start : chunk.end])


@dataclass(frozen=True)
class SwapObjects(Perturbation):
    """Two things change places, each with all that is said of it: a tree is standing in front of the man."""

    name = "swap-objects"
    criterion = "correctness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Swap two noun phrases of the same number: the subject and the next, or else two others."""
        parse = parse_one(record.gold)
        pairs = _swappable(parse)
        if not pairs:
            return None
        first, second = rng.choice(pairs)
        opens = first.start == 0
        here = capitalised(parse.piece(second)) if opens else parse.piece(second)
        there = lowered(parse, first) if opens else parse.piece(first)
        changes = {i: "" for span in (first, second) for i in range(span.start, span.end)}
        return rewrite(parse, changes | {first.start: here, second.start: there})


def _swappable(parse: Parse) -> list[tuple[Span, Span]]:
    """Neighbours in the main clause that no pronoun ties to their place."""
    things = [found for chunk in _object_chunks(parse) if (found := _whole_phrase(parse, chunk))]
    pairs = [
        (one, two)
        for (chunk, one), (other, two) in pairwise(things)
        if _plural(parse, chunk) == _plural(parse, other) and one.end <= two.start
        if _counted(parse, chunk) and _counted(parse, other) and not _bound(parse, one)
        if parse.piece(one).lower() != parse.piece(two).lower()
    ]
    return [pair for pair in pairs if pair[0].label == "nsubj"] or pairs


def _whole_phrase(parse: Parse, chunk: Span) -> tuple[Span, Span] | None:
    """A noun phrase and all that hangs on it, labelled with its part in the main clause, if it has one."""
    head = chunk.end - 1
    token, span = parse.tokens[head], subtree(parse, head)
    if span is None or span.start != chunk.start or not _marks_free(parse, span):
        return None
    up = token.head
    while parse.tokens[up].dep == "prep" or (
        parse.tokens[up].dep == "pobj" and parse.tokens[up].text.lower() in _places()
    ):
        up = parse.tokens[up].head
    joined = any(t.head == head and t.dep == "conj" for t in parse.tokens)
    part = token.dep in ("nsubj", "dobj", "pobj") and parse.tokens[up].dep == "ROOT" and not joined
    return (chunk, Span(span.start, span.end, token.dep)) if part else None


def _places() -> tuple[str, ...]:
    return word_list("checklist", "templates", "place_nouns")


def _plural(parse: Parse, chunk: Span) -> bool:
    return parse.tokens[chunk.end - 1].tag in ("NNS", "NNPS")


def _bound(parse: Parse, phrase: Span) -> bool:
    """Whether a pronoun outside the phrase may mean it: a man beside his dog."""
    return any(
        token.tag in ("PRP", "PRP$") and not phrase.start <= index < phrase.end
        for index, token in enumerate(parse.tokens)
    )


@dataclass(frozen=True)
class RepeatObject(Perturbation):
    """An object comes twice: A lady riding a horse and a lady."""

    name = "repeat-object"
    criterion = "thoroughness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Append one of the text's own noun phrases with "and", where the text ends in one."""
        parse = parse_one(record.gold)
        chunks = _object_chunks(parse)
        words = [i for i, token in enumerate(parse.tokens) if is_word(token)]
        countable = [c for c in chunks[:-1] or chunks if _counted(parse, c) and not _of_another(parse, c)]
        if not countable or chunks[-1].end - 1 != words[-1]:
            return None
        again = rng.choice(countable)
        phrase = lowered(parse, again) if again.start == 0 else parse.piece(again)
        return rewrite(parse, {words[-1]: f"{parse.tokens[words[-1]].text} and {phrase}"})


def _counted(parse: Parse, chunk: Span) -> bool:
    """A thing or things with an article or a number, not stuff: a loaf, not bread."""
    return parse.tokens[chunk.start].tag in ("DT", "CD")


def _of_another(parse: Parse, chunk: Span) -> bool:
    """Part of a longer phrase on either side: a slice of the bread."""
    beside = [
        parse.tokens[i].text.lower() for i in (chunk.start - 1, chunk.end) if 0 <= i < len(parse.tokens)
    ]
    return "of" in beside
